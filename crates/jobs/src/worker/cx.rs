//! The context of a handler beside its job: progress, checkpoints, cancellation, child jobs and their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use kernel::{Clock, Value, reply};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use crate::error::{Error, refusal};
use crate::model::{Job, NewJob, Progress, WorkerFacts};
use crate::store::flows::ChildJob;
use crate::store::lease::Lease;
use crate::store::{Jobs, cmd};

/// Progress of one job is written at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Why a handler should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cancelled {
    /// Somebody cancelled the job; it ends as `failed` when the handler returns.
    Asked = 1,
    /// The job's lease ran out: another worker may have it, and nothing this handler says is
    /// written.
    LeaseLost = 2,
    /// The worker stops and hands the job back unless it ends soon.
    Stopping = 3,
}

/// The context of one attempt. Clones are the same attempt.
#[derive(Clone)]
pub struct JobCx(Arc<Inner>);

struct Inner {
    jobs: Jobs,
    worker: Arc<WorkerFacts>,
    id: String,
    attempt: u32,
    max_attempts: u32,
    traceparent: Option<String>,
    depends_on: Vec<String>,
    /// Unix milliseconds by which the attempt must end.
    deadline: Option<u64>,
    /// Milliseconds on the monotonic clock after which the lock may be somebody else's.
    lease_until: AtomicU64,
    cancelled: AtomicU8,
    /// Whether the loss of its lease was counted.
    loss_counted: AtomicBool,
    signal: Notify,
    progressed: AtomicBool,
    progress: Mutex<Pending>,
    children: AtomicU32,
}

#[derive(Default)]
struct Pending {
    /// Written or not, the newest.
    latest: Progress,
    dirty: bool,
    /// On the monotonic clock.
    written: Option<Duration>,
}

impl JobCx {
    pub(crate) fn new(jobs: &Jobs, worker: &Arc<WorkerFacts>, job: &Job, claimed_at: u64) -> JobCx {
        let cx = JobCx(Arc::new(Inner {
            jobs: jobs.clone(),
            worker: worker.clone(),
            id: job.id.clone(),
            attempt: job.attempts,
            max_attempts: job.retry.attempts,
            traceparent: job.x.traceparent.clone(),
            depends_on: job.depends_on.clone(),
            deadline: job.x.timeout_ms.map(|limit| claimed_at.saturating_add(limit)),
            lease_until: AtomicU64::new(0),
            cancelled: AtomicU8::new(0),
            loss_counted: AtomicBool::new(false),
            signal: Notify::new(),
            progressed: AtomicBool::new(false),
            progress: Mutex::default(),
            children: AtomicU32::new(0),
        }));
        cx.extend_lease();
        cx
    }

    /// The lock was taken or renewed just now.
    pub(crate) fn extend_lease(&self) {
        let ttl = Duration::from_secs(u64::from(self.0.jobs.options().lock_ttl_s));
        let until = self.0.jobs.clock().monotonic() + ttl;
        self.0.lease_until.store(millis(until), Ordering::Relaxed);
    }

    /// Whether the lock has run out, as far as this process can tell.
    pub(crate) fn lease_is_over(&self) -> bool {
        self.lease_was_over(self.0.jobs.clock().monotonic())
    }

    /// The same at a time on the monotonic clock. It is certain: the store began to count before its answer was here.
    pub(crate) fn lease_was_over(&self, at: Duration) -> bool {
        millis(at) >= self.0.lease_until.load(Ordering::Relaxed)
    }

    /// Whether nobody has counted this loss yet; from now on somebody has.
    pub(crate) fn first_loss(&self) -> bool {
        !self.0.loss_counted.swap(true, Ordering::Relaxed)
    }

    /// The job's id. With [`JobCx::attempt`] it is the key by which an effect is done once.
    pub fn job_id(&self) -> &str {
        &self.0.id
    }

    /// Retries before this attempt: 0 the first time.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// How often it may be retried.
    pub fn max_attempts(&self) -> u32 {
        self.0.max_attempts
    }

    /// Unix milliseconds by which the attempt must end, when the job has a limit.
    pub fn deadline(&self) -> Option<u64> {
        self.0.deadline
    }

