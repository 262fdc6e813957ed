//! What a skill does once its animation is over: buffs, heals, debuffs of characters, summons. The change of the
//! caster, or the commands to other services, and the end of the timer are one step. For every other monster in the
//! skill's box that step arms a timer of its own, so each of them gets it exactly once too, whoever is killed
//! meanwhile.

use field::{Area, Tenant};
use kernel::{Effects as _, Op, Step, Stepped, Timer, Verdict};
use serde_json::json;
use uuid::Uuid;

use super::skills::Delayed;
use super::spawn::{Finishes, Spawn};
use super::{Monsters, TenantKeys, status, timers};
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
            120..=129 | 131..=136 => self.curse(tenant, id, skill, finishes).await,
            200 => self.summon(tenant, id, skill, finishes).await,
            114 => self.bless(tenant, id, skill, finishes).await,
            _ if status_of(skill.id).is_some() => self.bless(tenant, id, skill, finishes).await,
            _ => Ok(()),
        }
    }

    /// Buffs and heals the caster, and with some skills those around it.
    async fn bless(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes<'_>,
    ) -> Result<()> {
        let near = match self.fetch(tenant, id).await? {
            (_, caster) if matches!(skill.id, 110..=114) => {
                self.around(tenant, &caster, skill.area()).await?
            }
            _ => Vec::new(),
        };
        let now = self.clock.now_ms();
        let reached: Vec<(u32, String, String)> = near
            .iter()
            .map(|other| {
                let (id, kind) = (other.unique_id, other.monster_id);
                let member = format!("reach:{id}:{now}:{:08x}", self.roll(u32::MAX));
                (id, member, Delayed::text(skill, kind))
            })
            .collect();
        let keys = self.of(tenant)?;
        let mut armed = Vec::new();
        for (_, member, payload) in &reached {
            armed.extend(keys.timers.arm(member, now + timers::GRACE_MS, payload));
        }
        if !self.touch(tenant, id, skill, finishes, &armed).await? {
            return Ok(());
        }
        self.wake();
        for (other, member, payload) in &reached {
            let finishes = Finishes { member, value: format!("- {payload}") };
            if let Err(error) = self.touch(tenant, *other, skill, &finishes, &[]).await {
                tracing::debug!(%error, id = other, "a skill's reach is left to its timer");
            }
        }
        Ok(())
    }

    /// A monster that somebody else's skill reached, and who reached it did not get to it.
    pub(super) async fn reach_due(&self, timer: &Timer, tenant: Uuid, id: u32) -> Result<Verdict> {
        let Some((skill, kind)) = self.delayed(timer) else { return Ok(Verdict::Done) };
        // The id may belong to a later monster by now.
        if self.fetch(tenant, id).await?.1.monster_id != kind {
            return Ok(Verdict::Done);
        }
        match self.touch(tenant, id, &skill, &Finishes::timer(timer), &[]).await {
            Err(MonsterError::Fault(fault)) => Err(fault.into()),
            Err(MonsterError::Contended) => Ok(Verdict::Failed),
            _ => Ok(Verdict::Done),
        }
    }

    /// Changes one monster and ends the timer in one step, with further writes; whether that was done. It is not
    /// when the monster is dead or the timer somebody else's.
    async fn touch(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes<'_>,
        more: &[Op],
    ) -> Result<bool> {
        let keys = self.of(tenant)?;
        let effect_id = self.effect_id();
        let mut last = String::new();
        for _ in 0..TRIES {
            let (text, before) = self.fetch(tenant, id).await?;
            if !before.alive() || text == last {
                return Ok(false);
            }
            let mut after = before.clone();
            let ops = match status_of(skill.id) {
                Some(status) => self.buffed(&mut after, &keys, skill, status, effect_id)?,
                None => self.healed(&mut after, &keys, skill),
            };
            let step = Step::new(self.keys.monster(tenant, id)?)
                .expect(&text)
                .write(after.spliced(&before, &text)?)
                .ops(ops)
                .ops(more.iter().cloned());
            match self.store.step(&finishes.on(step, &keys), self.by()).await? {
                Stepped::Done => return Ok(true),
                Stepped::Refused(refused) if refused.is_gone() => {
                    return Err(MonsterError::NotFound);
                }
                Stepped::Refused(_) => last = text,
            }
        }
        Err(MonsterError::Contended)
    }

    fn buffed(
        &self,
        monster: &mut Monster,
        keys: &TenantKeys,
        skill: &Skill,
        status: &'static str,
        effect_id: Uuid,
    ) -> Result<Vec<Op>> {
        let now = self.clock.now_ms();
        let template = self.template(monster.monster_id);
        let new = effect_of(skill, status);
        let (effect, replaced) =
            effects::apply(monster, template.as_deref(), &new, effect_id, self.now())?;
        let mut ops = Vec::new();
        for old in &replaced {
            ops = ops.event(&keys.events, &events::status_cancelled(monster, now, old));
        }
        ops = ops.event(&keys.events, &events::status_applied(monster, now, &effect));
        ops.extend(status::look_again(keys, monster));
        Ok(ops)
    }

    fn healed(&self, monster: &mut Monster, keys: &TenantKeys, skill: &Skill) -> Vec<Op> {
        let hp = (i64::from(monster.hp) + i64::from(skill.x.max(0))).min(monster.max_hp.into());
        monster.hp = u32::try_from(hp).unwrap_or(monster.hp);
        let boss = self.template(monster.monster_id).is_some_and(|template| template.boss);
        let event = events::refreshed(monster, self.clock.now_ms(), boss);
        Vec::new().event(&keys.events, &event)
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
        self.store.step(&finishes.on(step, &keys), self.by()).await?;
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
