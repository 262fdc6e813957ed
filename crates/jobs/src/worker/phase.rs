//! The phase of a worker on its way to its end. It only ever moves forward, and reading it is one
//! atomic load.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// Ordered: later ones include what earlier ones forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Claims and runs.
    Running,
    /// Claims nothing more and stays.
    Quiet,
    /// Claims nothing more and ends when its jobs have.
    Draining,
    /// Handlers are asked to end.
    Cancelling,
    /// Jobs that still run are dropped and handed back.
    HandBack,
}

const ALL: [Phase; 5] =
    [Phase::Running, Phase::Quiet, Phase::Draining, Phase::Cancelling, Phase::HandBack];

#[derive(Debug)]
pub(crate) struct Phases {
    now: AtomicU8,
    changed: Notify,
}

impl Phases {
    pub(crate) fn new() -> Phases {
        Phases { now: AtomicU8::new(0), changed: Notify::new() }
    }

    pub(crate) fn get(&self) -> Phase {
        ALL[usize::from(self.now.load(Ordering::Acquire)).min(ALL.len() - 1)]
    }

    /// Moves on; never back.
    pub(crate) fn reach(&self, phase: Phase) {
        self.now.fetch_max(phase as u8, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Ends once that phase, or a later one, is reached.
    pub(crate) async fn reached(&self, phase: Phase) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before looking, so that a move in between is not missed.
            changed.as_mut().enable();
            if self.get() >= phase {
                return;
            }
            changed.await;
        }
    }
}
