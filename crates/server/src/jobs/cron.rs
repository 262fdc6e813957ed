//! Recurring jobs: `/api/cron`.

use axum::Json;
use axum::extract::{Path, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jobs::cron::{Cron, Firing};
use jobs::{Definition, Error, Fired, NewJob, Overlap, refusal};
use kernel::Said;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::handle::{Here, refuse};
use super::produce::{JobBody, NsQuery};
use super::show::View;
use super::{body, no_verb, split};
use crate::extract::{Body, Query, pack_cursor, page_limit, unpack_cursor};
use crate::reply::{self, Refusal};
use crate::said::SaidShape;

/// Most times at once.
const TIMES: usize = 100;

/// A recurring job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CronItem {
    job_id: String,
    r#type: String,
    cron: String,
    timezone: String,
    /// The expression in words.
    sentence: String,
    /// The same for pages; null for an expression that cannot be read.
    #[schema(value_type = Option<SaidShape>)]
    said: Option<Said>,
    /// Unix milliseconds of the next firing; null when it never comes.
    next_at: Option<u64>,
    /// The next firing in UTC and in its zone.
    #[schema(value_type = Option<Object>)]
    next: Option<Firing>,
    /// `cron`, or the state of the firing under way.
    status: String,
    /// The treatment of a firing while the one before is not over: `skip` or `queue`.
    overlap: &'static str,
    /// The last result, as far as it may be seen.
    #[schema(value_type = Option<Object>)]
    last_result: Option<Box<RawValue>>,
    /// The definition.
    #[schema(value_type = Object)]
    job: Box<RawValue>,
}

fn parse(cron: &str, timezone: Option<&str>) -> Result<Cron, Refusal> {
    Cron::parse(cron, timezone).map_err(|error| {
        let message = error.to_string();
        match error {
            jobs::cron::CronError::Timezone(_) => {
                refuse(Error::invalid(refusal::INVALID_TIMEZONE, "schedule.timezone", message))
            }
            _ => refuse(Error::invalid(refusal::INVALID_CRON, "schedule.cron", message)),
        }
    })
}

fn item(view: &View, now_ms: u64, found: &Definition, result: Option<&str>) -> CronItem {
    let schedule = &found.job.schedule;
    let pattern = schedule.cron.clone().unwrap_or_default();
    let cron = Cron::parse(&pattern, schedule.timezone.as_deref());
    let next = cron.as_ref().ok().and_then(|cron| {
        // The stored time is what counts; its spelling comes from the expression.
        let after = found.next_at.unwrap_or(now_ms).saturating_sub(1);
        cron.next_n(after, 1).pop()
    });
    CronItem {
        job_id: found.job.id.clone(),
        r#type: found.job.kind.clone(),
        timezone: schedule.timezone.clone().unwrap_or_else(|| "UTC".into()),
        said: cron.as_ref().ok().map(Cron::said),
        sentence: cron.map_or_else(|error| error.to_string(), |cron| cron.describe()),
        cron: pattern,
        next_at: found.next_at,
        next,
        status: found.status.map_or("cron", |status| status.word()).to_owned(),
        overlap: Overlap::of(&found.job).word(),
        last_result: result.map(|text| view.result(text)),
        job: view.job(found.job.text()),
    }
}

/// Which page.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct CronQuery {
    #[allow(dead_code)]
    ns: Option<String>,
    /// 1 to 500, default 50.
    limit: Option<u32>,
    cursor: Option<String>,
}

/// Definitions, the next to fire first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CronPage {
    items: Vec<CronItem>,
    cursor: Option<String>,
}

/// Lists recurring jobs, the next to fire first.
#[utoipa::path(get, path = "/api/cron", tag = "jobs", params(CronQuery),
    responses((status = 200, body = CronPage)))]
pub(crate) async fn list(
    here: Here,
    Query(query): Query<CronQuery>,
) -> Result<Json<CronPage>, Refusal> {
    let limit = page_limit(query.limit)? as u64;
    let offset: u64 = query.cursor.as_deref().map_or(Ok(0), unpack_cursor)?;
    let found = here.jobs.crons(offset, limit).await.map_err(refuse)?;
    let mut items = Vec::with_capacity(found.len());
    for one in &found {
        let result = here.jobs.result(&one.job.id).await.map_err(refuse)?.0;
        items.push(item(&here.view, here.app.now_ms(), one, result.as_deref()));
    }
    let more = found.len() as u64 >= limit;
    Ok(Json(CronPage { items, cursor: more.then(|| pack_cursor(&(offset + limit))) }))
}

async fn found(here: &Here, id: &str) -> Result<CronItem, Refusal> {
    let missing = || refuse(Error::Missing { what: "cron", id: id.to_owned() });
    let found = here.jobs.cron(id).await.map_err(refuse)?.ok_or_else(missing)?;
    let result = here.jobs.result(id).await.map_err(refuse)?.0;
    Ok(item(&here.view, here.app.now_ms(), &found, result.as_deref()))
}

/// One recurring job.
#[utoipa::path(get, path = "/api/cron/{id}", tag = "jobs",
    params(("id" = String, Path, description = "its id"), NsQuery),
    responses((status = 200, body = CronItem), (status = 404)))]
pub(crate) async fn get(here: Here, Path(id): Path<String>) -> Result<Json<CronItem>, Refusal> {
    Ok(Json(found(&here, &id).await?))
}

