//! The reactors module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`). What
//! it does is in the `reactors` crate; here is how it is asked for and how it answers.

mod attributes;
mod commands;
mod routes;
pub(crate) mod settings;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reactors::keys::{TABLE, def};
use reactors::{ReactorError, Reactors, Rules, SHIPPED, Templates, refusal};
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes as paths;

use crate::access::{Access, Need, Role, Scope, row, server, tenant};
use crate::app::App;
use crate::modules::{Loop, Module, State, Streams};
use crate::overview::Tile;
use crate::reply::{self, Refusal};
use crate::said;
use crate::search::{Found, Hit};
use crate::settings::Source;
use crate::worlds;

/// The reactors' part of the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Tenants { scopes: &def::scopes, stream: &def::events },
    timers: Some((&def::due, &def::due_data)),
    routes: router,
    access: ACCESS,
    refusals: refusal::REFUSALS,
    loops: LOOPS,
    tile: Some(|app| tile(app).boxed()),
    find: Some(|app, words| find(app, words).boxed()),
    start: Some(|app| async move { handle(&app).map(|_| ()).map_err(|told| told.message) }.boxed()),
    stop: Some(|app| stop(app).boxed()),
    ..Module::named("reactors", "breakable, timed, item-triggered objects of a map", &TABLE)
};

const IN_FIELD: &str =
    "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/reactors";
const ONE_IN_FIELD: &str =
    "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/reactors/{id}";
const DROPS: &str = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/drops";

const ACCESS: &[Access] = &[
    row("GET", "/api/reactors/templates", Need::Role(Role::Reader), Scope::Public),
    tenant("GET", "/api/reactors/{id}", Role::Reader),
    tenant("DELETE", "/api/reactors/{id}", Role::Operator),
    tenant("POST", "/api/reactors/{id}/hits", Role::Operator),
    server("DELETE", "/api/reactors", Role::Admin),
    tenant("GET", IN_FIELD, Role::Reader),
    tenant("POST", IN_FIELD, Role::Operator),
    tenant("DELETE", IN_FIELD, Role::Operator),
    tenant("GET", ONE_IN_FIELD, Role::Reader),
    tenant("POST", DROPS, Role::Operator),
];

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(paths!(routes::templates))
        .routes(paths!(routes::show, routes::destroy))
        .routes(paths!(routes::hit))
        .routes(paths!(routes::teardown))
        .routes(paths!(routes::list, routes::create, routes::clear))
        .routes(paths!(routes::show_in_field))
        .routes(paths!(routes::drop_item))
}

const LOOPS: &[Loop] = &[
    Loop { name: "reactor timers", run: timers },
    Loop { name: "reactor commands", run: commands::serve },
    Loop { name: "reactor catalogue", run: catalogue },
    Loop { name: "reactors of the demo field", run: crate::worlds::demo::reactors_part },
];

impl From<ReactorError> for Refusal {
    fn from(error: ReactorError) -> Self {
        match &error {
            ReactorError::Fault(fault) => worlds::of_fault(fault.clone()),
            ReactorError::Answered => Refusal::new(reply::CONFLICT, error.to_string()),
            _ => worlds::refused(&error),
        }
    }
}

/// Kept as long as the server lives; a catalogue that was wrong at the start is told to whoever asks.
struct Kept(Result<Arc<Reactors>, String>);

/// The reactors of this server's store.
pub(crate) fn handle(app: &App) -> Result<Arc<Reactors>, Refusal> {
    let kept = app.kept(|| Kept(open(app).map(Arc::new)));
    kept.0.clone().map_err(|told| Refusal::new(refusal::BAD_CATALOGUE, told))
}

fn open(app: &App) -> Result<Reactors, String> {
    let path = app.settings.reactors.catalogue.as_deref().map(std::path::Path::new);
    let templates = Templates::open(path, SHIPPED)
        .map_err(|error| format!("reactors.catalogue cannot be used:\n{error}"))?;
    let rules = Rules {
        hit: app.settings.reactors.hit_policy,
        persist: app.settings.reactors.persist_rule,
    };
    let layout = app.keyspace.layout;
    let reactors =
        Reactors::new(app.shared_store(), app.clock.clone(), layout, Arc::new(templates));
    Ok(reactors.rules(rules).item_delay_ms(item_delay_ms(app)))
}

/// Other services of this family are told by a variable of their own; what is no number there means the default.
fn item_delay_ms(app: &App) -> u64 {
    let setting = app.settings.get(settings::names::item_delay_ms);
    let theirs = std::env::var("ITEM_REACTOR_ACTIVATION_DELAY_MS").ok();
    match theirs.and_then(|text| text.trim().parse().ok()) {
        Some(ms) if setting.source == Source::Default => ms,
        _ => app.settings.reactors.item_delay_ms,
    }
}

fn timers(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        if let Ok(reactors) = handle(&app) {
            reactors.serve_timers(stop.cancelled()).await;
        }
    }
    .boxed()
}

/// Reads the templates again when their files change.
fn catalogue(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        let Ok(reactors) = handle(&app) else { return };
        let templates = Arc::clone(reactors.templates());
        worlds::keep_fresh("reactors", move || templates.refresh(), Duration::from_secs(2), stop)
            .await;
    }
    .boxed()
}

/// The reactor with this id, of any tenant.
async fn find(app: State, words: String) -> Result<Found, Refusal> {
    let Ok(id) = words.parse::<u32>() else { return Ok(Found::default()) };
    let reactors = handle(&app)?;
    let mut found = Found::default();
    let tenants = worlds::tenants(&app, MODULE.streams).await?;
    found.bounded = tenants.len() > worlds::TENANTS_SEARCHED;
    for tenant in tenants.into_iter().take(worlds::TENANTS_SEARCHED) {
        let Ok(reactor) = reactors.get(tenant, id).await else { continue };
        let label = if reactor.name.is_empty() { "reactor".into() } else { reactor.name.clone() };
        let link = format!("{}&sel=r{id}", worlds::page_of(tenant, &reactor.field()));
        let (kind, module, note) = ("reactor", "reactors", id.to_string());
        found.hits.push(Hit { kind, module, label, note, link });
    }
    Ok(found)
}

async fn tile(app: State) -> Result<Tile, Refusal> {
    let reactors = handle(&app)?;
    let (number, tenants) = (reactors.count().await?, reactors.tenants().await?.len());
    let said = match number {
        0 => said::REACTORS_NONE.say(),
        _ => said::REACTORS_TILE.say().with("n", tenants).with("timers", reactors.waiting().await?),
    };
    Ok(Tile {
        module: "reactors",
        number,
        unit: if number == 1 { "reactor" } else { "reactors" }.into(),
        sentence: said.sentence(),
        said,
        counted: None,
        link: "/world".into(),
        looks: Vec::new(),
    })
}

/// Their service calls them volatile: the last server to stop takes them away, if the settings say so.
async fn stop(app: State) {
    if !worlds::tears_down(&app) {
        return;
    }
    let Ok(reactors) = handle(&app) else { return };
    match reactors.teardown().await {
        Ok(gone) => tracing::info!(gone, "reactors were torn down"),
        Err(error) => tracing::warn!(%error, "reactors were not torn down"),
    }
}
