//! How long a failed job waits before its next attempt. Pure: the caller brings the randomness.
//!
//! Always true: a whole number of milliseconds, never more than thirty days.

use crate::model::{Backoff, BackoffKind};

/// No job waits longer than this: 2 to the 60th overflows every clock.
pub(crate) const MAX_DELAY_MS: u64 = 30 * 86_400_000;
/// The part by which jitter moves a delay either way.
const JITTER: f64 = 0.25;

impl Backoff {
    /// Milliseconds before retry number `retry`, counted from 0: the job's `attempts` before it is raised.
    /// `random` is in `[0, 1)` and counts only with `jitter`.
    pub fn delay_ms(&self, retry: u32, random: f64) -> u64 {
        let growing = match self.kind {
            BackoffKind::Fixed => self.delay,
            BackoffKind::Linear => self.delay.saturating_mul(u64::from(retry) + 1),
            BackoffKind::Exponential => {
                self.delay.saturating_mul(1u64.checked_shl(retry).unwrap_or(u64::MAX))
            }
        };
        let cap = self.max_delay.filter(|cap| *cap > 0).unwrap_or(MAX_DELAY_MS);
        let capped = growing.min(cap).min(MAX_DELAY_MS);
        if !self.jitter {
            return capped;
        }
        // Thirty days are far below 2 to the 53rd, so the float is exact enough and never negative.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let moved =
            (capped as f64 * (1.0 - JITTER + 2.0 * JITTER * random.clamp(0.0, 1.0))).floor() as u64;
        moved.min(MAX_DELAY_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn delays(rule: &Backoff) -> Vec<u64> {
        (0..4).map(|retry| rule.delay_ms(retry, 0.5)).collect()
    }

    #[test]
    fn each_kind_grows_as_the_seed_says() {
        let rule = |kind| Backoff { kind, delay: 1500, ..Backoff::default() };
        assert_eq!(delays(&Backoff::default()), [2000, 4000, 8000, 16_000]);
        assert_eq!(delays(&rule(BackoffKind::Fixed)), [1500, 1500, 1500, 1500]);
        assert_eq!(delays(&rule(BackoffKind::Linear)), [1500, 3000, 4500, 6000]);
        assert_eq!(delays(&rule(BackoffKind::Exponential)), [1500, 3000, 6000, 12_000]);
    }

    #[test]
    fn the_cap_comes_before_the_jitter() {
        let rule = Backoff { max_delay: Some(60_000), jitter: true, ..Backoff::default() };
        assert_eq!(rule.delay_ms(30, 0.0), 45_000);
        assert_eq!(rule.delay_ms(30, 0.999_999_99), 74_999);
        let none = Backoff { max_delay: Some(0), ..Backoff::default() };
        assert_eq!(none.delay_ms(10, 0.5), 2_048_000, "a cap of 0 is none");
    }

    #[test]
    fn nothing_waits_longer_than_thirty_days() {
        for retry in [60, 63, 64, 65, u32::MAX] {
            assert_eq!(Backoff::default().delay_ms(retry, 0.5), MAX_DELAY_MS);
            let jitter = Backoff { jitter: true, delay: u64::MAX, ..Backoff::default() };
            assert_eq!(jitter.delay_ms(retry, 0.999), MAX_DELAY_MS);
        }
    }

    proptest! {
        #[test]
        fn jitter_stays_within_a_quarter(delay in 0..1_000_000u64, retry in 0u32..8, random in 0.0..1.0f64) {
            let plain = Backoff { delay, ..Backoff::default() };
            let moved = Backoff { jitter: true, ..plain.clone() }.delay_ms(retry, random);
            let plain = plain.delay_ms(retry, random);
            prop_assert!(moved >= plain - plain / 4 - 1 && moved <= plain + plain / 4 + 1);
        }
    }
}
