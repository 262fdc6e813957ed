//! The end of an attempt as the script takes it: the outcome and the new text. A job that was
//! edited meanwhile is decided anew; one that nobody can read is buried.

use kernel::reply;

use crate::error::Error;
use crate::model::options::CronFailed;
use crate::model::outcome::{Done, Ending, Wrote};
use crate::model::{Failure, Job, JobResult, WorkerFacts};
use crate::store::produce::unique_digest;
use crate::store::{Jobs, cmd};

/// The arguments of one outcome.
pub(crate) struct Outcome<'a> {
    done: &'a Done,
    word: &'static str,
    result: String,
    body: String,
    /// Letters that say what there is to the job; see `finish_attempt.lua`.
    flags: String,
    /// Absent without flags.
    more: Option<More>,
}

struct More {
    new_text: String,
    old_text: String,
    run_at: String,
    digest: String,
    batch: String,
}

impl Outcome<'_> {
    pub(crate) fn add_to<'a>(&'a self, args: &mut Vec<&'a [u8]>) {
        let job = &self.done.job;
        for word in [&job.id, self.word, &job.kind, &self.result, &self.body, &self.flags] {
            args.push(word.as_bytes());
        }
        let Some(more) = &self.more else { return };
        let more = [&more.new_text, &more.old_text, &more.run_at, &more.digest, &more.batch];
        args.extend(more.map(String::as_bytes));
    }
}

impl Jobs {
    /// The arguments for the script about the end of an attempt.
    pub(crate) fn outcome<'a>(
        &self,
        facts: &WorkerFacts,
        done: &'a Done,
        now_ms: u64,
    ) -> Outcome<'a> {
        let job = &done.job;
        // A definition fires on, so what failed for good is told by a letter of its own or by an alarm.
        let dead_firing = job.is_cron() && matches!(done.ending, Ending::Dead { .. });
        let letter = dead_firing && self.options().cron_failed == CronFailed::Letter;
        let letter = letter.then(|| format!("{}:{now_ms}", job.id));
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
                let text = letter.as_ref().map(|id| job.instance(id, now_ms)).unwrap_or_default();
                ("dead", JobResult::failure(failure, now_ms, done.took_ms), text, 0)
            }
            Ending::Failed { failure } => {
                ("failed", JobResult::failure(failure, now_ms, done.took_ms), String::new(), 0)
            }
            Ending::HandBack => ("hand_back", String::new(), String::new(), 0),
        };
        let is_retry = matches!(done.ending, Ending::Retry { .. });
        let flags: String = [
            ('c', job.is_cron()),
            // An attempt before this one may have left some progress.
            ('p', done.progressed || job.attempts > 0),
            ('l', self.is_too_large(done)),
            ('u', job.x.unique_key.is_some()),
            ('b', job.x.batch.is_some()),
            ('f', job.x.flow.is_some() && !job.depends_on.is_empty()),
            ('r', is_retry),
            ('h', is_retry && job.is_high()),
        ]
        .into_iter()
        .filter_map(|(letter, is_so)| is_so.then_some(letter))
        .collect();
        let body = crate::events::outcome_body(facts, done);
        let more = (!flags.is_empty()).then(|| More {
            old_text: if is_retry { job.text().to_owned() } else { letter.unwrap_or_default() },
            new_text,
            run_at: run_at.to_string(),
            digest: job.x.unique_key.as_deref().map(unique_digest).unwrap_or_default(),
            batch: job.x.batch.clone().unwrap_or_default(),
        });
        Outcome { done, word, result, body, flags, more }
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
            // The job's data is gone: there is nothing to run again.
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

    pub(crate) fn count(&self, outcomes: &[Outcome<'_>], wrote: &[Wrote], now_ms: u64) {
        let mut counts = self.counts().on(now_ms);
        for (outcome, wrote) in outcomes.iter().zip(wrote) {
            let word = match (wrote, outcome.word) {
                (Wrote::Cancelled, _) => "failed",
                (Wrote::Lost, _) | (_, "hand_back") => continue,
                (_, "retry") => "retried",
                (_, word) => word,
            };
            counts.add(&outcome.done.job.kind, word, outcome.done.took_ms);
        }
    }
}
