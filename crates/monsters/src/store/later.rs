//! Additions of later versions of the upstream service: basic attacks, mp drain, instant kill, catching, and the
//! choice of a skill. Each is one step with a single winner.

use field::Tenant;
use kernel::keyspace::Key;
use kernel::{Cmd, Decision, Effects as _, Step, Written, reply};

use super::Monsters;
use super::change::Context;
use super::damage::Hit;
use crate::error::{MonsterError, Result, SkillCheck};
use crate::events;
use crate::model::Monster;
use crate::strike::{Attack, Blow};

/// After a choice the monster chooses nothing new for this long.
const REPICK_MS: i64 = 3_000;

/// A skill that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picked {
    /// Which.
    pub skill_id: u16,
    /// At which level.
    pub level: u8,
}

impl Monsters {
    /// A basic attack: its mp and its own cooldown, in one step. Gives the mp left.
    pub async fn basic_attack(&self, tenant: &Tenant, id: u32, position: u8) -> Result<u32> {
        let cooldown = self.keys.attack(tenant.id, id, position)?;
        let key = cooldown.clone();
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            if !monster.alive() {
                return Err(MonsterError::Dead);
            }
            let template = context.template(monster);
            let attacks = template.iter().flat_map(|template| &template.attacks);
            let attack = attacks.into_iter().find(|attack| attack.position == position);
            let attack = attack.ok_or(MonsterError::Skill(SkillCheck::Unknown))?;
            let mut step =
                step.while_absent(&cooldown).set_for(&cooldown, "1", attack.cooldown_ms.into());
            step = context.spend(step, monster, attack.mp_cost)?;
            Ok(Decision::Write(step, monster.mp))
        };
        match self.change(tenant.id, id, None, rule).await {
            Ok(Written::Answer(mp)) => Ok(mp),
            Ok(Written::Guarded(_)) => Err(MonsterError::Skill(SkillCheck::Cooldown)),
            Err(refused) => Err(self.unless_waiting(&key, refused).await?),
        }
    }

    /// A character's skill takes mp; gives how much.
    pub async fn drain_mp(
        &self,
        tenant: &Tenant,
        id: u32,
        character: u32,
        skill: u32,
        amount: u32,
    ) -> Result<u32> {
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            if !monster.alive() {
                return Err(MonsterError::Dead);
            }
            let taken = amount.min(monster.mp);
            if taken == 0 {
                return Ok(Decision::Leave(0));
            }
            let step = context.spend(step, monster, taken)?;
            let (now, amount) = (context.now_ms, -i64::from(taken));
            let told = events::mp_changed(monster, now, character, skill, "DRAIN", amount);
            Ok(Decision::Write(step.event(&context.keys.events, &told), taken))
        };
        self.alter(tenant.id, id, None, rule).await
    }

    /// A character kills at one stroke what is no boss.
    pub async fn instant_kill(&self, tenant: &Tenant, id: u32, character: u32) -> Result<Blow> {
        let attack =
            Attack { character_id: character, damages: vec![u32::MAX], ..Attack::default() };
        let hit = Hit { attack, spares_bosses: true, ..Hit::default() };
        self.hit(tenant.id, id, hit, None).await
    }

    /// A character catches a monster: of many who try, one has it.
    pub async fn catch(&self, tenant: &Tenant, id: u32, character: u32) -> Result<Monster> {
        self.destroy_by(tenant.id, id, character, true, None).await
    }

    /// Chooses among the skills a monster could use now; `None` when there is none, or it chose a moment ago.
    pub async fn pick_skill(&self, tenant: &Tenant, id: u32) -> Result<Option<Picked>> {
        let monster = self.get(tenant, id).await?;
        let Some(template) = self.template(monster.monster_id).filter(|_| monster.alive()) else {
            return Ok(None);
        };
        if self.now() < monster.next_eligible_repick_at_ms || monster.is_under("SEAL") {
            return Ok(None);
        }
        let fits = |skill: &crate::Skill| {
            monster.mp >= skill.mp_con
                && (skill.hp == 0 || monster.hp_percent() <= u64::from(skill.hp))
        };
        let mut ready = Vec::new();
        for own in &template.skills {
            if !self.skill(own.id, own.level).is_some_and(|skill| fits(&skill)) {
                continue;
            }
            let key = self.keys.cooldown(tenant.id, id, own.id.into())?;
            let waits = self.store.call(Cmd::new().arg("EXISTS").arg(&key), self.by()).await?;
            if reply::int(&waits) == Some(0) {
                ready.push(Picked { skill_id: own.id, level: own.level });
            }
        }
        if ready.is_empty() {
            return Ok(None);
        }
        let at = self.roll(u32::try_from(ready.len()).unwrap_or(1));
        let picked = ready[usize::try_from(at).unwrap_or(0)];
        let rule = |context: &Context, step: Step, monster: &mut Monster| {
            if context.now() < monster.next_eligible_repick_at_ms {
                return Ok(Decision::Leave(false));
            }
            monster.next_eligible_repick_at_ms = context.now() + REPICK_MS;
            Ok(Decision::Write(step, true))
        };
        let free = self.alter(tenant.id, id, None, rule).await?;
        Ok(free.then_some(picked))
    }

    /// A refusal for want of mp or of something else tells of the cooldown first, where it is not over yet.
    pub(super) async fn unless_waiting(
        &self,
        cooldown: &Key,
        refused: MonsterError,
    ) -> Result<MonsterError> {
        let later = [SkillCheck::Threshold, SkillCheck::Mp, SkillCheck::Full];
        if !matches!(refused, MonsterError::Skill(check) if later.contains(&check)) {
            return Ok(refused);
        }
        let waits = self.store.call(Cmd::new().arg("EXISTS").arg(cooldown), self.by()).await?;
        let waits = reply::int(&waits) == Some(1);
        Ok(if waits { MonsterError::Skill(SkillCheck::Cooldown) } else { refused })
    }
}

impl Context {
    /// Takes mp, which come back where the template says so. Refuses more than there are.
    pub(super) fn spend(&self, step: Step, monster: &mut Monster, mp: u32) -> Result<Step> {
        monster.mp = monster.mp.checked_sub(mp).ok_or(MonsterError::Skill(SkillCheck::Mp))?;
        let recovers = self.template(monster).is_some_and(|template| template.mp_recovery > 0);
        if mp == 0 || !recovers {
            return Ok(step);
        }
        Ok(step.ops(self.keys.arm_recovery(monster.unique_id, self.now_ms)))
    }
}
