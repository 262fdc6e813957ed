//! Lua scripts as files: one each, with a header that a test reads and holds against body, tables and slots.

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
            sha1::Sha1::digest(self.source.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
        })
    }
}
