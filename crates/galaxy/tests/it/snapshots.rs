//! Snapshots on real stores and databases: byte for byte, and whatever happens in between.

use std::sync::Arc;
use std::time::Duration;

use galaxy::physics::solar::SOL;
use galaxy::{
    Command, Database, DatabaseAddress, Effect, Engine, Epoch, Options, Order, OrderError,
    SnapshotState, Snapshots, load,
};
use kernel::{Clock as _, FakeClock, Fault, Store, SystemClock, reply};
use testkit::{Faulty, How, on_cluster, on_every_store};
use uuid::Uuid;

use crate::accounts::on_every_database;
use crate::ticking::{KEYS, Ticking, ask, hash, members, text};

const PLAYER: &str = "660e8400-e29b-41d4-a716-446655440001";
const SHIP: Uuid = Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0000);
const RULE: Uuid = Uuid::from_u128(0x77);

async fn snapshots(store: &Arc<dyn Store>, place: DatabaseAddress) -> Arc<Snapshots> {
    let database = Database::open(place).await.unwrap();
    Snapshots::new(database, Arc::clone(store), Arc::new(SystemClock::new()), KEYS)
}

fn options(id: &str, snapshots: &Arc<Snapshots>) -> Options {
    let create = Some(Epoch::Now);
    Options { create, snapshots: Some(Arc::clone(snapshots)), ..Options::new(id) }
}

/// A world with a ship of the seed's old spelling, a field nobody knows, a rule, a maneuver, and a paused clock.
async fn furnish(store: &Arc<dyn Store>, engine: &Ticking) {
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::Pause).await.unwrap();
    engine.until(|seen| seen.pace.paused).await;
    let spawn = Order::Spawn { name: "Wren".to_owned(), ship_class: None, station_id: None };
    let station = Order::StationSpawn {
        id: Uuid::from_u128(9),
        name: "Kestrel".to_owned(),
        parent_body: "Earth".to_owned(),
        altitude: 400_000.0,
        lagrange: None,
        jumpgate: false,
    };
    engine.ask(station).await.unwrap();
    let at_ms = SystemClock::new().now_ms();
    let player_id = Some(PLAYER.to_owned());
    let command = Command { at_ms, player_id, ship_id: Some(SHIP), order: spawn };
    engine.handle.ask(command).await.unwrap().unwrap();
    let ship = format!("ship:{SHIP}");
    ask(store, &["HSET", &ship, "fuel", "14e3", "paint", "blå \"matt\"", "empty", ""]).await;
    ask(store, &["SADD", &format!("automation:{SHIP}:rules"), &RULE.to_string()]).await;
    ask(store, &["HSET", &format!("automation:{SHIP}:{RULE}"), "name", "low fuel"]).await;
    ask(store, &["HSET", &format!("maneuver:{SHIP}"), "type", "burn", "status", "active"]).await;
    ask(store, &["SET", &format!("player:{PLAYER}:active_ship"), &SHIP.to_string()]).await;
}

