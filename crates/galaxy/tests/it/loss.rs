//! A store that loses what the world has: one key, everything, or itself to another. No tick ever makes a key.

use std::sync::Arc;
use std::time::Duration;

use galaxy::{
    Accounts, DatabaseAddress, Effect, Engine, EngineState, Epoch, Options, Order, Snapshots, send,
};
use kernel::{Store, SystemClock, reply};
use testkit::{on_cluster, on_every_store};
use uuid::Uuid;

use crate::ticking::{KEYS, PLAYER, Ticking, ask, command, hash, members, spawn, text};

const RATE: Order = Order::TickRate { tick_rate: 50.0 };

/// Snapshots of a store that is called `ours`.
async fn snapshots(store: &Arc<dyn Store>) -> Arc<Snapshots> {
    ask(store, &["HSET", "wk:galaxy:store", "id", "ours"]).await;
    let clock = Arc::new(SystemClock::new());
    let accounts =
        Accounts::open(DatabaseAddress::Memory, Arc::clone(&clock) as _, None).await.unwrap();
    Snapshots::new(accounts.database().clone(), Arc::clone(store), clock, KEYS)
}

/// An engine of the store that is called `ours`.
fn of_ours(snapshots: &Arc<Snapshots>, restore: bool) -> Options {
    Options {
        create: Some(Epoch::Now),
        snapshots: Some(Arc::clone(snapshots)),
        identity: Some("ours".to_owned()),
        restore,
        ..Options::new("a")
    }
}

async fn ships(engine: &Ticking, count: usize) -> Vec<Uuid> {
    engine.until(|seen| seen.leads).await;
    engine.ask(RATE).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..count {
        let id = Uuid::new_v4();
        let order = command(Some(id), Some(PLAYER), spawn(&format!("S{n}")));
        engine.handle.ask(order).await.unwrap().unwrap();
        ids.push(id);
    }
    ids
}

async fn exists(store: &Arc<dyn Store>, key: &str) -> bool {
    reply::int(&ask(store, &["EXISTS", key]).await) == Some(1)
}

async fn deleted_keys_stay_deleted(store: Arc<dyn Store>) {
    let engine = Ticking::start(&store, "a");
    let ids = ships(&engine, 3).await;
    let key = format!("ship:{}", ids[1]);
    ask(&store, &["DEL", &key]).await;
    ask(&store, &["DEL", "body:Luna"]).await;
    let mut last = 0;
    for _ in 0..10 {
        assert!(!exists(&store, &key).await, "{:?}", hash(&store, &key).await);
        last = engine.until(|seen| seen.tick > last).await.tick;
    }
    let seen = engine.until(|seen| seen.ships.len() == 2).await;
    assert!(seen.ship(ids[0]).is_some() && seen.ship(ids[2]).is_some());
    let named = members(&store, "system:sol:ships").await;
    assert!(!named.contains(&ids[1].to_string()), "{named:?}");
    let luna = hash(&store, "body:Luna").await;
    assert_eq!(luna.len(), 3, "a body is put back whole: {luna:?}");
    engine.end().await;
}

on_every_store!(a_tick_makes_nothing_that_somebody_deleted, |store| {
    deleted_keys_stay_deleted(store).await;
});
on_cluster!(a_tick_makes_nothing_on_a_cluster, |store, _cluster| {
    deleted_keys_stay_deleted(store).await;
});

