//! Jobs: a queue with routing, cron, rate limits and recovery (seed 004).
//!
//! Always true: a job has one owner at a time and a late owner writes nothing; status and the structure that
//! holds the job agree after every step; a firing happens once.

pub mod backoff;
mod counts;
pub mod cron;
mod error;
pub mod export;
mod jobs;
pub mod keys;
pub mod model;
mod options;
mod outcome;
pub mod routing;
mod scripts;
mod space;

pub use error::Error;
pub use jobs::Jobs;
pub use model::{
    Backoff, BackoffKind, Extras, Failure, Job, JobResult, Malformed, Mode, NewJob, OnConflict,
    Progress, RateLimit, Registration, Retry, Schedule, Status, Target, Unique, Worker,
    WorkerFacts,
};
pub use options::Options;
pub use outcome::{Claimed, Claims, Done, Ending, Finished, Scan, Wrote};
pub use scripts::SCRIPTS;
