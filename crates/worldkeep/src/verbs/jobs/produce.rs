//! `jobs dispatch`: one job from flags, or many from a file. `jobs flow`: a tree of jobs from a file.

use std::io::Read as _;

use kernel::json::{Change, edit};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Cx;
use crate::cli::jobs::{Dispatch, FlowFlags, duration};
use crate::config::plain as why;
use crate::exit::Failure;
use crate::print;
use crate::remote::Ask;
use crate::view::{plain, text};

/// Jobs sent at once.
const BATCH: usize = 500;

pub(super) fn dispatch(cx: &Cx<'_>, flags: Dispatch) -> Result<(), Failure> {
    if let Some(file) = &flags.file {
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("cannot read {}: {}", file.display(), why(&error)))
        })?;
        return many(cx, &jobs_of(&text)?);
    }
    let wait = flags.wait;
    send(cx, "/api/jobs", job(flags)?, wait)
}

pub(super) fn flow(cx: &Cx<'_>, flags: &FlowFlags) -> Result<(), Failure> {
    let body = if flags.file.as_os_str() == "-" {
        payload("-")?.get().to_owned()
    } else {
        let text = std::fs::read_to_string(&flags.file).map_err(|error| {
            Failure::usage(format!("cannot read {}: {}", flags.file.display(), why(&error)))
        })?;
        json_of("the file", &text)?.get().to_owned()
    };
    send(cx, "/api/jobs:flow", body, flags.wait)
}

/// Sends a job or a flow, and prints its id, or waits for its end.
fn send(cx: &Cx<'_>, path: &str, body: String, wait: bool) -> Result<(), Failure> {
    let answer = crate::verbs::wait(async {
        cx.open().await?.raw(&cx.named(Ask::post(path).text(body))).await
    })?;
    let made: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let id = text(&made["jobId"]);
    if wait {
        return super::read::wait(cx, &id, u64::MAX);
    }
    if cx.global.json {
        print::raw_json(&answer.body);
    } else {
        print::line(id);
    }
    Ok(())
}

/// A job as the API takes it. Payload and metadata go as they were written.
fn job(flags: Dispatch) -> Result<String, Failure> {
    let payload = flags.payload.map(|text| payload(&text)).transpose()?;
    let metadata = flags.metadata.map(|text| json_of("--metadata", &text)).transpose()?;
    let mut job = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            job.insert(name.to_owned(), value);
        }
    };
    set("type", flags.kind.map(Value::from));
    set("jobId", flags.id.map(Value::from));
    set("priority", flags.priority.map(Value::from));
    set("schedule", object([("delay", json!(flags.delay)), ("runAt", json!(flags.at))]));
    let backoff = flags.backoff.map(|text| backoff(&text)).transpose()?;
    set("retry", object([("attempts", json!(flags.attempts)), ("backoff", json!(backoff))]));
    let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
    set(
        "target",
        object([
            ("server", json!(flags.on)),
            ("stack", json!(some(flags.stack))),
            ("capabilities", json!(some(flags.capability))),
            ("region", json!(some(flags.region))),
            ("mode", if flags.all { json!("all") } else { Value::Null }),
        ]),
    );
    set(
        "rateLimit",
        object([
            ("maxConcurrent", json!(flags.max_concurrent)),
            ("maxPerMinute", json!(flags.max_per_minute)),
        ]),
    );
    set("unique", object([("key", json!(flags.unique)), ("windowMs", json!(flags.unique_for))]));
    let timed = |flag: &str, given: Option<String>, time: &'static str| {
        let (key, ms) = match given {
            Some(given) => keyed(flag, &given)?,
            None => return Ok(None),
        };
        Ok::<_, Failure>(object([("key", json!(key)), (time, json!(ms))]))
    };
    set("debounce", timed("--debounce", flags.debounce, "waitMs")?);
    set("throttle", timed("--throttle", flags.throttle, "windowMs")?);
    set("dependsOn", some(flags.depends_on).map(Value::from));
    set(
        "x",
        object([
            ("timeoutMs", json!(flags.run_timeout)),
            ("group", json!(flags.group)),
            ("sequence", json!(flags.sequence)),
        ]),
    );
    let raw = [("payload", payload), ("metadata", metadata)];
    Ok(with_raw(&Value::from(job), raw))
}

