//! One attempt from claim to ending: the layers and the handler, within its time limit, its panics caught. No
//! store is asked here but for the last progress.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::Shared;
use super::cx::{Cancelled, JobCx};
use super::failure::JobError;
use super::handler::{Attempt, Call, Handler, Next, timed_out};
use super::phase::Phase;
use crate::model::outcome::{Claimed, Done, Ending};
use crate::model::{Failure, Job};

/// The end of an attempt.
enum End {
    /// The handler returned.
    Returned(Attempt),
    Panicked(String),
    /// The worker stops and did not wait any longer.
    Dropped,
}

impl Shared {
    /// Runs one claimed job. `None`: its lease was lost meanwhile, so nothing may be written.
    pub(crate) async fn attempt(&self, claimed: Claimed, cx: JobCx) -> Option<Done> {
        let Claimed { job, claimed_at, .. } = claimed;
        let clock = self.jobs.clock();
        let started = clock.monotonic();
        let (job, end) = match self.handlers.get(&job.kind) {
            // It may have waited here for its turn.
            _ if cx.is_lost() => return None,
            _ if cx.is_cancelled() == Some(Cancelled::Asked) => (job, End::Returned(Ok(None))),
            _ if job.x.expires_at.is_some_and(|at| at < claimed_at) => (job, expired()),
            None => (job, End::Dropped),
            Some(handler) => {
                note_latency(handler, &job, claimed_at);
                let job = Arc::new(job);
                let end = self.guarded(handler, job.clone(), cx.clone()).await;
                handler.metrics.duration.add_time(clock.monotonic().saturating_sub(started));
                (Arc::try_unwrap(job).unwrap_or_else(|shared| (*shared).clone()), end)
            }
        };
        let took = clock.monotonic().saturating_sub(started);
        if let Err(error) = cx.flush().await {
            tracing::debug!(job = %job.id, %error, "the last progress was not written");
        }
        if cx.is_cancelled() == Some(Cancelled::LeaseLost) {
            return None;
        }
        let ending = self.ending(&job, end, cx.is_cancelled());
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Some(Done { job, ending, took_ms, progressed: cx.progressed() })
    }

    /// The handler with its guards. A handler that is ready at once never touches a timer.
    async fn guarded(&self, handler: &Handler, job: Arc<Job>, cx: JobCx) -> End {
        let limit = job.x.timeout_ms.map(Duration::from_millis);
        let span = super::trace::span(&self.facts, &job);
        let call = Call { job, cx };
        let work = async move { Next::new(&self.layers, handler).run(call).await };
        let work = tracing::Instrument::instrument(AssertUnwindSafe(work).catch_unwind(), span);
        let over = async {
            match limit {
                Some(limit) => self.jobs.clock().sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            end = work => match end {
                Ok(attempt) => End::Returned(attempt),
                Err(panic) => End::Panicked(panic_text(&*panic)),
            },
            () = over => End::Returned(Err(timed_out(limit.unwrap_or_default()))),
            () = self.phase.reached(Phase::HandBack) => End::Dropped,
        }
    }

    fn ending(&self, job: &Job, end: End, cancelled: Option<Cancelled>) -> Ending {
        if cancelled == Some(Cancelled::Asked) && !matches!(end, End::Dropped) {
            let failure = Failure::new("JobCancelled", "the job was cancelled while it ran");
            return Ending::Failed { failure };
        }
        let error = match end {
            End::Returned(Ok(data)) => return Ending::Completed { data },
            End::Dropped => return Ending::HandBack,
            End::Panicked(message) => JobError::retry("Panic", message),
            End::Returned(Err(error)) => error,
        };
        let now_ms = self.jobs.now_ms();
        let later = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        match error {
            JobError::Retry(failure) => {
                let wait_ms = job.retry.backoff.delay_ms(job.attempts, self.dice.unit());
                Ending::after(job, failure, now_ms, wait_ms)
            }
            JobError::RetryAfter(wait, failure) => Ending::after(job, failure, now_ms, later(wait)),
            JobError::Snooze(wait) => Ending::Retry {
                failure: Failure::new("Snooze", "the handler asked to run later"),
                run_at: now_ms.saturating_add(later(wait).max(1)),
                counts: false,
                reroute: false,
            },
            JobError::Discard(failure) => Ending::Failed { failure },
            JobError::Dead(failure) => Ending::Dead { failure },
        }
    }
}

fn expired() -> End {
    End::Returned(Err(JobError::discard("JobExpired", "the job was claimed after its expiry")))
}

/// From when the job could have run to when it was claimed. A retry does not say when it was due.
fn note_latency(handler: &Handler, job: &Job, claimed_at: u64) {
    if job.attempts > 0 || job.is_cron() {
        return;
    }
    let delay = job.schedule.delay.and_then(|delay| i64::try_from(delay).ok()).unwrap_or(0);
    let ready = job.schedule.run_at.unwrap_or_else(|| job.created_at.saturating_add(delay));
    let ready = u64::try_from(ready).unwrap_or(0);
    if ready > 0 {
        let waited = Duration::from_millis(claimed_at.saturating_sub(ready));
        handler.metrics.latency.add_time(waited);
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "the handler panicked".to_owned())
}
