//! The checks of a job before it is dispatched. One function per part; each refusal names its field
//! and says what would be right.

use kernel::{RefusalDef, json};
use serde_json::value::RawValue;

use super::new_job::{NewJob, OnConflict};
use super::parts::Schedule;
use super::raw::depth;
use super::rules::{RateLimit, Retry, Target};
use crate::error::{Error, refusal};

/// Deepest nesting of a payload; the scripts' reader stops at 1000.
const DEPTH_MAX: usize = 100;
const TEN_YEARS_MS: u64 = 10 * 366 * 86_400_000;
const THIRTY_DAYS_MS: u64 = 30 * 86_400_000;
/// Entries of a list in `target`, `retry` and `dependsOn`.
const LIST_MAX: usize = 64;
const DEPENDS_MAX: usize = 1_000;
/// The words that a path may end with after its last colon; an id or a type must not look like
/// that.
const VERBS: &[&str] = &[
    "batch", "bury", "cancel", "fire", "limit", "pause", "purge", "quiet", "requeue", "resume",
    "retry", "runNow", "stop",
];

type Check = Result<(), Error>;

/// Whether this can be the id of a new job.
pub(crate) fn check_id(id: &str) -> Check {
    let refuse = |why: &str| Err(Error::invalid(refusal::INVALID_ID, "jobId", why));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._~-:".contains(c);
    if id.is_empty() || id.len() > 128 || !id.chars().all(allowed) {
        return refuse("jobId must be 1 to 128 of A-Z, a-z, 0-9, ., _, ~, - and :");
    }
    if ends_like_a_verb(id) {
        return refuse("jobId must not end like an action of the API, such as :cancel");
    }
    Ok(())
}

/// Whether this can be the type of a new job.
pub(crate) fn check_type(kind: &str) -> Check {
    let refuse = |why: &str| Err(Error::invalid(refusal::INVALID_TYPE, "type", why));
    if kind.is_empty() {
        return refuse("type is missing: say which handler runs the job");
    }
    if kind.len() > 200 || kind.chars().any(char::is_control) {
        return refuse("type must be 1 to 200 bytes without control characters");
    }
    if kind == "*" {
        return refuse("type must not be *, which stands for all types");
    }
    if ends_like_a_verb(kind) {
        return refuse("type must not end like an action of the API, such as :pause");
    }
    Ok(())
}

fn ends_like_a_verb(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(_, last)| VERBS.contains(&last))
}

pub(super) fn new_job(job: &NewJob, payload_max: usize) -> Check {
    if let Some(id) = &job.id {
        check_id(id)?;
    }
    check_type(&job.kind)?;
    payload(job.payload.as_deref(), payload_max)?;
    metadata(job.metadata.as_deref(), payload_max)?;
    if job.priority > 10 {
        let sentence = "priority must be a whole number from 1 to 10";
        return Err(Error::invalid(refusal::INVALID_PRIORITY, "priority", sentence));
    }
    schedule(&job.schedule)?;
    retry(&job.retry)?;
    target(&job.target)?;
    if let Some(limit) = &job.rate_limit {
        rate_limit(limit)?;
    }
    depends_on(job)?;
    unique(job)?;
    extras(job)
}

fn payload(raw: Option<&str>, max: usize) -> Check {
    let Some(raw) = raw else { return Ok(()) };
    if raw.len() > max {
        return Err(Error::TooLarge { field: "payload", size: raw.len(), max });
    }
    let refuse = |why: String| Err(Error::invalid(refusal::INVALID_PAYLOAD, "payload", why));
    if let Err(error) = serde_json::from_str::<&RawValue>(raw) {
        return refuse(format!("payload is no JSON: {error}"));
    }
    if depth(raw) > DEPTH_MAX {
        return refuse(format!("payload is nested more than {DEPTH_MAX} deep"));
    }
    Ok(())
}

fn metadata(raw: Option<&str>, max: usize) -> Check {
    let Some(raw) = raw else { return Ok(()) };
    if raw.len() > max {
        return Err(Error::TooLarge { field: "metadata", size: raw.len(), max });
    }
    if json::members(raw).is_err() || depth(raw) > DEPTH_MAX {
        let sentence = format!("metadata must be an object, nested at most {DEPTH_MAX} deep");
        return Err(Error::invalid(refusal::INVALID_METADATA, "metadata", sentence));
    }
    Ok(())
}

fn schedule(schedule: &Schedule) -> Check {
    let Schedule { delay, run_at, cron, timezone } = schedule;
    if cron.is_some() && (run_at.is_some() || delay.is_some())
        || run_at.is_some() && delay.is_some()
    {
        let sentence = "schedule takes one of delay, runAt and cron";
        return Err(Error::invalid(refusal::CONFLICTING, "schedule", sentence));
    }
    if delay.is_some_and(|delay| delay > TEN_YEARS_MS) {
        let sentence = "schedule.delay is more than ten years; it is in milliseconds";
        return Err(Error::invalid(refusal::INVALID_DELAY, "schedule.delay", sentence));
    }
    if run_at.is_some_and(|at| !(0..=9_007_199_254_740_991).contains(&at)) {
        let sentence = "schedule.runAt must be Unix milliseconds";
        return Err(Error::invalid(refusal::INVALID_RUN_AT, "schedule.runAt", sentence));
    }
    match (cron, timezone) {
        (Some(cron), zone) => crate::store::definitions::parse(cron, zone.as_deref()).map(drop),
        (None, Some(_)) => {
            let sentence = "schedule.timezone has a meaning with schedule.cron only";
            Err(Error::invalid(refusal::INVALID_TIMEZONE, "schedule.timezone", sentence))
        }
        (None, None) => Ok(()),
    }
}

