//! A player's own ships: which there are, one more, which is flown, another name.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use galaxy::{Order, ShipRow};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::admin::record;
use super::pilot;
use super::things::ship_id;
use crate::app::App;
use crate::caller::{Caller, Player};
use crate::extract::Body;
use crate::galaxy::accounts::fleet;
use crate::galaxy::gateway;
use crate::galaxy::orders::Asker;
use crate::reply::Refusal;

fn line(ship: &ShipRow, active: Option<Uuid>) -> Value {
    json!({
        "ship_id": ship.id, "name": ship.name, "ship_class": ship.ship_class,
        "system_id": ship.system_id, "created_at": ship.created_at.to_string(),
        "active": active == Some(ship.id),
    })
}

/// The caller's ships, oldest first.
#[utoipa::path(get, path = "/api/fleet", tag = "galaxy",
    responses((status = 200, description = "`{items: [{ship_id, name, ship_class, system_id, created_at, active}], active_ship_id, cursor}`"), (status = 401)))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    player: Player,
) -> Result<Json<Value>, Refusal> {
    let gateway = gateway::of(&app);
    let fleets = gateway.fleets(&app).await?;
    let ships = fleets.ships_of(player.id).await.map_err(fleet)?;
    let active = fleets.active(player.id).await.map_err(fleet)?;
    let items: Vec<_> = ships.iter().map(|ship| line(ship, active)).collect();
    Ok(Json(json!({ "items": items, "active_ship_id": active, "cursor": null })))
}

/// One more ship.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewFleetShip)]
pub(crate) struct NewShip {
    /// 1 to 32 characters, unlike the other ships' names.
    name: String,
    /// `fast_frigate` (default) or `cargo_hauler`.
    ship_class: Option<String>,
}

/// Builds one more ship, up to eight.
#[utoipa::path(post, path = "/api/fleet", tag = "galaxy", request_body = NewShip,
    responses((status = 201, description = "the ship"), (status = 400, description = "E017, E018"), (status = 409, description = "E015, E016")))]
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    player: Player,
    Body(NewShip { name, ship_class }): Body<NewShip>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let gateway = gateway::of(&app);
    let fleets = gateway.fleets(&app).await?;
    let ship = fleets.add_ship(player.id, &name, ship_class.as_deref()).await.map_err(fleet)?;
    Ok((StatusCode::CREATED, Json(line(&ship, None))))
}

/// Flies this ship from now on.
#[utoipa::path(post, path = "/api/fleet/{ship}/activate", tag = "galaxy",
    params(("ship" = String, Path, description = "the ship's id")),
    responses((status = 200, description = "`{ship_id}`"), (status = 404, description = "E014")))]
pub(crate) async fn activate(
    State(app): State<Arc<App>>,
    player: Player,
    Path(ship): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let ship = ship_id(&ship)?;
    pilot::switch(&app, &gateway::of(&app), player.id, ship).await?;
    Ok(Json(json!({ "ship_id": ship })))
}

/// A change of a ship.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShipChange {
    /// 1 to 32 characters.
    name: String,
}

/// Gives a ship another name: its owner, or an operator.
#[utoipa::path(patch, path = "/api/ships/{id}", tag = "galaxy", request_body = ShipChange,
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 200, description = "`{ship_id, name}`"), (status = 400, description = "E017"), (status = 404, description = "E014"), (status = 409, description = "E015")))]
pub(crate) async fn rename(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    caller: Caller,
    Path(id): Path<String>,
    Body(ShipChange { name }): Body<ShipChange>,
) -> Result<Json<Value>, Refusal> {
    let ship = ship_id(&id)?;
    let gateway = gateway::of(&app);
    if let Some(player) = player {
        pilot::rename(&app, &gateway, player.id, Some(ship), &name).await?;
        return Ok(Json(json!({ "ship_id": ship, "name": name.trim() })));
    }
    let seen = gateway.look(&app).await?;
    let old = seen.ship(ship).map(|ship| (ship.name.clone(), ship.player_id.parse::<Uuid>().ok()));
    if let Some(owner) = old.as_ref().and_then(|(_, owner)| *owner) {
        // The owner's list of ships keeps the name too.
        pilot::rename(&app, &gateway, owner, Some(ship), &name).await?;
    } else {
        let asker = Asker { player: None, ship: Some(ship) };
        gateway.order(&app, &asker, Order::Rename { name: name.clone() }).await?;
    }
    let old = old.map(|(name, _)| name);
    record(&app, &caller, "ship_renamed", &id, json!(old), json!(name.trim())).await;
    Ok(Json(json!({ "ship_id": ship, "name": name.trim() })))
}
