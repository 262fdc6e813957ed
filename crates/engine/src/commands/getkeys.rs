//! Which arguments of a call are keys, and what the command does to them: for rights, Cluster slots and
//! `COMMAND GETKEYS`. The rules of `commands.tsv` say it for most commands; a few need a look at their options.

use smallvec::SmallVec;

use crate::commands::ctx::is;
use crate::commands::table::{Begin, Find, KeySpec, Spec};
use crate::data::num;

/// One key of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyRef {
    /// The key's index among the arguments.
    pub(crate) at: usize,
    /// `RO access`, `OW update`, …
    pub(crate) flags: &'static [&'static str],
}

impl KeyRef {
    pub(crate) fn reads(&self) -> bool {
        self.flags.contains(&"access")
    }

    pub(crate) fn writes(&self) -> bool {
        self.flags.iter().any(|f| matches!(*f, "insert" | "update" | "delete"))
    }
}

/// Keys of a call; few, mostly.
pub(crate) type Keys = SmallVec<[KeyRef; 8]>;

const READ: &[&str] = &["RO", "access"];
const OVERWRITE: &[&str] = &["OW", "update"];
const CHANGE: &[&str] = &["RW", "access", "update"];
const TAKE: &[&str] = &["RW", "access", "delete"];

impl KeySpec {
    fn is_key(&self) -> bool {
        !self.flags.contains(&"not_key")
    }
}

impl Spec {
    /// Whether its calls can name keys.
    pub(crate) fn has_keys(&self) -> bool {
        self.keys.iter().any(KeySpec::is_key)
    }

    /// The keys of a call. None when its arguments make no sense.
    pub(crate) fn keys_of(&'static self, argv: &[&[u8]]) -> Keys {
        match self.full_name {
            "set" => {
                let reads = argv.iter().skip(3).any(|arg| is(arg, "get"));
                one(1, if reads { CHANGE } else { OVERWRITE })
            }
            "bitfield" => one(1, bitfield(argv)),
            "sort" => sort(argv),
            "sort_ro" => one(1, READ),
            "migrate" => migrate(argv),
            _ => {
                let specs = self.keys.iter().filter(|spec| spec.is_key());
                by_specs(specs, argv, self.arity < 0).unwrap_or_default()
            }
        }
    }

    /// The keys of a call and the channels that are bound to a slot as keys are.
    pub(crate) fn slot_args(&'static self, argv: &[&[u8]]) -> Keys {
        if self.has_keys() {
            return self.keys_of(argv);
        }
        by_specs(self.keys.iter(), argv, true).unwrap_or_default()
    }
}

fn one(at: usize, flags: &'static [&'static str]) -> Keys {
    smallvec::smallvec![KeyRef { at, flags }]
}

fn by_specs(
    specs: impl Iterator<Item = &'static KeySpec>,
    argv: &[&[u8]],
    lenient: bool,
) -> Option<Keys> {
    let argc = i64::try_from(argv.len()).ok()?;
    let mut keys = Keys::new();
    for spec in specs {
        let mut first = match &spec.begin {
            Begin::Index(at) => i64::try_from(*at).ok()?,
            Begin::Keyword(word, from) => match keyword(argv, word, *from) {
                Some(at) => at,
                None => continue,
            },
            Begin::Unknown => return None,
        };
        let (last, step) = match spec.find {
            Find::Range { last, step, .. } if last >= 0 => (first + last, step),
            Find::Range { last, step, limit: 0 } => (argc + last, step),
            Find::Range { last, step, limit } => {
                (first + (argc - first) / i64::try_from(limit).ok()? + last, step)
            }
            Find::Count { at, first: skip, step } => {
                let count = argv.get(usize::try_from(first).ok()? + at)?;
                let count = num::parse_i64(count).filter(|n| (0..argc).contains(n))?;
                first += i64::try_from(skip).ok()?;
                (first + count - 1, step)
            }
            Find::Unknown => return None,
        };
        if last >= argc || last < first || first >= argc {
            // A command that may have no keys at all has none here.
            if lenient && keys.is_empty() && last < first {
                continue;
            }
            return None;
        }
        for at in (first..=last).step_by(step.max(1)) {
            keys.push(KeyRef { at: usize::try_from(at).ok()?, flags: &spec.flags });
        }
    }
    Some(keys)
}

/// The place after a word; a negative start searches backwards from the end.
fn keyword(argv: &[&[u8]], word: &str, from: i64) -> Option<i64> {
    let argc = argv.len();
    let found = if from > 0 {
        let from = usize::try_from(from).ok()?;
        // The last argument cannot be followed by a key.
        (from..argc.saturating_sub(1)).find(|at| is(argv[*at], word))
    } else {
        let back = usize::try_from(-from).ok()?;
        (2..=argc.checked_sub(back)?).rev().find(|at| *at < argc && is(argv[*at], word))
    };
    found.and_then(|at| i64::try_from(at + 1).ok())
}

fn bitfield(argv: &[&[u8]]) -> &'static [&'static str] {
    let mut at = 2;
    while at < argv.len() {
        let left = argv.len() - at - 1;
        if is(argv[at], "get") && left >= 2 {
            at += 3;
        } else if is(argv[at], "overflow") && left >= 1 {
            at += 2;
        } else {
            return CHANGE;
        }
    }
    READ
}

fn sort(argv: &[&[u8]]) -> Keys {
    let mut keys = one(1, READ);
    let mut at = 2;
    while at < argv.len() {
        if is(argv[at], "limit") {
            at += 2;
        } else if is(argv[at], "get") || is(argv[at], "by") {
            at += 1;
        } else if is(argv[at], "store") && at + 1 < argv.len() {
            keys.truncate(1);
            keys.push(KeyRef { at: at + 1, flags: OVERWRITE });
        }
        at += 1;
    }
    keys
}

fn migrate(argv: &[&[u8]]) -> Keys {
    let mut at = 6;
    while at < argv.len() {
        if is(argv[at], "keys") {
            if !argv[3].is_empty() {
                return Keys::new();
            }
            return (at + 1..argv.len()).map(|at| KeyRef { at, flags: TAKE }).collect();
        }
        at += if is(argv[at], "auth2") {
            3
        } else if is(argv[at], "auth") {
            2
        } else {
            1
        };
    }
    one(3, TAKE)
}
