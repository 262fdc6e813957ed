//! Request bodies: a [`NewJob`] from JSON. Each member is looked at by itself, so that an answer names the
//! field; a member nobody knows is refused, because it is a misspelling.

use std::time::Duration;

use kernel::{RefusalDef, json};
use serde_json::Value;
use serde_json::value::RawValue;

use super::new_job::{NewJob, OnConflict, Unique};
use super::parts::{Extras, Schedule};
use super::raw::whole;
use super::rules::{Backoff, BackoffKind, Mode, RateLimit, Retry, Target};
use crate::error::{Error, refusal};

type Read<T> = Result<T, Error>;

pub(super) fn read(text: &str) -> Read<NewJob> {
    let members = json::members(text).map_err(|error| {
        Error::invalid(refusal::INVALID_BODY, "", format!("a job is an object: {error}"))
    })?;
    let mut job = NewJob::default();
    let (mut debounce, mut throttle) = (None, None);
    for json::Member { name, raw } in &members {
        match &**name {
            "jobId" => job.id = Some(string(raw, refusal::INVALID_ID, "jobId")?),
            "type" => job.kind = string(raw, refusal::INVALID_TYPE, "type")?,
            "payload" => job.payload = Some(raw.get().to_owned()),
            "schedule" => job.schedule = schedule(raw)?,
            "retry" => job.retry = retry(raw)?,
            "priority" => job.priority = priority(raw)?,
            "dependsOn" => job.depends_on = strings(raw, refusal::INVALID_DEPENDENCY, "dependsOn")?,
            "target" => job.target = target(raw)?,
            "metadata" => job.metadata = Some(raw.get().to_owned()),
            "rateLimit" => job.rate_limit = Some(rate_limit(raw)?),
            "unique" => job.unique = Some(unique(raw)?),
            "debounce" => {
                debounce = Some(keyed(raw, refusal::INVALID_DEBOUNCE, "debounce", "waitMs")?);
            }
            "throttle" => {
                throttle = Some(keyed(raw, refusal::INVALID_THROTTLE, "throttle", "windowMs")?);
            }
            "x" => job.x = extras(raw)?,
            // A job that was read and is sent again brings these along.
            "createdAt" | "attempts" | "status" => {}
            other => return Err(unknown(other)),
        }
    }
    if usize::from(debounce.is_some())
        + usize::from(throttle.is_some())
        + usize::from(job.unique.is_some())
        > 1
    {
        let sentence = "a job takes one of unique, debounce and throttle";
        return Err(Error::invalid(refusal::INVALID_UNIQUE, "unique", sentence));
    }
    if let Some((key, wait)) = debounce {
        if job.schedule != Schedule::default() {
            let sentence = "debounce says when the job runs: leave schedule out";
            return Err(Error::invalid(refusal::INVALID_DEBOUNCE, "debounce", sentence));
        }
        job = job.debounce(key, wait);
    }
    if let Some((key, window)) = throttle {
        job = job.throttle(key, window);
    }
    // Stored jobs carry the key only; its window is then a day.
    if let (None, Some(key)) = (&job.unique, job.x.unique_key.take()) {
        let window = Duration::from_hours(24);
        job.unique = Some(Unique { key, window, on_conflict: OnConflict::Reject });
    }
    Ok(job)
}

fn unknown(field: &str) -> Error {
    let shown: String = field.chars().take(100).collect();
    let message = format!("{shown} is no field of a job; leave it out or put it into metadata");
    Error::invalid(refusal::UNKNOWN_FIELD, shown, message)
}

fn members<'a>(
    raw: &'a RawValue,
    def: RefusalDef,
    field: &'static str,
) -> Read<Vec<json::Member<'a>>> {
    json::members(raw.get())
        .map_err(|_| Error::invalid(def, field, format!("{field} must be an object")))
}

fn string(raw: &RawValue, def: RefusalDef, field: &'static str) -> Read<String> {
    serde_json::from_str(raw.get())
        .map_err(|_| Error::invalid(def, field, format!("{field} must be text")))
}

fn strings(raw: &RawValue, def: RefusalDef, field: &'static str) -> Read<Vec<String>> {
    serde_json::from_str(raw.get())
        .map_err(|_| Error::invalid(def, field, format!("{field} must be a list of texts")))
}

