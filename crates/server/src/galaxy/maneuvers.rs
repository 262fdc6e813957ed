//! The orbit of a ship, for everybody who may see ships, and the maneuvers it is told to fly: the owner, or an operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use galaxy::physics::encounter;
use galaxy::physics::orbit::{Orbit, OrbitPlace};
use galaxy::physics::solar::SOL;
use galaxy::{Order, ShipView, WorldView};
use serde_json::{Value, json};

use super::rules::{maneuver, own};
use super::things::ship_id;
use crate::app::App;
use crate::caller::Player;
use crate::extract::Body;
use crate::galaxy::orders::Asker;
use crate::galaxy::{errors, gateway};
use crate::reply::Refusal;

/// The orbit that a ship is on right now, about its reference body.
fn orbit_of(seen: &WorldView, ship: &ShipView) -> Value {
    let body = SOL.body(ship.reference);
    let still = (galaxy::physics::Vec3::ZERO, galaxy::physics::Vec3::ZERO);
    let at = |index: usize| seen.bodies.get(index).copied().unwrap_or(still);
    let centre = at(ship.reference);
    let (r, v) = (ship.position - centre.0, ship.velocity - centre.1);
    let (orbit, place) = (Orbit::of(body.gm, r, v), OrbitPlace::of(body.gm, r, v));
    let apsis = |distance: f64, in_s: Option<f64>| json!({ "distance": distance, "altitude": distance - body.radius, "in_s": in_s });
    let relative = |index: usize| (at(index).0 - centre.0, at(index).1 - centre.1);
    let met = encounter::next(&SOL, ship.reference, (r, v), relative).map(|met| {
        json!({ "body": SOL.body(met.body).name, "kind": met.meets.word(), "in_s": met.in_s })
    });
    json!({
        "ship_id": ship.id, "tick": seen.tick, "reference_body": body.name,
        "altitude": r.length() - body.radius, "speed": v.length(),
        "semi_major": orbit.semi_major, "eccentricity": orbit.eccentricity,
        "inclination": orbit.inclination.to_degrees(),
        "longitude_of_node": place.node.to_degrees(),
        "argument_of_periapsis": place.argument.to_degrees(),
        "true_anomaly": place.anomaly.to_degrees(), "period": orbit.period,
        "periapsis": apsis(orbit.periapsis, place.to_periapsis),
        "apoapsis": orbit.apoapsis.map(|distance| apsis(distance, place.to_apoapsis)),
        "encounter": met, "maneuver": maneuver(ship),
    })
}

/// A ship's orbit: elements, apsides, period, and what it meets within a turn.
#[utoipa::path(get, path = "/api/ships/{id}/orbit", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 200, description = "`{reference_body, semi_major, eccentricity, inclination, longitude_of_node, argument_of_periapsis, true_anomaly, period, altitude, speed, periapsis, apoapsis, encounter, maneuver}`; metres, seconds, degrees"), (status = 404, description = "E014")))]
pub(crate) async fn orbit(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let id = ship_id(&id)?;
    let seen = gateway::of(&app).look(&app).await?;
    let ship = seen.ship(id).ok_or_else(|| Refusal::from(errors::NO_SHIP))?;
    Ok(Json(orbit_of(&seen, ship)))
}

/// Begins a maneuver, in the words of a rule's action.
#[utoipa::path(post, path = "/api/ships/{id}/maneuver", tag = "galaxy",
    request_body(content = Object, description = "`{action: circularize | transfer | station_keeping | plane_change | burn | rendezvous, …}` as in docs/galaxy.md"),
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 201, description = "the maneuver as its hash spells it"), (status = 400), (status = 404, description = "E014"), (status = 409, description = "one is flown, or nothing is to be done")))]
pub(crate) async fn begin(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path(id): Path<String>,
    Body(asked): Body<Value>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let told = change(&app, player.as_ref(), &id, Order::Maneuver { maneuver: asked }).await?;
    Ok((StatusCode::CREATED, told))
}

/// Ends the maneuver; the engine is off then.
#[utoipa::path(delete, path = "/api/ships/{id}/maneuver", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 204), (status = 404, description = "E014"), (status = 409, description = "none is flown")))]
pub(crate) async fn abort(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    change(&app, player.as_ref(), &id, Order::Abort).await.map(drop)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives an order about the maneuver and shows what it is then.
async fn change(
    app: &App,
    player: Option<&Player>,
    id: &str,
    order: Order,
) -> Result<Json<Value>, Refusal> {
    let id = ship_id(id)?;
    let gateway = gateway::of(app);
    own(&*gateway.look(app).await?, id, player)?;
    let asker = Asker { player: player.map(|player| player.id), ship: Some(id) };
    gateway.order(app, &asker, order).await?;
    let seen = gateway.look(app).await?;
    Ok(Json(maneuver(own(&seen, id, player)?)))
}
