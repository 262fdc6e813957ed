//! The search for the world that the engine ticks: the one in the store, the newest snapshot when
//! the store is empty, or a new one. A restore that was cut short comes before all of them.

use kernel::{Deadline, Fault};

use super::alone::restored;
use super::lock::Lock;
use super::{Engine, EngineState, PATIENCE, ReplyTo, Turn, keep, mend};
use crate::error::{OrderError, SnapshotError};
use crate::store::cmd;
use crate::store::load;
use crate::store::write;
use crate::world::World;

impl Engine {
    /// How the engine stands to the store when there is no world in it, and none may be made.
    pub(super) async fn find_world(
        &self,
        lock: &mut Lock,
    ) -> Result<Result<World, EngineState>, Fault> {
        if let Some(standing) = self.finish_restore(lock).await? {
            return Ok(Err(standing));
        }
        if !mend::before_reading(&self.store, lock).await? {
            return Err(Fault::Unavailable(
                "the lock was lost before the world was read".to_owned(),
            ));
        }
        if let Some(world) = self.load(lock).await? {
            return Ok(Ok(world));
        }
        let Some(epoch) = self.options.create else { return Ok(Err(EngineState::NoWorld)) };
        let (store, now) = (&self.store, self.clock.now_ms());
        let mut world = load::create(store, self.keys, self.options.system, epoch, now).await?;
        world.pace.rate = self.options.rate;
        let by = Deadline::after(PATIENCE);
        for set in store.pipeline(&write::pace(&world, self.keys), by).await? {
            set?;
        }
        Ok(Ok(world))
    }

    /// Repeats a restore that was cut short; fills a store that lost its world from the newest snapshot, when that is
    /// wanted. How the engine stands when it is not, or when the store is another's.
    async fn finish_restore(&self, lock: &mut Lock) -> Result<Option<EngineState>, Fault> {
        let (store, keys) = (&*self.store, self.keys);
        let whose = self.whose().await?;
        if whose == Some(EngineState::Foreign) {
            return Ok(whose);
        }
        let mut wanted = keep::unfinished(store, keys).await?;
        if wanted.is_none() && keep::is_empty(store, keys, self.options.system.id).await? {
            let newest = match &self.options.snapshots {
                Some(snapshots) => snapshots.newest().await,
                None => Ok(None),
            };
            wanted = newest.map_err(|error| Fault::Unavailable(error.to_string()))?;
            let known = whose.is_some() || wanted.is_some();
            if known && !self.options.restore {
                return Ok(Some(EngineState::Emptied));
            }
        }
        let Some(id) = wanted else {
            // Without a world to lose, or with one that somebody made anew, the store is ours to name.
            self.claim().await?;
            return Ok(None);
        };
        tracing::warn!(id, "the store is empty or half restored; the world comes from a snapshot");
        let back = self.go_back(lock, id).await.map_err(|error| match error {
            SnapshotError::Fault(fault) => fault,
            error => keep::unusable(keys, &error.to_string()),
        });
        back.map(|()| None)
    }

    /// Writes whose store it is, where nothing says so.
    async fn claim(&self) -> Result<(), Fault> {
        let Some(own) = &self.options.identity else { return Ok(()) };
        let set = cmd(&["HSETNX", self.keys.store().as_str(), "id", own]);
        self.store.call(&set, Deadline::after(PATIENCE)).await.map(drop)
    }

    /// Reads the world, which may take longer than the lock lives.
    async fn load(&self, lock: &mut Lock) -> Result<Option<World>, Fault> {
        let reads = load::load(&self.store, self.keys, self.options.system);
        let lost = || Fault::Unavailable("the lock was lost while the world was read".to_owned());
        let loaded = lock.hold_while(reads).await.ok_or_else(lost)??;
        for (key, why) in loaded.iter().flat_map(|loaded| &loaded.aside) {
            tracing::error!(key, %why, "set aside; the world goes on without it");
        }
        Ok(loaded.map(|loaded| loaded.world))
    }

    pub(super) async fn go_back(&self, lock: &mut Lock, id: i64) -> Result<(), SnapshotError> {
        let Some(snapshots) = &self.options.snapshots else {
            let why = "a restore was cut short, and this server has no database of snapshots";
            return Err(SnapshotError::Unusable(why.to_owned()));
        };
        let state = snapshots.get(id).await?;
        keep::put_back(&self.store, self.keys, lock, id, &state).await?;
        Ok(self.claim().await?)
    }

    /// Back to a snapshot, because somebody asked. A fault ends the turn, and the next one repeats the restore.
    pub(super) async fn restore(
        &self,
        mut turn: Turn,
        id: i64,
        reply_to: Option<ReplyTo>,
    ) -> Result<Turn, Fault> {
        let outcome = restored(id, self.go_back(&mut turn.lock, id).await)?;
        if outcome.is_err() {
            self.tell(reply_to.map(|reply_to| (reply_to, outcome)).into_iter().collect()).await;
            return Ok(turn);
        }
        let world = self.load(&mut turn.lock).await?;
        let world = world.ok_or_else(|| keep::unusable(self.keys, "no world came of it"))?;
        // All that the old world had in memory goes with it, but for what was refused already.
        let meanwhile = OrderError::Conflict("the world was restored meanwhile");
        let undone = |(reply_to, outcome): (ReplyTo, super::OrderOutcome)| {
            (reply_to, outcome.and(Err(meanwhile.clone())))
        };
        let mut fresh = self.turn(world, turn.lock);
        fresh.askers = turn.askers.drain(..).map(undone).collect();
        fresh.askers.extend(reply_to.map(|reply_to| (reply_to, outcome)));
        (fresh.keeper, fresh.after, fresh.numbers) = (turn.keeper, turn.after, turn.numbers);
        self.show(&mut fresh, true).await;
        Ok(fresh)
    }
}
