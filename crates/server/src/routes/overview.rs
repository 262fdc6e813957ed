//! `GET /api/overview`: the front page in one answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use serde::Serialize;

use crate::app::App;
use crate::overview::{Look, Tile};

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
    /// The store: kind, place, server, up, persistence, eviction, warnings.
    #[schema(value_type = Object)]
    store: kernel::Status,
    /// Modules that run here, in the order of the dashboard.
    modules: Vec<ModuleLine>,
    /// One tile per module that has one.
    tiles: Vec<Tile>,
    /// What deserves a look, the worst first, at most five.
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

/// Numbers and sentences of the front page, and what deserves a look.
#[utoipa::path(get, path = "/api/overview", tag = "server", responses((status = 200, body = Overview)))]
pub(crate) async fn overview(State(app): State<Arc<App>>) -> Json<Overview> {
    let tiles = if app.store().status().up { tiles(&app).await } else { Vec::new() };
    let store = app.store().status();
    let mut looks = Vec::new();
    if !store.up {
        let reason = store.reason.as_deref().unwrap_or("no reason known");
        looks.push(look("bad", "store", format!("The store does not answer: {reason}.")));
    }
    looks.extend(store.warnings.iter().map(|warning| look("warn", "store", warning.clone())));
    looks.extend(tiles.iter().flat_map(|tile| tile.looks.iter().cloned()));
    looks.sort_by_key(|look| look.level != "bad");
    let looks_total = looks.len();
    looks.truncate(LOOKS);
    Json(Overview {
        sentence: sentence(store.up, looks_total),
        at: app.now_ms(),
        version: env!("CARGO_PKG_VERSION"),
        started_at: app.started_at,
        store,
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

fn look(level: &'static str, module: &str, sentence: String) -> Look {
    Look { level, module: module.to_owned(), sentence, link: "/health".into() }
}

fn sentence(up: bool, looks: usize) -> String {
    const WORDS: &[&str] =
        &["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    let state = if up { "Everything is running." } else { "The store is away." };
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
        assert_eq!(sentence(true, 0), "Everything is running.");
        assert_eq!(sentence(true, 3), "Everything is running. Three things deserve a look.");
        assert_eq!(sentence(false, 1), "The store is away. One thing deserves a look.");
        assert_eq!(sentence(true, 12), "Everything is running. 12 things deserve a look.");
    }
}
