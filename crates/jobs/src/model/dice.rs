//! Randomness that comes from outside: a seed, then a plain generator. Good for jitter, not for secrets.

use std::sync::atomic::{AtomicU64, Ordering};

/// Shared by many tasks without a lock.
#[derive(Debug)]
pub(crate) struct Dice(AtomicU64);

impl Dice {
    /// The same seed gives the same throws.
    pub(crate) fn seeded(seed: u64) -> Dice {
        Dice(AtomicU64::new(seed))
    }

    /// From the operating system.
    pub(crate) fn any() -> Dice {
        let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
        Dice::seeded(high ^ low)
    }

    /// A number in `[0, 1)`.
    pub(crate) fn unit(&self) -> f64 {
        // SplitMix64: the state walks by an odd constant, the rest scrambles it.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[allow(clippy::cast_precision_loss)] // 53 bits fit
        let unit = ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0;
        unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_are_spread_and_repeatable() {
        let (one, two) = (Dice::seeded(7), Dice::seeded(7));
        let throws: Vec<f64> = (0..1000).map(|_| one.unit()).collect();
        assert!(throws.iter().all(|throw| (0.0..1.0).contains(throw)));
        assert!((throws.iter().sum::<f64>() / 1000.0 - 0.5).abs() < 0.05);
        assert!(throws.iter().all(|throw| (*throw - two.unit()).abs() < f64::EPSILON));
    }
}
