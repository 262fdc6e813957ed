//! The pace of ticks: when the next one is due and how much game time it covers.
//!
//! Ticks are due at `t0 + k / rate` on the monotonic clock, counted from a base that moves when the
//! rate changes, so a late tick is caught up and no time is lost. Game time is whole nanoseconds.

use std::time::Duration;

use crate::world::Pace;

/// A backlog longer than this is given up, ticks.
pub const BACKLOG_MAX: u64 = 3_600;
/// Ticks run back to back before others get a turn.
pub const BURST_TICKS: u32 = 10;
/// And the time they may take.
pub const BURST: Duration = Duration::from_millis(50);
/// Time scales this near to 1 count as 1.
const NEAR_ONE: f64 = 1e-3;
/// Game time is drawn towards UTC by at most this share.
const PULL_MOST: f64 = 0.05;
/// Seconds of drift that would be pulled at the full rate of 1.
const PULL_OVER_S: f64 = 100.0;

/// Limits of rate and scale.
pub const RANGE: std::ops::RangeInclusive<f64> = 0.1..=100.0;

/// Counts ticks against the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beat {
    base: Duration,
    rate: f64,
    done: u64,
}

impl Beat {
    /// The first tick is due one period after `now`.
    pub fn new(now: Duration, rate: f64) -> Self {
        Beat { base: now, rate, done: 0 }
    }

    /// How many ticks should have been done and were not.
    pub fn behind(&self, now: Duration) -> u64 {
        let periods = now.saturating_sub(self.base).as_secs_f64() * self.rate;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
        let due = periods.floor() as u64;
        due.saturating_sub(self.done)
    }

    /// How long until the next tick.
    pub fn wait(&self, now: Duration) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are far away")]
        let next = (self.done + 1) as f64 / self.rate;
        (self.base + Duration::from_secs_f64(next)).saturating_sub(now)
    }

    /// One tick was done.
    pub fn tick(&mut self) {
        self.done += 1;
    }

    /// A new rate starts a new count.
    pub fn change(&mut self, now: Duration, rate: f64) {
        *self = Beat::new(now, rate);
    }

    /// Time that passed while paused adds no backlog; what was behind before stays.
    pub fn skip(&mut self, paused_for: Duration) {
        self.base += paused_for;
    }

    /// Gives up a backlog that is too long; says how many ticks were dropped.
    pub fn shed(&mut self, now: Duration) -> u64 {
        let behind = self.behind(now);
        if behind <= BACKLOG_MAX {
            return 0;
        }
        self.done += behind;
        behind
    }
}

/// Game seconds per second, with what draws game time towards UTC.
pub fn effective_scale(pace: &Pace, drift_s: f64) -> f64 {
    if pace.sync && (pace.scale - 1.0).abs() <= NEAR_ONE {
        1.0 + (drift_s / PULL_OVER_S).clamp(-PULL_MOST, PULL_MOST)
    } else {
        pace.scale
    }
}

/// Game nanoseconds of one tick.
pub fn tick_ns(pace: &Pace, drift_s: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "at most 1000 s")]
    let ns = (1e9 * effective_scale(pace, drift_s) / pace.rate).round() as i64;
    ns
}

/// Seconds until a drift is below a tenth of a second; what the dashboard promises.
pub fn converges_in_s(drift_s: f64) -> f64 {
    let drift = drift_s.abs();
    let linear = PULL_MOST * PULL_OVER_S;
    let tail = PULL_OVER_S * (drift.min(linear) / 0.1).max(1.0).ln();
    (drift - linear).max(0.0) / PULL_MOST + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn late_ticks_are_caught_up_and_early_ones_waited_for() {
        let mut beat = Beat::new(S * 10, 10.0);
        assert_eq!((beat.behind(S * 10), beat.wait(S * 10)), (0, Duration::from_millis(100)));
        assert_eq!(beat.behind(S * 11), 10);
        for _ in 0..10 {
            beat.tick();
        }
        assert_eq!((beat.behind(S * 11), beat.wait(S * 11)), (0, Duration::from_millis(100)));
    }

    #[test]
    fn a_pause_adds_no_backlog_and_forgets_none() {
        let mut beat = Beat::new(Duration::ZERO, 1.0);
        assert_eq!(beat.behind(S * 3), 3);
        beat.skip(S * 100);
        assert_eq!(beat.behind(S * 103), 3);
    }

    #[test]
    fn a_backlog_of_more_than_an_hour_of_ticks_is_given_up() {
        let mut beat = Beat::new(Duration::ZERO, 1.0);
        assert_eq!(beat.shed(S * 3_600), 0);
        assert_eq!(beat.shed(S * 3_601), 3_601);
        assert_eq!(beat.behind(S * 3_601), 0);
    }

    #[test]
    fn game_time_is_drawn_towards_utc_by_at_most_five_percent() {
        let pace = Pace::default();
        assert_eq!(tick_ns(&pace, 0.0), 1_000_000_000);
        assert_eq!(tick_ns(&pace, 1_000.0), 1_050_000_000);
        assert_eq!(tick_ns(&pace, -1_000.0), 950_000_000);
        assert_eq!(tick_ns(&pace, 1.0), 1_010_000_000);
        let free = Pace { sync: false, scale: 2.5, rate: 4.0, ..pace.clone() };
        assert_eq!(tick_ns(&free, 50.0), 625_000_000);
        let scaled = Pace { scale: 10.0, ..pace };
        assert_eq!(tick_ns(&scaled, 50.0), 10_000_000_000);
    }

    #[test]
    fn convergence_takes_as_long_as_it_was_measured() {
        for (drift, expected) in [(15.3, 597.0), (60.0, 1_491.0), (3_600.0, 72_291.0)] {
            let pace = Pace::default();
            let (mut left, mut seconds) = (drift, 0.0);
            while left > 0.1 {
                left -= effective_scale(&pace, left) - 1.0;
                seconds += 1.0;
            }
            assert!((seconds - converges_in_s(drift)).abs() <= 3.0, "{drift}: {seconds}");
            assert!((converges_in_s(drift) - expected).abs() < 2.0, "{}", converges_in_s(drift));
        }
    }
}
