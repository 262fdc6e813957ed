//! The demo: stations at a few worlds and ships that fly by themselves, so that the first look at the map shows
//! traffic. Only with the demo world, by one server at a time, through the same orders as pilots.

use std::time::Duration;

use galaxy::Order;
use kernel::{Deadline, Lease};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::galaxy::gateway::{self, Gateway};
use crate::galaxy::orders::Asker;
use crate::modules::State;

const LEASE: Duration = Duration::from_mins(1);
const STEP: Duration = Duration::from_secs(5);
/// A ship with less than this part of its fuel starts over.
const LOW: f64 = 0.2;

/// Stations: name, parent, altitude in m.
const STATIONS: [(&str, &str, f64); 3] = [
    ("Highport", "Earth", 420_000.0),
    ("Tranquility Dock", "Luna", 150_000.0),
    ("Olympus Yard", "Mars", 600_000.0),
];

/// Ships: name, class, the station they begin at.
const SHIPS: [(&str, &str, Option<usize>); 8] = [
    ("Wren", "fast_frigate", None),
    ("Kestrel", "fast_frigate", None),
    ("Mule", "cargo_hauler", None),
    ("Swift", "fast_frigate", Some(0)),
    ("Heron", "cargo_hauler", Some(1)),
    ("Lark", "fast_frigate", Some(1)),
    ("Rook", "fast_frigate", Some(2)),
    ("Ox", "cargo_hauler", Some(2)),
];

/// A ship's actions in turn: mode, thrust. Speed that is won is given back, so that nobody leaves for good.
const TURNS: [(&str, f64); 8] = [
    ("prograde", 0.0),
    ("prograde", 0.04),
    ("radial", 0.0),
    ("hold", 0.0),
    ("retrograde", 0.0),
    ("retrograde", 0.04),
    ("normal", 0.0),
    ("antiradial", 0.0),
];

/// The same ids at every start: what is there already is not made again.
fn station_id(n: usize) -> Uuid {
    Uuid::from_u128(0xdede_0000_0000_4000_8000_0000_0000_0100 + n as u128)
}

fn ship_id(n: usize) -> Uuid {
    Uuid::from_u128(0xdede_0000_0000_4000_8000_0000_0000_0200 + n as u128)
}

/// Flies until the server stops, where there is a demo world.
pub(super) async fn run(app: State, stop: CancellationToken) {
    if !app.demo() {
        return;
    }
    let gateway = gateway::of(&app);
    let lease = Lease::new(app.shared_store(), app.clock.clone(), "galaxy-demo", LEASE);
    let mut turn = 0;
    while !stop.is_cancelled() {
        let by = Deadline::after(Duration::from_secs(2));
        if let Ok(Some(_)) = lease.take(by).await {
            tokio::select! {
                () = stop.cancelled() => break,
                () = fly(&app, &gateway, turn) => turn += 1,
            }
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = app.clock.sleep(STEP) => {}
        }
    }
    let _ = lease.give_back(Deadline::after(Duration::from_secs(1))).await;
}

/// One step of every ship; what is missing is made first.
async fn fly(app: &State, gateway: &Gateway, turn: usize) {
    let Ok(seen) = gateway.look(app).await else { return };
    if seen.pace.paused {
        return;
    }
    let give = async |ship: Option<Uuid>, order: Order| {
        if let Err(refusal) = gateway.order(app, &Asker { player: None, ship }, order).await {
            tracing::debug!(why = refusal.message, "an order of the demo");
        }
    };
    for (n, (name, parent, altitude)) in STATIONS.into_iter().enumerate() {
        if !seen.stations.iter().any(|station| station.id == station_id(n)) {
            let order = Order::StationSpawn {
                id: station_id(n),
                name: name.to_owned(),
                parent_body: parent.to_owned(),
                altitude,
                lagrange: None,
                jumpgate: false,
            };
            give(None, order).await;
        }
    }
    for (n, (name, class, at)) in SHIPS.into_iter().enumerate() {
        let id = Some(ship_id(n));
        let Some(ship) = seen.ship(ship_id(n)) else {
            let order = Order::Spawn {
                name: name.to_owned(),
                ship_class: Some(class.to_owned()),
                station_id: at.map(station_id),
            };
            give(id, order).await;
            continue;
        };
        if ship.hull.fuel < LOW * ship.hull.fuel_capacity {
            give(id, Order::Despawn).await;
            continue;
        }
        let (mode, thrust_level) = TURNS[(turn + n) % TURNS.len()];
        let mode = mode.to_owned();
        give(id, Order::Attitude { mode, target_id: None, target_type: None }).await;
        let burn = Order::Control {
            thrust_level: Some(thrust_level),
            rotation_input: None,
            translation_input: None,
        };
        give(id, burn).await;
    }
}
