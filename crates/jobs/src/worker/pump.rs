//! The hot path: finished jobs go out and new jobs come in, in one call. With one slot the handler
//! runs right here, one round trip per job; while jobs are quick, round trips overlap (`prefetch`).
//! With more slots, jobs that finished while a call was under way go out together with the next
//! call. Two teams share the slots, so that the handlers of one run while the store works for the
//! other.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kernel::{Fault, Kind};

use super::Shared;
use super::cx::JobCx;
use super::phase::Phase;
use crate::error::Error;
use crate::metrics::bump;
use crate::model::outcome::{Claimed, Done, Ending, Wrote};

/// How long idle workers wait before they look by themselves: foreign producers send no wake-up.
const POLL: Duration = Duration::from_secs(1);
/// The first wait after a failed call, and the longest: the store is served again within 250 ms of its return.
const RETRY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(160));
/// The number of quick jobs in a row before the next are claimed ahead of need.
const QUICK_ROW: u32 = 3;
/// A store in the process answers at once, so the loop itself must let others run now and then.
const YIELD_EVERY: u32 = 32;

/// How many stretches of jobs for others a claim goes through before it rests.
pub(super) const DEEPER_MAX: u32 = 20;

/// A claimed job and its context.
pub(super) type Work = (Claimed, JobCx);

impl Shared {
    /// Claims and runs until the worker has ended.
    pub(crate) async fn pump(self: Arc<Self>) {
        if self.concurrency == 1 { self.inline().await } else { self.teams().await }
    }

