//! The worker's side: claim, finish, both in one step, renew, progress. A worker that lost its lock writes
//! nothing. Nobody else's job is ever touched.

use kernel::{Value, reply};

use crate::error::Error;
use crate::jobs::{Jobs, cmd};
use crate::model::{Failure, Job, JobResult, Memory, Progress, WorkerFacts};
use crate::outcome::{Claimed, Claims, Done, Ending, Finished, Scan, Wrote};
use crate::produce::unique_digest;
use crate::scripts::{FINISH_AND_CLAIM, PROGRESS, RENEW};

/// Jobs that one call finishes or claims at most.
pub const WORK_MAX: usize = 64;

/// How a lease stands after [`Jobs::renew`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// It goes on.
    Held,
    /// It goes on, and the job's cancellation was asked for.
    Cancelled,
    /// Another worker may have the job: stop, and write nothing.
    Lost,
}

/// The arguments of one outcome.
struct Outcome {
    id: String,
    word: &'static str,
    kind: String,
    result: String,
    new_text: String,
    old_text: String,
    run_at: String,
    high: &'static str,
    flags: String,
    digest: String,
    batch: String,
    body: String,
    took_ms: u64,
}

impl Outcome {
    fn args(&self) -> [&[u8]; 12] {
        [
            self.id.as_bytes(),
            self.word.as_bytes(),
            self.kind.as_bytes(),
            self.result.as_bytes(),
            self.new_text.as_bytes(),
            self.old_text.as_bytes(),
            self.run_at.as_bytes(),
            self.high.as_bytes(),
            self.flags.as_bytes(),
            self.digest.as_bytes(),
            self.batch.as_bytes(),
            self.body.as_bytes(),
        ]
    }
}

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
        let outcomes: Vec<Outcome> =
            done.iter().map(|done| self.outcome(facts, done, now_ms)).collect();
        let (reply, lease_until) = self.work_call(facts, &outcomes, count, now_ms).await?;
        let parts = reply::list(&reply).unwrap_or_default();
        let [wrote, jobs, scan, malformed, memory] = parts else {
            return Err(reply::unexpected("finish_and_claim", "five parts", &reply).into());
        };
        let mut finished = Finished { wrote: Vec::new(), claims: Claims::default() };
        for (done, word) in done.iter().zip(reply::list(wrote).unwrap_or_default()) {
            let wrote = match reply::text(word) {
                Some("written") => Wrote::Written,
                Some("cancelled") => Wrote::Cancelled,
                Some("changed") => Box::pin(self.finish_changed(facts, done.clone())).await?,
                _ => Wrote::Lost,
            };
            finished.wrote.push(wrote);
        }
        self.count(&outcomes, &finished.wrote, now_ms);
        if count > 0 {
            remember(facts, memory, now_ms);
        }
        finished.claims =
            Claims { jobs: Vec::new(), scan: scan_of(scan), malformed: texts(malformed) };
        for pair in reply::list(jobs).unwrap_or_default().chunks_exact(2) {
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
        Ok(finished)
    }

    async fn work_call(
        &self,
        facts: &WorkerFacts,
        outcomes: &[Outcome],
        count: usize,
        now_ms: u64,
    ) -> Result<(Value, u64), Error> {
        let head = self.ending_args();
        let ttl_s = self.options().lock_ttl_s;
        let list = |words: &[String]| serde_json::to_string(words).expect("text is always JSON");
        let types = facts.types.as_deref().map_or(String::new(), |types| {
            types.iter().fold("\n".to_owned(), |all, one| all + one + "\n")
        });
        let memory = self.recall(facts, now_ms);
        let region: Vec<String> = facts.region.iter().cloned().collect();
        let own = [
            facts.server_id.clone(),
            outcomes.len().to_string(),
            count.to_string(),
            ttl_s.to_string(),
            list(std::slice::from_ref(&facts.stack)),
            list(&facts.capabilities),
            list(&region),
            types,
            self.options().scan_limit.to_string(),
            memory.head,
            memory.last,
            memory.index.to_string(),
        ];
        let mut args: Vec<&[u8]> = head.iter().chain(&own).map(String::as_bytes).collect();
        args.extend(outcomes.iter().flat_map(Outcome::args));
        let reply = self.script(&FINISH_AND_CLAIM, &args, self.by()).await?;
        Ok((reply, now_ms + u64::from(ttl_s) * 1000))
    }

    /// What the script needs to know about the end of an attempt.
    fn outcome(&self, facts: &WorkerFacts, done: &Done, now_ms: u64) -> Outcome {
        let job = &done.job;
        let (word, result, new_text, run_at) = match &done.ending {
            Ending::Completed { data } => {
                // A result that is too large is stored as null, and told.
                let data = if self.is_too_large(done) { Some("null") } else { data.as_deref() };
                ("completed", JobResult::success(data, now_ms, done.took_ms), String::new(), 0)
            }
            Ending::Retry { failure, run_at, counts, reroute } => {
                let attempts = job.attempts + u32::from(*counts);
                let text = if *reroute {
                    job.rerouted(&facts.server_id, attempts)
                } else {
                    job.with_attempts(attempts)
                };
                ("retry", JobResult::failure(failure, now_ms, done.took_ms), text, *run_at)
            }
            Ending::Dead { failure } => {
                ("dead", JobResult::failure(failure, now_ms, done.took_ms), String::new(), 0)
            }
            Ending::Failed { failure } => {
                ("failed", JobResult::failure(failure, now_ms, done.took_ms), String::new(), 0)
            }
            Ending::HandBack => ("back", String::new(), String::new(), 0),
        };
        let mut flags = String::new();
        if job.is_cron() {
            flags.push('c');
        }
        if done.progressed {
            flags.push('p');
        }
        if self.is_too_large(done) {
            flags.push('l');
        }
        Outcome {
            id: job.id.clone(),
            word,
            kind: job.kind.clone(),
            result,
            old_text: if new_text.is_empty() { String::new() } else { job.text().to_owned() },
            new_text,
            run_at: run_at.to_string(),
            high: if job.is_high() { "1" } else { "" },
            flags,
            digest: job.x.unique_key.as_deref().map(unique_digest).unwrap_or_default(),
            batch: job.x.batch.clone().unwrap_or_default(),
            body: crate::events::outcome_body(facts, done),
            took_ms: done.took_ms,
        }
    }

    fn is_too_large(&self, done: &Done) -> bool {
        matches!(&done.ending, Ending::Completed { data: Some(data) } if data.len() > self.options().result_max)
    }

    /// The stored text is not the one that was claimed: somebody edited the job while it ran. Decide anew.
    async fn finish_changed(&self, facts: &WorkerFacts, done: Done) -> Result<Wrote, Error> {
        let text = self.text_of(&done.job.id).await?;
        let stored = text.and_then(|text| Job::read(&*done.job.id, text).ok());
        let again = if let Some(job) = stored {
            Done { job, ..done }
        } else {
            // Its data is gone: there is nothing to run again.
            let failure = Failure::new("JobGone", "the job was removed while it ran");
            Done { ending: Ending::Failed { failure }, ..done }
        };
        self.finish(facts, again).await
    }

    async fn bury_unreadable(&self, facts: &WorkerFacts, id: String) -> Result<(), Error> {
        let value = self.call(&cmd("GET", self.space().data(&id))).await?;
        let text = String::from_utf8_lossy(reply::bytes(&value).unwrap_or_default()).into_owned();
        // The script read the type from the beginning of the text; the counter is that type's.
        let kind = text.split("\"type\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let stand_in = format!("{{\"type\":{}}}", serde_json::json!(kind.unwrap_or("?")));
        let Ok(job) = Job::read(id, stand_in) else { return Ok(()) };
        let failure = Failure::new("MalformedJob", "the stored job cannot be read");
        self.finish(facts, Done::new(job, Ending::Dead { failure }, 0)).await.map(drop)
    }

    fn count(&self, outcomes: &[Outcome], wrote: &[Wrote], now_ms: u64) {
        for (outcome, wrote) in outcomes.iter().zip(wrote) {
            let word = match (wrote, outcome.word) {
                (Wrote::Lost, _) | (_, "back") => continue,
                (Wrote::Cancelled, _) => "failed",
                (_, "retry") => "retried",
                (_, word) => word,
            };
            self.counts().add(now_ms, &outcome.kind, word, outcome.took_ms);
        }
    }

    /// What the worker remembers of the head of the list. It forgets in time, because jobs may have been put
    /// before what it remembers while others took the head away; the farther it got, the longer it keeps it.
    fn recall(&self, facts: &WorkerFacts, now_ms: u64) -> Memory {
        let mut memory = facts.memory.lock();
        let stretches = memory.index / u64::from(self.options().scan_limit);
        let keep_ms = 1_000 * (1 + stretches).min(60);
        if now_ms.saturating_sub(memory.since_ms) > keep_ms {
            *memory = Memory::default();
        }
        memory.clone()
    }

    /// Prolongs leases; one answer per id, in order.
    pub async fn renew(&self, facts: &WorkerFacts, ids: &[&str]) -> Result<Vec<Lease>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (now, ttl) = (self.now_ms().to_string(), self.options().lock_ttl_s.to_string());
        let mut args: Vec<&[u8]> = vec![now.as_bytes(), facts.server_id.as_bytes(), ttl.as_bytes()];
        args.extend(ids.iter().map(|id| id.as_bytes()));
        let reply = self.script(&RENEW, &args, self.by()).await?;
        let answers = reply::list(&reply).unwrap_or_default().iter();
        Ok(answers
            .map(|answer| match reply::int(answer) {
                Some(1) => Lease::Held,
                Some(2) => Lease::Cancelled,
                _ => Lease::Lost,
            })
            .collect())
    }

    /// Writes how far a job is; `false` when the worker does not own it any more.
    pub async fn progress(
        &self,
        facts: &WorkerFacts,
        id: &str,
        progress: &Progress,
    ) -> Result<bool, Error> {
        let text = progress.text(self.now_ms());
        let args = [facts.server_id.as_bytes(), id.as_bytes(), text.as_bytes()];
        let reply = self.script(&PROGRESS, &args, self.by()).await?;
        Ok(reply::text(&reply) == Some("written"))
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

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let parts = reply::list(value).unwrap_or_default().iter();
    parts.filter_map(|part| reply::text(part).map(str::to_owned)).collect()
}
