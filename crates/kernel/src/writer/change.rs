//! One caller's change: its rule, the place for its answer, and how far it has come. Caller and worker
//! agree under a lock whether it was sent, so a caller that leaves knows what became of its change.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Call, Decision, Source, Written};
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
    /// The caller does not wait for it any more.
    Left,
}

struct Progress {
    phase: Phase,
    /// The number of steps it was part of that lost to another process.
    conflicts: u32,
}

type WriterShared = Arc<Mutex<Progress>>;

impl Progress {
    fn send(shared: &WriterShared) -> bool {
        let mut progress = shared.lock();
        if progress.phase == Phase::Left {
            return false;
        }
        progress.phase = Phase::Sent;
        true
    }
}

/// The decision of a rule, without its answer.
pub(super) enum Decided {
    Write(Step),
    Call,
    Leave,
}

/// Makes the two ends of a change: the worker's and the caller's.
pub(super) fn new<S: Source, T, R>(rule: R, need: S::Need, by: Deadline) -> (Change<S>, Caller<T>)
where
    T: Send + 'static,
    R: FnMut(&S::State) -> Decision<T> + Send + 'static,
{
    let (tell, answer) = oneshot::channel();
    let progress = Arc::new(Mutex::new(Progress { phase: Phase::Waiting, conflicts: 0 }));
    let rule = Box::new(Typed { rule, call: None, answer: None, tell });
    let change = Change { rule, progress: Arc::clone(&progress), need, by, number: 0 };
    (change, Caller { answer, progress, by })
}

/// The worker's end.
pub(super) struct Change<S: Source> {
    rule: Box<dyn Rule<S::State>>,
    progress: WriterShared,
    /// The part of the state that the rule wants to know.
    pub(super) need: S::Need,
    /// The caller's deadline.
    pub(super) by: Deadline,
    /// The place in the order in which the worker took its changes.
    pub(super) number: u64,
}

impl<S: Source> Change<S> {
    /// Decides on this state.
    pub(super) fn decide(&mut self, state: &S::State) -> Decided {
        self.rule.decide(state)
    }

    /// Makes the call that was decided. `false`: it wrote nothing, because something had changed.
    pub(super) async fn call(&mut self) -> Result<bool, Fault> {
        match self.rule.call(self.by) {
            Some(call) if Progress::send(&self.progress) => call.await,
            Some(_) => Err(Fault::Unavailable("the caller left before its call".to_owned())),
            None => Ok(true),
        }
    }

    /// Marks it as sent. `false`: its caller has left, and it must not be sent.
    pub(super) fn send(&self) -> bool {
        Progress::send(&self.progress)
    }

    /// Puts the change back in line after its step was refused and wrote nothing.
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
trait Rule<State>: Send {
    fn decide(&mut self, state: &State) -> Decided;

    /// The call that was decided, where it was one. It leaves its answer here.
    fn call(&mut self, by: Deadline) -> Option<BoxFuture<'_, Result<bool, Fault>>>;

    /// Answers: the decision, the guard that failed, or the fault. A caller that has left hears nothing.
    fn tell(self: Box<Self>, outcome: Result<Option<usize>, Fault>);
}

/// The outcome that goes back to the caller. A rule that panics has its panic for an answer.
type Outcome<T> = Result<Written<std::thread::Result<T>>, Fault>;

struct Typed<T, R> {
    rule: R,
    call: Option<Call<T>>,
    answer: Option<std::thread::Result<T>>,
    tell: oneshot::Sender<Outcome<T>>,
}

impl<State, T, R> Rule<State> for Typed<T, R>
where
    T: Send + 'static,
    R: FnMut(&State) -> Decision<T> + Send,
{
    fn decide(&mut self, state: &State) -> Decided {
        (self.call, self.answer) = (None, None);
        // A bug in one caller's rule is not the others' business.
        match catch_unwind(AssertUnwindSafe(|| (self.rule)(state))) {
            Ok(Decision::Write(step, answer)) => {
                self.answer = Some(Ok(answer));
                return Decided::Write(step);
            }
            Ok(Decision::Call(call)) => {
                self.call = Some(call);
                return Decided::Call;
            }
            Ok(Decision::Leave(answer)) => self.answer = Some(Ok(answer)),
            Err(panic) => self.answer = Some(Err(panic)),
        }
        Decided::Leave
    }

    fn call(&mut self, by: Deadline) -> Option<BoxFuture<'_, Result<bool, Fault>>> {
        let call = self.call.take()?;
        Some(Box::pin(async move {
            self.answer = call(by).await?.map(Ok);
            Ok(self.answer.is_some())
        }))
    }

    fn tell(self: Box<Self>, outcome: Result<Option<usize>, Fault>) {
        let Typed { answer, tell, .. } = *self;
        let written = outcome.map(|guard| match guard {
            Some(guard) => Written::Guarded(guard),
            None => Written::Answer(answer.expect("an answered change was decided")),
        });
        let _ = tell.send(written);
    }
}

/// The caller's end. Dropping it takes the change along, unless it was sent.
pub(super) struct Caller<T> {
    answer: oneshot::Receiver<Outcome<T>>,
    progress: WriterShared,
    by: Deadline,
}

impl<T> Caller<T> {
    /// Waits for the answer until the deadline.
    pub(super) async fn answer(mut self, key: &[u8]) -> Result<Written<T>, Fault> {
        let deadline = tokio::time::Instant::from_std(self.by.instant());
        match tokio::time::timeout_at(deadline, &mut self.answer).await {
            Ok(Ok(outcome)) => outcome.map(|written| match written {
                Written::Answer(Ok(answer)) => Written::Answer(answer),
                Written::Answer(Err(panic)) => resume_unwind(panic),
                Written::Guarded(guard) => Written::Guarded(guard),
            }),
            Ok(Err(_)) => Err(self.leave(key, "the writer ended")),
            Err(_) => Err(self.leave(key, "the deadline passed")),
        }
    }

    fn leave(&self, key: &[u8], why: &str) -> Fault {
        let mut progress = self.progress.lock();
        let phase = std::mem::replace(&mut progress.phase, Phase::Left);
        let key = String::from_utf8_lossy(key).into_owned();
        match (phase, progress.conflicts) {
            (Phase::Sent, _) => Fault::Unknown(format!("{why} while a change of {key} was sent")),
            (_, 0) => Fault::Unavailable(format!("{why} before a change of {key} was sent")),
            (_, attempts) => Fault::Contended { key, attempts },
        }
    }
}

impl<T> Drop for Caller<T> {
    fn drop(&mut self) {
        self.progress.lock().phase = Phase::Left;
    }
}
