//! Every metric of `/metrics`, as data: name, kind, labels with their values, sentence. What is registered at zero,
//! what a label may hold and `docs/metrics.md` come from here.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// A label and what it may hold. Any other value is shown as `other`.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    /// The name.
    pub name: &'static str,
    /// Values that exist from the start.
    pub words: &'static [&'static str],
    /// How many values beside the words are shown.
    pub more: usize,
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The labels.
    pub labels: &'static [Label],
    /// The module that counts it; empty: the server itself.
    pub module: &'static str,
    /// The sentence for people.
    pub about: &'static str,
}

use Kind::{Counter, Gauge, Histogram};

const fn words(name: &'static str, words: &'static [&'static str]) -> Label {
    Label { name, words, more: 0 }
}

const fn up_to(name: &'static str, more: usize) -> Label {
    Label { name, words: &[], more }
}

/// Namespaces are those of the settings, so their number is the operator's.
pub(super) const NAMESPACE: &str = "ns";
const NS: Label = up_to(NAMESPACE, 64);
/// Producers make up job types; this many are told apart.
const JOB_TYPE: Label = up_to("type", 200);
const HTTP: &[Label] = &[up_to("method", 10), up_to("route", 400), up_to("status", 64)];
const COMMANDS: &[Label] =
    &[words("module", &["reactors", "monsters"]), words("ended", &["done", "refused"])];
const BACKUPS: &[Label] = &[words("ended", &["done", "failed"])];
const ROOM_MESSAGES: &[Label] = &[
    Label { name: "type", words: rooms::Command::NAMES, more: 8 },
    Label { name: "outcome", words: &["ok"], more: 64 },
];
const ROOM_RATES: &[Label] =
    &[Label { name: "what", words: &["too_many_messages", "too_many_rooms"], more: 8 }];
const QUEUE: &[Label] =
    &[NS, words("state", &["waiting", "active", "delayed", "cron", "dead", "parked"])];
const OUTCOMES: Label = words("outcome", &["completed", "failed", "dead", "retried", "cancelled"]);

macro_rules! metrics {
    ($($module:literal: $($kind:ident $name:ident $labels:expr, $about:literal;)+)+) => {
        /// All of them.
        pub const METRICS: &[Metric] = &[$($(Metric {
            name: stringify!($name),
            kind: $kind,
            labels: $labels,
            module: $module,
            about: $about,
        }),+),+];
    };
}

metrics! {
    "":
    Counter worldkeep_http_requests_total HTTP, "requests by method, route and status";
    Histogram worldkeep_http_request_seconds &[], "time to the head of the answer";
    Counter worldkeep_rate_limited_total &[], "requests over a rate limit";
    Counter worldkeep_connections_refused_total &[], "connections over a limit";
    Counter worldkeep_panics_total &[], "handlers that panicked; alert on any";
    Gauge worldkeep_store_up &[], "1 while the store answers; alert on 0";
    Gauge worldkeep_store_takes_writes &[], "0 while every write is refused; alert on it";
    Gauge worldkeep_store_reconnects &[], "connections opened anew since the start";
    Gauge worldkeep_sockets &[], "open sockets of `/ws/events`";
    Counter worldkeep_events_total &[], "events read from the streams";
    Counter worldkeep_commands_total COMMANDS, "commands of other services, by module and end";
    Gauge worldkeep_resident_bytes &[], "memory of this process";
    Counter worldkeep_backups_total BACKUPS, "backups by setting that this server tried, by end";
    Gauge worldkeep_backup_made_timestamp_seconds &[], "Unix time of the last whole backup, on the server that makes them; 0 before the first";

    "rooms":
    Gauge worldkeep_rooms_sockets &[], "open sockets of rooms";
    Counter worldkeep_rooms_created_total &[], "rooms made by this server";
    Counter worldkeep_rooms_closed_total &[], "rooms closed, as seen by servers with sockets in them";
    Counter worldkeep_rooms_expired_total &[], "rooms that ran out, seen the same way";
    Counter worldkeep_rooms_messages_total ROOM_MESSAGES, "messages of sockets by type and outcome";
    Counter worldkeep_rooms_closes_total &[words("cause", &["complete", "forced", "healed"])],
        "votes that closed, by cause";
    Counter worldkeep_rooms_retries_total &[words("type", rooms::Command::NAMES)],
        "steps tried again because the room had changed";
    Counter worldkeep_rooms_rate_limited_total ROOM_RATES, "refusals for speed, by what was too fast";
    Histogram worldkeep_rooms_step_seconds &[], "from a message to its answer";

    "galaxy":
    Histogram worldkeep_galaxy_tick_seconds &[], "a tick with its write";
    Counter worldkeep_galaxy_ticks_total &[], "the number of the last tick";
    Gauge worldkeep_galaxy_ticks_behind &[], "ticks that are due and not done";
    Gauge worldkeep_galaxy_ships &[], "ships of the world";
    Gauge worldkeep_galaxy_sockets &[], "open sockets of players";
    Counter worldkeep_galaxy_registrations_total &[], "accounts made by this server";
    Counter worldkeep_galaxy_malformed_total &[], "messages of players that cannot be read";
    Histogram worldkeep_galaxy_state_seconds &[],
        "from the end of a tick until its state is queued to a socket";
    Histogram worldkeep_galaxy_fanout_seconds &[],
        "from the end of a tick until its state is queued to the last socket that gets it";
    Counter worldkeep_galaxy_sent_bytes_total &[], "bytes of state queued to sockets";
    Gauge worldkeep_galaxy_time_drift_seconds &[], "how far the world's time is from ours";
    Gauge worldkeep_galaxy_energy_drift &[], "relative change of the world's energy, a test of the physics";
    Counter worldkeep_galaxy_failed_writes_total &[], "ticks that could not be written; alert on any";
    Gauge worldkeep_galaxy_snapshots_failed &[], "snapshots failed in a row; alert on three";
    Gauge worldkeep_galaxy_world_lost &[], "1 while the store lacks the world that its database knows";
    Counter worldkeep_galaxy_backlog_dropped_total &[], "ticks given up because the engine was late";
    Counter worldkeep_galaxy_foreign_changes_total &[], "values that other services wrote and that took effect";
    Counter worldkeep_galaxy_orders_dropped_total &[], "orders that no tick took in time";
    Counter worldkeep_galaxy_physics_nonfinite_total &[], "steps of a body that gave no number";

    "jobs":
    Gauge jobs_queue QUEUE, "jobs by state";
    Gauge jobs_oldest_waiting_seconds &[NS], "age of the job at the head";
    Gauge workers_alive &[NS], "workers with a sign of life";
    Gauge scheduler_leader &[NS], "1 while some scheduler holds the lead";
    Histogram jobs_latency_seconds &[NS, JOB_TYPE], "from ready to claimed";
    Histogram jobs_duration_seconds &[NS, JOB_TYPE], "in the handler";
    Counter jobs_total &[NS, JOB_TYPE, OUTCOMES], "attempts by type and outcome";
    Counter jobs_recovered_total &[NS], "jobs taken back from dead workers";
    Counter jobs_malformed_total &[NS], "stored jobs that nobody can read";
    Counter jobs_lease_lost_total &[NS], "workers that lost a job they held";
    Counter jobs_rotated_total &[NS], "jobs moved behind others because nobody here can run them";
    Counter ratelimit_repaired_total &[NS], "counters of running jobs that were put right";
    Histogram jobs_claim_scanned &[NS], "jobs looked at to find one that may run";
    Histogram scheduler_lag_seconds &[NS], "how late delayed jobs were moved";
}

/// `docs/metrics.md`.
pub fn metrics_page() -> String {
    use std::fmt::Write as _;
    let mut page = String::from(
        "# Metrics\n\nGenerated from `crates/server/src/measure/table.rs`; do not edit.\n\n\
         `GET /metrics` answers in Prometheus' text format. Counters are there from the start, at zero, for every \
         value of a label that is written out here. Other values appear when they are first seen, up to the number \
         given, and are counted as `other` beyond it: nobody who sends us requests or jobs can make the page grow.\n",
    );
    let mut module = None;
    for metric in METRICS {
        if module != Some(metric.module) {
            let title = if metric.module.is_empty() { "The server" } else { metric.module };
            let _ = write!(
                page,
                "\n## {title}\n\n| metric | kind | labels | what |\n|---|---|---|---|\n"
            );
            module = Some(metric.module);
        }
        let kind = format!("{:?}", metric.kind).to_lowercase();
        let labels: Vec<String> = metric.labels.iter().map(shown).collect();
        let Metric { name, about, .. } = metric;
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {about} |", labels.join("; "));
    }
    page
}

fn shown(label: &Label) -> String {
    let words: Vec<String> = label.words.iter().map(|word| format!("`{word}`")).collect();
    let more = if label.more > 0 { vec![format!("up to {}", label.more)] } else { Vec::new() };
    let all = [words, more].concat().join(", ");
    format!("`{}`: {all}", label.name)
}
