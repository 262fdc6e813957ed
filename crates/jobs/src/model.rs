//! Values as they are stored (seed 004): jobs, results, progress, workers. Writers give the seed's exact bytes;
//! readers take what other programs wrote and treat a member of the wrong type as absent. Payload and
//! metadata stay raw text from end to end.

mod body;
mod job;
mod new_job;
mod parts;
mod raw;
mod results;
mod rules;
mod text;
mod validate;
mod worker;

pub use job::{Job, Malformed};
pub use new_job::{NewJob, OnConflict, Unique};
pub use parts::{Extras, Schedule, Status};
pub use raw::compact;
pub use results::{Failure, JobResult, Progress};
pub use rules::{Backoff, BackoffKind, Mode, RateLimit, Retry, Target};
pub use validate::{check_id, check_type};
pub use worker::{Registration, Worker, WorkerFacts};

pub(crate) use raw::quote;
pub(crate) use worker::Memory;
