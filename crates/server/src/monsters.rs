//! The monsters module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`). What it
//! does is in the `monsters` crate; here is how it is asked for and how it answers.

mod attributes;
mod commands;
mod demo;
mod moves;
mod routes;
pub(crate) mod settings;

use std::sync::Arc;
use std::time::Duration;

use field::Tenant;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::Fault;
use kernel::check::Finding;
use monsters::keys::{TABLE, def};
use monsters::{
    MonsterError, Monsters, Options, SHIPPED_SKILLS, SHIPPED_TEMPLATES, Skills, Templates, refusal,
};
use rand::RngExt as _;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes as paths;

use crate::access::{Access, Need, Role, Scope, row, server, tenant};
use crate::app::App;
use crate::modules::{Checking, Loop, Module, State, Streams};
use crate::overview::{Counted, Tile};
use crate::reply::Refusal;
use crate::said;
use crate::search::{Found, Hit};
use crate::worlds;

/// The monsters' part of the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Tenants { scopes: &def::scopes, stream: &def::events },
    timers: Some((&def::due, &def::due_data)),
    routes: router,
    access: ACCESS,
    refusals: refusal::REFUSALS,
    loops: LOOPS,
    check: Some(|at| beyond_keys(at).boxed()),
    tile: Some(|app| tile(app).boxed()),
    find: Some(|app, words| find(app, words).boxed()),
    start: Some(|app| async move { handle(&app).map(|_| ()).map_err(|told| told.message) }.boxed()),
    stop: Some(|app| stop(app).boxed()),
    ..Module::named("monsters", "monsters of a map: hp, damage, control, effects, drops", &TABLE)
};

const IN_FIELD: &str =
    "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters";
const IN_RECT: &str =
    "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters/in-rect";
const BULK_IN_FIELD: &str =
    "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters/bulk";
const CHARACTERS: &str =
    "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/characters/{character}";

const ACCESS: &[Access] = &[
    row("GET", "/api/monsters/templates", Need::Role(Role::Reader), Scope::Public),
    tenant("GET", "/api/monsters/{id}", Role::Reader),
    tenant("DELETE", "/api/monsters/{id}", Role::Operator),
    tenant("POST", "/api/monsters/{id}/damage", Role::Operator),
    tenant("POST", "/api/monsters/{id}/movement", Role::Operator),
    tenant("POST", "/api/monsters/{id}/status", Role::Operator),
    tenant("DELETE", "/api/monsters/{id}/status", Role::Operator),
    tenant("POST", "/api/monsters/{id}/skills", Role::Operator),
    server("DELETE", "/api/monsters", Role::Admin),
    tenant("GET", IN_FIELD, Role::Reader),
    tenant("POST", IN_FIELD, Role::Operator),
    tenant("DELETE", IN_FIELD, Role::Operator),
    tenant("GET", IN_RECT, Role::Reader),
    tenant("POST", BULK_IN_FIELD, Role::Operator),
    tenant("POST", "/api/monsters/bulk/movement", Role::Operator),
    tenant("POST", "/api/monsters/bulk/read", Role::Reader),
    tenant("PUT", CHARACTERS, Role::Operator),
    tenant("DELETE", CHARACTERS, Role::Operator),
];

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(paths!(routes::templates))
        .routes(paths!(routes::show, routes::destroy))
        .routes(paths!(routes::damage))
        .routes(paths!(routes::movement))
        .routes(paths!(routes::apply, routes::cancel))
        .routes(paths!(routes::skill))
        .routes(paths!(routes::teardown))
        .routes(paths!(routes::list, routes::spawn, routes::clear))
        .routes(paths!(routes::in_rect))
        .routes(paths!(routes::spawn_many))
        .routes(paths!(routes::move_many))
        .routes(paths!(routes::read_many))
        .routes(paths!(routes::enter, routes::leave))
}

const LOOPS: &[Loop] = &[
    Loop { name: "monster timers", run: timers },
    Loop { name: "monster commands", run: commands::serve },
    Loop { name: "monster moves", run: moves::run },
    Loop { name: "monster catalogue", run: catalogue },
    Loop { name: "monsters of the demo field", run: demo::run },
];

impl From<MonsterError> for Refusal {
    fn from(error: MonsterError) -> Self {
        match error {
            MonsterError::Fault(fault) => worlds::of_fault(fault),
            refused => worlds::refused(&refused),
        }
    }
}

/// Kept as long as the server lives; a catalogue that was wrong at the start is told to whoever asks.
struct Kept(Result<Arc<Monsters>, String>);

/// The monsters of this server's store.
pub(crate) fn handle(app: &App) -> Result<Arc<Monsters>, Refusal> {
    let kept = app.kept(|| Kept(open(app).map(Arc::new)));
    kept.0.clone().map_err(|told| Refusal::new(refusal::BAD_CATALOGUE, told))
}