    async fn inline(&self) {
        let mut done = Vec::new();
        let (mut turns, mut deeper, mut quick) = (0u32, 0u32, 0u32);
        // A store in the process has no trip to hide.
        let prefetch = self.claim_ahead && self.jobs.store().status().kind != Kind::Embedded;
        loop {
            let claiming = self.phase.get() == Phase::Running;
            if !claiming && done.is_empty() {
                if self.phase.get() >= Phase::Draining {
                    return;
                }
                self.phase.reached(Phase::Draining).await;
                continue;
            }
            let (mut work, more) = self.exchange(&mut done, usize::from(claiming)).await;
            match work.pop() {
                Some((claimed, cx)) => {
                    deeper = 0;
                    done.extend(self.run(claimed, cx).await);
                    quick = if done.iter().all(|one| one.took_ms == 0) { quick + 1 } else { 0 };
                    if prefetch && quick >= QUICK_ROW {
                        done = self.prefetch(done).await;
                        quick = 0;
                    }
                }
                None if more && deeper < DEEPER_MAX => deeper += 1,
                None if claiming => {
                    (deeper, quick) = (0, 0);
                    self.idle().await;
                }
                None => {}
            }
            turns += 1;
            if turns.is_multiple_of(YIELD_EVERY) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// One attempt; a job whose lease was lost is forgotten.
    pub(crate) async fn run(&self, claimed: Claimed, cx: JobCx) -> Option<Done> {
        let id = claimed.job.id.clone();
        let done = self.attempt(claimed, cx).await;
        if done.is_none()
            && let Some(cx) = self.running.lock().remove(&id)
        {
            self.count_loss(&cx);
        }
        done
    }

    /// Waits until there may be something to do.
    async fn idle(&self) {
        tokio::select! {
            () = self.wake.notified() => {}
            () = self.phase.reached(Phase::Quiet) => {}
            () = self.poll() => {}
        }
    }

    /// A second, more or less: workers that started together do not ask together.
    pub(super) async fn poll(&self) {
        let wait = POLL.mul_f64(0.8 + 0.4 * self.dice.unit());
        self.jobs.clock().sleep(wait).await;
    }

    /// Writes what is done, claims up to `want`, and tries again until the store answers or nothing is left
    /// that may be written. Also tells whether the list goes on behind what was looked at.
    pub(crate) async fn exchange(&self, done: &mut Vec<Done>, want: usize) -> (Vec<Work>, bool) {
        let (mut wait, mut unsure) = (RETRY.0, None);
        loop {
            // Whoever gives unknown jobs back waits until what is being claimed is known.
            let asking = self.asking.read().await;
            let sent = self.jobs.clock().monotonic();
            match self.jobs.finish_and_claim(&self.facts, done, want).await {
                Ok(finished) => {
                    self.settle(done, &finished.wrote, unsure);
                    let scan = finished.claims.scan;
                    if want > 0 {
                        self.metrics.claim_scanned.add(scan.scanned);
                    }
                    self.report_malformed(finished.claims.malformed);
                    let more = scan.scanned >= u64::from(self.jobs.options().scan_limit);
                    let work = self.take(finished.claims.jobs);
                    drop(asking);
                    if self.unsure.swap(false, Ordering::Relaxed) {
                        self.give_back_unknown().await;
                    }
                    return (work, more);
                }
                Err(error) => {
                    bump(&self.metrics.faults);
                    tracing::debug!(%error, done = done.len(), "a worker's call failed, again soon");
                    drop(asking);
                    if matches!(error, Error::Fault(Fault::Unknown(_))) {
                        unsure.get_or_insert(sent);
                        self.unsure.store(true, Ordering::Relaxed);
                    }
                    self.jobs.clock().sleep(wait).await;
                    wait = (wait * 2).min(RETRY.1);
                    self.forget_lost(done);
                    if done.is_empty() {
                        return (Vec::new(), false);
                    }
                }
            }
        }
    }

    /// A call whose answer was lost may have claimed jobs that nobody here runs: they go back at once instead
    /// of waiting for their lease to run out.
    async fn give_back_unknown(&self) {
        let _nobody_asks = self.asking.write().await;
        let Ok(mut held) = self.jobs.held_by_worker().await else { return };
        for id in held.remove(&self.facts.server_id).unwrap_or_default() {
            if self.running.lock().contains_key(&id) {
                continue;
            }
            let view = self.jobs.get(&id).await.ok().flatten();
            let Some(job) = view.and_then(|view| view.read()) else { continue };
            if let Err(error) = self.jobs.hand_back(&self.facts, job).await {
                tracing::debug!(%error, job = %id, "not handed back; its lease will run out");
            }
        }
    }

    /// Claimed jobs become running ones before anybody can ask for them.
    fn take(&self, jobs: Vec<Claimed>) -> Vec<Work> {
        if jobs.is_empty() {
            return Vec::new();
        }
        let mut running = self.running.lock();
        let work = jobs.into_iter().map(|claimed| {
            let cx = JobCx::new(&self.jobs, &self.facts, &claimed.job, claimed.claimed_at);
            running.insert(claimed.job.id.clone(), cx.clone());
            (claimed, cx)
        });
        work.collect()
    }

    /// Counts what was written and forgets it. `unsure`: the answer to a call sent then was lost, so a job that is
    /// not ours any more may well have been finished by that call, unless it was not ours even before.
    fn settle(&self, done: &mut Vec<Done>, wrote: &[Wrote], unsure: Option<Duration>) {
        if done.is_empty() {
            return;
        }
        let mut running = self.running.lock();
        for (one, wrote) in done.drain(..).zip(wrote) {
            let cx = running.remove(&one.job.id);
            let Some(handler) = self.handlers.get(&one.job.kind) else { continue };
            match (wrote, &one.ending) {
                (Wrote::Lost, _) => {
                    if let Some(cx) = cx
                        && unsure.is_none_or(|sent| cx.lease_was_over(sent))
                    {
                        self.count_loss(&cx);
                    }
                }
                (Wrote::Cancelled, _) | (_, Ending::Failed { .. }) => bump(&handler.metrics.failed),
                (_, Ending::Completed { .. }) => bump(&handler.metrics.completed),
                (_, Ending::Retry { .. }) => bump(&handler.metrics.retried),
                (_, Ending::Dead { .. }) => bump(&handler.metrics.dead),
                (_, Ending::HandBack) => {}
            }
        }
    }

    /// Drops outcomes of jobs whose lease was lost while the store did not answer.
    fn forget_lost(&self, done: &mut Vec<Done>) {
        let mut running = self.running.lock();
        done.retain(|one| {
            if !running.get(&one.job.id).is_some_and(JobCx::is_lost) {
                return true;
            }
            if let Some(cx) = running.remove(&one.job.id) {
                self.count_loss(&cx);
            }
            false
        });
    }

    /// A lost lease counts once, whoever finds out: a renewal, the handler itself, or the end of its attempt.
    pub(super) fn count_loss(&self, cx: &JobCx) {
        if cx.first_loss() {
            bump(&self.metrics.lease_lost);
        }
    }

    /// Unreadable jobs go to the dead letters, in the background: they must not slow the readable ones.
    fn report_malformed(&self, ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        let jobs = self.jobs.clone();
        let metrics = self.metrics.clone();
        tokio::spawn(async move {
            for id in ids {
                match jobs.quarantine(&id).await {
                    Ok(true) => bump(&metrics.malformed),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(%error, job = %id, "not quarantined yet"),
                }
            }
        });
    }
}
