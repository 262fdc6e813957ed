//! The registry of workers: enter, signs of life, leave, who is alive, and telling one to be quiet or to stop.

use std::collections::{HashMap, HashSet};

use kernel::{Cmd, reply};

use crate::error::Error;
use crate::model::{Registration, Worker, WorkerFacts};
use crate::scripts::UNREGISTER;
use crate::store::wire::{scanned, texts};
use crate::store::{Jobs, cmd, cmd_on};

/// A worker that gave no sign for so long is dead.
pub(crate) const ALIVE_MS: i64 = 30_000;
/// A worker that is dead for so long is forgotten.
const FORGET_MS: i64 = 86_400_000;

/// Active jobs that are looked through for those of programs without leases.
const LOOKED_AT: usize = 5_000;

/// An order to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Claim nothing more, finish what runs.
    Quiet,
    /// The same, then end.
    Stop,
}

impl Asked {
    /// As it is stored and told.
    pub const fn word(self) -> &'static str {
        match self {
            Asked::Quiet => "quiet",
            Asked::Stop => "stop",
        }
    }

    /// Reads a message of the control channel that is meant for this worker.
    pub fn read(message: &str, server_id: &str) -> Option<Asked> {
        let (word, worker) = message.split_once(' ')?;
        (worker == server_id).then(|| Asked::of(word)).flatten()
    }

    fn of(word: &str) -> Option<Asked> {
        [Asked::Quiet, Asked::Stop].into_iter().find(|asked| asked.word() == word)
    }
}

/// The answer to a sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// The order the worker was given.
    pub asked: Option<Asked>,
    /// Whether the registry had the worker; a store that lost its data has not.
    pub was_known: bool,
    /// The process that is entered under its id, if it says.
    pub(crate) process: Option<String>,
}

impl Beat {
    /// Whether another process was entered under the id of this one.
    pub(crate) fn is_replaced(&self, entry: &Registration) -> bool {
        self.process.as_ref().is_some_and(|process| *process != entry.process)
    }
}

impl Jobs {
    /// Takes a worker out; its jobs must be ended or handed back before.
    pub async fn unregister(&self, facts: &WorkerFacts, entry: &Registration) -> Result<(), Error> {
        self.take_out_worker(&facts.server_id, &entry.pid.to_string(), &entry.hostname)
            .await
            .map(drop)
    }

    /// `false` when another process has its id.
    async fn take_out_worker(
        &self,
        server_id: &str,
        pid: &str,
        hostname: &str,
    ) -> Result<bool, Error> {
        let (now, opts) = (self.now_ms().to_string(), self.opts());
        let args: [&str; 5] = [&now, &opts, server_id, pid, hostname];
        let reply = self.script(&UNREGISTER, &args.map(str::as_bytes), self.by()).await?;
        Ok(reply::text(&reply) == Some("done"))
    }

    /// A sign of life, every ten seconds. With an entry it also renews `lastSeen`, every thirty, unless another process
    /// was entered under its id.
    pub async fn heartbeat(
        &self,
        facts: &WorkerFacts,
        entry: Option<&Registration>,
    ) -> Result<Beat, Error> {
        let (space, now_ms, id) = (self.space(), self.now_ms(), &facts.server_id);
        let mut beat = cmd("SET", space.heartbeat(id));
        beat.arg(now_ms).arg("EX").arg(30);
        let asked = cmd_on("HGET", space.asked.as_str(), id);
        let known = cmd_on("SISMEMBER", space.workers_active.as_str(), id);
        let values = self.all(&[beat, asked, known, cmd("GET", space.worker(id))]).await?;
        let beat = Beat {
            asked: reply::text(&values[1]).and_then(Asked::of),
            was_known: reply::int(&values[2]) == Some(1),
            process: reply::text(&values[3]).and_then(|text| Worker::read(id, text).process),
        };
        if let Some(entry) = entry.filter(|entry| !beat.is_replaced(entry)) {
            let mut seen = cmd("SET", space.worker(id));
            seen.arg(entry.text(facts, now_ms));
            self.all(&[seen, cmd_on("SADD", space.workers_active.as_str(), id)]).await?;
        }
        Ok(beat)
    }

    /// Tells a worker to be quiet or to stop.
    pub async fn ask_worker(&self, server_id: &str, asked: Asked) -> Result<(), Error> {
        let space = self.space();
        let mut known = cmd("SISMEMBER", space.workers_active.as_str());
        known.arg(server_id);
        if reply::int(&self.call(&known).await?) != Some(1) {
            return Err(Error::Missing { what: "worker", id: server_id.to_owned() });
        }
        let mut stored = cmd("HSET", space.asked.as_str());
        stored.arg(server_id).arg(asked.word());
        let mut told = cmd("PUBLISH", space.control.as_str());
        told.arg(format!("{} {server_id}", asked.word()));
        self.all(&[stored, told]).await.map(drop)
    }

