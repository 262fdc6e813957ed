//! Jobs: a queue with routing, cron, rate limits and recovery (seed 004).
//!
//! Always true: a job has one owner at a time and a late owner writes nothing; status and the structure that
//! holds the job agree after every step; a firing happens once.

mod act;
pub mod backoff;
mod batch;
mod counters;
mod counts;
pub mod cron;
mod definitions;
mod dice;
mod dlq;
mod doctor;
mod error;
pub mod events;
mod explain;
pub mod export;
mod finish;
mod guard;
mod jobs;
pub mod keys;
mod lease;
mod list;
pub mod metrics;
pub mod model;
mod numbers;
mod options;
mod outcome;
mod produce;
mod read;
mod recover;
mod rotate;
pub mod routing;
mod scheduler;
mod scripts;
mod space;
mod sweep;
mod wait;
mod wire;
mod work;
pub mod worker;
mod workers;

pub use act::Cancelled;
pub use batch::{Batch, NewBatch};
pub use counters::Miscount;
pub use definitions::{Definition, Fired, Overlap};
pub use dlq::{ErrorGroup, Pick};
pub use error::Error;
pub use explain::{Explanation, Reason, WorkerVerdict};
pub use jobs::Jobs;
pub use lease::Lease;
pub use list::{ListQuery, Page};
pub use model::{
    Backoff, BackoffKind, Extras, Failure, Job, JobResult, Malformed, Mode, NewJob, OnConflict,
    Progress, RateLimit, Registration, Retry, Schedule, Status, Target, Unique, Worker,
    WorkerFacts,
};
pub use numbers::{Queue, Queues, Stats};
pub use options::{Catchup, Options, STARVATION_GUARD};
pub use outcome::{Claimed, Claims, Done, Ending, Finished, Scan, Wrote};
pub use produce::{DISPATCH_MAX, Dispatched};
pub use read::{JobView, LockView};
pub use recover::Recovered;
pub use scheduler::Scheduler;
pub use scripts::SCRIPTS;
pub use sweep::Sightings;
pub use work::WORK_MAX;
pub use workers::{Asked, Beat};
