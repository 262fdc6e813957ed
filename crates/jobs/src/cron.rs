//! Cron expressions with time zones: their meaning, their firings, and their description in words.
//!
//! Always true: instants are whole seconds and strictly increase; with a restricted hour every
//! matching local time fires exactly once, also when the clock change skips or repeats it; with an
//! unrestricted hour every real instant whose local time matches fires.

mod describe;
mod fields;
mod firings;
mod parse;

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

use fields::{Days, Field};
pub use firings::{ClockMark, Firing};

/// A transition farther back than this no longer shifts what comes: the widest one, at Apia, was a day.
const SHIFT_MAX_S: i64 = 26 * 3600;
/// A date that does not come within so many years never comes (five Mondays in February: at most 40).
const YEARS_MAX: i16 = 100;

/// Why an expression or a zone is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CronError {
    /// The expression cannot be read, or never fires.
    #[error("{0}")]
    Expression(String),
    /// The zone is not in the IANA database.
    #[error("no time zone is called {0:?}, use an IANA name such as Europe/Paris")]
    Timezone(String),
}

/// A schedule: an expression in a time zone.
#[derive(Debug, Clone)]
pub struct Cron {
    seconds: Field,
    minutes: Field,
    hours: Field,
    months: Field,
    days: Days,
    zone: TimeZone,
    zone_name: String,
}

impl Cron {
    /// Reads an expression of five fields, or six with leading seconds, or a macro such as `@daily`. Without
    /// a zone it is UTC.
    pub fn parse(expression: &str, timezone: Option<&str>) -> Result<Cron, CronError> {
        let zone_name = timezone.unwrap_or("UTC");
        let zone = TimeZone::get(zone_name)
            .map_err(|_| CronError::Timezone(zone_name.chars().take(100).collect()))?;
        let parsed = parse::fields(expression).map_err(CronError::Expression)?;
        let cron = Cron {
            seconds: parsed.seconds,
            minutes: parsed.minutes,
            hours: parsed.hours,
            months: parsed.months,
            days: parsed.days,
            zone,
            zone_name: zone_name.to_owned(),
        };
        if cron.days.never(cron.months) {
            let sentence = format!("{:?} never fires: no month has that day", expression.trim());
            return Err(CronError::Expression(sentence));
        }
        Ok(cron)
    }

    /// The zone's name as it was given.
    pub fn timezone(&self) -> &str {
        &self.zone_name
    }

    /// The first firing after that Unix millisecond. `None` when the calendar ends before.
    pub fn next_after(&self, ms: u64) -> Option<u64> {
        let second = i64::try_from(ms / 1000).ok()?.checked_add(1)?;
        let from = Timestamp::from_second(second).ok()?;
        let found = if self.hours.is_all() { self.real_time(from) } else { self.local_time(from) };
        u64::try_from(found?.as_second()).ok()?.checked_mul(1000)
    }

    /// Whether it fires at exactly that Unix millisecond.
    pub fn is_occurrence(&self, ms: u64) -> bool {
        ms.checked_sub(1).and_then(|before| self.next_after(before)) == Some(ms)
    }

    /// Hour unrestricted: the first real instant from here whose local time matches.
    fn real_time(&self, from: Timestamp) -> Option<Timestamp> {
        let mut from = from;
        loop {
            let offset = self.zone.to_offset(from);
            let change = self.zone.following(from).next().map(|change| change.timestamp());
            if let Some(local) = self.first_from(offset.to_datetime(from)) {
                let found = offset.to_timestamp(local).ok()?;
                if change.is_none_or(|change| found < change) {
                    return Some(found);
                }
            }
            from = change?;
        }
    }

