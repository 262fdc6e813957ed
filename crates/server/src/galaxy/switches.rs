//! The ship that a player flies, when another service chose it: `player:{id}:active_ship` of everybody with a socket
//! here is read about once a tick, and the sockets follow.
//!
//! Always true: only a ship of the player is taken over; any other value is left to the next login.

use std::collections::HashMap;
use std::time::Duration;

use kernel::{Cmd, Deadline, reply};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::gateway::{Gateway, of};
use super::notices::{Notice, What};
use crate::app::App;
use crate::modules::State;
use crate::wire::cmd;

/// Players that are looked at in one trip; more take turns.
const AT_ONCE: usize = 500;
/// No look comes sooner after the last one than this, and none later.
const SOONEST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(1);

/// Looks while there are sockets.
pub(crate) async fn run(app: State, stop: CancellationToken) {
    let gateway = of(&app);
    let mut sockets = gateway.sockets.subscribe();
    let mut known: HashMap<Uuid, String> = HashMap::new();
    let mut after = Uuid::nil();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            some = sockets.wait_for(|count| *count > 0) => if some.is_err() { return },
        }
        let mut players = gateway.by_player.holders();
        players.sort_unstable();
        known.retain(|player, _| players.binary_search(player).is_ok());
        let first = players.partition_point(|player| *player <= after);
        players.rotate_left(first);
        players.truncate(AT_ONCE);
        after = players.last().copied().unwrap_or_default();
        look(&app, &gateway, &players, &mut known).await;
        tokio::select! {
            () = stop.cancelled() => return,
            () = app.clock.sleep(pause(&gateway)) => {}
        }
    }
}

/// As long as a tick, within reason.
fn pause(gateway: &Gateway) -> Duration {
    let rate = gateway.frames.borrow().as_ref().map_or(1.0, |frame| frame.seen.pace.rate);
    Duration::from_secs_f64(1.0 / rate.max(0.1)).clamp(SOONEST, LATEST)
}

async fn look(app: &App, gateway: &Gateway, players: &[Uuid], known: &mut HashMap<Uuid, String>) {
    let keyed = |player: &Uuid| Some((*player, gateway.keys.active_ship(*player).ok()?));
    let (players, gets): (Vec<Uuid>, Vec<Cmd>) = players
        .iter()
        .filter_map(keyed)
        .map(|(player, key)| (player, cmd(&["GET", key.as_str()])))
        .unzip();
    let answers = app.store().pipeline(&gets, Deadline::after(LATEST)).await;
    let Ok(answers) = answers else { return };
    for (player, answer) in players.into_iter().zip(answers) {
        let Ok(answer) = answer else { continue };
        let Some(chosen) = reply::text(&answer) else { continue };
        if known.get(&player).is_some_and(|known| known == chosen) {
            continue;
        }
        known.insert(player, chosen.to_owned());
        let (Ok(ship), Ok(fleets)) = (chosen.parse(), gateway.fleets(app).await) else { continue };
        if fleets.accounts().ship_of(player, ship).await.is_ok() {
            let _ = gateway.notices.send(Notice { to: Some(player), what: What::Switch(ship) });
        }
    }
}
