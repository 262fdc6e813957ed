//! `POST /api/jobs:bulk`: one action on many jobs, by id or by filter. With `count` nothing is changed, so that a page
//! can ask first.

use axum::Json;
use futures_util::StreamExt as _;
use jobs::{Error, Jobs, ListQuery, Order, Page, Status};
use serde::{Deserialize, Serialize};

use super::handle::{Here, refuse};
use super::produce::NsQuery;
use super::read::{find, status_of};
use crate::extract::Body;
use crate::reply::{self, Refusal};

/// Jobs of one request; clients ask again while `more` is true.
const MOST: usize = 5_000;
/// Actions under way at once.
const AT_ONCE: usize = 16;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    Cancel,
    Retry,
    RunNow,
    Bury,
    Remove,
    /// Nothing: good for a count of what a filter finds.
    Any,
}

impl Action {
    /// Whether a job in this state can be acted on; one whose state nobody can tell is tried.
    fn fits(self, status: Option<&str>) -> bool {
        let Some(status) = status.and_then(|word| word.parse().ok()) else { return true };
        match self {
            Action::Cancel | Action::Bury => {
                matches!(status, Status::Waiting | Status::Active | Status::Delayed)
            }
            Action::Retry => matches!(status, Status::Dead | Status::Failed | Status::Completed),
            Action::RunNow => matches!(status, Status::Delayed | Status::Cron),
            Action::Remove => status != Status::Active,
            Action::Any => true,
        }
    }
}

/// Which jobs, and what to do with them.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkBody {
    action: Action,
    /// These; else all that the filter finds and whose state allows the action.
    ids: Option<Vec<String>>,
    status: Option<String>,
    r#type: Option<String>,
    text: Option<String>,
    /// Only say how many it would be.
    #[serde(default)]
    count: bool,
}

/// The outcome.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct BulkAnswer {
    /// Done, or found when only counted.
    count: u64,
    /// Their state did not allow it.
    refused: u64,
    /// The number of those that were gone.
    missing: u64,
    /// There are more than one request takes: ask again.
    more: bool,
}

/// Cancels, retries, runs now, buries or removes many jobs.
#[utoipa::path(post, path = "/api/jobs:bulk", tag = "jobs", params(NsQuery), request_body = BulkBody,
    responses((status = 200, body = BulkAnswer), (status = 400)))]
pub(crate) async fn bulk(
    here: Here,
    Body(body): Body<BulkBody>,
) -> Result<Json<BulkAnswer>, Refusal> {
    let count = body.count;
    let action = body.action;
    if action == Action::Any && !count {
        let sentence = "any only counts; name what to do";
        return Err(Refusal::new(reply::BAD_FIELD, sentence).field("action"));
    }
    let (ids, more) = ids(&here, body).await?;
    if count {
        return Ok(Json(BulkAnswer { count: ids.len() as u64, more, ..BulkAnswer::default() }));
    }
    let mut answer = BulkAnswer { more, ..BulkAnswer::default() };
    let mut work = futures_util::stream::iter(ids)
        .map(|id| act(here.jobs.clone(), action, id))
        .buffer_unordered(AT_ONCE);
    while let Some(done) = work.next().await {
        match done {
            Ok(()) => answer.count += 1,
            Err(Error::Missing { .. }) => answer.missing += 1,
            Err(Error::WrongState { .. }) => answer.refused += 1,
            Err(error) => return Err(refuse(error)),
        }
    }
    Ok(Json(answer))
}

async fn act(jobs: Jobs, action: Action, id: String) -> Result<(), Error> {
    match action {
        Action::Cancel => jobs.cancel(&id).await.map(drop),
        Action::Retry => jobs.retry(&id).await.map(drop),
        Action::RunNow => jobs.run_now(&id).await.map(drop),
        Action::Bury => jobs.bury(&id).await.map(drop),
        Action::Remove => jobs.remove(&id).await.map(drop),
        Action::Any => Ok(()),
    }
}

async fn ids(here: &Here, body: BulkBody) -> Result<(Vec<String>, bool), Refusal> {
    if let Some(mut ids) = body.ids {
        if ids.len() > MOST {
            let sentence = format!("ids holds {}; send up to {MOST}", ids.len());
            return Err(Refusal::new(reply::BAD_FIELD, sentence).field("ids"));
        }
        ids.sort_unstable();
        ids.dedup();
        return Ok((ids, false));
    }
    if body.status.is_none() && body.r#type.is_none() && body.text.is_none() {
        let sentence = "name ids, or a filter: status, type or text";
        return Err(Refusal::new(reply::BAD_FIELD, sentence).field("ids"));
    }
    let action = body.action;
    let mut query = ListQuery {
        status: status_of(body.status.as_deref())?,
        kind: body.r#type,
        text: body.text.filter(|text| !text.is_empty()),
        limit: 500,
        cursor: None,
        // Every job that is there, whether or not a list shows it.
        order: Order::Place,
    };
    let mut ids = Vec::new();
    loop {
        let Page { items, cursor, .. } = find(here, query.clone()).await?;
        let fitting = items.into_iter().filter(|one| action.fits(one.status.as_deref()));
        ids.extend(fitting.map(|one| one.id));
        if ids.len() >= MOST || cursor.is_none() {
            let more = ids.len() > MOST || cursor.is_some();
            ids.truncate(MOST);
            return Ok((ids, more));
        }
        query.cursor = cursor;
    }
}