fn number(raw: &RawValue, def: RefusalDef, field: &'static str) -> Read<i64> {
    whole(raw.get())
        .ok_or_else(|| Error::invalid(def, field, format!("{field} must be a whole number")))
}

fn count(raw: &RawValue, def: RefusalDef, field: &'static str) -> Read<u64> {
    u64::try_from(number(raw, def, field)?)
        .map_err(|_| Error::invalid(def, field, format!("{field} must not be negative")))
}

fn priority(raw: &RawValue) -> Read<u8> {
    let number = number(raw, refusal::INVALID_PRIORITY, "priority")?;
    u8::try_from(number).map_err(|_| {
        Error::invalid(
            refusal::INVALID_PRIORITY,
            "priority",
            "priority must be a whole number from 1 to 10",
        )
    })
}

fn schedule(raw: &RawValue) -> Read<Schedule> {
    let mut schedule = Schedule::default();
    for json::Member { name, raw } in members(raw, refusal::INVALID_SCHEDULE, "schedule")? {
        match &*name {
            "delay" => schedule.delay = Some(count(raw, refusal::INVALID_DELAY, "schedule.delay")?),
            "runAt" => {
                schedule.run_at = Some(number(raw, refusal::INVALID_RUN_AT, "schedule.runAt")?);
            }
            "cron" => schedule.cron = Some(string(raw, refusal::INVALID_CRON, "schedule.cron")?),
            "timezone" => {
                schedule.timezone =
                    Some(string(raw, refusal::INVALID_TIMEZONE, "schedule.timezone")?);
            }
            other => return Err(unknown(&format!("schedule.{other}"))),
        }
    }
    Ok(schedule)
}

fn retry(raw: &RawValue) -> Read<Retry> {
    let mut retry = Retry::default();
    for json::Member { name, raw } in members(raw, refusal::INVALID_RETRY, "retry")? {
        match &*name {
            "attempts" => {
                let count = count(raw, refusal::INVALID_RETRY, "retry.attempts")?;
                retry.attempts = u32::try_from(count).unwrap_or(u32::MAX);
            }
            "backoff" => retry.backoff = backoff(raw)?,
            "skipOn" => retry.skip_on = strings(raw, refusal::INVALID_RETRY, "retry.skipOn")?,
            "rerouteOn" => {
                retry.reroute_on = strings(raw, refusal::INVALID_RETRY, "retry.rerouteOn")?;
            }
            other => return Err(unknown(&format!("retry.{other}"))),
        }
    }
    Ok(retry)
}

fn backoff(raw: &RawValue) -> Read<Backoff> {
    const DEF: RefusalDef = refusal::INVALID_RETRY;
    let mut backoff = Backoff::default();
    for json::Member { name, raw } in members(raw, DEF, "retry.backoff")? {
        match &*name {
            "type" => {
                backoff.kind = match string(raw, DEF, "retry.backoff.type")?.as_str() {
                    "fixed" => BackoffKind::Fixed,
                    "linear" => BackoffKind::Linear,
                    "exponential" => BackoffKind::Exponential,
                    _ => {
                        let sentence = "retry.backoff.type must be fixed, linear or exponential";
                        return Err(Error::invalid(DEF, "retry.backoff.type", sentence));
                    }
                }
            }
            "delay" => backoff.delay = count(raw, DEF, "retry.backoff.delay")?,
            "maxDelay" => backoff.max_delay = Some(count(raw, DEF, "retry.backoff.maxDelay")?),
            "jitter" => {
                backoff.jitter = serde_json::from_str(raw.get()).map_err(|_| {
                    let sentence = "retry.backoff.jitter must be true or false";
                    Error::invalid(DEF, "retry.backoff.jitter", sentence)
                })?;
            }
            other => return Err(unknown(&format!("retry.backoff.{other}"))),
        }
    }
    Ok(backoff)
}

fn target(raw: &RawValue) -> Read<Target> {
    const DEF: RefusalDef = refusal::INVALID_TARGET;
    let mut target = Target::default();
    for json::Member { name, raw } in members(raw, DEF, "target")? {
        match &*name {
            "server" => {
                target.server =
                    Some(string(raw, DEF, "target.server")?).filter(|id| !id.is_empty());
            }
            "stack" => target.stack = strings(raw, DEF, "target.stack")?,
            "capabilities" => target.capabilities = strings(raw, DEF, "target.capabilities")?,
            "region" => target.region = strings(raw, DEF, "target.region")?,
            "mode" => {
                target.mode = match string(raw, DEF, "target.mode")?.as_str() {
                    "any" => Some(Mode::Any),
                    "all" => Some(Mode::All),
                    _ => {
                        let sentence = "target.mode must be any or all";
                        return Err(Error::invalid(DEF, "target.mode", sentence));
                    }
                }
            }
            other => return Err(unknown(&format!("target.{other}"))),
        }
    }
    Ok(target)
}

