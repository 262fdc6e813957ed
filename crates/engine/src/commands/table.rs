//! The command table. Facts (arity, flags, categories, key positions) are data in `commands.tsv`; each
//! file of `commands/` names its handlers; a command exists when it has both. Looked up once per call.

use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::commands::ctx::Ctx;
use crate::core::client::Client;
use crate::error::Outcome;
use crate::exec::LockedEngine;

/// How a command runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Run {
    /// On the data.
    Plain(fn(&mut Ctx<'_>, &[&[u8]]) -> Outcome),
    /// On the data and the Lua host: scripts, functions, `EXEC`. The reply goes to `client.out`.
    Host(fn(&mut LockedEngine, &mut Client, &[&[u8]]) -> Outcome),
}

/// Flags of a command, as bits.
pub(crate) mod flag {
    macro_rules! flags {
        ($($name:ident = $word:literal),* $(,)?) => {
            flags!(@ 0u32, $($name = $word,)*);
            /// Word and bit, in the order of `COMMAND INFO`.
            pub(crate) const WORDS: &[(&str, u32)] = &[$(($word, $name)),*];
        };
        (@ $at:expr, $name:ident = $word:literal, $($rest:tt)*) => {
            #[allow(dead_code)]
            pub(crate) const $name: u32 = 1 << ($at);
            flags!(@ $at + 1, $($rest)*);
        };
        (@ $at:expr,) => {};
    }
    flags! {
        WRITE = "write", READONLY = "readonly", DENYOOM = "denyoom", MODULE = "module",
        ADMIN = "admin", PUBSUB = "pubsub", NOSCRIPT = "noscript", BLOCKING = "blocking",
        LOADING = "loading", STALE = "stale", SKIP_MONITOR = "skip_monitor",
        SKIP_SLOWLOG = "skip_slowlog", ASKING = "asking", FAST = "fast", NO_AUTH = "no_auth",
        MAY_REPLICATE = "may_replicate", NO_MANDATORY_KEYS = "no_mandatory_keys",
        PROTECTED = "protected", NO_ASYNC_LOADING = "no_async_loading", NO_MULTI = "no_multi",
        MOVABLE_KEYS = "movablekeys", ALLOW_BUSY = "allow_busy",
    }
}

/// The place where the keys of a call begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begin {
    Index(usize),
    Keyword(String, i64),
    Unknown,
}

/// How the keys of a call go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Find {
    Range { last: i64, step: usize, limit: usize },
    Count { at: usize, first: usize, step: usize },
    Unknown,
}

/// One rule that finds keys in the arguments of a call.
#[derive(Debug, Clone)]
pub(crate) struct KeySpec {
    pub(crate) begin: Begin,
    pub(crate) find: Find,
    /// `RO access`, `OW update`, …
    pub(crate) flags: Vec<&'static str>,
}

/// A command or a subcommand.
#[derive(Debug)]
pub(crate) struct Spec {
    /// `get`, or `client|list`.
    pub(crate) full_name: &'static str,
    pub(crate) arity: i64,
    pub(crate) flags: u32,
    /// ACL categories without `@`.
    pub(crate) categories: Vec<&'static str>,
    /// First key, last key, step, as `COMMAND INFO` tells them.
    pub(crate) legacy: (i64, i64, i64),
    pub(crate) keys: Vec<KeySpec>,
    pub(crate) group: &'static str,
    pub(crate) since: &'static str,
    pub(crate) tips: Vec<&'static str>,
    /// `None` for a container, which runs one of its subcommands.
    pub(crate) run: Option<Run>,
    /// Place in the table, and in statistics and ACL bit sets.
    pub(crate) id: usize,
    /// Places of the subcommands, by name.
    pub(crate) subs: HashMap<&'static str, usize>,
    /// The container of a subcommand.
    pub(crate) parent: Option<usize>,
}

impl Spec {
    pub(crate) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn arity_fits(&self, argc: usize) -> bool {
        let argc = i64::try_from(argc).unwrap_or(i64::MAX);
        if self.arity >= 0 { argc == self.arity } else { argc >= -self.arity }
    }
}

/// The groups' handlers, by full name.
type Handlers = &'static [(&'static str, Run)];

/// All commands that have a handler.
pub(crate) struct CommandTable {
    pub(crate) specs: Vec<Spec>,
    /// Number of a command and one more, at the place of its name or the next free ones; every call looks here.
    places: Vec<u16>,
}

/// The table of this build.
pub(crate) static TABLE: LazyLock<CommandTable> = LazyLock::new(CommandTable::load);