/// Every key of the world with its whole value.
async fn everything(store: &Arc<dyn Store>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut nodes = kernel::Scan::open(&**store, Duration::from_secs(5)).await.unwrap();
    while let Some(keys) = nodes.next(500).await.unwrap() {
        for key in keys.into_iter().map(|key| String::from_utf8(key).unwrap()) {
            let kind = ask(store, &["TYPE", &key]).await;
            let value = match reply::text(&kind).unwrap() {
                "hash" => format!("{:?}", hash(store, &key).await),
                "set" => format!("{:?}", members(store, &key).await),
                "string" => text(store, &key).await,
                _ => continue,
            };
            if !key.starts_with("game:engine_lock") {
                all.push((key, value));
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

async fn kept(engine: &Ticking) -> i64 {
    match engine.ask(Order::Snapshot).await.unwrap() {
        Effect::Kept(id) => id,
        other => panic!("{other:?}"),
    }
}

/// Furnishes, takes one, spoils the world, goes back: the same bytes.
async fn round_trip(store: Arc<dyn Store>, place: DatabaseAddress) {
    let snapshots = snapshots(&store, place).await;
    let engine = Ticking::with(&store, options("a", &snapshots));
    furnish(&store, &engine).await;
    let before = everything(&store).await;
    let id = kept(&engine).await;
    let state = snapshots.get(id).await.unwrap();
    let ship = &state.ships[&SHIP.to_string()];
    assert_eq!((ship["paint"].as_str(), ship["empty"].as_str()), ("blå \"matt\"", ""));
    assert_eq!(state.active_ship[PLAYER], SHIP.to_string());
    assert_eq!(state.bodies.len(), 29);

    let stranger = Uuid::new_v4();
    ask(&store, &["HSET", &format!("ship:{stranger}"), "player_id", PLAYER]).await;
    ask(&store, &["SADD", "system:sol:ships", &stranger.to_string()]).await;
    ask(&store, &["DEL", &format!("automation:{SHIP}:rules")]).await;
    ask(&store, &["HSET", &format!("ship:{SHIP}"), "paint", "red", "fuel", "1"]).await;
    ask(&store, &["SET", "game:total_spawns", "41"]).await;
    engine.ask(Order::Resume).await.unwrap();
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let tick = state.tick().unwrap();
    engine.until(|seen| seen.tick > tick + 3).await;
    assert_eq!(engine.ask(Order::Restore { id }).await, Ok(Effect::Restored(id)));
    let seen = engine.until(|seen| seen.tick == tick).await;
    assert!(seen.pace.paused && seen.ships.len() == 1 && seen.stations.len() == 1);
    assert_eq!(
        engine.ask(Order::Restore { id: id + 77 }).await,
        Err(OrderError::Missing("snapshot"))
    );

    let volatile = |key: &str| ["game:time_drift", "game:total_spawns"].contains(&key);
    let mut after = everything(&store).await;
    assert_eq!(text(&store, "game:total_spawns").await, "41", "never lowered");
    after.retain(|(key, _)| !volatile(key));
    let before: Vec<_> = before.into_iter().filter(|(key, _)| !volatile(key)).collect();
    assert_eq!(after, before);
    // And once more from the restored world: the same state.
    let again = snapshots.get(kept(&engine).await).await.unwrap();
    let world =
        |state: SnapshotState| (state.bodies, state.ships, state.stations, state.automation);
    assert_eq!(world(again), world(state));
    engine.end().await;
}

on_every_store!(a_restore_gives_back_the_same_bytes, |store| {
    round_trip(store, DatabaseAddress::Memory).await;
});
on_cluster!(a_restore_gives_back_the_same_bytes_on_a_cluster, |store, _cluster| {
    round_trip(store, DatabaseAddress::Memory).await;
});

#[test]
fn every_database_keeps_a_snapshot_byte_for_byte() {
    on_every_database(|place| async move {
        let store = testkit::open("memory").await;
        round_trip(store, place).await;
    });
}

on_every_store!(a_wiped_store_comes_back_from_the_newest_snapshot, |store| {
    let snapshots = snapshots(&store, DatabaseAddress::Memory).await;
    let engine = Ticking::with(&store, options("a", &snapshots));
    furnish(&store, &engine).await;
    ask(&store, &["SET", "game:registration_open", "false"]).await;
    engine.end().await;
    let before = everything(&store).await;
    assert!(snapshots.newest().await.unwrap().is_some(), "one was taken at the stop");
    ask(&store, &["FLUSHALL"]).await;
    let engine = Ticking::with(&store, options("b", &snapshots));
    let seen = engine.until(|seen| seen.leads).await;
    assert!(seen.pace.paused && seen.ships.len() == 1);
    let there: Vec<_> = everything(&store).await;
    for (key, value) in before {
        // Who may register is the admin's to say again; drift is measured anew.
        if !["game:registration_open", "game:time_drift"].contains(&key.as_str()) {
            assert!(there.contains(&(key.clone(), value)), "{key}");
        }
    }
    engine.ask(Order::Resume).await.unwrap();
    engine.until(|seen| !seen.pace.paused && seen.tick > 0).await;
    engine.end().await;
    // What the store holds wins over any snapshot.
    let tick = text(&store, "game:tick").await;
    let engine = Ticking::with(&store, options("c", &snapshots));
    let seen = engine.until(|seen| seen.leads).await;
    assert!(seen.tick >= tick.parse().unwrap() && !seen.pace.paused);
    engine.end().await;
});

/// A restore is cut short at each of its steps in turn; it is repeated, and the bytes are the same.
#[test]
fn a_restore_that_was_cut_short_is_repeated() {
    testkit::on_every(
        env!("CARGO_PKG_NAME"),
        "a_restore_that_was_cut_short_is_repeated",
        |store| async move {
            let snapshots = snapshots(&store, DatabaseAddress::Memory).await;
            let engine = Ticking::with(&store, options("a", &snapshots));
            furnish(&store, &engine).await;
            let id = kept(&engine).await;
            engine.end().await;
            let done = Ok(Some(Ok(Effect::Restored(id))));
            assert_eq!(restore(&store, &snapshots, id).await, done);
            let wanted = everything(&store).await;
            for step in 1.. {
                for how in [How::NotSent, How::AnswerLost, How::RequestLost] {
                    ask(&store, &["HSET", &format!("ship:{SHIP}"), "paint", "red"]).await;
                    let faulty = Faulty::new(Arc::clone(&store));
                    faulty.fail_every(step, how);
                    let outcome = restore(&(Arc::clone(&faulty) as _), &snapshots, id).await;
                    if faulty.failed() == 0 {
                        assert!(step > 10, "it has more steps than {step}");
                        assert_eq!(outcome, done);
                        return;
                    }
                    // Whoever crashed keeps the lock for five seconds: they are over.
                    ask(&store, &["DEL", "game:engine_lock"]).await;
                    let begun = text(&store, "game:restoring").await;
                    assert!(begun.is_empty() || begun == id.to_string());
                    assert_eq!(restore(&store, &snapshots, id).await, done);
                    assert_eq!(everything(&store).await, wanted, "cut at {step}, {how:?}");
                }
            }
        },
    );
}

/// As the command line does it where no server runs.
async fn restore(store: &Arc<dyn Store>, snapshots: &Arc<Snapshots>, id: i64) -> Restored {
    let clock = Arc::new(SystemClock::new());
    let at_ms = clock.now_ms();
    let options = Options { create: None, ..options("restore", snapshots) };
    let (engine, _) = Engine::new(Arc::clone(store), clock, KEYS, options);
    let order = Order::Restore { id };
    engine.alone(&Command { at_ms, player_id: None, ship_id: None, order }).await
}

type Restored = Result<Option<Result<Effect, OrderError>>, Fault>;

on_every_store!(an_engine_that_finds_a_restore_cut_short_repeats_it, |store| {
    let snapshots = snapshots(&store, DatabaseAddress::Memory).await;
    let engine = Ticking::with(&store, options("a", &snapshots));
    furnish(&store, &engine).await;
    let id = kept(&engine).await;
    assert_eq!(restore(&store, &snapshots, id).await, Ok(None), "somebody ticks it");
    engine.end().await;
    // Half of it is gone, and a valid tick is there: the mark decides.
    ask(&store, &["SET", "game:restoring", &id.to_string()]).await;
    ask(&store, &["DEL", "body:Earth", &format!("ship:{SHIP}")]).await;
    let engine = Ticking::with(&store, options("b", &snapshots));
    let seen = engine.until(|seen| seen.leads).await;
    assert_eq!((seen.ships.len(), seen.pace.paused), (1, true));
    assert_eq!(hash(&store, &format!("ship:{SHIP}")).await["paint"], "blå \"matt\"");
    assert_eq!(text(&store, "game:restoring").await, "");
    engine.end().await;
    // Without the snapshot nobody ticks a world that may be half of one.
    ask(&store, &["SET", "game:restoring", "999"]).await;
    let engine = Ticking::with(&store, options("c", &snapshots));
    let led = tokio::time::timeout(Duration::from_millis(300), engine.until(|seen| seen.leads));
    assert!(led.await.is_err());
    engine.end().await;
});

on_every_store!(a_running_world_is_kept_at_one_tick, |store| {
    let snapshots = snapshots(&store, DatabaseAddress::Memory).await;
    let engine = Ticking::with(&store, options("a", &snapshots));
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 100.0 }).await.unwrap();
    let names: Vec<Uuid> = (0..300).map(|_| Uuid::new_v4()).collect();
    for id in &names {
        let order = Order::Spawn {
            name: id.to_string()[..8].to_owned(),
            ship_class: None,
            station_id: None,
        };
        let command = Command { at_ms: u64::MAX, player_id: None, ship_id: Some(*id), order };
        engine.handle.ask(command).await.unwrap().unwrap();
    }
    for _ in 0..5 {
        let id = kept(&engine).await;
        let state = snapshots.get(id).await.unwrap();
        assert_eq!((state.ships.len(), state.bodies.len()), (300, 29));
        // Go back to it in a store of its own: the engine's sums must agree with a world of that tick.
        let fresh = testkit::open("memory").await;
        let copy = Snapshots::new(
            Database::open(DatabaseAddress::Memory).await.unwrap(),
            Arc::clone(&fresh),
            Arc::new(SystemClock::new()),
            KEYS,
        );
        let id = copy.save(&state).await.unwrap();
        let first = restore(&fresh, &copy, id).await;
        assert_eq!(first, Ok(Some(Ok(Effect::Restored(id)))), "and the empty store came first");
        let world = load(&fresh, KEYS, &SOL).await.unwrap().unwrap().world;
        assert_eq!((world.tick, world.ships.len()), (state.tick().unwrap(), 300));
        // Every ship is on its circle about Earth, which moves 300 m in the time of a tick: none is of another tick.
        let earth = SOL.find("Earth").unwrap();
        let radius = SOL.body(earth).radius + 400_000.0;
        for ship in world.ships.values() {
            let (position, _) = world.motion(ship.craft).unwrap();
            let off = (position - world.bodies.now().position[earth]).length() - radius;
            assert!(off.abs() < 60.0, "{off} m off its circle");
        }
    }
    engine.end().await;
});

#[test]
fn old_snapshots_are_forgotten() {
    on_every_database(|place| async move {
        let store = testkit::open("memory").await;
        let engine = Ticking::start(&store, "a");
        engine.until(|seen| seen.leads).await;
        engine.end().await;
        let world = load(&store, KEYS, &SOL).await.unwrap().unwrap().world;
        let clock = Arc::new(FakeClock::at(1_800_000_000_000));
        let database = Database::open(place).await.unwrap();
        let snapshots = Snapshots::new(database, store, Arc::clone(&clock) as _, KEYS);
        for _ in 0..70 {
            snapshots.take(&world).await.unwrap();
            clock.advance(Duration::from_mins(1));
        }
        let all = snapshots.list().await.unwrap();
        // The last sixty, and the last of an hour that is over.
        assert!((60..=62).contains(&all.len()), "{}", all.len());
        assert!(all.windows(2).all(|pair| pair[0].id > pair[1].id));
        assert_eq!(Some(all[0].id), snapshots.newest().await.unwrap());
        assert_eq!((all[0].tick_number, all[0].bytes > 5_000), (world.tick, true));
        clock.advance(Duration::from_hours(30 * 24));
        snapshots.take(&world).await.unwrap();
        assert_eq!(snapshots.list().await.unwrap().len(), 60);
    });
}

on_every_store!(pause_takes_a_snapshot_and_a_failing_database_is_told, |store| {
    let dir = tempfile::tempdir().unwrap();
    let snapshots = snapshots(&store, DatabaseAddress::choose(None, Some(dir.path()))).await;
    let engine = Ticking::with(&store, options("a", &snapshots));
    engine.until(|seen| seen.leads).await;
    assert_eq!(snapshots.newest().await.unwrap(), None);
    engine.ask(Order::Pause).await.unwrap();
    let first = kept(&engine).await;
    assert_eq!(snapshots.list().await.unwrap().len(), 2, "by the pause and by order");
    assert!(first > 1);
    engine.end().await;
    assert_eq!(snapshots.list().await.unwrap().len(), 3, "and one at the stop");
});
