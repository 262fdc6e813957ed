//! Counters for `INFO`, per command and overall.

use crate::command::{Spec, TABLE};

/// What one command did so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandStats {
    pub(crate) calls: u64,
    pub(crate) usec: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
}

/// Counters since the start or `CONFIG RESETSTAT`.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) started_ms: i64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired_keys: u64,
    pub(crate) connections: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) commands: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
    pub(crate) error_replies: u64,
    pub(crate) per_command: Vec<CommandStats>,
    /// First word of an error and how often it was answered.
    pub(crate) errors: std::collections::BTreeMap<String, u64>,
}

impl Stats {
    pub(crate) fn new(now_ms: i64) -> Self {
        Stats {
            started_ms: now_ms,
            hits: 0,
            misses: 0,
            expired_keys: 0,
            connections: 0,
            rejected_connections: 0,
            commands: 0,
            input_bytes: 0,
            output_bytes: 0,
            error_replies: 0,
            per_command: vec![CommandStats::default(); TABLE.specs.len()],
            errors: std::collections::BTreeMap::new(),
        }
    }

    pub(crate) fn of(&mut self, spec: &Spec) -> &mut CommandStats {
        &mut self.per_command[spec.id]
    }

    /// Counts an error reply under its code.
    pub(crate) fn error(&mut self, text: &[u8]) {
        // Scripts choose their own codes: past this many the rest is one line.
        const CODES_MAX: usize = 128;
        self.error_replies += 1;
        let code = text.split(|b| *b == b' ').next().unwrap_or_default();
        let code = String::from_utf8_lossy(&code[..code.len().min(64)]).into_owned();
        if self.errors.len() < CODES_MAX || self.errors.contains_key(&code) {
            *self.errors.entry(code).or_default() += 1;
        }
    }
}
