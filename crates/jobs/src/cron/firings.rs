//! The next firings as a page shows them: UTC, local, and a mark where a clock change had a hand in it.

use jiff::Timestamp;
use jiff::tz::AmbiguousOffset;
use serde::Serialize;

use super::{Cron, add};

/// One firing to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Firing {
    /// Unix milliseconds.
    pub at: u64,
    /// Such as `2026-03-29T01:30:00Z`.
    pub utc: String,
    /// Such as `2026-03-29T03:30:00+02:00`.
    pub local: String,
    /// The effect of a clock change on the firing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockMark>,
}

/// The effect of a clock change on a firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ClockMark {
    /// The local time is skipped on that day, so the firing happens as if the clock had not
    /// changed.
    Moved {
        /// The local time that does not exist, such as `2026-03-29T02:30:00`.
        from: String,
    },
    /// The local time comes twice on that day; this is the first.
    FirstOfTwo,
    /// The local time comes twice on that day; this is the second.
    SecondOfTwo,
    /// The clock has changed since the firing before.
    Changed,
}

impl Cron {
    /// The next `count` firings after that Unix millisecond.
    pub fn next_n(&self, after_ms: u64, count: usize) -> Vec<Firing> {
        let mut firings = Vec::new();
        let mut last = after_ms;
        while firings.len() < count {
            let Some(at) = self.next_after(last) else { break };
            let Some(firing) = self.firing(at, last) else { break };
            firings.push(firing);
            last = at;
        }
        firings
    }

    fn firing(&self, at: u64, before: u64) -> Option<Firing> {
        let instant = Timestamp::from_second(i64::try_from(at / 1000).ok()?).ok()?;
        let offset = self.zone.to_offset(instant);
        let local = offset.to_datetime(instant);
        let minutes = offset.seconds() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
        let local_text = format!("{local}{sign}{hours:02}:{minutes:02}");
        let clock = if self.matches(local) {
            match self.zone.to_ambiguous_timestamp(local).offset() {
                AmbiguousOffset::Fold { before, .. } if offset == before => {
                    Some(ClockMark::FirstOfTwo)
                }
                AmbiguousOffset::Fold { .. } => Some(ClockMark::SecondOfTwo),
                _ => {
                    let previous =
                        Timestamp::from_second(i64::try_from(before / 1000).ok()?).ok()?;
                    let changed = self.zone.to_offset(previous) != offset;
                    changed.then_some(ClockMark::Changed)
                }
            }
        } else {
            let change = self.zone.preceding(add(instant, 1)?).next()?.timestamp();
            let before = self.zone.to_offset(add(change, -1)?);
            Some(ClockMark::Moved { from: before.to_datetime(instant).to_string() })
        };
        Some(Firing { at, utc: instant.to_string(), local: local_text, clock })
    }
}
