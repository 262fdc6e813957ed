//! The settings of Redis 7.0.15: names, kinds and values at start are data in `settings.tsv`. A
//! value is checked and brought to the form in which `CONFIG GET` shows it; `config.rs` acts on it.
//! A setting that the engine does not act on keeps its value: `CONFIG SET` refuses another one and
//! says why.

use std::sync::LazyLock;

use crate::core::notify;
use crate::data::num;
use crate::doors::resp::split_words;

/// The values that a setting takes.
#[derive(Debug)]
pub(crate) enum Kind {
    Bool,
    Text,
    Int(i128, i128),
    Memory(i128, i128),
    /// Bytes, or a percentage kept as a negative number.
    Percent(i128, i128),
    Octal(i128, i128),
    Words(Vec<&'static str>),
    /// Checked by its name.
    Special,
}

/// The effect of `CONFIG SET` on a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The engine acts on it.
    Obeyed,
    /// It is taken, because programs set it and nothing here depends on it.
    Idle,
    /// It keeps its value, for this reason.
    Refused(&'static str),
}

/// Why settings keep their value, by the word in the table.
const REASONS: &[(&str, &str)] = &[
    ("cluster", "this engine is no node of a Cluster"),
    ("door", "the program around the engine opens its doors"),
    ("log", "the log is written and read in one way only"),
    ("memory", "this engine leaves memory to the allocator and evicts keys only"),
    ("process", "this belongs to the program around the engine"),
    ("replication", "this engine has no replicas and is none"),
    ("snapshots", "this engine writes no snapshots, its log has every change"),
    ("tls", "this engine speaks no TLS"),
    ("work", "this engine does it in one way only"),
];

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) alias: Option<&'static str>,
    pub(crate) kind: Kind,
    /// Cannot be changed while running.
    pub(crate) fixed: bool,
    /// Changing it is forbidden by default.
    pub(crate) protected: bool,
    /// Not shown for a pattern.
    pub(crate) hidden: bool,
    /// Never shown in the slow log or to monitors.
    pub(crate) secret: bool,
    pub(crate) effect: Effect,
    pub(crate) default: &'static str,
}

/// All settings, sorted by name.
pub(crate) static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let lines = include_str!("settings.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(parse).collect()
});

fn parse(line: &'static str) -> Setting {
    let mut parts = line.split('\t');
    let mut next = || parts.next().expect("a line of settings.tsv has six fields");
    let (name, alias, kind, flags) = (next(), next(), next(), next());
    let mut words = kind.split(' ');
    let word = words.next().unwrap_or_default();
    let mut bound =
        || words.next().and_then(|n| n.parse::<i128>().ok()).expect("a bound is a number");
    let kind = match word {
        "bool" => Kind::Bool,
        "text" => Kind::Text,
        "int" => Kind::Int(bound(), bound()),
        "memory" => Kind::Memory(bound(), bound()),
        "percent" => Kind::Percent(bound(), bound()),
        "octal" => Kind::Octal(bound(), bound()),
        "enum" => Kind::Words(words.collect()),
        _ => Kind::Special,
    };
    let flagged = |flag: &str| flags.split(',').any(|known| known == flag);
    Setting {
        name,
        alias: (alias != "-").then_some(alias),
        kind,
        fixed: flagged("fixed"),
        protected: flagged("protected"),
        hidden: flagged("hidden"),
        secret: flagged("secret"),
        effect: effect(next()),
        default: next(),
    }
}

fn effect(word: &'static str) -> Effect {
    match word {
        "obeyed" => Effect::Obeyed,
        "idle" => Effect::Idle,
        "-" => Effect::Refused("it is fixed"),
        word => {
            let reason = REASONS.iter().find(|(known, _)| *known == word);
            Effect::Refused(reason.expect("a word of settings.tsv has its reason").1)
        }
    }
}

/// Place of a setting by its name or old name, in any case.
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    SETTINGS.iter().position(|setting| {
        name.eq_ignore_ascii_case(setting.name.as_bytes())
            || setting.alias.is_some_and(|alias| name.eq_ignore_ascii_case(alias.as_bytes()))
    })
}

