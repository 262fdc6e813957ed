//! A job to be dispatched: a builder over its parts, and the exact bytes that are stored.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::parts::{Extras, Schedule};
use super::raw::compact;
use super::rules::{RateLimit, Retry, Target, USUAL};
use crate::error::Error;

/// What happens when another job holds the uniqueness key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The new one is refused, with the id of the old one.
    #[default]
    Reject,
    /// An old one that does not run yet makes room for the new one; a running one wins.
    Replace,
    /// One more may queue up while the old one runs.
    QueueNext,
}

impl OnConflict {
    /// As in requests.
    pub const fn word(self) -> &'static str {
        match self {
            OnConflict::Reject => "reject",
            OnConflict::Replace => "replace",
            OnConflict::QueueNext => "queue_next",
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
    /// What happens to a second one.
    pub on_conflict: OnConflict,
}

/// A job to be dispatched. Nothing is checked before [`NewJob::validate`].
#[derive(Debug, Clone, Default)]
pub struct NewJob {
    /// Its id; a UUID is made when it is absent.
    pub id: Option<String>,
    /// Its type.
    pub kind: String,
    /// Raw JSON; `{}` when absent.
    pub payload: Option<String>,
    /// When it runs.
    pub schedule: Schedule,
    /// What happens after a failure.
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
    /// What we add.
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

    /// Its id, which must not exist yet.
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

    /// What happens after a failure.
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

    /// The bytes that are stored: the seed's members in the seed's order, ours last.
    pub(crate) fn text(&self, id: &str, now_ms: u64) -> String {
        let payload = self.payload.as_deref();
        let mut out = Vec::with_capacity(320 + payload.map_or(0, str::len));
        let raw = |out: &mut Vec<u8>, raw: Option<&str>| match raw {
            Some(raw) => out.extend_from_slice(compact(raw).as_bytes()),
            None => out.extend_from_slice(b"{}"),
        };
        let priority = if self.priority == 0 { 5 } else { self.priority };
        member(&mut out, "{\"jobId\":", id);
        member(&mut out, ",\"type\":", &self.kind);
        out.extend_from_slice(b",\"payload\":");
        raw(&mut out, payload);
        member(&mut out, ",\"schedule\":", &self.schedule);
        if self.retry == Retry::default() {
            out.extend_from_slice(b",\"retry\":");
            out.extend_from_slice(USUAL.as_bytes());
        } else {
            member(&mut out, ",\"retry\":", &self.retry);
        }
        member(&mut out, ",\"priority\":", &priority);
        member(&mut out, ",\"dependsOn\":", &self.depends_on);
        member(&mut out, ",\"target\":", &self.target);
        out.extend_from_slice(b",\"metadata\":");
        raw(&mut out, self.metadata.as_deref());
        member(&mut out, ",\"createdAt\":", &now_ms);
        out.extend_from_slice(b",\"attempts\":0");
        if let Some(limit) =
            self.rate_limit.as_ref().filter(|limit| **limit != RateLimit::default())
        {
            member(&mut out, ",\"rateLimit\":", limit);
        }
        if let Some(unique) = &self.unique {
            let x = Extras { unique_key: Some(unique.key.clone()), ..self.x.clone() };
            member(&mut out, ",\"x\":", &x);
        } else if !self.x.is_empty() {
            member(&mut out, ",\"x\":", &self.x);
        }
        out.push(b'}');
        String::from_utf8(out).expect("it was put together from texts")
    }

    /// The payload as raw JSON.
    pub fn payload_raw(&self) -> Option<&RawValue> {
        serde_json::from_str(self.payload.as_deref()?).ok()
    }
}

/// A name with what stands before it, and its value.
fn member<T: Serialize + ?Sized>(out: &mut Vec<u8>, name: &str, value: &T) {
    out.extend_from_slice(name.as_bytes());
    serde_json::to_writer(out, value).expect("parts of a job are always JSON");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "86fc0e88-c832-4c43-b5a5-5ef9f808fc97";

    #[test]
    fn a_plain_dispatch_has_the_seeds_bytes() {
        let job = NewJob::new("email", &serde_json::json!({"to": "a@b.c"}));
        assert_eq!(
            job.text(ID, 1_794_768_259_299),
            r#"{"jobId":"86fc0e88-c832-4c43-b5a5-5ef9f808fc97","type":"email","payload":{"to":"a@b.c"},"schedule":{},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":0}"#
        );
    }

    #[test]
    fn every_part_has_its_place_and_nothing_is_null() {
        let job = NewJob::raw("r\"1", " [1.50, null] ")
            .priority(8)
            .delay(Duration::from_secs(5))
            .depends_on("a")
            .target(Target::any().stack("node").capability("gpu").region("eu").all())
            .metadata("{ \"k\": 1e2 }")
            .max_concurrent(2)
            .unique("u:42", Duration::from_mins(1))
            .timeout(Duration::from_secs(30));
        assert_eq!(
            job.text("j", 7),
            r#"{"jobId":"j","type":"r\"1","payload":[1.50,null],"schedule":{"delay":5000},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":8,"dependsOn":["a"],"target":{"stack":["node"],"capabilities":["gpu"],"region":["eu"],"mode":"all"},"metadata":{"k":1e2},"createdAt":7,"attempts":0,"rateLimit":{"maxConcurrent":2},"x":{"uniqueKey":"u:42","timeoutMs":30000}}"#
        );
    }
}