fn rate_limit(raw: &RawValue) -> Read<RateLimit> {
    const DEF: RefusalDef = refusal::INVALID_RATE_LIMIT;
    let mut limit = RateLimit::default();
    for json::Member { name, raw } in members(raw, DEF, "rateLimit")? {
        match &*name {
            "maxConcurrent" => {
                limit.max_concurrent = Some(count(raw, DEF, "rateLimit.maxConcurrent")?);
            }
            "maxPerMinute" => {
                limit.max_per_minute = Some(count(raw, DEF, "rateLimit.maxPerMinute")?);
            }
            other => return Err(unknown(&format!("rateLimit.{other}"))),
        }
    }
    Ok(limit)
}

fn unique(raw: &RawValue) -> Read<Unique> {
    const DEF: RefusalDef = refusal::INVALID_UNIQUE;
    let window = Duration::from_hours(24);
    let mut unique = Unique { key: String::new(), window, on_conflict: OnConflict::Reject };
    for json::Member { name, raw } in members(raw, DEF, "unique")? {
        match &*name {
            "key" => unique.key = string(raw, DEF, "unique.key")?,
            "windowMs" => {
                unique.window = Duration::from_millis(count(raw, DEF, "unique.windowMs")?);
            }
            "onConflict" => {
                let word = string(raw, DEF, "unique.onConflict")?;
                let all = [OnConflict::Reject, OnConflict::Replace, OnConflict::QueueNext];
                let found = all.into_iter().find(|policy| policy.word() == word);
                unique.on_conflict = found.ok_or_else(|| {
                    let sentence = "unique.onConflict must be reject, replace or queue_next";
                    Error::invalid(DEF, "unique.onConflict", sentence)
                })?;
            }
            other => return Err(unknown(&format!("unique.{other}"))),
        }
    }
    Ok(unique)
}

/// A key and a time, which `debounce` and `throttle` take.
fn keyed(
    raw: &RawValue,
    def: RefusalDef,
    field: &'static str,
    time: &'static str,
) -> Read<(String, Duration)> {
    let (mut key, mut ms) = (String::new(), 0);
    for json::Member { name, raw } in members(raw, def, field)? {
        match &*name {
            "key" => key = string(raw, def, field)?,
            name if name == time => ms = count(raw, def, field)?,
            other => return Err(unknown(&format!("{field}.{other}"))),
        }
    }
    if key.is_empty() || key.len() > 500 || ms == 0 {
        let sentence = format!("{field} takes a key of 1 to 500 bytes and {time} from 1");
        return Err(Error::invalid(def, field, sentence));
    }
    Ok((key, Duration::from_millis(ms)))
}

fn extras(raw: &RawValue) -> Read<Extras> {
    const DEF: RefusalDef = refusal::INVALID_X;
    let mut known = Extras::read(Some(raw));
    for json::Member { name, raw } in members(raw, DEF, "x")? {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
        let right = match &*name {
            "uniqueKey" | "traceparent" | "batch" | "cronParent" | "group" | "sequence"
            | "flow" | "parent" => value.is_string(),
            "timeoutMs" | "expiresAt" => whole(raw.get()).is_some_and(|number| number > 0),
            "exclude" => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            "limiter" => value == "sliding",
            "onDependencyFailed" => ["fail", "wait", "ignore"].iter().any(|word| value == *word),
            "overlap" => value == "skip" || value == "queue",
            other => return Err(unknown(&format!("x.{other}"))),
        };
        if !right {
            let sentence =
                format!("x.{name} cannot be {}", raw.get().chars().take(60).collect::<String>());
            return Err(Error::invalid(DEF, format!("x.{name}"), sentence));
        }
    }
    // The definition that fired a job, and its place in a flow, are not for its sender to name.
    (known.cron_parent, known.flow, known.parent) = (None, None, None);
    Ok(known)
}
