//! `POST /api/check` walks the store and answers with what is wrong; `GET /api/check` tells how far it is, `DELETE` ends it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use crate::app::App;
use crate::checks::{self, CheckState};
use crate::extract::Body;
use crate::reply::Refusal;

/// How to check.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CheckAsk {
    /// Mend what can be mended.
    repair: bool,
}

/// The check that runs, or the last report.
#[utoipa::path(get, path = "/api/check", tag = "store", responses((status = 200, body = CheckState)))]
pub(crate) async fn show(State(app): State<Arc<App>>) -> Json<CheckState> {
    Json(app.checks.state())
}

/// Checks the whole store and answers at its end. Exempt from the request's time limit.
#[utoipa::path(post, path = "/api/check", tag = "store", request_body = CheckAsk,
    responses((status = 200, body = CheckState), (status = 409)))]
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Body(ask): Body<CheckAsk>,
) -> Result<Json<CheckState>, Refusal> {
    Ok(Json(checks::run(&app, ask.repair).await?))
}

/// Ends the check that runs; repairs that were made stay. Whoever asked for it gets 503.
#[utoipa::path(delete, path = "/api/check", tag = "store", responses((status = 200, body = CheckState)))]
pub(crate) async fn cancel(State(app): State<Arc<App>>) -> Json<CheckState> {
    app.checks.cancel();
    Json(app.checks.state())
}
