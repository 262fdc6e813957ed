//! Groups of jobs, which take turns: counts and limits.

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::handle::{Here, refuse};
use super::produce::NsQuery;
use super::queues::SetLimit;
use super::{no_verb, split};
use crate::extract::Body;
use crate::reply::Refusal;

/// One group.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupRow {
    /// The group; `*` stands for each that has no limit of its own.
    group: String,
    /// Jobs in the waiting list that are known to be of the group.
    waiting: u64,
    /// Running, where a limit counts them.
    running: u64,
    /// The limit that was set on it.
    limit: Option<SetLimit>,
}

/// Groups.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct GroupPage {
    items: Vec<GroupRow>,
}

/// A limit on a group.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GroupBody {
    /// Jobs that run at once, at most.
    concurrency: Option<u64>,
    /// Jobs that start in a period, at most.
    rate: Option<u64>,
    /// The period in milliseconds, a minute unless given.
    period_ms: Option<u64>,
}

/// Groups that have jobs in the list or a limit; of those with jobs the first thousand in line.
#[utoipa::path(get, path = "/api/groups", tag = "jobs", params(NsQuery),
    responses((status = 200, body = GroupPage)))]
pub(crate) async fn list(here: Here) -> Result<Json<GroupPage>, Refusal> {
    let groups = here.jobs.groups().await.map_err(refuse)?;
    let items = groups.into_iter().map(|one| GroupRow {
        group: one.group,
        waiting: one.waiting,
        running: one.running,
        limit: one.limit.map(SetLimit::from),
    });
    Ok(Json(GroupPage { items: items.collect() }))
}

/// `POST /api/groups/{group}:{verb}`.
pub(crate) async fn verb(
    here: Here,
    Path(target): Path<String>,
    Body(body): Body<GroupBody>,
) -> Result<Response, Refusal> {
    match split(&target)? {
        (group, "limit") => limit(&here, group, &body).await,
        (_, other) => Err(no_verb(other, "limit")),
    }
}

/// Limits a group at run time; `*` is each group that has no limit of its own. All workers obey. A body with neither
/// takes the limit away.
#[utoipa::path(post, path = "/api/groups/{group}:limit", tag = "jobs",
    params(("group" = String, Path, description = "the group, or *"), NsQuery), request_body = GroupBody,
    responses((status = 200, description = "`changed` is false when it was so already", body = Object), (status = 400)))]
pub(crate) async fn limit(here: &Here, group: &str, body: &GroupBody) -> Result<Response, Refusal> {
    let GroupBody { concurrency, rate, period_ms } = *body;
    let asked = jobs::Limit { concurrency, rate, period_ms };
    let (set, changed) = here.jobs.limit_group(group, asked).await.map_err(refuse)?;
    let limit = set.map(SetLimit::from);
    Ok(Json(json!({ "group": group, "limit": limit, "changed": changed })).into_response())
}
