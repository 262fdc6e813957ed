//! Values exactly as stored (seed 001): names, order and widths are those of the Go service. Members that are
//! not ours keep their bytes: a monster of another spelling is spliced into its old text, and so is each
//! element of its lists. Lists are written `[]`; `{}` and `null` are read as empty, because cjson and Go
//! write them so.

mod drop_timer;
mod lists;

use field::{Field, Point, Tenant};
use kernel::json::{self, Change};
use kernel::numbers::{Dialect, to_json};
use kernel::{Document, Fault};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

pub use drop_timer::DropTimer;
use lists::push_list;
pub use lists::{DamageEntry, Effect, Element, Entries, SourceType};

/// One monster.
#[derive(Debug, Clone, PartialEq)]
pub struct Monster {
    /// The id, from 1000000000 to 2000000000.
    pub unique_id: u32,
    /// Whose it is.
    pub tenant_id: String,
    /// Region of the tenant.
    pub tenant_region: String,
    /// Version of the tenant's game.
    pub tenant_major_version: u16,
    /// Version of the tenant's game.
    pub tenant_minor_version: u16,
    /// The field where it lives.
    pub field: Field,
    /// Hp at birth.
    pub max_hp: u32,
    /// Hp left.
    pub hp: u32,
    /// Mp at birth.
    pub max_mp: u32,
    /// Mp left.
    pub mp: u32,
    /// The template.
    pub monster_id: u32,
    /// The character whose client moves it; 0 is nobody.
    pub control_character_id: u32,
    /// The position in the field.
    pub at: Point,
    /// The foothold it stands on.
    pub fh: i16,
    /// How it stands.
    pub stance: u8,
    /// The side.
    pub team: i8,
    /// The attackers, in order.
    pub damage_entries: Entries,
    /// The active effects.
    pub status_effects: Vec<Element<Effect>>,
    /// Whether it turned on its controller.
    pub controller_has_aggro: bool,
    /// Before this it chooses no new skill.
    pub next_eligible_repick_at_ms: i64,
    /// When it was last hurt; only kept where it recovers.
    pub last_damage_taken_ms: i64,
    /// The spawner, when it has a name.
    pub spawn_source_type: String,
    /// Which one of these.
    pub spawn_source_id: u32,
    /// How often its id was given out, from 1: with the id it names this monster and no heir. It is not part of
    /// the text.
    pub life: u64,
    /// Whether its text is byte for byte as we write it.
    is_ours: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored<'a> {
    unique_id: u32,
    tenant_id: String,
    #[serde(default)]
    tenant_region: String,
    #[serde(default)]
    tenant_major_version: u16,
    #[serde(default)]
    tenant_minor_version: u16,
    world_id: u8,
    channel_id: u8,
    map_id: u32,
    #[serde(default)]
    instance: Uuid,
    max_hp: u32,
    hp: u32,
    #[serde(default)]
    max_mp: u32,
    #[serde(default)]
    mp: u32,
    monster_id: u32,
    #[serde(default)]
    control_character_id: u32,
    #[serde(default)]
    x: i16,
    #[serde(default)]
    y: i16,
    #[serde(default)]
    fh: i16,
    #[serde(default)]
    stance: u8,
    #[serde(default)]
    team: i8,
    #[serde(default, deserialize_with = "field::list", borrow)]
    damage_entries: Vec<&'a RawValue>,
    #[serde(default, deserialize_with = "field::list", borrow)]
    status_effects: Vec<&'a RawValue>,
    #[serde(default)]
    controller_has_aggro: bool,
    #[serde(default)]
    next_eligible_repick_at_ms: i64,
    #[serde(default)]
    last_damage_taken_ms: i64,
    #[serde(default)]
    spawn_source_type: String,
    #[serde(default)]
    spawn_source_id: u32,
}

/// Why the verbs could not use this text, for the check.
pub(crate) fn check_monster(text: &[u8]) -> Result<(), String> {
    let monster = Monster::read("", text).map_err(why)?;
    monster.tenant().map(drop).map_err(|_| "tenantId is no UUID".to_owned())
}

/// The same for the timer of a friendly monster.
pub(crate) fn check_drop_timer(text: &[u8]) -> Result<(), String> {
    DropTimer::read("", text).map(drop).map_err(why)
}

fn why(fault: Fault) -> String {
    match fault {
        Fault::Corrupt { detail, .. } => detail,
        other => other.to_string(),
    }
}

