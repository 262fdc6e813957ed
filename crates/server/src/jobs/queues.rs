//! Types of jobs: counts, limits, pause, resume, limit, purge.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use jobs::{Limit, ListQuery, Order, Queue, Status};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::handle::{Here, refuse};
use super::history::{BOUNDS, TypeTally};
use super::produce::NsQuery;
use super::sampler::Histories;
use super::{no_verb, split};
use crate::extract::Body;
use crate::reply::{self, Refusal};

/// Dead letters that are looked at for the counts.
const DEAD: u64 = 2_000;

/// The smallest limits that a waiting job asks for.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeLimits {
    max_concurrent: Option<u64>,
    max_per_minute: Option<u64>,
}

/// A limit that was set at run time, on a type or on a group. All workers obey it, whatever the jobs ask for.
#[derive(Debug, Default, Clone, Copy, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetLimit {
    /// Jobs that run at once, at most.
    concurrency: Option<u64>,
    /// Jobs that start in a period, at most.
    rate: Option<u64>,
    /// The period in milliseconds. It slides: any stretch of this length has at most `rate` starts.
    period_ms: Option<u64>,
}

impl From<Limit> for SetLimit {
    fn from(limit: Limit) -> Self {
        let Limit { concurrency, rate, period_ms } = limit;
        SetLimit { concurrency, rate, period_ms }
    }
}

/// One type.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeRow {
    r#type: String,
    waiting: u64,
    /// Running, by its counter.
    active: u64,
    delayed: u64,
    /// Among the newest 2 000 dead letters.
    dead: u64,
    /// Claimed in this minute, where a limit counts them.
    this_minute: u64,
    paused: bool,
    /// Unix milliseconds at which it resumes by itself.
    paused_until: Option<i64>,
    limits: TypeLimits,
    /// The limit on the type itself, if one is set.
    limit: Option<SetLimit>,
    /// Started in the period of that limit.
    this_period: u64,
}

/// All types.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypePage {
    items: Vec<TypeRow>,
    /// False when only the first 10 000 waiting and delayed jobs were counted.
    exact: bool,
    /// Whether everything is paused.
    all_paused: bool,
    cursor: Option<String>,
}

fn row(queue: Queue, dead: u64) -> TypeRow {
    TypeRow {
        r#type: queue.kind,
        waiting: queue.waiting,
        active: queue.running,
        delayed: queue.delayed,
        dead,
        this_minute: queue.this_minute,
        paused: queue.paused,
        paused_until: queue.paused_until,
        limits: TypeLimits {
            max_concurrent: queue.max_concurrent,
            max_per_minute: queue.max_per_minute,
        },
        limit: queue.limit.map(SetLimit::from),
        this_period: queue.this_period,
    }
}

async fn rows(here: &Here) -> Result<TypePage, Refusal> {
    let queues = here.jobs.queues().await.map_err(refuse)?;
    let mut dead: BTreeMap<String, u64> = BTreeMap::new();
    for group in here.jobs.dlq_by_error(DEAD).await.map_err(refuse)? {
        for (kind, count) in group.types {
            *dead.entry(kind).or_default() += count;
        }
    }
    let mut items: Vec<TypeRow> = Vec::new();
    let mut all_paused = false;
    for queue in queues.items {
        if queue.kind == "*" {
            all_paused = true;
            continue;
        }
        let count = dead.remove(&queue.kind).unwrap_or(0);
        items.push(row(queue, count));
    }
    for (kind, count) in dead.into_iter().filter(|(kind, _)| !kind.is_empty()) {
        let r#type = kind;
        items.push(TypeRow { r#type, dead: count, paused: all_paused, ..TypeRow::default() });
    }
    items.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    Ok(TypePage { items, exact: queues.exact, all_paused, cursor: None })
}

/// Types that have jobs, a pause, or outcomes of today.
#[utoipa::path(get, path = "/api/queues", tag = "jobs", params(NsQuery),
    responses((status = 200, body = TypePage)))]
pub(crate) async fn list(here: Here) -> Result<Json<TypePage>, Refusal> {
    Ok(Json(rows(&here).await?))
}

/// One type, and what this server saw of it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeAnswer {
    #[serde(flatten)]
    row: TypeRow,
    /// Since this server looks.
    seen: TypeTally,
    /// Upper bounds of the histograms in `seen`; the last bucket has none.
    bounds_ms: [u64; BOUNDS.len()],
}

/// One type: counts, limits, and histograms of latency and duration.
#[utoipa::path(get, path = "/api/queues/{type}", tag = "jobs",
    params(("type" = String, Path, description = "the type"), NsQuery),
    responses((status = 200, body = TypeAnswer)))]
