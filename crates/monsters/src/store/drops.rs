//! Friendly monsters: what they drop while they live, and the damage other monsters do to them. A drop is
//! claimed by moving its time on before the dice are rolled, so that no two servers drop for one period.

use std::sync::Arc;

use field::Tenant;
use kernel::keyspace::Key;
use kernel::{
    Cmd, Decision, Effects as _, Fault, Pending, Step, Timer, Value, Verdict, Written, reply,
};
use serde_json::json;
use uuid::Uuid;

use super::damage::Hit;
use super::{Monsters, TenantKeys};
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::{DropTimer, Monster};
use crate::strike::{Attack, Blow};

/// The drop timer of a friendly monster, as the hit that puts it off found it.
#[derive(Clone)]
pub(super) struct Friendly {
    key: Key,
    text: Option<Vec<u8>>,
}

impl Friendly {
    /// Notes in the drop timer that the monster was hit. The guard is that it is as it was found.
    pub(super) fn put_off(&self, step: Step, now: i64) -> Result<Step> {
        let Some(text) = &self.text else { return Ok(step.while_absent(&self.key)) };
        let mut state = DropTimer::read(self.key.as_str(), text)?;
        state.last_hit_at = now;
        let new = state.spliced(&String::from_utf8_lossy(text))?;
        Ok(step.while_text(&self.key, text).rewrite(&self.key, new))
    }
}

/// A drop that is due, and whose it is.
struct Due {
    key: Key,
    timer: Timer,
    keys: Arc<TenantKeys>,
    monster_key: Key,
    /// The monster and its text; `None`: it is gone.
    monster: Option<(String, Monster)>,
    /// The drops that the dice say.
    drops: Vec<serde_json::Value>,
}

/// The rule of a drop.
impl Due {
    fn decide(&self, current: Option<&[u8]>, now_ms: u64) -> std::result::Result<Step, Fault> {
        let (step, timer) = (Step::new(&self.key), &self.timer);
        let Some(text) = current else { return Ok(timer.finish(step)) };
        let monster = match &self.monster {
            Some((_, monster)) if monster.alive() => monster,
            // Nobody there to drop anything: the timer goes, unless somebody came meanwhile.
            Some((text, _)) => {
                return Ok(timer.finish(step.delete()).while_text(&self.monster_key, text));
            }
            None => return Ok(timer.finish(step.delete()).while_absent(&self.monster_key)),
        };
        let mut state = DropTimer::read(self.key.as_str(), text)?;
        let due_ms = u64::try_from(state.next_ms()).unwrap_or(0);
        if now_ms < due_ms {
            return Ok(timer.rearm(step, due_ms, &timer.payload));
        }
        state.last_drop_at = i64::try_from(now_ms).unwrap_or(i64::MAX);
        let mut step = step.write(state.spliced(&String::from_utf8_lossy(text))?);
        let events = &self.keys.events;
        for body in &self.drops {
            step = step.event(events, &events::command(monster, "drop.SPAWN", now_ms, body));
        }
        if !self.drops.is_empty() {
            let told = events::friendly_drop(monster, now_ms, self.drops.len());
            step = step.event(events, &told);
        }
        let again_ms = u64::try_from(state.next_ms()).unwrap_or(u64::MAX).max(now_ms + 1);
        Ok(timer.rearm(step, again_ms, &timer.payload))
    }
}

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
        let monster = match self.fetch(tenant, id).await {
            Ok(found) => Some(found),
            Err(MonsterError::NotFound) => None,
            Err(error) => return Err(error),
        };
        let key = self.keys.drop_timer(tenant, id)?;
        let due = Due {
            key: key.clone(),
            timer: timer.clone(),
            keys: self.of(tenant)?,
            monster_key: self.keys.monster(tenant, id)?,
            drops: monster.iter().flat_map(|(_, monster)| self.rolled(monster)).collect(),
            monster,
        };
        let clock = Arc::clone(&self.clock);
        let rule = move |current: Option<&[u8]>| match due.decide(current, clock.now_ms()) {
            Ok(step) => Decision::Write(step, Ok(Verdict::Finished)),
            Err(fault) => Decision::Leave(Err(fault)),
        };
        match self.drop_timers.write(&key, self.by(), rule).await? {
            Written::Answer(verdict) => Ok(verdict?),
            // Not ours any more.
            Written::Guarded(0) => Ok(Verdict::Finished),
            // The monster is another one now: look again.
            Written::Guarded(_) => Ok(Verdict::Failed),
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
        let key = self.keys.drop_timer(tenant.id, id)?;
        let by = self.by();
        loop {
            let text = match self.store.call(Cmd::new().arg("GET").arg(&key), by).await? {
                Value::BulkString(text) => Some(text),
                _ => None,
            };
            let friendly = Some(Friendly { key: key.clone(), text });
            let hit = Hit { attack: attack.clone(), is_final: true, friendly, ..Hit::default() };
            match self.try_hit(tenant.id, id, hit, answers).await? {
                Written::Answer(blow) => return Ok(blow),
                Written::Guarded(_) if by.left().is_zero() => return Err(MonsterError::Contended),
                // It dropped, or was hit by another server, meanwhile.
                Written::Guarded(_) => {}
            }
        }
    }
}
