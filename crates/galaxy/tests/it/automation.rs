//! Rules, maneuvers, gates and a world anew, through the engine and in every store.

use std::sync::Arc;
use std::time::Duration;

use galaxy::physics::solar::SOL;
use galaxy::{Epoch, Order, OrderError, fields, load};
use kernel::{Store, Value, reply};
use serde_json::json;
use testkit::{on_cluster, on_every_store};
use uuid::Uuid;

use crate::rules::draft;
use crate::ticking::{KEYS, PLAYER, Ticking, ask, command, spawn, text};

fn burn(delta_v: f64) -> serde_json::Value {
    json!([{"action": "burn", "direction": "prograde", "delta_v": delta_v},
        {"action": "alert", "message": "burning"}])
}

async fn started(store: &Arc<dyn Store>, id: &str) -> Ticking {
    let engine = Ticking::start(store, id);
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    engine
}

async fn ship(engine: &Ticking, n: u128) -> Uuid {
    let id = Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0000 + n);
    let made = engine.handle.ask(command(Some(id), Some(PLAYER), spawn("Wren"))).await;
    made.unwrap().unwrap();
    id
}

async fn keys_of(store: &Arc<dyn Store>, ship: Uuid, rule: Uuid) -> [Option<i64>; 4] {
    let mut found = [None; 4];
    let keys = [
        format!("ship:{ship}"),
        format!("maneuver:{ship}"),
        format!("automation:{ship}:rules"),
        format!("automation:{ship}:{rule}"),
    ];
    for (found, key) in found.iter_mut().zip(keys) {
        *found = reply::int(&ask(store, &["EXISTS", &key]).await);
    }
    found
}

/// The events of `galaxy:ships` as type and body.
async fn events(store: &Arc<dyn Store>) -> Vec<(String, serde_json::Value)> {
    let answer = ask(store, &["XRANGE", "galaxy:ships", "-", "+"]).await;
    let entries = reply::list(&answer).unwrap_or_default();
    let event = |entry: &Value| {
        let [_, found] = reply::list(entry)? else { return None };
        let found = fields(found);
        Some((found.get("type")?.clone(), serde_json::from_str(found.get("body")?).ok()?))
    };
    entries.iter().filter_map(event).collect()
}

async fn a_rule_is_stored_acts_and_survives(store: Arc<dyn Store>) {
    let engine = started(&store, "a").await;
    let ship = ship(&engine, 1).await;
    let (rule_id, other) = (Uuid::from_u128(7), Uuid::from_u128(8));
    let high = json!([{"field": "ship.agl", "op": ">", "value": 1_000}]);
    let rule = draft("once", 3, high.clone(), burn(4.0));
    engine.order(ship, Order::RuleCreate { rule_id, rule }).await.unwrap();
    let mut rule =
        draft("continuous", 4, high, json!([{"action": "set_attitude", "mode": "normal"}]));
    rule.enabled = false;
    engine.order(ship, Order::RuleCreate { rule_id: other, rule: rule.clone() }).await.unwrap();
    let key = format!("automation:{ship}:{rule_id}");
    // Somebody's own field on our hash.
    ask(&store, &["HSET", &format!("automation:{ship}:{other}"), "paint", "red"]).await;
    let done = |seen: &galaxy::WorldView| {
        seen.ships.first().and_then(|ship| ship.maneuver.as_ref()).is_some_and(|m| !m.active())
    };
    let seen = engine.until(done).await;
    assert!(!seen.ships[0].rules[0].enabled && seen.ships[0].rules.len() == 2);
    engine.ask(Order::Pause).await.unwrap();
    engine.until(|seen| seen.pace.paused).await;

    let stored = fields(&ask(&store, &["HGETALL", &key]).await);
    assert_eq!((stored["enabled"].as_str(), stored["priority"].as_str()), ("false", "3"));
    assert_eq!((stored["mode"].as_str(), stored["ship_id"].clone()), ("once", ship.to_string()));
    let maneuver = fields(&ask(&store, &["HGETALL", &format!("maneuver:{ship}")]).await);
    assert_eq!((maneuver["type"].as_str(), maneuver["status"].as_str()), ("burn", "done"));
    assert_eq!(
        (maneuver["delta_v"].as_str(), maneuver["rule_id"].clone()),
        ("4.0", rule_id.to_string())
    );
    let kinds: Vec<_> = events(&store).await;
    let told = kinds.iter().find(|(kind, _)| kind == "ship.alert").unwrap();
    assert_eq!((&told.1["message"], &told.1["player_id"]), (&json!("burning"), &json!(PLAYER)));
    assert!(kinds.iter().any(|(kind, body)| kind == "maneuver.ended" && body["status"] == "done"));

    // Replaced: what is ours changes, what is not stays; and the next engine finds all of it.
    rule.priority = 0;
    engine.order(ship, Order::RuleReplace { rule_id: other, rule }).await.unwrap();
    engine.end().await;
    let stored = fields(&ask(&store, &["HGETALL", &format!("automation:{ship}:{other}")]).await);
    assert_eq!((stored["priority"].as_str(), stored["paint"].as_str()), ("0", "red"));
    let again = Ticking::start(&store, "b");
    let seen = again.until(|seen| seen.leads && !seen.ships.is_empty()).await;
    let order: Vec<_> = seen.ships[0].rules.iter().map(|rule| (rule.id, rule.enabled)).collect();
    assert_eq!(order, [(other, false), (rule_id, false)]);
    assert!(seen.ships[0].maneuver.is_some());
    again.order(ship, Order::RuleRemove { rule_id: other }).await.unwrap();
    assert_eq!(keys_of(&store, ship, other).await, [Some(1), Some(1), Some(1), Some(0)]);
    again.order(ship, Order::Despawn).await.unwrap();
    assert_eq!(keys_of(&store, ship, rule_id).await, [Some(0); 4]);
    again.end().await;
}

