//! Counts of outcomes: the three metrics keys and the daily hash. They are numbers, not state: a process adds
//! them up and writes them once in a while, outside of the steps.

use std::collections::BTreeMap;

use kernel::Cmd;
use parking_lot::Mutex;

use crate::error::Error;
use crate::jobs::{Jobs, cmd};

/// Seconds for which the counts of a day stay.
const DAYS_KEPT_S: u64 = 90 * 86_400;

/// What was counted and not written yet.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<Tally>);

#[derive(Debug, Default, Clone)]
struct Tally {
    processed: u64,
    failed: u64,
    handler_ms: u64,
    /// Day and `<type>:<outcome>`.
    days: BTreeMap<(String, String), u64>,
}

impl Counts {
    /// One outcome: `completed`, `failed`, `dead`, `retried` or `recovered`.
    pub(crate) fn add(&self, now_ms: u64, kind: &str, outcome: &str, took_ms: u64) {
        let mut tally = self.0.lock();
        match outcome {
            "completed" => tally.processed += 1,
            "failed" | "dead" => tally.failed += 1,
            _ => {}
        }
        tally.handler_ms += took_ms;
        *tally.days.entry((day(now_ms), format!("{kind}:{outcome}"))).or_default() += 1;
    }
}

/// `yyyymmdd` of a Unix millisecond, UTC.
pub(crate) fn day(now_ms: u64) -> String {
    let at = i64::try_from(now_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| "19700101".to_owned(), |at| at.strftime("%Y%m%d").to_string())
}

impl Jobs {
    /// Writes what was counted since the last time; call it about once a second. On a fault nothing is lost,
    /// unless the answer was.
    pub async fn flush_counts(&self) -> Result<(), Error> {
        let tally = std::mem::take(&mut *self.counts().0.lock());
        let mut cmds: Vec<Cmd> = Vec::new();
        let space = self.space();
        for (key, by) in [
            (&space.metrics_processed, tally.processed),
            (&space.metrics_failed, tally.failed),
            (&space.metrics_time, tally.handler_ms),
        ] {
            if by > 0 {
                let mut incr = cmd("INCRBY", key.as_str());
                incr.arg(by);
                cmds.push(incr);
            }
        }
        for ((day, field), by) in &tally.days {
            let key = space.stats(day);
            let mut incr = cmd("HINCRBY", &key);
            incr.arg(field).arg(*by);
            let mut expire = cmd("EXPIRE", &key);
            expire.arg(DAYS_KEPT_S);
            cmds.extend([incr, expire]);
        }
        if cmds.is_empty() {
            return Ok(());
        }
        let done = self.all(&cmds).await.map(drop);
        if matches!(&done, Err(Error::Fault(kernel::Fault::Unavailable(_)))) {
            self.counts().put_back(tally);
        }
        done
    }
}

impl Counts {
    fn put_back(&self, tally: Tally) {
        let mut now = self.0.lock();
        now.processed += tally.processed;
        now.failed += tally.failed;
        now.handler_ms += tally.handler_ms;
        for (name, count) in tally.days {
            *now.days.entry(name).or_default() += count;
        }
    }
}