fn retry(retry: &Retry) -> Check {
    let refuse =
        |field: &'static str, why: &str| Err(Error::invalid(refusal::INVALID_RETRY, field, why));
    if retry.attempts > 1_000 {
        return refuse("retry.attempts", "retry.attempts must be a whole number from 0 to 1000");
    }
    if retry.backoff.delay > THIRTY_DAYS_MS {
        return refuse("retry.backoff.delay", "retry.backoff.delay is more than thirty days");
    }
    names(refusal::INVALID_RETRY, "retry.skipOn", &retry.skip_on)?;
    names(refusal::INVALID_RETRY, "retry.rerouteOn", &retry.reroute_on)
}

fn target(target: &Target) -> Check {
    const DEF: RefusalDef = refusal::INVALID_TARGET;
    if target.server.as_deref().is_some_and(|id| id.len() > 128) {
        return Err(Error::invalid(DEF, "target.server", "target.server is no worker's id"));
    }
    names(DEF, "target.stack", &target.stack)?;
    names(DEF, "target.capabilities", &target.capabilities)?;
    names(DEF, "target.region", &target.region)
}

fn names(def: RefusalDef, field: &'static str, list: &[String]) -> Check {
    if list.len() > LIST_MAX || list.iter().any(|name| name.len() > 200) {
        let sentence = format!("{field} takes up to {LIST_MAX} texts of up to 200 bytes");
        return Err(Error::invalid(def, field, sentence));
    }
    Ok(())
}

fn rate_limit(limit: &RateLimit) -> Check {
    for (field, value) in [
        ("rateLimit.maxConcurrent", limit.max_concurrent),
        ("rateLimit.maxPerMinute", limit.max_per_minute),
    ] {
        if value == Some(0) {
            let sentence = format!("{field} must be 1 or more; pause the type to stop it");
            return Err(Error::invalid(refusal::INVALID_RATE_LIMIT, field, sentence));
        }
    }
    Ok(())
}

fn depends_on(job: &NewJob) -> Check {
    let refuse = |why: &str| Err(Error::invalid(refusal::INVALID_DEPENDENCY, "dependsOn", why));
    if job.depends_on.len() > DEPENDS_MAX {
        return refuse("dependsOn takes up to 1000 job ids");
    }
    if job.depends_on.iter().any(|id| id.is_empty() || id.len() > 256) {
        return refuse("dependsOn holds something that is no job id");
    }
    if !job.depends_on.is_empty() && job.schedule.cron.is_some() {
        return refuse("a cron definition cannot depend on other jobs");
    }
    Ok(())
}

fn unique(job: &NewJob) -> Check {
    let Some(unique) = &job.unique else { return Ok(()) };
    let refuse =
        |field: &'static str, why: &str| Err(Error::invalid(refusal::INVALID_UNIQUE, field, why));
    if unique.key.is_empty() || unique.key.len() > 512 {
        return refuse("unique.key", "unique.key must be 1 to 512 bytes");
    }
    let window = unique.window.as_millis();
    if window == 0 || window > u128::from(TEN_YEARS_MS) {
        return refuse("unique.windowMs", "unique.windowMs must be 1 ms to ten years");
    }
    if job.schedule.cron.is_some() {
        return refuse("unique", "a cron definition is unique by its id");
    }
    let is_timed = matches!(unique.on_conflict, OnConflict::Debounce | OnConflict::Throttle);
    if is_timed && !job.depends_on.is_empty() {
        return refuse("dependsOn", "a job with debounce or throttle cannot depend on others");
    }
    Ok(())
}

fn extras(job: &NewJob) -> Check {
    let refuse =
        |field: &'static str, why: &str| Err(Error::invalid(refusal::INVALID_X, field, why));
    if job.x.traceparent.as_deref().is_some_and(|trace| trace.len() > 512) {
        return refuse("x.traceparent", "x.traceparent is no trace context");
    }
    if let Some(batch) = &job.x.batch {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if batch.is_empty() || batch.len() > 128 || !batch.chars().all(allowed) {
            return refuse("x.batch", "x.batch must be 1 to 128 of A-Z, a-z, 0-9, ., _ and -");
        }
    }
    if let Some(group) = &job.x.group {
        check_name("x.group", group)?;
    }
    if let Some(sequence) = &job.x.sequence {
        check_name("x.sequence", sequence)?;
        if job.schedule.cron.is_some() {
            return refuse("x.sequence", "a cron definition has no place in a sequence");
        }
    }
    if job.x.overlap.is_some() && job.schedule.cron.is_none() {
        return refuse("x.overlap", "x.overlap has a meaning with schedule.cron only");
    }
    names(refusal::INVALID_X, "x.exclude", &job.x.exclude)
}

/// A group or a sequence: a short text that is no verb.
pub(crate) fn check_name(field: &'static str, name: &str) -> Check {
    let fine = (1..=128).contains(&name.len()) && !name.chars().any(char::is_control);
    if !fine || name == "*" || ends_like_a_verb(name) {
        let why = format!(
            "{field} must be 1 to 128 bytes without control characters and not end like a verb"
        );
        return Err(Error::invalid(refusal::INVALID_X, field, why));
    }
    Ok(())
}
