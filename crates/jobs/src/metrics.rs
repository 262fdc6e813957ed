//! Metrics of this process for an exporter: atomics only, so that counting never waits. Numbers
//! that several processes share (queue lengths, daily counts) are in the store, not here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

/// Upper bounds of the buckets of a [`Histogram`], in its unit: about three per factor of ten.
pub const BOUNDS: [u64; 22] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    1_800_000_000,
    7_200_000_000,
    86_400_000_000,
];

/// How often values fell below each of [`BOUNDS`]. Durations are counted in microseconds.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    sum: AtomicU64,
}

/// A [`Histogram`] at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Values at most as large as the bound of the same place in [`BOUNDS`], and last of all values.
    pub cumulative: Vec<u64>,
    /// The sum of all values.
    pub sum: u64,
    /// How many values there were.
    pub count: u64,
}

impl Histogram {
    /// One more value.
    pub fn add(&self, value: u64) {
        let at = BOUNDS.partition_point(|bound| *bound < value);
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// One more duration.
    pub fn add_time(&self, value: Duration) {
        self.add(u64::try_from(value.as_micros()).unwrap_or(u64::MAX));
    }

    /// The counts so far.
    pub fn counted(&self) -> Counted {
        let mut count = 0;
        let cumulative = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let cumulative = cumulative.collect();
        Counted { cumulative, sum: self.sum.load(Ordering::Relaxed), count }
    }
}

/// The metrics of the jobs of one type in this process.
#[derive(Debug, Default)]
pub struct TypeMetrics {
    /// From dispatch, or the time it was due, to the claim.
    pub latency: Histogram,
    /// In the handler.
    pub duration: Histogram,
    /// Attempts that worked.
    pub completed: AtomicU64,
    /// Attempts after which the job runs again.
    pub retried: AtomicU64,
    /// Jobs that ended as `failed`.
    pub failed: AtomicU64,
    /// Jobs that went to the dead letters.
    pub dead: AtomicU64,
}

/// Everything this process counts.
#[derive(Debug, Default)]
pub struct Metrics {
    types: RwLock<BTreeMap<String, Arc<TypeMetrics>>>,
    /// Jobs looked at per claim.
    pub claim_scanned: Histogram,
    /// Jobs whose lease ran out under a handler, and results that came too late.
    pub lease_lost: AtomicU64,
    /// Jobs taken back from workers that died.
    pub recovered: AtomicU64,
    /// Jobs that nobody can read.
    pub malformed: AtomicU64,
    /// Counters of running jobs that were wrong and were set right.
    pub ratelimit_repaired: AtomicU64,
    /// Jobs moved from `delayed` to `waiting`.
    pub promoted: AtomicU64,
    /// Jobs that nobody may run, moved from the head to the tail.
    pub rotated: AtomicU64,
    /// Definitions that fired.
    pub fired: AtomicU64,
    /// Firings that found the one before still running.
    pub coalesced: AtomicU64,
    /// Store calls of loops that failed and were tried again.
    pub faults: AtomicU64,
    /// Whether this process leads the scheduling.
    pub leader: AtomicBool,
    /// How late the last due job or firing was served.
    pub scheduler_lag: Histogram,
}

impl Metrics {
    /// The numbers of a type; made when they are not there yet.
    pub fn of(&self, kind: &str) -> Arc<TypeMetrics> {
        if let Some(found) = self.types.read().get(kind) {
            return found.clone();
        }
        self.types.write().entry(kind.to_owned()).or_default().clone()
    }

    /// All types that were seen.
    pub fn types(&self) -> Vec<(String, Arc<TypeMetrics>)> {
        self.types.read().iter().map(|(kind, counts)| (kind.clone(), counts.clone())).collect()
    }
}

/// One more.
pub(crate) fn bump(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_below_their_bounds() {
        let histogram = Histogram::default();
        for value in [0, 100, 101, u64::MAX / 4] {
            histogram.add(value);
        }
        let counted = histogram.counted();
        assert_eq!(counted.cumulative[..2], [2, 3]);
        assert_eq!((counted.count, *counted.cumulative.last().unwrap()), (4, 4));
    }

    #[test]
    fn a_type_is_one_set_of_numbers() {
        let metrics = Metrics::default();
        bump(&metrics.of("email").completed);
        bump(&metrics.of("email").completed);
        assert_eq!(metrics.types()[0].1.completed.load(Ordering::Relaxed), 2);
    }
}