/// A JSON object with members added as they are.
#[allow(clippy::needless_pass_by_value)] // Reads better where it is called.
pub(super) fn with_raw<const N: usize>(
    object: &Value,
    members: [(&str, Option<Box<RawValue>>); N],
) -> String {
    let given: Vec<_> = members
        .iter()
        .filter_map(|(name, raw)| Some((*name, Change::Set(raw.as_ref()?.get()))))
        .collect();
    edit(&object.to_string(), &given).expect("an object and JSON texts make an object")
}

/// The members that have a value; `None` when none has.
fn object<const N: usize>(members: [(&str, Value); N]) -> Option<Value> {
    let given: Map<String, Value> = members
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    (!given.is_empty()).then(|| given.into())
}

/// JSON, or what comes from the input when it is `-`.
pub(super) fn payload(text: &str) -> Result<Box<RawValue>, Failure> {
    if text != "-" {
        return json_of("the payload", text);
    }
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .map_err(|error| Failure::usage(format!("cannot read the input: {}", why(&error))))?;
    json_of("the input", &input)
}

fn json_of(what: &str, text: &str) -> Result<Box<RawValue>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(format!("{what} is not JSON: {error}; put texts in quotes"))
    })
}

/// `fixed:5s` and the like.
fn backoff(text: &str) -> Result<Value, Failure> {
    let bad = || Failure::usage("--backoff: write it like fixed:5s, linear:1s or exponential:2s");
    let (kind, delay) = text.split_once(':').ok_or_else(bad)?;
    let delay = duration(delay).map_err(|_| bad())?;
    Ok(json!({ "type": kind, "delay": delay }))
}

/// `KEY:TIME`; the key may hold colons.
fn keyed(flag: &str, text: &str) -> Result<(String, u64), Failure> {
    let bad = || Failure::usage(format!("{flag}: write it like shop-7:5s, a key and a time"));
    let (key, time) = text.rsplit_once(':').filter(|(key, _)| !key.is_empty()).ok_or_else(bad)?;
    Ok((key.to_owned(), duration(time).map_err(|_| bad())?))
}

/// One JSON per line, or one list.
fn jobs_of(text: &str) -> Result<Vec<Box<RawValue>>, Failure> {
    if text.trim_start().starts_with('[') {
        let list = serde_json::from_str(text);
        return list
            .map_err(|error| Failure::usage(format!("the file is not a JSON list: {error}")));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(n, line)| json_of(&format!("line {}", n + 1), line)).collect()
}

fn many(cx: &Cx<'_>, jobs: &[Box<RawValue>]) -> Result<(), Failure> {
    let mut refused = 0;
    crate::verbs::wait(async {
        let remote = cx.open().await?;
        for chunk in jobs.chunks(BATCH) {
            let list: Vec<&str> = chunk.iter().map(|job| job.get()).collect();
            let body = format!("{{\"jobs\":[{}]}}", list.join(","));
            let ask = cx.named(Ask::post("/api/jobs:batch").text(body));
            let answer = remote.json(&ask).await?;
            for item in answer["items"].as_array().into_iter().flatten() {
                if cx.global.json {
                    print::json(item);
                } else if let Some(id) = item["job"]["jobId"].as_str() {
                    print::line(plain(id));
                } else {
                    print::problem(&text(&item["error"]["message"]));
                }
                refused += usize::from(item["error"].is_object());
            }
        }
        Ok(())
    })?;
    if refused > 0 {
        return Err(Failure::failed(format!("{refused} of {} jobs were refused", jobs.len())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_a_list_or_a_job_per_line() {
        assert_eq!(jobs_of("{\"type\":\"a\"}\n\n{\"type\":\"b\"}\n").unwrap().len(), 2);
        assert_eq!(jobs_of(" [{\"type\":\"a\"}]").unwrap().len(), 1);
        assert!(jobs_of("{\"type\":\n").unwrap_err().message.contains("line 1"));
        assert_eq!(backoff("fixed:5s").unwrap(), json!({ "type": "fixed", "delay": 5000 }));
        assert_eq!(backoff("fixed").unwrap_err().code, 2);
        assert_eq!(keyed("--debounce", "shop:7:5s").unwrap(), ("shop:7".to_owned(), 5_000));
        assert_eq!(keyed("--debounce", "5s").unwrap_err().code, 2);
    }
}
