//! Refusals of the job queue: each has a stable code, a sentence, and the field where one is meant.
//! A failure of the store is a [`Fault`].

use std::borrow::Cow;

use kernel::{Fault, Params, RefusalDef, Refuses, params};

/// The refusals that a caller of the queue may hear, with what to do.
pub mod refusal {
    kernel::refusals! {
        INVALID_BODY = "invalid_body", Invalid, "the body is not a job; `/docs` shows the fields";
        UNKNOWN_FIELD = "unknown_field", Invalid, "no such field of a job; `field` names it, put own data into `metadata`";
        INVALID_ID = "invalid_id", Invalid, "a job id is 1 to 128 of `A-Z a-z 0-9 . _ ~ - :` and does not end like a verb";
        INVALID_TYPE = "invalid_type", Invalid, "a type is 1 to 200 bytes without control characters and does not end like a verb";
        INVALID_PAYLOAD = "invalid_payload", Invalid, "the payload is not JSON, or nested deeper than 100";
        INVALID_PRIORITY = "invalid_priority", Invalid, "a priority is a whole number from 1 to 10";
        INVALID_SCHEDULE = "invalid_schedule", Invalid, "the schedule is not an object";
        INVALID_DELAY = "invalid_delay", Invalid, "a delay is milliseconds from 0 to ten years";
        INVALID_RUN_AT = "invalid_run_at", Invalid, "runAt is Unix milliseconds";
        CONFLICTING = "conflicting_schedule", Invalid, "give one of delay, runAt and cron";
        INVALID_CRON = "invalid_cron", Invalid, "the cron expression cannot be read or never fires; the message names the part";
        INVALID_TIMEZONE = "invalid_timezone", Invalid, "no such time zone; use an IANA name such as Europe/Paris";
        INVALID_RETRY = "invalid_retry", Invalid, "attempts go from 0 to 1000; backoff is fixed, linear or exponential with a delay from 0";
        INVALID_RATE_LIMIT = "invalid_rate_limit", Invalid, "limits are whole numbers from 1; pause the type to stop it";
        INVALID_LIMIT = "invalid_limit", Invalid, "a limit has a concurrency, or a rate in a period of milliseconds; `field` names what is wrong";
        INVALID_TARGET = "invalid_target", Invalid, "a target has lists of up to 64 texts, and mode any or all";
        INVALID_DEPENDENCY = "invalid_dependency", Invalid, "dependsOn is a list of up to 1000 job ids";
        UNKNOWN_DEPENDENCY = "unknown_dependency", Invalid, "a job named in dependsOn does not exist";
        INVALID_FLOW = "invalid_flow", Invalid, "a flow is a job with `children`, up to 500 jobs and 16 deep; `field` names the one that is wrong";
        INVALID_UNIQUE = "invalid_unique", Invalid, "unique has a key of 1 to 512 bytes and a window in milliseconds";
        INVALID_DEBOUNCE = "invalid_debounce", Invalid, "debounce has a key of 1 to 500 bytes and waitMs from 1, and takes no schedule beside it";
        INVALID_THROTTLE = "invalid_throttle", Invalid, "throttle has a key of 1 to 500 bytes and windowMs from 1";
        INVALID_X = "invalid_x", Invalid, "a member of `x` is of the wrong kind; `field` names it";
        INVALID_METADATA = "invalid_metadata", Invalid, "metadata is an object";
        INVALID_NAMESPACE = "invalid_namespace", Invalid, "a namespace cannot be spelled so";
        INVALID_BATCH = "invalid_batch", Invalid, "a batch needs one job or more";
        INVALID_SERVER_ID = "invalid_server_id", Invalid, "a worker's id cannot be spelled so";
        NO_VERB = "no_such_verb", Missing, "no such verb behind the last colon; `/docs` lists them";
        NO_NAMESPACE = "no_such_namespace", Missing, "this server does not serve that namespace; add it to jobs.namespaces";
        NO_JOB = "no_such_job", Missing, "no job has this id; it may have ended and been removed";
        NO_WORKER = "no_such_worker", Missing, "no worker is registered under this id";
        NO_CRON = "no_such_cron", Missing, "no recurring job has this id";
        EXISTS = "job_exists", Conflict, "a job has this id already (`details.jobId`); choose another or leave it out";
        NOT_UNIQUE = "not_unique", Conflict, "another job (`details.jobId`) holds this unique key";
        WRONG_STATE = "wrong_state", Conflict, "the job's state (`details.status`) does not allow it";
        FULL = "queue_full", TooMany, "as many jobs wait as jobs.max_waiting allows; wait `Retry-After` seconds";
        WRONG_TYPE = "wrong_type", Broken, "a key (`details.key`) holds another type than it should; nothing was changed, `worldkeep check` shows it";
        NEEDS_TAG = "needs_tag", Unavailable, "on a Cluster the namespace needs a hash tag: start with --layout tagged";
    }

