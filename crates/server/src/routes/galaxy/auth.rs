//! Registering and logging in. Both are counted per address; a password is never logged, stored in clear or echoed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use galaxy::accounts::{Fleet, Fleets, Player};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::caller::Caller;
use crate::extract::Body;
use crate::gateway::accounts::fleet;
use crate::gateway::{self, Gateway, errors};
use crate::reply::Refusal;

/// Who wants in.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    /// 3 to 20 letters, digits or underscores.
    username: String,
    /// At least 8 characters.
    password: String,
}

/// Somebody who is in.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct LoggedIn {
    player_id: String,
    username: String,
    /// The ship to fly.
    ship_id: Option<String>,
    is_admin: bool,
    /// For `Authorization: Bearer`, and for `auth` on the socket; good for a day.
    token: String,
}

fn logged_in(fleets: &Fleets, player: &Player, fleet: &Fleet) -> LoggedIn {
    LoggedIn {
        player_id: player.id.to_string(),
        username: player.username.clone(),
        ship_id: fleet.active.map(|id| id.to_string()),
        is_admin: player.is_admin,
        token: fleets.accounts().token(player),
    }
}

fn spend(app: &App, gateway: &Gateway, caller: &Caller) -> Result<(), Refusal> {
    let now = app.clock.monotonic();
    // Addresses whose minute is over are forgotten, so that memory stays bounded.
    gateway.logins.sweep(now);
    let spent = gateway.logins.spend(caller.address, now);
    spent.map_err(|wait| {
        metrics::counter!("worldkeep_rate_limited_total").increment(1);
        Refusal::from(errors::TOO_OFTEN).retry_after(wait.as_secs() + 1)
    })
}

/// A new player, with a first ship in orbit of the Earth.
#[utoipa::path(post, path = "/api/auth/register", tag = "galaxy", request_body = Credentials,
    responses((status = 201, body = LoggedIn), (status = 400, description = "E011, E012"),
        (status = 403, description = "E020"), (status = 409, description = "E010"), (status = 429, description = "E004")))]
pub(crate) async fn register(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(Credentials { username, password }): Body<Credentials>,
) -> Result<(StatusCode, Json<LoggedIn>), Refusal> {
    let gateway = gateway::of(&app);
    spend(&app, &gateway, &caller)?;
    let fleets = gateway.fleets(&app).await?;
    let (player, ships) = fleets.register(&username, &password).await.map_err(fleet)?;
    metrics::counter!("worldkeep_galaxy_registrations_total").increment(1);
    Ok((StatusCode::CREATED, Json(logged_in(fleets, &player, &ships))))
}

/// A token for a day. Ships that are missing in the world are spawned again.
#[utoipa::path(post, path = "/api/auth/login", tag = "galaxy", request_body = Credentials,
    responses((status = 200, body = LoggedIn), (status = 401, description = "E005"), (status = 429, description = "E004")))]
pub(crate) async fn login(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(Credentials { username, password }): Body<Credentials>,
) -> Result<Json<LoggedIn>, Refusal> {
    let gateway = gateway::of(&app);
    spend(&app, &gateway, &caller)?;
    let fleets = gateway.fleets(&app).await?;
    let (player, ships) = fleets.login(&username, &password).await.map_err(fleet)?;
    Ok(Json(logged_in(fleets, &player, &ships)))
}
