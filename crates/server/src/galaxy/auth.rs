//! Registering, logging in and out, changing the password. Tries are counted per address, and wrong passwords per
//! account; a password is never logged, stored in clear or echoed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use galaxy::{AccountError, Fleet, FleetError, Fleets, Player};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::caller::{Caller, bearer};
use crate::extract::Body;
use crate::galaxy::accounts::{account, fleet};
use crate::galaxy::{errors, gateway};
use crate::limits::shared;
use crate::reply::{self, Refusal};

/// The name and password of a login.
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

/// How often a wrong password may be tried, and where it is counted.
struct Guard<'a> {
    app: &'a App,
    account: String,
    most: u64,
}

impl<'a> Guard<'a> {
    /// Takes a try of the address and one of the account; names that nobody has are counted alike.
    async fn take(app: &'a App, caller: &Caller, username: &str) -> Result<Self, Refusal> {
        spend(app, caller).await?;
        let account = format!("galaxy account {username}");
        let most = app.settings.galaxy.wrong_passwords_per_minute;
        if let Err(wait_s) = shared::take(app.store(), &account, most).await? {
            let why = "too many wrong passwords for this account; wait a minute";
            return Err(Refusal::new(errors::TOO_OFTEN, why).retry_after(wait_s));
        }
        Ok(Guard { app, account, most })
    }

    /// Gives the account's try back unless the password was wrong.
    async fn settle<T>(self, outcome: Result<T, FleetError>) -> Result<T, Refusal> {
        if !matches!(outcome, Err(FleetError::Account(AccountError::Credentials))) {
            shared::give_back(self.app.store(), &self.account, self.most).await?;
        }
        outcome.map_err(fleet)
    }
}

/// Takes one of the tries of an address.
async fn spend(app: &App, caller: &Caller) -> Result<(), Refusal> {
    let most = app.settings.galaxy.logins_per_minute;
    let address = format!("galaxy address {}", caller.address);
    let spent = shared::take(app.store(), &address, most).await?;
    spent.map_err(|wait_s| Refusal::from(errors::TOO_OFTEN).retry_after(wait_s))
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
    spend(&app, &caller).await?;
    let gateway = gateway::of(&app);
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
    let guard = Guard::take(&app, &caller, &username).await?;
    let gateway = gateway::of(&app);
    let fleets = gateway.fleets(&app).await?;
    let (player, ships) = guard.settle(fleets.login(&username, &password).await).await?;
    Ok(Json(logged_in(fleets, &player, &ships)))
}

/// Ends the login of the token at once, with all tokens that were made of it and their sockets.
#[utoipa::path(post, path = "/api/auth/logout", tag = "galaxy",
    responses((status = 204), (status = 401, description = "E006")))]
pub(crate) async fn logout(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<StatusCode, Refusal> {
    let gateway = gateway::of(&app);
    let token = bearer(&headers)?.ok_or(reply::UNAUTHORIZED)?;
    let player = gateway.fleets(&app).await?.accounts().log_out(&token).await.map_err(account)?;
    gateway.end_logins(&app, player.id).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The old password and the new one.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPassword {
    old_password: String,
    /// At least 8 characters.
    new_password: String,
}

/// The token that is good from now on.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct NewLogin {
    /// As after a login; every other token of the player has ended.
    token: String,
}

/// Changes the password. Every login of the player ends, with its sockets; the answer holds the token of a new one.
#[utoipa::path(put, path = "/api/auth/password", tag = "galaxy", request_body = NewPassword,
    responses((status = 200, body = NewLogin), (status = 400, description = "E012"),
        (status = 401, description = "E005, E006"), (status = 429, description = "E004")))]
pub(crate) async fn password(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Body(NewPassword { old_password, new_password }): Body<NewPassword>,
) -> Result<Json<NewLogin>, Refusal> {
    let gateway = gateway::of(&app);
    let accounts = gateway.fleets(&app).await?.accounts();
    let token = bearer(&headers)?.ok_or(reply::UNAUTHORIZED)?;
    let player = accounts.whose(&token).await.map_err(account)?;
    let guard = Guard::take(&app, &caller, &player.username).await?;
    let changed = accounts.change_password(&player, &old_password, &new_password).await;
    let token = guard.settle(changed.map_err(FleetError::from)).await.map_err(|mut refusal| {
        refusal.field = match refusal.def.code {
            "E005" => Some("old_password".to_owned()),
            "E012" => Some("new_password".to_owned()),
            _ => refusal.field,
        };
        refusal
    })?;
    gateway.end_logins(&app, player.id).await;
    Ok(Json(NewLogin { token }))
}