    /// Hour restricted: the first instant from here of a matching local time, each of which has one instant.
    fn local_time(&self, from: Timestamp) -> Option<Timestamp> {
        let mut start = self.zone.to_offset(from).to_datetime(from);
        let mut moved = None;
        for change in self.zone.preceding(add(from, 1)?) {
            if change.timestamp().as_second() + SHIFT_MAX_S < from.as_second() {
                break;
            }
            let before = self.zone.to_offset(add(change.timestamp(), -1)?);
            let (as_before, now) = (before.to_datetime(from), change.offset());
            if before > now {
                // In the repetition: the first of two has passed, so nothing before its end counts.
                let end = before.to_datetime(change.timestamp());
                start = start.max(as_before.min(end));
            } else if let Some(local) = self.first_from(as_before)
                && local < now.to_datetime(change.timestamp())
            {
                // Still to come: local times that the change skipped, by the offset before it.
                moved = earlier(moved, before.to_timestamp(local).ok());
            }
        }
        earlier(moved, self.first_instant(start, from))
    }

    /// The earliest instant of the local times from `start`, not before `from`.
    fn first_instant(&self, start: DateTime, from: Timestamp) -> Option<Timestamp> {
        let mut local = self.first_from(start)?;
        loop {
            let (instant, gap) = self.instant(local)?;
            if instant < from {
                local = self.first_from(local.checked_add(1.second()).ok()?)?;
                continue;
            }
            let Some(after) = gap else { return Some(instant) };
            // A local time behind the gap may come before one inside it.
            let change = self.zone.preceding(add(instant, 1)?).next()?.timestamp();
            let behind = self.first_from(after.to_datetime(change));
            let behind = behind.and_then(|local| self.instant(local)).map(|(instant, _)| instant);
            return earlier(Some(instant), behind);
        }
    }

    /// The one instant of a local time, and the offset behind the gap when it falls into one.
    fn instant(&self, local: DateTime) -> Option<(Timestamp, Option<Offset>)> {
        let (offset, after) = match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => (offset, None),
            AmbiguousOffset::Gap { before, after } => (before, Some(after)),
            AmbiguousOffset::Fold { before, .. } => (before, None),
        };
        Some((offset.to_timestamp(local).ok()?, after))
    }

    /// The first matching local time from `start` on, as a calendar without clock changes has it.
    fn first_from(&self, start: DateTime) -> Option<DateTime> {
        let mut date = start.date();
        if self.matches_date(date)
            && let Some(found) = self.time_from(date, start)
        {
            return Some(found);
        }
        let last = start.year().saturating_add(YEARS_MAX);
        loop {
            if !self.months.has(date.month()) {
                date = date.last_of_month();
            }
            date = date.tomorrow().ok()?;
            if date.year() > last {
                return None;
            }
            if self.matches_date(date) {
                return self.time_from(date, date.at(0, 0, 0, 0));
            }
        }
    }

    /// The first matching time of that day, from `start` on.
    fn time_from(&self, date: Date, start: DateTime) -> Option<DateTime> {
        let mut hour = self.hours.from(start.hour())?;
        let (mut minute, mut second) = (0, 0);
        if hour == start.hour() {
            (minute, second) = (start.minute(), start.second());
        }
        loop {
            let Some(found) = self.minutes.from(minute) else {
                hour = self.hours.from(hour + 1)?;
                (minute, second) = (0, 0);
                continue;
            };
            if found != minute {
                second = 0;
            }
            if let Some(second) = self.seconds.from(second) {
                return Some(date.at(hour, found, second, 0));
            }
            (minute, second) = (found + 1, 0);
        }
    }

    fn matches_date(&self, date: Date) -> bool {
        self.months.has(date.month()) && self.days.has(date)
    }

    /// Whether that local time matches, whatever the clock does on that day.
    fn matches(&self, local: DateTime) -> bool {
        self.matches_date(local.date())
            && self.hours.has(local.hour())
            && self.minutes.has(local.minute())
            && self.seconds.has(local.second())
    }
}

fn add(at: Timestamp, seconds: i64) -> Option<Timestamp> {
    Timestamp::from_second(at.as_second().checked_add(seconds)?).ok()
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
