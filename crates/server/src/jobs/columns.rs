//! The last minutes as charts take them: one list per number, one entry per second.

use serde::Serialize;

use super::history::{Second, Sizes};

/// One number per second in each list, the oldest first.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Columns {
    pub(crate) every_ms: u64,
    /// Unix milliseconds at which each second began.
    pub(super) at: Vec<u64>,
    pub(super) waiting: Vec<Option<u64>>,
    pub(super) active: Vec<Option<u64>>,
    pub(super) delayed: Vec<Option<u64>>,
    pub(super) dead: Vec<Option<u64>>,
    pub(super) workers: Vec<Option<u64>>,
    /// Age of the oldest waiting job.
    pub(super) oldest_ms: Vec<Option<u64>>,
    pub(super) dispatched: Vec<u32>,
    pub(super) claimed: Vec<u32>,
    pub(super) completed: Vec<u32>,
    /// Attempts that failed.
    pub(super) failed: Vec<u32>,
    /// Events that were gone before they could be read: where this is not 0, the four counts are too low.
    pub(super) unread: Vec<u64>,
    /// From ready to claimed.
    pub(super) latency_p50_ms: Vec<Option<u32>>,
    pub(super) latency_p95_ms: Vec<Option<u32>>,
    /// In the handler.
    pub(super) duration_p50_ms: Vec<Option<u32>>,
    pub(super) duration_p95_ms: Vec<Option<u32>>,
}

impl Columns {
    pub(super) fn push(&mut self, at: u64, second: &mut Second) {
        let size = |pick: fn(&Sizes) -> u64| second.sizes.as_ref().map(pick);
        self.at.push(at);
        self.waiting.push(size(|sizes| sizes.waiting));
        self.active.push(size(|sizes| sizes.active));
        self.delayed.push(size(|sizes| sizes.delayed));
        self.dead.push(size(|sizes| sizes.dead));
        self.workers.push(size(|sizes| sizes.workers));
        self.oldest_ms.push(size(|sizes| sizes.oldest_ms));
        self.dispatched.push(second.dispatched);
        self.claimed.push(second.claimed);
        self.completed.push(second.completed);
        self.failed.push(second.failed);
        self.unread.push(second.unread);
        second.latency.sort_unstable();
        second.duration.sort_unstable();
        self.latency_p50_ms.push(rank(&second.latency, 50));
        self.latency_p95_ms.push(rank(&second.latency, 95));
        self.duration_p50_ms.push(rank(&second.duration, 50));
        self.duration_p95_ms.push(rank(&second.duration, 95));
    }
}

pub(super) fn rank(sorted: &[u32], percent: usize) -> Option<u32> {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
}