    /// Every registered worker, by id, with the jobs it holds.
    pub async fn workers(&self) -> Result<Vec<Worker>, Error> {
        let space = self.space();
        let mut ids = texts(&self.call(&cmd("SMEMBERS", space.workers_active.as_str())).await?);
        ids.sort_unstable();
        let cmds: Vec<Cmd> = ids
            .iter()
            .flat_map(|id| {
                let mut asked = cmd("HGET", space.asked.as_str());
                asked.arg(id);
                [cmd("GET", space.worker(id)), cmd("GET", space.heartbeat(id)), asked]
            })
            .collect();
        let values = self.all(&cmds).await?;
        let mut held = self.held_by_worker().await?;
        let now_ms = i64::try_from(self.now_ms()).unwrap_or(i64::MAX);
        Ok(ids
            .iter()
            .zip(values.chunks_exact(3))
            .map(|(id, parts)| {
                let mut worker = Worker::read(id, reply::text(&parts[0]).unwrap_or_default());
                worker.note_life(reply::int(&parts[1]), now_ms);
                worker.jobs = held.remove(id).unwrap_or_default();
                worker.asked = reply::text(&parts[2]).map(str::to_owned);
                worker
            })
            .collect())
    }

    /// Which of these workers live, whether or not the registry lists them: it may have lost its data.
    pub(crate) async fn living(&self, ids: &HashSet<String>) -> Result<HashSet<String>, Error> {
        let space = self.space();
        let cmds: Vec<Cmd> = ids
            .iter()
            .flat_map(|id| [cmd("GET", space.worker(id)), cmd("GET", space.heartbeat(id))])
            .collect();
        let values = self.all(&cmds).await?;
        let now_ms = i64::try_from(self.now_ms()).unwrap_or(i64::MAX);
        let alive = ids.iter().zip(values.chunks_exact(2)).filter(|(id, parts)| {
            let mut worker = Worker::read(id, reply::text(&parts[0]).unwrap_or_default());
            worker.note_life(reply::int(&parts[1]), now_ms);
            worker.alive
        });
        Ok(alive.map(|(id, _)| id.clone()).collect())
    }

    /// Ids of the jobs that each worker holds, sorted: those with a lease, and active ones that a program without
    /// leases claimed, by their locks.
    pub(crate) async fn held_by_worker(&self) -> Result<HashMap<String, Vec<String>>, Error> {
        let space = self.space();
        let active = cmd("SCARD", space.active.as_str());
        let values = self.all(&[cmd("HGETALL", space.claimed.as_str()), active]).await?;
        let (mut held, mut leased) = (HashMap::<String, Vec<String>>::new(), HashSet::new());
        for (id, value) in reply::pairs(&values[0]).unwrap_or_default() {
            let worker = reply::text(value).and_then(|value| value.split(' ').nth(1));
            if let (Some(id), Some(worker)) = (reply::text(id), worker) {
                leased.insert(id.to_owned());
                held.entry(worker.to_owned()).or_default().push(id.to_owned());
            }
        }
        if reply::int(&values[1])
            .is_some_and(|active| active > i64::try_from(leased.len()).unwrap_or(i64::MAX))
        {
            for (worker, id) in self.held_without_lease(&leased).await? {
                held.entry(worker).or_default().push(id);
            }
        }
        for ids in held.values_mut() {
            ids.sort_unstable();
        }
        Ok(held)
    }

    /// Owner and id of active jobs that have a lock and no lease. Looks at a bounded number.
    async fn held_without_lease(
        &self,
        leased: &HashSet<String>,
    ) -> Result<Vec<(String, String)>, Error> {
        let (mut found, mut cursor, mut looked_at) = (Vec::new(), b"0".to_vec(), 0);
        loop {
            let mut scan = cmd("SSCAN", self.space().active.as_str());
            scan.arg(&cursor).arg("COUNT").arg(500);
            let (next, mut ids) = scanned(&self.call(&scan).await?);
            looked_at += ids.len();
            ids.retain(|id| !leased.contains(id));
            let gets: Vec<Cmd> = ids.iter().map(|id| cmd("GET", self.space().lock(id))).collect();
            for (id, owner) in ids.into_iter().zip(self.all(&gets).await?) {
                found.extend(reply::text(&owner).map(|owner| (owner.to_owned(), id)));
            }
            cursor = next;
            if cursor == b"0" || looked_at >= LOOKED_AT {
                return Ok(found);
            }
        }
    }

    /// Forgets workers that are dead for a day; the scheduler calls it.
    pub async fn forget_workers(&self) -> Result<Vec<String>, Error> {
        let now_ms = i64::try_from(self.now_ms()).unwrap_or(i64::MAX);
        let mut gone = Vec::new();
        for worker in self.workers().await? {
            if worker.alive || now_ms - worker.last_seen < FORGET_MS {
                continue;
            }
            let (pid, host) = (worker.pid.to_string(), worker.hostname.as_str());
            if self.take_out_worker(&worker.server_id, &pid, host).await? {
                gone.push(worker.server_id);
            }
        }
        Ok(gone)
    }
}
