//! Friendly monsters: what they drop while they live, and the damage other monsters do to them. A drop is
//! claimed by moving its time on before the dice are rolled, so that no two servers drop for one period.

use field::Tenant;
use kernel::{
    Change, Cmd, Effects as _, Pending, Step, Stepped, Timer, Updated, Value, Verdict, reply,
};
use serde_json::json;
use uuid::Uuid;

use super::Monsters;
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::{DropTimer, Monster};
use crate::strike::{Attack, Blow};

impl Monsters {
    /// The drop timer of a monster, when it has one.
    pub async fn drop_timer(&self, tenant: &Tenant, id: u32) -> Result<Option<DropTimer>> {
        let key = self.keys.drop_timer(tenant.id, id)?;
        match self.store.call(Cmd::new().arg("GET").arg(&key), self.by()).await? {
            Value::Nil => Ok(None),
            Value::BulkString(text) => Ok(Some(DropTimer::read(key.as_str(), &text)?)),
            other => Err(reply::unexpected(&key, "text", &other).into()),
        }
    }

    pub(super) async fn drop_due(&self, timer: &Timer, tenant: Uuid, id: u32) -> Result<Verdict> {
        let key = self.keys.drop_timer(tenant, id)?;
        let keys = self.of(tenant)?;
        let answer = self.store.call(Cmd::new().arg("GET").arg(&key), self.by()).await?;
        let Value::BulkString(bytes) = answer else { return Ok(Verdict::Done) };
        let text = String::from_utf8(bytes).unwrap_or_default();
        let mut state = DropTimer::read(key.as_str(), text.as_bytes())?;
        let monster = match self.fetch(tenant, id).await {
            Ok((_, monster)) if monster.alive() => monster,
            Ok(_) | Err(MonsterError::NotFound) => {
                // Nobody there to drop anything: the timer goes.
                let step = timer.finish(Step::new(&key).expect(&text).delete());
                self.store.step(&step, self.by()).await?;
                return Ok(Verdict::Done);
            }
            Err(error) => return Err(error),
        };
        let now = self.now();
        let next = u64::try_from(state.next_ms()).unwrap_or(0);
        if now < state.next_ms() {
            return Ok(Verdict::Again(next));
        }
        state.last_drop_at = now;
        let at = self.clock.now_ms();
        let mut step = Step::new(&key).expect(&text).write(state.spliced(&text)?);
        let dropped = self.rolled(&monster);
        for body in &dropped {
            let event = events::command(&monster, "drop.SPAWN", at, body);
            step = step.event(&keys.events, &event);
        }
        if !dropped.is_empty() {
            step = step.event(&keys.events, &events::friendly_drop(&monster, at, dropped.len()));
        }
        let again = u64::try_from(state.next_ms()).unwrap_or(u64::MAX).max(at + 1);
        let step = timer.rearm(step, again, &timer.payload);
        match self.store.step(&step, self.by()).await? {
            // Hit meanwhile, or taken over: whoever has the timer looks again.
            Stepped::Refused(refused) if !refused.is_gone() => Ok(Verdict::Failed),
            Stepped::Refused(_) | Stepped::Done => Ok(Verdict::Done),
        }
    }

    fn rolled(&self, monster: &Monster) -> Vec<serde_json::Value> {
        let Some(template) = self.template(monster.monster_id) else { return Vec::new() };
        let won = |drop: &&crate::Drop| drop.quest_id == 0 && self.roll(999_999) < drop.chance;
        template
            .drops
            .iter()
            .filter(won)
            .map(|drop| {
                let span = (drop.maximum - drop.minimum).saturating_add(1);
                let many = drop.minimum + self.roll(span);
                let (quantity, mesos) = if drop.item_id == 0 { (0, many) } else { (many, 0) };
                json!({
                    "itemId": drop.item_id, "quantity": quantity, "mesos": mesos,
                    "x": monster.at.x, "y": monster.at.y,
                    "dropperUniqueId": monster.unique_id, "ownerId": 0,
                })
            })
            .collect()
    }

    /// Another monster hurts a friendly one: the dice say how much, and the drop is put off.
    pub async fn damage_friendly(&self, tenant: &Tenant, id: u32, attacker: u32) -> Result<Blow> {
        self.damage_friendly_for(tenant, id, attacker, None).await
    }

    pub(crate) async fn damage_friendly_for(
        &self,
        tenant: &Tenant,
        id: u32,
        attacker: u32,
        answers: Option<&Pending>,
    ) -> Result<Blow> {
        let from = self.template(attacker).ok_or(MonsterError::UnknownTemplate(attacker))?;
        let most = (u64::from(from.hp) / 13 + u64::from(from.weapon_attack) * 10) * 2 + 500;
        let rolled = self.roll(u32::try_from(most).unwrap_or(u32::MAX)) / 10;
        let attack = Attack { character_id: 0, damages: vec![rolled.max(1)], ..Attack::default() };
        let blow = self.strike_for(tenant, id, &attack, false, answers).await?;
        if !blow.killed {
            self.put_off(tenant.id, id).await?;
        }
        Ok(blow)
    }

    /// Notes in the drop timer that the monster was hit, in at most ten attempts.
    async fn put_off(&self, tenant: Uuid, id: u32) -> Result<()> {
        let key = self.keys.drop_timer(tenant, id)?;
        let now = self.now();
        let mut bad = None;
        let ended = kernel::update(&*self.store, &key, self.by(), |text| {
            let Some(text) = text else { return Change::leave() };
            let state = DropTimer::read(key.as_str(), text).and_then(|mut state| {
                state.last_hit_at = now;
                state.spliced(&String::from_utf8_lossy(text))
            });
            match state {
                Ok(new) => Change::write(new),
                Err(fault) => {
                    bad = Some(fault);
                    Change::leave()
                }
            }
        })
        .await?;
        match (bad, ended) {
            (Some(fault), _) => Err(fault.into()),
            (None, Updated::Done | Updated::Left | Updated::Gone | Updated::Exists) => Ok(()),
        }
    }
}
