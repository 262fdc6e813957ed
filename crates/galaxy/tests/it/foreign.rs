//! What other services write while the world ticks takes effect within two ticks, and never undoes an order. A world
//! that stands still keeps its bytes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use galaxy::{Effect, Engine, Epoch, Handle, Options, Order, WorldView};
use kernel::{Clock, FakeClock, Store, Value, reply};
use testkit::{on_cluster, on_every_store, within};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ticking::{KEYS, PLAYER, Ticking, ask, command, hash, spawn, text};

const RULE: Uuid = Uuid::from_u128(0x77);

/// A clock that the test moves, and that knows how often somebody went to sleep.
#[derive(Clone)]
struct Counting {
    clock: FakeClock,
    sleeps: Arc<AtomicU64>,
}

impl Clock for Counting {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        let sleep = self.clock.sleep(wait);
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        sleep
    }
}

/// An engine that ticks when the test says so.
struct Stepping {
    clock: Counting,
    handle: Handle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Stepping {
    async fn start(store: &Arc<dyn Store>) -> Stepping {
        let clock = FakeClock::at(1_800_000_000_000);
        let clock = Counting { clock, sleeps: Arc::default() };
        let options = Options { create: Some(Epoch::Now), ..Options::new("a") };
        let (engine, handle) =
            Engine::new(Arc::clone(store), Arc::new(clock.clone()), KEYS, options);
        let stop = CancellationToken::new();
        let task = tokio::spawn(engine.run(stop.clone()));
        let stepping = Stepping { clock, handle, stop, task };
        let mut seen = stepping.handle.seen();
        within("the engine leads", seen.wait_for(|seen| seen.leads)).await.unwrap();
        stepping.sleeps_after(0).await;
        stepping
    }

    fn seen(&self) -> Arc<WorldView> {
        Arc::clone(&self.handle.seen().borrow())
    }

    async fn sleeps_after(&self, count: u64) {
        within("the engine sleeps", async {
            while self.clock.sleeps.load(Ordering::SeqCst) <= count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    /// Time passes by one tick, and the engine does what is due then.
    async fn pass(&self) {
        let before = self.clock.sleeps.load(Ordering::SeqCst);
        self.clock.clock.advance(Duration::from_secs_f64(1.0 / self.seen().pace.rate));
        self.sleeps_after(before).await;
    }

    async fn two_ticks(&self) {
        let before = self.seen().tick;
        self.pass().await;
        self.pass().await;
        assert!(self.seen().tick <= before + 2, "no more than two");
    }

    async fn order(&self, ship: Uuid, order: Order) -> Effect {
        let handle = self.handle.clone();
        let asked =
            tokio::spawn(async move { handle.ask(command(Some(ship), Some(PLAYER), order)).await });
        // A tick that began is waited for, so that none is under way afterwards.
        while !asked.is_finished() {
            self.pass().await;
        }
        asked.await.unwrap().expect("it leads").expect("it is obeyed")
    }

    async fn ship(&self) -> Uuid {
        let id = Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0000);
        self.order(id, spawn("Wren")).await;
        id
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// The commands that an api-gateway sends for a rule.
async fn write_rule(store: &Arc<dyn Store>, ship: Uuid, thrust: &str) {
    let actions = format!(r#"[{{"action":"set_thrust","value":{thrust}}}]"#);
    let key = format!("automation:{ship}:{RULE}");
    let (id, rule) = (ship.to_string(), RULE.to_string());
    let trigger = r#"{"conditions":[{"field":"immediate"}],"logic":"AND"}"#;
    let words = ["HSET", &key, "rule_id", &rule, "ship_id", &id, "name", "Go", "enabled", "true"];
    let more = ["mode", "once", "priority", "10", "trigger_json", trigger];
    let last = ["actions_json", &actions, "created_at", "2026-11-18T00:00:00Z"];
    ask(store, &[&words[..], &more[..], &last[..]].concat()).await;
    ask(store, &["SADD", &format!("automation:{ship}:rules"), &rule]).await;
}

on_every_store!(a_name_written_by_another_service_is_the_ships_name, |store| {
    let engine = Stepping::start(&store).await;
    let id = engine.ship().await;
    ask(&store, &["HSET", &format!("ship:{id}"), "name", "Dun Cow"]).await;
    engine.two_ticks().await;
    assert_eq!(engine.seen().ship(id).unwrap().name, "Dun Cow");
    // Of two writers the last one wins, and an order is a writer.
    engine.order(id, Order::Rename { name: "Heron".into() }).await;
    engine.two_ticks().await;
    assert_eq!(engine.seen().ship(id).unwrap().name, "Heron");
    assert_eq!(hash(&store, &format!("ship:{id}")).await["name"], "Heron");
    assert_eq!(engine.seen().numbers.foreign, 1);
    engine.end().await;
});

on_every_store!(rules_written_by_another_service_act, |store| {
    let engine = Stepping::start(&store).await;
    let id = engine.ship().await;
    let key = format!("automation:{id}:{RULE}");
    let thrust = || engine.seen().ship(id).unwrap().hull.thrust_level.to_string();
    write_rule(&store, id, "0.5").await;
    engine.two_ticks().await;
    assert_eq!(thrust(), "0.5");
    assert_eq!(hash(&store, &key).await["enabled"], "false", "it acted once");
    engine.two_ticks().await;
    assert!(!engine.seen().ship(id).unwrap().rules[0].enabled, "nor is it taken for a new one");
    write_rule(&store, id, "0.25").await;
    engine.two_ticks().await;
    assert_eq!(thrust(), "0.25", "another rule of the same id acts anew");
    // What cannot be read is disabled, told once, and stays to be mended.
    ask(&store, &["HSET", &key, "trigger_json", "{", "enabled", "true"]).await;
    engine.two_ticks().await;
    engine.two_ticks().await;
    let rule = engine.seen().ship(id).unwrap().rules[0].clone();
    assert!(rule.broken.is_some() && !rule.enabled);
    let events = ask(&store, &["XRANGE", "galaxy:ships", "-", "+"]).await;
    assert_eq!(format!("{events:?}").matches("cannot be read").count(), 1);
    write_rule(&store, id, "0.75").await;
    engine.two_ticks().await;
    assert_eq!(thrust(), "0.75", "and mended it acts");
    ask(&store, &["SREM", &format!("automation:{id}:rules"), &RULE.to_string()]).await;
    ask(&store, &["DEL", &key]).await;
    engine.two_ticks().await;
    assert!(engine.seen().ship(id).unwrap().rules.is_empty());
    engine.end().await;
});

on_every_store!(the_pace_written_by_hand_is_the_pace, |store| {
    let engine = Stepping::start(&store).await;
    ask(&store, &["SET", "game:paused", "true"]).await;
    engine.two_ticks().await;
    let tick = engine.seen().tick;
    engine.two_ticks().await;
    assert!(engine.seen().pace.paused && engine.seen().tick == tick);
    ask(&store, &["SET", "game:paused", "false"]).await;
    engine.two_ticks().await;
    assert!(!engine.seen().pace.paused && engine.seen().tick > tick);
    for (key, value) in [("time_sync", "false"), ("time_scale", "3"), ("tick_rate", "2.0")] {
        ask(&store, &["SET", &format!("game:{key}"), value]).await;
    }
    engine.two_ticks().await;
    let pace = engine.seen().pace.clone();
    assert_eq!((pace.rate, pace.scale, pace.sync), (2.0, 3.0, false));
    assert_eq!(text(&store, "game:time_scale").await, "3", "nobody spells it anew");
    // What is no pace is put back, and what is gone says nothing.
    ask(&store, &["SET", "game:tick_rate", "fast"]).await;
    ask(&store, &["DEL", "game:time_scale"]).await;
    engine.two_ticks().await;
    assert_eq!(text(&store, "game:tick_rate").await, "2.0");
    assert_eq!((engine.seen().pace.rate, engine.seen().pace.scale), (2.0, 3.0));
    engine.end().await;
});

on_every_store!(a_ship_that_another_service_names_is_read_with_the_next_tick, |store| {
    let engine = Stepping::start(&store).await;
    let ships: Vec<Uuid> = (1..=120).map(Uuid::from_u128).collect();
    engine.order(ships[0], Order::Pause).await;
    for (n, id) in ships.iter().enumerate() {
        let asked = engine.handle.ask(command(Some(*id), Some(PLAYER), spawn(&format!("S{n}"))));
        within("it is stored at once", asked).await.unwrap().unwrap();
    }
    // At a hundred ticks a second fifty ships are read in each: only a hint finds them all.
    ask(&store, &["SET", "game:tick_rate", "100"]).await;
    ask(&store, &["SET", "game:paused", "false"]).await;
    engine.pass().await;
    for id in &ships {
        ask(&store, &["HSET", &format!("ship:{id}"), "name", "Foreign"]).await;
        ask(&store, &["SADD", "wk:galaxy:changed", &id.to_string()]).await;
    }
    engine.two_ticks().await;
    assert!(engine.seen().ships.iter().all(|ship| ship.name == "Foreign"));
    assert_eq!(ask(&store, &["SCARD", "wk:galaxy:changed"]).await, Value::Int(0));
    engine.end().await;
});

/// Every key with its type and value, but for the lock.
async fn bytes(store: &Arc<dyn Store>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let keys = ask(store, &["KEYS", "*"]).await;
    for key in reply::list(&keys).unwrap().iter().filter_map(reply::text) {
        let kind = ask(store, &["TYPE", key]).await;
        let value = match reply::text(&kind).unwrap() {
            "string" => ask(store, &["GET", key]).await,
            "hash" => {
                found.insert(key.to_owned(), format!("{:?}", hash(store, key).await));
                continue;
            }
            "set" => ask(store, &["SCARD", key]).await,
            "stream" => ask(store, &["XLEN", key]).await,
            other => panic!("{key} is a {other}"),
        };
        found.insert(key.to_owned(), format!("{value:?}"));
    }
    found.remove("game:engine_lock");
    found
}

on_every_store!(a_world_that_stands_still_keeps_its_bytes_over_a_stop_and_a_start, |store| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let ids = [1, 2, 3].map(Uuid::from_u128);
    for id in ids {
        engine.order(id, spawn(&format!("S{}", id.as_u128()))).await.unwrap();
    }
    let station = Order::StationSpawn {
        id: Uuid::from_u128(9),
        name: "Kestrel".into(),
        parent_body: "Luna".into(),
        altitude: 1e5,
        lagrange: None,
        jumpgate: false,
    };
    engine.ask(station).await.unwrap();
    let turn = Order::Control {
        thrust_level: Some(0.01),
        rotation_input: Some([0.1, 0.2, 0.3]),
        translation_input: None,
    };
    engine.order(ids[0], turn).await.unwrap();
    let now = engine.until(|_| true).await.tick;
    engine.until(|seen| seen.tick > now + 20).await;
    engine.ask(Order::Pause).await.unwrap();
    let before = bytes(&store).await;
    engine.end().await;
    assert_eq!(bytes(&store).await, before, "a stop writes nothing new");
    let engine = Ticking::start(&store, "b");
    engine.until(|seen| seen.leads).await;
    assert_eq!(bytes(&store).await, before, "nor does a start");
    // What is accepted is stored at once, and touches nobody else.
    let thrust =
        Order::Control { thrust_level: Some(0.5), rotation_input: None, translation_input: None };
    engine.order(ids[1], thrust).await.unwrap();
    let after = bytes(&store).await;
    let key = format!("ship:{}", ids[1]);
    assert_eq!(hash(&store, &key).await["thrust_level"], "0.5");
    let changed: Vec<&String> = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value))
        .map(|(k, _)| k)
        .collect();
    assert_eq!(changed, [&key]);
    engine.end().await;
    assert_eq!(bytes(&store).await, after);
});

on_cluster!(what_others_write_is_read_on_a_cluster_too, |store, _cluster| {
    let engine = Stepping::start(&store).await;
    let id = engine.ship().await;
    ask(&store, &["HSET", &format!("ship:{id}"), "name", "Dun Cow"]).await;
    write_rule(&store, id, "0.5").await;
    engine.two_ticks().await;
    assert_eq!(engine.seen().ship(id).unwrap().name, "Dun Cow");
    assert_eq!(engine.seen().ship(id).unwrap().hull.thrust_level.to_string(), "0.5");
    engine.end().await;
});
