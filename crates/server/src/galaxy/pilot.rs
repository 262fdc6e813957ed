//! The pilot of a socket: the login by its first message, the welcome, and what belongs to the player's fleet.

use std::time::Duration;

use galaxy::{Claims, Fleet, Player, WorldView, text};
use serde_json::{Value, json};
use uuid::Uuid;

use super::messages::{ClientMessage, error};
use super::socket::code;
use crate::app::App;
use crate::galaxy::accounts::{account, fleet};
use crate::galaxy::frame::SHIPS_MOST;
use crate::galaxy::gateway::Gateway;
use crate::galaxy::notices::{Notice, What};
use crate::galaxy::viewers::View;
use crate::galaxy::{errors, shapes};
use crate::reply::{self, Refusal};
use crate::socket::{End, Incoming, Socket, Utf8Bytes};

/// How long the first message may take.
const AUTH_WAIT: Duration = Duration::from_secs(5);

/// The pilot.
pub(super) struct Pilot {
    pub(super) player: Player,
    pub(super) fleet: Fleet,
    /// The token that the socket was opened with.
    pub(super) token: String,
    pub(super) claims: Claims,
    /// Unix milliseconds at which the token ends.
    pub(super) ends_ms: u64,
}

/// The view of a pilot who did not ask for less.
pub(super) fn view(pilot: &Pilot) -> View {
    View { ship: pilot.fleet.active, ships: SHIPS_MOST, gap: Duration::ZERO }
}

/// The first message after `auth`.
pub(super) fn welcome(app: &App, pilot: &Pilot, seen: &WorldView) -> Value {
    let ships: Vec<_> = pilot
        .fleet
        .ships
        .iter()
        .map(|ship| json!({ "ship_id": ship.id, "name": ship.name, "ship_class": ship.ship_class }))
        .collect();
    json!({
        "type": "welcome",
        "player_id": pilot.player.id,
        "username": pilot.player.username,
        "is_admin": pilot.player.is_admin,
        "ship_id": pilot.fleet.active,
        "ships": ships,
        "tick": seen.tick,
        "game_time": text::time(seen.time_ns),
        "tick_rate": seen.pace.rate,
        "time_scale": seen.pace.scale,
        "time_sync": seen.pace.sync,
        "paused": seen.pace.paused,
        "server_time": app.now_ms(),
        "token_ends": pilot.ends_ms,
        "config": { "bodies": shapes::body_facts() },
    })
}

/// Waits for `auth`. Fails with what to say and how to close.
pub(super) async fn log_in(
    app: &App,
    gateway: &Gateway,
    socket: &Socket,
) -> Result<Pilot, (Option<Utf8Bytes>, End)> {
    let late = (None, End(code::AUTH, "no auth message came within 5 seconds"));
    let first = tokio::select! {
        first = socket.next() => first,
        () = app.clock.sleep(AUTH_WAIT) => return Err(late),
        () = app.stopping.cancelled() => return Err((None, End::away())),
    };
    let Incoming::Text(text) = first.map_err(|end| (None, end))? else {
        return Err((None, End(code::AUTH, "the first message must be auth")));
    };
    let Ok(ClientMessage::Auth { token }) = ClientMessage::read(&text) else {
        let refusal = Refusal::new(reply::UNAUTHORIZED, "the first message must be auth");
        return Err((
            Some(error(&refusal, None)),
            End(code::AUTH, "the first message must be auth"),
        ));
    };
    let refuse = |refusal: Refusal| {
        let end = if refusal.def.status >= 500 {
            End(1013, "try again later")
        } else {
            End(code::AUTH, "the token is not good; log in again")
        };
        (Some(error(&refusal, Some("auth"))), end)
    };
    let fleets = gateway.fleets(app).await.map_err(refuse)?;
    let claims = fleets.accounts().verify(&token).map_err(|bad| refuse(account(bad.into())))?;
    let player =
        fleets.accounts().standing(&claims, &token).await.map_err(account).map_err(refuse)?;
    let ends_ms = claims.exp * 1_000;
    let fleet = fleets.restore(&player).await.map_err(fleet).map_err(refuse)?;
    Ok(Pilot { player, fleet, token, claims, ends_ms })
}

/// Another ship of the fleet, for all sockets of the player.
pub(super) async fn switch(
    app: &App,
    gateway: &Gateway,
    player: Uuid,
    ship: Uuid,
) -> Result<(), Refusal> {
    gateway.fleets(app).await?.switch(player, ship).await.map_err(fleet)?;
    let _ = gateway.notices.send(Notice { to: Some(player), what: What::Switch(ship) });
    Ok(())
}

pub(super) async fn rename(
    app: &App,
    gateway: &Gateway,
    player: Uuid,
    ship: Option<Uuid>,
    name: &str,
) -> Result<(), Refusal> {
    let ship = ship.ok_or_else(|| Refusal::from(errors::NO_SHIP))?;
    gateway.fleets(app).await?.rename(player, ship, name).await.map(drop).map_err(fleet)
}
