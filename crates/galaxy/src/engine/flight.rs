//! Writes: one atomic batch per tick, at most one under way.
//!
//! While the store takes a batch, the next tick may be computed, encoded and sent, so that a server
//! never waits for us; but it may happen only after the answer to the one before. After a bad
//! answer the batch sent meanwhile is called off, because it held only the changes since a write
//! that never happened; everything is written anew from the newest state. A batch makes nothing
//! that is gone: everything it writes to is looked for right before it happens.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Kind, reply};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::foreign::Topic;
use super::send::{Arrived, Landed, Sender};
use super::show::look;
use super::world_view::WorldView;
use super::{Engine, PATIENCE, Turn, reply_to};
use crate::store::batch::{Batch, Born};
use crate::store::cmd;
use crate::store::write;

/// Threads from which on several are at work while the store is too.
const MANY_THREADS: usize = 3;

/// A batch that is under way, and what to do when it arrives.
pub(super) struct Flight {
    task: JoinHandle<(Arrived, Batch)>,
    extra: Arc<Vec<Cmd>>,
    born: Born,
    askers: reply_to::Replies,
    seen: Box<WorldView>,
    began: Duration,
    /// Of the batch, for what is unstored until then.
    number: u64,
}

impl Engine {
    /// Everything as it is: one atomic write on one server; on a Cluster entities first, then the tick. Whether it
    /// is in the store.
    pub(super) async fn flush(&mut self, turn: &mut Turn) -> bool {
        self.land(turn).await;
        if !turn.lock.holds() {
            return false;
        }
        let room = std::mem::take(&mut turn.room);
        let batch = turn.world.batch_in(self.keys, room, &turn.born, true);
        let (session, number) = (turn.session.take(), turn.unstored.leaves());
        let (session, outcome) = self.sender().send(session, &turn.extra, &batch, None).await;
        turn.room = batch;
        turn.session = session;
        match outcome {
            Ok(Landed::Stored) => {
                turn.stored(number);
                turn.extra.clear();
                turn.born.clear();
                self.recount(turn).await;
                true
            }
            Ok(Landed::Gone) => {
                turn.found_gone();
                false
            }
            Err(fault) => {
                self.keep_for_later(turn, &fault);
                false
            }
        }
    }

    /// Sends everything as it is, lets it happen once the batch before it has arrived, and does not wait for the answer.
    pub(super) async fn launch(&mut self, turn: &mut Turn, began: Duration) {
        let shared = turn.may_share();
        let room = std::mem::take(&mut turn.room);
        let batch = turn.world.batch_in(self.keys, room, &turn.born, shared);
        let seen = look(turn);
        let extra = Arc::new(std::mem::take(&mut turn.extra));
        let (born, number) = (std::mem::take(&mut turn.born), turn.unstored.leaves());
        let (go, gate) = oneshot::channel();
        let (sent, sender, session) = (Arc::clone(&extra), self.sender(), turn.session.take());
        let runtime = tokio::runtime::Handle::current();
        // A thread of its own: the embedded store works where it is called.
        let task = tokio::task::spawn_blocking(move || {
            let arrived = runtime.block_on(sender.send(session, &sent, &batch, Some(gate)));
            drop(sent);
            (arrived, batch)
        });
        self.land(turn).await;
        if turn.failing_since.is_some() || turn.gone || !turn.lock.holds() {
            drop(go);
            turn.extra.append(&mut Arc::unwrap_or_clone(extra));
            turn.born.extend(born);
            if turn.failing_since.is_some() {
                let stored = self.flush(turn).await;
                self.show(turn, stored).await;
            }
            return;
        }
        // Inside this process a call waits for the whole batch; a server answers between its pieces.
        let embedded = self.store.status().kind == Kind::Embedded;
        if embedded {
            self.hear(turn).await;
        }
        // A task that does not hear it has ended, and its outcome says why.
        let _ = go.send(());
        let askers = std::mem::take(&mut turn.askers);
        turn.flight = Some(Flight { task, extra, born, askers, seen, began, number });
        if !embedded {
            self.hear(turn).await;
        }
    }