// The tick wrote stumps of four fields into the empty store; the next start dropped every ship.
on_every_store!(an_emptied_store_is_left_alone_until_an_operator_restores, |store| {
    let snapshots = snapshots(&store).await;
    let engine = Ticking::with(&store, of_ours(&snapshots, false));
    let ids = ships(&engine, 5).await;
    let Ok(Effect::Kept(id)) = engine.ask(Order::Snapshot).await else { panic!("no snapshot") };
    ask(&store, &["FLUSHALL"]).await;
    engine.until(|seen| seen.standing == EngineState::Emptied).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let left = reply::int(&ask(&store, &["DBSIZE"]).await).unwrap();
    let lock = i64::from(exists(&store, "game:engine_lock").await);
    assert!(left <= lock.max(1), "nothing is written to it: {left} keys");
    let pause = engine.handle.ask(command(None, None, Order::Pause)).await;
    assert_eq!(pause, None, "nobody leads");
    // The command line, or a server: whoever is asked.
    let restore = loop {
        let clock = Arc::new(SystemClock::new());
        let options = of_ours(&snapshots, false);
        let (alone, _) = Engine::new(Arc::clone(&store), clock, KEYS, options);
        if let Some(outcome) =
            alone.alone(&command(None, None, Order::Restore { id })).await.unwrap()
        {
            break outcome;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(restore, Ok(Effect::Restored(id)));
    let seen = engine.until(|seen| seen.leads).await;
    assert_eq!(seen.ships.len(), 5);
    for id in ids {
        assert_eq!(hash(&store, &format!("ship:{id}")).await["player_id"], PLAYER);
    }
    assert_eq!(hash(&store, "wk:galaxy:store").await["id"], "ours");
    engine.end().await;
});

on_every_store!(an_emptied_store_comes_back_by_itself_where_that_is_wanted, |store| {
    let snapshots = snapshots(&store).await;
    let engine = Ticking::with(&store, of_ours(&snapshots, true));
    let ids = ships(&engine, 5).await;
    engine.ask(Order::Snapshot).await.unwrap();
    ask(&store, &["FLUSHALL"]).await;
    engine.until(|seen| !seen.leads).await;
    let seen = engine.until(|seen| seen.leads).await;
    assert_eq!((seen.ships.len(), seen.pace.paused), (5, true));
    for id in ids {
        assert_eq!(hash(&store, &format!("ship:{id}")).await["player_id"], PLAYER);
    }
    engine.end().await;
});

on_every_store!(a_store_of_another_database_is_not_written_to, |store| {
    let snapshots = snapshots(&store).await;
    let engine = Ticking::with(&store, of_ours(&snapshots, true));
    ships(&engine, 1).await;
    ask(&store, &["HSET", "wk:galaxy:store", "id", "another"]).await;
    engine.until(|seen| seen.standing == EngineState::Foreign).await;
    let tick = text(&store, "game:tick").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(text(&store, "game:tick").await, tick);
    ask(&store, &["HSET", "wk:galaxy:store", "id", "ours"]).await;
    engine.until(|seen| seen.leads && seen.tick > tick.parse().unwrap()).await;
    engine.end().await;
});

on_every_store!(spawns_that_others_count_stay_counted, |store| {
    let engine = Ticking::start(&store, "a");
    ships(&engine, 2).await;
    assert_eq!(text(&store, "game:total_spawns").await, "2");
    ask(&store, &["INCRBY", "game:total_spawns", "5"]).await;
    ships(&engine, 1).await;
    assert_eq!(text(&store, "game:total_spawns").await, "8");
    ships(&engine, 1).await;
    assert_eq!(text(&store, "game:total_spawns").await, "9");
    engine.end().await;
});

// A new engine used to read the orders of the last ten seconds again.
on_every_store!(an_order_of_the_stream_is_carried_out_once, |store| {
    let engine = Ticking::start(&store, "a");
    let ship = ships(&engine, 1).await[0];
    let rename = |name: &str| Order::Rename { name: name.to_owned() };
    send(&*store, KEYS, &command(Some(ship), Some(PLAYER), rename("First"))).await.unwrap();
    engine.until(|seen| seen.ships[0].name == "First").await;
    engine.order(ship, rename("Second")).await.unwrap();
    engine.end().await;
    let engine = Ticking::start(&store, "b");
    let led = engine.until(|seen| seen.leads).await.tick;
    engine.until(|seen| seen.tick > led + 3).await;
    assert_eq!(hash(&store, &format!("ship:{ship}")).await["name"], "Second");
    engine.end().await;
});

on_every_store!(a_dock_is_answered_when_it_is_stored, |store| {
    let engine = Ticking::start(&store, "a");
    let ship = ships(&engine, 1).await[0];
    let station = Uuid::new_v4();
    let build = Order::StationSpawn {
        id: station,
        name: "Highport".to_owned(),
        parent_body: "Earth".to_owned(),
        altitude: 420_000.0,
        lagrange: None,
        jumpgate: false,
    };
    engine.ask(build).await.unwrap();
    engine.end().await;
    // Beside the station, while nobody ticks.
    let at = hash(&store, &format!("station:{station}")).await;
    let vector = |name: &str| {
        let part = |axis: &str| at[&format!("{name}_{axis}")].clone();
        format!("[{}, {}, {}]", part("x"), part("y"), part("z"))
    };
    let (position, velocity) = (vector("position"), vector("velocity"));
    let key = format!("ship:{ship}");
    ask(&store, &["HSET", &key, "position", &position, "velocity", &velocity]).await;
    let engine = Ticking::start(&store, "b");
    engine.until(|seen| seen.leads).await;
    engine.order(ship, Order::Dock { station_id: Some(station) }).await.unwrap();
    assert_eq!(hash(&store, &key).await["docked_station_id"], station.to_string());
    engine.order(ship, Order::Undock).await.unwrap();
    assert_eq!(hash(&store, &key).await["docked_station_id"], "");
    engine.end().await;
});

on_every_store!(an_order_without_a_write_of_its_own_is_answered_when_it_is_stored, |store| {
    let engine = Ticking::start(&store, "a");
    let ship = ships(&engine, 1).await[0];
    for n in 1..=9 {
        let level = f64::from(n) / 10.0;
        let thrust = Order::Control {
            thrust_level: Some(level),
            rotation_input: None,
            translation_input: None,
        };
        engine.order(ship, thrust).await.unwrap();
        let stored = hash(&store, &format!("ship:{ship}")).await;
        assert_eq!(stored["thrust_level"], level.to_string());
    }
    engine.end().await;
});