impl Monster {
    /// Reads the stored text of `key`.
    pub fn read(key: &str, text: &[u8]) -> Result<Self, Fault> {
        let corrupt = |detail: String| Fault::Corrupt { key: key.to_owned(), detail };
        let text = std::str::from_utf8(text).map_err(|_| corrupt("it is not UTF-8".to_owned()))?;
        let bad = |error: serde_json::Error| corrupt(error.to_string());
        let stored: Stored<'_> = serde_json::from_str(text).map_err(bad)?;
        let entries: Result<_, _> =
            stored.damage_entries.iter().map(|raw| Element::read(raw.get())).collect();
        let effects: Result<_, _> =
            stored.status_effects.iter().map(|raw| Element::read(raw.get())).collect();
        let mut monster = Monster {
            unique_id: stored.unique_id,
            tenant_id: stored.tenant_id,
            tenant_region: stored.tenant_region,
            tenant_major_version: stored.tenant_major_version,
            tenant_minor_version: stored.tenant_minor_version,
            field: Field {
                world_id: stored.world_id,
                channel_id: stored.channel_id,
                map_id: stored.map_id,
                instance: stored.instance,
            },
            max_hp: stored.max_hp,
            hp: stored.hp,
            max_mp: stored.max_mp,
            mp: stored.mp,
            monster_id: stored.monster_id,
            control_character_id: stored.control_character_id,
            at: Point::new(stored.x, stored.y),
            fh: stored.fh,
            stance: stored.stance,
            team: stored.team,
            damage_entries: entries.map_err(bad)?,
            status_effects: effects.map_err(bad)?,
            controller_has_aggro: stored.controller_has_aggro,
            next_eligible_repick_at_ms: stored.next_eligible_repick_at_ms,
            last_damage_taken_ms: stored.last_damage_taken_ms,
            spawn_source_type: stored.spawn_source_type,
            spawn_source_id: stored.spawn_source_id,
            life: 1,
            is_ours: false,
        };
        monster.is_ours = monster.text() == text;
        Ok(monster)
    }

    /// The same monster in the life that the count of its id says; without one it is the first.
    pub(crate) fn in_life(mut self, count: Option<&[u8]>) -> Self {
        let count = count.and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
        self.life = count.unwrap_or(0_u64).saturating_add(1);
        self
    }

    /// The text of a new one, in three parts: between them stand its id and its controller, which the store
    /// chooses.
    pub(crate) fn parts(&self) -> [String; 2] {
        let (mut middle, mut tail) = (String::new(), String::new());
        self.push_middle(&mut middle);
        self.push_tail(&mut tail);
        [middle, tail]
    }

    /// The whole text, as it is written when the monster is new.
    pub fn text(&self) -> String {
        let size = 512 + 48 * self.damage_entries.len() + 400 * self.status_effects.len();
        let mut text = String::with_capacity(size);
        let mut digits = itoa::Buffer::new();
        text.push_str("{\"uniqueId\":");
        text.push_str(digits.format(self.unique_id));
        self.push_middle(&mut text);
        text.push_str(digits.format(self.control_character_id));
        self.push_tail(&mut text);
        text
    }

    fn push_middle(&self, text: &mut String) {
        let Field { world_id, channel_id, map_id, instance } = self.field;
        push_text(text, "tenantId", &self.tenant_id);
        push_text(text, "tenantRegion", &self.tenant_region);
        push(text, "tenantMajorVersion", self.tenant_major_version);
        push(text, "tenantMinorVersion", self.tenant_minor_version);
        push(text, "worldId", world_id);
        push(text, "channelId", channel_id);
        push(text, "mapId", map_id);
        push_text(text, "instance", instance.hyphenated().encode_lower(&mut [0; 36]));
        push(text, "maxHp", self.max_hp);
        push(text, "hp", self.hp);
        push(text, "maxMp", self.max_mp);
        push(text, "mp", self.mp);
        push(text, "monsterId", self.monster_id);
        text.push_str(",\"controlCharacterId\":");
    }

    fn push_tail(&self, text: &mut String) {
        push(text, "x", self.at.x);
        push(text, "y", self.at.y);
        push(text, "fh", self.fh);
        push(text, "stance", self.stance);
        push(text, "team", self.team);
        text.push_str(",\"damageEntries\":");
        push_list(text, &self.damage_entries);
        text.push_str(",\"statusEffects\":");
        push_list(text, &self.status_effects);
        for (name, value) in self.extensions() {
            if let Some(value) = value {
                push_raw(text, name, &value);
            }
        }
        text.push('}');
    }

    /// A monster that is about to be spawned.
    pub(crate) fn unborn(tenant: &Tenant, field: Field, template: &crate::Template) -> Self {
        Monster {
            unique_id: 0,
            tenant_id: tenant.id.to_string(),
            tenant_region: tenant.region.clone(),
            tenant_major_version: tenant.major_version,
            tenant_minor_version: tenant.minor_version,
            field,
            max_hp: template.hp,
            hp: template.hp,
            max_mp: template.mp,
            mp: template.mp,
            monster_id: template.id,
            control_character_id: 0,
            at: Point::default(),
            fh: 0,
            stance: 5,
            team: 0,
            damage_entries: Entries::default(),
            status_effects: Vec::new(),
            controller_has_aggro: false,
            next_eligible_repick_at_ms: 0,
            last_damage_taken_ms: 0,
            spawn_source_type: String::new(),
            spawn_source_id: 0,
            life: 1,
            is_ours: true,
        }
    }

