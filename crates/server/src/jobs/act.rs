//! Actions by hand on one job: cancel, retry, run now, bury, remove. What its state does not allow is 409.

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use jobs::Cancelled;
use serde_json::{Value, json};

use super::handle::{Here, refuse};
use super::produce::NsQuery;
use super::{no_verb, split};
use crate::reply::Refusal;

type Done = Result<Response, Refusal>;

fn done(id: &str, status: &str) -> Response {
    Json(json!({ "jobId": id, "status": status })).into_response()
}

/// `POST /api/jobs/{id}:{verb}`.
pub(crate) async fn verb(here: Here, Path(target): Path<String>) -> Done {
    match split(&target)? {
        (id, "cancel") => cancel(&here, id).await,
        (id, "retry") => retry(&here, id).await,
        (id, "runNow") => run_now(&here, id).await,
        (id, "bury") => bury(&here, id).await,
        (_, other) => Err(no_verb(other, "cancel, retry, runNow and bury")),
    }
}

/// Ends a job that has not ended. A running one is told to, and ends when its handler returns.
#[utoipa::path(post, path = "/api/jobs/{id}:cancel", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, description = "`asked` is true when it runs and was told", body = Object),
        (status = 404), (status = 409, description = "it has ended")))]
pub(crate) async fn cancel(here: &Here, id: &str) -> Done {
    let asked = here.jobs.cancel(id).await.map_err(refuse)? == Cancelled::Asked;
    let status = if asked { "active" } else { "failed" };
    Ok(Json(json!({ "jobId": id, "status": status, "asked": asked })).into_response())
}

/// Runs an ended job again, with all its attempts.
#[utoipa::path(post, path = "/api/jobs/{id}:retry", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = Object), (status = 404), (status = 409, description = "it has not ended")))]
pub(crate) async fn retry(here: &Here, id: &str) -> Done {
    here.jobs.retry(id).await.map_err(refuse)?;
    Ok(done(id, "waiting"))
}

/// Runs a delayed job now, or fires a recurring one.
#[utoipa::path(post, path = "/api/jobs/{id}:runNow", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = Object), (status = 404), (status = 409, description = "it is not delayed")))]
pub(crate) async fn run_now(here: &Here, id: &str) -> Done {
    here.jobs.run_now(id).await.map_err(refuse)?;
    Ok(done(id, "waiting"))
}

/// Moves a job to the dead letters. A running one is taken from its worker.
#[utoipa::path(post, path = "/api/jobs/{id}:bury", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = Object), (status = 404), (status = 409, description = "it has ended, or is recurring")))]
pub(crate) async fn bury(here: &Here, id: &str) -> Done {
    here.jobs.bury(id).await.map_err(refuse)?;
    Ok(done(id, "dead"))
}

/// Removes a job and everything about it.
#[utoipa::path(delete, path = "/api/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = Object), (status = 404), (status = 409, description = "it runs; cancel it first")))]
pub(crate) async fn remove(here: Here, Path(id): Path<String>) -> Result<Json<Value>, Refusal> {
    here.jobs.remove(&id).await.map_err(refuse)?;
    Ok(Json(json!({ "removed": id })))
}