    /// Waits for the batch that is under way, if one is.
    pub(super) async fn land(&mut self, turn: &mut Turn) {
        let Some(flight) = turn.flight.take() else { return };
        let lost =
            |_| ((None, Err(Fault::Unknown("the writer ended".to_owned()))), Batch::default());
        let ((session, outcome), room) = flight.task.await.unwrap_or_else(lost);
        (turn.session, turn.room) = (session, room);
        let now = self.clock.monotonic();
        if let Ok(Landed::Stored) = outcome {
            turn.stored(flight.number);
            turn.numbers.behind = turn.beat.behind(now);
            turn.numbers.took = now.saturating_sub(flight.began);
            let mut seen = flight.seen;
            seen.numbers.clone_from(&turn.numbers);
            self.show_this(turn, seen);
            return self.tell(flight.askers).await;
        }
        let mut extra = Arc::unwrap_or_clone(flight.extra);
        extra.append(&mut turn.extra);
        turn.extra = extra;
        turn.born.extend(flight.born);
        turn.askers.splice(..0, flight.askers);
        match outcome {
            Err(fault) => self.keep_for_later(turn, &fault),
            Ok(_) => turn.found_gone(),
        }
    }

    /// Somebody else may count spawns too, so the store says how many there were.
    async fn recount(&self, turn: &mut Turn) {
        if !std::mem::take(&mut turn.recount) {
            return;
        }
        let ask = cmd(&["GET", self.keys.total_spawns().as_str()]);
        // Without an answer the next spawn asks again.
        let counted = self.store.call(&ask, Deadline::after(PATIENCE)).await.ok();
        if let Some(count) = counted.as_ref().and_then(reply::text).and_then(|n| n.parse().ok()) {
            turn.world.total_spawns = count;
        }
    }

    /// The writes of orders stay, and the next batch holds every field again; after five seconds the world rests.
    fn keep_for_later(&self, turn: &mut Turn, fault: &Fault) {
        let now = self.clock.monotonic();
        turn.numbers.failed_writes += 1;
        turn.session = None;
        turn.world.doubt_the_store();
        if turn.failing_since.is_none() {
            tracing::warn!(%fault, "a tick could not be written; the newest state is tried again");
        }
        let since = *turn.failing_since.get_or_insert(now);
        if now.saturating_sub(since) > PATIENCE && !turn.world.pace.paused {
            turn.world.pace.paused = true;
            turn.paused_at = Some(now);
            turn.extra.extend(write::pace(&turn.world, self.keys));
            turn.unstored.note(Topic::Pace);
            tracing::error!("the store has not taken a tick for five seconds; the world is paused");
        }
    }

    fn sender(&self) -> Sender {
        Sender {
            store: Arc::clone(&self.store),
            keys: self.keys,
            identity: self.options.identity.clone(),
        }
    }
}

impl Turn {
    /// Whether there are cores with nothing else to do: a server has one of its own while it takes a batch.
    pub(super) fn may_share(&self) -> bool {
        self.flight.is_none() || rayon::current_num_threads() >= MANY_THREADS
    }

    /// Whether the store holds exactly this world.
    pub(super) fn rests(&self) -> bool {
        !self.gone && self.failing_since.is_none() && self.extra.is_empty() && self.flight.is_none()
    }

    /// The batch of this number is in the store.
    fn stored(&mut self, number: u64) {
        self.unstored.stored(number);
        if self.failing_since.take().is_some() {
            tracing::info!("the store takes ticks again");
        }
    }

    /// Nothing was written: what is gone is looked for before the next batch.
    fn found_gone(&mut self) {
        self.gone = true;
        self.world.doubt_the_store();
    }
}
