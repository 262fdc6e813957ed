//! `ACL LOG`: the refusals, and the users and clients they hit. Like entries within a minute are
//! one entry with a count.

use std::collections::VecDeque;

use super::Denial;
use crate::commands::table::Spec;

/// One refusal, or several alike.
#[derive(Debug)]
pub(crate) struct AclLogEntry {
    pub(crate) count: u64,
    /// `command`, `key`, `channel` or `auth`.
    pub(crate) reason: &'static str,
    /// `toplevel`, `multi` or `lua`.
    pub(crate) context: &'static str,
    pub(crate) object: Vec<u8>,
    pub(crate) username: Vec<u8>,
    pub(crate) time_ms: i64,
    pub(crate) client_info: Vec<u8>,
}

impl AclLogEntry {
    /// A call that the user's rules forbid.
    pub(crate) fn denied(denial: Denial, spec: &Spec, argv: &[&[u8]]) -> Self {
        let (reason, object) = denial.object(spec, argv);
        AclLogEntry {
            count: 1,
            reason,
            context: "toplevel",
            object: object.into_owned(),
            username: Vec::new(),
            time_ms: 0,
            client_info: Vec::new(),
        }
    }

    fn is_like(&self, other: &AclLogEntry) -> bool {
        self.reason == other.reason
            && self.context == other.context
            && (self.time_ms - other.time_ms).abs() <= 60_000
            && self.object == other.object
            && self.username == other.username
    }
}

/// Refusals, the newest first.
#[derive(Debug, Default)]
pub(crate) struct AclLog(VecDeque<AclLogEntry>);

impl AclLog {
    pub(crate) fn add(&mut self, entry: AclLogEntry, max: usize) {
        const LOOK_AT: usize = 10; // a bounded search for one alike
        let like = self.0.iter().take(LOOK_AT).position(|known| known.is_like(&entry));
        if let Some(mut known) = like.and_then(|at| self.0.remove(at)) {
            known.count += 1;
            known.time_ms = entry.time_ms;
            known.client_info = entry.client_info;
            self.0.push_front(known);
        } else {
            self.0.push_front(entry);
            self.0.truncate(max);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &AclLogEntry> {
        self.0.iter()
    }
}
