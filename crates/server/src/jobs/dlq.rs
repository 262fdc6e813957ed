//! Dead letters: list, group by error, requeue, edit, delete. What touches many can be counted first.

use axum::Json;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse, Response};
use jobs::{Error, ListQuery, Order, Pick, Status, refusal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::handle::{Here, refuse};
use super::item::{Facts, JobItem};
use super::produce::NsQuery;
use super::show::HIDDEN;
use super::{body, no_verb, split};
use crate::extract::{Body, Query, page_limit};
use crate::reply::{self, Refusal};

/// Letters that are looked at for groups.
const GROUPED: u64 = 100_000;

/// Which dead letters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DlqQuery {
    #[allow(dead_code)]
    ns: Option<String>,
    /// Only of this type.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    kind: Option<String>,
    /// Only with this error.
    error: Option<String>,
    /// `error`: one item per reason.
    group: Option<String>,
    /// 1 to 500, default 50.
    limit: Option<u32>,
    cursor: Option<String>,
}

/// Dead letters with the same error.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DlqGroup)]
pub(crate) struct Group {
    /// The error's name; `unknown` where the result is gone.
    error: String,
    count: u64,
    types: Vec<String>,
    /// One message of them, for those who may see payloads.
    message: Option<String>,
    /// The newest of them.
    newest: Option<JobItem>,
}

/// Dead letters, the newest first; or groups, the largest first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum DlqPage {
    Letters { items: Vec<JobItem>, cursor: Option<String>, total: u64 },
    Groups { items: Vec<Group>, cursor: Option<String>, total: u64 },
}

/// Lists dead letters, or their reasons with `group=error`.
#[utoipa::path(get, path = "/api/dlq", tag = "jobs", params(DlqQuery),
    responses((status = 200, body = DlqPage), (status = 400)))]
pub(crate) async fn list(
    here: Here,
    Query(query): Query<DlqQuery>,
) -> Result<Json<DlqPage>, Refusal> {
    let total = here.jobs.dlq_len().await.map_err(refuse)?;
    match query.group.as_deref() {
        None => {}
        Some("error") => return groups(&here, &query, total).await.map(Json),
        Some(_) => {
            return Err(Refusal::new(reply::BAD_FIELD, "group can only be error").field("group"));
        }
    }
    let limit = page_limit(query.limit)?;
    let wanted = ListQuery {
        status: Some(Status::Dead),
        kind: query.kind,
        cursor: query.cursor,
        limit,
        order: Order::Place,
        text: None,
    };
    let page = here.jobs.list(&wanted).await.map_err(refuse)?;
    let at = here.app.now_ms();
    let mut items = Vec::new();
    for found in &page.items {
        let facts = Facts::of(found);
        let name = facts.why(&here.view).map_or_else(|| "unknown".to_owned(), |why| why.name);
        if query.error.as_ref().is_none_or(|error| *error == name) {
            items.push(facts.item(found, &here.view, at));
        }
    }
    Ok(Json(DlqPage::Letters { items, cursor: page.cursor, total }))
}

async fn groups(here: &Here, query: &DlqQuery, total: u64) -> Result<DlqPage, Refusal> {
    let at = here.app.now_ms();
    let mut items = Vec::new();
    for group in here.jobs.dlq_by_error(GROUPED).await.map_err(refuse)? {
        if query.error.as_ref().is_some_and(|error| *error != group.error)
            || query.kind.as_ref().is_some_and(|kind| !group.types.contains_key(kind))
        {
            continue;
        }
        let newest = here.jobs.get(&group.newest).await.map_err(refuse)?;
        items.push(Group {
            newest: newest.as_ref().map(|found| Facts::of(found).item(found, &here.view, at)),
            message: here.view.message(&group.message).map(str::to_owned),
            types: group.types.into_keys().collect(),
            count: group.count,
            error: group.error,
        });
    }
    Ok(DlqPage::Groups { items, cursor: None, total })
}

/// Which ones: one of `ids`, `type`, `error` and `all`.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PickBody {
    ids: Option<Vec<String>>,
    r#type: Option<String>,
    error: Option<String>,
    all: bool,
    /// Only say how many it would be.
    count: bool,
}

