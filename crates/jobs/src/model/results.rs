//! The result and the progress of an attempt, as the seed stores them.

use kernel::numbers::{Dialect, to_json};
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw::{Object, quote};

/// Why an attempt failed. `name` is what `skipOn` and `rerouteOn` compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// For people.
    pub message: String,
    /// The stack trace, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The kind of error.
    pub name: String,
}

impl Failure {
    /// A failure without a stack.
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        Failure { message: message.into(), stack: None, name: name.into() }
    }
}

/// A result as stored.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobResult {
    /// Whether the attempt worked.
    pub success: bool,
    /// The handler's result; absent when it returned nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Unix milliseconds of its end.
    pub completed_at: i64,
    /// Milliseconds in the handler.
    pub processing_time: i64,
}

impl JobResult {
    /// The bytes of a success. `data` is raw JSON.
    pub fn success(data: Option<&str>, at_ms: u64, took_ms: u64) -> String {
        match data {
            Some(data) => format!(
                r#"{{"success":true,"data":{data},"completedAt":{at_ms},"processingTime":{took_ms}}}"#
            ),
            None => {
                format!(r#"{{"success":true,"completedAt":{at_ms},"processingTime":{took_ms}}}"#)
            }
        }
    }

    /// The bytes of a failure.
    pub fn failure(failure: &Failure, at_ms: u64, took_ms: u64) -> String {
        let error = serde_json::to_string(failure).expect("text is always JSON");
        format!(
            r#"{{"success":false,"error":{error},"completedAt":{at_ms},"processingTime":{took_ms}}}"#
        )
    }

    /// Reads what any program stored; `None` when it is no object.
    pub fn read(text: &str) -> Option<JobResult> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        kernel::json::members(text).ok()?;
        let object = Object::of(Some(raw));
        let error = object.raw("error").map(|raw| {
            let error = Object::of(Some(raw));
            Failure {
                message: error.get("message").unwrap_or_default(),
                stack: error.get("stack"),
                name: error.get("name").unwrap_or_else(|| "Error".to_owned()),
            }
        });
        Some(JobResult {
            success: object.get("success").unwrap_or(false),
            data: object.raw("data").map(ToOwned::to_owned),
            error,
            completed_at: object.whole("completedAt").unwrap_or(0),
            processing_time: object.whole("processingTime").unwrap_or(0),
        })
    }
}

/// How far a running job is, as its handler says.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// 0 to 100; what is outside is clamped.
    pub percent: f64,
    /// For people.
    pub message: Option<String>,
    /// Raw JSON for the program, such as a checkpoint.
    pub data: Option<Box<RawValue>>,
}

impl Progress {
    /// The stored bytes of the progress.
    pub fn text(&self, now_ms: u64) -> String {
        let percent = if self.percent.is_nan() { 0.0 } else { self.percent.clamp(0.0, 100.0) };
        let percent = to_json(&percent, Dialect::JavaScript).expect("a number is always JSON");
        let mut out = format!(r#"{{"percent":{percent}"#);
        if let Some(message) = &self.message {
            out.push_str(",\"message\":");
            out.push_str(&quote(message));
        }
        if let Some(data) = &self.data {
            out.push_str(",\"data\":");
            out.push_str(data.get());
        }
        out + ",\"updatedAt\":" + &now_ms.to_string() + "}"
    }
}
