//! One writer per document. The changes of a document queue up inside the process, are decided in order
//! by pure functions on the last known text, and leave as one [`Step`]; each caller gets its own answer.
//!
//! Optimistic concurrency control: the step compares the text that the batch was decided on, and a
//! conflict with another process is decided anew on the text that came back, until the callers'
//! deadlines. The known text is a guess: a stale one costs a round trip, never truth.

mod batch;
mod change;
mod document;
mod memory;
mod worker;

use std::any::TypeId;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;

use crate::fault::Fault;
use crate::step::Step;
use crate::store::{Deadline, Store};
use change::{Call, Change, Ruling};
use memory::Memory;
use worker::Worker;

pub use document::Document;

/// What a rule makes of a document's current text.
#[derive(Debug)]
#[must_use = "a decision does nothing until it is returned to the writer"]
pub enum Decision<T> {
    /// The step to take, and the answer once it has happened. The writer sets the document's own guard;
    /// the other writes of the step never touch the document.
    Write(Step, T),
    /// The answer of a rule that writes nothing: a refusal, or nothing to change.
    Leave(T),
}

impl<T> Decision<T> {
    /// The same decision with another answer.
    pub fn map<U>(self, answer: impl FnOnce(T) -> U) -> Decision<U> {
        match self {
            Decision::Write(step, told) => Decision::Write(step, answer(told)),
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
    /// The number of changes that may wait for one document.
    pub queued: usize,
    /// The number of changes that may wait in all.
    pub queued_in_all: usize,
}

impl Default for WriterLimits {
    fn default() -> Self {
        WriterLimits { documents: 8_192, queued: 1_024, queued_in_all: 65_536 }
    }
}

/// Applies all changes of a process to the documents of one store. Clones share the queues.
#[derive(Clone)]
pub struct Writer(Arc<Shared>);

struct Shared {
    store: Arc<dyn Store>,
    limits: WriterLimits,
    documents: Mutex<Documents>,
}

struct Documents {
    /// Changes that wait, by document. A document has a queue exactly while a worker serves it.
    queues: HashMap<Vec<u8>, VecDeque<Change>>,
    /// The length of all queues together.
    waiting: usize,
    memory: Memory,
}

impl Writer {
    /// A writer with the usual limits.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Writer::with(store, WriterLimits::default())
    }

    /// A writer with limits of its own.
    pub fn with(store: Arc<dyn Store>, limits: WriterLimits) -> Self {
        let memory = Memory::new(limits.documents);
        let documents = Documents { queues: HashMap::new(), waiting: 0, memory };
        Writer(Arc::new(Shared { store, limits, documents: Mutex::new(documents) }))
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
        let rule = move |seen: change::Seen<'_>| Ruling {
            decision: Ok(rule(seen.text)),
            read: None,
            becomes: None,
        };
        self.apply(document.as_ref(), change::new(rule, None, by)).await
    }

    /// The same for a rule that looks at the document as its module reads it, and gives the document as
    /// it becomes; a step that deletes the document, or leaves it, comes without one. A batch reads the
    /// document at most once, and writes its text once. A text that cannot be read is the caller's fault
    /// [`Fault::Corrupt`].
    pub async fn change<D, T, R>(
        &self,
        document: impl AsRef<[u8]>,
        by: Deadline,
        mut rule: R,
    ) -> Result<Written<T>, Fault>
    where
        D: Document,
        T: Send + 'static,
        R: FnMut(Option<&D>) -> (Decision<T>, Option<D>) + Send + 'static,
    {
        let document = document.as_ref();
        let key = document.to_vec();
        let rule = move |seen: change::Seen<'_>| document::ruling(&key, seen, &mut rule);
        self.apply(document, change::new(rule, Some(TypeId::of::<D>()), by)).await
    }

    /// Remembers a document that somebody has just written in another way, which saves the first change
    /// its reading.
    pub fn remember<D: Document>(&self, document: impl AsRef<[u8]>, text: Vec<u8>, value: D) {
        let mut documents = self.0.documents.lock();
        if !documents.queues.contains_key(document.as_ref()) {
            documents.memory.keep(document.as_ref().to_vec(), text, Some(Arc::new(value)));
        }
    }

    async fn apply<T>(
        &self,
        document: &[u8],
        (change, call): (Change, Call<T>),
    ) -> Result<Written<T>, Fault> {
        if self.0.enqueue(document, change)? {
            let mut work = Box::pin(Worker::new(Arc::clone(&self.0), document.to_vec()).run());
            // The embedded store answers at once, and the work ends here. A network's answers are
            // awaited in a task of the writer's own, which no caller can cancel.
            if poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await.is_pending() {
                tokio::spawn(work);
            }
        }
        call.answer(document).await
    }
}

impl Shared {
    /// Puts a change at the end of its document's queue. `true`: the document needs a worker.
    fn enqueue(&self, document: &[u8], change: Change) -> Result<bool, Fault> {
        let mut documents = self.documents.lock();
        let Documents { queues, waiting, .. } = &mut *documents;
        if let Some(queue) = queues.get_mut(document) {
            if queue.len() >= self.limits.queued {
                // Changes whose callers have left make room.
                let before = queue.len();
                queue.retain(|change| !change.has_left());
                *waiting -= before - queue.len();
            }
            if queue.len() >= self.limits.queued || *waiting >= self.limits.queued_in_all {
                return Err(too_many(document));
            }
            *waiting += 1;
            queue.push_back(change);
            return Ok(false);
        }
        if *waiting >= self.limits.queued_in_all {
            return Err(too_many(document));
        }
        *waiting += 1;
        queues.insert(document.to_vec(), VecDeque::from([change]));
        Ok(true)
    }
}

fn too_many(document: &[u8]) -> Fault {
    let (busy, key) = (Fault::BUSY, String::from_utf8_lossy(document));
    Fault::Unavailable(format!("{busy} too many changes wait for {key}"))
}
