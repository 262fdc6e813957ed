//! Sentences about the state of things, as code and parameters. A page words them in its reader's language; the English
//! wording here is for the command line, for logs and for programs. Each crate declares its sentences once, by
//! [`wordings!`](crate::wordings), and the server writes the pages' English catalogue from the tables.
//!
//! Parameters: `n` chooses between one and many, a name that ends in `_ms` is a span of time and in `_at` an instant in Unix milliseconds, a
//! parameter may be a sentence itself or a list. `ns` names a job namespace and fills `{in}`.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::Value;

/// One sentence of a table: for one, and for many where that differs.
#[derive(Debug, PartialEq, Eq)]
pub struct Wording {
    /// Such as `jobs.dead`; the pages' catalogues know it as `said.jobs.dead`.
    pub code: &'static str,
    /// The words when `n` is one.
    pub one: &'static str,
    /// The words otherwise.
    pub many: &'static str,
}

/// Declares the sentences of a crate: a constant for each, and `WORDINGS` of all. The second text, for many, may be left out.
/// `pub:` in front lets other crates say them.
///
/// ```
/// mod said {
///     worldkeep_kernel::wordings! {
///         BEHIND = "jobs.why.behind", "one job is in front of it", "{n} jobs are in front of it";
///         FULL = "store.full", "the disk is full";
///     }
/// }
/// assert_eq!(said::BEHIND.say().with("n", 3).sentence(), "3 jobs are in front of it");
/// assert_eq!(said::WORDINGS.len(), 2);
/// # let _ = said::FULL;
/// ```
#[macro_export]
macro_rules! wordings {
    (@last $one:literal) => { $one };
    (@last $one:literal $many:literal) => { $many };
    (@table $vis:vis, $($name:ident = $code:literal, $one:literal $(, $many:literal)?;)*) => {
        $(#[doc = $one]
        #[allow(clippy::doc_markdown)] // A sentence for users.
        $vis const $name: &$crate::Wording = &$crate::Wording {
            code: $code,
            one: $one,
            many: $crate::wordings!(@last $one $($many)?),
        };)*
        /// The sentences of this crate.
        pub const WORDINGS: &[&$crate::Wording] = &[$($name),*];
    };
    (pub: $($table:tt)*) => { $crate::wordings! { @table pub, $($table)* } };
    ($($table:tt)*) => { $crate::wordings! { @table pub(crate), $($table)* } };
}

impl Wording {
    /// The sentence, without parameters yet.
    pub fn say(&'static self) -> Said {
        Said { wording: self, params: BTreeMap::new() }
    }
}

/// A value in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Param {
    /// A text or a number.
    Plain(Value),
    /// Words that each language has its own of.
    Said(Said),
    /// Several of them: `a, b and c`.
    List(Vec<Param>),
}

impl From<Said> for Param {
    fn from(said: Said) -> Self {
        Param::Said(said)
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Param::Plain(text.into())
    }
}

impl From<i8> for Param {
    fn from(number: i8) -> Self {
        Param::Plain(number.into())
    }
}

/// A sentence with its parameters. It serializes as `{"code","params"}`.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    wording: &'static Wording,
    params: BTreeMap<&'static str, Param>,
}

impl Serialize for Said {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut said = to.serialize_struct("Said", 2)?;
        said.serialize_field("code", self.wording.code)?;
        said.serialize_field("params", &self.params)?;
        said.end()
    }
}

