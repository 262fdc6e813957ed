//! The worker of one document: takes what waits, decides it on the known text, sends one step, answers.
//! A document has one worker at a time, so its changes have one order inside the process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Batch, Known};
use super::change::{Change, Ruled};
use super::{Documents, Shared};
use crate::fault::Fault;
use crate::reply;
use crate::step::{Refused, Stepped};
use crate::store::Deadline;

/// The most changes in one batch: other documents use the store too.
const MOST: usize = 64;
/// The first pause between conflicts, and how often it doubles.
const PAUSE: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 5;

pub(super) struct Worker {
    shared: Arc<Shared>,
    document: Vec<u8>,
    /// The changes taken from the queue and not answered yet, in order.
    hand: VecDeque<Change>,
    /// The number of changes taken so far.
    taken: u64,
    known: Option<Known>,
    /// The number of steps in a row that lost to another process.
    conflicts: u32,
    /// How many changes of the hand the next batch may hold.
    limit: usize,
    ended: bool,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, document: Vec<u8>) -> Self {
        let text = shared.documents.lock().memory.take(&document);
        let known = text.map(|(text, value)| Known { text: Some(text), value, as_of: 0 });
        let hand = VecDeque::new();
        let (taken, conflicts, limit, ended) = (0, 0, MOST, false);
        Worker { shared, document, hand, taken, known, conflicts, limit, ended }
    }

    /// Works until nothing waits.
    pub(super) async fn run(mut self) {
        let mut is_first = true;
        while self.gather() {
            if !is_first {
                // Other documents and other tasks get their turn.
                tokio::task::yield_now().await;
            }
            is_first = false;
            if let Err(fault) = self.batch().await {
                self.fail(self.hand.len(), &fault);
            }
        }
    }

    /// Takes what waits. `false`: nothing does, and the document has no worker any more.
    fn gather(&mut self) -> bool {
        self.hand.retain(|change| !change.has_left());
        let mut documents = self.shared.documents.lock();
        let Documents { queues, waiting, memory } = &mut *documents;
        let queue = queues.get_mut(&self.document).expect("a worker's document has a queue");
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
        queues.remove(&self.document);
        if let Some(Known { text: Some(text), value, .. }) = self.known.take() {
            memory.keep(std::mem::take(&mut self.document), text, value);
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

    /// Whether the batch was decided on a text that was read after its calls arrived.
    fn is_fresh(&self, batch: &Batch) -> bool {
        self.hand.iter().take(batch.len).all(|change| change.number <= batch.known.as_of)
    }

    async fn read(&mut self) -> Result<Known, Fault> {
        let as_of = self.taken;
        let mut get = redis::cmd("GET");
        get.arg(&self.document);
        match self.shared.store.call(&get, self.by(MOST)).await {
            Ok(redis::Value::Nil) => Ok(Known { text: None, value: None, as_of }),
            Ok(redis::Value::BulkString(text)) => {
                Ok(Known { text: Some(text), value: None, as_of })
            }
            Ok(other) => Err(reply::unexpected(&self.document, "text", &other)),
            // A lost answer to a read leaves no doubt: nothing was to be written.
            Err(Fault::Unknown(why)) => Err(Fault::Unavailable(why)),
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => {
                let key = String::from_utf8_lossy(&self.document).into_owned();
                Err(Fault::Corrupt { key, detail: "holds no text".to_owned() })
            }
            Err(fault) => Err(fault),
        }
    }

    /// Decides the changes in hand one after the other, each on what the ones before it made of the
    /// text.
    fn decide(&mut self, known: Known) -> Batch {
        let limit = std::mem::replace(&mut self.limit, MOST);
        let mut batch = Batch::on(known);
        while batch.len < self.hand.len().min(limit) {
            let change = &mut self.hand[batch.len];
            if !batch.suits(change) {
                break;
            }
            let Ruled { step, read, becomes } = change.decide(batch.seen());
            if read.is_some() {
                batch.known.value = read;
            }
            if let Some(step) = step {
                if !batch.admits(&step) {
                    break;
                }
                if !change.send() {
                    self.hand.remove(batch.len);
                    continue;
                }
                batch.add(step, becomes, change.reads);
            }
            batch.len += 1;
        }
        batch
    }

    async fn send(&mut self, mut batch: Batch) {
        let as_of = self.taken;
        if let Err(fault) = batch.seal() {
            self.fail(batch.len, &fault);
            return;
        }
        let Some(step) = batch.step() else {
            self.answer(&batch);
            self.known = Some(batch.known);
            return;
        };
        match self.shared.store.step(step, self.by(batch.len)).await {
            Ok(Stepped::Done) => {
                self.conflicts = 0;
                self.answer(&batch);
                self.known = Some(batch.outcome(as_of));
            }
            Ok(Stepped::Refused(Refused { guard: 0, found, missing })) => {
                self.wait_again(&batch, true);
                // A step that does not say what it found is followed by a read.
                let told = found.is_some() || missing;
                self.known = told.then_some(Known { text: found, value: None, as_of });
                self.pause().await;
            }
            Ok(Stepped::Refused(Refused { guard, .. })) => {
                self.wait_again(&batch, false);
                self.refuse(&batch, guard);
                self.known = Some(Known { as_of, ..batch.known });
            }
            Err(fault @ Fault::Refused { .. }) => {
                self.wait_again(&batch, false);
                // A step refused on a remembered text is tried again on one that was read.
                if self.is_fresh(&batch) {
                    self.single_out(&batch, fault);
                }
            }
            // The outcome is unknown, or the store is away: nothing is sent again.
            Err(fault) => self.fail(batch.len, &fault),
        }
    }

    /// A guard failed that is not the document's: the change that brought it is answered. One that was
    /// decided on what others in the batch would have written is tried again behind them.
    fn refuse(&mut self, batch: &Batch, guard: usize) {
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
    fn single_out(&mut self, batch: &Batch, fault: Fault) {
        if let Some(second) = batch.place(1) {
            self.limit = second;
        } else if let Some(change) = batch.place(0).and_then(|place| self.hand.remove(place)) {
            change.fail(fault);
        }
    }

    /// Gives each caller of the batch the answer of its rule.
    fn answer(&mut self, batch: &Batch) {
        self.hand.drain(..batch.len).for_each(Change::done);
    }

    fn fail(&mut self, len: usize, fault: &Fault) {
        self.hand.drain(..len).for_each(|change| change.fail(fault.clone()));
    }

    fn wait_again(&self, batch: &Batch, conflict: bool) {
        for place in batch.places() {
            self.hand[place].wait_again(conflict);
        }
    }

    /// Tries come in pairs: one that learns the text, one that uses it at once. Before each pair there
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
impl Drop for Worker {
    fn drop(&mut self) {
        if !self.ended {
            let mut documents = self.shared.documents.lock();
            let left = documents.queues.remove(&self.document).unwrap_or_default();
            documents.waiting -= left.len();
        }
    }
}
