//! Retention of snapshots: the last sixty, the last of each hour for a day, and the last of each
//! day for a week are kept.

use std::collections::BTreeSet;

use jiff::Timestamp;

const LAST: usize = 60;
const HOURS: i64 = 24;
const DAYS: i64 = 7;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 24 * HOUR_S;

/// The ids that are not kept; `all` is newest first.
pub(super) fn old(all: impl Iterator<Item = (i64, Timestamp)>, now: Timestamp) -> Vec<i64> {
    let now_s = now.as_second();
    let (mut hours, mut days) = (BTreeSet::new(), BTreeSet::new());
    let mut old = Vec::new();
    for (place, (id, at)) in all.enumerate() {
        let (hour, day) = (at.as_second().div_euclid(HOUR_S), at.as_second().div_euclid(DAY_S));
        let of_hour = now_s.div_euclid(HOUR_S) - hour < HOURS && hours.insert(hour);
        let of_day = now_s.div_euclid(DAY_S) - day < DAYS && days.insert(day);
        if place >= LAST && !of_hour && !of_day {
            old.push(id);
        }
    }
    old
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One a minute for ten days, forgotten as they come.
    #[test]
    fn what_is_left_of_ten_days_is_minutes_then_hours_then_days() {
        let start = 1_800_000_000 / DAY_S * DAY_S;
        let mut kept: Vec<(i64, Timestamp)> = Vec::new();
        let minutes = 10 * 24 * 60;
        for minute in 0..minutes {
            let now = Timestamp::from_second(start + minute * 60).unwrap();
            kept.insert(0, (minute, now));
            let gone: BTreeSet<_> = old(kept.iter().copied(), now).into_iter().collect();
            kept.retain(|(id, _)| !gone.contains(id));
        }
        let ids: Vec<_> = kept.iter().map(|(id, _)| *id).collect();
        assert!(ids[..60].iter().copied().eq((minutes - 60..minutes).rev()), "the last sixty");
        let hours: Vec<_> = ids[60..].iter().map(|id| (minutes - 1 - id) / 60).collect();
        // 23 full hours before this one, then the last of each of the six days before this.
        assert_eq!(hours.len(), 23 + 6);
        assert!(hours[..23].iter().copied().eq(1..24), "{hours:?}");
        assert!(hours[23..].iter().copied().eq((1..7).map(|day| day * 24)), "{hours:?}");
    }

    #[test]
    fn few_are_all_kept_however_old() {
        let long_ago = Timestamp::from_second(1_000).unwrap();
        let all = (0..60).rev().map(|id| (id, long_ago));
        assert_eq!(old(all, Timestamp::from_second(1_800_000_000).unwrap()), [0_i64; 0]);
    }
}
