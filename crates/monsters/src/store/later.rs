//! What later versions of the upstream service added: basic attacks, mp drain, instant kill, catching, and the
//! choice of a skill. Each is one step with a single winner.

use field::Tenant;
use kernel::{Cmd, Effects as _, Step, Stepped, reply};

use super::Monsters;
use crate::error::{MonsterError, Result, SkillCheck};
use crate::events;
use crate::model::Monster;
use crate::strike::{Attack, Blow};

const TRIES: usize = 50;
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
        let keys = self.of(tenant.id)?;
        let cooldown = self.keys.attack(tenant.id, id, position)?;
        for _ in 0..TRIES {
            let (text, before) = self.fetch(tenant.id, id).await?;
            if !before.alive() {
                return Err(MonsterError::Dead);
            }
            let template = self.template(before.monster_id);
            let attack = template
                .as_ref()
                .and_then(|template| template.attacks.iter().find(|a| a.position == position))
                .ok_or(MonsterError::Skill(SkillCheck::Unknown))?;
            let waits = self.store.call(Cmd::new().arg("EXISTS").arg(&cooldown), self.by()).await?;
            if reply::int(&waits) == Some(1) {
                return Err(MonsterError::Skill(SkillCheck::Cooldown));
            }
            let mut after = before.clone();
            after.mp =
                before.mp.checked_sub(attack.mp_cost).ok_or(MonsterError::Skill(SkillCheck::Mp))?;
            let mut step = Step::new(self.keys.monster(tenant.id, id)?)
                .expect(&text)
                .while_absent(&cooldown)
                .write(after.spliced(&before, &text)?)
                .set_for(&cooldown, "1", attack.cooldown_ms.into());
            if attack.mp_cost > 0 && template.as_ref().is_some_and(|t| t.mp_recovery > 0) {
                step = step.ops(keys.arm_recovery(id, self.clock.now_ms()));
            }
            match self.store.step(&step, self.by()).await? {
                Stepped::Done => return Ok(after.mp),
                Stepped::Refused(refused) if refused.is_gone() => {
                    return Err(MonsterError::NotFound);
                }
                Stepped::Refused(_) => {}
            }
        }
        Err(MonsterError::Contended)
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
        let keys = self.of(tenant.id)?;
        self.alter(tenant.id, id, |monster| {
            if !monster.alive() {
                return Err(MonsterError::Dead);
            }
            let taken = amount.min(monster.mp);
            if taken == 0 {
                return Ok((0, Vec::new()));
            }
            monster.mp -= taken;
            let now = self.clock.now_ms();
            let event =
                events::mp_changed(monster, now, character, skill, "DRAIN", -i64::from(taken));
            let mut ops = Vec::new().event(&keys.events, &event);
            if self.template(monster.monster_id).is_some_and(|t| t.mp_recovery > 0) {
                ops.extend(keys.arm_recovery(id, now));
            }
            Ok((taken, ops))
        })
        .await
    }

    /// A character kills at one stroke what is no boss.
    pub async fn instant_kill(&self, tenant: &Tenant, id: u32, character: u32) -> Result<Blow> {
        self.refuse_boss(tenant, id).await?;
        let attack =
            Attack { character_id: character, damages: vec![u32::MAX], ..Attack::default() };
        self.strike_for(tenant, id, &attack, true, None).await
    }

    /// A character catches a monster: of many who try, one has it.
    pub async fn catch(&self, tenant: &Tenant, id: u32, character: u32) -> Result<Monster> {
        self.refuse_boss(tenant, id).await?;
        self.destroy_for(tenant, id, character, None).await
    }

    async fn refuse_boss(&self, tenant: &Tenant, id: u32) -> Result<()> {
        let monster = self.get(tenant, id).await?;
        let template = self.template(monster.monster_id);
        match template {
            Some(template) if !template.boss => Ok(()),
            _ => Err(MonsterError::Skill(SkillCheck::Boss)),
        }
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
        let again = self.now() + REPICK_MS;
        let free = self
            .alter(tenant.id, id, |monster| {
                let free = self.now() >= monster.next_eligible_repick_at_ms;
                if free {
                    monster.next_eligible_repick_at_ms = again;
                }
                Ok((free, Vec::new()))
            })
            .await?;
        Ok(free.then_some(picked))
    }
}
