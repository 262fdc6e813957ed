//! `GET /api/history`: what the charts begin with.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::extract::Query;
use crate::history::{DAY, MINUTES, Series};
use crate::reply::Refusal;

/// How far back.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
pub(crate) enum Range {
    /// Five minutes, by five seconds.
    #[default]
    #[serde(rename = "5m")]
    Minutes,
    /// A day, by five minutes.
    #[serde(rename = "24h")]
    Day,
}

/// How far back.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryQuery {
    /// `5m`, the default, or `24h`.
    #[serde(default)]
    range: Range,
}

/// Short histories.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct History {
    /// The server that answers, as in `wk:servers`. It knows nothing of the time before its start, except events that the
    /// streams still held.
    server: String,
    /// Unix milliseconds of its start.
    started_at: u64,
    /// Unix milliseconds of this answer.
    at: u64,
    /// Milliseconds of one point.
    every_ms: u64,
    /// Unix milliseconds at which the first point begins.
    from: u64,
    series: Vec<Series>,
}

/// The last five minutes or the last day: events per module, queues, ticks, memory, latencies. Each series says whether it is
/// the store's, and then the same on every server, or that of the server which answers.
#[utoipa::path(get, path = "/api/history", tag = "server", params(HistoryQuery),
    responses((status = 200, body = History), (status = 400)))]
pub(crate) async fn history(
    State(app): State<Arc<App>>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<History>, Refusal> {
    let grain = match query.range {
        Range::Minutes => MINUTES,
        Range::Day => DAY,
    };
    let at = app.now_ms();
    let (from, series) = app.histories.read(at, grain);
    Ok(Json(History {
        server: app.server_id.clone(),
        started_at: app.started_at,
        at,
        every_ms: grain.every_ms,
        from,
        series,
    }))
}
