//! The first line of a script or library: `#!lua flags=no-writes,allow-oom` or `#!lua name=lib`.

use crate::doors::resp;
use crate::error::ReplyError;

/// The flags that a script or function declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    bits: u8,
    /// No first line: the rules of Redis before flags existed.
    pub(crate) undeclared: bool,
}

/// Word and bit, in the order of `FUNCTION LIST`.
const WORDS: &[(&str, u8)] = &[
    ("no-writes", Flags::NO_WRITES),
    ("allow-oom", Flags::ALLOW_OOM),
    ("allow-stale", 4),
    ("no-cluster", Flags::NO_CLUSTER),
    ("allow-cross-slot-keys", Flags::CROSS_SLOTS),
];

impl Flags {
    pub(crate) const NO_WRITES: u8 = 1;
    pub(crate) const ALLOW_OOM: u8 = 2;
    pub(crate) const NO_CLUSTER: u8 = 8;
    pub(crate) const CROSS_SLOTS: u8 = 16;

    /// A script without a first line.
    pub(crate) const UNDECLARED: Self = Self { bits: 0, undeclared: true };

    /// Whether the flag was declared.
    pub(crate) fn has(self, flag: u8) -> bool {
        self.bits & flag != 0
    }

    /// Adds a flag by its word; false if there is no such flag.
    pub(crate) fn add(&mut self, word: &[u8], any_case: bool) -> bool {
        let found = WORDS.iter().find(|(known, _)| {
            if any_case {
                known.as_bytes().eq_ignore_ascii_case(word)
            } else {
                known.as_bytes() == word
            }
        });
        self.bits |= found.map_or(0, |(_, bit)| *bit);
        found.is_some()
    }

    /// The declared flags' words.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().filter(move |(_, bit)| self.has(*bit)).map(|(word, _)| *word)
    }
}

/// The flags of an `EVAL` script and its code, line numbers kept.
pub(crate) fn of_script(source: &[u8]) -> Result<(Flags, &[u8]), ReplyError> {
    if !source.starts_with(b"#!") {
        return Ok((Flags::UNDECLARED, source));
    }
    let Some(end) = first_line(source) else {
        return Err(ReplyError::fixed("ERR Invalid script shebang"));
    };
    let parts = resp::split_words(&source[..end]).filter(|parts| !parts.is_empty());
    let Some(parts) = parts else {
        return Err(ReplyError::fixed("ERR Invalid engine in script shebang"));
    };
    if parts[0] != b"#!lua" {
        return Err(with("ERR Unexpected engine in script shebang: ", &parts[0]));
    }
    let mut flags = Flags::default();
    for part in &parts[1..] {
        let Some(list) = part.strip_prefix(b"flags=") else {
            return Err(with("ERR Unknown lua shebang option: ", part));
        };
        for word in list.split(|byte| *byte == b',') {
            if !list.is_empty() && !flags.add(word, false) {
                return Err(with("ERR Unexpected flag in script shebang: ", word));
            }
        }
    }
    Ok((flags, &source[end..]))
}

/// The name of a library and its code, line numbers kept.
pub(crate) fn of_library(source: &[u8]) -> Result<(Vec<u8>, &[u8]), ReplyError> {
    if !source.starts_with(b"#!") {
        return Err(ReplyError::fixed("ERR Missing library metadata"));
    }
    let invalid = ReplyError::fixed("ERR Invalid library metadata");
    let end = first_line(source).ok_or_else(|| invalid.clone())?;
    let parts =
        resp::split_words(&source[..end]).filter(|parts| !parts.is_empty()).ok_or(invalid)?;
    let engine = parts[0].get(2..).unwrap_or_default();
    let mut name = None;
    for part in &parts[1..] {
        if !part.get(..5).is_some_and(|key| key.eq_ignore_ascii_case(b"name=")) {
            return Err(with("ERR Invalid metadata value given: ", part));
        }
        if name.replace(part[5..].to_vec()).is_some() {
            return Err(ReplyError::fixed(
                "ERR Invalid metadata value, name argument was given multiple times",
            ));
        }
    }
    let name = name.ok_or(ReplyError::fixed("ERR Library name was not given"))?;
    if !is_name(&name) {
        return Err(BAD_NAME);
    }
    if !engine.eq_ignore_ascii_case(b"lua") {
        let mut error = with("ERR Engine '", engine);
        error.0.to_mut().extend_from_slice(b"' not found");
        return Err(error);
    }
    Ok((name, &source[end..]))
}

/// Names of libraries and functions: letters, digits, underscores.
pub(crate) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

pub(crate) const BAD_NAME: ReplyError = ReplyError::fixed(
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least \
     one character long",
);

/// An error whose text ends in bytes of the caller.
pub(crate) fn with(text: &str, bytes: &[u8]) -> ReplyError {
    ReplyError([text.as_bytes(), bytes].concat().into())
}

/// The length of the first line; as in C, a NUL byte ends the search.
fn first_line(source: &[u8]) -> Option<usize> {
    let end = memchr::memchr2(b'\n', 0, source)?;
    (source[end] == b'\n').then_some(end)
}
