//! The LFU counter: how often a key is used, in the 24 bits that otherwise hold the time of its
//! last use. As in Redis, these are 16 bits of minutes and a counter of 8 bits that grows ever more
//! slowly and falls with time.

use rand::Rng;

/// How the counter moves: `lfu-log-factor` and `lfu-decay-time`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    /// The larger, the slower the counter grows.
    pub factor: u32,
    /// Minutes in which it falls by one; 0 for never.
    pub decay_minutes: u32,
}

/// The count of a new key, high enough that the key is not evicted at once.
const NEW: u32 = 5;

impl Default for Counting {
    fn default() -> Self {
        Counting { factor: 10, decay_minutes: 1 }
    }
}

impl Counting {
    /// The stamp of a minute, without a count.
    pub fn stamp(minute: u32) -> u32 {
        (minute & 0xffff) << 8
    }

    /// The stamp of a new key.
    pub(super) fn fresh(now: u32) -> u32 {
        now & 0x00ff_ff00 | NEW
    }

    /// The count of a key by now.
    pub fn now(self, stamp: u32, now: u32) -> u32 {
        let passed = (now >> 8).wrapping_sub(stamp >> 8) & 0xffff;
        let periods = passed.checked_div(self.decay_minutes).unwrap_or(0);
        (stamp & 0xff).saturating_sub(periods)
    }

    /// The stamp after one more use.
    pub(super) fn used<R: Rng + ?Sized>(self, stamp: u32, now: u32, rng: &mut R) -> u32 {
        let count = self.now(stamp, now);
        let above = u64::from(count.saturating_sub(NEW));
        let chances = above * u64::from(self.factor) + 1;
        let grows = count < 255 && u64::from(rng.next_u32()) * chances < 1 << 32;
        now & 0x00ff_ff00 | (count + u32::from(grows))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::SmallRng;

    use super::Counting;

    #[test]
    fn the_counter_grows_slowly_and_falls_with_time() {
        let (counting, mut rng) = (Counting::default(), SmallRng::seed_from_u64(1));
        let minute = |n| Counting::stamp(n);
        let mut stamp = Counting::fresh(minute(65_530));
        assert_eq!(counting.now(stamp, minute(65_530)), 5);
        let mut after = Vec::new();
        for uses in 1..=100_000 {
            stamp = counting.used(stamp, minute(65_530), &mut rng);
            if [10, 100, 1000, 100_000].contains(&uses) {
                after.push(counting.now(stamp, minute(65_530)));
            }
        }
        assert!(after.is_sorted() && after[0] < 12 && after[1] < 20, "{after:?}");
        assert!((100..=255).contains(&after[3]), "{after:?}");
        // Twelve minutes later, over the turn of the clock.
        assert_eq!(counting.now(stamp, minute(6)), after[3] - 12);
        assert_eq!(Counting { decay_minutes: 0, ..counting }.now(stamp, minute(6)), after[3]);
    }
}
