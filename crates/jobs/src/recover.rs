//! What keeps the queue sound: promote what is due, take jobs back from dead workers (ours by their leases,
//! others' by their locks and heartbeats), put right what programs left behind. Everything here may run in
//! several processes at once.

use std::collections::HashMap;

use kernel::{Value, reply};
use parking_lot::Mutex;

use crate::error::Error;
use crate::jobs::{Jobs, cmd};
use crate::scripts::{PROMOTE, QUARANTINE, RECLAIM, RECONCILE, RESCUE};
use crate::work::texts;

/// Active jobs that a reconciliation looks at, at most.
const RECONCILE_MAX: u64 = 5_000;
/// How far apart two sightings of a lost job must be, for those in `active` and for those nowhere.
const SIGHTINGS_MS: (u64, u64) = (5_000, 60_000);

/// A job that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The job.
    pub id: String,
    /// Its type; empty when it cannot be read.
    pub kind: String,
    /// `waiting`, `dead`, `cancelled` or `gone`.
    pub became: String,
}

/// What sweeps saw before: nothing is believed at first sight. One per scheduler.
#[derive(Debug, Default)]
pub struct Sightings {
    active: Mutex<HashMap<String, (String, u64)>>,
    orphans: Mutex<HashMap<String, (String, u64)>>,
    counters: Mutex<Vec<String>>,
    cursor: Mutex<(Vec<u8>, Vec<u8>)>,
}

/// A counter that was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miscount {
    /// The type.
    pub kind: String,
    /// What the counter said.
    pub counter: String,
    /// How many are active.
    pub active: i64,
    /// Whether it was put right.
    pub repaired: bool,
}

