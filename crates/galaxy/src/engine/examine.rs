//! The examination when the store lacks something that the world has. A tick never makes a key: it
//! is held back, and this file decides what happened. A ship or station that somebody deleted
//! leaves the world. A store that lost all, or was exchanged for another, ends the turn, and
//! nothing is written to it.

use std::collections::HashSet;

use kernel::{Cmd, Deadline, Fault, reply};
use uuid::Uuid;

use super::{Engine, EngineState, PATIENCE, Turn, keep};
use crate::keys::of_station;
use crate::store::cmd;
use crate::store::write;
use crate::world::orders::Effect;

/// Keys asked for in one trip.
const AT_ONCE: usize = 1_000;

impl Engine {
    /// Lets go of what is gone; how the engine stands when it is all of it.
    pub(super) async fn examine(&self, turn: &mut Turn) -> Result<Option<EngineState>, Fault> {
        if let Some(standing) = self.whose().await? {
            return Ok(Some(standing));
        }
        let gone = self.missing(&turn.world.entities(self.keys, &turn.born)).await?;
        if gone.contains(self.keys.tick().as_bytes()) {
            return Ok(Some(EngineState::Emptied));
        }
        let bodies = self.mend_bodies(turn, &gone)?;
        let ships: Vec<Uuid> = turn.world.ships.keys().copied().collect();
        for id in ships {
            if self.keys.ship(id).is_ok_and(|key| gone.contains(key.as_bytes())) {
                self.let_go(turn, id);
            }
        }
        let stations: Vec<_> = turn.world.stations.iter().map(|(id, s)| (*id, s.kind)).collect();
        for (id, kind) in stations {
            if of_station(self.keys, kind, id).is_ok_and(|key| gone.contains(key.as_bytes())) {
                turn.world.remove_station(id);
                self.lost(turn, &Effect::Unstationed(id, kind));
            }
        }
        let count = gone.len() - bodies;
        if count > 0 {
            tracing::warn!(
                count,
                "ships or stations were deleted from the store; they left the world"
            );
        }
        turn.gone = false;
        Ok(None)
    }

    /// Writes everything, where nothing comes after that could do it: once more, when something was gone or the name of
    /// the store was touched meanwhile.
    pub(super) async fn flush_whole(&mut self, turn: &mut Turn) -> Result<bool, Fault> {
        let stored = self.flush(turn).await;
        if turn.gone && self.examine(turn).await?.is_none() {
            return Ok(self.flush(turn).await);
        }
        Ok(stored)
    }

    /// How the engine stands to a store that is not its own; `None` when it is.
    pub(super) async fn whose(&self) -> Result<Option<EngineState>, Fault> {
        let Some(own) = &self.options.identity else { return Ok(None) };
        Ok(match keep::identity(&*self.store, self.keys).await? {
            Some(found) if found == *own => None,
            Some(_) => Some(EngineState::Foreign),
            None => Some(EngineState::Emptied),
        })
    }

    /// The keys that do not exist.
    async fn missing(&self, keys: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>, Fault> {
        let mut missing = HashSet::new();
        for part in keys.chunks(AT_ONCE) {
            let asks: Vec<Cmd> = part.iter().map(|key| exists(key)).collect();
            let answers = self.store.pipeline(&asks, Deadline::after(PATIENCE)).await?;
            for (key, answer) in part.iter().zip(answers) {
                if reply::int(&answer?) == Some(0) {
                    missing.insert(key.clone());
                }
            }
        }
        Ok(missing)
    }

    /// A body belongs to the system and not to anybody who could delete it: it is written again, whole.
    fn mend_bodies(&self, turn: &mut Turn, gone: &HashSet<Vec<u8>>) -> Result<usize, Fault> {
        let system = turn.world.system;
        let bad = |why: kernel::keyspace::BadId| keep::unusable(self.keys, &why.to_string());
        let index = self.keys.system_bodies(system.id).map_err(bad)?;
        let mut count = 0;
        for body in system.bodies() {
            let key = self.keys.body(body.name).map_err(bad)?;
            if gone.contains(key.as_bytes()) {
                tracing::warn!(body = body.name, "it was deleted from the store and is put back");
                turn.extra.push(cmd(&["HSET", key.as_str(), "system_id", system.id]));
                turn.extra.push(cmd(&["SADD", index.as_str(), body.name]));
                turn.born.insert(key.as_bytes().to_vec());
                count += 1;
            }
        }
        Ok(count)
    }

    fn let_go(&self, turn: &mut Turn, id: Uuid) {
        let Some(ship) = turn.world.remove_ship(id) else { return };
        let rules = ship.rules.iter().map(|rule| rule.id).collect();
        self.lost(turn, &Effect::Despawned { ship: id, rules });
    }

    fn lost(&self, turn: &mut Turn, effect: &Effect) {
        turn.extra.extend(write::effect(&turn.world, self.keys, effect, self.clock.now_ms()));
    }
}

pub(super) fn exists(key: &[u8]) -> Cmd {
    let mut ask = Cmd::new();
    ask.arg("EXISTS").arg(key);
    ask
}
