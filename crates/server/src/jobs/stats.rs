//! Numbers of a queue: the seed's six, what operators need beside them, and the last minutes by second.

use axum::Json;
use jobs::Jobs;
use kernel::Deadline;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::Columns;
use super::handle::{Here, Queues, refuse};
use super::produce::NsQuery;
use super::sampler::Histories;
use crate::app::App;
use crate::extract::Query;
use crate::reply::{self, Refusal};
use crate::wire;

/// The numbers of one namespace.
#[derive(Debug, Clone, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Numbers {
    pub(crate) namespace: String,
    pub(crate) waiting: u64,
    pub(crate) active: u64,
    pub(crate) delayed: u64,
    pub(crate) cron: u64,
    pub(crate) dead: u64,
    /// Workers alive.
    pub(crate) workers: u64,
    /// Waiting for other jobs.
    pub(crate) parked: u64,
    /// Age of the job at the head of the queue.
    pub(crate) oldest_waiting_ms: Option<u64>,
    /// Paused types; `*` is all.
    pub(crate) paused: Vec<String>,
    /// Recurring jobs whose last firing failed for good, as far as that is no dead letter (`jobs.cron_failed`).
    pub(crate) cron_failed: Vec<String>,
    /// The leader of the scheduling: `id`, `host`, `pid`, `since`.
    #[schema(value_type = Option<Object>)]
    pub(crate) leader: Option<Value>,
    /// Jobs that completed, ever.
    pub(crate) processed: u64,
    /// Jobs that failed, ever.
    pub(crate) failed: u64,
    /// Completed per second, over the last ten seconds.
    pub(crate) completed_per_second: f64,
    /// Failed attempts per second, over the last ten seconds.
    pub(crate) failed_per_second: f64,
    /// How long jobs that began within the last minute had waited for a worker: the time that 95 of 100 kept.
    pub(crate) started_p95_ms: Option<u32>,
    /// Other namespaces of this server.
    pub(crate) namespaces: Vec<String>,
    /// Unix milliseconds of this answer.
    pub(crate) at: u64,
}

/// Reads them.
pub(crate) async fn numbers(app: &App, jobs: &Jobs) -> Result<Numbers, Refusal> {
    let stats = jobs.stats().await.map_err(refuse)?;
    let keys = jobs::keys::Keys::new(jobs.layout());
    let ns = jobs.namespace();
    let bad = |_| Refusal::from(reply::INTERNAL);
    let cmds = [
        wire::cmd(&["SCARD", keys.parked(ns).map_err(bad)?.as_str()]),
        wire::cmd(&["LINDEX", keys.waiting(ns).map_err(bad)?.as_str(), "0"]),
        wire::cmd(&["SMEMBERS", keys.paused(ns).map_err(bad)?.as_str()]),
        wire::cmd(&["GET", keys.scheduler_leader(ns).map_err(bad)?.as_str()]),
        wire::cmd(&["GET", keys.scheduler_lock(ns).map_err(bad)?.as_str()]),
        wire::cmd(&["GET", keys.metrics_processed(ns).map_err(bad)?.as_str()]),
        wire::cmd(&["GET", keys.metrics_failed(ns).map_err(bad)?.as_str()]),
        wire::cmd(&["HKEYS", keys.cron_failed(ns).map_err(bad)?.as_str()]),
    ];
    let replies = app.store().pipeline(&cmds, Deadline::after(wire::CALL)).await?;
    let replies = replies.into_iter().collect::<Result<Vec<_>, _>>()?;
    let count =
        |at: usize| wire::int(&replies[at]).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let names = |at: usize| {
        let mut all: Vec<String> =
            wire::items(&replies[at]).into_iter().filter_map(wire::text).collect();
        all.sort_unstable();
        all
    };
    let (paused, cron_failed) = (names(2), names(7));
    // A foreign scheduler takes the lock and tells nothing more of itself.
    let told = wire::text(&replies[3]).and_then(|text| serde_json::from_str(&text).ok());
    let held = wire::text(&replies[4]).map(|id| serde_json::json!({ "id": id }));
    let now = app.now_ms();
    let oldest_waiting_ms = match wire::text(&replies[1]) {
        Some(id) => age(jobs, &id, now).await?,
        None => None,
    };
    let place = Histories::of(app, jobs);
    let history = place.history.lock();
    let (completed_per_second, failed_per_second) = history.rates(now);
    let started_p95_ms = history.waits_p95_ms(now, 60);
    drop(history);
    Ok(Numbers {
        namespace: ns.to_owned(),
        waiting: stats.waiting,
        active: stats.active,
        delayed: stats.delayed,
        cron: stats.cron,
        dead: stats.dead,
        workers: stats.workers,
        parked: count(0),
        oldest_waiting_ms,
        paused,
        cron_failed,
        leader: held.map(|held| told.unwrap_or(held)),
        processed: count(5),
        failed: count(6),
        completed_per_second,
        failed_per_second,
        started_p95_ms,
        namespaces: Vec::new(),
        at: now,
    })
}

/// How long ago a job was made.
async fn age(jobs: &Jobs, id: &str, now_ms: u64) -> Result<Option<u64>, Refusal> {
    let found = jobs.get(id).await.map_err(refuse)?;
    let made = found.and_then(|found| found.read()).map(|job| job.created_at);
    Ok(made.and_then(|at| u64::try_from(at).ok()).map(|at| now_ms.saturating_sub(at)))
}

/// The numbers of a queue.
#[utoipa::path(get, path = "/api/stats", tag = "jobs", params(NsQuery),
    responses((status = 200, body = Numbers)))]
pub(crate) async fn stats(here: Here) -> Result<Json<Numbers>, Refusal> {
    let mut numbers = numbers(&here.app, &here.jobs).await?;
    let all = Queues::of(&here.app);
    numbers.namespaces = all
        .iter()
        .map(|jobs| jobs.namespace().to_owned())
        .filter(|ns| here.caller.may_namespace(ns))
        .collect();
    Ok(Json(numbers))
}

/// How far back.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryQuery {
    #[allow(dead_code)]
    ns: Option<String>,
    /// 1 to 899, default 300.
    seconds: Option<u64>,
}

/// The last minutes by second, as this server saw them; found again after a restart from the event stream.
#[utoipa::path(get, path = "/api/stats/history", tag = "jobs", params(HistoryQuery),
    responses((status = 200, body = Columns), (status = 400)))]
pub(crate) async fn history(
    here: Here,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<Columns>, Refusal> {
    let seconds = query.seconds.unwrap_or(300);
    if !(1..=899).contains(&seconds) {
        return Err(Refusal::new(reply::BAD_FIELD, "seconds goes from 1 to 899").field("seconds"));
    }
    let place = Histories::of(&here.app, &here.jobs);
    place.listen(&here.app, &here.jobs).await?;
    let columns = place.history.lock().columns(here.app.now_ms(), seconds);
    Ok(Json(columns))
}
