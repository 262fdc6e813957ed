//! Cron against tables, a naive walker over every minute, and what Python's zoneinfo says of ten years.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::*;

use super::*;

fn cron(expression: &str, zone: &str) -> Cron {
    Cron::parse(expression, Some(zone))
        .unwrap_or_else(|error| panic!("{expression} {zone}: {error}"))
}

fn ms(utc: &str) -> u64 {
    let at: Timestamp = utc.parse().unwrap();
    u64::try_from(at.as_millisecond()).unwrap()
}

/// Local times and marks of the next firings.
fn local(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let firings = cron(expression, zone).next_n(ms(after), count);
    let mark = |firing: &Firing| match &firing.clock {
        None => String::new(),
        Some(ClockMark::Moved { from }) => format!(" moved from {from}"),
        Some(ClockMark::FirstOfTwo) => " first".to_owned(),
        Some(ClockMark::SecondOfTwo) => " second".to_owned(),
        Some(ClockMark::Changed) => " changed".to_owned(),
    };
    firings.iter().map(|firing| format!("{}{}", firing.local, mark(firing))).collect()
}

#[test]
fn plain_schedules_fire_when_they_say() {
    for (expression, after, next) in [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        ("* * * * *", "2026-01-01T00:00:59.999Z", "2026-01-01T00:01:00Z"),
        ("*/15 * * * *", "2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"),
        ("*/10 * * * * *", "2026-01-01T00:00:50Z", "2026-01-01T00:01:00Z"),
        ("5/20 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"),
        ("5/20 * * * *", "2026-01-01T00:46:00Z", "2026-01-01T01:05:00Z"),
        ("  0   9-17/4  *  *  mon-FRI ", "2026-01-02T14:00:00Z", "2026-01-02T17:00:00Z"),
        ("0 9-17/4 * * mon-FRI", "2026-01-02T17:00:00Z", "2026-01-05T09:00:00Z"),
        ("0 0 ? * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("0 0 * * 0", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("0 0 L * *", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"),
        ("0 0 * * 5L", "2026-01-01T00:00:00Z", "2026-01-30T00:00:00Z"),
        ("0 0 * * FRIL", "2026-01-01T00:00:00Z", "2026-01-30T00:00:00Z"),
        ("0 0 * * 1#2", "2026-01-01T00:00:00Z", "2026-01-12T00:00:00Z"),
        ("0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("0 0 13 * 5", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 29 FEB *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
        ("0 0 * 2 1#5", "2026-01-01T00:00:00Z", "2044-02-29T00:00:00Z"),
        ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("@annually", "2026-05-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("@monthly", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("@daily", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("@midnight", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("@hourly", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"),
        ("0 0 * * */7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("0 0 * * 3/2", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"),
    ] {
        let cron = Cron::parse(expression, None).unwrap_or_else(|e| panic!("{expression}: {e}"));
        assert_eq!(cron.next_after(ms(after)), Some(ms(next)), "{expression} after {after}");
        assert!(cron.is_occurrence(ms(next)) && !cron.is_occurrence(ms(next) + 1), "{expression}");
    }
}

#[test]
fn what_cannot_fire_or_looks_like_a_slip_is_refused() {
    for (expression, part) in [
        ("", "empty"),
        ("   ", "empty"),
        ("* * * *", "not 4"),
        ("* * * * * * *", "not 7"),
        ("*/61 * * * *", "a step is 1 to 60"),
        ("*/0 * * * *", "a step is 1 to 60"),
        ("* */25 * * *", "the hour field"),
        ("60 * * * *", "it is 0 to 59"),
        ("* 24 * * *", "it is 0 to 23"),
        ("* * 0 * *", "it is 1 to 31"),
        ("* * 32 * *", "it is 1 to 31"),
        ("* * * 13 *", "it is 1 to 12"),
        ("* * * * 8", "it is 0 to 7"),
        ("* * * * L", "the weekday field"),
        ("* * * * 1#6", "1 to 5"),
        ("* * * * 1#", "1 to 5"),
        ("* * * * MO", "the weekday field"),
        ("5-1 * * * *", "from low to high"),
        ("* * * * SAT-SUN", "Sunday at its end is 7"),
        ("1,,2 * * * *", "the minute field"),
        ("1- * * * *", "the minute field"),
        ("-1 * * * *", "the minute field"),
        ("1.5 * * * *", "the minute field"),
        ("99999999999999999999 * * * *", "the minute field"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("@reboot", "there is no @reboot"),
        ("\u{0}", "not 1"),
    ] {
        let error = Cron::parse(expression, None).expect_err(expression).to_string();
        assert!(error.contains(part), "{expression:?}: {error}");
    }
    assert!(Cron::parse(&"1,".repeat(1000), None).is_err());
    for zone in ["", "Mars/Olympus", "Europe/Paris ", "../etc/passwd"] {
        let error = Cron::parse("* * * * *", Some(zone)).expect_err(zone);
        assert!(matches!(error, CronError::Timezone(_)), "{zone:?}: {error}");
    }
}

#[test]
fn a_skipped_time_fires_once_an_hour_later_and_a_repeated_one_at_its_first() {
    assert_eq!(
        local("30 2 * * *", "Europe/Paris", "2026-03-28T00:00:00Z", 3),
        [
            "2026-03-28T02:30:00+01:00",
            "2026-03-29T03:30:00+02:00 moved from 2026-03-29T02:30:00",
            "2026-03-30T02:30:00+02:00",
        ]
    );
    assert_eq!(
        local("30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T02:30:00+02:00 first", "2026-10-26T02:30:00+01:00 changed"]
    );
    // Two local times of one instant fire once.
    assert_eq!(
        local("30 2,3 * * *", "Europe/Paris", "2026-03-28T22:00:00Z", 2),
        ["2026-03-29T03:30:00+02:00 changed", "2026-03-30T02:30:00+02:00"]
    );
}

#[test]
fn an_hourly_schedule_runs_each_real_hour() {
    assert_eq!(
        local("0 * * * *", "Europe/Paris", "2026-03-29T00:00:00Z", 2),
        ["2026-03-29T03:00:00+02:00 changed", "2026-03-29T04:00:00+02:00"]
    );
    assert_eq!(
        local("0 * * * *", "Europe/Paris", "2026-10-24T23:30:00Z", 4),
        [
            "2026-10-25T02:00:00+02:00 first",
            "2026-10-25T02:00:00+01:00 second",
            "2026-10-25T03:00:00+01:00",
            "2026-10-25T04:00:00+01:00",
        ]
    );
}

#[test]
fn a_gap_at_midnight_neither_skips_nor_doubles_the_day() {
    assert_eq!(
        local("0 0 * * *", "America/Santiago", "2026-09-05T05:00:00Z", 2),
        ["2026-09-06T01:00:00-03:00 moved from 2026-09-06T00:00:00", "2026-09-07T00:00:00-03:00",]
    );
    assert_eq!(
        local("@daily", "Africa/Cairo", "2014-05-14T22:30:00Z", 2),
        ["2014-05-16T01:00:00+03:00 moved from 2014-05-16T00:00:00", "2014-05-17T00:00:00+03:00"]
    );
    assert_eq!(
        local("30 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", 2),
        ["2026-03-08T01:30:00-04:00 moved from 2026-03-08T00:30:00", "2026-03-09T00:30:00-04:00"]
    );
}

#[test]
fn a_shift_of_half_an_hour_keeps_the_order_of_instants() {
    // 02:00 to 02:30 does not exist: 02:15 fires at 02:45, after 02:40.
    assert_eq!(
        local("15,40 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", 3),
        [
            "2026-10-04T02:40:00+11:00 changed",
            "2026-10-04T02:45:00+11:00 moved from 2026-10-04T02:15:00",
            "2026-10-05T02:15:00+11:00",
        ]
    );
    assert_eq!(
        local("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", 2),
        ["2026-04-05T01:45:00+11:00 first", "2026-04-06T01:45:00+10:30 changed"]
    );
}

#[test]
fn a_day_that_does_not_exist_fires_with_the_next_one() {
    assert_eq!(
        local("0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", 2),
        ["2011-12-31T12:00:00+14:00 changed", "2012-01-01T12:00:00+14:00"]
    );
    assert_eq!(
        local("0 12 30 * *", "Pacific/Apia", "2011-12-01T00:00:00Z", 2),
        ["2011-12-31T12:00:00+14:00 moved from 2011-12-30T12:00:00", "2012-01-30T12:00:00+14:00"]
    );
}

#[test]
fn every_schedule_is_told_in_words() {
    for (expression, zone, sentence) in [
        ("* * * * *", "UTC", "Every minute, UTC."),
        ("*/5 * * * *", "UTC", "Every 5 minutes, UTC."),
        ("*/10 * * * * *", "UTC", "Every 10 seconds, UTC."),
        ("0 * * * *", "UTC", "Every hour, UTC."),
        ("15 * * * *", "UTC", "Every hour at minute 15, UTC."),
        ("15,45 * * * *", "UTC", "At minutes 15 and 45, UTC."),
        ("0 */2 * * *", "UTC", "Every 2 hours, UTC."),
        ("30 2 * * *", "Europe/Paris", "At 02:30 every day, Europe/Paris time."),
        ("0 9,17 * * 1-5", "UTC", "At 09:00 and 17:00 on Monday to Friday, UTC."),
        ("*/5 9-17 * * *", "UTC", "Every 5 minutes of hours 9 to 17, UTC."),
        ("0 0 1,15 * *", "UTC", "At 00:00 on days 1 and 15 of the month, UTC."),
        ("0 0 L * *", "UTC", "At 00:00 on the last day of the month, UTC."),
        ("0 0 * * 1#2", "UTC", "At 00:00 on the second Monday of the month, UTC."),
        ("0 0 * * 5L", "UTC", "At 00:00 on the last Friday of the month, UTC."),
        ("0 0 13 * 5", "UTC", "At 00:00 on day 13 of the month or on Friday, UTC."),
        ("0 6 * 6-8 *", "UTC", "At 06:00 every day in June to August, UTC."),
        ("5 30 2 * * *", "UTC", "At 02:30:05 every day, UTC."),
        ("@yearly", "UTC", "At 00:00 on day 1 of the month in January, UTC."),
    ] {
        assert_eq!(cron(expression, zone).describe(), sentence, "{expression}");
    }
}

#[test]
fn the_end_of_the_calendar_is_no_hang() {
    let far = cron("0 0 1 1 *", "Europe/Paris");
    assert_eq!(far.next_after(u64::MAX), None);
    assert_eq!(far.next_after(253_402_207_100_000), None);
    assert_eq!(far.next_n(u64::MAX, 5), []);
}

/// Every firing between two instants, by looking at every minute: no cleverness at all.
fn walk(cron: &Cron, zone: &TimeZone, from: Timestamp, to: Timestamp) -> Vec<u64> {
    let mut found = std::collections::BTreeSet::new();
    if cron.hours.is_all() {
        let mut at = from;
        while at < to {
            if cron.matches(zone.to_datetime(at)) {
                found.insert(at);
            }
            at += 1.minute();
        }
    } else {
        let mut local: DateTime =
            zone.to_datetime(from - 49.hours()).round(jiff::Unit::Hour).unwrap();
        let end = zone.to_datetime(to + 49.hours());
        while local < end {
            if cron.matches(local) {
                // Python's fold=0 and Java's "earlier": before the gap, first of two.
                let at = match zone.to_ambiguous_timestamp(local).offset() {
                    AmbiguousOffset::Unambiguous { offset: before }
                    | AmbiguousOffset::Gap { before, .. }
                    | AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).unwrap(),
                };
                found.insert(at);
            }
            local = local.checked_add(1.minute()).unwrap();
        }
    }
    let inside = found.into_iter().filter(|at| *at >= from && *at < to);
    inside.map(|at| u64::try_from(at.as_millisecond()).unwrap()).collect()
}

/// Clock changes of every kind, one instant near each.
const NEAR: &[(&str, &str)] = &[
    ("Europe/Paris", "2026-03-29T01:00:00Z"),
    ("Europe/Paris", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("America/Santiago", "2026-09-06T04:00:00Z"),
    ("America/Santiago", "2026-04-05T03:00:00Z"),
    ("America/Havana", "2026-03-08T05:00:00Z"),
    ("America/Havana", "2026-11-01T05:00:00Z"),
    ("Africa/Cairo", "2014-05-15T22:00:00Z"),
    ("Africa/Cairo", "2014-09-25T21:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Africa/Casablanca", "2026-02-15T02:00:00Z"),
    ("Africa/Casablanca", "2026-03-22T02:00:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
    ("Asia/Pyongyang", "2018-05-04T15:00:00Z"),
];

fn field(low: u8, high: u8) -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("*".to_owned()),
        3 => (low..=high).prop_map(|one| one.to_string()),
        1 => (low..=high, low..=high).prop_map(|(a, b)| format!("{},{}", a.min(b), a.max(b))),
        1 => (low..=high, low..=high).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (2..=(high - low)).prop_map(|step| format!("*/{step}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn firings_are_those_of_a_naive_walk(
        near in 0..NEAR.len(), hours in -40i64..40,
        minute in field(0, 59), hour in field(0, 23), day in field(1, 31), weekday in field(0, 7),
    ) {
        let (name, change) = NEAR[near];
        let expression = format!("{minute} {hour} {day} * {weekday}");
        let cron = cron(&expression, name);
        let change: Timestamp = change.parse().unwrap();
        let (from, to) = (change + hours.hours() - 30.hours(), change + hours.hours() + 60.hours());
        let wanted = walk(&cron, &cron.zone, from, to);
        let mut got = Vec::new();
        let mut at = u64::try_from(from.as_millisecond()).unwrap() - 1;
        while let Some(next) = cron.next_after(at).filter(|next| *next < ms(&to.to_string())) {
            prop_assert!(next > at);
            got.push(next);
            at = next;
        }
        prop_assert_eq!(got, wanted, "{} in {}", expression, name);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[0-9A-Za-z*/,#?@ L-]{0,40}", any in ".{0,20}") {
        let _ = Cron::parse(&text, None).map(|cron| (cron.describe(), cron.next_n(0, 3)));
        let _ = Cron::parse(&any, Some(&text));
    }
}

/// `tests/data/cron.tsv`: zone, expression, then count and FNV-1a hash of the instants of 2011 and of
/// 2010 to 2019, computed with Python's zoneinfo by enumerating local times with `fold=0`.
#[test]
fn ten_years_in_forty_zones_are_those_of_zoneinfo() {
    let long = std::env::var_os("WORLDKEEP_TORTURE").is_some();
    let table = include_str!("../../tests/data/cron.tsv");
    let (from, to) = if long { ("2010", "2020") } else { ("2011", "2012") };
    let (from, to) = (ms(&format!("{from}-01-01T00:00:00Z")), ms(&format!("{to}-01-01T00:00:00Z")));
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('\t').collect();
        let (count, hash) = if long { (parts[4], parts[5]) } else { (parts[2], parts[3]) };
        let cron = cron(parts[1], parts[0]);
        let (mut seen, mut fnv) = (0u64, 0xcbf2_9ce4_8422_2325u64);
        let mut at = from - 1;
        while let Some(next) = cron.next_after(at).filter(|next| *next < to) {
            assert!(next > at, "{line}");
            for byte in (next / 1000).to_le_bytes() {
                fnv = (fnv ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
            seen += 1;
            at = next;
        }
        assert_eq!(
            (seen.to_string().as_str(), format!("{fnv:016x}").as_str()),
            (count, hash),
            "{line}"
        );
        rows += 1;
    }
    assert_eq!(rows, 800, "forty zones by twenty expressions");
}
