//! Refusals of the job queue: each has a stable code, a sentence, and the field where one is meant.
//! A failure of the store is a [`Fault`].

use std::borrow::Cow;

use kernel::Fault;

/// Why the queue said no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's input cannot be taken.
    #[error("{message}")]
    Invalid {
        /// Such as `invalid_cron`.
        code: &'static str,
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
    #[error("serverId {0} is in use by another process; give this worker an id of its own")]
    WorkerInUse(String),
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
        code: &'static str,
        field: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Error::Invalid { code, field: field.into(), message: message.into() }
    }

    /// No such job.
    pub fn no_job(id: impl Into<String>) -> Self {
        Error::Missing { what: "job", id: id.into() }
    }

    /// The stable word.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid { code, .. } => code,
            Error::TooLarge { .. } => "too_large",
            Error::Exists(_) => "job_exists",
            Error::NotUnique { .. } => "not_unique",
            Error::Full { .. } => "queue_full",
            Error::Missing { .. } => "not_found",
            Error::WrongState { .. } => "wrong_state",
            Error::WorkerInUse(_) => "worker_in_use",
            Error::WrongType { .. } => "wrong_type",
            Error::NeedsTag(_) => "needs_tag",
            Error::Fault(_) => "store",
        }
    }

    /// The field that is meant.
    pub fn field(&self) -> Option<&str> {
        match self {
            Error::Invalid { field, .. } => Some(field),
            Error::TooLarge { field, .. } => Some(field),
            _ => None,
        }
    }
}
