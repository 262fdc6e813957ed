//! A schedule as a sentence.

use kernel::{Param, Said, Wording};

use super::Cron;
use super::fields::Field;
use crate::said;

const WEEKDAYS: [&Wording; 7] = [
    said::SUNDAY,
    said::MONDAY,
    said::TUESDAY,
    said::WEDNESDAY,
    said::THURSDAY,
    said::FRIDAY,
    said::SATURDAY,
];
const MONTHS: [&Wording; 12] = [
    said::JANUARY,
    said::FEBRUARY,
    said::MARCH,
    said::APRIL,
    said::MAY,
    said::JUNE,
    said::JULY,
    said::AUGUST,
    said::SEPTEMBER,
    said::OCTOBER,
    said::NOVEMBER,
    said::DECEMBER,
];
const ORDINALS: [&Wording; 5] =
    [said::CRON_NTH_1, said::CRON_NTH_2, said::CRON_NTH_3, said::CRON_NTH_4, said::CRON_NTH_5];
/// More times of day than this are told as hours and minutes.
const TIMES_MAX: usize = 6;

impl Cron {
    /// Such as `At 02:30 on Monday to Friday, Europe/Paris time.`
    pub fn describe(&self) -> String {
        let mut sentence = self.said().sentence();
        if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
            sentence.replace_range(..1, &first);
        }
        sentence
    }

    /// The same for pages. It begins with a small letter.
    pub fn said(&self) -> Said {
        let (mut time, of_day) = self.time();
        let day = self.day();
        let daily = day.is_none() && (of_day || !self.months.is_all());
        if let Some(day) = day {
            time = said::CRON_ON.say().with_said("time", time).with_said("day", day);
        } else if daily {
            time = said::CRON_DAILY.say().with_said("time", time);
        }
        if !self.months.is_all() {
            let names = self.months.values().into_iter().map(|month| (month, &MONTHS, month - 1));
            time = said::CRON_IN.say().with_said("time", time).with_list("months", runs(names));
        }
        match self.zone_name.as_str() {
            "UTC" => said::CRON_UTC.say().with_said("time", time),
            zone => said::CRON_ZONE.say().with_said("time", time).with("zone", zone),
        }
    }

    /// The time of day, and whether it is one (`at 02:30`) rather than a rhythm (`every minute`).
    fn time(&self) -> (Said, bool) {
        let seconds = self.seconds.values();
        let (minutes, hours) = (self.minutes.values(), self.hours.values());
        if seconds.len() > 1 {
            let mut time = every(self.seconds, said::CRON_EVERY_SECOND, said::CRON_AT_SECOND);
            if !self.minutes.is_all() {
                time = both(time, numbers(said::CRON_OF_MINUTE, self.minutes));
            }
            return (self.of_hours(time), false);
        }
        let second = seconds.first().copied().unwrap_or(0);
        if !self.hours.is_all() && minutes.len() * hours.len() <= TIMES_MAX {
            let of_second = if second == 0 { String::new() } else { format!(":{second:02}") };
            let times = hours.iter().flat_map(|hour| {
                let of_hour =
                    minutes.iter().map(|minute| format!("{hour:02}:{minute:02}{of_second}"));
                of_hour.collect::<Vec<_>>()
            });
            return (said::CRON_AT.say().with_list("times", times), true);
        }
        if minutes.len() > 1 {
            let mut time = every(self.minutes, said::CRON_EVERY_MINUTE, said::CRON_AT_MINUTE);
            if second != 0 {
                time = both(time, numbers(said::CRON_AT_SECOND, self.seconds));
            }
            return (self.of_hours(time), false);
        }
        let time = every(self.hours, said::CRON_EVERY_HOUR, said::CRON_AT_HOUR);
        let at = match (minutes[0], second) {
            (0, 0) => return (time, false),
            (_, 0) => numbers(said::CRON_AT_MINUTE, self.minutes),
            (minute, second) => {
                said::CRON_AT_MINUTE_SECOND.say().with("minute", minute).with("second", second)
            }
        };
        (both(time, at), false)
    }

    fn of_hours(&self, time: Said) -> Said {
        if self.hours.is_all() {
            return time;
        }
        let of = match self.hours.step() {
            Some(step) => said::CRON_OF_SOME_HOURS.say().with("n", step),
            None => numbers(said::CRON_OF_HOUR, self.hours),
        };
        both(time, of)
    }

    fn day(&self) -> Option<Said> {
        let by_number = self.days.by_number().then(|| {
            let mut days = Vec::new();
            if !self.days.numbers.is_empty() {
                days.push(numbers(said::CRON_DAY, self.days.numbers));
            }
            if self.days.last {
                days.push(said::CRON_LAST_DAY.say());
            }
            said::CRON_OF_MONTH.say().with_list("days", days)
        });
        let by_weekday = self.days.by_weekday().then(|| self.weekdays());
        match (by_number, by_weekday) {
            (Some(a), Some(b)) => Some(said::CRON_OR.say().with_said("a", a).with_said("b", b)),
            (one, None) | (None, one) => one,
        }
    }

    fn weekdays(&self) -> Said {
        let plain = self.days.weekdays.values();
        let mut names = runs(plain.into_iter().map(|day| (day, &WEEKDAYS, day)));
        for (weekday, counts) in WEEKDAYS.iter().zip(self.days.nth) {
            for (ordinal, count) in ORDINALS.iter().zip(1..) {
                if counts & (1 << count) != 0 {
                    names.push(ordinal.say().with_said("day", weekday.say()).into());
                }
            }
        }
        for weekday in self.days.last_weekdays.values() {
            let day = name(&WEEKDAYS, weekday);
            names.push(said::CRON_NTH_LAST.say().with_said("day", day).into());
        }
        said::CRON_DAYS.say().with_list("list", names)
    }
}

