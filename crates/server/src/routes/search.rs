//! `GET /api/search`: the search field of the dashboard.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::extract::Query;
use crate::reply::{self, Refusal};
use crate::search::{self, Hit};

/// Longest words that are looked for.
const LONGEST: usize = 512;

/// The words to look for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchQuery {
    /// An id, a name, a code or a part of a key; 1 to 512 bytes.
    q: String,
}

/// The hits of a search.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct SearchAnswer {
    /// At most six of each kind.
    hits: Vec<Hit>,
    /// Not everything was looked at: there may be more.
    bounded: bool,
}

/// Jobs, types of jobs, rooms, ships, players, monsters, reactors and keys by id, name or a part of it. Whole ids are found
/// always; parts among what is in memory and the first keys of a walk, and `bounded` says when that was not all.
#[utoipa::path(get, path = "/api/search", tag = "server", params(SearchQuery),
    responses((status = 200, body = SearchAnswer), (status = 400)))]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Query(query): Query<SearchQuery>,
) -> Result<Json<SearchAnswer>, Refusal> {
    let words = query.q.trim();
    if words.is_empty() || words.len() > LONGEST {
        let sentence = format!("q has {} bytes; send 1 to {LONGEST}", words.len());
        return Err(Refusal::new(reply::BAD_FIELD, sentence).field("q"));
    }
    let found = search::find(&app, words).await;
    Ok(Json(SearchAnswer { hits: found.hits, bounded: found.bounded }))
}
