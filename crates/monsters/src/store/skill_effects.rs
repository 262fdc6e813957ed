//! The effect of a skill once its animation is over: buffs, heals, debuffs of characters, summons. The change of the
//! caster, or the commands to other services, and the end of the timer are one step. For every other monster in the
//! skill's box that step arms a timer of its own, so each of them gets it exactly once too, whoever is killed
//! meanwhile.

use field::{Area, Tenant};
use kernel::{Decision, Effects as _, Op, Step, Timer, Verdict, Written};
use serde_json::json;
use uuid::Uuid;

use super::change::Context;
use super::skills::Delayed;
use super::spawn::{Finishes, Spawn, Spawned};
use super::{Monsters, TenantKeys, timers};
use crate::effects::{MOST_DAMAGE, NewEffect, Reflect};
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::{Monster, SourceType};
use crate::template::Skill;

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

impl Finishes {
    fn on(&self, step: Step, keys: &TenantKeys) -> Step {
        step.while_field(&keys.timers.data, &self.member, &self.value)
            .ops(keys.timers.cancel(&self.member))
    }
}

impl Monsters {
    /// Does what the skill does, once: the timer named by `finishes` ends with it.
    pub(super) async fn cast(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes,
    ) -> Result<()> {
        match skill.id {
            120..=129 | 131..=136 => self.curse(tenant, id, skill, finishes).await,
            200 => self.summon(tenant, id, skill, finishes).await,
            114 => self.bless(tenant, id, skill, finishes).await,
            _ if status_of(skill.id).is_some() => self.bless(tenant, id, skill, finishes).await,
            // One that does nothing ends with its timer.
            _ => self.touch(tenant, id, skill, finishes, Vec::new()).await.map(drop),
        }
    }

    /// Buffs and heals the caster, and with some skills those around it.
    async fn bless(&self, tenant: Uuid, id: u32, skill: &Skill, finishes: &Finishes) -> Result<()> {
        let near = if matches!(skill.id, 110..=114) {
            let caster = self.get(&Tenant::of(tenant), id).await?;
            self.around(tenant, &caster, skill.area()).await?
        } else {
            Vec::new()
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
        if !self.touch(tenant, id, skill, finishes, armed).await? {
            return Ok(());
        }
        self.wake();
        for (other, member, payload) in reached {
            let finishes = Finishes::armed(member, &payload);
            if let Err(error) = self.touch(tenant, other, skill, &finishes, Vec::new()).await {
                tracing::debug!(%error, id = other, "a skill's reach is left to its timer");
            }
        }
        Ok(())
    }

    /// A monster that somebody else's skill reached, and who reached it did not get to it.
    pub(super) async fn reach_due(&self, timer: &Timer, tenant: Uuid, id: u32) -> Result<Verdict> {
        let Some((skill, kind)) = self.delayed(timer) else { return Ok(Verdict::Done) };
        // The id may belong to a later monster by now.
        if self.get(&Tenant::of(tenant), id).await?.monster_id != kind {
            return self.let_go(timer, tenant, id, Some(kind)).await;
        }
        let finishes = Finishes::timer(timer);
        match self.touch(tenant, id, &skill, &finishes, Vec::new()).await {
            Ok(_) => Ok(Verdict::Finished),
            Err(
                error @ (MonsterError::NotFound | MonsterError::Fault(_) | MonsterError::Contended),
            ) => Err(error),
            // It does not take on this one.
            Err(_) => Ok(Verdict::Done),
        }
    }

    /// Changes one monster and ends the timer in one step, with further writes; whether the monster was
    /// changed. It is not when it is dead or the timer somebody else's.
    async fn touch(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes,
        more: Vec<Op>,
    ) -> Result<bool> {
        let (effect_id, skill, finishes) = (self.effect_id(), skill.clone(), finishes.clone());
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            let step = finishes.on(step, &context.keys);
            if !monster.alive() {
                return Ok(Decision::Write(step, false));
            }
            let step = match status_of(skill.id) {
                Some(status) => {
                    let new = effect_of(&skill, status);
                    context.apply(step, monster, &new, effect_id)?
                }
                None if skill.id == 114 => context.heal(step, monster, &skill),
                None => step,
            };
            Ok(Decision::Write(step.ops(more.iter().cloned()), true))
        };
        match self.change(tenant, id, None, rule).await? {
            Written::Answer(touched) => Ok(touched),
            Written::Guarded(_) => Ok(false),
        }
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
    async fn curse(&self, tenant: Uuid, id: u32, skill: &Skill, finishes: &Finishes) -> Result<()> {
        let targets = if skill.area().is_none() && skill.count <= 1 {
            None
        } else {
            let field = self.get(&Tenant::of(tenant), id).await?.field;
            let mut all = self.crowd(&*self.of(tenant)?, field).await?.characters();
            let most = usize::try_from(skill.count.max(1)).unwrap_or(usize::MAX);
            while all.len() > most {
                let out = self.roll(u32::try_from(all.len()).unwrap_or(u32::MAX));
                all.swap_remove(usize::try_from(out).unwrap_or(0));
            }
            Some(all)
        };
        let (skill, finishes) = (skill.clone(), finishes.clone());
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            let step = finishes.on(step, &context.keys);
            let controller = monster.control_character_id;
            let targets = match &targets {
                _ if !monster.alive() => Vec::new(),
                Some(targets) => targets.clone(),
                None => Some(controller).filter(|who| *who != 0).into_iter().collect(),
            };
            Ok(Decision::Write(context.curse(step, monster, &skill, &targets), ()))
        };
        // Guarded: the timer is somebody else's.
        self.change(tenant, id, None, rule).await.map(drop)
    }

    async fn summon(
        &self,
        tenant: Uuid,
        id: u32,
        skill: &Skill,
        finishes: &Finishes,
    ) -> Result<()> {
        let caster = self.get(&Tenant::of(tenant), id).await?;
        if !caster.alive() || skill.summons.is_empty() {
            return self.touch(tenant, id, skill, finishes, Vec::new()).await.map(drop);
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
        let finished = Some(finishes.clone());
        let tenant_of = caster.tenant()?;
        let ended =
            self.spawn_all(&tenant_of, caster.field, &spawns, skill.limit, finished).await?;
        if ended == Spawned::Full {
            self.touch(tenant, id, skill, finishes, Vec::new()).await?;
        }
        Ok(())
    }
}

/// Rules of what skills do.
impl Context {
    fn heal(&self, step: Step, monster: &mut Monster, skill: &Skill) -> Step {
        let hp = (i64::from(monster.hp) + i64::from(skill.x.max(0))).min(monster.max_hp.into());
        monster.hp = u32::try_from(hp).unwrap_or(monster.hp);
        let told = events::refreshed(monster, self.now_ms, self.is_boss(monster));
        step.event(&self.keys.events, &told)
    }

    /// Commands to the service that keeps the characters.
    fn curse(&self, mut step: Step, monster: &Monster, skill: &Skill, targets: &[u32]) -> Step {
        let banish = self.template(monster).and_then(|template| template.banish.clone());
        for character in targets {
            let (kind, body) = match (skill.id, &banish) {
                (127, _) => ("character.DISPEL", json!({ "characterId": character })),
                (129, None) => continue,
                (129, Some(to)) => {
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
            let told = events::command(monster, kind, self.now_ms, &body);
            step = step.event(&self.keys.events, &told);
        }
        step
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
