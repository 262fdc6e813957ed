//! One caller's change: its rule, the place for its answer, and how far it has come. Caller and worker
//! agree under a lock whether it was sent, so a caller that leaves knows what became of its change.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::document::{Becomes, Value};
use super::{Decision, Written};
use crate::fault::Fault;
use crate::step::Step;
use crate::store::Deadline;

/// How far a change has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing of it is under way.
    Waiting,
    /// It is part of a step whose outcome is not known yet.
    Sent,
    /// Its caller does not wait for it any more.
    Left,
}

struct Progress {
    phase: Phase,
    /// The number of steps it was part of that lost to another process.
    conflicts: u32,
}

type Shared = Arc<Mutex<Progress>>;

/// What a rule is asked about: the document's text and, where somebody read it already, what it says.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) text: Option<&'a [u8]>,
    pub(super) value: Option<&'a Value>,
}

/// What a rule made of a document.
pub(super) struct Ruling<T> {
    /// The fault is that the document cannot be read.
    pub(super) decision: Result<Decision<T>, Fault>,
    /// What the text says, where the rule had to read it.
    pub(super) read: Option<Value>,
    /// The document as the step leaves it, where the rule does not write its text itself.
    pub(super) becomes: Option<Becomes>,
}

/// The same without the answer, which waits for the step.
#[derive(Default)]
pub(super) struct Ruled {
    pub(super) step: Option<Step>,
    pub(super) read: Option<Value>,
    pub(super) becomes: Option<Becomes>,
}

/// Makes the two ends of a change: the worker's and the caller's. `reads` is the type that the rule
/// reads the document as; `None`: it looks at the text.
pub(super) fn new<T, R>(rule: R, reads: Option<TypeId>, by: Deadline) -> (Change, Call<T>)
where
    T: Send + 'static,
    R: FnMut(Seen<'_>) -> Ruling<T> + Send + 'static,
{
    let (tell, answer) = oneshot::channel();
    let progress = Arc::new(Mutex::new(Progress { phase: Phase::Waiting, conflicts: 0 }));
    let rule = Box::new(Typed { rule, answer: None, tell });
    let change = Change { rule, reads, progress: Arc::clone(&progress), by, number: 0 };
    (change, Call { answer, progress, by })
}

/// The worker's end.
pub(super) struct Change {
    rule: Box<dyn Rule>,
    /// The type that the rule reads the document as.
    pub(super) reads: Option<TypeId>,
    progress: Shared,
    /// The caller's deadline.
    pub(super) by: Deadline,
    /// The place in the order in which the worker took its changes.
    pub(super) number: u64,
}

impl Change {
    /// Decides on this document. Without a step nothing is to be written.
    pub(super) fn decide(&mut self, seen: Seen<'_>) -> Ruled {
        self.rule.decide(seen)
    }

    /// Marks it as sent. `false`: its caller has left, and it must not be sent.
    pub(super) fn send(&self) -> bool {
        let mut progress = self.progress.lock();
        if progress.phase == Phase::Left {
            return false;
        }
        progress.phase = Phase::Sent;
        true
    }

    /// Its step was refused and wrote nothing: it waits again.
    pub(super) fn wait_again(&self, conflict: bool) {
        let mut progress = self.progress.lock();
        if progress.phase == Phase::Sent {
            progress.phase = Phase::Waiting;
            progress.conflicts += u32::from(conflict);
        }
    }

    pub(super) fn has_left(&self) -> bool {
        self.progress.lock().phase == Phase::Left
    }

    /// Gives the caller the answer of its rule's last decision, which holds now.
    pub(super) fn done(self) {
        self.rule.tell(Ok(None));
    }

    /// Tells the caller which guard of its own step failed.
    pub(super) fn guarded(self, guard: usize) {
        self.rule.tell(Ok(Some(guard)));
    }

    /// Tells the caller of a fault.
    pub(super) fn fail(self, fault: Fault) {
        self.rule.tell(Err(fault));
    }
}

/// A rule whose type of answer is its own business.
trait Rule: Send {
    fn decide(&mut self, seen: Seen<'_>) -> Ruled;

    /// Answers: the decision, the guard that failed, or the fault. A caller that has left hears nothing.
    fn tell(self: Box<Self>, outcome: Result<Option<usize>, Fault>);
}

/// What goes back to the caller. A rule that panics has its panic for an answer.
type Outcome<T> = Result<Written<std::thread::Result<T>>, Fault>;

struct Typed<T, R> {
    rule: R,
    answer: Option<Result<std::thread::Result<T>, Fault>>,
    tell: oneshot::Sender<Outcome<T>>,
}

impl<T, R> Rule for Typed<T, R>
where
    T: Send,
    R: FnMut(Seen<'_>) -> Ruling<T> + Send,
{
    fn decide(&mut self, seen: Seen<'_>) -> Ruled {
        // A bug in one caller's rule is not the others' business.
        let ruling = match catch_unwind(AssertUnwindSafe(|| (self.rule)(seen))) {
            Ok(ruling) => ruling,
            Err(panic) => {
                self.answer = Some(Ok(Err(panic)));
                return Ruled::default();
            }
        };
        let Ruling { decision, read, becomes } = ruling;
        let (step, answer) = match decision {
            Ok(Decision::Write(step, answer)) => (Some(step), Ok(Ok(answer))),
            Ok(Decision::Leave(answer)) => (None, Ok(Ok(answer))),
            Err(fault) => (None, Err(fault)),
        };
        self.answer = Some(answer);
        Ruled { step, read, becomes }
    }

    fn tell(self: Box<Self>, outcome: Result<Option<usize>, Fault>) {
        let Typed { answer, tell, .. } = *self;
        let written = outcome.and_then(|guard| match guard {
            Some(guard) => Ok(Written::Guarded(guard)),
            None => answer.expect("an answered change was decided").map(Written::Answer),
        });
        let _ = tell.send(written);
    }
}

/// The caller's end. Dropping it takes the change along, unless it was sent.
pub(super) struct Call<T> {
    answer: oneshot::Receiver<Outcome<T>>,
    progress: Shared,
    by: Deadline,
}

impl<T> Call<T> {
    /// Waits for the answer until the deadline.
    pub(super) async fn answer(mut self, document: &[u8]) -> Result<Written<T>, Fault> {
        let deadline = tokio::time::Instant::from_std(self.by.instant());
        match tokio::time::timeout_at(deadline, &mut self.answer).await {
            Ok(Ok(outcome)) => outcome.map(|written| match written {
                Written::Answer(Ok(answer)) => Written::Answer(answer),
                Written::Answer(Err(panic)) => resume_unwind(panic),
                Written::Guarded(guard) => Written::Guarded(guard),
            }),
            Ok(Err(_)) => Err(self.leave(document, "the writer ended")),
            Err(_) => Err(self.leave(document, "the deadline passed")),
        }
    }

    fn leave(&self, document: &[u8], why: &str) -> Fault {
        let mut progress = self.progress.lock();
        let phase = std::mem::replace(&mut progress.phase, Phase::Left);
        let key = String::from_utf8_lossy(document).into_owned();
        match (phase, progress.conflicts) {
            (Phase::Sent, _) => Fault::Unknown(format!("{why} while a change of {key} was sent")),
            (_, 0) => Fault::Unavailable(format!("{why} before a change of {key} was sent")),
            (_, attempts) => Fault::Contended { key, attempts },
        }
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        self.progress.lock().phase = Phase::Left;
    }
}
