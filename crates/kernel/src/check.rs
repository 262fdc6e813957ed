//! The consistency check: walks a live store with SCAN and holds every key of ours to its definition: type,
//! life, value, indexes in both directions. Foreign keys are counted, no fault.
//!
//! The store is in use meanwhile, so nothing is believed at first sight: what looks wrong is looked at again
//! before it is reported, and a repair watches the keys it judges by and changes nothing that moved.

mod batch;
mod entries;
mod nodes;
mod relations;
mod report;
mod stride;
mod suspect;
mod words;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use redis::{Cmd, Value};

use crate::fault::Fault;
use crate::keyspace::{Classifier, Index, KeyDef, Layout};
use crate::store::{Deadline, Store};

use stride::Stride;

pub use nodes::Nodes;
pub use report::{Finding, Progress, Report, Trouble};
pub use words::WORDINGS;

/// The options of a check.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which keys are ours.
    pub classifier: Classifier,
    /// The layout in use; keys of the other one are reported.
    pub layout: Layout,
    /// Whether to put right what can be.
    pub repair: bool,
    /// Keys per step of SCAN, and commands per pipeline.
    pub batch: usize,
    /// How long one call may take.
    pub wait: Duration,
    /// How many findings are kept in full; the rest are counted.
    pub keep: usize,
}

impl Options {
    /// Look only, in steps of 1 000 keys.
    pub fn new(classifier: Classifier, layout: Layout) -> Options {
        let wait = Duration::from_secs(10);
        Options { classifier, layout, repair: false, batch: 1_000, wait, keep: 10_000 }
    }
}

/// Checks the whole store. `progress` hears of every step.
pub async fn check(
    store: &dyn Store,
    options: &Options,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Report, Fault> {
    let mut run = Run {
        store,
        options,
        report: Report::default(),
        reported: HashSet::new(),
        lists: HashMap::new(),
        complete: complete_indexes(&options.classifier),
        stride: Stride::default(),
        dropped: false,
    };
    let total = match run.one(&redis::cmd("DBSIZE")).await? {
        Value::Int(count) => u64::try_from(count).unwrap_or(0),
        _ => 0,
    };
    run.walk(Look::All, total, progress).await?;
    if run.dropped {
        // An index that was looked at before a value went names it still.
        run.walk(Look::Indexes, total, progress).await?;
    }
    Ok(run.report)
}

/// One check under way.
struct Run<'a> {
    store: &'a dyn Store,
    options: &'a Options,
    report: Report,
    /// SCAN may return a key twice; a finding counts once.
    reported: HashSet<(Trouble, Vec<u8>, Vec<u8>)>,
    /// The elements of each list when it was first asked about, as hashes: `LPOS` is O(n) on the
    /// server.
    lists: HashMap<Vec<u8>, HashSet<u64>>,
    /// The indexes that must list every key of a definition, by its module and name.
    complete: HashMap<(&'static str, &'static str), Vec<(&'static KeyDef, Index)>>,
    /// How many values one pipeline reads.
    stride: Stride,
    /// A value that could not be read was removed.
    dropped: bool,
}

/// The indexes that must list every key of a definition, by its module and name.
fn complete_indexes(
    classifier: &Classifier,
) -> HashMap<(&'static str, &'static str), Vec<(&'static KeyDef, Index)>> {
    let mut complete: HashMap<_, Vec<_>> = HashMap::new();
    for def in classifier.tables().iter().flat_map(|table| table.keys).copied() {
        if let Some(index) = def.index.filter(|index| index.complete.is_some()) {
            complete.entry((def.module, index.names)).or_default().push((def, index));
        }
    }
    complete
}

/// The keys that a walk looks at.
#[derive(Clone, Copy)]
enum Look {
    /// Everything.
    All,
    /// Entries of indexes alone.
    Indexes,
}

impl Run<'_> {
    /// Every key there is, in steps.
    async fn walk(
        &mut self,
        look: Look,
        total: u64,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), Fault> {
        let mut nodes = nodes::Nodes::open(self.store, self.options.wait).await?;
        while let Some(keys) = nodes.next(self.options.batch).await? {
            match look {
                Look::All => self.batch(&keys).await?,
                Look::Indexes => self.index_batch(&keys).await?,
            }
            progress(Progress {
                scanned: self.report.scanned,
                total,
                findings: self.report.findings_total(),
            });
        }
        Ok(())
    }

    fn by(&self) -> Deadline {
        Deadline::after(self.options.wait)
    }

    async fn one(&self, cmd: &Cmd) -> Result<Value, Fault> {
        self.store.call(cmd, self.by()).await
    }

    /// Many commands in bounded pipelines. A command that the store refuses (a type that changed
    /// meanwhile) answers nil; one that the user may not run ends the check, which could say
    /// nothing true then.
    async fn all(&self, cmds: &[Cmd]) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::with_capacity(cmds.len());
        for chunk in cmds.chunks(self.options.batch.max(1)) {
            for result in self.store.pipeline(chunk, self.by()).await? {
                values.push(match result {
                    Ok(value) => value,
                    Err(Fault::Refused { code, .. }) if code != "NOPERM" => Value::Nil,
                    Err(fault) => return Err(fault),
                });
            }
        }
        Ok(values)
    }

    /// The definition of that name in the same module.
    fn def(&self, of: &KeyDef, name: &str) -> Option<&'static KeyDef> {
        let tables = self.options.classifier.tables();
        tables.iter().find(|table| table.module == of.module)?.def(name)
    }

    fn report(&mut self, finding: Finding) {
        let entry = finding.entry.clone().unwrap_or_default();
        let mark = (finding.trouble, finding.key.clone().into_bytes(), entry.into_bytes());
        // Past the limit there is nothing to compare with: a key seen twice may then count twice.
        if self.report.findings.len() < self.options.keep && !self.reported.insert(mark) {
            return;
        }
        self.report.add(finding, self.options.keep);
    }
}
