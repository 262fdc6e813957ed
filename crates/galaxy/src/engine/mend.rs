//! The engine mends indexes from the hashes: before it reads the world, and every ten minutes beside the ticks.

use std::sync::Arc;
use std::time::Duration;

use kernel::check::Report;
use kernel::keyspace::Layout;
use kernel::{Fault, Store};
use tokio::task::JoinHandle;

use super::keep;
use super::lock::Lock;
use crate::keys::Keys;
use crate::physics::solar::SOL;
use crate::store::check;

const EVERY: Duration = Duration::from_mins(10);

/// When the next walk is due, and the one that runs.
pub(super) struct Mender {
    due: Duration,
    running: Option<JoinHandle<Result<Report, Fault>>>,
    /// Whether the last one failed, which was told.
    failed: bool,
}

impl Mender {
    pub(super) fn new(now: Duration) -> Self {
        Mender { due: now + EVERY, running: None, failed: false }
    }

    /// Walks when it is time. Gives how much was mended since it was last asked.
    pub(super) async fn tend(&mut self, store: &Arc<dyn Store>, now: Duration) -> u64 {
        if self.running.is_none() && now >= self.due {
            self.due = now + EVERY;
            let store = Arc::clone(store);
            self.running = Some(tokio::spawn(async move { check::reconcile(&store).await }));
        }
        match self.running.take_if(|running| running.is_finished()) {
            None => 0,
            Some(running) => match running.await {
                Ok(Ok(report)) => {
                    self.failed = false;
                    report.repaired
                }
                Ok(Err(fault)) => {
                    if !std::mem::replace(&mut self.failed, true) {
                        tracing::warn!(%fault, "indexes could not be mended; tried again later");
                    }
                    0
                }
                Err(error) => {
                    tracing::error!(%error, "mending indexes panicked");
                    0
                }
            },
        }
    }
}

/// Before the world is read: what its index does not name would not be found. `false` when the lock was lost.
pub(super) async fn before_reading(store: &Arc<dyn Store>, lock: &mut Lock) -> Result<bool, Fault> {
    // A store without a world is looked at often, and a walk over all its keys would find nothing to mend.
    if keep::is_empty(&**store, Keys::new(Layout::Plain), SOL.id).await? {
        return Ok(lock.holds());
    }
    match lock.hold_while(check::reconcile(store)).await {
        Some(report) => report.map(|_| true),
        None => Ok(false),
    }
}
