//! Jobs: a queue with routing, cron, rate limits and recovery (seed 004).
//!
//! Always true: a job has one owner at a time and a late owner writes nothing; status and the structure that
//! holds the job agree after every step; a firing happens once.

pub mod cron;
mod doctor;
mod error;
mod events;
pub mod keys;
pub mod metrics;
mod model;
mod said;
mod scheduler;
mod scripts;
mod store;
pub mod worker;

pub use error::{Error, refusal};
pub use model::options::{Catchup, CronFailed, Options, STARVATION_GUARD, bounds};
pub use model::outcome::{Claimed, Claims, Done, Ending, Finished, Scan, Wrote};
pub use model::{
    Backoff, BackoffKind, Extras, Failure, Flow, Job, JobResult, Malformed, Mode, NewJob,
    OnConflict, Progress, RateLimit, Registration, Retry, Schedule, Status, Target, Unique, Worker,
    WorkerFacts, routing,
};
pub use said::WORDINGS;
pub use scheduler::Scheduler;
pub use scripts::{SCRIPTS, export};
pub use store::{
    Jobs,
    act::Cancelled,
    batch::{Batch, NewBatch},
    counters::Miscount,
    definitions::{Definition, Fired, Overlap},
    dlq::{ErrorGroup, Pick},
    explain::{Explanation, Reason, WorkerVerdict},
    flows::{ChildJob, JobTree, TreeBranch},
    lease::Lease,
    limits::{Group, Limit},
    list::{ListQuery, Order, Page},
    numbers::{Queue, Queues, Stats},
    produce::{DISPATCH_MAX, Dispatched},
    read::{JobView, LockView},
    recover::Recovered,
    sweep::Sightings,
    work::WORK_MAX,
    workers::{Asked, Beat},
};
