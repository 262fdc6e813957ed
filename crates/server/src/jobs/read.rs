//! Lists of jobs, one job with all that belongs to it, its result, why it does not run, what happened to it.

use std::time::Duration;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jobs::{Error, JobView, ListQuery, Order, Page, Status};
use kernel::Said;
use kernel::events::Envelope;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::handle::{Here, refuse};
use super::item::{Facts, JobItem, Tries};
use super::produce::NsQuery;
use crate::extract::{Query, page_limit};
use crate::reply::{self, Refusal};
use crate::said::{self, SaidShape};

/// Longest wait for a result; clients ask again.
const WAIT_MS: u64 = 25_000;

/// Which jobs.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsQuery {
    #[allow(dead_code)]
    ns: Option<String>,
    /// `waiting active delayed cron dead completed failed`; all when absent.
    status: Option<String>,
    /// Only of this type.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    kind: Option<String>,
    /// Only those whose id or stored text holds this; the id alone for tokens without the right `payloads`.
    text: Option<String>,
    /// `newest` (usual), by dispatch; or `place`: waiting as they will run, delayed and cron by time, dead as they died,
    /// all others in no order.
    order: Option<String>,
    /// 1 to 500, default 50.
    limit: Option<u32>,
    cursor: Option<String>,
}

/// A page. It looks at a bounded number of jobs, so with a filter it may be short and still have a cursor.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobPage {
    items: Vec<JobItem>,
    cursor: Option<String>,
    /// How many jobs were looked at for this page.
    looked_at: usize,
    /// Unix milliseconds of this answer.
    at: u64,
}

fn order_of(word: Option<&str>) -> Result<Order, Refusal> {
    match word {
        None | Some("newest") => Ok(Order::Newest),
        Some("place") => Ok(Order::Place),
        Some(_) => Err(Refusal::new(reply::BAD_FIELD, "order is newest or place").field("order")),
    }
}

pub(crate) fn status_of(word: Option<&str>) -> Result<Option<Status>, Refusal> {
    let Some(word) = word else { return Ok(None) };
    let known = Status::ALL.into_iter().find(|status| status.word() == word);
    let all = Status::ALL.map(Status::word).join(", ");
    known.map(Some).ok_or_else(|| {
        Refusal::new(reply::BAD_FIELD, format!("status is one of {all}")).field("status")
    })
}

/// A page of jobs as far as this caller may find them: what it cannot see it cannot search.
pub(crate) async fn find(here: &Here, query: ListQuery) -> Result<Page<JobView>, Refusal> {
    let text = query.text.clone();
    let query = if here.view.payloads { query } else { ListQuery { text: None, ..query } };
    let mut page = here.jobs.list(&query).await.map_err(refuse)?;
    if let Some(text) = text {
        page.items.retain(|found| {
            found.id.contains(&text) || here.view.job(found.job.get()).get().contains(&text)
        });
    }
    Ok(page)
}

/// Lists jobs, the newest first, or by their places.
#[utoipa::path(get, path = "/api/jobs", tag = "jobs", params(JobsQuery),
    responses((status = 200, body = JobPage), (status = 400)))]
pub(crate) async fn list(
    here: Here,
    Query(query): Query<JobsQuery>,
) -> Result<Json<JobPage>, Refusal> {
    let wanted = ListQuery {
        status: status_of(query.status.as_deref())?,
        kind: query.kind,
        text: query.text.filter(|text| !text.is_empty()),
        cursor: query.cursor,
        limit: page_limit(query.limit)?,
        order: order_of(query.order.as_deref())?,
    };
    let Page { items, cursor, looked_at } = find(&here, wanted).await?;
    let at = here.app.now_ms();
    let items = items.iter().map(|one| Facts::of(one).item(one, &here.view, at)).collect();
    Ok(Json(JobPage { items, cursor, looked_at, at }))
}