    /// Refusals that only a program with a queue of its own hears. The server has words of its own for those it meets.
    pub mod program {
        kernel::refusals! {
            TOO_LARGE = "too_large", Invalid, "a value has more bytes than the options allow";
            WORKER_IN_USE = "worker_in_use", Conflict, "a living worker has this id; choose another";
            INVALID_CURSOR = "invalid_cursor", Invalid, "the cursor is not one of ours; begin anew";
            INVALID_CHECKPOINT = "invalid_checkpoint", Invalid, "a checkpoint is JSON";
            INVALID_LOCK_TTL = "invalid_lock_ttl", Invalid, "the option is outside of its range";
            INVALID_RETENTION = "invalid_retention", Invalid, "the option is outside of its range";
            INVALID_RESULT_TTL = "invalid_result_ttl", Invalid, "the option is outside of its range";
            INVALID_SCAN_LIMIT = "invalid_scan_limit", Invalid, "the option is outside of its range";
            INVALID_STARVATION_GUARD = "invalid_starvation_guard", Invalid, "the option is outside of its range";
            INVALID_ROTATE_UNCLAIMABLE = "invalid_rotate_unclaimable", Invalid, "the option is outside of its range";
            INVALID_CONCURRENCY = "invalid_concurrency", Invalid, "a worker runs one job or more at a time";
            NO_HANDLERS = "no_handlers", Invalid, "a worker needs a handler";
            NO_SIGNALS = "no_signals", Invalid, "the system lets this process hear no signals";
        }
    }
}

/// Why the queue said no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's input cannot be taken.
    #[error("{message}")]
    Invalid {
        /// Such as [`refusal::INVALID_CRON`].
        def: RefusalDef,
        /// Such as `schedule.cron`.
        field: Cow<'static, str>,
        /// The flaw, and what would be right.
        message: String,
    },
    /// More bytes than the limit allows.
    #[error("{field} has {size} bytes, at most {max} are taken")]
    TooLarge {
        /// The field that is too long.
        field: &'static str,
        /// The number of bytes given.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// The job id is taken.
    #[error("job {0} exists already; choose another id or leave it out")]
    Exists(String),
    /// Another job holds the uniqueness key.
    #[error("job {existing} holds this unique key")]
    NotUnique {
        /// The job that holds it.
        existing: String,
    },
    /// Back-pressure: too many jobs wait already.
    #[error("{waiting} jobs wait already, at most {max} may; try again later")]
    Full {
        /// The number of waiting jobs.
        waiting: u64,
        /// The limit, `max_waiting`.
        max: u64,
    },
    /// There is no such job, worker or definition.
    #[error("there is no {what} {id}")]
    Missing {
        /// `job`, `worker`, `cron` or `batch`.
        what: &'static str,
        /// The id that was asked for.
        id: String,
    },
    /// The job's state does not allow it.
    #[error("job {id} is {status}, which cannot be {verb}")]
    WrongState {
        /// The job.
        id: String,
        /// The job's state.
        status: String,
        /// The action that was tried, as a participle: `cancelled`.
        verb: &'static str,
    },
    /// A living worker has this id.
    #[error(
        "serverId {id} is in use by process {pid} on {hostname}; give this worker an id of its own"
    )]
    WorkerInUse {
        /// The id that was asked for.
        id: String,
        /// The host of the worker that has it.
        hostname: String,
        /// The process id of that worker.
        pid: i64,
    },
    /// A key holds another type of value than its definition says. Nothing was changed.
    #[error("{key} holds a {found}, which is not what belongs there; nothing was changed")]
    WrongType {
        /// The key.
        key: String,
        /// The type that was found.
        found: String,
    },
    /// The keys of this namespace spread over the slots of a Cluster.
    #[error(
        "namespace {0} has no hash tag, so its keys spread over the Cluster: start with --layout tagged, or name it {{{0}}}"
    )]
    NeedsTag(String),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Error {
    /// An [`Error::Invalid`].
    pub fn invalid(
        def: RefusalDef,
        field: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Error::Invalid { def, field: field.into(), message: message.into() }
    }

    /// No such job.
    pub fn no_job(id: impl Into<String>) -> Self {
        Error::Missing { what: "job", id: id.into() }
    }

    /// The stable word.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Missing { .. } => "not_found",
            _ => self.def().map_or("store", |def| def.code),
        }
    }

    /// The field that is meant.
    pub fn field(&self) -> Option<&str> {
        match self {
            Error::Invalid { field, .. } => Some(field),
            Error::TooLarge { field, .. } => Some(field),
            Error::NeedsTag(_) => Some("ns"),
            _ => None,
        }
    }
}

impl Refuses for Error {
    fn def(&self) -> Option<RefusalDef> {
        Some(match self {
            Error::Fault(_) => return None,
            Error::Exists(_) => refusal::EXISTS,
            Error::NotUnique { .. } => refusal::NOT_UNIQUE,
            Error::Full { .. } => refusal::FULL,
            Error::Missing { what: "worker", .. } => refusal::NO_WORKER,
            Error::Missing { what: "cron", .. } => refusal::NO_CRON,
            Error::Missing { .. } => refusal::NO_JOB,
            Error::WrongState { .. } => refusal::WRONG_STATE,
            Error::WrongType { .. } => refusal::WRONG_TYPE,
            Error::NeedsTag(_) => refusal::NEEDS_TAG,
            Error::Invalid { def, .. } => *def,
            Error::TooLarge { .. } => refusal::program::TOO_LARGE,
            Error::WorkerInUse { .. } => refusal::program::WORKER_IN_USE,
        })
    }

    fn field(&self) -> Option<&str> {
        Error::field(self).filter(|field| !field.is_empty())
    }

    fn params(&self) -> Params {
        match self {
            Error::Exists(id) => params! { "jobId" => id },
            Error::NotUnique { existing } => params! { "jobId" => existing },
            Error::Full { waiting, max } => params! { "waiting" => waiting, "max" => max },
            Error::WrongState { status, .. } => params! { "status" => status },
            Error::WrongType { key, .. } => params! { "key" => key },
            _ => Params::new(),
        }
    }
}
