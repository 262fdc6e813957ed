//! The index of lists: a stream with the ids of all jobs in the order of their dispatch. Each entry has `at`, the time of
//! the dispatch in Unix milliseconds, and `ids`, those of that step, one per line. A dispatch appends to it in its own
//! step. The end of a job does not touch it: entries whose jobs are all gone are dropped by the next look at them, once
//! they are as old as ended jobs are kept. Jobs of programs that know no index are found by the leader.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use kernel::{Cmd, Value, reply};

use crate::error::Error;
use crate::model::{Job, Status};
use crate::scripts::TRIM_INDEX;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// Ids in one entry, at most; the script has the same.
const ENTRY_MAX: usize = 64;
/// Entries in one trip.
const TRIP: usize = 500;
/// Calls that trim in one round.
const TRIM_CALLS: usize = 20;
/// Ids that a leader remembers to tell jobs of other programs; with more it leaves them to the doctor.
const KNOWN_MAX: usize = 500_000;
/// Milliseconds after which it tries again.
const KNOWN_AGAIN_MS: u64 = 600_000;
/// Jobs at each end of a structure that are looked at for those of other programs; more while there is no index.
const LOOK: (usize, usize) = (100, 10_000);

/// One entry of the index: its place in the stream, the time of the dispatch, the ids.
pub(crate) struct Entry {
    pub(crate) at: String,
    pub(crate) dispatched_ms: u64,
    pub(crate) ids: Vec<String>,
}

/// Reads the answer of XRANGE or XREVRANGE; what is no entry of ours is left out.
pub(crate) fn entries(value: &Value) -> Vec<Entry> {
    let all = reply::list(value).unwrap_or_default().iter();
    let read = |one: &Value| {
        let [at, fields] = reply::list(one)? else { return None };
        let fields = texts(fields);
        let of = |name: &str| {
            let mut pairs = fields.chunks_exact(2);
            pairs.find(|pair| pair[0] == name).map(|pair| pair[1].as_str())
        };
        let ids = of("ids").unwrap_or_default().lines().map(str::to_owned).collect();
        let dispatched_ms = of("at").and_then(|ms| ms.parse().ok()).unwrap_or(0);
        Some(Entry { at: reply::text(at)?.to_owned(), dispatched_ms, ids })
    };
    all.filter_map(read).collect()
}

/// The ids of the index as far as they were read, as hashes.
#[derive(Default)]
pub(crate) struct Known {
    hasher: RandomState,
    ids: HashSet<u64>,
    last: Option<String>,
    /// Too many to remember: not before this time again.
    rests_until_ms: u64,
}

impl Known {
    fn note(&mut self, id: &str) {
        self.ids.insert(self.hasher.hash_one(id));
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.ids.contains(&self.hasher.hash_one(id))
    }
}

impl Jobs {
    /// Drops entries whose jobs are gone. Anybody may do it at any time; a full look rests for ten seconds, and longer
    /// where many old jobs are still there.
    pub(crate) async fn trim_index(&self) -> Result<(), Error> {
        let kept_s = match self.options().retention_s {
            kept @ 1.. => kept,
            _ => 60,
        };
        let (now, kept_ms) = (self.now_ms().to_string(), (kept_s * 1000).to_string());
        for _ in 0..TRIM_CALLS {
            let args = [now.as_bytes(), kept_ms.as_bytes()];
            let reply = self.script(&TRIM_INDEX, &args, self.by()).await?;
            if reply::text(&reply) != Some("more") {
                break;
            }
        }
        Ok(())
    }

    /// Reads on in the index until its end. `false` when there are more ids than `most`.
    pub(crate) async fn learn_index(&self, known: &mut Known, most: usize) -> Result<bool, Error> {
        loop {
            let from =
                known.last.as_ref().map_or_else(|| "-".to_owned(), |last| format!("({last}"));
            let mut range = cmd("XRANGE", self.space().index.as_str());
            range.arg(from).arg("+").arg("COUNT").arg(TRIP);
            let found = entries(&self.call(&range).await?);
            for entry in &found {
                entry.ids.iter().for_each(|id| known.note(id));
            }
            if let Some(last) = found.last() {
                known.last = Some(last.at.clone());
            }
            if known.ids.len() > most {
                return Ok(false);
            }
            if found.len() < TRIP {
                return Ok(true);
            }
        }
    }

    /// Enters jobs of programs that know no index: those that stand at the ends of the structures, and those that
    /// events tell of. The leader calls it; says how many were entered.
    pub(crate) async fn adopt_foreign(&self, known: &mut Known) -> Result<usize, Error> {
        let now_ms = self.now_ms();
        if now_ms < known.rests_until_ms {
            return Ok(0);
        }
        // Read before the index, so that whatever was dispatched with an entry is found there.
        let seen = self.seen_around(known.last.is_none()).await?;
        if !self.learn_index(known, KNOWN_MAX).await? {
            *known = Known { rests_until_ms: now_ms + KNOWN_AGAIN_MS, ..Known::default() };
            return Ok(0);
        }
        let strange: Vec<String> = seen.into_iter().filter(|id| !known.has(id)).collect();
        self.add_to_index(&strange).await
    }

