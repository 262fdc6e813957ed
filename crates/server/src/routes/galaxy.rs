//! The galaxy module on HTTP and WebSocket: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! The world and its engine are in the `galaxy` crate; what a server holds of it is in `server/src/gateway`.

mod admin;
mod build;
mod demo;
mod settings;
mod things;
mod tile;

use futures_util::FutureExt as _;
use galaxy::keys::{TABLE, def};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Need, Role, row};
use crate::gateway::{errors, loops};
use crate::modules::{Loop, Module, State, Streams};

/// What galaxy adds to the server.
pub(crate) const MODULE: Module = Module {
    plain_on_cluster: |_| true,
    streams: Streams::Fixed(&[
        &def::ships_events,
        &def::jumpgates_events,
        &def::tick_events,
        &def::admin_events,
        &def::players_events,
    ]),
    routes: router,
    access: ACCESS,
    errors: errors::ERRORS,
    settings: settings::SETTINGS,
    loops: &[
        Loop { name: "galaxy engine", run: |app, stop| loops::engine(app, stop).boxed() },
        Loop { name: "galaxy frames", run: |app, stop| loops::frames(app, stop).boxed() },
        Loop { name: "galaxy bus", run: |app, stop| loops::bus(app, stop).boxed() },
        Loop { name: "galaxy notes", run: |app, stop| loops::notes(app, stop).boxed() },
        Loop { name: "galaxy demo", run: |app, stop| demo::run(app, stop).boxed() },
    ],
    tile: Some(|app| tile::tile(app).boxed()),
    ..Module::named("galaxy", "ships, bodies and stations of a star system", &TABLE)
};

const fn admin(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::RoleOrAdmin(role))
}

const ACCESS: &[Access] = &[
    row("GET", "/api/status", Need::Open),
    row("GET", "/api/systems", Need::Open),
    row("GET", "/api/bodies", Need::Open),
    row("GET", "/api/stations", Need::Open),
    row("GET", "/api/jumpgates", Need::Open),
    row("GET", "/api/ships", Need::RoleOrPlayer(Role::Reader)),
    row("GET", "/api/ships/{id}", Need::RoleOrPlayer(Role::Reader)),
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
];

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(things::status))
        .routes(routes!(things::systems))
        .routes(routes!(things::bodies))
        .routes(routes!(things::stations))
        .routes(routes!(things::jumpgates))
        .routes(routes!(things::ships))
        .routes(routes!(things::ship))
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
}
