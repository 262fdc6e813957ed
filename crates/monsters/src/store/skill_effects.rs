//! What a skill does once its animation is over: buffs, heals, debuffs of characters, summons. The change of the
//! caster, or the commands to other services, and the end of the timer are one step; other monsters in the
//! skill's box follow, each in a step of its own.

use field::{Area, Tenant};
use kernel::{Effects as _, Step, Swap};
use serde_json::json;
use uuid::Uuid;

use super::spawn::{Finishes, Spawn};
use super::{Monsters, TenantKeys, status};
use crate::effects::{self, MOST_DAMAGE, NewEffect, Reflect};
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::{Monster, SourceType};
use crate::template::Skill;

const TRIES: usize = 50;

/// The status a skill gives; 145 and the carnival's have none.
pub(super) fn status_of(skill: u16) -> Option<&'static str> {
    Some(match skill {
        100 | 110 => "POWER_UP",
        101 | 111 => "MAGIC_UP",
        102 | 112 => "POWER_GUARD_UP",
        103 | 113 => "MAGIC_GUARD_UP",
        115 => "SPEED",
        140 => "WEAPON_ATTACK_IMMUNE",
        141 => "MAGIC_ATTACK_IMMUNE",
        142 => "HARD_SKIN",
        143 => "WEAPON_COUNTER",
        144 => "MAGIC_COUNTER",
        _ => return None,
    })
}

impl Finishes<'_> {
    fn on(&self, step: Step, keys: &TenantKeys) -> Step {
        step.while_field(&keys.timers.data, self.member, &self.value)
            .ops(keys.timers.cancel(self.member))
    }
}

impl Monsters {
    /// Does what the skill does, once: the timer named by `finishes` ends with it.
    pub(super) async fn cast(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes<'_>,
    ) -> Result<()> {
        match skill.id {
            114 => self.heal(tenant, id, skill, finishes).await,
            120..=129 | 131..=136 => self.curse(tenant, id, skill, finishes).await,
            200 => self.summon(tenant, id, skill, finishes).await,
            _ => match status_of(skill.id) {
                Some(status) => self.buff(tenant, id, skill, status, finishes).await,
                None => Ok(()),
            },
        }
    }

    /// Changes the caster and ends the timer in one step; `None` when there is no caster or no timer any more.
    async fn cast_on_self(
        &self,
        tenant: Uuid,
        id: u32,
        finishes: &Finishes<'_>,
        act: impl Fn(&mut Monster, &TenantKeys) -> Result<Vec<kernel::Op>>,
    ) -> Result<Option<Monster>> {
        let keys = self.of(tenant)?;
        let mut last = String::new();
        for _ in 0..TRIES {
            let (text, before) = self.fetch(tenant, id).await?;
            if !before.alive() || text == last {
                return Ok(None);
            }
            let mut after = before.clone();
            let ops = act(&mut after, &keys)?;
            let step = Step::new(self.keys.monster(tenant, id)?)
                .expect(&text)
                .write(after.spliced(&before, &text)?)
                .ops(ops);
            match finishes.on(step, &keys).run(&*self.store, self.by()).await? {
                Swap::Swapped => return Ok(Some(after)),
                Swap::Changed => last = text,
                Swap::Gone => return Err(MonsterError::NotFound),
            }
        }
        Err(MonsterError::Contended)
    }

    async fn buff(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        status: &'static str,
        finishes: &Finishes<'_>,
    ) -> Result<()> {
        let new = effect_of(skill, status);
        let effect_id = self.effect_id();
        let caster = self
            .cast_on_self(tenant, id, finishes, |monster, keys| {
                let now = self.clock.now_ms();
                let template = self.template(monster.monster_id);
                let (effect, replaced) =
                    effects::apply(monster, template.as_deref(), &new, effect_id, self.now())?;
                let mut ops = Vec::new();
                for old in &replaced {
                    ops = ops.event(&keys.events, &events::status_cancelled(monster, now, old));
                }
                ops = ops.event(&keys.events, &events::status_applied(monster, now, &effect));
                ops.extend(status::look_again(keys, monster));
                Ok(ops)
            })
            .await?;
        self.wake();
        if let Some(caster) = caster.filter(|_| matches!(skill.id, 110..=113)) {
            for other in self.around(tenant, &caster, skill.area()).await? {
                let applied = self.apply_for(tenant, other.unique_id, &new, None).await;
                ignore_gone(applied.map(|_| ()))?;
            }
        }
        Ok(())
    }

