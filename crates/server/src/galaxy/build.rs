//! Building by admins: stations, jump gates, ships that nobody owns.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use galaxy::Order;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::admin::record;
use super::things::ship_id;
use crate::app::App;
use crate::caller::Caller;
use crate::extract::Body;
use crate::galaxy::orders::Asker;
use crate::galaxy::{errors, gateway};
use crate::reply::Refusal;

/// A thing to build, and its place.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewStation {
    /// 1 to 32 characters.
    name: String,
    /// Such as `Earth`.
    parent_body: String,
    /// Metres above its mean radius; default 400 km.
    altitude: Option<f64>,
    /// Instead of an altitude, a point such as `Earth-Luna-L4`.
    lagrange: Option<String>,
}

async fn build(
    app: &App,
    caller: &Caller,
    new: NewStation,
    jumpgate: bool,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let id = Uuid::new_v4();
    let NewStation { name, parent_body, altitude, lagrange } = new;
    let told = json!({ "name": name, "parent_body": parent_body, "lagrange": lagrange });
    let order = Order::StationSpawn {
        id,
        name,
        parent_body,
        altitude: altitude.unwrap_or(400_000.0),
        lagrange,
        jumpgate,
    };
    gateway::of(app).order(app, &Asker::operator(), order).await?;
    let (what, field) = if jumpgate {
        ("jumpgate_spawned", "jumpgate_id")
    } else {
        ("station_spawned", "station_id")
    };
    record(app, caller, what, &id.to_string(), Value::Null, told.clone()).await;
    let mut made = told;
    made[field] = id.to_string().into();
    Ok((StatusCode::CREATED, Json(made)))
}

async fn remove(
    app: &App,
    caller: &Caller,
    id: &str,
    what: &str,
    order: impl Fn(Uuid) -> Order,
) -> Result<StatusCode, Refusal> {
    let id: Uuid = id.parse().map_err(|_| Refusal::from(errors::NO_STATION))?;
    gateway::of(app).order(app, &Asker::operator(), order(id)).await?;
    record(app, caller, what, &id.to_string(), id.to_string().into(), Value::Null).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Builds a station.
#[utoipa::path(post, path = "/api/admin/stations", tag = "galaxy", request_body = NewStation,
    responses((status = 201, description = "`{station_id, name, parent_body}`"), (status = 400), (status = 404)))]
pub(crate) async fn build_station(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<NewStation>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    build(&app, &caller, new, false).await
}

/// Takes a station away; ships that are docked there are free.
#[utoipa::path(delete, path = "/api/admin/stations/{id}", tag = "galaxy",
    params(("id" = String, Path, description = "the station's id")),
    responses((status = 204), (status = 404, description = "E034")))]
pub(crate) async fn remove_station(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    remove(&app, &caller, &id, "station_removed", |id| Order::StationRemove { id }).await
}

/// Builds a jump gate at an L4 or L5 point.
#[utoipa::path(post, path = "/api/admin/jumpgates", tag = "galaxy", request_body = NewStation,
    responses((status = 201, description = "`{jumpgate_id, name, parent_body}`"), (status = 400), (status = 404)))]
pub(crate) async fn build_jumpgate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<NewStation>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    build(&app, &caller, new, true).await
}

/// Takes a jump gate away.
#[utoipa::path(delete, path = "/api/admin/jumpgates/{id}", tag = "galaxy",
    params(("id" = String, Path, description = "the gate's id")),
    responses((status = 204), (status = 404)))]
pub(crate) async fn remove_jumpgate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    remove(&app, &caller, &id, "jumpgate_removed", |id| Order::JumpgateRemove { id }).await
}

/// A ship that nobody owns.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewShip {
    /// 1 to 32 characters.
    name: String,
    /// `fast_frigate` (default) or `cargo_hauler`.
    ship_class: Option<String>,
    /// Near this station instead of in a low orbit of the Earth.
    #[schema(value_type = Option<String>)]
    station_id: Option<Uuid>,
}

/// Puts a ship of nobody into the world.
#[utoipa::path(post, path = "/api/admin/ships", tag = "galaxy", request_body = NewShip,
    responses((status = 201, description = "`{ship_id, name}`"), (status = 400), (status = 404)))]
pub(crate) async fn spawn_ship(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(NewShip { name, ship_class, station_id }): Body<NewShip>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let id = Uuid::new_v4();
    let asker = Asker { ship: Some(id), ..Asker::default() };
    let order = Order::Spawn { name: name.clone(), ship_class, station_id };
    gateway::of(&app).order(&app, &asker, order).await?;
    record(&app, &caller, "ship_spawned", &id.to_string(), Value::Null, name.clone().into()).await;
    Ok((StatusCode::CREATED, Json(json!({ "ship_id": id, "name": name }))))
}

/// Takes a ship out of the world. A player's ship comes back at the next login.
#[utoipa::path(delete, path = "/api/admin/ships/{id}", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 204), (status = 404, description = "E014")))]
pub(crate) async fn remove_ship(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    let id = ship_id(&id)?;
    let asker = Asker { ship: Some(id), ..Asker::default() };
    gateway::of(&app).order(&app, &asker, Order::Despawn).await?;
    record(&app, &caller, "ship_removed", &id.to_string(), id.to_string().into(), Value::Null)
        .await;
    Ok(StatusCode::NO_CONTENT)
}
