//! Clocks of the engine. Time passes by itself by default; tests move it by hand.

use std::sync::atomic::{AtomicI64, Ordering};

/// A source of wall-clock time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Unix microseconds.
    fn now_us(&self) -> i64;

    /// Unix milliseconds.
    fn now_ms(&self) -> i64 {
        self.now_us().div_euclid(1000)
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // the one place where the engine asks the system for the time
    fn now_us(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A clock that moves only when told.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Starts at that many Unix milliseconds.
    pub fn at_ms(ms: i64) -> Self {
        ManualClock(AtomicI64::new(ms * 1000))
    }

    /// Moves on (or back, when negative).
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms * 1000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
