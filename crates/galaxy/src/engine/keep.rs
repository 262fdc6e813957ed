//! The engine's snapshots: when one is taken, and going back to one.
//!
//! A snapshot is written beside the ticks from a copy of the world, one at a time. A restore is done by the engine that
//! holds the lock, between two ticks, and leaves the world paused.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Store, reply};
use tokio::task::JoinHandle;

use super::PATIENCE;
use super::lock::Lock;
use super::reply_to::{Replies, ReplyTo};
use crate::error::{OrderError, SnapshotError};
use crate::keys::Keys;
use crate::snapshot::{AGAIN, ALARM_AFTER, EVERY, SnapshotState, Snapshots, restore};
use crate::store::cmd;
use crate::world::World;
use crate::world::orders::{Effect, Order};

/// The last one before the end may take this long.
const LAST: Duration = Duration::from_secs(10);
/// Commands of a restore sent at once.
const AT_ONCE: usize = 500;

/// Takes snapshots when it is time.
pub(super) struct Keeper {
    snapshots: Option<Arc<Snapshots>>,
    /// When the next one is due.
    due: Duration,
    failed: u32,
    running: Option<Running>,
    /// Askers of the next snapshot.
    waiting: Vec<ReplyTo>,
    /// The snapshot to go back to, and who asked.
    pub(super) restore: Option<(i64, Option<ReplyTo>)>,
    /// Askers that are to hear the outcome of a snapshot or restore.
    pub(super) told: Replies,
}

struct Running {
    began: Duration,
    task: JoinHandle<Result<i64, SnapshotError>>,
    askers: Vec<ReplyTo>,
}

impl Running {
    /// It is given up then, so that it counts as failed and the next can begin.
    fn hangs(&self, now: Duration) -> bool {
        !self.task.is_finished() && now.saturating_sub(self.began) >= EVERY
    }

    fn is_over(&self, now: Duration) -> bool {
        self.task.is_finished() || self.hangs(now)
    }
}

impl Keeper {
    pub(super) fn new(snapshots: Option<Arc<Snapshots>>, now: Duration) -> Self {
        let (waiting, told) = (Vec::new(), Vec::new());
        let due = now + EVERY;
        Keeper { snapshots, due, failed: 0, running: None, waiting, restore: None, told }
    }

    /// Failures in a row.
    pub(super) fn failed(&self) -> u32 {
        self.failed
    }

    /// Does it when the time has come: a snapshot after the next write, a restore before it.
    pub(super) fn note(&mut self, order: &Order, reply_to: Option<ReplyTo>) {
        if let Order::Restore { id } = order {
            self.restore = Some((*id, reply_to));
        } else {
            self.due = Duration::ZERO;
            self.waiting.extend(reply_to);
        }
    }

    /// Takes the one that somebody waits for, and waits for it.
    pub(super) async fn answer(&mut self, world: &World, now: Duration) {
        if !self.waiting.is_empty() {
            self.begin(world, now);
        }
        if let Some(running) = self.running.take() {
            self.ended(running, now).await;
        }
    }

    /// Whether one is to be taken as soon as the store holds exactly this world, or was taken and is to be told.
    pub(super) fn waits(&self, now: Duration) -> bool {
        match &self.running {
            Some(running) => running.is_over(now),
            None => self.snapshots.is_some() && now >= self.due,
        }
    }

    /// To be called while the store holds exactly this world.
    pub(super) async fn tend(&mut self, world: &World, now: Duration) {
        if self.running.as_ref().is_some_and(|running| running.is_over(now))
            && let Some(running) = self.running.take()
        {
            self.ended(running, now).await;
        }
        if self.running.is_none() && now >= self.due {
            self.begin(world, now);
        }
    }

    fn begin(&mut self, world: &World, now: Duration) {
        self.due = now + EVERY;
        let Some(snapshots) = &self.snapshots else { return };
        let (snapshots, world) = (Arc::clone(snapshots), world.clone());
        let task = tokio::spawn(async move { snapshots.take(&world).await });
        self.running =
            Some(Running { began: now, task, askers: std::mem::take(&mut self.waiting) });
    }

