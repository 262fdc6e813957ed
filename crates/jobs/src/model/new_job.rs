//! A job to be dispatched: a builder over its parts.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::parts::{Extras, Schedule};
use super::rules::{RateLimit, Retry, Target};
use crate::error::Error;

/// The treatment of a job when another one holds its uniqueness key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The new one is refused, with the id of the old one.
    #[default]
    Reject,
    /// An old one that does not run yet makes room for the new one; a running one wins.
    Replace,
    /// One more may queue up while the old one runs.
    QueueNext,
    /// An old one that does not run yet makes room; the new one waits anew. [`NewJob::debounce`] sets it.
    Debounce,
    /// The first one of a window wins, also after its end. [`NewJob::throttle`] sets it.
    Throttle,
}

impl OnConflict {
    /// As in requests.
    pub const fn word(self) -> &'static str {
        match self {
            OnConflict::Reject => "reject",
            OnConflict::Replace => "replace",
            OnConflict::QueueNext => "queue_next",
            OnConflict::Debounce => "debounce",
            OnConflict::Throttle => "throttle",
        }
    }
}

/// At most one job of a key at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unique {
    /// Any text, up to 512 bytes.
    pub key: String,
    /// How long the key is held at most; it is free again when the job ends.
    pub window: Duration,
    /// The treatment of a second job with this key.
    pub on_conflict: OnConflict,
}

/// A job to be dispatched. Nothing is checked before [`NewJob::validate`].
#[derive(Debug, Clone, Default)]
pub struct NewJob {
    /// The job's id; a UUID is made when it is absent.
    pub id: Option<String>,
    /// The job's type.
    pub kind: String,
    /// Raw JSON; `{}` when absent.
    pub payload: Option<String>,
    /// The time to run it.
    pub schedule: Schedule,
    /// The rules after a failure.
    pub retry: Retry,
    /// 1 to 10, 5 when 0.
    pub priority: u8,
    /// Jobs that must complete first.
    pub depends_on: Vec<String>,
    /// Which workers may run it.
    pub target: Target,
    /// Raw JSON object; `{}` when absent.
    pub metadata: Option<String>,
    /// Limits.
    pub rate_limit: Option<RateLimit>,
    /// The members that we add.
    pub x: Extras,
    /// At most one of its kind at a time.
    pub unique: Option<Unique>,
}

impl NewJob {
    /// A job of this type with a payload of any JSON value.
    ///
    /// # Panics
    /// When the payload cannot be JSON (a map with keys that are no text); use [`NewJob::raw`] for such.
    pub fn new<P: Serialize + ?Sized>(kind: impl Into<String>, payload: &P) -> Self {
        let text = kernel::numbers::to_json(payload, kernel::numbers::Dialect::JavaScript)
            .expect("the payload can be written as JSON");
        NewJob { kind: kind.into(), payload: Some(text), ..NewJob::default() }
    }

    /// A job of this type with a payload that is JSON text already.
    pub fn raw(kind: impl Into<String>, payload: impl Into<String>) -> Self {
        NewJob { kind: kind.into(), payload: Some(payload.into()), ..NewJob::default() }
    }

    /// Sets the job's id, which must not exist yet.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// 1 to 10; 7 and more go to the front.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Runs that long after dispatch.
    #[must_use]
    pub fn delay(mut self, wait: Duration) -> Self {
        self.schedule.delay = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Runs at that Unix millisecond.
    #[must_use]
    pub fn run_at(mut self, at_ms: i64) -> Self {
        self.schedule.run_at = Some(at_ms);
        self
    }

    /// Fires again and again.
    #[must_use]
    pub fn cron(mut self, expression: impl Into<String>, timezone: Option<&str>) -> Self {
        self.schedule.cron = Some(expression.into());
        self.schedule.timezone = timezone.map(str::to_owned);
        self
    }

    /// Lets firings of a definition queue up while the one before is not over; otherwise they are dropped.
    #[must_use]
    pub fn queue_overlaps(mut self) -> Self {
        self.x.overlap = Some("queue".to_owned());
        self
    }

    /// Sets the rules after a failure.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Retries, with the backoff as it is.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.retry.attempts = attempts;
        self
    }

