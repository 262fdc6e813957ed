//! Sweeps for jobs that other programs lost: active ones without a living owner, and those that nothing holds.
//! Nothing is believed at first sight.

use std::collections::HashMap;

use kernel::{Value, reply};
use parking_lot::Mutex;

use crate::error::Error;
use crate::model::routing::Route;
use crate::scripts::PRUNE_MARKS;
use crate::store::recover::Recovered;
use crate::store::wire::{escape_glob, scanned};
use crate::store::{Jobs, cmd, cmd_on};

/// How far apart two sightings of a lost job must be, for those in `active` and for those nowhere.
const SIGHTINGS_MS: (u64, u64) = (5_000, 60_000);

/// Keys that one call of SCAN looks at.
const SCAN_SLICE: usize = 2_000;
/// Entries of the waiting list that one look for lost jobs reads, about: at a long list few jobs are looked for.
const LIST_READS: usize = 200_000;

/// The suspects of earlier sweeps: nothing is believed at first sight. One per scheduler.
#[derive(Debug, Default)]
pub struct Sightings {
    active: Mutex<HashMap<String, (String, u64)>>,
    orphans: Mutex<HashMap<String, (String, u64)>>,
    pub(crate) counters: Mutex<Vec<String>>,
    /// Routes at the head that no living worker serves, and since when.
    pub(crate) unserved: Mutex<HashMap<Route, u64>>,
    pub(crate) cursor: Mutex<(Vec<u8>, Vec<u8>)>,
}

/// Marks that one step looks at, and how many steps there are at most.
const MARKS: (u64, usize) = (100, 100);

impl Jobs {
    /// Forgets cancellations and recoveries of jobs that a foreign worker ended; the scheduler calls it. Says how
    /// many. Left there they would grow, and send every end of an attempt the long way.
    pub async fn forget_marks(&self) -> Result<u64, Error> {
        let most = MARKS.0.to_string();
        let mut forgotten = 0;
        for _ in 0..MARKS.1 {
            let reply = self.script(&PRUNE_MARKS, &[most.as_bytes()], self.by()).await?;
            let found = reply::int(&reply).and_then(|found| u64::try_from(found).ok()).unwrap_or(0);
            forgotten += found;
            // With so few stale ones among those it saw there are not many more.
            if found < MARKS.0 / 2 {
                break;
            }
        }
        Ok(forgotten)
    }

    /// Takes active jobs back that have no lock, or whose owner is dead: those of clients that know no leases.
    /// A job is touched when it was seen so twice. A lease is not judged here: it ends when its lock runs out.
    pub async fn sweep_active(&self, seen: &Sightings) -> Result<Vec<Recovered>, Error> {
        let space = self.space();
        let mut found = HashMap::new();
        let mut cursor = b"0".to_vec();
        loop {
            let mut scan = cmd("SSCAN", space.active.as_str());
            scan.arg(&cursor).arg("COUNT").arg(500);
            let (next, ids) = scanned(&self.call(&scan).await?);
            let gets: Vec<_> = ids
                .iter()
                .flat_map(|id| [cmd("GET", space.lock(id)), cmd_on("HEXISTS", &space.claimed, id)])
                .collect();
            for (id, parts) in ids.into_iter().zip(self.all(&gets).await?.chunks_exact(2)) {
                let owner = reply::text(&parts[0]).unwrap_or_default().to_owned();
                if owner.is_empty() || reply::int(&parts[1]) != Some(1) {
                    found.insert(id, owner);
                }
            }
            cursor = next;
            if cursor == b"0" {
                break;
            }
        }
        let owners = found.values().filter(|owner| !owner.is_empty()).cloned().collect();
        let living = self.living(&owners).await?;
        found.retain(|_, owner| !living.contains(owner));
        let due = seen_twice(&seen.active, found, self.now_ms(), SIGHTINGS_MS.0);
        self.recover_active(due).await
    }

    /// Puts jobs back whose state says that they wait, run or are delayed and that nothing holds: those that a
    /// foreign worker popped and lost. Nothing of ours knows them, so the store is walked: about `budget` keys a call;
    /// call it again and again. A job is touched when it was seen so twice.
    pub async fn sweep_orphans(
        &self,
        seen: &Sightings,
        budget: usize,
    ) -> Result<Vec<Recovered>, Error> {
        let mut ids = Vec::new();
        let mut left = budget;
        while left > 0 {
            let slice = left.min(SCAN_SLICE);
            left -= slice;
            let from = seen.cursor.lock().0.clone();
            let (found, next) = self.scan_states(&from, slice).await?;
            ids.extend(found);
            let whole = next.is_empty();
            seen.cursor.lock().0 = next;
            if whole {
                break;
            }
        }
        let now_ms = self.now_ms();
        let found = self.in_no_structure(&ids, LIST_READS).await?;
        // Only what this stretch looked at may be forgotten.
        let mut due = Vec::new();
        {
            let mut orphans = seen.orphans.lock();
            for id in ids.iter().filter(|id| !found.contains_key(*id)) {
                orphans.remove(id);
            }
            for (id, status) in found {
                let first = orphans.entry(id.clone()).or_insert_with(|| (status.clone(), now_ms));
                if first.0 != status {
                    *first = (status, now_ms);
                } else if now_ms.saturating_sub(first.1) >= SIGHTINGS_MS.1 {
                    due.push((id, status));
                }
            }
        }
        self.requeue_orphans(due).await
    }

