//! From text to fields. The parser is stricter than most: an expression that would never fire or
//! looks like a slip is refused with a sentence that names the field.

use super::fields::{Days, Field};

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
/// Nobody writes a longer one, and an error shows it whole.
const LENGTH_MAX: usize = 500;

pub(super) struct Parsed {
    pub(super) seconds: Field,
    pub(super) minutes: Field,
    pub(super) hours: Field,
    pub(super) months: Field,
    pub(super) days: Days,
}

/// One field's rules.
struct Rule {
    name: &'static str,
    low: i8,
    high: i8,
    /// Names in place of numbers, the first one is `low`.
    names: &'static [&'static str],
    /// The largest step: how many values there are.
    step_max: i8,
}

const SECOND: Rule = Rule { name: "second", low: 0, high: 59, names: &[], step_max: 60 };
const MINUTE: Rule = Rule { name: "minute", low: 0, high: 59, names: &[], step_max: 60 };
const HOUR: Rule = Rule { name: "hour", low: 0, high: 23, names: &[], step_max: 24 };
const DAY: Rule = Rule { name: "day", low: 1, high: 31, names: &[], step_max: 31 };
const MONTH: Rule = Rule { name: "month", low: 1, high: 12, names: &MONTHS, step_max: 12 };
const WEEKDAY: Rule = Rule { name: "weekday", low: 0, high: 7, names: &WEEKDAYS, step_max: 7 };

pub(super) fn fields(expression: &str) -> Result<Parsed, String> {
    if expression.len() > LENGTH_MAX {
        return Err(format!("a cron expression has at most {LENGTH_MAX} characters"));
    }
    let expression = expression.trim();
    if expression.starts_with('@') {
        let known = MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(expression));
        let (_, meaning) = known.ok_or_else(|| {
            let all: Vec<&str> = MACROS.iter().map(|(name, _)| *name).collect();
            format!("there is no {expression}, use one of {}", all.join(" "))
        })?;
        return fields(meaning);
    }
    let words: Vec<&str> = expression.split_whitespace().collect();
    let (second, rest) = match words.len() {
        5 => ("0", &words[..]),
        6 => (words[0], &words[1..]),
        0 => return Err("a cron expression is empty, write five fields".to_owned()),
        count => {
            return Err(format!(
                "a cron expression has five fields, or six with seconds, not {count}: {expression:?}"
            ));
        }
    };
    let (numbers, last) = days(rest[2])?;
    let (weekdays, last_weekdays, nth) = weekdays(rest[4])?;
    Ok(Parsed {
        seconds: plain(second, &SECOND)?,
        minutes: plain(rest[0], &MINUTE)?,
        hours: plain(rest[1], &HOUR)?,
        months: plain(rest[3], &MONTH)?,
        days: Days { numbers, last, weekdays, last_weekdays, nth },
    })
}

fn plain(text: &str, rule: &Rule) -> Result<Field, String> {
    let mut field = Field::none(rule.low, rule.high);
    for item in text.split(',') {
        add(&mut field, item, rule)?;
    }
    Ok(field)
}

fn days(text: &str) -> Result<(Field, bool), String> {
    let mut field = Field::none(DAY.low, DAY.high);
    let mut last = false;
    for item in text.split(',') {
        if item.eq_ignore_ascii_case("L") {
            last = true;
        } else {
            add(&mut field, item, &DAY)?;
        }
    }
    Ok((field, last))
}

fn weekdays(text: &str) -> Result<(Field, Field, [u8; 7]), String> {
    let mut wide = Field::none(WEEKDAY.low, WEEKDAY.high);
    let mut last = Field::none(0, 6);
    let mut nth = [0; 7];
    for item in text.split(',') {
        if let Some((weekday, count)) = item.split_once('#') {
            let weekday = usize::try_from(value(weekday, &WEEKDAY)? % 7).unwrap_or_default();
            let count = count.parse::<u8>().ok().filter(|count| (1..=5).contains(count));
            let count =
                count.ok_or_else(|| wrong(&WEEKDAY, item, "after # comes a number from 1 to 5"))?;
            nth[weekday] |= 1 << count;
        } else if let Some(weekday) = item.strip_suffix(['L', 'l']).filter(|day| !day.is_empty()) {
            last.add(value(weekday, &WEEKDAY)? % 7);
        } else {
            add(&mut wide, item, &WEEKDAY)?;
        }
    }
    let mut field = Field::none(0, 6);
    wide.values().into_iter().for_each(|weekday| field.add(weekday % 7));
    Ok((field, last, nth))
}

/// `*`, `5`, `1-5`, each with a step or without.
fn add(field: &mut Field, item: &str, rule: &Rule) -> Result<(), String> {
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(number(step, item, rule)?)),
        None => (item, None),
    };
    if let Some(step) = step
        && !(1..=i64::from(rule.step_max)).contains(&step)
    {
        return Err(wrong(rule, item, &format!("a step is 1 to {}", rule.step_max)));
    }
    let (from, to) = match range.split_once('-') {
        _ if range == "*" || range == "?" => (rule.low, rule.high),
        Some((from, to)) => (value(from, rule)?, value(to, rule)?),
        // `5/10`: from 5 on.
        None if step.is_some() => (value(range, rule)?, rule.high),
        None => (value(range, rule)?, value(range, rule)?),
    };
    if from > to {
        let hint = if rule.names.len() == 7 { ", and Sunday at its end is 7" } else { "" };
        return Err(wrong(rule, item, &format!("a range goes from low to high{hint}")));
    }
    let step = usize::try_from(step.unwrap_or(1)).unwrap_or(1);
    (from..=to).step_by(step).for_each(|value| field.add(value));
    Ok(())
}

fn value(text: &str, rule: &Rule) -> Result<i8, String> {
    if let Some(at) = rule.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(rule.low + i8::try_from(at).unwrap_or_default());
    }
    let number = number(text, text, rule)?;
    i8::try_from(number)
        .ok()
        .filter(|value| (rule.low..=rule.high).contains(value))
        .ok_or_else(|| wrong(rule, text, &format!("it is {} to {}", rule.low, rule.high)))
}

fn number(text: &str, item: &str, rule: &Rule) -> Result<i64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let read = digits.then(|| text.parse().ok()).flatten();
    read.ok_or_else(|| wrong(rule, item, "use numbers, *, lists, ranges and steps"))
}

fn wrong(rule: &Rule, item: &str, why: &str) -> String {
    format!("the {} field has {item:?}: {why}", rule.name)
}
