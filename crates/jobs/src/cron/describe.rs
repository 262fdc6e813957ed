//! A schedule as an English sentence.

use std::fmt::Write as _;

use super::Cron;
use super::fields::Field;

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ORDINALS: [&str; 6] = ["", "first", "second", "third", "fourth", "fifth"];
/// More times of day than this are told as hours and minutes.
const TIMES_MAX: usize = 6;

impl Cron {
    /// Such as `At 02:30 on Monday to Friday, Europe/Paris time.`
    pub fn describe(&self) -> String {
        let (time, of_day) = self.time();
        let day = self.day();
        let mut text = time;
        if let Some(day) = &day {
            let _ = write!(text, " on {day}");
        } else if of_day && self.months.is_all() {
            text += " every day";
        }
        if !self.months.is_all() {
            let names = self.months.values().into_iter().map(|month| name(&MONTHS, month - 1));
            let every = if day.is_none() { " every day" } else { "" };
            let _ = write!(text, "{every} in {}", runs(names));
        }
        let zone =
            if self.zone_name == "UTC" { "UTC" } else { &format!("{} time", self.zone_name) };
        let mut sentence = format!("{text}, {zone}.");
        if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
            sentence.replace_range(..1, &first);
        }
        sentence
    }

    /// The time of day, and whether it is one (`at 02:30`) rather than a rhythm (`every minute`).
    fn time(&self) -> (String, bool) {
        let seconds = self.seconds.values();
        let (minutes, hours) = (self.minutes.values(), self.hours.values());
        if seconds.len() > 1 {
            let every = every(self.seconds, "second");
            let minute = if self.minutes.is_all() {
                String::new()
            } else {
                format!(" of {}", numbers("minute", self.minutes))
            };
            return (format!("{every}{minute}{}", self.of_hours()), false);
        }
        let second = match seconds.first() {
            None | Some(0) => String::new(),
            Some(second) => format!(":{second:02}"),
        };
        if !self.hours.is_all() && minutes.len() * hours.len() <= TIMES_MAX {
            let times = hours.iter().flat_map(|hour| {
                minutes
                    .iter()
                    .map(|minute| format!("{hour:02}:{minute:02}{second}"))
                    .collect::<Vec<_>>()
            });
            return (format!("at {}", and(times.collect())), true);
        }
        let at_second =
            if second.is_empty() { String::new() } else { format!(" at second {}", seconds[0]) };
        if minutes.len() > 1 {
            return (
                format!("{}{at_second}{}", every(self.minutes, "minute"), self.of_hours()),
                false,
            );
        }
        let at = match (minutes[0], second.is_empty()) {
            (0, true) => String::new(),
            (minute, true) => format!(" at minute {minute}"),
            (minute, false) => format!(" at minute {minute} and second {}", seconds[0]),
        };
        (format!("{}{at}", every(self.hours, "hour")), false)
    }

    fn of_hours(&self) -> String {
        if self.hours.is_all() {
            return String::new();
        }
        match self.hours.step() {
            Some(step) => format!(" of every {} hour", ordinal(step)),
            None => format!(" of {}", numbers("hour", self.hours)),
        }
    }

    fn day(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.days.by_number() {
            let mut numbers = Vec::new();
            if !self.days.numbers.is_empty() {
                numbers.push(self::numbers("day", self.days.numbers));
            }
            if self.days.last {
                numbers.push("the last day".to_owned());
            }
            parts.push(format!("{} of the month", and(numbers)));
        }
        if self.days.by_weekday() {
            let mut names = Vec::new();
            let plain = self.days.weekdays.values();
            if !plain.is_empty() {
                names.push(runs(plain.into_iter().map(|day| name(&WEEKDAYS, day))));
            }
            for (weekday, counts) in WEEKDAYS.iter().zip(self.days.nth) {
                for (count, ordinal) in ORDINALS.iter().enumerate().skip(1) {
                    if counts & (1 << count) != 0 {
                        names.push(format!("the {ordinal} {weekday} of the month"));
                    }
                }
            }
            for weekday in self.days.last_weekdays.values() {
                names.push(format!("the last {} of the month", name(&WEEKDAYS, weekday).1));
            }
            parts.push(and(names));
        }
        (!parts.is_empty()).then(|| parts.join(" or on "))
    }
}

/// `every 5 minutes`, `every minute`, `at minutes 1 and 7`.
fn every(field: Field, unit: &str) -> String {
    if field.is_all() {
        return format!("every {unit}");
    }
    match field.step() {
        Some(step) => format!("every {step} {unit}s"),
        None => format!("at {}", numbers(unit, field)),
    }
}

/// `hour 9`, `hours 9 to 17`, `minutes 1, 4 and 9`.
fn numbers(unit: &str, field: Field) -> String {
    let values = field.values();
    let plural = if values.len() > 1 { "s" } else { "" };
    let run = values.len() > 2 && values.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let list = match (run, values.first(), values.last()) {
        (true, Some(first), Some(last)) => format!("{first} to {last}"),
        _ => and(values.iter().map(ToString::to_string).collect()),
    };
    format!("{unit}{plural} {list}")
}

fn name(names: &'static [&'static str], at: i8) -> (i8, &'static str) {
    (at, usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or_default())
}

/// Names in order; three or more neighbours are told as a range.
fn runs(names: impl Iterator<Item = (i8, &'static str)>) -> String {
    let mut runs: Vec<Vec<(i8, &str)>> = Vec::new();
    for entry in names {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|(at, _)| at + 1 == entry.0) => run.push(entry),
            _ => runs.push(vec![entry]),
        }
    }
    let mut texts = Vec::new();
    for run in runs {
        if run.len() > 2 {
            texts.push(format!("{} to {}", run[0].1, run[run.len() - 1].1));
        } else {
            texts.extend(run.iter().map(|(_, name)| (*name).to_owned()));
        }
    }
    and(texts)
}

fn ordinal(number: i8) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

fn and(mut items: Vec<String>) -> String {
    match items.pop() {
        None => String::new(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
    }
}
