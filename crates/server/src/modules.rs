//! The contract between the server and its five modules, as data: what a module adds to routes, access,
//! errors, loops and the front page. Each module fills one [`Module`] in `routes/<module>.rs`.
//! A module that is switched off has no routes, runs no loop and writes no key.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kernel::check::Finding;
use kernel::events::Feed;
use kernel::keyspace::{KeyDef, Layout, Table, own};
use kernel::{Clock, Fault, RefusalDef, Store};
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

use crate::access::Access;
use crate::app::App;
use crate::caller::Player;
use crate::history::Sample;
use crate::overview::Tile;
use crate::reply::Refusal;
use crate::search::Finder;
use crate::settings::Settings;
use crate::wire;

/// State of every handler.
pub type State = Arc<App>;

/// Work that a module does when the server asks, with the whole server at hand.
pub type Work<T> = fn(State) -> BoxFuture<'static, T>;

/// Something that runs as long as the server does, and ends soon after the token is cancelled.
pub struct Loop {
    /// Shown on the Health page and in logs.
    pub name: &'static str,
    /// Starts it. A loop that must run once among several servers takes a lease itself.
    pub run: fn(State, CancellationToken) -> BoxFuture<'static, ()>,
}

/// Says whose a player's token is.
pub type Recogniser = fn(State, String) -> BoxFuture<'static, Result<Player, Refusal>>;

/// A module's check beyond single keys, and repairs when asked to.
pub type Checker = fn(Checking) -> BoxFuture<'static, Result<Vec<Finding>, Fault>>;

/// The surroundings of a check.
#[derive(Clone)]
pub struct Checking {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How keys are spelled.
    pub layout: Layout,
    /// Job namespaces of the settings.
    pub namespaces: Vec<String>,
    /// Whether to put right what can be.
    pub repair: bool,
}

impl Checking {
    /// Findings of these modules beyond single keys. Run it before the walk over the keys, which then finds what
    /// was repaired in order.
    pub async fn beyond_keys(self, modules: &[&Module]) -> Result<Vec<Finding>, Fault> {
        let mut found = Vec::new();
        for check in modules.iter().filter_map(|module| module.check) {
            found.extend(check(self.clone()).await?);
        }
        Ok(found)
    }
}

/// One module, as the server sees it.
pub struct Module {
    /// As in `--modules`, events and the dashboard.
    pub name: &'static str,
    /// One line for the front page and `--help`.
    pub says: &'static str,
    /// The keys.
    pub table: &'static Table,
    /// The streams of its events.
    pub streams: Streams,
    /// The routes, with their `OpenAPI` description.
    pub routes: fn() -> OpenApiRouter<State>,
    /// The rights to each of them. A route that is missing here stops the server from starting.
    pub access: &'static [Access],
    /// How it knows its players, if it has any.
    pub players: Option<Recogniser>,
    /// The refusals.
    pub refusals: &'static [RefusalDef],
    /// The background loops.
    pub loops: &'static [Loop],
    /// Keys that a server holds while it lives, see `orphans.rs`.
    pub leases: &'static [&'static KeyDef],
    /// The timers: when they are due, and what they are.
    pub timers: Option<(&'static KeyDef, &'static KeyDef)>,
    /// Whether its plain keys work on a Cluster with these settings: no step spans slots.
    pub plain_on_cluster: fn(&Settings) -> bool,
    /// The check beyond single keys.
    pub check: Option<Checker>,
    /// The tile on the front page, `None` until it has one.
    pub tile: Option<Work<Result<Tile, Refusal>>>,
    /// How it finds things by id or name.
    pub(crate) find: Option<Finder>,
    /// Measurements for the histories, which need no call to the store.
    pub(crate) samples: Option<fn(&App) -> Vec<Sample>>,
    /// Runs once before the first request: scripts, indexes, the demo world.
    pub start: Option<Work<Result<(), String>>>,
    /// Runs once after the last request; `App::was_last` says whether another server goes on.
    pub stop: Option<Work<()>>,
}

/// The streams of a module's events.
#[derive(Clone, Copy)]
pub enum Streams {
    /// Always these streams, without a scope.
    Fixed(&'static [&'static KeyDef]),
    /// One stream per tenant in the set of scopes.
    Tenants {
        /// The set of tenants.
        scopes: &'static KeyDef,
        /// The stream of one.
        stream: &'static KeyDef,
    },
    /// One stream per job namespace of the settings.
    Namespaces(&'static KeyDef),
}

