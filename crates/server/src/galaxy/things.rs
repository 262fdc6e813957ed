//! The things of the world: its time, systems, bodies, stations, gates and ships.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use galaxy::physics::solar::SOL;
use galaxy::{ShipView, StationKind, WorldView, text};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::extract::{Query, pack_cursor, page_limit, unpack_cursor};
use crate::galaxy::shapes::{self, ShipFull, ShipLine, StationLine};
use crate::galaxy::{errors, gateway};
use crate::reply::Refusal;
use crate::wire;

/// The state of the game.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct GameStatus {
    tick: u64,
    /// ISO 8601.
    time: String,
    paused: bool,
    tick_rate: f64,
    time_scale: f64,
    time_sync: bool,
    /// Seconds by which the game is behind UTC.
    time_drift: f64,
    registration_open: bool,
    /// Players with an open socket.
    online: u64,
}

pub(super) async fn game_status(app: &App, seen: &WorldView) -> Result<GameStatus, Refusal> {
    let keys = gateway::of(app).keys;
    let open = wire::call(app.store(), &["GET", keys.registration_open().as_str()]).await?;
    let online = wire::call(app.store(), &["SCARD", keys.online().as_str()]).await?;
    Ok(GameStatus {
        tick: seen.tick,
        time: text::time(seen.time_ns),
        paused: seen.pace.paused,
        tick_rate: seen.pace.rate,
        time_scale: seen.pace.scale,
        time_sync: seen.pace.sync,
        time_drift: (seen.drift_s * 1e3).round() / 1e3,
        registration_open: wire::text(&open).as_deref() != Some("false"),
        online: wire::int(&online).and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
    })
}

/// Tick, time and pace of the game, and who is online.
#[utoipa::path(get, path = "/api/status", tag = "galaxy",
    responses((status = 200, body = GameStatus), (status = 404)))]
pub(crate) async fn status(State(app): State<Arc<App>>) -> Result<Json<GameStatus>, Refusal> {
    let seen = gateway::of(&app).look(&app).await?;
    game_status(&app, &seen).await.map(Json)
}

/// Star systems, with how much is in each.
#[utoipa::path(get, path = "/api/systems", tag = "galaxy",
    responses((status = 200, description = "`{items: [{system_id, star, bodies, ships, stations, jumpgates}], cursor}`"), (status = 404)))]
pub(crate) async fn systems(State(app): State<Arc<App>>) -> Result<Json<Value>, Refusal> {
    let seen = gateway::of(&app).look(&app).await?;
    let of = |kind| seen.stations.iter().filter(|station| station.kind == kind).count();
    let sol = json!({
        "system_id": SOL.id, "star": SOL.body(SOL.star()).name, "bodies": seen.bodies.len(),
        "ships": seen.ships.len(), "stations": of(StationKind::Station),
        "jumpgates": of(StationKind::Jumpgate),
    });
    Ok(Json(json!({ "items": [sol], "cursor": null })))
}

/// Which part of a list.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// 1 to 500, default 50.
    pub(super) limit: Option<u32>,
    /// Of the page before.
    pub(super) cursor: Option<String>,
}

/// A part of a list that is in the order of its ids.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Page<T> {
    /// The tick that the answer is of.
    tick: u64,
    items: Vec<T>,
    /// Of the next part; null at the end.
    cursor: Option<String>,
}

/// A ship in the list of all.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ShipListed<'a> {
    #[serde(flatten)]
    line: ShipLine<'a>,
    player_id: &'a str,
    fuel: f64,
    fuel_capacity: f64,
    /// Whose gravity counts for it.
    reference_body: &'a str,
}

fn page<T, Id: Serialize + DeserializeOwned + Ord>(
    query: &PageQuery,
    tick: u64,
    all: &[T],
    id: impl Fn(&T) -> Id,
    write: impl Fn(&T) -> Value,
) -> Result<Response, Refusal> {
    let limit = page_limit(query.limit)?;
    let after: Option<Id> = query.cursor.as_deref().map(unpack_cursor).transpose()?;
    let begin = after.map_or(0, |after| all.partition_point(|item| id(item) <= after));
    let end = (begin + limit).min(all.len());
    let cursor = (end < all.len()).then(|| pack_cursor(&id(&all[end - 1])));
    let items: Vec<_> = all[begin..end].iter().map(write).collect();
    Ok(Json(Page { tick, items, cursor }).into_response())
}

fn value<T: Serialize>(item: &T) -> Value {
    serde_json::to_value(item).unwrap_or_default()
}

/// Bodies: what they are, where they are, how they move.
#[utoipa::path(get, path = "/api/bodies", tag = "galaxy", params(PageQuery),
    responses((status = 200, body = Page<shapes::BodyFull>), (status = 404)))]
pub(crate) async fn bodies(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<Response, Refusal> {
    let seen = gateway::of(&app).look(&app).await?;
    let all: Vec<_> = shapes::bodies(&seen).into_iter().enumerate().collect();
    page(&query, seen.tick, &all, |(at, _)| *at, |(_, body)| value(body))
}

fn built(seen: &WorldView, kind: StationKind, query: &PageQuery) -> Result<Response, Refusal> {
    let all: Vec<_> = seen.stations.iter().filter(|station| station.kind == kind).collect();
    page(query, seen.tick, &all, |one| one.id, |one| value(&StationLine::from(*one)))
}

/// Stations, in the order of their ids.
#[utoipa::path(get, path = "/api/stations", tag = "galaxy", params(PageQuery),
    responses((status = 200, body = Page<shapes::StationLine<'static>>), (status = 404)))]
pub(crate) async fn stations(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<Response, Refusal> {
    let seen = gateway::of(&app).look(&app).await?;
    built(&seen, StationKind::Station, &query)
}

/// Jump gates, in the order of their ids.
#[utoipa::path(get, path = "/api/jumpgates", tag = "galaxy", params(PageQuery),
    responses((status = 200, body = Page<shapes::StationLine<'static>>), (status = 404)))]
pub(crate) async fn jumpgates(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<Response, Refusal> {
    let seen = gateway::of(&app).look(&app).await?;
    built(&seen, StationKind::Jumpgate, &query)
}

/// Ships, in the order of their ids.
#[utoipa::path(get, path = "/api/ships", tag = "galaxy", params(PageQuery),
    responses((status = 200, body = Page<ShipListed<'static>>), (status = 404)))]
pub(crate) async fn ships(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<Response, Refusal> {
    let seen = gateway::of(&app).look(&app).await?;
    let line = |ship: &ShipView| {
        value(&ShipListed {
            line: ShipLine::from(ship),
            player_id: &ship.player_id,
            fuel: ship.hull.fuel,
            fuel_capacity: ship.hull.fuel_capacity,
            reference_body: SOL.body(ship.reference).name,
        })
    };
    page(&query, seen.tick, &seen.ships, |ship| ship.id, line)
}

/// One ship in full.
#[utoipa::path(get, path = "/api/ships/{id}", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 200, body = shapes::ShipFull<'static>), (status = 404, description = "E014")))]
pub(crate) async fn ship(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let id = ship_id(&id)?;
    let seen = gateway::of(&app).look(&app).await?;
    let ship = seen.ship(id).ok_or_else(|| Refusal::from(errors::NO_SHIP))?;
    Ok(Json(value(&ShipFull::from(ship))))
}

/// The id of a path; what cannot be one is no ship.
pub(super) fn ship_id(text: &str) -> Result<Uuid, Refusal> {
    text.parse().map_err(|_| errors::NO_SHIP.into())
}
