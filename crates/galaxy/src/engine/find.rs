//! Which world the engine ticks: the one in the store, the newest snapshot when the store is empty, or a new one. A
//! restore that was cut short comes before all of them.

use kernel::{Deadline, Fault};

use super::lock::Lock;
use super::{Asker, Engine, PATIENCE, Turn, keep, mend, write};
use crate::load;
use crate::orders::{Effect, OrderError};
use crate::snapshot::SnapshotError;
use crate::world::World;

impl Engine {
    /// `None` when there is none, and none may be made.
    pub(super) async fn find_world(&self, lock: &mut Lock) -> Result<Option<World>, Fault> {
        self.finish_restore(lock).await?;
        if !mend::before_reading(&self.store, &self.clock, lock).await? {
            return Err(Fault::Unavailable(
                "the lock was lost before the world was read".to_owned(),
            ));
        }
        if let Some(world) = self.load().await? {
            return Ok(Some(world));
        }
        let Some(epoch) = self.options.create else { return Ok(None) };
        let (store, now) = (&self.store, self.clock.now_ms());
        let mut world = load::create(store, self.keys, self.options.system, epoch, now).await?;
        world.pace.rate = self.options.rate;
        let by = Deadline::after(PATIENCE);
        for set in store.pipeline(&write::pace(&world, self.keys), by).await? {
            set?;
        }
        Ok(Some(world))
    }

    /// Repeats a restore that was cut short; fills an empty store from the newest snapshot.
    async fn finish_restore(&self, lock: &mut Lock) -> Result<(), Fault> {
        let (store, keys) = (&*self.store, self.keys);
        let mut wanted = keep::unfinished(store, keys).await?;
        if let (None, Some(snapshots)) = (wanted, &self.options.snapshots)
            && keep::is_empty(store, keys, self.options.system.id).await?
        {
            let newest = snapshots.newest().await;
            wanted = newest.map_err(|error| Fault::Unavailable(error.to_string()))?;
        }
        let Some(id) = wanted else { return Ok(()) };
        tracing::warn!(id, "the store is empty or half restored; the world comes from a snapshot");
        self.go_back(lock, id).await.map_err(|error| match error {
            SnapshotError::Fault(fault) => fault,
            error => keep::unusable(keys, &error.to_string()),
        })
    }

    async fn load(&self) -> Result<Option<World>, Fault> {
        let loaded = load::load(&self.store, self.keys, self.options.system).await?;
        for (key, why) in loaded.iter().flat_map(|loaded| &loaded.aside) {
            tracing::error!(key, %why, "set aside; the world goes on without it");
        }
        Ok(loaded.map(|loaded| loaded.world))
    }

    async fn go_back(&self, lock: &mut Lock, id: i64) -> Result<(), SnapshotError> {
        let Some(snapshots) = &self.options.snapshots else {
            let why = "a restore was cut short, and this server has no database of snapshots";
            return Err(SnapshotError::Unusable(why.to_owned()));
        };
        let state = snapshots.get(id).await?;
        Ok(keep::put_back(&self.store, self.keys, lock, id, &state).await?)
    }

    /// Back to a snapshot, because somebody asked. A fault ends the turn, and the next one repeats the restore.
    pub(super) async fn restore(
        &self,
        mut turn: Turn,
        id: i64,
        asker: Option<Asker>,
    ) -> Result<Turn, Fault> {
        let tell = |asker: Option<Asker>, outcome| asker.map(|asker| asker.send(outcome));
        match self.go_back(&mut turn.lock, id).await {
            Ok(()) => {}
            Err(SnapshotError::Fault(fault)) => {
                let why = "the store failed during the restore, which is repeated";
                tell(asker, Err(OrderError::Conflict(why)));
                return Err(fault);
            }
            Err(error) => {
                tracing::warn!(%error, id, "no restore");
                tell(
                    asker,
                    Err(match error {
                        SnapshotError::Missing(_) => OrderError::Missing("snapshot"),
                        _ => OrderError::Conflict("the snapshot cannot be used"),
                    }),
                );
                return Ok(turn);
            }
        }
        let world = self.load().await?;
        let world = world.ok_or_else(|| keep::unusable(self.keys, "no world came of it"))?;
        for (asker, _) in turn.askers.drain(..) {
            tell(Some(asker), Err(OrderError::Conflict("the world was restored meanwhile")));
        }
        // All that the old world had in memory goes with it.
        let mut fresh = self.turn(world, turn.lock);
        (fresh.keeper, fresh.after, fresh.answers) = (turn.keeper, turn.after, turn.answers);
        fresh.numbers = turn.numbers;
        self.show(&mut fresh, true).await;
        tell(asker, Ok(Effect::Restored(id)));
        Ok(fresh)
    }
}
