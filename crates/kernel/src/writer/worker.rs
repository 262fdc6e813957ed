//! The worker of one key: takes what waits, decides it on the known state, sends one step, answers. A key
//! has one worker at a time, so its changes have one order inside the process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Batch, Known};
use super::change::{Change, Decided};
use super::{Queues, Source, WriterShared};
use crate::fault::Fault;
use crate::step::{Refused, Stepped};
use crate::store::Deadline;

/// The most changes in one batch: others use the store too.
const MOST: usize = 64;
/// The first pause between conflicts, and how often it doubles.
const PAUSE: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 5;

pub(super) struct Worker<S: Source> {
    shared: Arc<WriterShared<S>>,
    key: Vec<u8>,
    /// The changes taken from the queue and not answered yet, in order.
    hand: VecDeque<Change<S>>,
    /// The number of changes taken so far.
    taken: u64,
    known: Option<Known<S>>,
    /// The number of steps in a row that lost to another process.
    conflicts: u32,
    /// How many changes of the hand the next batch may hold.
    limit: usize,
    ended: bool,
}

impl<S: Source> Worker<S> {
    pub(super) fn new(shared: Arc<WriterShared<S>>, key: Vec<u8>) -> Self {
        let known = shared.source.recall(&key).map(|state| Known { state, as_of: 0 });
        let hand = VecDeque::new();
        let (taken, conflicts, limit, ended) = (0, 0, MOST, false);
        Worker { shared, key, hand, taken, known, conflicts, limit, ended }
    }

    /// Works until nothing waits.
    pub(super) async fn run(mut self) {
        let mut is_first = true;
        while self.gather() {
            if !is_first {
                // Other keys and other tasks get their turn.
                tokio::task::yield_now().await;
            }
            is_first = false;
            if let Err(fault) = self.batch().await {
                self.fail(self.hand.len(), &fault);
            }
        }
    }

    /// Takes what waits. `false`: nothing does, and the key has no worker any more.
    fn gather(&mut self) -> bool {
        self.hand.retain(|change| !change.has_left());
        let mut queues = self.shared.queues.lock();
        let Queues { by_key, waiting } = &mut *queues;
        let queue = by_key.get_mut(&self.key).expect("a worker's key has a queue");
        while self.hand.len() < MOST {
            let Some(mut change) = queue.pop_front() else { break };
            *waiting -= 1;
            self.taken += 1;
            change.number = self.taken;
            if !change.has_left() {
                self.hand.push_back(change);
            }
        }
        if !self.hand.is_empty() {
            return true;
        }
        by_key.remove(&self.key);
        if let Some(Known { state, .. }) = self.known.take() {
            self.shared.source.keep(&self.key, state);
        }
        self.ended = true;
        false
    }

    /// One batch. The fault is of reading, so nothing was sent.
    async fn batch(&mut self) -> Result<(), Fault> {
        let known = match self.known.take() {
            Some(known) => known,
            None => self.read().await?,
        };
        let mut batch = self.decide(known);
        if batch.step().is_none() && !self.is_fresh(&batch) {
            // A refusal from memory may be wrong by now.
            let known = self.read().await?;
            batch = self.decide(known);
        }
        self.send(batch).await;
        Ok(())
    }

    /// Whether the batch was decided on a state that was read after its calls arrived.
    fn is_fresh(&self, batch: &Batch<S>) -> bool {
        self.hand.iter().take(batch.len).all(|change| change.number <= batch.known.as_of)
    }

    async fn read(&mut self) -> Result<Known<S>, Fault> {
        let as_of = self.taken;
        let needs: Vec<S::Need> = self.hand.iter().map(|change| change.need.clone()).collect();
        let WriterShared { store, source, .. } = &*self.shared;
        match source.look(&**store, &self.key, &needs, self.by(MOST)).await {
            Ok(state) => Ok(Known { state, as_of }),
            // A lost answer to a read leaves no doubt: nothing was to be written.
            Err(Fault::Unknown(why)) => Err(Fault::Unavailable(why)),
            Err(fault) => Err(fault),
        }
    }

    /// Decides the changes in hand one after the other, each on what the ones before it made of the
    /// state.
    fn decide(&mut self, known: Known<S>) -> Batch<S> {
        let limit = std::mem::replace(&mut self.limit, MOST);
        let mut batch = Batch::on(known);
        while batch.is_open && batch.len < self.hand.len().min(limit) {
            let change = &mut self.hand[batch.len];
            match change.decide(batch.state()) {
                Decided::Write(step) if batch.admits(&step) => {
                    if !change.send() {
                        self.hand.remove(batch.len);
                        continue;
                    }
                    batch.add(&self.shared.source, &self.key, step);
                }
                // A call is decided on what the store holds, not on what others are about to write.
                Decided::Call if batch.step().is_none() => batch.has_calls = true,
                Decided::Leave => {}
                Decided::Write(_) | Decided::Call => break,
            }
            batch.len += 1;
        }
        batch
    }

