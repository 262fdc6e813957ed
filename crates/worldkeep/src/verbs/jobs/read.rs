//! `jobs get|ls|wait|explain|timeline|tree`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Cx, col, since, text, view, when};
use crate::cli::jobs::Ls;
use crate::exit::Failure;
use crate::remote::Ask;
use crate::view::{Column, Show, took};
use crate::{path, print};

/// One wait at the server; shorter than any proxy's patience.
const WAIT_MS: u64 = 20_000;

const LIST: &[Column] = &[
    col("status", "/status"),
    col("job", "/jobId"),
    col("type", "/type"),
    col("prio", "/priority"),
    col("tries", "/tries").by(|tries| format!("{} of {}", tries["used"], tries["allowed"])),
    col("made", "/createdAt").by(since),
    col("worker", "/worker"),
    col("now", "/now"),
];

pub(super) const DETAIL: &[Column] = &[
    col("job", "/job/jobId"),
    col("type", "/job/type"),
    col("status", "/status"),
    col("now", "/now"),
    col("priority", "/job/priority"),
    col("tries", "/tries").by(|tries| format!("{} of {}", tries["used"], tries["allowed"])),
    col("made", "/job/createdAt").by(when),
    col("runs at", "/runAt").by(when),
    col("worker", "/lock/owner"),
    col("lock ends in", "/lock/ttlMs").by(took),
    col("taken back", "/recoveries")
        .by(|n| if n.as_u64() == Some(0) { String::new() } else { text(n) }),
    col("progress", "/progress"),
    col("result", "/result"),
    col("hidden", "/hidden"),
    col("payload", "/job/payload"),
    col("metadata", "/job/metadata"),
    col("schedule", "/job/schedule"),
    col("retry", "/job/retry"),
    col("target", "/job/target"),
    col("limits", "/job/rateLimit"),
    col("depends on", "/job/dependsOn"),
    col("extras", "/job/x"),
];

pub(super) fn get(cx: &Cx<'_>, id: &str) -> Result<(), Failure> {
    cx.run(Ask::get(path!("/api/jobs/{}", id)), &Show::Facts(DETAIL))
}

pub(super) fn ls(cx: &Cx<'_>, flags: Ls) -> Result<(), Failure> {
    let ask = Ask::get("/api/jobs")
        .query("status", flags.status)
        .query("type", flags.kind)
        .query("text", flags.text)
        .query("order", flags.order)
        .up_to(flags.limit);
    // The namespace goes before the cursor, which the pages add.
    cx.run(ask, &Show::Table(LIST, "no job matches"))
}

/// Ends with 1 when the job failed, and when the time is over.
pub(super) fn wait(cx: &Cx<'_>, id: &str, timeout_ms: u64) -> Result<(), Failure> {
    #[allow(clippy::disallowed_methods)] // How long a person waits, not the store's time.
    let started = Instant::now();
    let timeout = Duration::from_millis(timeout_ms);
    let result = crate::verbs::wait(async {
        let remote = cx.open().await?;
        loop {
            let left = timeout.saturating_sub(started.elapsed());
            let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).min(WAIT_MS);
            let ask = Ask::get(path!("/api/jobs/{}/result", id)).query("waitMs", Some(ms));
            let answer = remote.raw(&cx.named(ask)).await?;
            if answer.status != 202 {
                return serde_json::from_slice::<Value>(&answer.body)
                    .map_err(|_| Failure::failed("the server did not answer with JSON"));
            }
            if left.is_zero() {
                return Err(Failure::failed(format!("job {id} has not ended yet")));
            }
        }
    })?;
    if cx.global.json {
        print::json(&result);
    } else if result["success"] == json!(true) {
        print::line(text(&result["data"]));
    }
    if result["success"] == json!(true) {
        return Ok(());
    }
    let error = &result["error"];
    Err(Failure::failed(format!("{}: {}", text(&error["name"]), text(&error["message"]))))
}

pub(super) fn explain(cx: &Cx<'_>, id: &str) -> Result<(), Failure> {
    let lines = |answer: &Value| {
        let mut lines = vec![text(&answer["sentence"])];
        for check in answer["checks"].as_array().into_iter().flatten() {
            let mark = if check["ok"] == json!(true) { "✓" } else { "✗" };
            lines.push(format!("  {mark} {}", text(&check["sentence"])));
        }
        for worker in answer["workers"].as_array().into_iter().flatten() {
            let mark = if worker["matches"] == json!(true) { "✓" } else { "✗" };
            lines.push(format!(
                "  {mark} {}: {}",
                text(&worker["serverId"]),
                text(&worker["sentence"])
            ));
        }
        lines
    };
    cx.run(Ask::get(path!("/api/jobs/{}/explain", id)), &Show::Lines(&lines))
}

const TIMELINE: &[Column] =
    &[col("when", "/at").by(when), col("what", "/type"), col("details", "/body").by(view::text)];

pub(super) fn timeline(cx: &Cx<'_>, id: &str) -> Result<(), Failure> {
    let none = "no event of this job is kept any more";
    cx.run(Ask::get(path!("/api/jobs/{}/timeline", id)), &Show::Table(TIMELINE, none))
}

pub(super) fn tree(cx: &Cx<'_>, id: &str) -> Result<(), Failure> {
    let lines = |answer: &Value| {
        let mut lines = Vec::new();
        draw(&answer["root"], id, "", "", &mut lines);
        if answer["truncated"] == json!(true) {
            lines.push(format!("… and more: {} jobs are shown", answer["jobs"]));
        }
        lines
    };
    cx.run(Ask::get(path!("/api/jobs/{}/tree", id)), &Show::Lines(&lines))
}

/// One line per job, children below their parent: type, id, state, and why it failed.
fn draw(node: &Value, asked: &str, first: &str, rest: &str, lines: &mut Vec<String>) {
    let id = text(&node["jobId"]);
    let mark = if id == asked { " ←" } else { "" };
    let error = &node["result"]["error"]["name"];
    let why = if error.is_null() { String::new() } else { format!(": {}", text(error)) };
    lines.push(format!("{first}{} {id} {}{why}{mark}", text(&node["type"]), text(&node["status"])));
    let children = node["children"].as_array().map_or(&[][..], Vec::as_slice);
    for (at, child) in children.iter().enumerate() {
        let (turn, below) =
            if at + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(child, asked, &format!("{rest}{turn}"), &format!("{rest}{below}"), lines);
    }
}
