//! The galaxy module on HTTP and WebSocket: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! The world and its engine are in the `galaxy` crate; what a server holds of it is in `galaxy/gateway.rs`.

mod accounts;
mod admin;
mod auth;
mod build;
mod demo;
mod errors;
mod find;
mod fleet;
mod frame;
mod gateway;
mod inbound;
mod loops;
mod maneuvers;
mod messages;
mod nearest;
mod notices;
mod orders;
mod outbound;
mod pilot;
mod players;
mod rules;
pub(crate) mod settings;
mod shapes;
mod snapshots;
mod socket;
mod state;
mod switches;
mod things;
mod tile;
mod viewers;

pub use accounts::database_place;

use futures_util::FutureExt as _;
use galaxy::keys::{TABLE, def};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Need, Role, Scope, open, row};
use crate::modules::{Loop, Module, State, Streams};

/// The galaxy's part of the server.
pub(crate) const MODULE: Module = Module {
    plain_on_cluster: |_| true,
    streams: Streams::Fixed(&[
        &def::ships_events,
        &def::jumpgates_events,
        &def::tick_events,
        &def::admin_events,
        &def::players_events,
    ]),
    leases: &[&def::engine_lock, &def::online_leases],
    routes: router,
    access: ACCESS,
    players: Some(|app, token| accounts::whose(app, token).boxed()),
    refusals: errors::REFUSALS,
    loops: &[
        Loop { name: "galaxy engine", run: |app, stop| loops::engine(app, stop).boxed() },
        Loop { name: "galaxy frames", run: |app, stop| loops::frames(app, stop).boxed() },
        Loop { name: "galaxy bus", run: |app, stop| loops::bus(app, stop).boxed() },
        Loop { name: "galaxy switches", run: |app, stop| switches::run(app, stop).boxed() },
        Loop { name: "galaxy notices", run: |app, stop| loops::notices(app, stop).boxed() },
        Loop { name: "galaxy presence", run: |app, stop| accounts::presence(app, stop).boxed() },
        Loop { name: "galaxy complete", run: |app, stop| loops::complete(app, stop).boxed() },
        Loop { name: "galaxy demo", run: |app, stop| demo::run(app, stop).boxed() },
    ],
    check: Some(|at| {
        async move {
            let keys = galaxy::keys::Keys::new(at.layout);
            galaxy::check(&at.store, keys, at.repair).await
        }
        .boxed()
    }),
    tile: Some(|app| tile::tile(app).boxed()),
    samples: Some(tile::samples),
    find: Some(|app, words| find::find(app, words).boxed()),
    start: Some(|app| start(app).boxed()),
    ..Module::named("galaxy", "ships, bodies and stations of a star system", &TABLE)
};

/// A place for new ships that does not exist is refused, and a database that cannot be opened, or belongs to another
/// store, is found before the first request.
async fn start(app: State) -> Result<(), String> {
    gateway::settings_place(&app.settings)?;
    gateway::of(&app).open_accounts(&app).await
}

const fn admin(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::RoleOrAdmin(role), Scope::Server)
}

/// For players, and for a role that looks after their ships.
const fn ships(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::RoleOrPlayer(role), Scope::Server)
}

/// For players, about what is theirs.
const fn own(method: &'static str, path: &'static str) -> Access {
    row(method, path, Need::Player, Scope::Server)
}

