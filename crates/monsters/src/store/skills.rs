//! A monster uses a skill: the checks in their order, then mp and cooldown in one step together with the timer
//! of the effect, which follows after the animation.

use std::sync::Arc;

use field::Tenant;
use kernel::keyspace::Key;
use kernel::{Cmd, Decision, Effects as _, Pending, Step, Timer, Verdict, Written, reply};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::Context;
use super::spawn::Finishes;
use super::{Monsters, timers};
use crate::error::{MonsterError, Result, SkillCheck};
use crate::model::Monster;
use crate::template::{Skill, Template};

/// The outcome of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Used {
    /// Whether the dice let it work; mp and cooldown are spent either way.
    pub worked: bool,
    /// Milliseconds until the effect.
    pub delay_ms: u64,
    /// Mp left.
    pub mp: u32,
    /// The life of the monster that used it.
    pub life: u64,
}

/// The payload of a delayed skill.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delayed {
    skill: u16,
    level: u8,
    /// The template, so that a later owner of the id does not inherit it.
    monster_id: u32,
}

impl Delayed {
    /// The payload of a timer for a skill that is on its way to a monster of this template.
    pub(super) fn text(skill: &Skill, monster_id: u32) -> String {
        let delayed = Delayed { skill: skill.id, level: skill.level, monster_id };
        serde_json::to_string(&delayed).expect("plain data is always JSON")
    }
}

impl Monsters {
    /// Uses a skill. A game master's use skips every check and costs nothing.
    pub async fn use_skill(
        &self,
        tenant: &Tenant,
        id: u32,
        skill: u16,
        level: u8,
        gm: bool,
    ) -> Result<Used> {
        self.use_skill_for(tenant, id, (skill, level), gm, None).await
    }

    pub(crate) async fn use_skill_for(
        &self,
        tenant: &Tenant,
        id: u32,
        (skill_id, level): (u16, u8),
        gm: bool,
        answers: Option<&Pending>,
    ) -> Result<Used> {
        self.ensure_scope(tenant.id).await?;
        let cooldown = self.keys.cooldown(tenant.id, id, skill_id.into())?;
        let Some(skill) = self.skill(skill_id, level) else {
            // A missing thing is told first.
            self.get(tenant, id).await?;
            return Err(MonsterError::Skill(SkillCheck::Unknown));
        };
        let cast = Cast {
            is_lucky: gm || self.lucky(skill.prop),
            is_full: !gm && self.is_full(tenant, id, &skill).await?,
            skill: Arc::clone(&skill),
            gm,
            nonce: self.roll(u32::MAX),
            cooldown: cooldown.clone(),
        };
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            context.use_skill(step, monster, &cast)
        };
        let (used, armed) = match self.change(tenant.id, id, answers, rule).await {
            Ok(Written::Answer(used)) => used,
            Ok(Written::Guarded(_)) => return Err(MonsterError::Skill(SkillCheck::Cooldown)),
            Err(refused) => return Err(self.unless_waiting(&cooldown, refused).await?),
        };
        self.wake();
        if let Some(finishes) = armed.filter(|_| used.delay_ms == 0)
            && let Err(error) = self.cast(tenant.id, id, &skill, &finishes).await
        {
            tracing::debug!(%error, id, "a skill's effect is left to its timer");
        }
        Ok(used)
    }

    /// Whether the field has as many monsters as a summon allows.
    async fn is_full(&self, tenant: &Tenant, id: u32, skill: &Skill) -> Result<bool> {
        if skill.id != 200 || skill.limit == 0 {
            return Ok(false);
        }
        let map = self.of(tenant.id)?.map(self.get(tenant, id).await?.field)?;
        let many = self.store.call(Cmd::new().arg("SCARD").arg(&map), self.by()).await?;
        Ok(reply::int(&many).is_some_and(|many| many >= i64::from(skill.limit)))
    }

    /// The skills of its template that a monster cannot use yet, each with the milliseconds left.
    pub async fn cooldowns(&self, tenant: &Tenant, monster: &Monster) -> Result<Vec<(u16, u64)>> {
        let template = self.template(monster.monster_id);
        let skills = template.map(|template| template.skills.clone()).unwrap_or_default();
        let mut asks = Vec::with_capacity(skills.len());
        for skill in &skills {
            let key = self.keys.cooldown(tenant.id, monster.unique_id, skill.id.into())?;
            let mut ask = Cmd::new();
            ask.arg("PTTL").arg(&key);
            asks.push(ask);
        }
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        let answers = self.store.pipeline(&asks, self.by()).await?;
        let left = answers.iter().map(|answer| answer.as_ref().ok().and_then(reply::int));
        let waits = skills.iter().zip(left).filter_map(|(skill, left)| {
            let left = u64::try_from(left?).ok()?;
            Some((skill.id, left))
        });
        Ok(waits.collect())
    }

    fn lucky(&self, percent: u8) -> bool {
        percent >= 100 || self.roll(100) < u32::from(percent)
    }

    /// Uses a skill with every monster of a field that may; gives how many did.
    pub async fn use_skill_field(
        &self,
        tenant: &Tenant,
        field: field::Field,
        skill: u16,
        level: u8,
    ) -> Result<usize> {
        let mut used = 0;
        for id in self.ids(tenant, field).await? {
            match self.use_skill(tenant, id, skill, level, false).await {
                Ok(_) => used += 1,
                Err(error) if error.may_pass() => return Err(error),
                Err(error) => tracing::debug!(id, %error, "a monster did not use the skill"),
            }
        }
        Ok(used)
    }

    /// The skill that a timer is about, and the template it was used for.
    pub(super) fn delayed(&self, timer: &Timer) -> Option<(Arc<Skill>, u32)> {
        let delayed: Delayed = serde_json::from_str(&timer.payload).ok()?;
        Some((self.skill(delayed.skill, delayed.level)?, delayed.monster_id))
    }

    pub(super) async fn skill_due(&self, timer: &Timer, tenant: Uuid, id: u32) -> Result<Verdict> {
        let Some((skill, kind)) = self.delayed(timer) else { return Ok(Verdict::Done) };
        let monster = self.get(&Tenant::of(tenant), id).await?;
        if !monster.alive() || monster.monster_id != kind {
            return self.let_go(timer, tenant, id, Some(kind)).await;
        }
        self.cast(tenant, id, &skill, &Finishes::timer(timer)).await?;
        Ok(Verdict::Finished)
    }
}

