//! The rooms module on HTTP and WebSocket: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! The rules of the game are in the `rooms` crate; here are sockets, limits, presence and the bus.

mod bus;
mod demo;
mod errors;
mod gateway;
mod http;
mod inbound;
mod qr;
mod rates;
mod room_sockets;
pub(crate) mod settings;
mod socket;

use std::sync::Arc;

use futures_util::FutureExt as _;
use rooms::keys::{TABLE, def};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Need, Role, Scope, row, server};
use crate::app::App;
use crate::modules::{Loop, Module, State, Streams};
use crate::overview::{Look, Tile};
use crate::reply::Refusal;
use crate::wire;

/// The rooms' part of the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Fixed(&[&def::events]),
    timers: Some((&def::due, &def::due_data)),
    routes: router,
    access: ACCESS,
    refusals: rooms::REFUSALS,
    loops: &[
        Loop { name: "rooms bus", run: |app, stop| bus::listen(app, stop).boxed() },
        Loop { name: "rooms deadlines", run: |app, stop| bus::deadlines(app, stop).boxed() },
        Loop { name: "rooms presence", run: |app, stop| bus::presence(app, stop).boxed() },
        Loop { name: "rooms upkeep", run: |app, stop| bus::upkeep(app, stop).boxed() },
    ],
    tile: Some(|app| tile(app).boxed()),
    start: Some(|app| {
        async move {
            demo::start(&app);
            Ok(())
        }
        .boxed()
    }),
    ..Module::named("rooms", "a party game played on phones", &TABLE)
};

// A room's own credentials are its key and the devices' ids; the handlers look at them, and at an operator's token.
const ACCESS: &[Access] = &[
    server("GET", "/api/rooms", Role::Reader),
    row("POST", "/api/rooms", Need::Open, Scope::Server),
    row("GET", "/api/rooms/{code}", Need::Open, Scope::Server),
    row("DELETE", "/api/rooms/{code}", Need::Open, Scope::Server),
    row("GET", "/api/rooms/{code}/state", Need::Open, Scope::Server),
    row("GET", "/api/rooms/{code}/qr.svg", Need::Open, Scope::Server),
    row("GET", "/ws/rooms", Need::Open, Scope::Server),
];

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(http::list, http::create))
        .routes(routes!(http::show, http::close))
        .routes(routes!(http::state))
        .routes(routes!(http::qr))
        .routes(routes!(socket::open))
}

/// The rooms there are, and a forced close that nobody served.
async fn tile(app: State) -> Result<Tile, Refusal> {
    let census = app.keyspace.census(app.shared_store(), Arc::clone(&app.clock)).await;
    let number = census.by_def.get(&("rooms", "meta")).map_or(0, |count| count.keys);
    let gateway = gateway::of(&app);
    let (here, sockets) = gateway.counts();
    let sentence = match sockets {
        0 => "Nobody is connected to this server.".to_owned(),
        1 => "One screen is connected to this server.".to_owned(),
        n => format!("{n} screens in {here} rooms are connected to this server."),
    };
    let late = overdue(&app).await?;
    let looks = if late == 0 {
        Vec::new()
    } else {
        let sentence = format!("{late} votes wait for a forced close that is overdue.");
        vec![Look { level: "bad", module: "rooms".into(), sentence, link: "/rooms".into() }]
    };
    let unit = if number == 1 { "room is open" } else { "rooms are open" };
    Ok(Tile { module: "rooms", number, unit: unit.into(), sentence, link: "/rooms".into(), looks })
}

/// Forced closes that should have happened ten seconds ago.
async fn overdue(app: &App) -> Result<i64, Refusal> {
    let due = rooms::keys::Keys::new(app.keyspace.layout).due();
    let before = app.now_ms().saturating_sub(10_000).to_string();
    let reply = wire::call(app.store(), &["ZCOUNT", due.as_str(), "-inf", &before]).await?;
    Ok(wire::int(&reply).unwrap_or(0))
}