const ACCESS: &[Access] = &[
    open("GET", "/api/status"),
    open("GET", "/api/systems"),
    open("GET", "/api/bodies"),
    open("GET", "/api/stations"),
    open("GET", "/api/jumpgates"),
    ships("GET", "/api/ships", Role::Reader),
    ships("GET", "/api/ships/{id}", Role::Reader),
    ships("PATCH", "/api/ships/{id}", Role::Operator),
    ships("GET", "/api/ships/{id}/orbit", Role::Reader),
    ships("POST", "/api/ships/{id}/maneuver", Role::Operator),
    ships("DELETE", "/api/ships/{id}/maneuver", Role::Operator),
    ships("GET", "/api/ships/{id}/automation", Role::Reader),
    ships("POST", "/api/ships/{id}/automation", Role::Operator),
    ships("GET", "/api/ships/{id}/automation/{rule}", Role::Reader),
    ships("PUT", "/api/ships/{id}/automation/{rule}", Role::Operator),
    ships("DELETE", "/api/ships/{id}/automation/{rule}", Role::Operator),
    open("POST", "/api/auth/register"),
    open("POST", "/api/auth/login"),
    own("POST", "/api/auth/logout"),
    own("PUT", "/api/auth/password"),
    own("GET", "/api/fleet"),
    own("POST", "/api/fleet"),
    own("POST", "/api/fleet/{ship}/activate"),
    // The first message on the socket is checked by the handler.
    open("GET", "/ws/galaxy"),
    open("GET", "/ws"),
    admin("GET", "/api/admin/registrations", Role::Reader),
    admin("POST", "/api/admin/registrations", Role::Operator),
    admin("POST", "/api/admin/registrations/enable", Role::Operator),
    admin("POST", "/api/admin/registrations/disable", Role::Operator),
    admin("GET", "/api/admin/players", Role::Reader),
    admin("GET", "/api/admin/players/{id}", Role::Reader),
    admin("DELETE", "/api/admin/players/{id}", Role::Admin),
    admin("GET", "/api/admin/status", Role::Reader),
    admin("POST", "/api/admin/game/init", Role::Operator),
    admin("POST", "/api/admin/game/pause", Role::Operator),
    admin("POST", "/api/admin/game/resume", Role::Operator),
    admin("PUT", "/api/admin/game/tick-rate", Role::Operator),
    admin("PUT", "/api/admin/game/time-scale", Role::Operator),
    admin("POST", "/api/admin/game/time-sync", Role::Operator),
    admin("POST", "/api/admin/stations", Role::Operator),
    admin("DELETE", "/api/admin/stations/{id}", Role::Operator),
    admin("POST", "/api/admin/jumpgates", Role::Operator),
    admin("DELETE", "/api/admin/jumpgates/{id}", Role::Operator),
    admin("POST", "/api/admin/ships", Role::Operator),
    admin("DELETE", "/api/admin/ships/{id}", Role::Operator),
    admin("POST", "/api/admin/reset", Role::Admin),
    admin("GET", "/api/admin/snapshots", Role::Reader),
    admin("POST", "/api/admin/snapshots", Role::Operator),
    admin("POST", "/api/admin/snapshots/{id}/restore", Role::Admin),
];

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(things::status))
        .routes(routes!(things::systems))
        .routes(routes!(things::bodies))
        .routes(routes!(things::stations))
        .routes(routes!(things::jumpgates))
        .routes(routes!(things::ships))
        .routes(routes!(things::ship, fleet::rename))
        .routes(routes!(maneuvers::orbit))
        .routes(routes!(maneuvers::begin, maneuvers::abort))
        .routes(routes!(rules::list, rules::create))
        .routes(routes!(rules::show, rules::replace, rules::remove))
        .routes(routes!(auth::register))
        .routes(routes!(auth::login))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::password))
        .routes(routes!(fleet::list, fleet::add))
        .routes(routes!(fleet::activate))
        .routes(routes!(socket::open))
        .routes(routes!(socket::open_short))
        .routes(routes!(players::registrations, players::set_registrations))
        .routes(routes!(players::enable))
        .routes(routes!(players::disable))
        .routes(routes!(players::list))
        .routes(routes!(players::show, players::delete))
        .routes(routes!(admin::status))
        .routes(routes!(admin::init))
        .routes(routes!(admin::pause))
        .routes(routes!(admin::resume))
        .routes(routes!(admin::tick_rate))
        .routes(routes!(admin::time_scale))
        .routes(routes!(admin::time_sync))
        .routes(routes!(build::build_station))
        .routes(routes!(build::remove_station))
        .routes(routes!(build::build_jumpgate))
        .routes(routes!(build::remove_jumpgate))
        .routes(routes!(build::spawn_ship))
        .routes(routes!(build::remove_ship))
        .routes(routes!(admin::reset))
        .routes(routes!(snapshots::list, snapshots::create))
        .routes(routes!(snapshots::restore))
}