on_every_store!(a_rule_is_stored_acts_and_survives_its_engine, |store| {
    a_rule_is_stored_acts_and_survives(store).await;
});

on_cluster!(rules_work_on_a_cluster, |store, _cluster| {
    a_rule_is_stored_acts_and_survives(store).await;
});

on_every_store!(what_nobody_can_read_is_told_and_the_tick_goes_on, |store| {
    let engine = started(&store, "a").await;
    let (good, bad) = (ship(&engine, 1).await, ship(&engine, 2).await);
    let rule_id = Uuid::from_u128(7);
    engine.end().await;
    ask(&store, &["HSET", &format!("ship:{bad}"), "velocity", "[1, infinity, 2]"]).await;
    let key = format!("automation:{good}:{rule_id}");
    ask(&store, &["SADD", &format!("automation:{good}:rules"), &rule_id.to_string(), "rubbish"])
        .await;
    ask(
        &store,
        &[
            "HSET",
            &key,
            "name",
            "odd",
            "enabled",
            "true",
            "trigger_json",
            "{\"conditions\":",
            "actions_json",
            "[]",
        ],
    )
    .await;
    ask(&store, &["HSET", &format!("maneuver:{good}"), "type", "somersault"]).await;
    let loaded = load(&store, KEYS, &SOL).await.unwrap().unwrap();
    let aside: Vec<_> = loaded.aside.iter().map(|(key, why)| (key.clone(), why.field)).collect();
    assert_eq!(aside, [(format!("ship:{bad}"), "velocity"), (format!("maneuver:{good}"), "type")]);

    let engine = Ticking::start(&store, "b");
    let before = engine.until(|seen| seen.leads).await.tick;
    let seen = engine.until(|seen| seen.tick > before + 3).await;
    assert_eq!(seen.ships.iter().map(|ship| ship.id).collect::<Vec<_>>(), [good]);
    assert!(seen.ships[0].rules[0].broken.as_ref().unwrap().starts_with("trigger_json"));
    let stored = fields(&ask(&store, &["HGETALL", &key]).await);
    assert_eq!(stored["enabled"], "false");
    let alerts: Vec<_> =
        events(&store).await.into_iter().filter(|(kind, _)| kind == "ship.alert").collect();
    assert_eq!(alerts.len(), 1, "told once");
    // The hash that could not be read is left as it is, for somebody who can mend it.
    let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{bad}")]).await);
    assert_eq!(stored["velocity"], "[1, infinity, 2]");
    engine.end().await;
});

on_every_store!(gates_come_and_go_and_carry_nobody_yet, |store| {
    let engine = started(&store, "a").await;
    let ship = ship(&engine, 1).await;
    let gate = Uuid::from_u128(900);
    let build = |lagrange: Option<&str>, parent: &str| Order::StationSpawn {
        id: gate,
        name: "Far Door".into(),
        parent_body: parent.into(),
        altitude: 0.0,
        lagrange: lagrange.map(str::to_owned),
        jumpgate: true,
    };
    for (point, parent, field) in [
        (None, "Luna", "lagrange must be an L4 or L5 point for a jump gate"),
        (Some("Earth-Luna-L1"), "Luna", "lagrange must be an L4 or L5 point for a jump gate"),
        (Some("Earth-Mars-L4"), "Luna", "lagrange is not a point such as Earth-Luna-L4"),
        (Some("Earth-Luna-L4"), "Vulcan", "there is no such body"),
    ] {
        let refused = engine.ask(build(point, parent)).await.unwrap_err();
        assert_eq!(refused.to_string(), field);
    }
    engine.ask(build(Some("Earth-Luna-L4"), "Luna")).await.unwrap();
    let stored = fields(&ask(&store, &["HGETALL", &format!("jumpgate:{gate}")]).await);
    assert_eq!((stored["mass"].as_str(), stored["radius"].as_str()), ("500000.0", "150.0"));
    let listed = |set: &'static str| {
        let store = Arc::clone(&store);
        async move { reply::int(&ask(&store, &["SCARD", set]).await) }
    };
    assert_eq!(listed("system:sol:jumpgates").await, Some(1));
    assert_eq!(listed("system:sol:stations").await, Some(0));
    let jump = Order::Jump { jumpgate_id: gate };
    let refused = engine.order(ship, jump).await.unwrap_err();
    assert_eq!((refused.code(), &refused), (Some("E040"), &OrderError::NoTransit));
    let nowhere = Order::Jump { jumpgate_id: ship };
    assert_eq!(engine.order(ship, nowhere).await, Err(OrderError::Missing("jump gate")));
    let dock = Order::Dock { station_id: Some(gate) };
    assert_eq!(engine.order(ship, dock).await.unwrap_err().code(), Some("E034"));
    let wrong = Order::StationRemove { id: gate };
    assert_eq!(engine.ask(wrong).await, Err(OrderError::Missing("station")));
    engine.ask(Order::JumpgateRemove { id: gate }).await.unwrap();
    assert_eq!(listed("system:sol:jumpgates").await, Some(0));
    let told = ask(&store, &["XRANGE", "galaxy:jumpgates", "-", "+"]).await;
    assert_eq!(reply::list(&told).unwrap().len(), 2);
    engine.end().await;
});

