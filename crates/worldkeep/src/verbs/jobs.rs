//! `worldkeep jobs …`: each verb is a request to the API of `server/src/jobs` and a way to show its answer.

use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::jobs::{Jobs, JobsVerb, LimitFlags, Many, Workers};
use crate::exit::Failure;
use crate::remote::{self, Ask, Remote};
use crate::view::{self, Column, Show, col, list, plain, since, text, took, when, yes};
use crate::{open, path, print};

mod cron;
mod dlq;
mod lua;
mod produce;
mod read;
mod watch;

/// The context of every verb of jobs.
struct Cx<'a> {
    global: &'a Global,
    ns: Option<String>,
}

impl Cx<'_> {
    /// Settings of a store opened here: any namespace is served there.
    fn settings(&self) -> Vec<(&'static str, String)> {
        self.ns.iter().map(|ns| ("jobs.namespaces", ns.clone())).collect()
    }

    fn run(&self, ask: Ask, show: &Show<'_>) -> Result<(), Failure> {
        remote::run(self.global, &self.settings(), &self.named(ask), show)
    }

    async fn open(&self) -> Result<Remote, Failure> {
        Remote::open(self.global, &self.settings()).await
    }

    fn named(&self, ask: Ask) -> Ask {
        ask.query("ns", self.ns.as_ref())
    }

    /// The same action on each of several jobs, in order; the first refusal ends it.
    fn each(&self, ids: &[String], done: &str, ask: impl Fn(&str) -> Ask) -> Result<(), Failure> {
        super::wait(async {
            let remote = self.open().await?;
            for id in ids {
                let says = |_: &Value| format!("{done} {}", plain(id));
                remote.tell(self.global, &self.named(ask(id)), &Show::Says(&says)).await?;
            }
            Ok(())
        })
    }
}

pub(super) fn run(global: &Global, flags: Jobs) -> Result<(), Failure> {
    let cx = Cx { global, ns: flags.ns };
    match flags.verb {
        JobsVerb::Dispatch(flags) => produce::dispatch(&cx, *flags),
        JobsVerb::Flow(flags) => produce::flow(&cx, &flags),
        JobsVerb::Tree(one) => read::tree(&cx, &one.id),
        JobsVerb::Get(one) => read::get(&cx, &one.id),
        JobsVerb::Ls(flags) => read::ls(&cx, flags),
        JobsVerb::Wait(flags) => read::wait(&cx, &flags.id, flags.timeout),
        JobsVerb::Explain(one) => read::explain(&cx, &one.id),
        JobsVerb::Timeline(one) => read::timeline(&cx, &one.id),
        JobsVerb::Cancel(Many { ids }) => {
            cx.each(&ids, "cancelled", |id| Ask::post(path!("/api/jobs/{}:cancel", id)))
        }
        JobsVerb::Retry(Many { ids }) => {
            cx.each(&ids, "runs again:", |id| Ask::post(path!("/api/jobs/{}:retry", id)))
        }
        JobsVerb::Run(Many { ids }) => {
            cx.each(&ids, "runs now:", |id| Ask::post(path!("/api/jobs/{}:runNow", id)))
        }
        JobsVerb::Bury(Many { ids }) => {
            cx.each(&ids, "buried", |id| Ask::post(path!("/api/jobs/{}:bury", id)))
        }
        JobsVerb::Rm(Many { ids }) => {
            open::confirm(global, &format!("remove {} and everything about it", ids.join(", ")))?;
            cx.each(&ids, "removed", |id| Ask::delete(path!("/api/jobs/{}", id)))
        }
        JobsVerb::Tail(flags) => watch::tail(&cx, &flags),
        JobsVerb::Stats { watch } => watch::stats(&cx, watch),
        JobsVerb::Dlq { verb } => dlq::run(&cx, verb),
        JobsVerb::Cron { verb } => cron::run(&cx, verb),
        JobsVerb::Queues => {
            cx.run(Ask::get("/api/queues"), &Show::Table(QUEUES, "there are no jobs of any type"))
        }
        JobsVerb::Pause { kind, lasting } => {
            let body = lasting.map_or_else(|| json!({}), |ms| json!({ "forMs": ms }));
            let says = |_: &Value| format!("{} is paused; running jobs finish", plain(&kind));
            cx.run(Ask::post(path!("/api/queues/{}:pause", kind)).body(body), &Show::Says(&says))
        }
        JobsVerb::Resume { kind } => {
            let says = |_: &Value| format!("{} runs again", plain(&kind));
            cx.run(Ask::post(path!("/api/queues/{}:resume", kind)), &Show::Says(&says))
        }
        JobsVerb::Groups => {
            cx.run(Ask::get("/api/groups"), &Show::Table(GROUPS, "there are no groups"))
        }
        JobsVerb::Limit { kind, group, limit } => {
            let says = |answer: &Value| limited(&plain(&kind), answer);
            let path = if group {
                path!("/api/groups/{}:limit", kind)
            } else {
                path!("/api/queues/{}:limit", kind)
            };
            cx.run(Ask::post(path).body(limit_body(&limit)), &Show::Says(&says))
        }
        JobsVerb::Purge { kind } => purge(&cx, &kind),
        JobsVerb::Workers { verb } => workers(&cx, verb),
        JobsVerb::Doctor { repair } => doctor(&cx, repair),
        JobsVerb::Lua { verb } => lua::run(global, &verb),
    }
}

