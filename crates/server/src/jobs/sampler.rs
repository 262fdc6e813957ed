//! Looks at every queue once a second: sizes into the history and onto `/metrics`, events into both. Reads only, and
//! at most as much as the stream holds each time; what a busier stream dropped before is counted as unread. A queue
//! that nobody uses is looked at less often.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use jobs::Jobs;
use kernel::events::{Envelope, KnownPlace, Seq};
use kernel::{Deadline, Fault, Message, Topic};
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::handle::Queues;
use super::history::{Fact, History, Sizes};
use crate::app::App;
use crate::history::{Sample, Unit};
use crate::hub::News;
use crate::modules::State;
use crate::wire;

const EVERY: Duration = Duration::from_secs(1);
/// The longest pause between two looks at a queue that nobody uses.
const QUIET: Duration = Duration::from_secs(5);
const PAGE: usize = 1000;
/// Pages of one look: the whole stream, which is trimmed to about 10 000.
const PAGES: usize = 12;

/// The history of each namespace.
pub(crate) struct Histories(Vec<(String, Arc<Place>)>);

/// One namespace.
pub(crate) struct Place {
    pub(crate) history: Mutex<History>,
    /// Up to where its events were read; held while they are.
    after: tokio::sync::Mutex<Read>,
}

/// How far the events of a stream were read.
#[derive(Default)]
struct Read {
    after: Option<Seq>,
    /// How many the stream had ever had then.
    added: Option<u64>,
}

impl Histories {
    /// Kept with the server.
    pub(crate) fn of(app: &App, jobs: &Jobs) -> Arc<Place> {
        let all = app.kept(|| {
            let place =
                || Place { history: Mutex::default(), after: tokio::sync::Mutex::default() };
            let names = &app.settings.jobs.namespaces;
            Histories(names.iter().map(|ns| (ns.clone(), Arc::new(place()))).collect())
        });
        let found = all.0.iter().find(|(ns, _)| ns == jobs.namespace());
        found.map(|(_, place)| Arc::clone(place)).expect("every queue is of a listed namespace")
    }
}

impl Place {
    /// Reads the events since the last time.
    pub(crate) async fn listen(&self, app: &App, jobs: &Jobs) -> Result<(), Fault> {
        let mut read = self.after.lock().await;
        let keys = jobs::keys::Keys::new(jobs.layout());
        let Ok(stream) = keys.events(jobs.namespace()) else { return Ok(()) };
        let stream = stream.as_str();
        let mut from = read.after.map_or_else(|| "-".to_owned(), |seq| format!("({seq}"));
        let count = PAGE.to_string();
        // An event that comes while it is read is for the next look.
        let added = added(app, stream).await;
        let mut found = 0;
        for _ in 0..PAGES {
            let reply =
                wire::call(app.store(), &["XRANGE", stream, &from, "+", "COUNT", &count]).await?;
            let entries = kernel::reply::list(&reply).unwrap_or_default();
            found += entries.len() as u64;
            let last = self.take(app, jobs.namespace(), entries);
            if let Some(last) = last {
                read.after = Some(last);
                from = format!("({last}");
            }
            if entries.len() < PAGE {
                break;
            }
        }
        read.after.get_or_insert_with(Seq::default);
        if let (Some(before), Some(now)) = (read.added, added) {
            // Some of those found may have come after the count: never more than were told.
            let missed = now.saturating_sub(before).saturating_sub(found);
            if missed > 0 {
                self.history.lock().missed(app.now_ms(), missed);
            }
            // A stream that was made anew counts from its own beginning.
            read.added = Some(if now < before { now } else { now.max(before + found) });
        } else {
            read.added = added;
        }
        Ok(())
    }

