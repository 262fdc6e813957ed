//! `jobs cron add|ls|show|next|rm|fire`.

use serde_json::{Value, json};

use super::{Cx, col, since, when};
use crate::cli::jobs::Cron;
use crate::exit::Failure;
use crate::remote::Ask;
use crate::view::{Column, Show, plain, text};
use crate::{open, path};

const LIST: &[Column] = &[
    col("id", "/jobId"),
    col("pattern", "/cron"),
    col("zone", "/timezone"),
    col("type", "/type"),
    col("overlap", "/overlap"),
    col("next", "/nextAt").by(when),
    col("in", "/nextAt").by(since),
    col("reads", "/sentence"),
];

const NEXT: &[Column] = &[
    col("UTC", "/utc"),
    col("local", "/local"),
    col("in", "/at").by(since),
    col("clock", "/clock"),
];

pub(super) fn run(cx: &Cx<'_>, verb: Cron) -> Result<(), Failure> {
    match verb {
        Cron::Add(flags) => {
            let payload = flags.payload.as_deref().map(super::produce::payload).transpose()?;
            let mut body = json!({
                "type": flags.kind,
                "schedule": { "cron": flags.expression },
            });
            if let Some(zone) = flags.timezone {
                body["schedule"]["timezone"] = zone.into();
            }
            if let Some(overlap) = flags.overlap {
                body["x"] = json!({ "overlap": overlap });
            }
            let body = super::produce::with_raw(&body, [("payload", payload)]);
            let says = |made: &Value| {
                let next = when(&made["nextAt"]);
                format!("{}: {}, next {next}", plain(&flags.id), text(&made["sentence"]))
            };
            cx.run(Ask::put(path!("/api/cron/{}", flags.id)).text(body), &Show::Says(&says))
        }
        Cron::Ls { limit } => cx.run(
            Ask::get("/api/cron").up_to(limit),
            &Show::Table(LIST, "there is no recurring job"),
        ),
        Cron::Show(one) => cx.run(Ask::get(path!("/api/cron/{}", one.id)), &Show::Facts(LIST)),
        Cron::Next { id, n } => cx.run(
            Ask::get(path!("/api/cron/{}/next", id)).query("n", Some(n)),
            &Show::Table(NEXT, "it never fires again"),
        ),
        Cron::Rm(one) => {
            open::confirm(cx.global, &format!("remove the recurring job {}", one.id))?;
            let says = |_: &Value| format!("removed {}", plain(&one.id));
            cx.run(Ask::delete(path!("/api/cron/{}", one.id)), &Show::Says(&says))
        }
        Cron::Fire(one) => {
            let says = |fired: &Value| match fired["fired"].as_bool() {
                Some(false) => format!("{} runs already; nothing was fired", plain(&one.id)),
                _ => format!("fired {}", text(&fired["jobId"])),
            };
            cx.run(Ask::post(path!("/api/cron/{}:fire", one.id)), &Show::Says(&says))
        }
    }
}
