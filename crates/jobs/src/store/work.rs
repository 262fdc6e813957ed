//! The worker's side: claim, finish, both in one step. A worker that lost its lock writes
//! nothing. Nobody else's job is ever touched.

use kernel::{Value, reply};

use crate::error::Error;
use crate::model::outcome::{Claimed, Claims, Done, Ending, Finished, Scan, Wrote};
use crate::model::{Failure, Job, Memory, WorkerFacts};
use crate::scripts::FINISH_AND_CLAIM;
use crate::store::Jobs;
use crate::store::finish::Outcome;
use crate::store::wire::texts;

/// Jobs that one call finishes or claims at most.
pub const WORK_MAX: usize = 64;

impl Jobs {
    /// Claims up to `count` jobs that this worker may run, in the order of the list.
    pub async fn claim(&self, facts: &WorkerFacts, count: usize) -> Result<Claims, Error> {
        Ok(self.finish_and_claim(facts, &[], count).await?.claims)
    }

    /// Ends one attempt well; `data` is raw JSON.
    pub async fn complete(
        &self,
        facts: &WorkerFacts,
        job: Job,
        data: Option<String>,
        took_ms: u64,
    ) -> Result<Wrote, Error> {
        self.finish(facts, Done::new(job, Ending::Completed { data }, took_ms)).await
    }

    /// Ends one attempt with a failure, by the job's own rules; `random` is 0 to 1 and spreads the wait.
    pub async fn fail(
        &self,
        facts: &WorkerFacts,
        job: Job,
        failure: Failure,
        took_ms: u64,
        random: f64,
    ) -> Result<Wrote, Error> {
        let delay_ms = job.retry.backoff.delay_ms(job.attempts, random);
        let ending = Ending::after(&job, failure, self.now_ms(), delay_ms);
        self.finish(facts, Done::new(job, ending, took_ms)).await
    }

    /// Gives a job back that was not run to its end: to the front, as if it had not been claimed.
    pub async fn hand_back(&self, facts: &WorkerFacts, job: Job) -> Result<Wrote, Error> {
        self.finish(facts, Done::new(job, Ending::HandBack, 0)).await
    }

    /// Ends one attempt.
    pub async fn finish(&self, facts: &WorkerFacts, done: Done) -> Result<Wrote, Error> {
        let finished = self.finish_and_claim(facts, &[done], 0).await?;
        Ok(finished.wrote.into_iter().next().unwrap_or(Wrote::Lost))
    }

    /// Ends attempts and claims up to `count` jobs, in one step; at most [`WORK_MAX`] of each, more take more
    /// steps.
    pub async fn finish_and_claim(
        &self,
        facts: &WorkerFacts,
        done: &[Done],
        count: usize,
    ) -> Result<Finished, Error> {
        let mut finished = Finished::default();
        let mut done = done;
        while done.len() > WORK_MAX {
            let (part, rest) = done.split_at(WORK_MAX);
            finished.wrote.extend(self.step(facts, part, 0).await?.wrote);
            done = rest;
        }
        let part = self.step(facts, done, count.min(WORK_MAX)).await?;
        finished.wrote.extend(part.wrote);
        finished.claims = part.claims;
        Ok(finished)
    }