    fn take(&self, app: &App, ns: &str, entries: &[kernel::Value]) -> Option<Seq> {
        let now = app.now_ms();
        let mut history = self.history.lock();
        let mut last = None;
        for entry in entries {
            let Some([_, fields]) = kernel::reply::list(entry) else { continue };
            let Some(seq) = seq_of(entry) else { continue };
            last = Some(seq);
            let event = Envelope::read("jobs", Some(ns), seq, fields);
            let fact = history.hear(now, &event);
            // Events from before this server began were told by others.
            if let Some(fact) = fact.filter(|_| event.at >= app.started_at) {
                measure(ns, &fact);
            }
        }
        last
    }
}

/// How many events a stream ever had; `None` when there is none, or the server does not tell.
async fn added(app: &App, stream: &str) -> Option<u64> {
    let reply = wire::call(app.store(), &["XINFO", "STREAM", stream]).await.ok()?;
    let pairs = kernel::reply::pairs(&reply)?;
    let count = pairs
        .iter()
        .find_map(|(name, count)| (wire::text(name)? == "entries-added").then_some(*count))?;
    wire::int(count).and_then(|count| u64::try_from(count).ok())
}

fn seq_of(entry: &kernel::Value) -> Option<Seq> {
    let [id, _] = kernel::reply::list(entry)? else { return None };
    wire::text(id)?.parse().ok()
}

/// The loop: one task for each queue.
pub(crate) fn run(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let all = Queues::of(&app);
        let each = all.iter().map(|jobs| {
            let looking = watch(&app, jobs);
            let stop = stop.clone();
            async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = looking => {}
                }
            }
        });
        futures_util::future::join_all(each).await;
    })
}

/// Looks at one queue for ever.
async fn watch(app: &App, jobs: &Jobs) {
    let mut rest = EVERY;
    loop {
        let used = jobs.used();
        let unused = jobs.is_unused().await.unwrap_or(false);
        // The first look at an unused queue shows it as it is; the next ones would show the same.
        if (!unused || rest == EVERY)
            && let Err(refusal) = look(app, jobs).await
        {
            let (why, ns) = (refusal.message, jobs.namespace());
            tracing::debug!(why, ns, "looking at the queue");
        }
        if unused {
            Histories::of(app, jobs).history.lock().unchanged(app.now_ms());
        }
        rest = if unused { (rest * 2).min(QUIET) } else { EVERY };
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = used, if unused => rest = EVERY,
        }
    }
}

/// Queues for the charts. A queue that could not be looked at for a while gives nothing.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn samples(app: &App) -> Vec<Sample> {
    let now = app.now_ms();
    let not_before = now.saturating_sub(u64::try_from(QUIET.as_millis()).unwrap_or(0) + 2_000);
    let mut found = Vec::new();
    for jobs in Queues::of(app).iter() {
        let place = Histories::of(app, jobs);
        let history = place.history.lock();
        let mut add = |name: &'static str, unit: Unit, value: f64| {
            found.push(Sample::store("jobs", name, unit, value).scope(jobs.namespace()));
        };
        if let Some(sizes) = history.sizes(not_before) {
            add("waiting", Unit::Count, sizes.waiting as f64);
            add("active", Unit::Count, sizes.active as f64);
            add("delayed", Unit::Count, sizes.delayed as f64);
            add("dead", Unit::Count, sizes.dead as f64);
        }
        if let Some([dispatched, completed, failed]) = history.flow(now, 5) {
            add("dispatched", Unit::PerSecond, dispatched);
            add("completed", Unit::PerSecond, completed);
            add("failed", Unit::PerSecond, failed);
        }
        if let Some(ms) = history.waits_p95_ms(now, 5) {
            add("wait_p95", Unit::Ms, f64::from(ms));
        }
    }
    found
}