pub(crate) async fn get(here: Here, Path(kind): Path<String>) -> Result<Json<TypeAnswer>, Refusal> {
    let page = rows(&here).await?;
    // A type is a word that jobs use: one that none uses now has zeros, not an error.
    let empty = || TypeRow { r#type: kind.clone(), paused: page.all_paused, ..TypeRow::default() };
    let row = page.items.into_iter().find(|row| row.r#type == kind).unwrap_or_else(empty);
    let place = Histories::of(&here.app, &here.jobs);
    place.listen(&here.app, &here.jobs).await?;
    let seen = place.history.lock().of_type(&kind).cloned().unwrap_or_default();
    Ok(Json(TypeAnswer { row, seen, bounds_ms: BOUNDS }))
}

/// The body of a verb.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TypeBody {
    /// Pause: resume by itself after so many milliseconds.
    for_ms: Option<u64>,
    /// Pause: resume by itself at this Unix millisecond.
    until: Option<u64>,
    /// Purge: only say how many it would be.
    #[serde(default)]
    count: bool,
    /// Limit: so many jobs run at once, at most.
    concurrency: Option<u64>,
    /// Limit: so many jobs start in a period, at most.
    rate: Option<u64>,
    /// Limit: the period in milliseconds, a minute unless given.
    period_ms: Option<u64>,
}

impl TypeBody {
    fn limit(&self) -> Limit {
        Limit { concurrency: self.concurrency, rate: self.rate, period_ms: self.period_ms }
    }
}

/// `POST /api/queues/{type}:{verb}`.
pub(crate) async fn verb(
    here: Here,
    Path(target): Path<String>,
    Body(body): Body<TypeBody>,
) -> Result<Response, Refusal> {
    match split(&target)? {
        (kind, "pause") => pause(&here, kind, &body).await,
        (kind, "resume") => resume(&here, kind).await,
        (kind, "purge") => purge(&here, kind, &body).await,
        (kind, "limit") => limit(&here, kind, &body).await,
        (_, other) => Err(no_verb(other, "pause, resume, limit and purge")),
    }
}

/// Limits a type at run time: how many of its jobs run at once, how many start in a period. All workers obey. A body
/// with neither takes the limit away.
#[utoipa::path(post, path = "/api/queues/{type}:limit", tag = "jobs",
    params(("type" = String, Path, description = "the type"), NsQuery), request_body = TypeBody,
    responses((status = 200, description = "`changed` is false when it was so already", body = Object), (status = 400)))]
pub(crate) async fn limit(here: &Here, kind: &str, body: &TypeBody) -> Result<Response, Refusal> {
    let (set, changed) = here.jobs.limit(kind, body.limit()).await.map_err(refuse)?;
    let limit = set.map(SetLimit::from);
    Ok(Json(json!({ "type": kind, "limit": limit, "changed": changed })).into_response())
}

/// Stops claims of a type, `*` for all; running jobs finish.
#[utoipa::path(post, path = "/api/queues/{type}:pause", tag = "jobs",
    params(("type" = String, Path, description = "the type, or *"), NsQuery), request_body = TypeBody,
    responses((status = 200, description = "`changed` is false when it was so already", body = Object), (status = 400)))]
pub(crate) async fn pause(here: &Here, kind: &str, body: &TypeBody) -> Result<Response, Refusal> {
    let now = here.app.now_ms();
    let until = match (body.for_ms, body.until) {
        (Some(_), Some(_)) => {
            let sentence = "give one of forMs and until";
            return Err(Refusal::new(reply::BAD_FIELD, sentence).field("until"));
        }
        (Some(ms), None) => Some(now.saturating_add(ms)),
        (None, until) => until,
    };
    if until.is_some_and(|at| at <= now || at > now + 3_650 * 86_400_000) {
        let sentence = "a pause ends between now and ten years from now";
        return Err(Refusal::new(reply::BAD_FIELD, sentence).field("until"));
    }
    let changed = here.jobs.pause(kind, until).await.map_err(refuse)?;
    let body = json!({ "type": kind, "paused": true, "until": until, "changed": changed });
    Ok(Json(body).into_response())
}

/// Lets claims of a type go on.
#[utoipa::path(post, path = "/api/queues/{type}:resume", tag = "jobs",
    params(("type" = String, Path, description = "the type, or *"), NsQuery),
    responses((status = 200, description = "`changed` is false when it was not paused", body = Object)))]
pub(crate) async fn resume(here: &Here, kind: &str) -> Result<Response, Refusal> {
    let changed = here.jobs.resume(kind).await.map_err(refuse)?;
    Ok(Json(json!({ "type": kind, "paused": false, "changed": changed })).into_response())
}

/// Removes the waiting, delayed and parked jobs of a type.
#[utoipa::path(post, path = "/api/queues/{type}:purge", tag = "jobs",
    params(("type" = String, Path, description = "the type"), NsQuery), request_body = TypeBody,
    responses((status = 200, description = "`count` removed, or to be removed", body = Object)))]
pub(crate) async fn purge(here: &Here, kind: &str, body: &TypeBody) -> Result<Response, Refusal> {
    let count = if body.count {
        counted(here, kind).await?
    } else {
        here.jobs.purge(kind).await.map_err(refuse)?
    };
    Ok(Json(json!({ "type": kind, "count": count })).into_response())
}

async fn counted(here: &Here, kind: &str) -> Result<u64, Refusal> {
    let mut count = 0;
    for status in [Status::Waiting, Status::Delayed] {
        let kind = Some(kind.to_owned());
        let mut query = ListQuery {
            status: Some(status),
            kind,
            limit: 500,
            order: Order::Place,
            ..ListQuery::default()
        };
        loop {
            let page = here.jobs.list(&query).await.map_err(refuse)?;
            count += page.items.len() as u64;
            match page.cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => break,
            }
        }
    }
    Ok(count)
}