impl Setting {
    /// The value in the form kept, or why it is refused. `old` is the value so far.
    pub(crate) fn check(&self, value: &[u8], old: &[u8]) -> Result<Vec<u8>, String> {
        match &self.kind {
            Kind::Bool => {
                let yes = value.eq_ignore_ascii_case(b"yes");
                if !yes && !value.eq_ignore_ascii_case(b"no") {
                    return Err("argument must be 'yes' or 'no'".into());
                }
                if yes && self.name == "activedefrag" {
                    return Err("Active defragmentation cannot be enabled: it requires a Redis \
                                server compiled with a modified Jemalloc like the one shipped by \
                                default with the Redis source distribution"
                        .into());
                }
                Ok(if yes { b"yes".to_vec() } else { b"no".to_vec() })
            }
            Kind::Text => Ok(value.to_vec()),
            Kind::Int(low, high) => {
                let n = num::parse_i64(value)
                    .ok_or("argument couldn't be parsed into an integer")?
                    .into();
                bounded(n, *low, *high)
            }
            Kind::Memory(low, high) => {
                let n = memory(value).ok_or("argument must be a memory value")?;
                bounded(n, *low, *high)
            }
            Kind::Percent(low, high) => percent(value, *low, *high),
            Kind::Octal(low, high) => {
                let n =
                    std::str::from_utf8(value).ok().and_then(|t| i64::from_str_radix(t, 8).ok());
                let n = n.ok_or("argument couldn't be parsed as an octal number")?.into();
                bounded(n, *low, *high)
            }
            Kind::Words(words) => one_of(words, value, self.name.starts_with("shutdown-on-")),
            Kind::Special => special(self.name, value, old),
        }
    }
}

fn bounded(n: i128, low: i128, high: i128) -> Result<Vec<u8>, String> {
    if (low..=high).contains(&n) {
        Ok(n.to_string().into_bytes())
    } else {
        Err(format!("argument must be between {low} and {high} inclusive"))
    }
}

/// `100mb` and the like.
pub(crate) fn memory(value: &[u8]) -> Option<i128> {
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    let unit: i128 = match value[digits..].to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let digits = std::str::from_utf8(&value[..digits]).ok()?;
    Some(i128::from(digits.parse::<u64>().ok()?) * unit)
}

fn percent(value: &[u8], low: i128, high: i128) -> Result<Vec<u8>, String> {
    if let Some(n) = memory(value) {
        return bounded(n, 0, high);
    }
    let share = value.strip_suffix(b"%").and_then(num::parse_i64).filter(|n| *n >= 0);
    match share.map(i128::from) {
        Some(n) if -n < low => {
            Err(format!("percentage argument must be less or equal to {}", -low))
        }
        Some(n) => Ok(format!("{n}%").into_bytes()),
        None => Err("argument must be a memory or percent value".into()),
    }
}

fn one_of(words: &[&str], value: &[u8], several: bool) -> Result<Vec<u8>, String> {
    let parts: Vec<&[u8]> =
        if several { value.split(|b| *b == b' ').collect() } else { vec![value] };
    let found: Option<Vec<&str>> = parts
        .iter()
        .map(|part| words.iter().find(|w| part.eq_ignore_ascii_case(w.as_bytes())).copied())
        .collect();
    match found {
        Some(found) if found.contains(&"save") && found.contains(&"nosave") => {
            Err("shutdown options SAVE and NOSAVE can't be used simultaneously".into())
        }
        Some(found) => Ok(found.join(" ").into_bytes()),
        None => Err(format!("argument(s) must be one of the following: {}", words.join(", "))),
    }
}