fn both(a: Said, b: Said) -> Said {
    said::CRON_BOTH.say().with_said("a", a).with_said("b", b)
}

/// `every 5 minutes`, `every minute`, `at minutes 1 and 7`.
fn every(field: Field, rhythm: &'static Wording, at: &'static Wording) -> Said {
    if field.is_all() {
        return rhythm.say().with("n", 1);
    }
    match field.step() {
        Some(step) => rhythm.say().with("n", step),
        None => numbers(at, field),
    }
}

/// `hour 9`, `hours 9 to 17`, `minutes 1, 4 and 9`.
fn numbers(wording: &'static Wording, field: Field) -> Said {
    let values = field.values();
    let said = wording.say().with("n", values.len());
    let run = values.len() > 2 && values.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match (run, values.first(), values.last()) {
        (true, Some(first), Some(last)) => {
            let range = said::CRON_RANGE.say().with("first", *first).with("last", *last);
            said.with_said("list", range)
        }
        _ => said.with_list("list", values),
    }
}

fn name(names: &'static [&'static Wording], at: i8) -> Said {
    usize::try_from(at).ok().and_then(|at| names.get(at)).unwrap_or(&names[0]).say()
}

/// Names in order; three or more neighbours are told as a range.
fn runs<const N: usize>(
    names: impl Iterator<Item = (i8, &'static [&'static Wording; N], i8)>,
) -> Vec<Param> {
    let mut runs: Vec<Vec<(i8, Said)>> = Vec::new();
    for (at, words, index) in names {
        let entry = (at, name(words, index));
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|(before, _)| before + 1 == at) => run.push(entry),
            _ => runs.push(vec![entry]),
        }
    }
    let mut texts: Vec<Param> = Vec::new();
    for mut run in runs {
        if run.len() > 2 {
            let (last, first) = (run.swap_remove(run.len() - 1).1, run.swap_remove(0).1);
            let range = said::CRON_RANGE.say().with_said("first", first);
            texts.push(range.with_said("last", last).into());
        } else {
            texts.extend(run.into_iter().map(|(_, name)| Param::from(name)));
        }
    }
    texts
}