impl PickBody {
    fn pick(&self) -> Result<Pick, Refusal> {
        let mut picks: Vec<Pick> = Vec::new();
        picks.extend(self.ids.clone().map(Pick::Ids));
        picks.extend(self.r#type.clone().map(Pick::Type));
        picks.extend(self.error.clone().map(Pick::Error));
        picks.extend(self.all.then_some(Pick::All));
        match (picks.pop(), picks.is_empty()) {
            (Some(Pick::Ids(ids)), true) if ids.len() > 5_000 => {
                Err(Refusal::new(reply::BAD_FIELD, "ids takes up to 5000").field("ids"))
            }
            (Some(pick), true) => Ok(pick),
            _ => {
                let sentence = "name which: one of ids, type, error and all";
                Err(Refusal::new(reply::BAD_FIELD, sentence).field("ids"))
            }
        }
    }
}

/// The outcome.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct PickAnswer {
    /// Done, or found when only counted.
    count: u64,
    /// Named and no dead letter.
    missing: u64,
}

enum Fate {
    Requeue,
    Delete,
}

async fn settle(here: &Here, body: &PickBody, fate: Fate) -> Result<Json<PickAnswer>, Refusal> {
    let pick = body.pick()?;
    let count = match fate {
        _ if body.count => here.jobs.dlq_count(&pick).await,
        Fate::Requeue => here.jobs.dlq_requeue(&pick).await,
        Fate::Delete => here.jobs.dlq_delete(&pick).await,
    };
    let count = count.map_err(refuse)?;
    let named = if let Pick::Ids(ids) = &pick { ids.len() as u64 } else { count };
    Ok(Json(PickAnswer { count, missing: named.saturating_sub(count) }))
}

/// Runs dead letters again, with all their attempts.
#[utoipa::path(post, path = "/api/dlq:requeue", tag = "jobs", params(NsQuery), request_body = PickBody,
    responses((status = 200, body = PickAnswer), (status = 400)))]
pub(crate) async fn requeue(
    here: Here,
    Body(body): Body<PickBody>,
) -> Result<Json<PickAnswer>, Refusal> {
    settle(&here, &body, Fate::Requeue).await
}

/// Removes dead letters for good.
#[utoipa::path(delete, path = "/api/dlq", tag = "jobs", params(NsQuery), request_body = PickBody,
    responses((status = 200, body = PickAnswer), (status = 400)))]
pub(crate) async fn delete(
    here: Here,
    Body(body): Body<PickBody>,
) -> Result<Json<PickAnswer>, Refusal> {
    settle(&here, &body, Fate::Delete).await
}

/// `POST /api/dlq/{id}:{verb}`.
pub(crate) async fn verb(
    here: Here,
    Path(target): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    match split(&target)? {
        (id, "edit") => edit(&here, id, request).await,
        (_, other) => Err(no_verb(other, "edit")),
    }
}

/// A changed job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[allow(dead_code)] // A description: the text is read as it is.
pub(crate) struct EditBody {
    /// The new payload, any JSON.
    #[schema(value_type = Object)]
    payload: Value,
}

/// Gives a dead letter another payload and runs it again.
#[utoipa::path(post, path = "/api/dlq/{id}:edit", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery), request_body = EditBody,
    responses((status = 200, body = Object), (status = 400), (status = 404), (status = 409, description = "it is no dead letter")))]
pub(crate) async fn edit(here: &Here, id: &str, request: Request) -> Result<Response, Refusal> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Read<'a> {
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let most = here.app.settings.jobs.payload_bytes.saturating_add(4096);
    let text = body::text(request, most).await?;
    let read: Read<'_> = serde_json::from_str(&text).map_err(|error| {
        Refusal::new(reply::BAD_JSON, format!("send {{\"payload\":…}}: {error}")).field("payload")
    })?;
    let hides = !here.app.settings.jobs.redact.is_empty();
    if hides && read.payload.get().contains(HIDDEN) {
        let sentence = "the payload still has a hidden part; write what belongs there";
        return Err(refuse(Error::invalid(refusal::INVALID_PAYLOAD, "payload", sentence)));
    }
    here.jobs.dlq_edit_and_requeue(id, read.payload.get()).await.map_err(refuse)?;
    Ok(Json(json!({ "jobId": id, "status": "waiting" })).into_response())
}
