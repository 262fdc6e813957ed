//! The scheduler: moves due jobs, fires cron definitions, takes jobs back from dead workers,
//! repairs and tidies.
//!
//! Always true: every step is safe from any number of processes at once, so leading only saves
//! work. Jobs that are due and leases that ran out are served by everyone; a dead leader delays
//! cron by at most its lock.

mod leader;
mod rounds;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::Error;
use crate::metrics::{Metrics, bump};
use crate::model::dice::Dice;
use crate::store::Jobs;
use crate::store::sweep::Sightings;
use crate::worker::{default_id, hostname};
use leader::Leader;
use rounds::Rounds;

/// The longest sleep, unless [`Scheduler::tick`] says otherwise (seed: one second).
const TICK: Duration = Duration::from_secs(1);
/// While nobody uses the queue, it sleeps so many times as long.
const QUIET: u32 = 5;
/// Work of one kind in one call.
const BATCH: u32 = 100;
/// Calls of one kind in one round: a flood of one kind does not starve the others.
const CALLS_MAX: usize = 50;

/// How long one look through the claimed jobs serves all processes; a little less than a round.
const RECLAIM_PAUSE: Duration = Duration::from_millis(900);

/// Serves one namespace. Any number may run at once.
pub struct Scheduler {
    jobs: Jobs,
    metrics: Arc<Metrics>,
    /// None: it never leads.
    leader: Option<Leader>,
    rounds: Rounds,
    seen: Sightings,
    tick: Duration,
    dice: Dice,
    /// When the next delayed job is due, as far as is known.
    next_delayed: Option<u64>,
    next_cron: Option<u64>,
    /// How many rounds found the queue unused.
    unused: u32,
}

impl Scheduler {
    /// One that may lead, with an id of its own: host, process, something random.
    pub fn new(jobs: &Jobs, metrics: Arc<Metrics>) -> Scheduler {
        let id = default_id(&hostname(), std::process::id());
        Scheduler::with_id(jobs, metrics, &id)
    }

    /// The same under the id of a worker in the same process.
    pub fn with_id(jobs: &Jobs, metrics: Arc<Metrics>, server_id: &str) -> Scheduler {
        let random = uuid::Uuid::new_v4().simple().to_string();
        let id = format!("{server_id}:{}", &random[..8]);
        let leader = Some(Leader::new(jobs.clone(), id));
        Scheduler { leader, ..Scheduler::helper(jobs, metrics) }
    }

    /// One that never leads: it only moves due jobs and takes back those of dead workers.
    pub(crate) fn helper(jobs: &Jobs, metrics: Arc<Metrics>) -> Scheduler {
        Scheduler {
            jobs: jobs.clone(),
            metrics,
            leader: None,
            rounds: Rounds::default(),
            seen: Sightings::default(),
            tick: TICK,
            dice: Dice::any(),
            next_delayed: None,
            next_cron: None,
            unused: 0,
        }
    }

    /// How long it sleeps at most; a second otherwise.
    #[must_use]
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick.max(Duration::from_millis(1));
        self
    }

    /// The scheduler's metrics.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The scheduler's id in `scheduler:lock`, when it may lead.
    pub fn id(&self) -> Option<&str> {
        self.leader.as_ref().map(Leader::id)
    }

    /// Serves until `stop`, then gives the lead back.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let jobs = self.jobs.clone();
        loop {
            // Made before the round, so that what is dispatched while it looks is heard.
            let used = jobs.used();
            let wait = tokio::select! {
                biased;
                () = &mut stop => break,
                wait = self.round() => wait,
            };
            tokio::select! {
                () = &mut stop => break,
                () = jobs.clock().sleep(wait) => {}
                () = used, if self.unused > 0 => {}
            }
        }
        if let Some(leader) = &mut self.leader {
            leader.leave().await;
        }
        self.metrics.leader.store(false, Ordering::Relaxed);
    }

    /// Does everything that is due now and tells how long there is nothing to do. Each part that fails is
    /// tried again in the next round and keeps no other from being done.
    pub async fn round(&mut self) -> Duration {
        // A queue that cannot be asked counts as used.
        let unused = self.jobs.is_unused().await.unwrap_or(false);
        self.unused = if unused { self.unused.saturating_add(1) } else { 0 };
        let mut resting = false;
        if !unused {
            let part = self.promote().await;
            self.note("promote", part);
        }
        if self.rounds.reclaim.is_due(&self.jobs) {
            if !unused {
                let part = self.reclaim().await;
                self.note("reclaim", part);
            }
            // Ended jobs go when their time is over, also while nobody uses the queue.
            resting = unused && self.rounds.index.is_due(&self.jobs);
            if !unused || resting {
                let part = self.jobs.trim_index().await;
                self.note("index", part);
            }
            let part = self.jobs.flush_counts().await;
            self.note("counts", part);
        }
        let leads = match &mut self.leader {
            Some(leader) => leader.keep().await,
            None => Ok(false),
        };
        let leads = leads.unwrap_or_else(|error| {
            self.note("lead", Err(error));
            false
        });
        self.metrics.leader.store(leads, Ordering::Relaxed);
        if leads && !unused {
            self.lead().await;
        } else {
            self.next_cron = None;
        }
        // Jobs of other programs may have come and ended since the last look.
        if leads && (self.unused == 1 || resting) {
            self.adopt().await;
        }
        if unused {
            self.next_delayed = None;
        }
        self.until_next()
    }

    /// Exactly until something is due, at most a tick. Followers spread theirs.
    fn until_next(&self) -> Duration {
        let now_ms = self.jobs.now_ms();
        let next = self.next_delayed.into_iter().chain(self.next_cron).min();
        let tick = if self.metrics.leader.load(Ordering::Relaxed) {
            self.tick
        } else {
            self.tick.mul_f64(0.9 + 0.1 * self.dice.unit())
        };
        let tick = tick * self.unused.clamp(1, QUIET);
        let due = next.map_or(tick, |at| Duration::from_millis(at.saturating_sub(now_ms)));
        // Never zero: what is due and could not be served must not spin.
        due.min(tick).max(Duration::from_millis(1))
    }

    async fn promote(&mut self) -> Result<(), Error> {
        let known = self.next_delayed;
        for _ in 0..CALLS_MAX {
            let (moved, next) = self.jobs.promote(BATCH).await?;
            self.metrics.promoted.fetch_add(moved, Ordering::Relaxed);
            self.next_delayed = next;
            if moved > 0 {
                self.note_lag(known);
            }
            if moved < u64::from(BATCH) {
                break;
            }
        }
        Ok(())
    }

    async fn reclaim(&mut self) -> Result<(), Error> {
        let taken = self.jobs.reclaim_after(RECLAIM_PAUSE).await?;
        self.note_recovered(taken.len());
        Ok(())
    }

    fn note_recovered(&self, count: usize) {
        self.metrics.recovered.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// How late it was for something whose time was known.
    fn note_lag(&self, due: Option<u64>) {
        if let Some(late) = due.and_then(|due| self.jobs.now_ms().checked_sub(due)) {
            self.metrics.scheduler_lag.add_time(Duration::from_millis(late));
        }
    }

    fn note(&self, part: &str, result: Result<(), Error>) {
        if let Err(error) = result {
            bump(&self.metrics.faults);
            tracing::debug!(part, %error, "a part of the scheduler's round failed, again in the next");
        }
    }
}
