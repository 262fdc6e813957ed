//! Players for admins: who there is, who is online, the gate of registration, the end of an account.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use galaxy::{Player, PlayerPage};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::admin::record;
use super::things::PageQuery;
use crate::app::App;
use crate::caller::Caller;
use crate::extract::{Body, Query, page_limit};
use crate::galaxy::accounts::{account, fleet};
use crate::galaxy::notices::{Notice, PLAYER_DELETED, What};
use crate::galaxy::{errors, gateway};
use crate::reply::Refusal;

async fn gate(app: &App) -> Result<Json<Value>, Refusal> {
    let open = gateway::of(app).fleets(app).await?.registration_open().await?;
    Ok(Json(json!({ "open": open })))
}

async fn set_gate(app: &App, caller: &Caller, open: bool) -> Result<Json<Value>, Refusal> {
    let gateway = gateway::of(app);
    let fleets = gateway.fleets(app).await?;
    let old = fleets.registration_open().await?;
    fleets.set_registration(open).await?;
    let what = if open { "registrations_opened" } else { "registrations_closed" };
    record(app, caller, what, "game", old.into(), open.into()).await;
    gate(app).await
}

/// Whether players may register.
#[utoipa::path(get, path = "/api/admin/registrations", tag = "galaxy",
    responses((status = 200, description = "`{open}`")))]
pub(crate) async fn registrations(State(app): State<Arc<App>>) -> Result<Json<Value>, Refusal> {
    gate(&app).await
}

/// Open or closed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gate {
    open: bool,
}

/// Opens or closes registration.
#[utoipa::path(post, path = "/api/admin/registrations", tag = "galaxy", request_body = Gate,
    responses((status = 200, description = "`{open}`"), (status = 400)))]
pub(crate) async fn set_registrations(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(Gate { open }): Body<Gate>,
) -> Result<Json<Value>, Refusal> {
    set_gate(&app, &caller, open).await
}

/// Opens registration.
#[utoipa::path(post, path = "/api/admin/registrations/enable", tag = "galaxy",
    responses((status = 200, description = "`{open}`")))]
pub(crate) async fn enable(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Value>, Refusal> {
    set_gate(&app, &caller, true).await
}

/// Closes registration; whoever has an account still logs in.
#[utoipa::path(post, path = "/api/admin/registrations/disable", tag = "galaxy",
    responses((status = 200, description = "`{open}`")))]
pub(crate) async fn disable(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Value>, Refusal> {
    set_gate(&app, &caller, false).await
}

fn line(player: &Player, online: &HashSet<Uuid>) -> Value {
    json!({
        "player_id": player.id, "username": player.username, "is_admin": player.is_admin,
        "created_at": player.created_at.to_string(), "online": online.contains(&player.id),
    })
}

async fn online(app: &App) -> Result<HashSet<Uuid>, Refusal> {
    let gateway = gateway::of(app);
    let all = crate::wire::call(app.store(), &["SMEMBERS", gateway.keys.online().as_str()]).await?;
    let ids = crate::wire::items(&all).into_iter().filter_map(crate::wire::text);
    Ok(ids.filter_map(|id| id.parse().ok()).collect())
}

/// Players, oldest first.
#[utoipa::path(get, path = "/api/admin/players", tag = "galaxy", params(PageQuery),
    responses((status = 200, description = "`{items: [{player_id, username, is_admin, created_at, online}], cursor}`"), (status = 400)))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Value>, Refusal> {
    let limit = u32::try_from(page_limit(query.limit)?).unwrap_or(500);
    let gateway = gateway::of(&app);
    let fleets = gateway.fleets(&app).await?;
    let page = fleets.accounts().players(&PlayerPage { limit, after: query.cursor }).await;
    let page = page.map_err(account)?;
    let online = online(&app).await?;
    let items: Vec<_> = page.items.iter().map(|player| line(player, &online)).collect();
    Ok(Json(json!({ "items": items, "cursor": page.cursor })))
}

fn player_id(text: &str) -> Result<Uuid, Refusal> {
    text.parse().map_err(|_| errors::NO_PLAYER.into())
}

/// One player with their ships.
#[utoipa::path(get, path = "/api/admin/players/{id}", tag = "galaxy",
    params(("id" = String, Path, description = "the player's id")),
    responses((status = 200, description = "`{player_id, username, is_admin, created_at, online, ships}`"), (status = 404, description = "E013")))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let id = player_id(&id)?;
    let gateway = gateway::of(&app);
    let fleets = gateway.fleets(&app).await?;
    let player = fleets.accounts().player(id).await.map_err(account)?;
    let player = player.ok_or_else(|| Refusal::from(errors::NO_PLAYER))?;
    let ships = fleets.ships_of(id).await.map_err(fleet)?;
    let mut told = line(&player, &online(&app).await?);
    told["ships"] = ships
        .iter()
        .map(|ship| json!({ "ship_id": ship.id, "name": ship.name, "ship_class": ship.ship_class }))
        .collect();
    Ok(Json(told))
}

/// Deletes an account: its sockets close everywhere, then its ships go, then the account.
#[utoipa::path(delete, path = "/api/admin/players/{id}", tag = "galaxy",
    params(("id" = String, Path, description = "the player's id")),
    responses((status = 204), (status = 404, description = "E013")))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    let id = player_id(&id)?;
    let gateway = gateway::of(&app);
    let fleets = gateway.fleets(&app).await?;
    let player = fleets.accounts().player(id).await.map_err(account)?;
    let player = player.ok_or_else(|| Refusal::from(errors::NO_PLAYER))?;
    // Sockets of other servers hear of it by the stream of this record.
    let _ = gateway.notices.send(Notice { to: Some(id), what: What::Close });
    record(&app, &caller, PLAYER_DELETED, &id.to_string(), player.username.into(), Value::Null)
        .await;
    crate::wire::call(app.store(), &["SREM", gateway.keys.online().as_str(), &id.to_string()])
        .await?;
    fleets.delete_player(id).await.map_err(fleet)?;
    Ok(StatusCode::NO_CONTENT)
}