    async fn step(
        &self,
        facts: &WorkerFacts,
        done: &[Done],
        count: usize,
    ) -> Result<Finished, Error> {
        let now_ms = self.now_ms();
        let outcomes: Vec<Outcome<'_>> =
            done.iter().map(|done| self.outcome(facts, done, now_ms)).collect();
        let (reply, lease_until) = self.work_call(facts, &outcomes, count, now_ms).await?;
        let parts = reply::list(&reply).unwrap_or_default();
        let [wrote, seen, jobs @ ..] = parts else {
            return Err(reply::unexpected("finish_and_claim", "two parts and jobs", &reply).into());
        };
        let mut finished =
            Finished { wrote: Vec::with_capacity(done.len()), claims: Claims::default() };
        // Nothing said: all was written.
        let words = reply::list(wrote);
        for (at, done) in done.iter().enumerate() {
            let word = words.map_or(Some("written"), |words| words.get(at).and_then(reply::text));
            let wrote = match word {
                Some("written") => Wrote::Written,
                Some("cancelled") => Wrote::Cancelled,
                Some("changed") => Box::pin(self.finish_changed(facts, done.clone())).await?,
                _ => Wrote::Lost,
            };
            finished.wrote.push(wrote);
        }
        self.count(&outcomes, &finished.wrote, now_ms);
        // Nothing said: all that was looked at was claimed.
        let (scan, malformed) = if let Some([scan, malformed, memory]) = reply::list(seen) {
            remember(facts, memory, now_ms);
            (scan_of(scan), texts(malformed))
        } else {
            if count > 0 {
                facts.memory.lock().forget();
            }
            (Scan { scanned: jobs.len() as u64 / 2, ..Scan::default() }, Vec::new())
        };
        finished.claims = Claims { jobs: Vec::with_capacity(jobs.len() / 2), scan, malformed };
        for pair in jobs.chunks_exact(2) {
            let Some(id) = reply::text(&pair[0]) else { continue };
            match reply::text(&pair[1]).and_then(|text| Job::read(id, text).ok()) {
                Some(job) => {
                    let claimed = Claimed { job, claimed_at: now_ms, lease_until };
                    finished.claims.jobs.push(claimed);
                }
                // It looked like a job to the script and is none.
                None => Box::pin(self.bury_unreadable(facts, id.to_owned())).await?,
            }
        }
        if count > 0 {
            self.note_fronts(facts, &finished.claims.jobs);
        }
        Ok(finished)
    }

    async fn work_call(
        &self,
        facts: &WorkerFacts,
        outcomes: &[Outcome<'_>],
        count: usize,
        now_ms: u64,
    ) -> Result<(Value, u64), Error> {
        let head = self.ending_args();
        let options = self.options();
        let lease_until = now_ms + u64::from(options.lock_ttl_s) * 1000;
        let memory = self.owed(facts).unwrap_or_else(|| self.recall(facts, now_ms));
        let said = facts.said();
        let window = count.min(options.scan_limit as usize).saturating_sub(1);
        let own = [
            outcomes.len().to_string(),
            count.to_string(),
            window.to_string(),
            options.lock_ttl_s.to_string(),
        ];
        let (scan_limit, index) = (options.scan_limit.to_string(), memory.index.to_string());
        let mut args: Vec<&[u8]> = Vec::with_capacity(15 + outcomes.len() * 5);
        args.extend(head.iter().map(String::as_bytes));
        args.push(facts.server_id.as_bytes());
        args.extend(own.iter().map(String::as_bytes));
        for word in [&said.routing, &said.types, &scan_limit, &memory.head, &memory.last, &index] {
            args.push(word.as_bytes());
        }
        for outcome in outcomes {
            outcome.add_to(&mut args);
        }
        let reply = self.script(&FINISH_AND_CLAIM, &args, self.by()).await?;
        Ok((reply, lease_until))
    }

    /// The worker's memory of the head of the list. It expires, because jobs may have been put
    /// before it while others took the head away; the farther the worker got, the longer it keeps
    /// it.
    fn recall(&self, facts: &WorkerFacts, now_ms: u64) -> Memory {
        let mut memory = facts.memory.lock();
        let stretches = memory.index / u64::from(self.options().scan_limit);
        let keep_ms = 1_000 * (1 + stretches).min(60);
        if now_ms.saturating_sub(memory.since_ms) > keep_ms {
            *memory = Memory::default();
        }
        memory.clone()
    }
}

fn remember(facts: &WorkerFacts, memory: &Value, now_ms: u64) {
    let parts = reply::list(memory).unwrap_or_default();
    let text = |at: usize| parts.get(at).and_then(reply::text).unwrap_or_default().to_owned();
    let index = parts.get(2).and_then(reply::int).and_then(|index| u64::try_from(index).ok());
    let mut known = facts.memory.lock();
    *known = match index {
        Some(index) if !text(1).is_empty() => {
            let since_ms = if known.last.is_empty() { now_ms } else { known.since_ms };
            Memory { head: text(0), last: text(1), index, since_ms }
        }
        _ => Memory::default(),
    };
}

fn scan_of(value: &Value) -> Scan {
    let numbers: Vec<u64> = reply::list(value)
        .unwrap_or_default()
        .iter()
        .map(|part| reply::int(part).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
        .collect();
    let at = |n: usize| numbers.get(n).copied().unwrap_or(0);
    Scan {
        scanned: at(0),
        skipped_paused: at(1),
        skipped_limited: at(2),
        skipped_target: at(3),
        skipped_locked: at(4),
        malformed: at(5),
    }
}