    async fn heal(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes<'_>,
    ) -> Result<()> {
        let healed = |monster: &mut Monster, keys: &TenantKeys| {
            let hp = (i64::from(monster.hp) + i64::from(skill.x.max(0))).min(monster.max_hp.into());
            monster.hp = u32::try_from(hp).unwrap_or(monster.hp);
            let boss = self.template(monster.monster_id).is_some_and(|template| template.boss);
            let event = events::refreshed(monster, self.clock.now_ms(), boss);
            Vec::new().event(&keys.events, &event)
        };
        let caster = self.cast_on_self(tenant, id, finishes, |m, keys| Ok(healed(m, keys))).await?;
        let Some(caster) = caster else { return Ok(()) };
        let keys = self.of(tenant)?;
        for other in self.around(tenant, &caster, skill.area()).await? {
            let done = self.alter(tenant, other.unique_id, |monster| {
                if !monster.alive() {
                    return Ok(((), Vec::new()));
                }
                Ok(((), healed(monster, &keys)))
            });
            ignore_gone(done.await)?;
        }
        Ok(())
    }

    /// Other living monsters of the caster's field in the box.
    async fn around(
        &self,
        tenant: Uuid,
        caster: &Monster,
        area: Option<Area>,
    ) -> Result<Vec<Monster>> {
        let Some(area) = area else { return Ok(Vec::new()) };
        let mut near = self.list(&Tenant::of(tenant), caster.field).await?.monsters;
        near.retain(|other| {
            other.unique_id != caster.unique_id && other.alive() && area.holds(caster.at, other.at)
        });
        Ok(near)
    }

    /// Commands to the service that keeps the characters.
    async fn curse(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes<'_>,
    ) -> Result<()> {
        let keys = self.of(tenant)?;
        let (_, monster) = self.fetch(tenant, id).await?;
        if !monster.alive() {
            return Ok(());
        }
        let targets = if skill.area().is_none() && skill.count <= 1 {
            Some(monster.control_character_id).filter(|who| *who != 0).into_iter().collect()
        } else {
            let mut all = self.crowd(&keys, monster.field).await?.characters();
            let most = usize::try_from(skill.count.max(1)).unwrap_or(usize::MAX);
            while all.len() > most {
                let out = self.roll(u32::try_from(all.len()).unwrap_or(u32::MAX));
                all.swap_remove(usize::try_from(out).unwrap_or(0));
            }
            all
        };
        let now = self.clock.now_ms();
        let template = self.template(monster.monster_id);
        let mut step = Step::new(self.keys.monster(tenant, id)?);
        for character in targets {
            let (kind, body) = match skill.id {
                127 => ("character.DISPEL", json!({ "characterId": character })),
                129 => {
                    let Some(to) = template.as_ref().and_then(|t| t.banish.as_ref()) else {
                        continue;
                    };
                    let body = json!({
                        "characterId": character, "mapId": to.map_id, "portal": to.portal,
                        "message": to.message,
                    });
                    ("character.WARP", body)
                }
                _ => {
                    let body = json!({
                        "characterId": character, "skillId": skill.id, "skillLevel": skill.level,
                        "value": skill.x, "duration": skill.duration_ms(),
                    });
                    ("character.DEBUFF", body)
                }
            };
            step = step.event(&keys.events, &events::command(&monster, kind, now, &body));
        }
        finishes.on(step, &keys).run(&*self.store, self.by()).await?;
        Ok(())
    }

    async fn summon(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes<'_>,
    ) -> Result<()> {
        let (_, caster) = self.fetch(tenant, id).await?;
        if !caster.alive() || skill.summons.is_empty() {
            return Ok(());
        }
        let spawns: Vec<Spawn> = skill
            .summons
            .iter()
            .filter(|id| self.template(**id).is_some())
            .map(|monster_id| Spawn {
                monster_id: *monster_id,
                x: caster.at.x,
                y: caster.at.y,
                fh: caster.fh,
                team: caster.team,
                ..Spawn::default()
            })
            .collect();
        let finishes = Finishes { member: finishes.member, value: finishes.value.clone() };
        self.spawn_all(&caster.tenant()?, caster.field, &spawns, skill.limit, Some(finishes))
            .await?;
        Ok(())
    }
}

fn effect_of(skill: &Skill, status: &'static str) -> NewEffect {
    let reflect = matches!(skill.id, 143 | 144).then(|| Reflect {
        magical: skill.id == 144,
        percent: skill.x,
        area: skill.area().unwrap_or_default(),
        most: MOST_DAMAGE,
    });
    NewEffect {
        source_type: SourceType::MonsterSkill,
        source_skill_id: skill.id.into(),
        source_skill_level: skill.level.into(),
        statuses: [(status.to_owned(), skill.x)].into(),
        duration_ms: i64::try_from(skill.duration_ms().max(1)).unwrap_or(i64::MAX),
        reflect,
        ..NewEffect::default()
    }
}

/// A neighbour that is gone or cannot take it does not matter.
fn ignore_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(MonsterError::Fault(fault)) => Err(MonsterError::Fault(fault)),
        _ => Ok(()),
    }
}