    /// Jobs that have a state: one stretch of SCAN, and where the next one begins; nothing after the last.
    pub(crate) async fn scan_states(
        &self,
        from: &[u8],
        count: usize,
    ) -> Result<(Vec<String>, Vec<u8>), Error> {
        let waiting = self.space().waiting.clone();
        let mut session = self.store().session(waiting.as_bytes(), self.by()).await?;
        let prefix = self.space().status("");
        let mut scan = redis::cmd("SCAN");
        scan.arg(if from.is_empty() { b"0" } else { from });
        scan.arg("MATCH").arg(format!("{}*", escape_glob(&prefix))).arg("COUNT").arg(count);
        let (next, keys) = scanned(&session.call(&scan, self.by()).await?);
        let ids = keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned);
        Ok((ids.collect(), if next == b"0" { Vec::new() } else { next }))
    }

    /// The jobs among these that say that they wait, run or are delayed, with that word.
    async fn live_states(&self, ids: &[String]) -> Result<Vec<(String, String)>, Error> {
        let mut live = Vec::new();
        for part in ids.chunks(500) {
            let mut get = redis::cmd("MGET");
            for id in part {
                get.arg(self.space().status(id));
            }
            let states = self.call(&get).await?;
            for (id, state) in part.iter().zip(reply::list(&states).unwrap_or_default()) {
                let state = reply::text(state).unwrap_or_default();
                if matches!(state, "active" | "waiting" | "delayed") {
                    live.push((id.clone(), state.to_owned()));
                }
            }
        }
        Ok(live)
    }

    /// Which of these say that they wait, run or are delayed and are in no structure and not locked. The list of
    /// waiting jobs is searched until about `list_reads` entries are read; jobs beyond that are taken for waiting.
    pub(crate) async fn in_no_structure(
        &self,
        ids: &[String],
        list_reads: usize,
    ) -> Result<HashMap<String, String>, Error> {
        let live = self.live_states(ids).await?;
        let space = self.space();
        let cmds: Vec<_> = live
            .iter()
            .flat_map(|(id, _)| {
                [
                    cmd("EXISTS", space.lock(id)),
                    cmd_on("SISMEMBER", &space.active, id),
                    cmd_on("ZSCORE", &space.delayed, id),
                    cmd_on("ZSCORE", &space.cron, id),
                    cmd_on("SISMEMBER", &space.parked, id),
                ]
            })
            .chain([cmd("LLEN", space.waiting.as_str())])
            .collect();
        let values = self.all(&cmds).await?;
        let held =
            |parts: &[Value]| parts.iter().any(|part| !matches!(part, Value::Nil | Value::Int(0)));
        let mut suspects: Vec<(String, String)> = live
            .into_iter()
            .zip(values.chunks(5))
            .filter(|(_, parts)| !held(parts))
            .map(|(one, _)| one)
            .collect();
        // A place in the list is dear to find. One that says it runs is not there as a rule and comes first.
        let length =
            values.last().and_then(reply::int).and_then(|length| usize::try_from(length).ok());
        suspects.sort_by_key(|(_, state)| state != "active");
        suspects.truncate((list_reads / length.unwrap_or(0).max(1)).max(20));
        let gets: Vec<_> =
            suspects.iter().map(|(id, _)| cmd_on("LPOS", &space.waiting, id)).collect();
        let places = self.all(&gets).await?;
        let lost = suspects.into_iter().zip(places).filter(|(_, at)| *at == Value::Nil);
        Ok(lost.map(|(suspect, _)| suspect).collect())
    }
}

/// The suspects that were seen the same way at least `apart_ms` ago; the others are remembered for
/// the next time.
fn seen_twice(
    memory: &Mutex<HashMap<String, (String, u64)>>,
    found: HashMap<String, String>,
    now_ms: u64,
    apart_ms: u64,
) -> Vec<(String, String)> {
    let mut memory = memory.lock();
    memory.retain(|id, (how, _)| found.get(id) == Some(how));
    let mut due = Vec::new();
    for (id, how) in found {
        let (_, since) = memory.entry(id.clone()).or_insert_with(|| (how.clone(), now_ms));
        if now_ms.saturating_sub(*since) >= apart_ms {
            due.push((id, how));
        }
    }
    due
}
