//! `jobs tail` and `jobs stats [--watch]`: asks again and again over the same API, so that both work on a server
//! and on a store.

use std::time::Duration;

use serde_json::Value;

use super::{Cx, col, text, when};
use crate::cli::jobs::Tail;
use crate::exit::Failure;
use crate::print;
use crate::remote::Ask;
use crate::view::{Column, Show, took};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(300);
/// Events shown before the new ones come.
const BEFORE: usize = 10;

pub(super) fn tail(cx: &Cx<'_>, flags: &Tail) -> Result<(), Failure> {
    crate::verbs::wait(async {
        let remote = cx.open().await?;
        let ns = match &cx.ns {
            Some(ns) => ns.clone(),
            None => text(&remote.json(&Ask::get("/api/stats")).await?["namespace"]),
        };
        let events = || {
            Ask::get("/api/events")
                .query("module", Some("jobs"))
                .query("scope", Some(&ns))
                .query("id", flags.id.as_ref())
        };
        let mut after = if flags.from_start {
            "0".to_owned()
        } else {
            let page = remote.json(&events().query("limit", Some(BEFORE))).await?;
            let mut items = page["items"].as_array().cloned().unwrap_or_default();
            let newest = items.first().map(|event| text(&event["seq"]));
            items.reverse();
            for event in &items {
                tell(cx, flags, event);
            }
            if flags.once {
                return Ok(());
            }
            newest.unwrap_or_else(|| "0".to_owned())
        };
        loop {
            let ask = events().query("limit", Some(500)).query("after", Some(&after));
            let page = remote.json(&ask).await?;
            let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            for event in items {
                tell(cx, flags, event);
            }
            let before = std::mem::replace(&mut after, text(&page["cursor"]));
            let more = after != before;
            if flags.once && !more {
                return Ok(());
            }
            if items.len() < 500 && !flags.once {
                tokio::time::sleep(EVERY).await;
            }
        }
    })
}

fn tell(cx: &Cx<'_>, flags: &Tail, event: &Value) {
    let kind = text(&event["type"]);
    if !flags.events.is_empty() && !flags.events.contains(&kind) {
        return;
    }
    if cx.global.json {
        print::json(event);
        return;
    }
    let body = text(&event["body"]);
    let body = if body == "{}" { String::new() } else { body };
    print::line(
        format!("{}  {kind:<12} {}  {body}", when(&event["at"]), text(&event["id"])).trim_end(),
    );
}

const STATS: &[Column] = &[
    col("namespace", "/namespace"),
    col("waiting", "/waiting"),
    col("active", "/active"),
    col("delayed", "/delayed"),
    col("cron", "/cron"),
    col("dead", "/dead"),
    col("parked", "/parked"),
    col("workers", "/workers"),
    col("oldest waits", "/oldestWaitingMs").by(took),
    col("leader", "/leader/id"),
    col("processed ever", "/processed"),
    col("failed ever", "/failed"),
];

pub(super) fn stats(cx: &Cx<'_>, watch: bool) -> Result<(), Failure> {
    let ask = Ask::get("/api/stats");
    if !watch {
        return cx.run(ask, &Show::Facts(STATS));
    }
    let ask = cx.named(ask);
    crate::verbs::wait(async {
        let remote = cx.open().await?;
        let mut before: Option<Value> = None;
        if !cx.global.json {
            let head = ["waiting", "active", "delayed", "dead", "workers", "done/s", "failed/s"];
            print::line(head.map(|word| format!("{word:>9}")).concat() + "  oldest");
        }
        loop {
            let now = remote.json(&ask).await?;
            if cx.global.json {
                print::json(&now);
            } else {
                print::line(line(&now, before.as_ref()));
            }
            before = Some(now);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
}

fn line(now: &Value, before: Option<&Value>) -> String {
    let number = |name: &str| now[name].as_u64().unwrap_or(0);
    let rate = |name: &str| {
        let Some(before) = before else { return "–".to_owned() };
        let (a, b) = (before[name].as_u64().unwrap_or(0), number(name));
        let ms = number("at").saturating_sub(before["at"].as_u64().unwrap_or(0)).max(1);
        let tenths = b.saturating_sub(a) * 10_000 / ms;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    let cells =
        ["waiting", "active", "delayed", "dead", "workers"].map(|name| number(name).to_string());
    let rates = [rate("processed"), rate("failed")];
    let cells: Vec<String> = cells.iter().chain(&rates).map(|cell| format!("{cell:>9}")).collect();
    format!("{}  {}", cells.concat(), took(&now["oldestWaitingMs"]))
}
