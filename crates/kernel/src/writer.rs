//! One writer per document. The changes of a document queue up inside the process, are decided in
//! order by pure functions on the last known text, and leave as one [`Step`]; each caller gets its
//! own answer. When the state is several values, a [`Source`] reads them together at the beginning
//! of each batch.
//!
//! This is optimistic concurrency: the step compares the text that the batch was decided on. After
//! a conflict with another process the batch is decided anew on the current text, until the
//! callers' deadlines. The last known text is a guess: a stale one costs a round trip and never
//! gives a wrong answer.

mod batch;
mod change;
mod document;
mod memory;
mod source;
mod worker;

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::fault::Fault;
use crate::step::Step;
use crate::store::{Deadline, Store};
use change::Change;
use worker::Worker;

pub use document::{Document, Documents, Mark};
pub use source::{Source, Texts};

/// A call of the store that applies a change by itself, such as a script. `None`: what the change was
/// decided on is not so any more, and nothing was written.
pub type Call<T> = Box<dyn FnOnce(Deadline) -> BoxFuture<'static, Result<Option<T>, Fault>> + Send>;

/// The decision of a rule on the current state.
#[must_use = "a decision does nothing until it is returned to the writer"]
pub enum Decision<T> {
    /// The step to take, and the answer once it has happened. The writer sets the document's own guard;
    /// the other writes of the step never touch the document.
    Write(Step, T),
    /// The call to make. It compares what it was decided on, as a step does. The calls of one batch run
    /// at once, because the store decides.
    Call(Call<T>),
    /// The answer of a rule that writes nothing: a refusal, or nothing to change.
    Leave(T),
}

impl<T: 'static> Decision<T> {
    /// The decision for a call.
    pub fn call<F>(call: impl FnOnce(Deadline) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Option<T>, Fault>> + Send + 'static,
    {
        Decision::Call(Box::new(move |by| Box::pin(call(by))))
    }

    /// The same decision with another answer.
    pub fn map<U: 'static>(self, answer: impl FnOnce(T) -> U + Send + 'static) -> Decision<U> {
        match self {
            Decision::Write(step, told) => Decision::Write(step, answer(told)),
            Decision::Call(call) => {
                Decision::call(move |by| async move { Ok(call(by).await?.map(answer)) })
            }
            Decision::Leave(told) => Decision::Leave(answer(told)),
        }
    }
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written<T> {
    /// The rule's answer; what it decided has happened.
    Answer(T),
    /// A guard of the change's own failed, the n-th of its step in the order added, from 0. Nothing was
    /// written.
    Guarded(usize),
}

/// How much a writer keeps.
#[derive(Debug, Clone, Copy)]
pub struct WriterLimits {
    /// The number of documents whose text is remembered while nobody changes them.
    pub documents: usize,
    /// The number of changes that may wait for one key.
    pub queued: usize,
    /// The number of changes that may wait in all.
    pub queued_in_all: usize,
}

impl Default for WriterLimits {
    fn default() -> Self {
        WriterLimits { documents: 8_192, queued: 1_024, queued_in_all: 65_536 }
    }
}

/// Applies all changes of a process to what one store holds. Clones share the queues.
pub struct Writer<S: Source = Texts>(Arc<WriterShared<S>>);

impl<S: Source> Clone for Writer<S> {
    fn clone(&self) -> Self {
        Writer(Arc::clone(&self.0))
    }
}

struct WriterShared<S: Source> {
    store: Arc<dyn Store>,
    source: S,
    limits: WriterLimits,
    queues: Mutex<Queues<S>>,
}

struct Queues<S: Source> {
    /// Changes that wait, by key. A key has a queue exactly while a worker serves it.
    by_key: HashMap<Vec<u8>, VecDeque<Change<S>>>,
    /// The length of all queues together.
    waiting: usize,
}

