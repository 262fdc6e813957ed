//! Lua scripts as files: one each, with a header that a test reads and holds against body, tables and slots.

use std::fmt::Write as _;
use std::sync::OnceLock;

/// A Lua script, known by name and run by SHA. Made once per file as a `static`.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    source: &'static str,
    sha: OnceLock<String>,
}

impl Script {
    /// `name` is the file's stem; `source` its whole text.
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Script { name, source, sha: OnceLock::new() }
    }

    /// The file's stem.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The whole text.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Lower-case SHA-1 of the text, as `EVALSHA` wants it.
    pub fn sha(&self) -> &str {
        self.sha.get_or_init(|| sha1_hex(self.source.as_bytes()))
    }
}

/// The SHA-1 of a text in lower-case hex, as `redis.sha1hex` gives it.
pub fn sha1_hex(text: &[u8]) -> String {
    use sha1::Digest as _;
    let digest = sha1::Sha1::digest(text);
    digest.iter().fold(String::with_capacity(40), |mut sha, byte| {
        let _ = write!(sha, "{byte:02x}");
        sha
    })
}