async fn look(app: &App, jobs: &Jobs) -> Result<(), crate::reply::Refusal> {
    let place = Histories::of(app, jobs);
    place.listen(app, jobs).await?;
    let stats = super::stats::numbers(app, jobs).await?;
    let sizes = Sizes {
        waiting: stats.waiting,
        active: stats.active,
        delayed: stats.delayed,
        dead: stats.dead,
        workers: stats.workers,
        oldest_ms: stats.oldest_waiting_ms.unwrap_or(0),
    };
    place.history.lock().sample(app.now_ms(), sizes);
    gauges(jobs.namespace(), &stats);
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // A gauge is a float by its format.
fn gauges(ns: &str, stats: &super::stats::Numbers) {
    let states = [
        ("waiting", stats.waiting),
        ("active", stats.active),
        ("delayed", stats.delayed),
        ("cron", stats.cron),
        ("dead", stats.dead),
        ("parked", stats.parked),
    ];
    for (state, count) in states {
        metrics::gauge!("jobs_queue", "ns" => ns.to_owned(), "state" => state).set(count as f64);
    }
    let gauge = |name: &'static str| metrics::gauge!(name, "ns" => ns.to_owned());
    gauge("jobs_oldest_waiting_seconds").set(stats.oldest_waiting_ms.unwrap_or(0) as f64 / 1000.0);
    gauge("workers_alive").set(stats.workers as f64);
    gauge("scheduler_leader").set(if stats.leader.is_some() { 1.0 } else { 0.0 });
}

#[allow(clippy::cast_precision_loss)]
fn measure(ns: &str, fact: &Fact) {
    let labels = [("ns", ns.to_owned()), ("type", fact.kind.clone())];
    if let Some(ms) = fact.latency_ms {
        metrics::histogram!("jobs_latency_seconds", &labels).record(ms as f64 / 1000.0);
    }
    if let Some(ms) = fact.duration_ms {
        metrics::histogram!("jobs_duration_seconds", &labels).record(ms as f64 / 1000.0);
    }
    let [ns, kind] = labels;
    match fact.event {
        "completed" | "failed" | "dead" | "retried" | "cancelled" => {
            let labels = [ns, kind, ("outcome", fact.event.to_owned())];
            metrics::counter!("jobs_total", &labels).increment(1);
        }
        "recovered" | "orphan_requeued" => {
            metrics::counter!("jobs_recovered_total", &[ns]).increment(1);
        }
        "malformed" => metrics::counter!("jobs_malformed_total", &[ns]).increment(1),
        _ => {}
    }
}

/// Progress as it is told, for sockets that ask for the type `progress`. Numbers only: what a handler writes beside
/// them is for those who may see payloads, and stands in the job.
pub(crate) fn progress(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let queues = Queues::of(&app);
        let topics: Vec<Topic> = queues
            .iter()
            .map(|jobs| Topic::Channel(jobs.progress_channel().as_str().to_owned()))
            .collect();
        if topics.is_empty() {
            return;
        }
        loop {
            let by = Deadline::after(Duration::from_secs(5));
            let mut messages = match app.store().subscribe(&topics, by).await {
                Ok(messages) => messages,
                Err(fault) => {
                    tracing::debug!(%fault, "listening for progress");
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = tokio::time::sleep(EVERY) => continue,
                    }
                }
            };
            loop {
                let message = tokio::select! {
                    () = stop.cancelled() => return,
                    message = messages.next() => message,
                };
                let Some(message) = message else { break };
                if let Message::Payload { channel, payload } = message
                    && app.hub.listeners() > 0
                    && let Some(news) = news(&app, &queues, channel, &payload)
                {
                    app.hub.announce(news);
                }
            }
        }
    })
}

fn news(app: &App, queues: &Queues, channel: String, payload: &[u8]) -> Option<News> {
    let jobs = queues.iter().find(|jobs| jobs.progress_channel().as_str() == channel)?;
    let text = std::str::from_utf8(payload).ok()?;
    let (id, progress) = text.split_once(' ')?;
    let told: serde_json::Value = serde_json::from_str(progress).ok()?;
    let body = json!({ "percent": told["percent"], "updatedAt": told["updatedAt"] });
    let event = Envelope {
        module: "jobs".into(),
        scope: Some(jobs.namespace().to_owned()),
        seq: Seq::default(),
        at: app.now_ms(),
        kind: "progress".into(),
        id: id.to_owned(),
        body: RawValue::from_string(body.to_string()).ok()?,
        place: KnownPlace::default(),
    };
    Some(News::passing(channel, event))
}