impl Said {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.wording.code
    }

    /// With a text or a number.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.params.insert(name, Param::Plain(value.into()));
        self
    }

    /// With words of its own.
    pub fn with_said(mut self, name: &'static str, said: Said) -> Self {
        self.params.insert(name, Param::Said(said));
        self
    }

    /// With a list.
    pub fn with_list(
        mut self,
        name: &'static str,
        items: impl IntoIterator<Item = impl Into<Param>>,
    ) -> Self {
        self.params.insert(name, Param::List(items.into_iter().map(Into::into).collect()));
        self
    }

    /// With a number that a person reads: one digit after the point.
    pub fn tenths(self, name: &'static str, value: f64) -> Self {
        self.with(name, (value * 10.0).round() / 10.0)
    }

    /// In English.
    pub fn sentence(&self) -> String {
        let Wording { one, many, .. } = self.wording;
        let n = match self.params.get("n") {
            Some(Param::Plain(n)) => n.as_u64(),
            _ => None,
        };
        let mut text = (if n == Some(1) { *one } else { *many }).to_owned();
        let place = match self.params.get("ns") {
            Some(Param::Plain(Value::String(ns))) => format!(" in {ns}"),
            _ => String::new(),
        };
        text = text.replace("{in}", &place);
        for (name, value) in &self.params {
            text = text.replace(&format!("{{{name}}}"), &shown(name, value));
        }
        text
    }
}

fn shown(name: &str, value: &Param) -> String {
    match value {
        Param::Said(said) => said.sentence(),
        Param::List(items) => and(items.iter().map(|item| shown(name, item)).collect()),
        Param::Plain(Value::String(text)) => text.clone(),
        Param::Plain(Value::Number(ms)) if name.ends_with("_ms") => {
            span(ms.as_i64().unwrap_or(i64::MAX))
        }
        Param::Plain(Value::Number(ms)) if name.ends_with("_at") => {
            instant(ms.as_i64().unwrap_or_default())
        }
        Param::Plain(Value::Number(number)) if number.is_f64() => {
            format!("{:.1}", number.as_f64().unwrap_or_default())
        }
        Param::Plain(other) => other.to_string(),
    }
}

/// `a, b and c`.
fn and(mut items: Vec<String>) -> String {
    match items.pop() {
        None => String::new(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
    }
}

/// Milliseconds for people: `90 s`, `5 min`, `3 h`.
pub fn span(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{} ms", ms.max(0)),
        1_000..120_000 => format!("{} s", ms / 1000),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

/// Unix milliseconds for people: `2026-11-18 14:30:05 UTC`.
pub fn instant(ms: i64) -> String {
    let (days, seconds) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000) / 1000);
    // Days since the first of March of the year 0, in eras of 400 years (Howard Hinnant's `civil_from_days`).
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unreachable_pub)] // The table of a module that nobody sees.
    mod words {
        crate::wordings! {
        DEAD = "jobs.dead", "One job{in} is a dead letter.", "{n} jobs{in} are dead letters.";
        OLD = "jobs.old", "The head waits for {age_ms}.";
        DAYS = "cron.days", "on {days}";
        MONDAY = "cron.monday", "Monday";
        }
    }
    use words::{DAYS, DEAD, MONDAY, OLD, WORDINGS};

    #[test]
    fn one_and_many_and_a_place_are_worded() {
        let dead = |n: u64| DEAD.say().with("n", n);
        assert_eq!(dead(1).sentence(), "One job is a dead letter.");
        assert_eq!(dead(3).with("ns", "bridge").sentence(), "3 jobs in bridge are dead letters.");
        assert_eq!(OLD.say().with("age_ms", 90_000).sentence(), "The head waits for 90 s.");
        assert_eq!(WORDINGS.len(), 4);
    }

    #[test]
    fn an_instant_is_a_date() {
        assert_eq!(instant(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(instant(951_868_799_999), "2000-02-29 23:59:59 UTC");
        assert_eq!(instant(1_795_012_205_000), "2026-11-18 14:30:05 UTC");
    }

    #[test]
    fn a_parameter_may_be_a_list_of_sentences() {
        let days = DAYS.say().with_list("days", [MONDAY.say(), MONDAY.say()]);
        assert_eq!(days.sentence(), "on Monday and Monday");
        let json = serde_json::to_value(&days).expect("plain");
        assert_eq!(json["params"]["days"][0]["code"], "cron.monday");
    }
}
