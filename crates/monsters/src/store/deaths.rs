//! Monsters that ended a moment ago. Their ids are given out again at once: a hit that was under way when its target
//! died does not fall on the heir, and cooldowns that no template names are cleared by one SCAN for all of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::{Effects as _, Step};
use parking_lot::Mutex;
use uuid::Uuid;

use super::Monsters;
use crate::error::Result;
use crate::keys::def;

/// The number that is remembered.
const REMEMBERED: usize = 100_000;
/// Their cooldowns are cleared this often.
const CLEAR_EVERY: Duration = Duration::from_mins(1);

/// The deaths that this server brought about.
#[derive(Clone, Default)]
pub(super) struct Deaths(Arc<Recent>);

#[derive(Default)]
struct Recent {
    /// How many there were.
    count: AtomicU64,
    /// The number of each one's last death.
    last: Mutex<HashMap<(Uuid, u32), u64>>,
}

impl Deaths {
    /// The number of the last death of all.
    pub(super) fn count(&self) -> u64 {
        self.0.count.load(Ordering::Acquire)
    }

    pub(super) fn note(&self, tenant: Uuid, id: u32) {
        let mut last = self.0.last.lock();
        if last.len() >= REMEMBERED {
            last.clear();
        }
        let number = 1 + self.0.count.fetch_add(1, Ordering::AcqRel);
        last.insert((tenant, id), number);
    }

    /// Whether this monster has died after the death of that number.
    pub(super) fn since(&self, number: u64, tenant: Uuid, id: u32) -> bool {
        self.count() > number
            && self.0.last.lock().get(&(tenant, id)).is_some_and(|died| *died > number)
    }
}

impl Monsters {
    /// Clears the cooldowns of those that died lately, for ever.
    pub(super) async fn clear_for_ever(&self) {
        loop {
            self.clock.sleep(CLEAR_EVERY).await;
            if let Err(error) = self.clear_cooldowns().await {
                tracing::debug!(%error, "cooldowns of the dead are cleared later");
            }
        }
    }

    /// Clears every cooldown of monsters that died lately, also of skills that their templates do not have: one SCAN
    /// for all of them. What an heir of the id uses is left. Tells how many there were.
    pub async fn clear_cooldowns(&self) -> Result<usize> {
        let count = self.deaths.count();
        let dead: HashSet<(Uuid, u32)> = self.deaths.0.last.lock().keys().copied().collect();
        if dead.is_empty() {
            return Ok(0);
        }
        let mut cleared = 0;
        for found in self.scan(&def::cooldown, &[]).await? {
            let value = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, v)| v);
            let number = |name: &str| value(name).and_then(|text| text.parse::<u32>().ok());
            let tenant = value("tenant_id").and_then(|text| text.parse::<Uuid>().ok());
            let (Some(tenant), Some(id), Some(skill)) =
                (tenant, number("monster_id"), number("skill_id"))
            else {
                continue;
            };
            if dead.contains(&(tenant, id)) {
                let key = self.keys.cooldown(tenant, id, skill)?;
                let step = Step::new(self.keys.monster(tenant, id)?).absent().del(&key);
                cleared += usize::from(self.store.step(&step, self.by()).await?.is_done());
            }
        }
        self.deaths.0.last.lock().retain(|_, died| *died > count);
        Ok(cleared)
    }
}
