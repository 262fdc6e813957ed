//! `jobs dlq ls|show|requeue|purge|edit`. A verb that touches many dead letters says how many
//! first.

use serde_json::{Value, json};

use super::{Cx, col, since};
use crate::cli::jobs::{Chosen, Dlq};
use crate::exit::Failure;
use crate::remote::Ask;
use crate::view::{Column, Show, list, plain};
use crate::{open, path, print};

const LIST: &[Column] = &[
    col("job", "/jobId"),
    col("type", "/type"),
    col("error", "/error/name"),
    col("tries", "/tries/used"),
    col("died", "/endedAt").by(since),
    col("message", "/error/message"),
];

const GROUPS: &[Column] = &[
    col("error", "/error"),
    col("jobs", "/count"),
    col("types", "/types").by(list),
    col("last", "/newest/endedAt").by(since),
    col("message", "/message"),
];

pub(super) fn run(cx: &Cx<'_>, verb: Dlq) -> Result<(), Failure> {
    const NONE: &str = "no dead letters; jobs land here after their last try";
    match verb {
        Dlq::Ls { kind, error, group, limit } => {
            let grouped = group.is_some();
            let ask = Ask::get("/api/dlq")
                .query("type", kind)
                .query("error", error)
                .query("group", group)
                .up_to(limit);
            cx.run(ask, &Show::Table(if grouped { GROUPS } else { LIST }, NONE))
        }
        Dlq::Show(one) => super::read::get(cx, &one.id),
        Dlq::Requeue(chosen) => bulk(cx, &chosen, "run again", "requeued", |body| {
            Ask::post("/api/dlq:requeue").body(body)
        }),
        Dlq::Purge(chosen) => bulk(cx, &chosen, "remove for good", "removed", |body| {
            Ask::delete("/api/dlq").body(body)
        }),
        Dlq::Edit { id, payload } => {
            let payload = Some(super::produce::payload(&payload)?);
            let body = super::produce::with_raw(&json!({}), [("payload", payload)]);
            let says = |_: &Value| format!("changed and requeued {}", plain(&id));
            cx.run(Ask::post(path!("/api/dlq/{}:edit", id)).text(body), &Show::Says(&says))
        }
    }
}

fn bulk(
    cx: &Cx<'_>,
    chosen: &Chosen,
    verb: &str,
    done: &str,
    ask: impl Fn(Value) -> Ask,
) -> Result<(), Failure> {
    let mut body = if chosen.ids.is_empty() {
        json!({ "type": chosen.kind, "error": chosen.error, "all": chosen.all, "count": false })
    } else {
        json!({ "ids": chosen.ids })
    };
    crate::verbs::wait(async {
        let remote = cx.open().await?;
        if chosen.ids.is_empty() {
            body["count"] = json!(true);
            let count = remote.json(&cx.named(ask(body.clone()))).await?["count"].clone();
            if count == json!(0) {
                return Err(Failure::not_found(format!("no dead letter is meant; {done} nothing")));
            }
            open::confirm(cx.global, &format!("{verb} {count} dead letters"))?;
            body["count"] = json!(false);
        } else if done == "removed" {
            open::confirm(cx.global, &format!("{verb} {}", chosen.ids.join(", ")))?;
        }
        let says = |answer: &Value| match answer["missing"].as_u64() {
            Some(missing) if missing > 0 => {
                format!("{done} {}; {missing} were not there", answer["count"])
            }
            _ => format!("{done} {}", answer["count"]),
        };
        let answer = remote.json(&cx.named(ask(body))).await?;
        if cx.global.json {
            print::json(&answer);
        } else if answer["count"] != json!(0) && !cx.global.quiet {
            print::line(says(&answer));
        }
        match answer["count"].as_u64() {
            Some(0) => Err(Failure::not_found(format!("no dead letter is meant; {done} nothing"))),
            _ => Ok(()),
        }
    })
}
