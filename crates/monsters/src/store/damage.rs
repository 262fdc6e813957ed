//! Damage. Exactly one attack kills, and what rises where a monster fell is armed in the step of the kill.

use field::{Field, Tenant};
use kernel::{Decision, Effects as _, Pending, Step, Written};
use uuid::Uuid;

use super::change::Context;
use super::drops::Friendly;
use super::remove::Revive;
use super::{Dice, Monsters};
use crate::error::{MonsterError, Result, SkillCheck};
use crate::events;
use crate::model::{Monster, leader};
use crate::strike::{Attack, Blow, strike};

/// An attack has no more hits.
const MOST_LINES: usize = 64;

/// An attack, and what goes with it.
#[derive(Clone, Default)]
pub(super) struct Hit {
    pub(super) attack: Attack,
    /// Whether nothing rises where the monster falls.
    pub(super) is_final: bool,
    /// Whether bosses are spared.
    pub(super) spares_bosses: bool,
    /// The drop timer that the attack puts off.
    pub(super) friendly: Option<Friendly>,
}

/// The work that a hit leaves.
pub(super) enum After {
    /// The monster lives.
    Lives(AggroTurn),
    /// It fell, and this rises in its place.
    Rises(Option<Revive>),
}

/// The candidates for control of a monster, or its anger.
pub(super) struct AggroTurn {
    pub(super) field: Field,
    /// The leader of the damage, who attacked and does not control it.
    pub(super) lead: Option<u32>,
    /// Whether it turns on who controls it.
    pub(super) angers: bool,
    /// Whether the step armed a timer.
    pub(super) arms: bool,
}

impl Monsters {
    /// Hits a monster. Hits that arrive together leave in one step, with the same bytes.
    pub async fn damage(&self, tenant: &Tenant, id: u32, attack: Attack) -> Result<Blow> {
        if attack.damages.len() > MOST_LINES {
            return Err(MonsterError::bad("damages", "may have at most 64 hits"));
        }
        if attack.attack_type > 3 {
            return Err(MonsterError::bad(
                "attackType",
                "is 0 melee, 1 ranged, 2 magic or 3 energy",
            ));
        }
        if attack.damages.is_empty() {
            let monster = self.get(tenant, id).await?;
            monster.meant(attack.life)?;
            let Monster { hp, life, .. } = monster;
            return Ok(Blow { hp, life, dead: hp == 0, ..Blow::default() });
        }
        self.hit(tenant.id, id, Hit { attack, ..Hit::default() }, None).await
    }

    pub(super) async fn hit(
        &self,
        tenant: Uuid,
        id: u32,
        hit: Hit,
        answers: Option<&Pending>,
    ) -> Result<Blow> {
        match self.try_hit(tenant, id, hit, answers).await? {
            Written::Answer(blow) => Ok(blow),
            Written::Guarded(_) => Err(MonsterError::Contended),
        }
    }

    pub(super) async fn try_hit(
        &self,
        tenant: Uuid,
        id: u32,
        hit: Hit,
        answers: Option<&Pending>,
    ) -> Result<Written<Blow>> {
        let mut nonce = Nonce { dice: self.options.dice.clone(), drawn: None };
        let (deaths, before) = (self.deaths.clone(), self.deaths.count());
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            // The target died while the hit waited: this is an heir.
            if deaths.since(before, tenant, id) {
                return Err(MonsterError::NotFound);
            }
            context.strike(step, monster, &hit, &mut nonce)
        };
        let (blow, after) = match self.change(tenant, id, answers, rule).await? {
            Written::Answer(answer) => answer,
            Written::Guarded(guard) => return Ok(Written::Guarded(guard)),
        };
        match after {
            After::Lives(turn) => self.after_hit(tenant, id, turn).await,
            After::Rises(revive) => {
                self.deaths.note(tenant, id);
                if let Some(revive) = revive {
                    self.rise(&revive).await;
                }
            }
        }
        Ok(Written::Answer(blow))
    }
}

/// A number that makes a timer's name unique. It is drawn once, if at all.
pub(super) struct Nonce {
    dice: Dice,
    drawn: Option<u32>,
}

impl Nonce {
    pub(super) fn get(&mut self) -> u32 {
        *self.drawn.get_or_insert_with(|| (self.dice)(u32::MAX))
    }
}

/// The rule of a hit.
impl Context {
    fn strike(
        &self,
        step: Step,
        monster: &mut Monster,
        hit: &Hit,
        nonce: &mut Nonce,
    ) -> Result<Decision<(Blow, After)>> {
        let template = self.template(monster);
        if hit.spares_bosses && template.as_ref().is_none_or(|template| template.boss) {
            return Err(MonsterError::Skill(SkillCheck::Boss));
        }
        let attack = &hit.attack;
        monster.meant(attack.life)?;
        let blow = strike(monster, attack, self.stamp());
        if blow.dead {
            return Err(MonsterError::Dead);
        }
        let (events, actor) = (&self.keys.events, attack.character_id);
        let boss = template.is_some_and(|template| template.boss);
        let mut step = step;
        if let Some(reflected) = &blow.reflected {
            step = step.event(events, &events::reflected(monster, self.now_ms, reflected));
        }
        step = step.event(events, &events::damaged(monster, self.now_ms, actor, boss));
        let (step, after) = if blow.killed {
            let (step, revive) = self.kill(step, monster, actor, !hit.is_final, nonce)?;
            (step, After::Rises(revive))
        } else {
            let (mut step, arms) = self.hurt(step, monster);
            if let Some(friendly) = &hit.friendly {
                step = friendly.put_off(step, self.now())?;
            }
            let control = monster.control_character_id;
            let lead = leader(monster.damage_entries.sums());
            let turn = AggroTurn {
                field: monster.field,
                lead: lead.filter(|lead| *lead == actor && *lead != control),
                angers: self.options.aggro && control != 0 && !monster.controller_has_aggro,
                arms,
            };
            (step, After::Lives(turn))
        };
        Ok(Decision::Write(step, (blow, after)))
    }

    /// The consequences of being hurt, however it came. Tells whether a timer was armed.
    pub(super) fn hurt(&self, mut step: Step, monster: &mut Monster) -> (Step, bool) {
        let (id, mut arms) = (monster.unique_id, false);
        let template = self.template(monster);
        if template.as_ref().is_some_and(|template| template.hp_recovery > 0) {
            monster.last_damage_taken_ms = self.now();
            step = step.ops(self.keys.arm_recovery(id, self.now_ms));
            arms = true;
        }
        if self.options.decay && !template.is_some_and(|template| template.boss) {
            step = step.ops(self.keys.arm_decay(id, self.now_ms));
            arms = true;
        }
        (step, arms)
    }
}