    /// Waits for this job to complete.
    #[must_use]
    pub fn depends_on(mut self, id: impl Into<String>) -> Self {
        self.depends_on.push(id.into());
        self
    }

    /// Runs even when a dependency failed.
    #[must_use]
    pub fn ignore_failed_dependencies(mut self) -> Self {
        self.x.on_dependency_failed = Some("ignore".to_owned());
        self
    }

    /// Waits on after a dependency failed, until that one is retried and completes, or is removed.
    #[must_use]
    pub fn wait_for_failed_dependencies(mut self) -> Self {
        self.x.on_dependency_failed = Some("wait".to_owned());
        self
    }

    /// Which workers may run it.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    /// Raw JSON object that the queue does not look into.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<String>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }

    /// At most so many of its type at once.
    #[must_use]
    pub fn max_concurrent(mut self, max: u64) -> Self {
        self.rate_limit.get_or_insert_default().max_concurrent = Some(max);
        self
    }

    /// At most so many of its type in a minute.
    #[must_use]
    pub fn max_per_minute(mut self, max: u64) -> Self {
        self.rate_limit.get_or_insert_default().max_per_minute = Some(max);
        self
    }

    /// At most one job with this key at a time; a second one is refused.
    #[must_use]
    pub fn unique(self, key: impl Into<String>, window: Duration) -> Self {
        self.unique_or(key, window, OnConflict::Reject)
    }

    /// The same with another policy.
    #[must_use]
    pub fn unique_or(
        mut self,
        key: impl Into<String>,
        window: Duration,
        on_conflict: OnConflict,
    ) -> Self {
        self.unique = Some(Unique { key: key.into(), window, on_conflict });
        self
    }

    /// Runs once, that long after the last dispatch with this key: each one replaces the one before and waits anew.
    #[must_use]
    pub fn debounce(mut self, key: impl AsRef<str>, wait: Duration) -> Self {
        self.schedule.delay = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        // The key outlives the wait, because a full queue may keep the job longer.
        let window = wait.saturating_add(Duration::from_hours(24));
        self.unique_or(format!("debounce:{}", key.as_ref()), window, OnConflict::Debounce)
    }

    /// At most one job with this key in a window: the first runs, the others are refused, also after its end.
    #[must_use]
    pub fn throttle(self, key: impl AsRef<str>, window: Duration) -> Self {
        self.unique_or(format!("throttle:{}", key.as_ref()), window, OnConflict::Throttle)
    }

    /// The uniqueness key that is free again when the job ends; that of a throttle is not.
    pub(super) fn freed_key(&self) -> Option<&String> {
        let unique = self.unique.as_ref()?;
        (unique.on_conflict != OnConflict::Throttle).then_some(&unique.key)
    }

    /// How long its handler may take.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.x.timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Not started after that Unix millisecond.
    #[must_use]
    pub fn expires_at(mut self, at_ms: u64) -> Self {
        self.x.expires_at = Some(at_ms);
        self
    }

    /// The group that it takes turns with others for, such as a customer.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.x.group = Some(group.into());
        self
    }

    /// The sequence it runs in: after all jobs of the same name that were dispatched before it, also over their retries.
    #[must_use]
    pub fn sequence(mut self, sequence: impl Into<String>) -> Self {
        self.x.sequence = Some(sequence.into());
        self
    }

    /// The trace it belongs to.
    #[must_use]
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.x.traceparent = Some(traceparent.into());
        self
    }

    /// Reads a request body.
    pub fn from_json(text: &str) -> Result<NewJob, Error> {
        super::body::read(text)
    }

    /// Whether every part can be taken; `payload_max` is the limit in bytes. The first wrong part is told.
    pub fn validate(&self, payload_max: usize) -> Result<(), Error> {
        super::validate::new_job(self, payload_max)
    }

    /// The payload as raw JSON.
    pub fn payload_raw(&self) -> Option<&RawValue> {
        serde_json::from_str(self.payload.as_deref()?).ok()
    }
}