on_every_store!(a_world_begins_anew_paused_and_without_craft, |store| {
    let engine = started(&store, "a").await;
    let ship = ship(&engine, 1).await;
    let rule = draft("once", 0, json!([{"field": "ship.fuel", "op": "<", "value": 0}]), burn(1.0));
    let rule_id = Uuid::from_u128(7);
    engine.order(ship, Order::RuleCreate { rule_id, rule }).await.unwrap();
    let station = Order::StationSpawn {
        id: Uuid::from_u128(901),
        name: "Kestrel".into(),
        parent_body: "Mars".into(),
        altitude: 4e5,
        lagrange: None,
        jumpgate: false,
    };
    engine.ask(station).await.unwrap();
    let before = engine.until(|seen| seen.tick > 5).await.tick;
    engine.ask(Order::ResetWorld { epoch: Epoch::J2000 }).await.unwrap();
    let seen = engine.until(|seen| seen.pace.paused && seen.ships.is_empty()).await;
    assert!(seen.stations.is_empty() && seen.tick >= before);
    assert!(seen.numbers.energy_drift < 1e-12, "measured from the new start");
    assert_eq!(keys_of(&store, ship, rule_id).await, [Some(0); 4]);
    assert_eq!(text(&store, "game:time").await, "2000-01-01T11:58:56Z");
    assert_eq!(text(&store, "game:paused").await, "true");
    assert_eq!(text(&store, "game:total_spawns").await, "1", "spawns go on counting");
    let sun = fields(&ask(&store, &["HGETALL", "body:Sun"]).await);
    assert!(sun["position"].starts_with("[-1067609"), "{}", sun["position"]);
    engine.ask(Order::Resume).await.unwrap();
    let paused = seen.tick;
    engine.until(|seen| seen.tick > paused).await;
    engine.end().await;
});

on_every_store!(orders_with_nonsense_change_nothing, |store| {
    let engine = started(&store, "a").await;
    let ship = ship(&engine, 1).await;
    let control = |thrust: f64, turn: f64| Order::Control {
        thrust_level: Some(thrust),
        rotation_input: Some([turn, 0.0, 0.0]),
        translation_input: None,
    };
    let point = |mode: &str, id: Option<&str>, kind: Option<&str>| Order::Attitude {
        mode: mode.into(),
        target_id: id.map(str::to_owned),
        target_type: kind.map(str::to_owned),
    };
    let nobody = Uuid::from_u128(1).to_string();
    for order in [
        control(f64::NAN, 0.0),
        control(f64::INFINITY, 0.0),
        control(0.5, f64::NEG_INFINITY),
        point("sideways", None, None),
        point("target", None, None),
        point("target", Some("Vulcan"), None),
        point("target", Some("Earth"), Some("galaxy")),
        point("target", Some(&nobody), Some("ship")),
        point("target", Some("Earth-Luna-L6"), Some("lagrange")),
        Order::Maneuver { maneuver: json!([]) },
        Order::Abort,
        Order::Jump { jumpgate_id: Uuid::nil() },
        Order::RuleRemove { rule_id: Uuid::nil() },
        Order::Reset { ship_class: Some("death_star".into()) },
        Order::Rename { name: "x".repeat(33) },
    ] {
        let refused = engine.order(ship, order.clone()).await;
        assert!(refused.is_err(), "{order:?}");
    }
    for order in [control(0.5, 0.0), Order::Despawn, Order::Abort] {
        let nowhere = engine.order(Uuid::from_u128(5), order).await;
        assert_eq!(nowhere, Err(OrderError::Missing("ship")));
    }
    let seen = engine.until(|seen| seen.tick > 3).await;
    let hull = &seen.ships[0].hull;
    assert_eq!((hull.thrust_level.to_bits(), hull.mode.word()), (0, "none"));
    // Too much is as much as there is.
    engine.order(ship, control(7.0, -9.0)).await.unwrap();
    let seen = engine.until(|seen| seen.ships[0].hull.thrust_level > 0.0).await;
    let hull = &seen.ships[0].hull;
    assert!((hull.thrust_level - 1.0).abs() < 1e-12 && (hull.rotation_input.x + 1.0).abs() < 1e-12);
    tokio::time::timeout(Duration::from_secs(20), engine.end()).await.unwrap();
});