fn open(app: &App) -> Result<Monsters, String> {
    let settings = &app.settings.monsters;
    let path = |text: &'_ Option<String>| text.as_deref().map(std::path::PathBuf::from);
    let templates = Templates::open(path(&settings.catalogue).as_deref(), SHIPPED_TEMPLATES)
        .map_err(|error| format!("monsters.catalogue cannot be used:\n{error}"))?;
    let skills = Skills::open(path(&settings.skills).as_deref(), SHIPPED_SKILLS)
        .map_err(|error| format!("monsters.skills cannot be used:\n{error}"))?;
    let options = Options {
        layout: app.keyspace.layout,
        templates: Arc::new(templates),
        skills: Arc::new(skills),
        dice: Arc::new(|below| rand::rng().random_range(0..below.max(1))),
        decay: settings.decay,
        aggro: settings.aggro,
    };
    Ok(Monsters::new(app.shared_store(), app.clock.clone(), options))
}

/// The check beyond single keys. It needs no template, so a wrong catalogue does not stop it.
async fn beyond_keys(at: Checking) -> Result<Vec<Finding>, Fault> {
    let none = || Fault::Corrupt { key: "monsters".into(), detail: "no empty catalogue".into() };
    let options = Options {
        layout: at.layout,
        templates: Arc::new(Templates::of(&[]).map_err(|_| none())?),
        skills: Arc::new(Skills::of(&[]).map_err(|_| none())?),
        dice: Arc::new(|_| 0),
        decay: false,
        aggro: false,
    };
    let monsters = Monsters::new(at.store, at.clock, options);
    monsters.doctor(at.repair).await.map_err(|error| match error {
        MonsterError::Fault(fault) => fault,
        other => Fault::Corrupt { key: "monsters".into(), detail: other.to_string() },
    })
}

fn timers(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        if let Ok(monsters) = handle(&app) {
            monsters.serve_timers(stop.cancelled()).await;
        }
    }
    .boxed()
}

/// Reads templates and skills again when their files change.
fn catalogue(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        let Ok(monsters) = handle(&app) else { return };
        let (templates, skills) = (Arc::clone(monsters.templates()), Arc::clone(monsters.skills()));
        let refresh = move || Ok(templates.refresh()? | skills.refresh()?);
        worlds::keep_fresh("monsters", refresh, Duration::from_secs(2), stop).await;
    }
    .boxed()
}

/// The monster with this id, of any tenant.
async fn find(app: State, words: String) -> Result<Found, Refusal> {
    let Ok(id) = words.parse::<u32>() else { return Ok(Found::default()) };
    let monsters = handle(&app)?;
    let mut found = Found::default();
    let tenants = worlds::tenants(&app, MODULE.streams).await?;
    found.bounded = tenants.len() > worlds::TENANTS_SEARCHED;
    for tenant in tenants.into_iter().take(worlds::TENANTS_SEARCHED) {
        let Ok(monster) = monsters.get(&Tenant::of(tenant), id).await else { continue };
        let name = monsters.templates().get(monster.monster_id).map(|one| one.name.clone());
        let label = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "monster".into());
        let link = format!("{}&sel=m{id}", worlds::page_of(tenant, &monster.field));
        let (kind, module, note) = ("monster", "monsters", id.to_string());
        found.hits.push(Hit { kind, module, label, note, link });
    }
    Ok(found)
}

async fn tile(app: State) -> Result<Tile, Refusal> {
    let monsters = handle(&app)?;
    // No key counts all monsters: the walk over the keyspace does, and its last result is good enough here.
    let census = app.keyspace.census(app.shared_store(), app.clock.clone()).await;
    let keys = |name| census.by_def.get(&("monsters", name)).map_or(0, |count| count.keys);
    let (number, fields) = (keys("monster"), keys("map"));
    let said = match number {
        0 => said::MONSTERS_NONE.say(),
        _ => said::MONSTERS_TILE.say().with("n", fields).with("timers", monsters.waiting().await?),
    };
    Ok(Tile {
        module: "monsters",
        number,
        unit: if number == 1 { "monster" } else { "monsters" }.into(),
        sentence: said.sentence(),
        said,
        counted: Some(Counted::by(&census)),
        link: "/world".into(),
        looks: Vec::new(),
    })
}

/// Their service calls them volatile: the last server to stop takes them away, if the settings say so.
async fn stop(app: State) {
    if !worlds::tears_down(&app) {
        return;
    }
    let Ok(monsters) = handle(&app) else { return };
    match monsters.teardown().await {
        Ok(gone) => tracing::info!(gone = gone.destroyed, "monsters were torn down"),
        Err(error) => tracing::warn!(%error, "monsters were not torn down"),
    }
}