/// The entry that a name resolves to.
pub(crate) enum Found {
    Command(&'static Spec),
    UnknownSub(&'static Spec),
    Unknown,
}

const NAME_MAX: usize = 32;
/// Four times as many as there are commands, so that most names stand at their own place.
const PLACES: usize = 1024;

/// The bucket of a name in the hash table; the name's case does not matter.
fn place(word: &[u8]) -> usize {
    let start = word.len().min(NAME_MAX + 1);
    word.iter()
        .take(NAME_MAX)
        .fold(start, |place, byte| place.wrapping_mul(31).wrapping_add(usize::from(byte | 0x20)))
        % PLACES
}

impl CommandTable {
    fn load() -> Self {
        let mut run: HashMap<&str, Run> = HashMap::new();
        for group in crate::commands::HANDLERS {
            for (name, how) in *group as Handlers {
                let old = run.insert(name, *how);
                assert!(old.is_none(), "command {name} has two handlers");
            }
        }
        let mut table = CommandTable { specs: Vec::new(), places: vec![0; PLACES] };
        let lines = include_str!("commands.tsv").lines().filter(|line| !line.starts_with('#'));
        let specs: Vec<Spec> = lines.map(|line| parse(line, &mut run)).collect();
        assert!(run.is_empty(), "handlers without a line in commands.tsv: {:?}", run.keys());
        for spec in specs {
            let contained = spec.full_name.contains('|');
            let prefix = format!("{}|", spec.full_name);
            if spec.run.is_none()
                && (contained
                    || !crate::commands::HANDLERS
                        .iter()
                        .any(|g| g.iter().any(|(n, _)| n.starts_with(&prefix))))
            {
                continue;
            }
            table.add(spec);
        }
        table
    }

    fn add(&mut self, mut spec: Spec) {
        spec.id = self.specs.len();
        if let Some((parent, sub)) = spec.full_name.split_once('|') {
            // The file is sorted, so a container stands before its subcommands.
            let parent = self.number(parent.as_bytes()).expect("the file is sorted");
            self.specs[parent].subs.insert(sub, spec.id);
            spec.parent = Some(parent);
        } else {
            let mut place = place(spec.full_name.as_bytes());
            while self.places[place] != 0 {
                place = (place + 1) % PLACES;
            }
            self.places[place] = u16::try_from(spec.id + 1).expect("a few hundred commands");
        }
        self.specs.push(spec);
    }

    /// The command of a call; `argv[0]` and, for containers, `argv[1]` are matched in any case.
    pub(crate) fn find(&'static self, argv: &[&[u8]]) -> Found {
        let Some(spec) = self.by_word(argv[0]) else { return Found::Unknown };
        if spec.subs.is_empty() {
            return Found::Command(spec);
        }
        let Some(sub) = argv.get(1) else { return Found::Command(spec) };
        match lower(sub, &mut [0; NAME_MAX]).and_then(|name| spec.subs.get(name)) {
            Some(id) => Found::Command(&self.specs[*id]),
            None if spec.run.is_some() => Found::Command(spec),
            None => Found::UnknownSub(spec),
        }
    }

    /// A command by its first word alone.
    pub(crate) fn by_word(&'static self, word: &[u8]) -> Option<&'static Spec> {
        self.number(word).map(|id| &self.specs[id])
    }

    fn number(&self, word: &[u8]) -> Option<usize> {
        let mut place = place(word);
        loop {
            let id = usize::from(self.places[place]).checked_sub(1)?;
            if self.specs[id].full_name.as_bytes().eq_ignore_ascii_case(word) {
                return Some(id);
            }
            place = (place + 1) % PLACES;
        }
    }

    /// A command by its full name, `client|list` included.
    pub(crate) fn by_full_name(&'static self, name: &[u8]) -> Option<&'static Spec> {
        let mut parts = name.splitn(2, |b| *b == b'|');
        let spec = self.by_word(parts.next()?)?;
        let Some(sub) = parts.next() else { return Some(spec) };
        let mut space = [0; NAME_MAX];
        spec.subs.get(lower(sub, &mut space)?).map(|id| &self.specs[*id])
    }
}

fn lower<'a>(word: &[u8], space: &'a mut [u8; NAME_MAX]) -> Option<&'a str> {
    let space = space.get_mut(..word.len())?;
    space.copy_from_slice(word);
    space.make_ascii_lowercase();
    std::str::from_utf8(space).ok()
}

fn parse(line: &'static str, run: &mut HashMap<&str, Run>) -> Spec {
    let mut parts = line.split('\t');
    let mut next = || parts.next().expect("a line of commands.tsv has nine fields");
    let full_name = next();
    let arity = next().parse().expect("arity is a number");
    let flags = next().split_whitespace().fold(0, |bits, word| {
        let known = flag::WORDS.iter().find(|(name, _)| *name == word);
        bits | known.unwrap_or_else(|| panic!("unknown command flag {word}")).1
    });
    // Redis does not tell this flag to clients, so the file has it not.
    let hidden = match full_name {
        "eval" | "evalsha" | "fcall" | "pfcount" | "publish" | "spublish" => flag::MAY_REPLICATE,
        _ => 0,
    };
    let flags = flags | hidden;
    let categories = next().split_whitespace().collect();
    let legacy: Vec<i64> =
        next().split(' ').map(|n| n.parse().expect("key positions are numbers")).collect();
    let keys = match next() {
        "-" => Vec::new(),
        specs => specs.split(';').map(parse_key_spec).collect(),
    };
    let (group, since) = (next(), next());
    let tips = match next() {
        "-" => Vec::new(),
        tips => tips.split(';').collect(),
    };
    Spec {
        full_name,
        arity,
        flags,
        categories,
        legacy: (legacy[0], legacy[1], legacy[2]),
        keys,
        group,
        since,
        tips,
        run: run.remove(full_name),
        id: 0,
        subs: HashMap::new(),
        parent: None,
    }
}

fn parse_key_spec(text: &'static str) -> KeySpec {
    let mut parts = text.split(':');
    let mut next = || parts.next().expect("a key spec has three parts");
    let begin = match next() {
        "?" => Begin::Unknown,
        at => match at.split_once('@') {
            Some((word, from)) => {
                Begin::Keyword(word.to_owned(), from.parse().expect("a position"))
            }
            None => Begin::Index(at.parse().expect("an index")),
        },
    };
    let find = match next() {
        "?" => Find::Unknown,
        how => {
            let n: Vec<i64> = how[1..].split(',').map(|n| n.parse().expect("a number")).collect();
            let size = |n: i64| usize::try_from(n).expect("not negative");
            if how.starts_with('r') {
                Find::Range { last: n[0], step: size(n[1]), limit: size(n[2]) }
            } else {
                Find::Count { at: size(n[0]), first: size(n[1]), step: size(n[2]) }
            }
        }
    };
    KeySpec { begin, find, flags: next().split(',').collect() }
}