    fn extensions(&self) -> [(&'static str, Option<String>); 5] {
        let number = |number: i64| (number != 0).then(|| number.to_string());
        let source = &self.spawn_source_type;
        [
            ("controllerHasAggro", self.controller_has_aggro.then(|| "true".to_owned())),
            ("nextEligibleRepickAtMs", number(self.next_eligible_repick_at_ms)),
            ("lastDamageTakenMs", number(self.last_damage_taken_ms)),
            (
                "spawnSourceType",
                (!source.is_empty())
                    .then(|| to_json(source, Dialect::Go).expect("a string is always JSON")),
            ),
            ("spawnSourceId", number(self.spawn_source_id.into())),
        ]
    }

    /// The old text with what differs from `before` put in, and every other byte kept.
    fn spliced(&self, before: &Monster, text: &str) -> Result<String, Fault> {
        let mut changes: Vec<(&str, Option<String>)> = Vec::new();
        let mut number = |name: &'static str, old: i64, new: i64| {
            if old != new {
                changes.push((name, Some(new.to_string())));
            }
        };
        number("hp", before.hp.into(), self.hp.into());
        number("mp", before.mp.into(), self.mp.into());
        number(
            "controlCharacterId",
            before.control_character_id.into(),
            self.control_character_id.into(),
        );
        number("x", before.at.x.into(), self.at.x.into());
        number("y", before.at.y.into(), self.at.y.into());
        number("fh", before.fh.into(), self.fh.into());
        number("stance", before.stance.into(), self.stance.into());
        // Other readers refuse the `{}` that cjson makes of an empty list, so every write puts it right. A list that is as
        // it was keeps its bytes.
        let is_no_list =
            |name| json::get(text, name).is_some_and(|value| !value.get().starts_with('['));
        if self.damage_entries != before.damage_entries || is_no_list("damageEntries") {
            let mut list = String::new();
            push_list(&mut list, &self.damage_entries);
            changes.push(("damageEntries", Some(list)));
        }
        if self.status_effects != before.status_effects || is_no_list("statusEffects") {
            let mut list = String::new();
            push_list(&mut list, &self.status_effects);
            changes.push(("statusEffects", Some(list)));
        }
        for ((name, new), (_, old)) in self.extensions().into_iter().zip(before.extensions()) {
            if new != old {
                changes.push((name, new));
            }
        }
        let changes: Vec<(&str, Change<'_>)> = changes
            .iter()
            .map(|(name, value)| (*name, value.as_deref().map_or(Change::Remove, Change::Set)))
            .collect();
        json::edit(text, &changes).map_err(|error| Fault::Corrupt {
            key: format!("monster {}", self.unique_id),
            detail: error.to_string(),
        })
    }

    /// Whether it lives.
    pub fn alive(&self) -> bool {
        self.hp > 0
    }

    /// Damage per character, in order of first appearance.
    pub fn summed(&self) -> Vec<(u32, u64)> {
        self.damage_entries.sums().to_vec()
    }

    /// Percent of its hp that are left, rounded down.
    pub fn hp_percent(&self) -> u64 {
        u64::from(self.hp) * 100 / u64::from(self.max_hp.max(1))
    }

    /// Whether an effect with this status is active.
    pub fn is_under(&self, status: &str) -> bool {
        self.status_effects.iter().any(|effect| effect.has(status))
    }
}

impl Document for Monster {
    fn read(key: &[u8], text: &[u8], mark: Option<&[u8]>) -> Result<Self, Fault> {
        Ok(Monster::read(&String::from_utf8_lossy(key), text)?.in_life(mark))
    }

    fn text(&self, before: Option<(&Self, &[u8])>) -> Result<Vec<u8>, Fault> {
        match before {
            Some((before, text)) if !self.is_ours => {
                let text = std::str::from_utf8(text).expect("it was read as UTF-8");
                self.spliced(before, text).map(String::into_bytes)
            }
            _ => Ok(Monster::text(self).into_bytes()),
        }
    }
}

/// Appends `,"name":7`.
fn push(text: &mut String, name: &str, number: impl itoa::Integer) {
    push_raw(text, name, itoa::Buffer::new().format(number));
}

fn push_raw(text: &mut String, name: &str, value: &str) {
    text.push_str(",\"");
    text.push_str(name);
    text.push_str("\":");
    text.push_str(value);
}

/// Appends `,"name":"value"`.
fn push_text(text: &mut String, name: &str, value: &str) {
    push_raw(text, name, &to_json(value, Dialect::Go).expect("a string is always JSON"));
}

/// The attacker who did most, the earliest of equals; nobody when nobody did anything.
pub fn leader(sums: &[(u32, u64)]) -> Option<u32> {
    let mut best: Option<(u32, u64)> = None;
    for &(character, damage) in sums {
        if best.is_none_or(|(_, most)| damage > most) {
            best = Some((character, damage));
        }
    }
    best.map(|(character, _)| character)
}
