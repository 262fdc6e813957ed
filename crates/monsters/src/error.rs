//! Refusals of the monsters: the world says no and the caller can act. A [`Fault`] means that the store failed.

use kernel::keyspace::BadId;
use kernel::{Fault, Params, RefusalDef, RefusalKind, Refuses};

/// The refusals that a caller may hear, with what to do about it.
pub mod refusal {
    kernel::refusals! {
        NO_MONSTER = "monster_not_found", Missing, "this tenant has no such monster; it may have been killed";
        DEAD = "monster_dead", Conflict, "the monster has no hp left; nothing was changed";
        UNKNOWN_TEMPLATE = "unknown_template", Invalid, "the catalogue has no such template; add it to `monsters.catalogue`";
        IMMUNE = "immune", Conflict, "the effect does not take on this monster; the message says which immunity it is";
        SKILL_REFUSED = "skill_refused", Conflict, "a check before the skill failed; `meta.check` says which";
        REFLECT_STANDS = "reflect_stands", Conflict, "a reflect of that class is active, and only it may be cancelled";
        ID_SPACE_BUSY = "id_space_busy", Busy, "64 ids in a row belong to living monsters; repeat it";
        BAD_CATALOGUE = "bad_catalogue", Unavailable, "the files of `monsters.catalogue` or `monsters.skills` cannot be used; the message says where they are wrong";
    }
}

/// Two refusals that every module shares; the server's table has their sentences.
const BAD_FIELD: RefusalDef =
    RefusalDef { code: "bad_field", kind: RefusalKind::Invalid, says: "" };
const BUSY: RefusalDef = RefusalDef { code: "busy", kind: RefusalKind::Busy, says: "" };

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MonsterError {
    /// No monster of this tenant has that id.
    #[error("monster not found")]
    NotFound,
    /// It has no hp left; nothing was changed.
    #[error("monster is dead")]
    Dead,
    /// The catalogue has no such template.
    #[error("no monster template has the id {0}; `worldkeep monsters templates` lists them")]
    UnknownTemplate(u32),
    /// The effect does not take on this monster.
    #[error("{0}")]
    Immune(Immunity),
    /// One of the checks before a skill or an attack failed; nothing was changed.
    #[error("{0}")]
    Skill(SkillCheck),
    /// Sixty-four ids in a row were taken.
    #[error("no free id among 64 draws; destroy monsters or run `worldkeep check --repair`")]
    IdSpaceBusy,
    /// An argument is out of its range or does not fit.
    #[error("{field} {says}")]
    Bad {
        /// Which argument.
        field: &'static str,
        /// The wanted form.
        says: String,
    },
    /// A cancel was refused, because a reflect of the same kind stands.
    #[error("a reflect of that kind is active; cancel it by its own type")]
    ReflectStands,
    /// Others kept changing the monster; ten attempts were made.
    #[error("optimistic lock failed after max retries")]
    Contended,
    /// The store failed, or holds what it must not.
    #[error(transparent)]
    Fault(Fault),
}

/// Why an effect does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Immunity {
    /// The template resists the element.
    #[error("elemental immunity")]
    Element,
    /// A boss takes only some effects.
    #[error("boss immunity")]
    Boss,
    /// Poison does nothing at one hp.
    #[error("poison floor")]
    PoisonFloor,
    /// Without its template nobody knows what it resists.
    #[error("unknown template: nothing is applied")]
    Unknown,
}

/// Which check before a skill failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SkillCheck {
    /// A sealed monster uses no skill.
    #[error("the monster is sealed")]
    Sealed,
    /// Nobody defined this skill and level.
    #[error("no such skill and level is defined")]
    Unknown,
    /// The monster's template does not have this skill at this level.
    #[error("the monster's template does not have this skill at this level")]
    NotItsOwn,
    /// It was used a moment ago.
    #[error("the skill is on cooldown")]
    Cooldown,
    /// It has more hp than the skill's threshold.
    #[error("too much hp left for this skill")]
    Threshold,
    /// It costs more mp than there is.
    #[error("not enough mp")]
    Mp,
    /// The same kind of immunity or reflect is active.
    #[error("an immunity or reflect of that kind is active already")]
    Active,
    /// As many monsters as the summon allows are in the field.
    #[error("the field is full")]
    Full,
    /// A boss is not killed or caught at one stroke.
    #[error("a boss cannot be killed or caught so")]
    Boss,
}

impl SkillCheck {
    /// Stable word of the refusal.
    pub fn word(self) -> &'static str {
        match self {
            SkillCheck::Sealed => "sealed",
            SkillCheck::Unknown => "unknown_skill",
            SkillCheck::NotItsOwn => "not_its_skill",
            SkillCheck::Cooldown => "on_cooldown",
            SkillCheck::Threshold => "hp_threshold",
            SkillCheck::Mp => "not_enough_mp",
            SkillCheck::Active => "already_active",
            SkillCheck::Full => "field_full",
            SkillCheck::Boss => "boss",
        }
    }
}

impl From<Fault> for MonsterError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Contended { .. } => MonsterError::Contended,
            other => MonsterError::Fault(other),
        }
    }
}

impl From<BadId> for MonsterError {
    fn from(bad: BadId) -> Self {
        MonsterError::Bad { field: bad.field, says: bad.flaw.to_string() }
    }
}

impl MonsterError {
    /// Whether an argument was wrong.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self, MonsterError::Bad { .. })
    }

    /// Whether the same call may do better later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            MonsterError::Contended => true,
            MonsterError::Fault(fault) => fault.may_pass(),
            _ => false,
        }
    }

    pub(crate) fn bad(field: &'static str, says: impl Into<String>) -> Self {
        MonsterError::Bad { field, says: says.into() }
    }
}

impl Refuses for MonsterError {
    fn def(&self) -> Option<RefusalDef> {
        Some(match self {
            MonsterError::NotFound => refusal::NO_MONSTER,
            MonsterError::Dead => refusal::DEAD,
            MonsterError::UnknownTemplate(_) => refusal::UNKNOWN_TEMPLATE,
            MonsterError::Immune(_) => refusal::IMMUNE,
            MonsterError::Skill(_) => refusal::SKILL_REFUSED,
            MonsterError::IdSpaceBusy => refusal::ID_SPACE_BUSY,
            MonsterError::Bad { .. } => BAD_FIELD,
            MonsterError::ReflectStands => refusal::REFLECT_STANDS,
            MonsterError::Contended => BUSY,
            MonsterError::Fault(_) => return None,
        })
    }

    fn field(&self) -> Option<&str> {
        match self {
            MonsterError::UnknownTemplate(_) => Some("monsterId"),
            MonsterError::Bad { field, .. } => Some(field),
            _ => None,
        }
    }

    fn params(&self) -> Params {
        match self {
            MonsterError::Skill(check) => {
                Params::from_iter([("check".to_owned(), check.word().into())])
            }
            _ => Params::new(),
        }
    }
}

/// The answer of every verb.
pub type Result<T> = std::result::Result<T, MonsterError>;