impl Streams {
    /// For readers.
    pub fn feeds(self, module: &'static str, settings: &Settings, layout: Layout) -> Vec<Feed> {
        match self {
            Streams::Fixed(defs) => defs
                .iter()
                .filter_map(|def| key(def, layout, &[]))
                .map(|stream| Feed::one(module, stream, None))
                .collect(),
            Streams::Tenants { scopes, stream } => key(scopes, layout, &[])
                .into_iter()
                .map(|set| {
                    Feed::scoped(module, set, move |tenant: &str| {
                        key(stream, layout, &[("tenant_id", tenant)])
                    })
                })
                .collect(),
            Streams::Namespaces(stream) => settings
                .jobs
                .namespaces
                .iter()
                .filter_map(|ns| {
                    Some(Feed::one(module, key(stream, layout, &[("ns", ns)])?, Some(ns.as_str())))
                })
                .collect(),
        }
    }

    /// Scope and key of each stream there is now.
    pub async fn list(
        self,
        store: &dyn Store,
        settings: &Settings,
        layout: Layout,
    ) -> Result<Vec<(Option<String>, String)>, Fault> {
        let scoped = |stream: &'static KeyDef, param: &str, scopes: Vec<String>| {
            scopes
                .into_iter()
                .filter_map(|scope| {
                    let stream = key(stream, layout, &[(param, &scope)])?;
                    Some((Some(scope), stream))
                })
                .collect()
        };
        match self {
            Streams::Fixed(defs) => {
                Ok(defs.iter().filter_map(|def| Some((None, key(def, layout, &[])?))).collect())
            }
            Streams::Tenants { scopes, stream } => {
                let Some(set) = key(scopes, layout, &[]) else { return Ok(Vec::new()) };
                let reply = wire::call(store, &["SMEMBERS", &set]).await?;
                let tenants = wire::items(&reply).into_iter().filter_map(wire::text).collect();
                Ok(scoped(stream, "tenant_id", tenants))
            }
            Streams::Namespaces(stream) => {
                Ok(scoped(stream, "ns", settings.jobs.namespaces.clone()))
            }
        }
    }
}

fn key(def: &KeyDef, layout: Layout, values: &[(&str, &str)]) -> Option<String> {
    def.render(layout, values).ok().map(|key| key.as_str().to_owned())
}

/// The tables of all modules by seed, then the server's own; also of modules that do not run here, so that
/// every key has a place.
pub fn tables() -> Vec<&'static Table> {
    let mut tables: Vec<_> = MODULES.iter().map(|module| module.table).collect();
    tables.sort_by_key(|table| table.seed);
    tables.push(&own::TABLE);
    tables
}

/// All modules, in the order of the dashboard.
pub const MODULES: &[Module] = &[
    crate::jobs::MODULE,
    crate::rooms::MODULE,
    crate::monsters::MODULE,
    crate::reactors::MODULE,
    crate::galaxy::MODULE,
];

impl Module {
    /// A module with a name and nothing else yet.
    pub const fn named(name: &'static str, says: &'static str, table: &'static Table) -> Self {
        Module {
            name,
            says,
            table,
            streams: Streams::Fixed(&[]),
            routes: OpenApiRouter::new,
            access: &[],
            players: None,
            refusals: &[],
            loops: &[],
            leases: &[],
            timers: None,
            plain_on_cluster: |_| false,
            check: None,
            tile: None,
            samples: None,
            find: None,
            start: None,
            stop: None,
        }
    }
}

/// Reads `--modules`: `all`, `none`, or names.
pub fn choose(words: &[String]) -> Result<Vec<&'static Module>, String> {
    match words {
        [one] if one == "all" => return Ok(MODULES.iter().collect()),
        [one] if one == "none" => return Ok(Vec::new()),
        [] => return Err("`modules` is empty; write all, none, or names".into()),
        _ => {}
    }
    for word in words {
        if !MODULES.iter().any(|module| module.name == word) {
            let names: Vec<_> = MODULES.iter().map(|module| module.name).collect();
            return Err(format!(
                "there is no module `{word}`; the modules are {}, or write all or none",
                names.join(", ")
            ));
        }
    }
    Ok(MODULES.iter().filter(|module| words.iter().any(|word| word == module.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn modules_are_chosen_by_name() {
        assert_eq!(choose(&words("all")).unwrap().len(), 5);
        assert_eq!(choose(&words("none")).unwrap().len(), 0);
        let two = choose(&words("rooms,jobs")).unwrap();
        assert_eq!(two.iter().map(|m| m.name).collect::<Vec<_>>(), ["jobs", "rooms"]);
        assert!(choose(&words("rooms,job")).err().unwrap().contains("no module `job`"));
    }
}