impl Jobs {
    /// Moves due jobs from `delayed` to `waiting`: how many, and when the next one is due.
    pub async fn promote(&self, most: u32) -> Result<(u64, Option<u64>), Error> {
        let (now, opts, most) = (self.now_ms().to_string(), self.opts(), most.to_string());
        let args = [now.as_bytes(), opts.as_bytes(), most.as_bytes()];
        let reply = self.script(&PROMOTE, &args, self.by()).await?;
        let parts = reply::list(&reply).unwrap_or_default();
        let moved = parts.first().and_then(reply::int).unwrap_or(0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time, checked
        let next = parts.get(1).and_then(reply::number).map(|score| score.max(0.0) as u64);
        Ok((u64::try_from(moved).unwrap_or(0), next))
    }

    /// Takes jobs back whose lease ran out.
    pub async fn reclaim(&self, most: u32) -> Result<Vec<Recovered>, Error> {
        let head = self.ending_args();
        let own = [most.to_string(), self.options().max_recoveries.to_string()];
        let args: Vec<&[u8]> = head.iter().chain(&own).map(String::as_bytes).collect();
        let reply = self.script(&RECLAIM, &args, self.by()).await?;
        Ok(self.recovered(&reply))
    }

    fn recovered(&self, reply: &Value) -> Vec<Recovered> {
        let words = texts(reply);
        let all: Vec<Recovered> = words
            .chunks_exact(3)
            .map(|one| Recovered {
                id: one[0].clone(),
                kind: one[1].clone(),
                became: one[2].clone(),
            })
            .collect();
        for one in &all {
            let word = match one.became.as_str() {
                "dead" => "dead",
                "cancelled" => "failed",
                _ => "recovered",
            };
            self.counts().add(self.now_ms(), &one.kind, word, 0);
        }
        all
    }

    /// Takes active jobs back that have no lock, or whose owner is dead: those of clients that know no leases.
    /// A job is touched when it was seen so twice.
    pub async fn sweep_active(&self, seen: &Sightings) -> Result<Vec<Recovered>, Error> {
        let space = self.space();
        let workers = self.workers().await?;
        let dead_owner =
            |owner: &str| !workers.iter().any(|one| one.server_id == owner && one.alive);
        let mut found = HashMap::new();
        let mut cursor = b"0".to_vec();
        loop {
            let mut scan = cmd("SSCAN", space.active.as_str());
            scan.arg(&cursor).arg("COUNT").arg(500);
            let (next, ids) = scanned(&self.call(&scan).await?);
            let gets: Vec<_> = ids.iter().map(|id| cmd("GET", space.lock(id))).collect();
            for (id, lock) in ids.into_iter().zip(self.all(&gets).await?) {
                let owner = reply::text(&lock).unwrap_or_default().to_owned();
                if owner.is_empty() || dead_owner(&owner) {
                    found.insert(id, owner);
                }
            }
            cursor = next;
            if cursor == b"0" {
                break;
            }
        }
        let due = seen_twice(&seen.active, found, self.now_ms(), SIGHTINGS_MS.0);
        self.rescue("active", due).await
    }

    /// Puts jobs back whose state says that they wait, run or are delayed and that nothing holds: those that a
    /// foreign worker popped and lost. Looks at about `budget` keys; call it again and again. A job is touched
    /// when it was seen so twice.
    pub async fn sweep_orphans(
        &self,
        seen: &Sightings,
        budget: usize,
    ) -> Result<Vec<Recovered>, Error> {
        let (session_key, mut cursor) =
            (self.space().waiting.clone(), seen.cursor.lock().0.clone());
        if cursor.is_empty() {
            cursor = b"0".to_vec();
        }
        let mut session = self.store().session(session_key.as_bytes(), self.by()).await?;
        let glob = format!("{}*", crate::read::escape_glob(&self.space().status("")));
        let mut scan = redis::cmd("SCAN");
        scan.arg(&cursor).arg("MATCH").arg(glob).arg("COUNT").arg(budget);
        let (next, keys) = scanned(&session.call(&scan, self.by()).await?);
        drop(session);
        seen.cursor.lock().0 = if next == b"0" { Vec::new() } else { next };
        let prefix = self.space().status("");
        let ids: Vec<String> =
            keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect();
        let now_ms = self.now_ms();
        let found = self.in_no_structure(&ids).await?;
        // Only what this stretch looked at may be forgotten.
        let mut due = Vec::new();
        {
            let mut orphans = seen.orphans.lock();
            orphans.retain(|id, _| !ids.contains(id) || found.contains_key(id));
            for (id, status) in found {
                let first = orphans.entry(id.clone()).or_insert_with(|| (status.clone(), now_ms));
                if first.0 != status {
                    *first = (status, now_ms);
                } else if now_ms.saturating_sub(first.1) >= SIGHTINGS_MS.1 {
                    due.push((id, status));
                }
            }
        }
        self.rescue("orphan", due).await
    }

    /// Which of these say that they wait, run or are delayed and are in no structure and not locked.
    pub(crate) async fn in_no_structure(
        &self,
        ids: &[String],
    ) -> Result<HashMap<String, String>, Error> {
        let space = self.space();
        let cmds: Vec<_> = ids
            .iter()
            .flat_map(|id| {
                let on = |name: &str, key: &str| {
                    let mut one = cmd(name, key);
                    one.arg(id);
                    one
                };
                [
                    cmd("GET", space.status(id)),
                    cmd("EXISTS", space.lock(id)),
                    on("SISMEMBER", space.active.as_str()),
                    on("ZSCORE", space.delayed.as_str()),
                    on("ZSCORE", space.cron.as_str()),
                    on("SISMEMBER", space.parked.as_str()),
                ]
            })
            .collect();
        let values = self.all(&cmds).await?;
        let mut suspects = Vec::new();
        for (id, parts) in ids.iter().zip(values.chunks_exact(6)) {
            let status = reply::text(&parts[0]).unwrap_or_default();
            let held = parts[1..].iter().any(|part| !matches!(part, Value::Nil | Value::Int(0)));
            if matches!(status, "active" | "waiting" | "delayed") && !held {
                suspects.push((id.clone(), status.to_owned()));
            }
        }
        // A place in the list is dear to find: only for those that nothing else holds.
        let gets: Vec<_> = suspects
            .iter()
            .map(|(id, _)| {
                let mut pos = cmd("LPOS", space.waiting.as_str());
                pos.arg(id);
                pos
            })
            .collect();
        let places = self.all(&gets).await?;
        let lost = suspects.into_iter().zip(places).filter(|(_, at)| *at == Value::Nil);
        Ok(lost.map(|(suspect, _)| suspect).collect())
    }

    pub(crate) async fn rescue(
        &self,
        case: &str,
        due: Vec<(String, String)>,
    ) -> Result<Vec<Recovered>, Error> {
        let mut all = Vec::new();
        for (id, expected) in due {
            let head = self.ending_args();
            let most = self.options().max_recoveries.to_string();
            let own = [case, &id, &expected, &most];
            let args: Vec<&[u8]> =
                head.iter().map(String::as_bytes).chain(own.map(str::as_bytes)).collect();
            let reply = self.script(&RESCUE, &args, self.by()).await?;
            all.extend(self.recovered(&reply));
        }
        Ok(all)
    }

    /// Compares the counters of running jobs with the active set, and puts right those that were wrong the time
    /// before as well.
    pub async fn reconcile(&self, seen: &Sightings) -> Result<Vec<Miscount>, Error> {
        let suspects = seen.counters.lock().clone();
        let others = self.counted_types(1_000).await?;
        let (most, many) = (RECONCILE_MAX.to_string(), suspects.len().to_string());
        let mut args: Vec<&[u8]> = vec![most.as_bytes(), many.as_bytes()];
        args.extend(suspects.iter().chain(&others).map(String::as_bytes));
        let reply = self.script(&RECONCILE, &args, self.by()).await?;
        let parts = reply::list(&reply).unwrap_or_default();
        let found: Vec<Miscount> = parts
            .chunks_exact(4)
            .filter_map(|one| {
                Some(Miscount {
                    kind: reply::text(&one[0])?.to_owned(),
                    counter: reply::text(&one[1]).unwrap_or_default().to_owned(),
                    active: reply::int(&one[2])?,
                    repaired: reply::int(&one[3]) == Some(1),
                })
            })
            .collect();
        *seen.counters.lock() =
            found.iter().filter(|one| !one.repaired).map(|one| one.kind.clone()).collect();
        Ok(found)
    }

    /// Types that have a counter of running jobs, as one stretch of SCAN finds them.
    async fn counted_types(&self, budget: usize) -> Result<Vec<String>, Error> {
        let key = self.space().waiting.clone();
        let mut session = self.store().session(key.as_bytes(), self.by()).await?;
        let prefix = self.space().concurrent("");
        let mut scan = redis::cmd("SCAN");
        scan.arg(0).arg("MATCH").arg(format!("{}*", crate::read::escape_glob(&prefix)));
        scan.arg("COUNT").arg(budget);
        let (_, keys) = scanned(&session.call(&scan, self.by()).await?);
        Ok(keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect())
    }

    /// Moves a job that nobody can read to the dead letters. `false` when it can be read, is held or is gone.
    pub async fn quarantine(&self, id: &str) -> Result<bool, Error> {
        let [now, opts, result_ttl, _] = self.ending_args();
        let args = [now.as_str(), &opts, &result_ttl, id].map(str::as_bytes);
        let reply = self.script(&QUARANTINE, &args, self.by()).await?;
        Ok(reply::text(&reply) == Some("done"))
    }
}

/// The cursor and the texts of a SCAN reply.
pub(crate) fn scanned(value: &Value) -> (Vec<u8>, Vec<String>) {
    let parts = reply::list(value).unwrap_or_default();
    let cursor = match parts.first() {
        Some(Value::Int(cursor)) => cursor.to_string().into_bytes(),
        Some(other) => reply::bytes(other).unwrap_or(b"0").to_vec(),
        None => b"0".to_vec(),
    };
    (cursor, parts.get(1).map(texts).unwrap_or_default())
}

/// What was seen the same way at least `apart_ms` ago; remembers the rest for the next time.
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
