//! `GET /api/overview`: the front page in one answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use kernel::Said;
use serde::Serialize;

use crate::app::App;
use crate::caller::Caller;
use crate::overview::{Look, Tile};
use crate::routes::health::{StoreStatus, as_sentence};
use crate::said;

/// At most this many lines under "Needs a look".
const LOOKS: usize = 5;

/// How long a tile may take: the page asks each second and must hear soon that the store is away.
const TILE_PATIENCE: Duration = Duration::from_secs(2);

/// The front page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Overview {
    /// State in words: "Everything is running. Three things deserve a look."
    sentence: String,
    /// Unix milliseconds of this answer.
    at: u64,
    version: &'static str,
    started_at: u64,
    /// Whether the demo world runs here.
    demo: bool,
    store: StoreStatus,
    /// Modules that run here, in the order of the dashboard.
    modules: Vec<ModuleLine>,
    /// One tile per module that has one.
    tiles: Vec<Tile>,
    /// The things that deserve a look, the worst first, at most five.
    looks: Vec<Look>,
    /// How many there are in all.
    looks_total: usize,
}

/// A module in one line.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ModuleLine {
    name: &'static str,
    says: &'static str,
    running: bool,
}

/// Numbers and sentences of the front page, and what deserves a look. A token with limits gets neither: they count
/// every tenant and namespace.
#[utoipa::path(get, path = "/api/overview", tag = "server", responses((status = 200, body = Overview)))]
pub(crate) async fn overview(State(app): State<Arc<App>>, caller: Caller) -> Json<Overview> {
    let limited = caller.scopes.is_limited();
    let up = app.store().status().up;
    let tiles = if up && !limited { tiles(&app).await } else { Vec::new() };
    let store = if limited { in_short(&app.store().status()) } else { app.store().status() };
    let mut looks = Vec::new();
    let trouble = store.trouble();
    if let Some(trouble) = trouble {
        let why = store.reason.as_deref().filter(|why| !why.starts_with(kernel::Fault::BUSY));
        let told = match why {
            Some(why) => said::STORE_WHY.say().with_said("trouble", trouble).with("why", why),
            None => trouble,
        };
        looks.push(look("bad", told));
    }
    looks.extend(store.warnings.iter().map(|warning| look("warn", warning.clone())));
    if up && !limited {
        let late = super::health::backup(&app).await.and_then(|last| last.trouble(app.now_ms()));
        looks.extend(late.map(|late| look("warn", late)));
    }
    looks.extend(tiles.iter().flat_map(|tile| tile.looks.iter().cloned()));
    looks.sort_by_key(|look| look.level != "bad");
    let looks_total = looks.len();
    looks.truncate(LOOKS);
    Json(Overview {
        sentence: sentence(state(&store), looks_total),
        at: app.now_ms(),
        version: env!("CARGO_PKG_VERSION"),
        started_at: app.started_at,
        demo: app.demo() && !app.modules.is_empty(),
        store: store.into(),
        modules: crate::modules::MODULES
            .iter()
            .map(|m| ModuleLine { name: m.name, says: m.says, running: app.runs(m.name) })
            .collect(),
        tiles,
        looks,
        looks_total,
    })
}

/// All tiles side by side. One that fails or is late is left out; the page greys the last value it had.
async fn tiles(app: &Arc<App>) -> Vec<Tile> {
    let asked = app.modules.iter().filter_map(|module| module.tile).map(|tile| {
        let tile = tile(Arc::clone(app));
        async move { tokio::time::timeout(TILE_PATIENCE, tile).await.ok()?.ok() }
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Whether the store is up, and nothing of where and how it is kept.
fn in_short(store: &kernel::Status) -> kernel::Status {
    kernel::Status {
        address: String::new(),
        server: String::new(),
        reason: None,
        reconnects: 0,
        persistence: said::STORE_HIDDEN.say(),
        eviction: String::new(),
        warnings: Vec::new(),
        ..store.clone()
    }
}

fn look(level: &'static str, said: Said) -> Look {
    let look = Look::new(level, "store", said, "/health");
    Look { sentence: as_sentence(&look.sentence), ..look }
}

/// The store in a short sentence.
fn state(store: &kernel::Status) -> &'static str {
    let busy = store.reason.as_deref().is_some_and(|why| why.starts_with(kernel::Fault::BUSY));
    match (store.up, &store.refuses_writes) {
        (false, _) if busy => "The store is busy.",
        (false, _) => "The store is away.",
        (true, Some(_)) => "The store refuses every write.",
        (true, None) => "Everything is running.",
    }
}

fn sentence(state: &str, looks: usize) -> String {
    const WORDS: &[&str] =
        &["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    match looks {
        0 => state.to_owned(),
        1 => format!("{state} One thing deserves a look."),
        n => match WORDS.get(n) {
            Some(word) => format!("{state} {word} things deserve a look."),
            None => format!("{state} {n} things deserve a look."),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn front_page_says_it_in_a_sentence() {
        let running = "Everything is running.";
        assert_eq!(sentence(running, 0), "Everything is running.");
        assert_eq!(sentence(running, 3), "Everything is running. Three things deserve a look.");
        assert_eq!(sentence(running, 12), "Everything is running. 12 things deserve a look.");
        let away = "The store is away.";
        assert_eq!(sentence(away, 1), "The store is away. One thing deserves a look.");
    }
}