const QUEUES: &[Column] = &[
    col("type", "/type"),
    col("waiting", "/waiting"),
    col("active", "/active"),
    col("delayed", "/delayed"),
    col("dead", "/dead"),
    col("paused", "/paused").by(yes),
    col("until", "/pausedUntil").by(since),
    col("limit", "/limit").by(limit_words),
    col("at once", "/limits/maxConcurrent"),
    col("per minute", "/limits/maxPerMinute"),
];

const GROUPS: &[Column] = &[
    col("group", "/group"),
    col("waiting", "/waiting"),
    col("running", "/running"),
    col("limit", "/limit").by(limit_words),
];

const WORKERS: &[Column] = &[
    col("worker", "/serverId"),
    col("alive", "/alive").by(yes),
    col("stack", "/stack"),
    col("region", "/region"),
    col("capabilities", "/capabilities").by(list),
    col("runs", "/jobs").by(|jobs| jobs.as_array().map_or(0, Vec::len).to_string()),
    col("of", "/concurrency"),
    col("seen", "/seenAt").by(since),
    col("asked to", "/asked"),
    col("host", "/hostname"),
];

fn limit_body(flags: &LimitFlags) -> Value {
    let LimitFlags { concurrency, rate, per, .. } = flags;
    let mut body = json!({});
    for (name, value) in [("concurrency", concurrency), ("rate", rate), ("periodMs", per)] {
        if let Some(value) = value {
            body[name] = json!(value);
        }
    }
    body
}

/// A limit in words: `5 at once, 100 in 10 s`.
fn limit_words(limit: &Value) -> String {
    let number = |name: &str| limit[name].as_u64();
    let most = number("concurrency").map(|most| format!("{most} at once"));
    let rate = number("rate").map(|rate| {
        let period = took(&json!(number("periodMs").unwrap_or(60_000)));
        format!("{rate} in {period}")
    });
    most.into_iter().chain(rate).collect::<Vec<_>>().join(", ")
}

fn limited(what: &str, answer: &Value) -> String {
    match limit_words(&answer["limit"]) {
        words if words.is_empty() => format!("{what} has no limit"),
        words => format!("{what} is limited: {words}"),
    }
}

fn purge(cx: &Cx<'_>, kind: &str) -> Result<(), Failure> {
    let path = path!("/api/queues/{}:purge", kind);
    super::wait(async {
        let remote = cx.open().await?;
        let dry = cx.named(Ask::post(path.as_str()).body(json!({ "count": true })));
        let count = remote.json(&dry).await?["count"].as_u64().unwrap_or(0);
        open::confirm(cx.global, &format!("remove {count} waiting and delayed jobs of {kind}"))?;
        let says = |answer: &Value| format!("removed {} jobs", answer["count"]);
        remote.tell(cx.global, &cx.named(Ask::post(path.as_str())), &Show::Says(&says)).await
    })
}

fn workers(cx: &Cx<'_>, verb: Option<Workers>) -> Result<(), Failure> {
    let (id, word) = match verb {
        None => {
            let none = "no worker is registered";
            return cx.run(Ask::get("/api/workers"), &Show::Table(WORKERS, none));
        }
        Some(Workers::Quiet(one)) => (one.id, "quiet"),
        Some(Workers::Stop(one)) => {
            open::confirm(cx.global, &format!("end worker {} after what it runs", one.id))?;
            (one.id, "stop")
        }
    };
    let says = |_: &Value| format!("{} was asked to {word}", plain(&id));
    cx.run(Ask::post(path!("/api/workers/{}:{}", id, word)), &Show::Says(&says))
}

fn doctor(cx: &Cx<'_>, repair: bool) -> Result<(), Failure> {
    if repair {
        open::confirm(cx.global, "put jobs back where their state says, and correct counters")?;
    }
    let ask = if repair {
        Ask::post("/api/jobs:doctor").body(json!({ "repair": true }))
    } else {
        Ask::get("/api/jobs:doctor")
    };
    let report = super::wait(async { cx.open().await?.json(&cx.named(ask)).await })?;
    if cx.global.json {
        print::json(&report);
    } else {
        for finding in report["findings"].as_array().into_iter().flatten() {
            let done = if finding["repaired"] == json!(true) { " (repaired)" } else { "" };
            print::line(format!(
                "{}: {}{done}",
                text(&finding["kind"]),
                text(&finding["sentence"])
            ));
        }
        for warning in report["warnings"].as_array().into_iter().flatten() {
            print::line(format!("warning: {}", text(&warning["sentence"])));
        }
        if !cx.global.quiet {
            print::line(text(&report["sentence"]));
        }
    }
    if report["remaining"].as_u64().unwrap_or(0) > 0 {
        return Err(Failure::told(1));
    }
    Ok(())
}
