//! Workers: who is there, what each runs, and two things to ask of one.

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use jobs::{Asked, Worker};
use serde::Serialize;
use serde_json::json;

use super::handle::{Here, refuse};
use super::produce::NsQuery;
use super::{no_verb, split};
use crate::reply::Refusal;

/// A registered worker.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerItem {
    #[serde(flatten)]
    #[schema(value_type = Object)]
    worker: Worker,
    /// Unix milliseconds of the last sign of life.
    seen_at: Option<i64>,
    /// Whether it is one of ours: others may not keep routes, pauses and limits.
    ours: bool,
}

/// All workers.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WorkerPage {
    items: Vec<WorkerItem>,
    alive: usize,
    cursor: Option<String>,
}

/// Registered workers, by id.
#[utoipa::path(get, path = "/api/workers", tag = "jobs", params(NsQuery),
    responses((status = 200, body = WorkerPage)))]
pub(crate) async fn list(here: Here) -> Result<Json<WorkerPage>, Refusal> {
    let workers = here.jobs.workers().await.map_err(refuse)?;
    let items: Vec<WorkerItem> = workers
        .into_iter()
        .map(|worker| {
            let seen = worker.heartbeat.unwrap_or(0).max(worker.last_seen);
            // Ours register how many jobs they run at once; a v1 program knows no such member.
            let ours = worker.concurrency.is_some();
            WorkerItem { seen_at: (seen > 0).then_some(seen), ours, worker }
        })
        .collect();
    let alive = items.iter().filter(|item| item.worker.alive).count();
    Ok(Json(WorkerPage { items, alive, cursor: None }))
}

/// `POST /api/workers/{id}:{verb}`.
pub(crate) async fn verb(here: Here, Path(target): Path<String>) -> Result<Response, Refusal> {
    match split(&target)? {
        (id, "quiet") => quiet(&here, id).await,
        (id, "stop") => stop(&here, id).await,
        (_, other) => Err(no_verb(other, "quiet and stop")),
    }
}

async fn ask(here: &Here, id: &str, asked: Asked, word: &str) -> Result<Response, Refusal> {
    here.jobs.ask_worker(id, asked).await.map_err(refuse)?;
    Ok(Json(json!({ "serverId": id, "asked": word })).into_response())
}

/// Lets a worker finish what it runs and claim nothing more.
#[utoipa::path(post, path = "/api/workers/{id}:quiet", tag = "jobs",
    params(("id" = String, Path, description = "the worker's serverId"), NsQuery),
    responses((status = 200, body = Object), (status = 404)))]
pub(crate) async fn quiet(here: &Here, id: &str) -> Result<Response, Refusal> {
    ask(here, id, Asked::Quiet, "quiet").await
}

/// Lets a worker finish what it runs and end.
#[utoipa::path(post, path = "/api/workers/{id}:stop", tag = "jobs",
    params(("id" = String, Path, description = "the worker's serverId"), NsQuery),
    responses((status = 200, body = Object), (status = 404)))]
pub(crate) async fn stop(here: &Here, id: &str) -> Result<Response, Refusal> {
    ask(here, id, Asked::Stop, "stop").await
}