    /// The queue, to dispatch more.
    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.0.jobs.clock().clone()
    }

    /// Why the handler should end, if it should.
    pub fn is_cancelled(&self) -> Option<Cancelled> {
        match self.0.cancelled.load(Ordering::Acquire) {
            1 => Some(Cancelled::Asked),
            2 => Some(Cancelled::LeaseLost),
            3 => Some(Cancelled::Stopping),
            _ => None,
        }
    }

    /// Waits until the handler should end.
    pub async fn cancelled(&self) -> Cancelled {
        loop {
            let mut signal = std::pin::pin!(self.0.signal.notified());
            signal.as_mut().enable();
            if let Some(why) = self.is_cancelled() {
                return why;
            }
            signal.await;
        }
    }

    pub(crate) fn cancel(&self, why: Cancelled) {
        // A lost lease outweighs everything: nothing may be written any more.
        let lost = Cancelled::LeaseLost as u8;
        let _ = self.0.cancelled.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
            (now != lost).then_some(why as u8)
        });
        self.0.signal.notify_waiters();
    }

    /// Says how far the job is, in percent. Written at most every 100 ms; the last value always is.
    pub async fn progress(&self, percent: f64, message: impl Into<String>) -> Result<(), Error> {
        let now = self.0.jobs.clock().monotonic();
        let due = {
            let mut pending = self.0.progress.lock();
            pending.latest.percent = percent;
            pending.latest.message = Some(message.into());
            pending.dirty = true;
            pending.written.is_none_or(|last| now.saturating_sub(last) >= PROGRESS_EVERY)
        };
        if due { self.flush().await } else { Ok(()) }
    }

    /// Stores where the handler is, for [`JobCx::restored`] after a crash or a retry. It is written when
    /// this returns.
    pub async fn checkpoint<T: Serialize + ?Sized>(&self, state: &T) -> Result<(), Error> {
        let data: Box<RawValue> = serde_json::value::to_raw_value(state).map_err(|error| {
            Error::invalid(
                refusal::program::INVALID_CHECKPOINT,
                "checkpoint",
                format!("it is no JSON: {error}"),
            )
        })?;
        let now = self.0.jobs.clock().monotonic();
        let wait = {
            let mut pending = self.0.progress.lock();
            pending.latest.data = Some(data);
            pending.dirty = true;
            let since = pending.written.map_or(PROGRESS_EVERY, |last| now.saturating_sub(last));
            PROGRESS_EVERY.saturating_sub(since)
        };
        if !wait.is_zero() {
            self.0.jobs.clock().sleep(wait).await;
        }
        self.flush().await
    }

    /// The last checkpoint of an earlier attempt, or of this one.
    pub async fn restored<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let key = self.0.jobs.space().progress(&self.0.id);
        let stored = self.0.jobs.call(&cmd("GET", key)).await?;
        if stored != Value::Nil {
            self.0.progressed.store(true, Ordering::Relaxed);
        }
        let data = reply::text(&stored).and_then(|text| kernel::json::get(text, "data"));
        Ok(data.and_then(|data| serde_json::from_str(data.get()).ok()))
    }

    /// Writes what was said and not written yet.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let latest = {
            let mut pending = self.0.progress.lock();
            if !pending.dirty {
                return Ok(());
            }
            pending.dirty = false;
            pending.written = Some(self.0.jobs.clock().monotonic());
            pending.latest.clone()
        };
        self.0.progressed.store(true, Ordering::Relaxed);
        if !self.0.jobs.progress(&self.0.worker, &self.0.id, &latest).await? {
            self.cancel(Cancelled::LeaseLost);
        }
        Ok(())
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_cancelled() == Some(Cancelled::LeaseLost)
    }

    pub(crate) fn progressed(&self) -> bool {
        self.0.progressed.load(Ordering::Relaxed)
    }

    /// A line in the log, with the job's id.
    pub fn log(&self, line: impl AsRef<str>) {
        let line = line.as_ref();
        tracing::info!(target: "worldkeep_jobs::handler", job = %self.0.id, attempt = self.0.attempt, "{line}");
    }

    /// Prolongs the lock now, for a handler that is about to block its thread. `false`: it is lost.
    pub async fn extend_lock(&self) -> Result<bool, Error> {
        let kept = self.0.jobs.renew(&self.0.worker, &[self.0.id.as_str()]).await?;
        let lost = kept.first().is_none_or(|lease| *lease == Lease::Lost);
        if lost {
            self.cancel(Cancelled::LeaseLost);
        }
        Ok(!lost)
    }

    /// How the jobs ended that this one waited for: its children in a flow, or what it depends on, in their order. Those that
    /// failed are there, too, when the job goes on after a failure.
    pub async fn children(&self) -> Result<Vec<ChildJob>, Error> {
        self.0.jobs.children(&self.0.id, &self.0.depends_on).await
    }

    /// Dispatches a job that belongs to this one: `<id>.<n>`, counted within the attempt. An attempt that is
    /// repeated finds the children of the one before instead of making them twice.
    pub async fn spawn_child(&self, child: NewJob) -> Result<String, Error> {
        let number = self.0.children.fetch_add(1, Ordering::Relaxed) + 1;
        let mut child = child;
        if child.id.is_none() && self.0.id.len() < 110 {
            child.id = Some(format!("{}.{number}", self.0.id));
        }
        if child.x.traceparent.is_none() {
            child.x.traceparent.clone_from(&self.0.traceparent);
        }
        match self.0.jobs.dispatch(child).await {
            Ok(stored) => Ok(stored.job.id),
            Err(Error::Exists(id)) => Ok(id),
            Err(error) => Err(error),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
