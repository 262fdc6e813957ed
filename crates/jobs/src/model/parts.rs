//! The parts of a job as values: state, schedule, our own `x` (retry, target and limits are in
//! `rules`). Each writes the seed's bytes (absent members omitted, never `null`) and reads
//! tolerantly.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::value::RawValue;

use super::raw::Object;

/// The state of a job, stored as a bare word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// In the waiting list, or parked until its dependencies are done.
    Waiting,
    /// A worker has it.
    Active,
    /// Ended well.
    Completed,
    /// Ended badly and not in the dead letters: cancelled, discarded, a dependency failed.
    Failed,
    /// Runs later.
    Delayed,
    /// A definition that fires again and again.
    Cron,
    /// In the dead letters.
    Dead,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 7] = [
        Status::Waiting,
        Status::Active,
        Status::Completed,
        Status::Failed,
        Status::Delayed,
        Status::Cron,
        Status::Dead,
    ];

    /// As stored.
    pub const fn word(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Active => "active",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Delayed => "delayed",
            Status::Cron => "cron",
            Status::Dead => "dead",
        }
    }

    /// Whether nothing more happens to the job by itself.
    pub const fn is_ended(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Dead)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that is no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no status: say waiting, active, completed, failed, delayed, cron or dead")]
pub struct UnknownStatus(pub String);

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(word: &str) -> Result<Self, UnknownStatus> {
        Status::ALL
            .into_iter()
            .find(|status| status.word() == word)
            .ok_or_else(|| UnknownStatus(word.to_owned()))
    }
}

/// When a job runs. Cron comes first, then `run_at`, then `delay`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Milliseconds from dispatch; 0 is at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<u64>,
    /// Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<i64>,
    /// A cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// An IANA name; UTC when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

impl Schedule {
    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        let object = Object::of(raw);
        Schedule {
            delay: object.count("delay"),
            run_at: object.whole("runAt"),
            cron: object.get::<String>("cron").filter(|cron| !cron.is_empty()),
            timezone: object.get::<String>("timezone").filter(|zone| !zone.is_empty()),
        }
    }
}

/// The members that we add to a job, under `x`. Programs that do not know them keep them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Extras {
    /// No second job with this key while this one lives, within its window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<String>,
    /// Milliseconds a handler may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Unix milliseconds after which it is not started any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The batch it counts in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// The definition that fired it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron_parent: Option<String>,
    /// Workers that must not run it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// `sliding` smooths the limit per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter: Option<String>,
    /// The group that it takes turns with others for, such as a customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Jobs of one sequence run one after the other, in the order of their dispatch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<String>,
    /// The job at the root of the flow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The job in its flow that waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// After a dependency failed: `ignore` lets it run, with `wait` it waits until that one is retried or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_dependency_failed: Option<String>,
    /// Of a definition: `queue` lets a firing queue up while the one before is not over, instead of dropping it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
}

impl Extras {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        *self == Extras::default()
    }

    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        let object = Object::of(raw);
        Extras {
            unique_key: object.get("uniqueKey"),
            timeout_ms: object.count("timeoutMs").filter(|ms| *ms > 0),
            expires_at: object.count("expiresAt"),
            traceparent: object.get("traceparent"),
            batch: object.get("batch"),
            cron_parent: object.get("cronParent"),
            exclude: object.words("exclude"),
            limiter: object.get("limiter"),
            group: object.get("group"),
            sequence: object.get("sequence"),
            flow: object.get("flow"),
            parent: object.get("parent"),
            on_dependency_failed: object.get("onDependencyFailed"),
            overlap: object.get("overlap"),
        }
    }
}