/// One job with all that belongs to it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobAnswer {
    /// As it is stored.
    #[schema(value_type = Object)]
    job: Box<RawValue>,
    status: String,
    #[schema(value_type = Option<Object>)]
    progress: Option<Box<RawValue>>,
    #[schema(value_type = Option<Object>)]
    result: Option<Box<RawValue>>,
    /// `owner` and `ttlMs` while a worker holds it.
    #[schema(value_type = Option<Object>)]
    lock: Option<jobs::LockView>,
    /// How often it was taken back from dead workers.
    recoveries: i64,
    claimed_at: Option<i64>,
    run_at: Option<i64>,
    waits_for: Vec<String>,
    /// Whether it was asked to stop.
    cancelling: bool,
    tries: Tries,
    /// The one sentence that matters now.
    now: String,
    /// Why something is missing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<&'static str>,
    /// The keys that hold it.
    keys: Vec<String>,
    at: u64,
}

/// One job: as stored, its state, progress, result, lock.
#[utoipa::path(get, path = "/api/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = JobAnswer), (status = 404)))]
pub(crate) async fn get(here: Here, Path(id): Path<String>) -> Result<Json<JobAnswer>, Refusal> {
    let found = here.jobs.get(&id).await.map_err(refuse)?;
    let found = found.ok_or_else(|| refuse(Error::no_job(&*id)))?;
    let (facts, view, at) = (Facts::of(&found), &here.view, here.app.now_ms());
    Ok(Json(JobAnswer {
        job: view.job(found.job.get()),
        progress: found.progress.as_ref().map(|raw| view.progress(raw.get())),
        result: found.result.as_ref().map(|raw| view.result(raw.get())),
        recoveries: found.recoveries,
        claimed_at: found.claimed_at,
        run_at: found.due_at,
        tries: facts.tries(),
        now: facts.now(&found, view, i64::try_from(at).unwrap_or(i64::MAX)),
        hidden: view.hidden(),
        keys: keys(&here, &found),
        cancelling: found.cancelling,
        status: facts.status,
        waits_for: found.waits_for,
        lock: found.lock,
        at,
    }))
}

fn keys(here: &Here, found: &JobView) -> Vec<String> {
    let keys = jobs::keys::Keys::new(here.jobs.layout());
    let (ns, id) = (here.jobs.namespace(), found.id.as_str());
    let all = [
        Some(keys.data(ns, id)),
        Some(keys.status(ns, id)),
        found.result.as_ref().map(|_| keys.result(ns, id)),
        found.lock.as_ref().map(|_| keys.lock(ns, id)),
        found.progress.as_ref().map(|_| keys.progress(ns, id)),
    ];
    all.into_iter().flatten().flatten().map(|key| key.as_str().to_owned()).collect()
}

/// How long to wait.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ResultQuery {
    #[allow(dead_code)]
    ns: Option<String>,
    /// Milliseconds to wait for the end, at most 25 000.
    wait_ms: Option<u64>,
}

/// The result of a job that has ended.
#[utoipa::path(get, path = "/api/jobs/{id}/result", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), ResultQuery),
    responses((status = 200, description = "`success`, `data` or `error`, `completedAt`, `processingTime`; only `success` of a job that completed where results are not kept", body = Object),
        (status = 202, description = "it has not ended; `status` tells where it is"), (status = 404)))]
pub(crate) async fn result(
    here: Here,
    Path(id): Path<String>,
    Query(query): Query<ResultQuery>,
) -> Result<Response, Refusal> {
    let wait = Duration::from_millis(query.wait_ms.unwrap_or(0).min(WAIT_MS));
    let found = match here.jobs.wait(&id, wait).await {
        Ok(found) => found,
        // Data and status may be gone while the result is still there.
        Err(Error::Missing { .. }) => {
            let (text, _) = here.jobs.result(&id).await.map_err(refuse)?;
            let text = text.ok_or_else(|| refuse(Error::no_job(&*id)))?;
            return Ok(Json(here.view.result(&text)).into_response());
        }
        Err(error) => return Err(refuse(error)),
    };
    let word = found.status.as_deref().unwrap_or_default();
    let ended = matches!(word, "completed" | "failed" | "dead");
    match found.result.filter(|_| ended) {
        Some(result) => Ok(Json(here.view.result(result.get())).into_response()),
        // The job's data may not have been kept; that it completed is known.
        None if word == "completed" => Ok(Json(json!({ "success": true })).into_response()),
        None if ended => {
            Err(Refusal::new(reply::GONE, "the job has ended and its result is no longer kept"))
        }
        None => {
            let body = json!({ "jobId": id, "status": word });
            Ok((StatusCode::ACCEPTED, Json(body)).into_response())
        }
    }
}