impl Writer {
    /// A writer of documents with the usual limits.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Writer::with(store, WriterLimits::default())
    }

    /// A writer of documents with limits of its own.
    pub fn with(store: Arc<dyn Store>, limits: WriterLimits) -> Self {
        Writer::over(store, Texts::remembering(limits.documents), limits)
    }

    /// Applies one change to a document. The rule gets the current text, or `None` where there is no
    /// document. The rule may run several times, so it is a pure function of that text.
    ///
    /// A dropped call takes its change along unless it was sent already. At the deadline the fault is
    /// `Unavailable` or `Contended` when nothing was written, and `Unknown` when the change is under way.
    ///
    /// ```no_run
    /// # use worldkeep_kernel::{Deadline, Fault, Writer};
    /// # async fn f(writer: &Writer, by: Deadline) -> Result<(), Fault> {
    /// use worldkeep_kernel::{Decision, Step, Written};
    /// let spend = |current: Option<&[u8]>| match current {
    ///     Some(b"full") => Decision::Write(Step::new("purse:7").write("empty"), true),
    ///     _ => Decision::Leave(false),
    /// };
    /// assert_eq!(writer.write("purse:7", by, spend).await?, Written::Answer(true));
    /// # Ok(()) }
    /// ```
    pub async fn write<T, R>(
        &self,
        document: impl AsRef<[u8]>,
        by: Deadline,
        mut rule: R,
    ) -> Result<Written<T>, Fault>
    where
        T: Send + 'static,
        R: FnMut(Option<&[u8]>) -> Decision<T> + Send + 'static,
    {
        self.change(document, (), by, move |text: &Option<Vec<u8>>| rule(text.as_deref())).await
    }
}

impl<S: Source> Writer<S> {
    /// A writer whose state comes from this source.
    pub fn over(store: Arc<dyn Store>, source: S, limits: WriterLimits) -> Self {
        let queues = Mutex::new(Queues { by_key: HashMap::new(), waiting: 0 });
        Writer(Arc::new(WriterShared { store, source, limits, queues }))
    }

    /// Applies one change to what is under a key, as [`Writer::write`] does to a document.
    pub async fn change<T, R>(
        &self,
        key: impl AsRef<[u8]>,
        need: S::Need,
        by: Deadline,
        rule: R,
    ) -> Result<Written<T>, Fault>
    where
        T: Send + 'static,
        R: FnMut(&S::State) -> Decision<T> + Send + 'static,
    {
        let key = key.as_ref();
        let (change, call) = change::new(rule, need, by);
        if self.0.enqueue(key, change)? {
            let mut work = Box::pin(Worker::new(Arc::clone(&self.0), key.to_vec()).run());
            // The embedded store answers at once, and the work ends here. A network's answers are
            // awaited in a task of the writer's own, which no caller can cancel.
            if poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await.is_pending() {
                tokio::spawn(work);
            }
        }
        call.answer(key).await
    }
}

impl<S: Source> WriterShared<S> {
    /// Puts a change at the end of its key's queue. `true`: the key needs a worker.
    fn enqueue(&self, key: &[u8], change: Change<S>) -> Result<bool, Fault> {
        let mut queues = self.queues.lock();
        let Queues { by_key, waiting } = &mut *queues;
        if let Some(queue) = by_key.get_mut(key) {
            if queue.len() >= self.limits.queued {
                // Changes whose callers have left make room.
                let before = queue.len();
                queue.retain(|change| !change.has_left());
                *waiting -= before - queue.len();
            }
            if queue.len() >= self.limits.queued || *waiting >= self.limits.queued_in_all {
                return Err(too_many(key));
            }
            *waiting += 1;
            queue.push_back(change);
            return Ok(false);
        }
        if *waiting >= self.limits.queued_in_all {
            return Err(too_many(key));
        }
        *waiting += 1;
        by_key.insert(key.to_vec(), VecDeque::from([change]));
        Ok(true)
    }
}

fn too_many(key: &[u8]) -> Fault {
    let (busy, key) = (Fault::BUSY, String::from_utf8_lossy(key));
    Fault::Unavailable(format!("{busy} too many changes wait for {key}"))
}