fn special(name: &str, value: &[u8], old: &[u8]) -> Result<Vec<u8>, String> {
    let parts: Vec<&[u8]> = value.split(|b| *b == b' ').collect();
    match name {
        "save" => save(value, &parts),
        "client-output-buffer-limit" => {
            let mut limits = OutputLimits::parse(old).unwrap_or_default();
            limits.change(&parts)?;
            Ok(limits.text().into_bytes())
        }
        "notify-keyspace-events" => match notify::parse_flags(value) {
            Some(flags) => Ok(notify::flags_text(flags).into_bytes()),
            None => Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into()),
        },
        "oom-score-adj-values" => {
            if parts.len() != 3 {
                return Err("wrong number of arguments".into());
            }
            let fits =
                |part: &&[u8]| num::parse_i64(part).is_some_and(|n| (-2000..=2000).contains(&n));
            if !parts.iter().all(fits) {
                return Err(
                    "Invalid oom-score-adj-values, elements must be between -2000 and 2000.".into(),
                );
            }
            Ok(value.to_vec())
        }
        "latency-tracking-info-percentiles" => percentiles(value, &parts),
        _ => Ok(value.to_vec()),
    }
}

fn save(value: &[u8], parts: &[&[u8]]) -> Result<Vec<u8>, String> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let fits = |(i, part): (usize, &&[u8])| {
        let least = i64::from(i.is_multiple_of(2));
        num::parse_i64(part).is_some_and(|n| n >= least)
    };
    if !parts.len().is_multiple_of(2) || !parts.iter().enumerate().all(fits) {
        return Err("Invalid save parameters".into());
    }
    Ok(value.to_vec())
}

fn percentiles(value: &[u8], parts: &[&[u8]]) -> Result<Vec<u8>, String> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let mut shown = Vec::new();
    for part in parts {
        let n =
            num::parse_f64(part).ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&n) {
            return Err("latency-tracking-info-percentiles parameters should sit between \
                        [0.0,100.0]"
                .into());
        }
        shown.push(n.to_string());
    }
    Ok(shown.join(" ").into_bytes())
}

/// How many bytes may wait for a client: at once, and for a number of seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutputLimit {
    pub(crate) hard: u64,
    pub(crate) soft: u64,
    pub(crate) soft_seconds: u64,
}

/// `client-output-buffer-limit`: normal clients, replicas, subscribers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutputLimits(pub(crate) [OutputLimit; 3]);

impl OutputLimits {
    /// Whether more waits for the client than is ever allowed.
    pub(crate) fn over_hard(&self, client: &crate::core::client::Client) -> bool {
        let hard = self.0[if client.subscribed() { 2 } else { 0 }].hard;
        hard > 0 && client.waiting_bytes() as u64 > hard
    }

    /// Reads the form in which the value is kept.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let words = split_words(text)?;
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let mut limits = OutputLimits::default();
        limits.change(&words).ok().map(|()| limits)
    }

    fn change(&mut self, parts: &[&[u8]]) -> Result<(), String> {
        if !parts.len().is_multiple_of(4) {
            return Err("Wrong number of arguments in buffer limit configuration.".into());
        }
        for part in parts.chunks(4) {
            let class = match part[0].to_ascii_lowercase().as_slice() {
                b"normal" => 0,
                b"slave" | b"replica" => 1,
                b"pubsub" => 2,
                _ => {
                    return Err(
                        "Invalid client class specified in buffer limit configuration.".into()
                    );
                }
            };
            let bytes = |text| memory(text).and_then(|n| u64::try_from(n).ok());
            let seconds = num::parse_i64(part[3]).and_then(|n| u64::try_from(n).ok());
            let (Some(hard), Some(soft), Some(soft_seconds)) =
                (bytes(part[1]), bytes(part[2]), seconds)
            else {
                return Err(
                    "Error in hard, soft or soft_seconds setting in buffer limit configuration."
                        .into(),
                );
            };
            self.0[class] = OutputLimit { hard, soft, soft_seconds };
        }
        Ok(())
    }

    fn text(&self) -> String {
        let names = ["normal", "slave", "pubsub"];
        let parts = names.iter().zip(self.0).map(|(name, limit)| {
            format!("{name} {} {} {}", limit.hard, limit.soft, limit.soft_seconds)
        });
        parts.collect::<Vec<_>>().join(" ")
    }
}
