//! The parts of a job that a caller may see. Without the right `payloads` there is no payload, metadata, result data, error
//! message or progress message; names in `jobs.redact` are blotted out for everybody. What remains keeps its bytes.

use kernel::json::{Change, edit, members};
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::settings::Settings;

/// The text in place of something blotted out.
pub(crate) const HIDDEN: &str = "\"(hidden)\"";

/// Deeper than this nothing is looked at, and so nothing shown.
const DEEP: usize = 120;

/// The eyes of one caller.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Whether payloads and results are shown.
    pub(crate) payloads: bool,
    /// Member names, lower case.
    redact: Vec<String>,
}

impl View {
    pub(crate) fn of(caller: &Caller, settings: &Settings) -> Self {
        let redact = settings.jobs.redact.iter().map(|name| name.to_lowercase()).collect();
        View { payloads: caller.payloads, redact }
    }

    /// Why something is missing, for people; `None` when nothing is.
    pub(crate) fn hidden(&self) -> Option<&'static str> {
        (!self.payloads).then_some("payload and result need a token with the right `payloads`")
    }

    /// A stored job.
    pub(crate) fn job(&self, text: &str) -> Box<RawValue> {
        self.without(text, &["payload", "metadata"])
    }

    /// A stored result: without the right, only whether it worked, the error's name and the times.
    pub(crate) fn result(&self, text: &str) -> Box<RawValue> {
        if self.payloads {
            return self.without(text, &[]);
        }
        let name = kernel::json::get(text, "error")
            .and_then(|error| kernel::json::get(error.get(), "name"))
            .map(|name| format!("{{\"name\":{}}}", name.get()));
        let error = name.as_deref().map_or(Change::Remove, Change::Set);
        raw(edit(text, &[("data", Change::Remove), ("error", error)]).ok())
    }

    /// A stored progress.
    pub(crate) fn progress(&self, text: &str) -> Box<RawValue> {
        self.without(text, &["data", "message"])
    }

    /// An error's message, or nothing.
    pub(crate) fn message<'a>(&self, message: &'a str) -> Option<&'a str> {
        self.payloads.then_some(message)
    }

    fn without(&self, text: &str, secret: &[&str]) -> Box<RawValue> {
        if self.payloads {
            if self.redact.is_empty() {
                return raw(Some(text.to_owned()));
            }
            return raw(serde_json::from_str(text).ok().map(|whole| self.blot(whole, 0)));
        }
        let changes: Vec<_> = secret.iter().map(|name| (*name, Change::Remove)).collect();
        raw(edit(text, &changes).ok())
    }

    fn blot(&self, value: &RawValue, depth: usize) -> String {
        let text = value.get();
        if depth > DEEP {
            return HIDDEN.to_owned();
        }
        if text.starts_with('{') {
            let inside = members(text).unwrap_or_default();
            let parts = inside.iter().map(|member| {
                let name = serde_json::to_string(&member.name).unwrap_or_default();
                let value = if self.redact.contains(&member.name.to_lowercase()) {
                    HIDDEN.to_owned()
                } else {
                    self.blot(member.raw, depth + 1)
                };
                format!("{name}:{value}")
            });
            return format!("{{{}}}", parts.collect::<Vec<_>>().join(","));
        }
        if text.starts_with('[') {
            let inside: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            let parts = inside.iter().map(|value| self.blot(value, depth + 1));
            return format!("[{}]", parts.collect::<Vec<_>>().join(","));
        }
        text.to_owned()
    }
}

/// JSON as it is; what foreign programs stored and is none becomes a JSON text.
pub(crate) fn raw(text: Option<String>) -> Box<RawValue> {
    let null = || RawValue::from_string("null".into()).expect("null is JSON");
    let Some(text) = text else { return null() };
    RawValue::from_string(text.clone())
        .or_else(|_| RawValue::from_string(serde_json::Value::String(text).to_string()))
        .unwrap_or_else(|_| null())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"jobId":"a","payload":{"n":1.50,"Password":"x","in":[{"token":{"a":1}}]},"metadata":{}}"#;

    fn view(payloads: bool, redact: &[&str]) -> View {
        View { payloads, redact: redact.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn who_may_see_payloads_sees_the_stored_bytes() {
        assert_eq!(view(true, &[]).job(JOB).get(), JOB);
    }

    #[test]
    fn without_the_right_there_is_no_payload_and_no_message() {
        let view = view(false, &[]);
        assert_eq!(view.job(JOB).get(), r#"{"jobId":"a"}"#);
        let failed =
            r#"{"success":false,"error":{"message":"secret","name":"Boom"},"completedAt":1}"#;
        assert_eq!(
            view.result(failed).get(),
            r#"{"success":false,"error":{"name":"Boom"},"completedAt":1}"#
        );
        let done = r#"{"success":true,"data":{"secret":1},"completedAt":1}"#;
        assert_eq!(view.result(done).get(), r#"{"success":true,"completedAt":1}"#);
        assert_eq!(
            view.progress(r#"{"percent":5,"message":"m","data":1}"#).get(),
            r#"{"percent":5}"#
        );
    }

    #[test]
    fn listed_names_are_blotted_out_at_any_depth() {
        assert_eq!(
            view(true, &["password", "token"]).job(JOB).get(),
            r#"{"jobId":"a","payload":{"n":1.50,"Password":"(hidden)","in":[{"token":"(hidden)"}]},"metadata":{}}"#
        );
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        assert!(view(true, &["x"]).job(&deep).get().len() < 400);
    }

    #[test]
    fn what_is_no_json_is_shown_as_a_text() {
        assert_eq!(view(true, &[]).job("{oops").get(), r#""{oops""#);
        assert_eq!(view(false, &[]).job("{oops").get(), "null");
    }
}
