//! The registry of workers: enter, signs of life, leave, who is alive, and telling one to be quiet or to stop.

use std::collections::{HashMap, HashSet};

use kernel::{Cmd, reply};

use crate::error::Error;
use crate::model::{Registration, Worker, WorkerFacts};
use crate::scripts::{REGISTER, UNREGISTER};
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// A worker that gave no sign for so long is dead.
pub(crate) const ALIVE_MS: i64 = 30_000;
/// A worker that is dead for so long is forgotten.
const FORGET_MS: i64 = 86_400_000;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// The order the worker was given.
    pub asked: Option<Asked>,
    /// Whether the registry had the worker; a store that lost its data has not.
    pub was_known: bool,
}

impl Jobs {
    /// Enters a worker, with its first sign of life. Refused while another process lives under its id.
    pub async fn register(&self, facts: &WorkerFacts, entry: &Registration) -> Result<(), Error> {
        let now_ms = self.now_ms();
        let (now, opts, pid) = (now_ms.to_string(), self.opts(), entry.pid.to_string());
        let text = entry.text(facts, now_ms);
        let args: [&str; 6] = [&now, &opts, &facts.server_id, &pid, &entry.hostname, &text];
        let reply = self.script(&REGISTER, &args.map(str::as_bytes), self.by()).await?;
        match reply::text(&reply) {
            Some("done") => Ok(()),
            _ => Err(Error::WorkerInUse(facts.server_id.clone())),
        }
    }

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

    /// A sign of life, every ten seconds. With an entry it also renews `lastSeen`, every thirty.
    pub async fn heartbeat(
        &self,
        facts: &WorkerFacts,
        entry: Option<&Registration>,
    ) -> Result<Beat, Error> {
        let (space, now_ms) = (self.space(), self.now_ms());
        let mut beat = cmd("SET", space.heartbeat(&facts.server_id));
        beat.arg(now_ms).arg("EX").arg(30);
        let mut asked = cmd("HGET", space.asked.as_str());
        asked.arg(&facts.server_id);
        let mut known = cmd("SISMEMBER", space.workers_active.as_str());
        known.arg(&facts.server_id);
        let mut cmds: Vec<Cmd> = vec![beat, asked, known];
        if let Some(entry) = entry {
            let mut seen = cmd("SET", space.worker(&facts.server_id));
            seen.arg(entry.text(facts, now_ms));
            let mut listed = cmd("SADD", space.workers_active.as_str());
            listed.arg(&facts.server_id);
            cmds.extend([seen, listed]);
        }
        let values = self.all(&cmds).await?;
        Ok(Beat {
            asked: reply::text(&values[1]).and_then(Asked::of),
            was_known: reply::int(&values[2]) == Some(1),
        })
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

    /// Ids of the jobs that each worker holds, sorted.
    pub(crate) async fn held_by_worker(&self) -> Result<HashMap<String, Vec<String>>, Error> {
        let claimed = self.call(&cmd("HGETALL", self.space().claimed.as_str())).await?;
        let mut held: HashMap<String, Vec<String>> = HashMap::new();
        for (id, value) in reply::pairs(&claimed).unwrap_or_default() {
            let worker = reply::text(value).and_then(|value| value.split(' ').nth(1));
            if let (Some(id), Some(worker)) = (reply::text(id), worker) {
                held.entry(worker.to_owned()).or_default().push(id.to_owned());
            }
        }
        for ids in held.values_mut() {
            ids.sort_unstable();
        }
        Ok(held)
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
