//! Entering a worker into the registry, and taking over an id whose process is dead: its process is over on this
//! machine, or nobody answers under the id. A living worker keeps its id.

use std::time::Duration;

use kernel::{Step, reply};

use crate::error::Error;
use crate::model::{Registration, Worker, WorkerFacts};
use crate::scripts::REGISTER;
use crate::store::{Jobs, cmd};

/// The time between two questions to a worker, and how many it leaves unanswered before it counts as dead.
const ANSWER: (Duration, u32) = (Duration::from_millis(100), 30);

/// The message on the control channel that asks for a sign of life, before the worker's id.
pub(crate) const ASK: &str = "ping ";

/// The worker that has an id: its entry as stored, what it says, and its last sign of life.
struct Holder {
    text: String,
    worker: Worker,
    seen: String,
}

impl Jobs {
    /// Enters a worker, with its first sign of life. Refused while another process lives under its id; jobs of one
    /// whose process is over wait again at once.
    pub async fn register(&self, facts: &WorkerFacts, entry: &Registration) -> Result<(), Error> {
        let Some(mut holder) = self.enter(facts, entry).await? else { return Ok(()) };
        let is_gone = holder.worker.is_gone();
        if (is_gone || self.is_silent(&holder).await?) && self.retire(&holder).await? {
            if is_gone {
                self.free_jobs_of(&facts.server_id).await?;
            }
            let Some(other) = self.enter(facts, entry).await? else { return Ok(()) };
            holder = other;
        }
        let worker = holder.worker;
        let (id, hostname, pid) = (facts.server_id.clone(), worker.hostname, worker.pid);
        Err(Error::WorkerInUse { id, hostname, pid })
    }

    /// Enters a worker; gives who has the id, if it is another.
    async fn enter(
        &self,
        facts: &WorkerFacts,
        entry: &Registration,
    ) -> Result<Option<Holder>, Error> {
        let now_ms = self.now_ms();
        let (now, opts, pid) = (now_ms.to_string(), self.opts(), entry.pid.to_string());
        let text = entry.text(facts, now_ms);
        let id = facts.server_id.as_str();
        let args: [&str; 6] = [&now, &opts, id, &pid, &entry.hostname, &text];
        let reply = self.script(&REGISTER, &args.map(str::as_bytes), self.by()).await?;
        let Some(parts) = reply::list(&reply) else { return Ok(None) };
        let part = |at: usize| parts.get(at).and_then(reply::text).unwrap_or_default().to_owned();
        let text = part(1);
        Ok(Some(Holder { worker: Worker::read(id, &text), text, seen: part(2) }))
    }

    /// Whether a worker gives no sign of life when it is asked for one. It is asked again and again, since it hears
    /// nothing while its subscription begins or heals. Those that cannot answer count as alive.
    async fn is_silent(&self, holder: &Holder) -> Result<bool, Error> {
        if holder.worker.process.is_none() {
            return Ok(false);
        }
        let id = &holder.worker.server_id;
        let mut ask = cmd("PUBLISH", self.space().control.as_str());
        ask.arg(format!("{ASK}{id}"));
        for _ in 0..ANSWER.1 {
            self.call(&ask).await?;
            self.clock().sleep(ANSWER.0).await;
            let seen = self.call(&cmd("GET", self.space().heartbeat(id))).await?;
            if reply::text(&seen).is_some_and(|seen| seen != holder.seen) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Ends the sign of life of a worker that was found dead; `false` when somebody was quicker.
    async fn retire(&self, holder: &Holder) -> Result<bool, Error> {
        let (space, id) = (self.space(), &holder.worker.server_id);
        let beat = Step::new(space.heartbeat(id)).expect(&holder.seen).delete();
        let step = beat.while_text(space.worker(id), &holder.text);
        Ok(self.store().step(&step, self.by()).await?.is_done())
    }

    /// Takes back the jobs of a worker whose process is over, without waiting for its locks.
    async fn free_jobs_of(&self, server_id: &str) -> Result<(), Error> {
        let held = self.held_by_worker().await?.remove(server_id).unwrap_or_default();
        let due = held.into_iter().map(|id| (id, server_id.to_owned())).collect();
        self.recover_active(due).await.map(drop)
    }
}