/// A skill about to be used, and what the dice and the field say of it.
struct Cast {
    skill: Arc<Skill>,
    gm: bool,
    is_lucky: bool,
    is_full: bool,
    nonce: u32,
    cooldown: Key,
}

/// The rule of a skill's use: mp, cooldown, and the timer of its effect.
impl Context {
    fn use_skill(
        &self,
        mut step: Step,
        monster: &mut Monster,
        cast: &Cast,
    ) -> Result<Decision<(Used, Option<Finishes>)>> {
        let (skill, template) = (&cast.skill, self.template(monster));
        if !cast.gm {
            check(monster, template.as_deref(), skill)?;
            if cast.is_full {
                return Err(MonsterError::Skill(SkillCheck::Full));
            }
            let life = u64::from(skill.interval) * 1000;
            step = step.while_absent(&cast.cooldown).set_for(&cast.cooldown, "1", life);
            step = self.spend(step, monster, skill.mp_con)?;
        }
        let worked = cast.gm || (cast.is_lucky && !stands(monster, skill.id));
        let delay_ms = if cast.gm { 0 } else { template.map_or(0, |t| t.skill_delay_ms()) };
        let used = Used { worked, delay_ms, mp: monster.mp, life: monster.life };
        if !worked {
            return Ok(Decision::Write(step, (used, None)));
        }
        let payload = Delayed::text(skill, monster.monster_id);
        let member = format!("skill:{}:{}:{:08x}", monster.unique_id, self.now_ms, cast.nonce);
        let due = self.now_ms + if delay_ms == 0 { timers::GRACE_MS } else { delay_ms };
        step = step.ops(self.keys.timers.arm(&member, due, &payload));
        Ok(Decision::Write(step, (used, Some(Finishes::armed(member, &payload)))))
    }
}

/// The checks of the monster itself, in their order; its cooldown comes before threshold and mp.
fn check(monster: &Monster, template: Option<&Template>, skill: &Skill) -> Result<()> {
    let refuse = |check| Err(MonsterError::Skill(check));
    if !monster.alive() {
        return Err(MonsterError::Dead);
    }
    if monster.is_under("SEAL") {
        return refuse(SkillCheck::Sealed);
    }
    // Only what the template has: then a kill can clear every cooldown by its name.
    let has = |t: &Template| t.skills.iter().any(|s| (s.id, s.level) == (skill.id, skill.level));
    if !template.is_some_and(has) {
        return refuse(SkillCheck::NotItsOwn);
    }
    if skill.hp > 0 && monster.hp_percent() > u64::from(skill.hp) {
        return refuse(SkillCheck::Threshold);
    }
    if monster.mp < skill.mp_con {
        return refuse(SkillCheck::Mp);
    }
    Ok(())
}

/// Whether the immunity or reflect that the skill gives is there already.
fn stands(monster: &Monster, skill: u16) -> bool {
    matches!(skill, 140..=144)
        && super::skill_effects::status_of(skill).is_some_and(|status| monster.is_under(status))
}
