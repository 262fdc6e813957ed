//! The rooms module on HTTP and WebSocket: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! The rules of the game are in the `rooms` crate; here are sockets, limits, presence and the bus.

mod bus;
mod demo;
mod errors;
mod gateway;
mod http;
mod inbound;
mod photos;
pub(crate) mod qr;
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
use crate::history::{Sample, Unit};
use crate::modules::{Loop, Module, State, Streams};
use crate::overview::{Counted, Look, Tile};
use crate::reply::Refusal;
use crate::said;
use crate::search::{self, Found, Hit};
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
    samples: Some(samples),
    find: Some(|app, words| find(app, words).boxed()),
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
    row("POST", "/api/rooms", Need::Open, Scope::Server).at_party(),
    row("GET", "/api/rooms/{code}", Need::Open, Scope::Server).at_party(),
    row("DELETE", "/api/rooms/{code}", Need::Open, Scope::Server).at_party(),
    row("GET", "/api/rooms/{code}/state", Need::Open, Scope::Server).at_party(),
    row("GET", "/api/rooms/{code}/qr.svg", Need::Open, Scope::Server).at_party(),
    row("GET", "/api/rooms/{code}/photos/{hash}", Need::Open, Scope::Server).at_party(),
    row("POST", "/api/rooms/{code}/next", Need::Open, Scope::Server).at_party(),
    row("GET", "/ws/rooms", Need::Open, Scope::Server).at_party(),
];

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(http::list, http::create))
        .routes(routes!(http::show, http::close))
        .routes(routes!(http::state))
        .routes(routes!(http::qr))
        .routes(routes!(photos::photo))
        .routes(routes!(http::next))
        .routes(routes!(socket::open))
}

/// The rooms there are, and votes whose end nobody served.
async fn tile(app: State) -> Result<Tile, Refusal> {
    let census = app.keyspace.census(app.shared_store(), Arc::clone(&app.clock)).await;
    let number = census.by_def.get(&("rooms", "meta")).map_or(0, |count| count.keys);
    let gateway = gateway::of(&app);
    let (here, sockets) = gateway.counts();
    let said = match sockets {
        0 => said::ROOMS_NOBODY.say(),
        n => said::ROOMS_TILE.say().with("n", n).with("rooms", here),
    };
    let late = overdue(&app).await?;
    let looks = match late {
        0 => Vec::new(),
        n => vec![Look::new("bad", "rooms", said::ROOMS_OVERDUE.say().with("n", n), "/rooms")],
    };
    let unit = if number == 1 { "room is open" } else { "rooms are open" };
    let counted = Some(Counted::by(&census));
    let (unit, link) = (unit.into(), "/rooms".into());
    let sentence = said.sentence();
    Ok(Tile { module: "rooms", number, unit, sentence, said, counted, link, looks })
}

/// The room with this code, or rooms of this server whose code begins so.
async fn find(app: State, words: String) -> Result<Found, Refusal> {
    let gateway = gateway::of(&app);
    let hit = |code: String| {
        let (kind, module, link) = ("room", "rooms", format!("/rooms?code={code}"));
        Hit { kind, module, label: code, note: String::new(), link }
    };
    let Some(code) = rooms::ids::read_code(&words) else { return Ok(Found::default()) };
    let mut codes = gateway.codes_like(&code, search::MOST);
    if !codes.contains(&code) && gateway.rooms.show(&code).await.is_ok() {
        codes.insert(0, code);
    }
    Ok(Found { hits: codes.into_iter().map(hit).collect(), bounded: false })
}

/// Screens and phones that are connected here.
#[allow(clippy::cast_precision_loss)]
fn samples(app: &App) -> Vec<Sample> {
    let (_, sockets) = gateway::of(app).counts();
    vec![Sample::server("rooms", "sockets", Unit::Count, sockets as f64)]
}

/// Votes that should have been closed ten seconds ago.
async fn overdue(app: &App) -> Result<i64, Refusal> {
    let due = rooms::keys::Keys::new(app.keyspace.layout).due();
    let before = app.now_ms().saturating_sub(10_000).to_string();
    let reply = wire::call(app.store(), &["ZCOUNT", due.as_str(), "-inf", &before]).await?;
    Ok(wire::int(&reply).unwrap_or(0))
}
