//! A worker's report on a job it ran, and the answer to it: the values of
//! [`crate::Jobs::finish_and_claim`].

use serde::Serialize;

use crate::model::{Failure, Job};

/// A job that a worker holds.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The job.
    pub job: Job,
    /// Unix milliseconds of the claim.
    pub claimed_at: u64,
    /// Unix milliseconds at which its lease ends unless it is renewed.
    pub lease_until: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub enum Ending {
    /// It worked. `data` is raw JSON, absent when the handler returned nothing.
    Completed {
        /// The handler's result.
        data: Option<String>,
    },
    /// It runs again.
    Retry {
        /// The reason.
        failure: Failure,
        /// Unix milliseconds; 0 is at once.
        run_at: u64,
        /// Whether this uses up an attempt; a snooze does not.
        counts: bool,
        /// Whether another worker must run it.
        reroute: bool,
    },
    /// It goes to the dead letters.
    Dead {
        /// The reason.
        failure: Failure,
    },
    /// It ends as `failed` and is in no list: discarded, cancelled, expired.
    Failed {
        /// The reason.
        failure: Failure,
    },
    /// It was not run to its end and goes back to the front, as if it had not been claimed.
    HandBack,
}

impl Ending {
    /// The ending by the job's own rules after a failure: dead when `skipOn` names it or no attempt
    /// is left, else a retry after `delay_ms`, elsewhere when `rerouteOn` names it.
    pub fn after(job: &Job, failure: Failure, now_ms: u64, delay_ms: u64) -> Ending {
        let names = |list: &[String]| list.contains(&failure.name);
        if names(&job.retry.skip_on) || job.attempts >= job.retry.attempts {
            return Ending::Dead { failure };
        }
        let reroute = names(&job.retry.reroute_on);
        let run_at = if delay_ms == 0 { 0 } else { now_ms.saturating_add(delay_ms) };
        Ending::Retry { failure, run_at, counts: true, reroute }
    }
}

/// A job and how its attempt ended.
#[derive(Debug, Clone)]
pub struct Done {
    /// The job as it was claimed.
    pub job: Job,
    /// The ending.
    pub ending: Ending,
    /// Milliseconds in the handler.
    pub took_ms: u64,
    /// Whether progress was written, which then gets a life.
    pub progressed: bool,
}

impl Done {
    /// An attempt that wrote no progress.
    pub fn new(job: Job, ending: Ending, took_ms: u64) -> Done {
        Done { job, ending, took_ms, progressed: false }
    }
}

/// The outcome of writing a [`Done`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrote {
    /// As it was said.
    Written,
    /// The job was cancelled meanwhile and ended as `failed`, whatever was said.
    Cancelled,
    /// The worker does not own the job any more: nothing was written.
    Lost,
}

/// The counts of the jobs that a claim looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scan {
    /// Jobs looked at.
    pub scanned: u64,
    /// Of a paused type.
    pub skipped_paused: u64,
    /// At a limit.
    pub skipped_limited: u64,
    /// For other workers, or of a type without a handler here.
    pub skipped_target: u64,
    /// Locked by somebody.
    pub skipped_locked: u64,
    /// Unreadable.
    pub malformed: u64,
}

/// The result of a claim.
#[derive(Debug, Default)]
pub struct Claims {
    /// The jobs, in the order of the list.
    pub jobs: Vec<Claimed>,
    /// The counts of the jobs it looked at.
    pub scan: Scan,
    /// Ids of unreadable jobs it met; the scheduler moves them to the dead letters.
    pub malformed: Vec<String>,
}

/// The result of [`crate::Jobs::finish_and_claim`].
#[derive(Debug, Default)]
pub struct Finished {
    /// One per outcome, in order.
    pub wrote: Vec<Wrote>,
    /// The jobs that were claimed.
    pub claims: Claims,
}
