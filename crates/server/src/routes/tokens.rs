//! Tokens over HTTP, for admins: list, make, remove.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::app::App;
use crate::caller::Caller;
use crate::extract::Body;
use crate::reply::Refusal;
use crate::tokens::{self, Listed, Made, NewToken};

/// All tokens.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TokenList {
    items: Vec<Listed>,
    /// Always null: there are few.
    cursor: Option<String>,
}

/// Lists the tokens that go no further than the own one; their texts are not kept and cannot be shown.
#[utoipa::path(get, path = "/api/tokens", tag = "access", responses((status = 200, body = TokenList)))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<TokenList>, Refusal> {
    Ok(Json(TokenList { items: tokens::list(app.store(), &caller).await?, cursor: None }))
}

/// Makes a token that goes no further than the own one; the answer is the only place where its text is seen.
#[utoipa::path(post, path = "/api/tokens", tag = "access", request_body = NewToken,
    responses((status = 201, body = Made), (status = 403)))]
pub(crate) async fn make(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<Made>), Refusal> {
    let made = tokens::make(app.store(), app.now_ms(), &caller, new).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Removes a token that goes no further than the own one; its sessions end with it.
#[utoipa::path(delete, path = "/api/tokens/{id}", tag = "access",
    params(("id" = String, Path, description = "as in the list")),
    responses((status = 204), (status = 404)))]
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    tokens::remove(app.store(), &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
