//! Times as counts by size, without a lock: four steps to each doubling, from a microsecond to about a minute. A percentile
//! is good to a tenth. Reading takes the counts away, so that each look tells of the time since the one before.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const STEPS: usize = 104;

/// Counts by size.
pub(crate) struct Latencies([AtomicU32; STEPS]);

impl Default for Latencies {
    fn default() -> Self {
        Latencies([const { AtomicU32::new(0) }; STEPS])
    }
}

/// How many there were since the last look, and how long they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Taken {
    pub(crate) count: u32,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl Latencies {
    /// Counts one.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A step is a small positive number.
    pub(crate) fn record(&self, took: Duration) {
        let us = (took.as_secs_f64() * 1e6).max(1.0);
        let step = (us.log2() * 4.0) as usize;
        self.0[step.min(STEPS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the counts; `None` when there was nothing.
    pub(crate) fn take(&self) -> Option<Taken> {
        let counts: Vec<u32> = self.0.iter().map(|one| one.swap(0, Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let rank = |percent: u64| {
            let place = (total * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let step = counts.iter().position(|count| {
                seen += u64::from(*count);
                seen >= place
            });
            let step = u32::try_from(step.unwrap_or(0)).unwrap_or(0);
            ((f64::from(step) + 0.5) / 4.0).exp2() / 1000.0
        };
        let count = u32::try_from(total).unwrap_or(u32::MAX);
        (total > 0).then(|| Taken { count, p50_ms: rank(50), p99_ms: rank(99) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_good_to_a_tenth() {
        let all = Latencies::default();
        assert_eq!(all.take(), None);
        for ms in 1..=100 {
            all.record(Duration::from_millis(ms));
        }
        let taken = all.take().unwrap();
        assert_eq!(taken.count, 100);
        assert!((taken.p50_ms / 50.0 - 1.0).abs() < 0.1, "{taken:?}");
        assert!((taken.p99_ms / 99.0 - 1.0).abs() < 0.1, "{taken:?}");
        assert_eq!(all.take(), None, "a look takes the counts away");
        all.record(Duration::ZERO);
        all.record(Duration::from_secs(100_000));
        assert_eq!(all.take().unwrap().count, 2);
    }
}
