//! The end of an attempt as the script takes it: the outcome, the new text, what was edited meanwhile, what
//! nobody can read.

use kernel::reply;

use crate::error::Error;
use crate::jobs::{Jobs, cmd};
use crate::model::{Failure, Job, JobResult, WorkerFacts};
use crate::outcome::{Done, Ending, Wrote};
use crate::produce::unique_digest;

/// The arguments of one outcome.
pub(crate) struct Outcome {
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
    pub(crate) fn args(&self) -> [&[u8]; 12] {
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
    /// What the script needs to know about the end of an attempt.
    pub(crate) fn outcome(&self, facts: &WorkerFacts, done: &Done, now_ms: u64) -> Outcome {
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
    pub(crate) async fn finish_changed(
        &self,
        facts: &WorkerFacts,
        done: Done,
    ) -> Result<Wrote, Error> {
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

    pub(crate) async fn bury_unreadable(
        &self,
        facts: &WorkerFacts,
        id: String,
    ) -> Result<(), Error> {
        let value = self.call(&cmd("GET", self.space().data(&id))).await?;
        let text = String::from_utf8_lossy(reply::bytes(&value).unwrap_or_default()).into_owned();
        // The script read the type from the beginning of the text; the counter is that type's.
        let kind = text.split("\"type\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let stand_in = format!("{{\"type\":{}}}", serde_json::json!(kind.unwrap_or("?")));
        let Ok(job) = Job::read(id, stand_in) else { return Ok(()) };
        let failure = Failure::new("MalformedJob", "the stored job cannot be read");
        self.finish(facts, Done::new(job, Ending::Dead { failure }, 0)).await.map(drop)
    }

    pub(crate) fn count(&self, outcomes: &[Outcome], wrote: &[Wrote], now_ms: u64) {
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
}
