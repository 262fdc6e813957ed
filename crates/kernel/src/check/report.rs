//! The report of a check, as data for `--json`, the HTTP API and the dashboard.

use std::collections::BTreeMap;

use crate::keyspace::KeyDef;
use crate::said::Said;

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Not the Redis type of its definition.
    WrongType,
    /// It never expires and should, or the other way round, or too late.
    WrongLife,
    /// The module cannot read the value, or the value lacks the members that say where it is
    /// listed.
    BadValue,
    /// An index entry that names nothing.
    Dangling,
    /// An id that is free by its index and in use.
    InUse,
    /// An id that is free twice.
    Twice,
    /// An index entry in the wrong index.
    Misplaced,
    /// A key that its index does not list.
    Missing,
    /// A key whose other half is gone.
    Orphan,
    /// A state that no list confirms.
    Unlisted,
    /// A state that the list it is in contradicts, or that nothing can end.
    WrongState,
    /// A counter that counts something else.
    Miscounted,
    /// A key that starts like ours and has no definition.
    Unknown,
    /// A key in the layout that is not in use.
    OtherLayout,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The kind of the finding.
    pub trouble: Trouble,
    /// The key.
    pub key: String,
    /// The module it belongs to.
    pub module: &'static str,
    /// The name of the key's definition, when it has one.
    pub name: Option<&'static str>,
    /// The entry of an index, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// In English.
    pub detail: String,
    /// The same for pages, which word it in their reader's language.
    pub said: Said,
    /// Whether it was put right.
    pub repaired: bool,
    /// The command that removes the key, when repair does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// A finding about a key of that definition, not repaired.
    pub fn of(trouble: Trouble, def: &KeyDef, key: &[u8], said: Said) -> Finding {
        Finding {
            trouble,
            key: String::from_utf8_lossy(key).into_owned(),
            module: def.module,
            name: Some(def.name),
            entry: None,
            detail: said.sentence(),
            said,
            repaired: false,
            remedy: None,
        }
    }
}

/// The command that removes a key which nothing else puts right.
fn by_hand(finding: &Finding) -> Option<String> {
    use Trouble::{BadValue, Orphan, OtherLayout, Unknown, WrongType};
    let stays = matches!(finding.trouble, BadValue | Orphan | OtherLayout | Unknown | WrongType);
    stays.then(|| format!("redis-cli DEL '{}'", finding.key))
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Progress {
    /// Keys looked at.
    pub scanned: u64,
    /// Keys in the store when the check began, of the node that was asked.
    pub total: u64,
    /// The number of findings so far.
    pub findings: u64,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Keys looked at; one that SCAN returned twice counts twice.
    pub scanned: u64,
    /// Keys of ours, by module and name.
    pub known: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// Keys of others.
    pub foreign: u64,
    /// How often each trouble was found.
    pub troubles: BTreeMap<Trouble, u64>,
    /// How many findings were put right.
    pub repaired: u64,
    /// The findings, up to the limit.
    pub findings: Vec<Finding>,
    /// Findings that are only counted.
    pub left_off: u64,
}

impl Report {
    /// Whether nothing is wrong any more.
    pub fn is_clean(&self) -> bool {
        self.findings_total() == self.repaired
    }

    /// All findings, kept or counted.
    pub fn findings_total(&self) -> u64 {
        self.troubles.values().sum()
    }

    /// Adds what a module found on its own, up to `keep` findings in full; what is there already is left out.
    pub fn merge(&mut self, findings: Vec<Finding>, keep: usize) {
        for finding in findings {
            let known = |one: &Finding| {
                (one.trouble, &one.key, &one.entry)
                    == (finding.trouble, &finding.key, &finding.entry)
            };
            if !self.findings.iter().any(known) {
                self.add(finding, keep);
            }
        }
    }

    pub(super) fn add(&mut self, mut finding: Finding, keep: usize) {
        let remedy = finding.remedy.take().or_else(|| by_hand(&finding));
        finding.remedy = remedy.filter(|_| !finding.repaired);
        *self.troubles.entry(finding.trouble).or_default() += 1;
        self.repaired += u64::from(finding.repaired);
        if self.findings.len() < keep {
            self.findings.push(finding);
        } else {
            self.left_off += 1;
        }
    }
}
