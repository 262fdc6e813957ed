//! Values as they are stored (seed 004): jobs, results, progress, workers. Writers give the seed's exact bytes;
//! readers take what other programs wrote and treat a member of the wrong type as absent. Payload and
//! metadata stay raw text from end to end.

pub(crate) mod backoff;
mod body;
pub(crate) mod dice;
pub(crate) mod flow;
mod job;
mod new_job;
pub(crate) mod options;
pub(crate) mod outcome;
mod parts;
mod raw;
mod results;
pub mod routing;
mod rules;
mod text;
mod validate;
mod worker;

pub use flow::Flow;
pub use job::{Job, Malformed};
pub use new_job::{NewJob, OnConflict, Unique};
pub use parts::{Extras, Schedule, Status};
pub use results::{Failure, JobResult, Progress};
pub use rules::{Backoff, BackoffKind, Mode, RateLimit, Retry, Target};
pub use worker::{Registration, Worker, WorkerFacts};

pub(crate) use raw::{compact, quote};
pub(crate) use validate::{check_name, check_type};
pub(crate) use worker::{Memory, process_name};