/// One check of a claim.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Check {
    code: &'static str,
    ok: bool,
    sentence: String,
    #[schema(value_type = SaidShape)]
    said: Said,
}

/// The answer that one worker would give to the job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    server_id: String,
    alive: bool,
    matches: bool,
    sentence: String,
    /// Each thing that keeps the worker from it, or that it may.
    #[schema(value_type = Vec<SaidShape>)]
    said: Vec<Said>,
}

/// Why a job does not run.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explained {
    job_id: String,
    status: Option<String>,
    /// The first check that fails.
    sentence: String,
    #[schema(value_type = SaidShape)]
    said: Said,
    checks: Vec<Check>,
    workers: Vec<Verdict>,
    /// The place in the queue, from 1.
    place: Option<u64>,
}

impl Check {
    fn new(code: &'static str, ok: bool, said: Said) -> Self {
        Check { code, ok, sentence: sentence(&said.sentence()), said }
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Why this job is not running: each check of a claim, and each worker.
#[utoipa::path(get, path = "/api/jobs/{id}/explain", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = Explained), (status = 404)))]
pub(crate) async fn explain(
    here: Here,
    Path(id): Path<String>,
) -> Result<Json<Explained>, Refusal> {
    let found = here.jobs.explain(&id).await.map_err(refuse)?;
    let place = found.position.map(|at| at + 1);
    let mut checks = Vec::new();
    let has = |codes: &[&str]| found.reasons.iter().any(|reason| codes.contains(&reason.code));
    let mut fine = |code: &'static str, said: Said| checks.push(Check::new(code, true, said));
    if found.status.as_deref() == Some("waiting") {
        if let Some(place) = place {
            fine("queue", said::WHY_QUEUE.say().with("place", place));
        }
        if !has(&["paused"]) {
            fine("paused", said::WHY_NOT_PAUSED.say());
        }
        if !has(&["concurrent", "minute", "rate", "group"]) {
            fine("limits", said::WHY_NO_LIMIT.say());
        }
        let may = found.workers.iter().filter(|worker| worker.alive && worker.may).count();
        if may > 0 {
            let workers = said::WHY_WORKERS.say().with("may", may);
            fine("workers", workers.with("n", found.workers.len()));
        }
    }
    let reasons = found.reasons.into_iter();
    checks.extend(reasons.map(|reason| Check::new(reason.code, !reason.stops, reason.said)));
    let workers = found.workers.into_iter().map(|worker| {
        let said = match (worker.may, worker.alive) {
            (true, true) => vec![said::WHY_MAY.say()],
            (true, false) => vec![said::WHY_MIGHT.say()],
            _ => worker.why_not.into_iter().map(|miss| miss.said).collect(),
        };
        let says: Vec<String> = said.iter().map(Said::sentence).collect();
        Verdict {
            server_id: worker.server_id,
            alive: worker.alive,
            matches: worker.may,
            sentence: sentence(&says.join("; ")),
            said,
        }
    });
    Ok(Json(Explained {
        workers: workers.collect(),
        job_id: found.id,
        status: found.status,
        sentence: sentence(&found.summary),
        said: found.said,
        checks,
        place,
    }))
}

/// Events of one job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Timeline {
    /// Envelopes, the oldest first.
    #[schema(value_type = Vec<Object>)]
    items: Vec<Envelope>,
    cursor: Option<String>,
}

/// Events of a job, the oldest first, as far as the event stream goes back.
#[utoipa::path(get, path = "/api/jobs/{id}/timeline", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = Timeline)))]
pub(crate) async fn timeline(
    here: Here,
    Path(id): Path<String>,
) -> Result<Json<Timeline>, Refusal> {
    let items = here.jobs.timeline(&id).await.map_err(refuse)?;
    Ok(Json(Timeline { items, cursor: None }))
}
