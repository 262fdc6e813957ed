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
        self.sha.get_or_init(|| {
            use sha1::Digest as _;
            let digest = sha1::Sha1::digest(self.source.as_bytes());
            digest.iter().fold(String::with_capacity(40), |mut sha, byte| {
                let _ = write!(sha, "{byte:02x}");
                sha
            })
        })
    }
}
