//! Writes: one atomic batch per tick, at most one under way.
//!
//! While the store takes a batch, the next tick may be computed, encoded and sent, so that a server never waits for us;
//! but the word that makes it happen is said only after the answer. When the answer is bad, what was sent meanwhile is
//! called off: it held only what had changed since a write that never was, and everything is written anew from the
//! newest state.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Kind, Packed, Session, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::seen::Seen;
use super::show::look;
use super::{Asker, Engine, PATIENCE, Turn, write};
use crate::batch::Batch;
use crate::orders::Effect;

/// The session for the next batch, and what became of this one.
type Arrived = (Option<Box<dyn Session>>, Result<(), Fault>);
/// Threads from which on several are at work while the store is too.
const MANY_THREADS: usize = 3;

/// A batch that is under way, and what to do when it arrives.
pub(super) struct Flight {
    task: JoinHandle<(Arrived, Batch)>,
    extra: Arc<Vec<Cmd>>,
    answers: Vec<Cmd>,
    askers: Vec<(Asker, Effect)>,
    seen: Box<Seen>,
    began: Duration,
}

impl Engine {
    /// Everything as it is: one atomic write on one server; on a Cluster entities first, then the tick. Whether it
    /// is in the store.
    pub(super) async fn flush(&mut self, turn: &mut Turn) -> bool {
        self.land(turn).await;
        if !turn.lock.holds() {
            return false;
        }
        let batch = turn.world.batch_in(self.keys, std::mem::take(&mut turn.room), true);
        let session = turn.session.take();
        let sending = send(&self.store, session, self.home(), &turn.extra, &batch, None);
        let (session, outcome) = sending.await;
        turn.room = batch;
        turn.session = session;
        match &outcome {
            Ok(()) => {
                turn.failing_since = None;
                turn.extra.clear();
            }
            Err(fault) => self.keep_for_later(turn, fault),
        }
        outcome.is_ok()
    }

    /// Sends everything as it is, lets it happen once the batch before it has arrived, and does not wait for the answer.
    pub(super) async fn launch(&mut self, turn: &mut Turn, began: Duration) {
        let shared = turn.may_share();
        let room = std::mem::take(&mut turn.room);
        let batch = turn.world.batch_in(self.keys, room, shared);
        let seen = look(turn);
        let extra = Arc::new(std::mem::take(&mut turn.extra));
        let (go, gate) = oneshot::channel();
        let (sent, home, session) = (Arc::clone(&extra), self.home(), turn.session.take());
        let store = Arc::clone(&self.store);
        let runtime = tokio::runtime::Handle::current();
        // A thread of its own: the embedded store works where it is called.
        let task = tokio::task::spawn_blocking(move || {
            let sending = send(&store, session, home, &sent, &batch, Some(gate));
            let arrived = runtime.block_on(sending);
            drop(sent);
            (arrived, batch)
        });
        self.land(turn).await;
        if turn.failing_since.is_some() || !turn.lock.holds() {
            drop(go);
            turn.extra.append(&mut Arc::unwrap_or_clone(extra));
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
        // Who does not hear it has ended, and its outcome says why.
        let _ = go.send(());
        let answers = std::mem::take(&mut turn.answers);
        let askers = std::mem::take(&mut turn.askers);
        turn.flight = Some(Flight { task, extra, answers, askers, seen, began });
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
        match outcome {
            Ok(()) => {
                turn.failing_since = None;
                turn.numbers.behind = turn.beat.behind(now);
                turn.numbers.took = now.saturating_sub(flight.began);
                let mut seen = flight.seen;
                seen.numbers.clone_from(&turn.numbers);
                self.show_this(turn, seen);
                self.tell(flight.askers, &flight.answers).await;
            }
            Err(fault) => {
                let mut extra = Arc::unwrap_or_clone(flight.extra);
                extra.append(&mut turn.extra);
                turn.extra = extra;
                turn.answers.splice(..0, flight.answers);
                turn.askers.splice(..0, flight.askers);
                self.keep_for_later(turn, &fault);
            }
        }
    }

    /// The writes of orders stay, and the next batch holds every field again; after five seconds the world rests.
    fn keep_for_later(&self, turn: &mut Turn, fault: &Fault) {
        let now = self.clock.monotonic();
        turn.numbers.failed_writes += 1;
        turn.session = None;
        turn.world.doubt_the_store();
        let since = *turn.failing_since.get_or_insert(now);
        tracing::warn!(%fault, "a tick could not be written; the newest state is tried again");
        if now.saturating_sub(since) > PATIENCE && !turn.world.pace.paused {
            turn.world.pace.paused = true;
            turn.paused_at = Some(now);
            turn.extra.extend(write::pace(&turn.world, self.keys));
            tracing::error!("the store has not taken a tick for five seconds; the world is paused");
        }
    }

    /// The key by which a session finds its server.
    fn home(&self) -> String {
        self.keys.tick().as_str().to_owned()
    }
}

impl Turn {
    /// Whether there are cores with nothing else to do: a server has one of its own while it takes a batch.
    pub(super) fn may_share(&self) -> bool {
        self.flight.is_none() || rayon::current_num_threads() >= MANY_THREADS
    }
}

/// Writes a batch, when there is a gate only once it opens; gives the session back for the next.
async fn send(
    store: &Arc<dyn Store>,
    session: Option<Box<dyn Session>>,
    home: String,
    extra: &[Cmd],
    batch: &Batch,
    gate: Option<oneshot::Receiver<()>>,
) -> Arrived {
    if store.status().kind == Kind::Cluster {
        if let Some(gate) = gate
            && once_open(gate).await.is_none()
        {
            return (None, Err(Fault::Unavailable("it was called off".to_owned())));
        }
        let entities: Vec<Cmd> = batch.entities.iter().flat_map(Packed::cmds).collect();
        return (None, send_apart(&**store, &[extra, &entities, &batch.last.cmds()]).await);
    }
    // The batch before it has as much time again.
    let by = Deadline::after(if gate.is_some() { PATIENCE * 2 } else { PATIENCE });
    let opened = match session {
        Some(session) => Ok(session),
        None => store.session(home.as_bytes(), by).await,
    };
    let mut session = match opened {
        Ok(session) => session,
        Err(fault) => return (None, Err(fault)),
    };
    let extra: Packed = extra.iter().collect();
    let mut parts = vec![&extra];
    parts.extend(&batch.entities);
    parts.push(&batch.last);
    let outcome = match gate {
        None => session.exec_packed(&parts, by).await,
        Some(gate) => session.exec_packed_after(&parts, Box::pin(once_open(gate)), by).await,
    };
    (Some(session), outcome.map(drop))
}

/// Until when the batch may happen; never, when nobody opens the gate any more.
async fn once_open(gate: oneshot::Receiver<()>) -> Option<Deadline> {
    gate.await.is_ok().then(|| Deadline::after(PATIENCE))
}

async fn send_apart(store: &dyn Store, parts: &[&[Cmd]]) -> Result<(), Fault> {
    for part in parts.iter().filter(|part| !part.is_empty()) {
        for outcome in store.pipeline(part, Deadline::after(PATIENCE)).await? {
            outcome?;
        }
    }
    Ok(())
}