    async fn send(&mut self, mut batch: Batch<S>) {
        let as_of = self.taken;
        if let Err(fault) = batch.seal(&self.shared.source) {
            return self.fail(batch.len, &fault);
        }
        let Some(step) = batch.step() else {
            if batch.has_calls {
                return self.call(batch.len).await;
            }
            self.answer(batch.len);
            self.know(Some(batch.known));
            return;
        };
        match self.shared.store.step(step, self.by(batch.len)).await {
            Ok(Stepped::Done) => {
                self.conflicts = 0;
                self.answer(batch.len);
                self.know(batch.into_state().map(|state| Known { state, as_of }));
            }
            Ok(Stepped::Refused(refused @ Refused { guard, .. }))
                if guard < S::OWN_GUARDS || S::GUARDS_ALL =>
            {
                self.wait_again(&batch, true);
                let found = self.shared.source.found(&batch.known.state, refused);
                self.know(found.map(|state| Known { state, as_of }));
                self.pause().await;
            }
            Ok(Stepped::Refused(Refused { guard, .. })) => {
                self.wait_again(&batch, false);
                self.refuse(&batch, guard);
                self.know(Some(Known { as_of, ..batch.known }));
            }
            Err(fault @ Fault::Refused { .. }) => {
                self.wait_again(&batch, false);
                // A step refused on a remembered state is tried again on one that was read.
                if self.is_fresh(&batch) {
                    self.single_out(&batch, fault);
                }
            }
            // The outcome is unknown, or the store is away: nothing is sent again.
            Err(fault) => self.fail(batch.len, &fault),
        }
    }

    /// Makes the calls of a batch at once. A call that found something changed waits again.
    async fn call(&mut self, len: usize) {
        let calls = self.hand.iter_mut().take(len).map(Change::call);
        let outcomes = futures_util::future::join_all(calls).await;
        let mut changed = VecDeque::new();
        for (change, outcome) in self.hand.drain(..len).zip(outcomes) {
            match outcome {
                Ok(true) => change.done(),
                Ok(false) => {
                    change.wait_again(true);
                    changed.push_back(change);
                }
                Err(fault) => change.fail(fault),
            }
        }
        if changed.is_empty() {
            self.conflicts = 0;
            return;
        }
        changed.append(&mut self.hand);
        self.hand = changed;
        self.pause().await;
    }

    /// Remembers a state for the next batch, where that may be a good guess.
    fn know(&mut self, known: Option<Known<S>>) {
        self.known = known.filter(|_| S::REMEMBERS);
    }

    /// A guard failed that is not the document's: the change that brought it is answered. One that was
    /// decided on what others in the batch would have written is tried again behind them.
    fn refuse(&mut self, batch: &Batch<S>, guard: usize) {
        let (member, own) = batch.whose(guard).expect("a step names a guard of its own");
        let place = batch.place(member).expect("a guard belongs to a change of the batch");
        if member > 0 {
            self.limit = place;
        } else if let Some(change) = self.hand.remove(place) {
            change.guarded(own);
        }
    }

    /// The store refused the step, such as for a key of the wrong type: one change is tried alone, and
    /// answered if it was alone.
    fn single_out(&mut self, batch: &Batch<S>, fault: Fault) {
        if let Some(second) = batch.place(1) {
            self.limit = second;
        } else if let Some(change) = batch.place(0).and_then(|place| self.hand.remove(place)) {
            change.fail(fault);
        }
    }

    /// Gives each caller of the batch the answer of its rule.
    fn answer(&mut self, len: usize) {
        self.hand.drain(..len).for_each(Change::done);
    }

    fn fail(&mut self, len: usize, fault: &Fault) {
        self.hand.drain(..len).for_each(|change| change.fail(fault.clone()));
    }

    fn wait_again(&self, batch: &Batch<S>, conflict: bool) {
        for place in batch.places() {
            self.hand[place].wait_again(conflict);
        }
    }

    /// Tries come in pairs: one that learns the state, one that uses it at once. Before each pair there
    /// is a pause that grows.
    async fn pause(&mut self) {
        self.conflicts += 1;
        let pairs = self.conflicts / 2;
        if self.conflicts.is_multiple_of(2) {
            tokio::time::sleep(PAUSE * 2_u32.pow((pairs - 1).min(DOUBLINGS))).await;
        }
    }

    /// The latest deadline of the first callers in hand; each keeps its own besides.
    fn by(&self, len: usize) -> Deadline {
        let latest = self.hand.iter().take(len).map(|change| change.by).max();
        latest.expect("a worker has a change in hand")
    }
}

/// A worker that is dropped with its runtime leaves no queue behind that nobody serves.
impl<S: Source> Drop for Worker<S> {
    fn drop(&mut self) {
        if !self.ended {
            let mut queues = self.shared.queues.lock();
            let left = queues.by_key.remove(&self.key).unwrap_or_default();
            queues.waiting -= left.len();
        }
    }
}
