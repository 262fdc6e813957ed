//! Counts of outcomes: the three metrics keys and the daily hash. They are numbers, not state: a process adds
//! them up and writes them once in a while, outside of the steps.

use std::collections::{BTreeMap, HashMap};

use kernel::Cmd;
use parking_lot::{Mutex, MutexGuard};

use crate::error::Error;
use crate::store::{Jobs, cmd};

/// Seconds for which the counts of a day stay.
const DAYS_KEPT_S: u64 = 90 * 86_400;
const DAY_MS: u64 = 86_400_000;

/// The counts that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<Tally>);

#[derive(Debug, Default, Clone)]
struct Tally {
    processed: u64,
    failed: u64,
    handler_ms: u64,
    /// By day since 1970, type and outcome.
    days: BTreeMap<u64, HashMap<String, Outcomes>>,
}

type Outcomes = Vec<(&'static str, u64)>;

impl Tally {
    fn add(&mut self, day: u64, kind: &str, outcome: &'static str, by: u64) {
        let kinds = self.days.entry(day).or_default();
        if !kinds.contains_key(kind) {
            kinds.insert(kind.to_owned(), Vec::new());
        }
        let outcomes = kinds.get_mut(kind).expect("it is there now");
        match outcomes.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, count)) => *count += by,
            None => outcomes.push((outcome, by)),
        }
    }
}

/// Counting on one day.
pub(crate) struct OnDay<'a> {
    tally: MutexGuard<'a, Tally>,
    day: u64,
}

impl OnDay<'_> {
    /// One outcome: `completed`, `failed`, `dead`, `retried` or `recovered`.
    pub(crate) fn add(&mut self, kind: &str, outcome: &'static str, took_ms: u64) {
        match outcome {
            "completed" => self.tally.processed += 1,
            "failed" | "dead" => self.tally.failed += 1,
            _ => {}
        }
        self.tally.handler_ms += took_ms;
        self.tally.add(self.day, kind, outcome, 1);
    }
}

impl Counts {
    /// To count what happened at that Unix millisecond.
    pub(crate) fn on(&self, now_ms: u64) -> OnDay<'_> {
        OnDay { tally: self.0.lock(), day: now_ms / DAY_MS }
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
        for (number, kinds) in &tally.days {
            let key = space.stats(&day(number * DAY_MS));
            for (kind, outcomes) in kinds {
                for (outcome, by) in outcomes {
                    let mut incr = cmd("HINCRBY", &key);
                    incr.arg(format!("{kind}:{outcome}")).arg(*by);
                    cmds.push(incr);
                }
            }
            let mut expire = cmd("EXPIRE", &key);
            expire.arg(DAYS_KEPT_S);
            cmds.push(expire);
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
        for (day, kinds) in tally.days {
            for (kind, outcomes) in kinds {
                for (outcome, by) in outcomes {
                    now.add(day, &kind, outcome, by);
                }
            }
        }
    }
}