    /// Enters jobs into the index, the oldest first, as far as they exist.
    pub(crate) async fn add_to_index(&self, ids: &[String]) -> Result<usize, Error> {
        let mut found: Vec<(i64, &str)> = Vec::new();
        for chunk in ids.chunks(TRIP) {
            for (id, text) in chunk.iter().zip(self.texts_of(chunk).await?) {
                let Some(text) = text.filter(|_| !id.contains(['\n', '\r'])) else { continue };
                found.push((Job::read(&**id, text).map_or(0, |job| job.created_at), id));
            }
        }
        found.sort_unstable();
        let now = self.now_ms();
        let entry = |chunk: &[(i64, &str)]| {
            // A job that is younger than its entry would count as another one of the same id.
            let newest = chunk.iter().map(|(at, _)| u64::try_from(*at).unwrap_or(0)).max();
            let lines: Vec<&str> = chunk.iter().map(|(_, id)| *id).collect();
            let mut add = cmd("XADD", self.space().index.as_str());
            add.arg("*")
                .arg("at")
                .arg(newest.unwrap_or(0).max(now))
                .arg("ids")
                .arg(lines.join("\n"));
            add
        };
        let adds: Vec<Cmd> = found.chunks(ENTRY_MAX).map(entry).collect();
        for chunk in adds.chunks(100) {
            self.all(chunk).await?;
        }
        Ok(found.len())
    }

    /// Ids at the ends of the structures, and of the newest events.
    async fn seen_around(&self, is_first: bool) -> Result<HashSet<String>, Error> {
        let (space, many) = (self.space(), if is_first { LOOK.1 } else { LOOK.0 });
        let last = many.to_string();
        let range = |name: &str, key: &str, from: &str, to: &str| {
            let mut range = cmd(name, key);
            range.arg(from).arg(to);
            range
        };
        let mut sample = cmd("SRANDMEMBER", space.active.as_str());
        sample.arg(many);
        let mut events = cmd("XREVRANGE", space.events.as_str());
        events.arg("+").arg("-").arg("COUNT").arg(2 * LOOK.0);
        let values = self
            .all(&[
                range("LRANGE", space.waiting.as_str(), "0", &last),
                range("LRANGE", space.waiting.as_str(), &format!("-{last}"), "-1"),
                range("LRANGE", space.deadletter.as_str(), "0", &last),
                range("ZRANGE", space.delayed.as_str(), "0", &last),
                range("ZREVRANGE", space.delayed.as_str(), "0", &last),
                range("ZRANGE", space.cron.as_str(), "0", &last),
                sample,
                events,
            ])
            .await?;
        let mut ids: HashSet<String> = values[..7].iter().flat_map(texts).collect();
        for entry in reply::list(&values[7]).unwrap_or_default() {
            let fields = reply::list(entry).and_then(|parts| parts.get(1)).map(texts);
            let mut fields = fields.unwrap_or_default().into_iter();
            // Events of types and workers have no job behind them and are left out where data is read.
            if fields.any(|name| name == "id")
                && let Some(id) = fields.next()
            {
                ids.insert(id);
            }
        }
        Ok(ids)
    }

    /// Makes the index anew from the jobs that there are, the newest last. Jobs that are dispatched meanwhile keep their
    /// own entries.
    pub(crate) async fn rebuild_index(&self, ids: &[String]) -> Result<usize, Error> {
        let mut newest = cmd("XREVRANGE", self.space().index.as_str());
        newest.arg("+").arg("-").arg("COUNT").arg(1);
        let last = entries(&self.call(&newest).await?).pop().map(|entry| entry.at);
        let mut fresh = Known { last: last.clone(), ..Known::default() };
        self.learn_index(&mut fresh, usize::MAX).await?;
        let old: Vec<String> = ids.iter().filter(|id| !fresh.has(id)).cloned().collect();
        let entered = self.add_to_index(&old).await?;
        if let Some((ms, seq)) = last.as_deref().and_then(|last| last.split_once('-')) {
            let next = seq.parse::<u64>().unwrap_or(0).saturating_add(1);
            let mut trim = cmd("XTRIM", self.space().index.as_str());
            trim.arg("MINID").arg(format!("{ms}-{next}"));
            self.call(&trim).await?;
        }
        Ok(entered)
    }

    /// How many jobs of a state there are, where a structure tells.
    pub(crate) async fn count_of(&self, status: Status) -> Result<Option<u64>, Error> {
        let space = self.space();
        let (name, key) = match status {
            Status::Waiting => ("LLEN", &space.waiting),
            Status::Active => ("SCARD", &space.active),
            Status::Delayed => ("ZCARD", &space.delayed),
            Status::Cron => ("ZCARD", &space.cron),
            Status::Dead => ("LLEN", &space.deadletter),
            Status::Completed | Status::Failed => return Ok(None),
        };
        let values =
            self.all(&[cmd(name, key.as_str()), cmd("SCARD", space.parked.as_str())]).await?;
        let parked = if status == Status::Waiting { reply::int(&values[1]) } else { None };
        let count = reply::int(&values[0]).unwrap_or(0) + parked.unwrap_or(0);
        Ok(Some(u64::try_from(count).unwrap_or(0)))
    }
}