/// Makes or replaces a recurring job. The body is a job with `schedule.cron`; with `x.overlap` `queue` firings queue up
/// while the one before is not over, with `skip` (usual) they are dropped.
#[utoipa::path(put, path = "/api/cron/{id}", tag = "jobs",
    params(("id" = String, Path, description = "its id"), NsQuery), request_body = JobBody,
    responses((status = 201, description = "made", body = CronItem), (status = 200, description = "replaced", body = CronItem),
        (status = 400), (status = 409, description = "a job that is not recurring has this id")))]
pub(crate) async fn put(
    here: Here,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let most = here.app.settings.jobs.payload_bytes.saturating_add(256 * 1024);
    let text = body::text(request, most).await?;
    let mut job = NewJob::from_json(&text).map_err(refuse)?;
    if job.id.as_ref().is_some_and(|given| *given != id) {
        let sentence = "jobId in the body is another than in the path; leave it out";
        return Err(Refusal::new(reply::BAD_FIELD, sentence).field("jobId"));
    }
    job = job.id(id.as_str());
    let (_, new) = here.jobs.put_cron(job).await.map_err(refuse)?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(found(&here, &id).await?)).into_response())
}

/// Removes a recurring job.
#[utoipa::path(delete, path = "/api/cron/{id}", tag = "jobs",
    params(("id" = String, Path, description = "its id"), NsQuery),
    responses((status = 200), (status = 404), (status = 409, description = "a firing runs now")))]
pub(crate) async fn remove(here: Here, Path(id): Path<String>) -> Result<Json<Value>, Refusal> {
    here.jobs.remove_cron(&id).await.map_err(refuse)?;
    Ok(Json(json!({ "removed": id })))
}

pub(crate) async fn verb(here: Here, Path(target): Path<String>) -> Result<Response, Refusal> {
    match split(&target)? {
        (id, "fire") => fire(&here, id).await,
        (_, other) => Err(no_verb(other, "fire")),
    }
}

/// Fires a recurring job now; its times stay as they are.
#[utoipa::path(post, path = "/api/cron/{id}:fire", tag = "jobs",
    params(("id" = String, Path, description = "its id"), NsQuery),
    responses((status = 200, description = "`fired` is false when the firing before is not over", body = Object), (status = 404)))]
pub(crate) async fn fire(here: &Here, id: &str) -> Result<Response, Refusal> {
    let fired = here.jobs.fire_now(id).await.map_err(refuse)?;
    if fired == Fired::Gone {
        return Err(refuse(Error::Missing { what: "cron", id: id.to_owned() }));
    }
    Ok(Json(json!({ "jobId": id, "fired": fired == Fired::Fired, "outcome": fired }))
        .into_response())
}

/// How many times.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct NextQuery {
    #[allow(dead_code)]
    ns: Option<String>,
    /// 1 to 100, default 10.
    n: Option<usize>,
}

/// Firings to come.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct NextAnswer {
    cron: String,
    timezone: String,
    /// The expression in words.
    sentence: String,
    /// The same for pages.
    #[schema(value_type = SaidShape)]
    said: Said,
    /// `at` (Unix ms), `utc`, `local`, and `clock` where a clock change had a hand in it.
    #[schema(value_type = Vec<Object>)]
    items: Vec<Firing>,
}

fn times(n: Option<usize>) -> Result<usize, Refusal> {
    match n.unwrap_or(10) {
        n @ 1..=TIMES => Ok(n),
        _ => Err(Refusal::new(reply::BAD_FIELD, "n goes from 1 to 100").field("n")),
    }
}

/// When a recurring job fires next, in UTC and in its zone.
#[utoipa::path(get, path = "/api/cron/{id}/next", tag = "jobs",
    params(("id" = String, Path, description = "its id"), NextQuery),
    responses((status = 200, body = NextAnswer), (status = 404)))]
pub(crate) async fn next(
    here: Here,
    Path(id): Path<String>,
    Query(query): Query<NextQuery>,
) -> Result<Json<NextAnswer>, Refusal> {
    let n = times(query.n)?;
    let missing = || refuse(Error::Missing { what: "cron", id: id.clone() });
    let found = here.jobs.cron(&id).await.map_err(refuse)?.ok_or_else(missing)?;
    let pattern = found.job.schedule.cron.clone().unwrap_or_default();
    let cron = parse(&pattern, found.job.schedule.timezone.as_deref())?;
    Ok(Json(answer(&cron, pattern, here.app.now_ms(), n)))
}

fn answer(cron: &Cron, pattern: String, now_ms: u64, n: usize) -> NextAnswer {
    NextAnswer {
        timezone: cron.timezone().to_owned(),
        sentence: cron.describe(),
        said: cron.said(),
        items: cron.next_n(now_ms, n),
        cron: pattern,
    }
}

/// An expression to try.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preview {
    cron: String,
    /// IANA name, UTC when absent.
    timezone: Option<String>,
    /// 1 to 100, default 10.
    n: Option<usize>,
}

/// Reads an expression back as a sentence, with its next times; stores nothing.
#[utoipa::path(post, path = "/api/cron:preview", tag = "jobs", params(NsQuery), request_body = Preview,
    responses((status = 200, body = NextAnswer), (status = 400)))]
pub(crate) async fn preview(
    here: Here,
    Body(preview): Body<Preview>,
) -> Result<Json<NextAnswer>, Refusal> {
    let n = times(preview.n)?;
    let cron = parse(&preview.cron, preview.timezone.as_deref())?;
    Ok(Json(answer(&cron, preview.cron, here.app.now_ms(), n)))
}
