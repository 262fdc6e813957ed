//! The worker: handlers by type, a number of slots, and everything that keeps a job safe while it runs.
//!
//! Always true: a job runs only under a lease, which a task of its own renews; a handler whose lease is lost
//! is told and its result dropped; whatever is not finished when the worker ends goes back to the front.

mod attempt;
mod builder;
mod chores;
mod cx;
mod drain;
mod failure;
mod handler;
mod phase;
mod prefetch;
mod pump;
mod team;
mod trace;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinSet;

pub use builder::Builder;
pub(crate) use builder::{default_id, hostname};
pub use cx::{Cancelled, JobCx};
pub use drain::Drained;
pub use failure::JobError;
pub use handler::{Attempt, Call, Job, JobType, Layer, Next, layer_fn, timeout};
pub(crate) use trace::mark;

use crate::error::{Error, refusal};
use crate::metrics::Metrics;
use crate::model::dice::Dice;
use crate::model::{Registration, WorkerFacts};
use crate::scheduler::Scheduler;
use crate::store::Jobs;
use handler::Handler;
use phase::{Phase, Phases};

/// How long handlers have after they were told that the worker stops.
const LAST_CALL: Duration = Duration::from_secs(5);

/// The state that the tasks of one worker share.
pub(crate) struct Shared {
    jobs: Jobs,
    facts: Arc<WorkerFacts>,
    handlers: HashMap<String, Handler>,
    layers: Vec<Arc<dyn Layer>>,
    concurrency: usize,
    claim_ahead: bool,
    /// Every job that is held, until its end is written.
    running: Mutex<HashMap<String, JobCx>>,
    /// There may be something to claim.
    wake: Notify,
    phase: Phases,
    /// The answer to a call was lost, so that jobs may be held which nobody here knows of.
    unsure: AtomicBool,
    /// Read while a call is under way.
    asking: RwLock<()>,
    metrics: Arc<Metrics>,
    dice: Dice,
    registration: Registration,
}

/// A registered worker, ready to run. Made by [`Worker::builder`].
pub struct Worker {
    shared: Arc<Shared>,
    grace: Duration,
    chores: bool,
}

/// Ends a worker from outside. Clones end the same worker.
#[derive(Clone)]
pub struct Stopper(Arc<Shared>);

impl Stopper {
    /// Claims nothing more; what runs goes on and the worker stays.
    pub fn quiet(&self) {
        self.0.phase.reach(Phase::Quiet);
    }

    /// Ends gracefully. Called a second time: hands everything back at once.
    pub fn stop(&self) {
        let second = self.0.phase.get() >= Phase::Draining;
        self.0.phase.reach(if second { Phase::HandBack } else { Phase::Draining });
    }
}

impl Worker {
    /// Describes a worker of this queue.
    pub fn builder(jobs: &Jobs) -> Builder {
        Builder::new(jobs)
    }

    /// The worker's id in the registry.
    pub fn server_id(&self) -> &str {
        &self.shared.facts.server_id
    }

    /// The worker's metrics.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Ends it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.shared.clone())
    }

    /// Runs until a [`Stopper`] or an operator ends it.
    pub async fn run(self) -> Result<(), Error> {
        self.run_until(std::future::pending()).await
    }

    /// Runs until the process is told to end (SIGTERM, or SIGINT from a terminal). A second signal hands
    /// everything back at once.
    #[cfg(unix)]
    pub async fn run_until_signal(self) -> Result<(), Error> {
        use tokio::signal::unix::{SignalKind, signal};
        let stopper = self.stopper();
        let mut signals = JoinSet::new();
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            let stopper = stopper.clone();
            let mut signal = signal(kind).map_err(|error| {
                Error::invalid(
                    refusal::program::NO_SIGNALS,
                    "signal",
                    format!("signals cannot be heard: {error}"),
                )
            })?;
            signals.spawn(async move {
                while signal.recv().await.is_some() {
                    stopper.stop();
                }
            });
        }
        self.run().await
    }

    /// Runs until `stop`, then ends gracefully: claims nothing more, waits for its jobs up to the grace time,
    /// tells those that still run, and hands back what is left. Dropped before, it is as if the process was killed:
    /// handlers end where they wait, and other workers have their jobs when the leases are over.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let shared = self.shared.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(shared.clone().listen());
        tasks.spawn(shared.clone().keep_leases());
        tasks.spawn(shared.clone().keep_alive());
        if self.chores {
            let helper = Scheduler::helper(&shared.jobs, shared.metrics.clone());
            tasks.spawn(helper.run_until(std::future::pending()));
        }
        let mut pump = JoinSet::new();
        pump.spawn(shared.clone().pump());
        tokio::select! {
            () = stop => shared.phase.reach(Phase::Draining),
            () = shared.phase.reached(Phase::Draining) => {}
            _ = pump.join_next() => {}
        }
        if !pump.is_empty() {
            self.wind_down(&mut pump).await;
        }
        // Dropped, the tasks end: nothing is held any more that they could keep.
        drop(tasks);
        let flushed = shared.jobs.flush_counts().await;
        shared.jobs.unregister(&shared.facts, &shared.registration).await?;
        flushed
    }

    async fn wind_down(&self, pump: &mut JoinSet<()>) {
        let (shared, clock) = (&self.shared, self.shared.jobs.clock());
        tokio::select! {
            _ = pump.join_next() => return,
            () = clock.sleep(self.grace) => {}
            () = shared.phase.reached(Phase::HandBack) => {}
        }
        for cx in shared.running.lock().values() {
            cx.cancel(Cancelled::Stopping);
        }
        shared.phase.reach(Phase::Cancelling);
        tokio::select! {
            _ = pump.join_next() => return,
            () = clock.sleep(LAST_CALL) => {}
            () = shared.phase.reached(Phase::HandBack) => {}
        }
        shared.phase.reach(Phase::HandBack);
        pump.join_next().await;
    }
}
