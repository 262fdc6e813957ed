//! What is wrong is found and mended: indexes by the engine itself, the rest by the check.

use std::sync::Arc;

use galaxy::{Command, Online, Order, check, reconcile};
use kernel::check::Trouble;
use kernel::{Clock as _, Store, SystemClock};
use testkit::{on_cluster, on_every_store};
use uuid::Uuid;

use crate::ticking::{KEYS, Ticking, ask, hash, members};

const SHIP: Uuid = Uuid::from_u128(0x5e);
const PLAYER: &str = "660e8400-e29b-41d4-a716-446655440001";

/// A world at rest with one ship.
async fn world(store: &Arc<dyn Store>) {
    let engine = Ticking::start(store, "a");
    engine.until(|seen| seen.leads).await;
    let order = Order::Spawn { name: "Wren".to_owned(), ship_class: None, station_id: None };
    let (at_ms, player_id) = (SystemClock::new().now_ms(), Some(PLAYER.to_owned()));
    let command = Command { at_ms, player_id, ship_id: Some(SHIP), order };
    engine.handle.ask(command).await.unwrap().unwrap();
    engine.end().await;
}

async fn ghosts_and_gaps(store: Arc<dyn Store>) {
    world(&store).await;
    let (ship, ghost) = (SHIP.to_string(), Uuid::from_u128(0x60).to_string());
    ask(&store, &["SREM", "system:sol:ships", &ship]).await;
    ask(&store, &["SADD", "system:sol:ships", &ghost]).await;
    ask(&store, &["SADD", "system:vega:ships", &ship]).await;
    ask(&store, &["SREM", "system:sol:bodies", "Luna"]).await;
    let report = reconcile(&store).await.unwrap();
    assert!(report.is_clean() && report.repaired >= 4, "{:?}", report.findings);
    assert_eq!(members(&store, "system:sol:ships").await, [ship.as_str()]);
    assert_eq!(members(&store, "system:vega:ships").await, [] as [&str; 0]);
    assert_eq!(members(&store, "system:sol:bodies").await.len(), 29);
    assert_eq!(reconcile(&store).await.unwrap().findings, []);
    // And the engine does it before it reads the world.
    ask(&store, &["SREM", "system:sol:ships", &ship]).await;
    let engine = Ticking::start(&store, "b");
    let seen = engine.until(|seen| seen.leads).await;
    assert_eq!(seen.ships.len(), 1, "it was in no index");
    engine.end().await;
}

on_every_store!(ghosts_and_gaps_of_the_indexes_are_mended, |store| {
    ghosts_and_gaps(store).await;
});
on_cluster!(ghosts_and_gaps_are_mended_on_a_cluster, |store, _cluster| {
    ghosts_and_gaps(store).await;
});

async fn troubles(store: &Arc<dyn Store>, repair: bool) -> Vec<(Trouble, String, bool)> {
    let store = Arc::clone(store);
    // As the server runs it: on whichever thread.
    let found = tokio::spawn(async move { check(&store, KEYS, repair).await });
    let found = found.await.unwrap().unwrap();
    let mut all: Vec<_> =
        found.into_iter().map(|one| (one.trouble, one.key, one.repaired)).collect();
    all.sort();
    all
}

async fn the_rest(store: Arc<dyn Store>) {
    world(&store).await;
    let clock = Arc::new(SystemClock::new());
    let online = Online::start(Arc::clone(&store), KEYS, clock).await.unwrap();
    let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
    online.connect(one).await.unwrap();
    assert_eq!(troubles(&store, false).await, []);

    let ship = format!("ship:{SHIP}");
    let chosen = format!("player:{PLAYER}:active_ship");
    ask(&store, &["HSET", &ship, "position", "nowhere"]).await;
    ask(&store, &["SET", "game:tick_rate", "1000"]).await;
    ask(&store, &["SET", "game:restoring", "7"]).await;
    ask(&store, &["SET", &chosen, &Uuid::from_u128(99).to_string()]).await;
    ask(&store, &["HSET", "{connections:online}:count", &one.to_string(), "9"]).await;
    ask(&store, &["SADD", "connections:online", &two.to_string()]).await;
    ask(&store, &["HSET", "{connections:online}:count", &two.to_string(), "1"]).await;
    let lost = "{connections:online}:inst:gone";
    ask(&store, &["HSET", lost, &two.to_string(), "1"]).await;
    let count = "{connections:online}:count".to_owned();
    let wanted = |repaired: bool| {
        let mut wanted = vec![
            (Trouble::BadValue, ship.clone(), false),
            (Trouble::BadValue, "game:tick_rate".to_owned(), false),
            (Trouble::WrongState, "game:restoring".to_owned(), false),
            (Trouble::Dangling, chosen.clone(), repaired),
            (Trouble::Miscounted, count.clone(), repaired),
            (Trouble::Miscounted, count.clone(), repaired),
            (Trouble::Orphan, lost.to_owned(), repaired),
        ];
        wanted.sort();
        wanted
    };
    assert_eq!(troubles(&store, false).await, wanted(false));
    assert_eq!(troubles(&store, true).await, wanted(true));
    let mut left = wanted(false);
    left.retain(|(trouble, ..)| matches!(trouble, Trouble::BadValue | Trouble::WrongState));
    assert_eq!(troubles(&store, true).await, left, "what only a person can put right");
    assert_eq!(online.players().await.unwrap(), [one]);
    assert_eq!(hash(&store, &count).await[&one.to_string()], "1");
}

on_every_store!(what_no_index_shows_is_found_by_the_check, |store| { the_rest(store).await });
on_cluster!(the_check_finds_it_on_a_cluster_too, |store, _cluster| { the_rest(store).await });