    async fn ended(&mut self, running: Running, now: Duration) {
        // One that hangs is left to itself: a query that is cut short costs a database in memory its only connection.
        let outcome = if running.hangs(now) {
            Err("it takes longer than a minute".to_owned())
        } else {
            match running.task.await {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        };
        match &outcome {
            Ok(id) if self.failed > 0 => {
                self.failed = 0;
                tracing::info!(id, "snapshots are taken again");
            }
            Ok(id) => tracing::debug!(id, "snapshot taken"),
            Err(why) => {
                self.failed += 1;
                self.due = self.due.min(now + AGAIN);
                match self.failed {
                    1 => tracing::warn!(why, "a snapshot failed and is tried again"),
                    ALARM_AFTER => tracing::error!(why, "snapshots keep failing"),
                    _ => tracing::debug!(why, failed = self.failed, "a snapshot failed again"),
                }
            }
        }
        self.told.extend(running.askers.into_iter().map(|reply_to| {
            let refused = OrderError::Conflict("the snapshot could not be taken; try again");
            (reply_to, outcome.as_ref().map(|id| Effect::Kept(*id)).map_err(|_| refused))
        }));
    }

    /// The last one, before the engine ends; who is to be told of it.
    pub(super) async fn finish(mut self, world: &World, now: Duration) -> Replies {
        let last = async {
            if let Some(running) = self.running.take() {
                self.ended(running, now).await;
            }
            self.begin(world, now);
            self.answer(world, now).await;
        };
        if tokio::time::timeout(LAST, last).await.is_err() {
            tracing::error!("the last snapshot was not taken in time");
        }
        self.told
    }
}

/// Goes back to a snapshot. A fault leaves `game:restoring` behind, so that whoever leads next repeats it.
pub(super) async fn put_back(
    store: &Arc<dyn Store>,
    keys: Keys,
    lock: &mut Lock,
    id: i64,
    state: &SnapshotState,
) -> Result<(), Fault> {
    let mut writer = FencedWriter { store, lock };
    writer.send(&restore::begin(keys, id)).await?;
    writer.send(&restore::removals(store).await?).await?;
    writer.send(&restore::writes(keys, state)).await?;
    // The keys of players are another role's; where it is not ours too, the next login chooses.
    for choice in restore::choices(keys, state) {
        match store.call(&choice, Deadline::after(PATIENCE)).await {
            Ok(_) | Err(Fault::Refused { .. }) => {}
            Err(fault) => return Err(fault),
        }
    }
    // One by one: the mark goes only when all else is there.
    for step in restore::end(store, keys, state).await? {
        writer.send(std::slice::from_ref(&step)).await?;
    }
    tracing::info!(id, tick = state.tick(), "the world is as it was; it is paused");
    Ok(())
}

struct FencedWriter<'a> {
    store: &'a Arc<dyn Store>,
    lock: &'a mut Lock,
}

impl FencedWriter<'_> {
    async fn send(&mut self, cmds: &[Cmd]) -> Result<(), Fault> {
        for part in cmds.chunks(AT_ONCE) {
            if !self.lock.renew().await || !self.lock.holds() {
                return Err(Fault::Unavailable("the lock was lost during a restore".to_owned()));
            }
            for outcome in self.store.pipeline(part, Deadline::after(PATIENCE)).await? {
                outcome?;
            }
        }
        Ok(())
    }
}

/// The restore that was cut short, if one was.
pub(super) async fn unfinished(store: &dyn Store, keys: Keys) -> Result<Option<i64>, Fault> {
    let key = keys.restoring();
    let answer = store.call(&cmd(&["GET", key.as_str()]), Deadline::after(PATIENCE)).await?;
    match reply::text(&answer) {
        None => Ok(None),
        Some(id) => id.parse().map(Some).map_err(|_| unusable(keys, "it is no snapshot's number")),
    }
}

/// Whether the store has neither a tick nor a restore that was cut short.
pub(super) async fn has_no_world(store: &dyn Store, keys: Keys) -> Result<bool, Fault> {
    let asks = [keys.tick(), keys.restoring()].map(|key| cmd(&["EXISTS", key.as_str()]));
    none_exists(store, &asks).await
}

/// Whether nothing of a world is there.
pub(super) async fn is_empty(store: &dyn Store, keys: Keys, system: &str) -> Result<bool, Fault> {
    let mut asks =
        vec![cmd(&["EXISTS", keys.tick().as_str()]), cmd(&["EXISTS", keys.time().as_str()])];
    for index in [keys.system_bodies(system), keys.system_ships(system)] {
        asks.extend(index.ok().map(|index| cmd(&["EXISTS", index.as_str()])));
    }
    none_exists(store, &asks).await
}

async fn none_exists(store: &dyn Store, asks: &[Cmd]) -> Result<bool, Fault> {
    for answer in store.pipeline(asks, Deadline::after(PATIENCE)).await? {
        if reply::int(&answer?) != Some(0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The name of the store, by which its database knows it.
pub(super) async fn identity(store: &dyn Store, keys: Keys) -> Result<Option<String>, Fault> {
    let ask = cmd(&["HGET", keys.store().as_str(), "id"]);
    let answer = store.call(&ask, Deadline::after(PATIENCE)).await?;
    Ok(reply::text(&answer).map(str::to_owned))
}

pub(super) fn unusable(keys: Keys, why: &str) -> Fault {
    Fault::Corrupt { key: keys.restoring().as_str().to_owned(), detail: why.to_owned() }
}
