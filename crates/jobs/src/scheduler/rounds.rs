//! The rounds that only the leader makes, each at its own pace.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{BATCH, CALLS_MAX, Scheduler};
use crate::error::Error;
use crate::metrics::bump;
use crate::store::Jobs;
use crate::store::definitions::{Fired, Overlap};
use crate::store::index::Known;

/// Keys that the sweep for orphans looks at in a second: a store of a million keys in less than two minutes, for
/// about four milliseconds of each second.
const ORPHAN_BUDGET: usize = 10_000;

/// Something done every so often.
pub(super) struct Pace {
    every: Duration,
    /// On the monotonic clock.
    next: Duration,
}

impl Pace {
    const fn every(seconds: u64) -> Pace {
        Pace { every: Duration::from_secs(seconds), next: Duration::ZERO }
    }

    pub(super) fn is_due(&mut self, jobs: &Jobs) -> bool {
        let now = jobs.clock().monotonic();
        let due = now >= self.next;
        if due {
            self.next = now + self.every;
        }
        due
    }
}

pub(super) struct Rounds {
    pub(super) reclaim: Pace,
    resume: Pace,
    active: Pace,
    orphans: Pace,
    foreign: Pace,
    reconcile: Pace,
    tidy: Pace,
    rotate: Pace,
    correct: Pace,
    pub(super) index: Pace,
    adopt: Pace,
    /// The index of lists, to tell jobs of other programs.
    known: Known,
    /// Definitions whose times were found right.
    right: HashMap<String, u64>,
    /// Whether a worker of another program is registered.
    others: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds {
            reclaim: Pace::every(1),
            resume: Pace::every(1),
            active: Pace::every(10),
            orphans: Pace::every(1),
            foreign: Pace::every(10),
            reconcile: Pace::every(30),
            tidy: Pace::every(60),
            rotate: Pace::every(5),
            correct: Pace::every(2),
            index: Pace::every(60),
            adopt: Pace::every(10),
            known: Known::default(),
            right: HashMap::new(),
            others: false,
        }
    }
}

impl Scheduler {
    pub(super) async fn lead(&mut self) {
        if self.rounds.adopt.is_due(&self.jobs) {
            self.adopt().await;
        }
        if self.rounds.correct.is_due(&self.jobs) {
            let part = self.jobs.correct_crons(&mut self.rounds.right).await.map(drop);
            self.note("times of cron", part);
        }
        let part = self.fire().await;
        self.note("cron", part);
        if self.rounds.resume.is_due(&self.jobs) {
            let part = self.jobs.resume_due().await.map(drop);
            self.note("resume", part);
        }
        if self.rounds.active.is_due(&self.jobs) {
            let part = self.jobs.sweep_active(&self.seen).await;
            let part = part.map(|taken| self.note_recovered(taken.len()));
            self.note("sweep of active jobs", part);
        }
        if self.rounds.foreign.is_due(&self.jobs) {
            let part = self.look_for_others().await;
            self.note("workers", part);
        }
        if self.rounds.others && self.rounds.orphans.is_due(&self.jobs) {
            let part = self.jobs.sweep_orphans(&self.seen, ORPHAN_BUDGET).await;
            let part = part.map(|taken| self.note_recovered(taken.len()));
            self.note("sweep for orphans", part);
        }
        if self.rounds.reconcile.is_due(&self.jobs) {
            let part = self.reconcile().await;
            self.note("reconcile", part);
        }
        if self.jobs.options().rotate_unclaimable_s > 0 && self.rounds.rotate.is_due(&self.jobs) {
            let part = self.rotate().await;
            self.note("rotate", part);
        }
        if self.rounds.tidy.is_due(&self.jobs) {
            let part = self.tidy().await;
            self.note("tidy", part);
        }
    }

    /// Enters jobs of other programs into the index of lists.
    pub(super) async fn adopt(&mut self) {
        let part = self.jobs.adopt_foreign(&mut self.rounds.known).await.map(drop);
        self.note("jobs of other programs", part);
    }

    /// Fires what is due. A time that is no occurrence is put right and not fired.
    async fn fire(&mut self) -> Result<(), Error> {
        for _ in 0..CALLS_MAX {
            let (due, next) = self.jobs.due_crons(u64::from(BATCH)).await?;
            self.next_cron = next;
            if due.is_empty() {
                return Ok(());
            }
            for (job, score) in &due {
                match self.jobs.fire_cron(job, *score, Overlap::of(job)).await? {
                    Fired::Fired => {
                        bump(&self.metrics.fired);
                        self.note_lag(Some(*score));
                    }
                    Fired::Coalesced => bump(&self.metrics.coalesced),
                    Fired::Elsewhere | Fired::Corrected | Fired::Gone => {}
                }
            }
        }
        Ok(())
    }

    /// Orphans come only from programs that do not know leases.
    async fn look_for_others(&mut self) -> Result<(), Error> {
        let workers = self.jobs.workers().await?;
        self.rounds.others = workers.iter().any(|worker| worker.version.is_none());
        Ok(())
    }

    async fn reconcile(&mut self) -> Result<(), Error> {
        let repaired = self.jobs.reconcile(&self.seen).await?;
        let count = repaired.iter().filter(|one| one.repaired).count() as u64;
        self.metrics.ratelimit_repaired.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }

    async fn rotate(&mut self) -> Result<(), Error> {
        let moved = self.jobs.rotate(&self.seen).await?;
        self.metrics.rotated.fetch_add(moved, Ordering::Relaxed);
        Ok(())
    }

    async fn tidy(&mut self) -> Result<(), Error> {
        self.jobs.trim_dlq().await?;
        self.jobs.sweep_parked().await?;
        self.jobs.forget_marks().await?;
        self.jobs.forget_workers().await.map(drop)
    }
}
