//! Events of the jobs on `{ns}:events:stream`: one word per fact, the job's id (or a type, or a
//! worker), and a small body. Steps append their events themselves; this file has the bodies that
//! are made outside of them. Payloads and results are never told.

use serde_json::json;

use crate::model::outcome::{Done, Ending};
use crate::model::{WorkerFacts, quote};

/// The body of the event about an attempt that ended.
pub(crate) fn outcome_body(facts: &WorkerFacts, done: &Done) -> String {
    let (kind, worker, took) = (&done.job.kind, &facts.server_id, done.took_ms);
    let body = match &done.ending {
        Ending::Completed { .. } => {
            // The usual one, spelled by hand; a worker's id needs no escape.
            return format!(r#"{{"took":{took},"type":{},"worker":"{worker}"}}"#, quote(kind));
        }
        Ending::Retry { failure, run_at, counts, .. } => json!({
            "type": kind, "worker": worker, "took": took, "error": failure.name,
            "attempt": done.job.attempts + u32::from(*counts), "runAt": run_at,
        }),
        Ending::Dead { failure } | Ending::Failed { failure } => {
            json!({"type": kind, "worker": worker, "took": took, "error": failure.name})
        }
        Ending::HandBack => json!({"type": kind, "worker": worker, "reason": "handed_back"}),
    };
    body.to_string()
}
