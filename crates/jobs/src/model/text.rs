//! The exact bytes that are stored for a new job: the seed's members in the seed's order, ours last.

use serde::Serialize;

use super::new_job::NewJob;
use super::parts::{Extras, Schedule};
use super::raw::compact;
use super::rules::{RateLimit, Retry, Target, USUAL};

/// A text that is stored, and where in it these members are.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) payload: (usize, usize),
    pub(super) metadata: (usize, usize),
}

impl NewJob {
    /// All of them.
    pub(crate) fn text(&self, id: &str, now_ms: u64) -> String {
        self.written(id, now_ms).text
    }

    pub(super) fn written(&self, id: &str, now_ms: u64) -> Written {
        let payload = self.payload.as_deref();
        let mut out = Vec::with_capacity(320 + payload.map_or(0, str::len));
        member(&mut out, "{\"jobId\":", id);
        member(&mut out, ",\"type\":", &self.kind);
        let payload = raw_member(&mut out, ",\"payload\":", payload);
        member(&mut out, ",\"schedule\":", &self.schedule);
        if self.retry == Retry::default() {
            out.extend_from_slice(b",\"retry\":");
            out.extend_from_slice(USUAL.as_bytes());
        } else {
            member(&mut out, ",\"retry\":", &self.retry);
        }
        member(&mut out, ",\"priority\":", &self.stored_priority());
        member(&mut out, ",\"dependsOn\":", &self.depends_on);
        member(&mut out, ",\"target\":", &self.target);
        let metadata = raw_member(&mut out, ",\"metadata\":", self.metadata.as_deref());
        member(&mut out, ",\"createdAt\":", &now_ms);
        out.extend_from_slice(b",\"attempts\":0");
        if let Some(limit) =
            self.rate_limit.as_ref().filter(|limit| **limit != RateLimit::default())
        {
            member(&mut out, ",\"rateLimit\":", limit);
        }
        if let Some(key) = self.freed_key() {
            let x = Extras { unique_key: Some(key.clone()), ..self.x.clone() };
            member(&mut out, ",\"x\":", &x);
        } else if !self.x.is_empty() {
            member(&mut out, ",\"x\":", &self.x);
        }
        out.push(b'}');
        let text = String::from_utf8(out).expect("it was put together from texts");
        Written { text, payload, metadata }
    }

    pub(super) fn stored_priority(&self) -> u8 {
        if self.priority == 0 { 5 } else { self.priority }
    }

    /// Whether it says nothing of when, where, how often and how many: most jobs.
    pub(super) fn is_usual(&self) -> bool {
        self.schedule == Schedule::default()
            && self.retry == Retry::default()
            && self.target == Target::default()
            && self.rate_limit.is_none()
            && self.unique.is_none()
            && self.x.is_empty()
    }
}

/// A name with what stands before it, and its value as it was given; says where that is.
fn raw_member(out: &mut Vec<u8>, name: &str, raw: Option<&str>) -> (usize, usize) {
    out.extend_from_slice(name.as_bytes());
    let from = out.len();
    match raw {
        Some(raw) => out.extend_from_slice(compact(raw).as_bytes()),
        None => out.extend_from_slice(b"{}"),
    }
    (from, out.len())
}

/// A name with what stands before it, and its value.
fn member<T: Serialize + ?Sized>(out: &mut Vec<u8>, name: &str, value: &T) {
    out.extend_from_slice(name.as_bytes());
    serde_json::to_writer(out, value).expect("parts of a job are always JSON");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::Job;

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

    #[test]
    fn what_is_stored_is_what_would_be_read() {
        let usual = || NewJob::raw("t", r#"{"to":"a@b.c"}"#);
        let all = [
            usual(),
            NewJob { payload: None, ..usual() },
            NewJob::raw("a \"b\" \u{e9}", " [ 1.50, \"x \\\" \u{1f680}\" , null ]\n"),
            usual().metadata(r#"{ "k" : [ ] }"#).priority(10),
            usual().depends_on("a").depends_on("b:c").priority(1),
            usual().delay(Duration::from_secs(5)),
            usual().delay(Duration::ZERO),
            usual().run_at(17),
            usual().cron("*/5 * * * *", Some("Europe/Oslo")),
            usual().attempts(0),
            usual().target(Target::any().server("").stack("node").all()),
            usual().max_concurrent(2).max_per_minute(u64::MAX),
            NewJob { rate_limit: Some(RateLimit::default()), ..usual() },
            usual().unique("u:42", Duration::from_mins(1)),
            usual().timeout(Duration::ZERO).expires_at(u64::MAX).traceparent("00-1"),
        ];
        for new in all {
            let read = Job::read("j", new.text("j", 7)).expect("it is a job");
            let stored = Job::stored(new, "j".to_owned(), 7).expect("it is a job");
            assert_eq!(format!("{stored:?}"), format!("{read:?}"));
        }
    }
}
