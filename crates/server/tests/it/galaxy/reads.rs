//! What there is in the world, the pace of the game, what admins build: on the server that ticks and on one that does
//! not.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{on_cluster, on_every_store};

use super::world::{follower, leader, send, until};
use crate::support::{Running, start};

async fn code(running: &Running, method: Method, path: &str, body: Value) -> (u16, String) {
    let (status, answer) = send(running, method, path, body).await;
    (status, answer["error"]["code"].as_str().unwrap_or_default().to_owned())
}

async fn admin_events(running: &Running) -> Vec<Value> {
    let page = running.json("/api/events?module=galaxy").await;
    let all = page["items"].as_array().unwrap().clone();
    all.into_iter().filter(|event| event["stream"] == "galaxy:admin").collect()
}

on_every_store!(the_world_can_be_looked_at, |store| {
    let running = leader(&store, &[]).await;
    let status = until(&running, "/api/status", |status| status["tick"].as_u64() > Some(2)).await;
    assert_eq!((&status["paused"], &status["online"]), (&json!(false), &json!(0)));
    assert_eq!(status["registration_open"], true);
    let bodies = running.json("/api/bodies").await;
    assert_eq!(bodies["items"].as_array().unwrap().len(), 29);
    let earth = bodies["items"].as_array().unwrap().iter().find(|b| b["name"] == "Earth").unwrap();
    assert_eq!((&earth["parent"], &earth["type"]), (&json!("Sun"), &json!("planet")));
    assert!(earth["position"]["x"].is_f64() && earth["gm"].as_f64().unwrap() > 3.9e14);
    let first = running.json("/api/bodies?limit=20").await;
    let cursor = first["cursor"].as_str().unwrap();
    let rest = running.json(&format!("/api/bodies?limit=20&cursor={cursor}")).await;
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["cursor"]), (9, &json!(null)));
    let (made, ship) =
        send(&running, Method::POST, "/api/admin/ships", json!({ "name": "Wren" })).await;
    assert_eq!(made, 201);
    let id = ship["ship_id"].as_str().unwrap();
    let full = running.json(&format!("/api/ships/{id}")).await;
    assert_eq!((&full["name"], &full["reference_body"]), (&json!("Wren"), &json!("Earth")));
    assert_eq!((&full["is_npc"], &full["fuel"]), (&json!(true), &json!(15_000.0)));
    assert_eq!(running.json("/api/ships").await["items"][0]["ship_id"], *id);
    assert_eq!(running.json("/api/systems").await["items"][0]["ships"], 1);
    for (path, status, word) in [
        ("/api/ships/nobody", 404, "E014"),
        ("/api/ships/00000000-0000-4000-8000-000000000000", 404, "E014"),
        ("/api/ships?limit=0", 400, "bad_field"),
        ("/api/ships?cursor=x", 400, "bad_cursor"),
    ] {
        assert_eq!(
            code(&running, Method::GET, path, json!(null)).await,
            (status, word.to_owned()),
            "{path}"
        );
    }
});

on_every_store!(admins_change_the_pace_and_it_is_recorded, |store| {
    let running = leader(&store, &[]).await;
    let put = async |path: &str, body: Value| code(&running, Method::PUT, path, body).await;
    for bad in [json!(0), json!(-1), json!(100.5), json!(1e300)] {
        let body = json!({ "tick_rate": bad });
        assert_eq!(put("/api/admin/game/tick-rate", body).await, (400, "bad_field".into()));
    }
    for body in [json!({}), json!({ "tick_rate": "5" }), json!({ "tick_rate": null })] {
        assert_eq!(put("/api/admin/game/tick-rate", body).await, (400, "bad_json".into()));
    }
    let scale = json!({ "time_scale": 10 });
    let refused = put("/api/admin/game/time-scale", scale.clone()).await;
    assert_eq!(refused, (409, "conflict".into()), "time sync is on");
    let post = async |path: &str, body: Value| send(&running, Method::POST, path, body).await;
    post("/api/admin/game/time-sync", json!({ "enabled": false })).await;
    assert_eq!(put("/api/admin/game/time-scale", scale).await.0, 200);
    let (_, paused) = post("/api/admin/game/pause", json!(null)).await;
    assert_eq!((&paused["paused"], &paused["time_scale"]), (&json!(true), &json!(10.0)));
    let stored = running.store(&["GET", "game:paused"]).await;
    assert_eq!(stored, kernel::Value::BulkString(b"true".to_vec()));
    assert_eq!(running.json("/api/status").await["tick"], paused["tick"]);
    assert_eq!(post("/api/admin/game/resume", json!(null)).await.1["paused"], false);
    assert_eq!(put("/api/admin/game/tick-rate", json!({ "tick_rate": 50 })).await.0, 200);
    let kinds: Vec<_> =
        admin_events(&running).await.into_iter().map(|e| e["type"].clone()).collect();
    for kind in
        ["time_sync_changed", "time_scale_changed", "paused", "resumed", "tick_rate_changed"]
    {
        assert_eq!(kinds.iter().filter(|known| *known == kind).count(), 1, "{kind}: {kinds:?}");
    }
    let last = admin_events(&running).await.into_iter().find(|e| e["type"] == "tick_rate_changed");
    let body = &last.unwrap()["body"];
    assert_eq!((&body["old"], &body["new"]), (&json!(20.0), &json!(50.0)));
    assert_eq!(body["who"], "loopback");
});

on_every_store!(admins_build_and_remove, |store| {
    let running = leader(&store, &[]).await;
    let post = async |path: &str, body: Value| send(&running, Method::POST, path, body).await;
    let (made, station) =
        post("/api/admin/stations", json!({ "name": "Highport", "parent_body": "Earth" })).await;
    assert_eq!(made, 201);
    let gate = json!({ "name": "Gate", "parent_body": "Luna", "lagrange": "Earth-Luna-L4" });
    assert_eq!(post("/api/admin/jumpgates", gate).await.0, 201);
    assert_eq!(running.json("/api/stations").await["items"][0]["name"], "Highport");
    assert_eq!(running.json("/api/jumpgates").await["items"].as_array().unwrap().len(), 1);
    for (path, body, status) in [
        ("/api/admin/stations", json!({ "name": "", "parent_body": "Earth" }), 400),
        ("/api/admin/stations", json!({ "name": "X", "parent_body": "Vulcan" }), 404),
        (
            "/api/admin/stations",
            json!({ "name": "X", "parent_body": "Earth", "altitude": -1 }),
            400,
        ),
        ("/api/admin/jumpgates", json!({ "name": "X", "parent_body": "Luna" }), 400),
        ("/api/admin/ships", json!({ "name": "X", "ship_class": "tug" }), 400),
    ] {
        assert_eq!(post(path, body.clone()).await.0, status, "{path} {body}");
    }
    let id = station["station_id"].as_str().unwrap();
    let gone = format!("/api/admin/stations/{id}");
    assert_eq!(send(&running, Method::DELETE, &gone, json!(null)).await.0, 204);
    assert_eq!(send(&running, Method::DELETE, &gone, json!(null)).await.0, 404);
    assert_eq!(running.json("/api/stations").await["items"], json!([]));
});

on_every_store!(a_server_that_does_not_tick_reads_the_store_and_sends_orders, |store| {
    let first = leader(&store, &[]).await;
    let second = follower(&store, &[]).await;
    let status = second.json("/api/admin/status").await;
    assert_eq!((&status["leader"], &status["actual_rate"]), (&json!(false), &json!(null)));
    assert_eq!(status["restoring"], json!(null));
    let by = || kernel::Deadline::after(std::time::Duration::from_secs(5));
    store.call(kernel::Cmd::new().arg("SET").arg("game:restoring").arg("7"), by()).await.unwrap();
    assert_eq!(second.json("/api/admin/status").await["restoring"], "7");
    store.call(kernel::Cmd::new().arg("DEL").arg("game:restoring"), by()).await.unwrap();
    // Whoever is told that a ship is there finds it at once, at the server that ticks too.
    for _ in 0..20 {
        let (made, ship) =
            send(&second, Method::POST, "/api/admin/ships", json!({ "name": "Far" })).await;
        assert_eq!(made, 201, "{ship}");
        let path = format!("/api/ships/{}", ship["ship_id"].as_str().unwrap());
        assert_eq!(first.json(&path).await["name"], "Far");
        assert_eq!(second.json(&path).await["reference_body"], "Earth");
    }
    let bad = json!({ "tick_rate": 500 });
    let refused = code(&second, Method::PUT, "/api/admin/game/tick-rate", bad).await;
    assert_eq!(refused, (400, "bad_field".into()), "the engine's refusal comes back");
    let (paused, told) = send(&second, Method::POST, "/api/admin/game/pause", json!(null)).await;
    assert_eq!((paused, &told["paused"]), (200, &json!(true)));
    assert_eq!(first.json("/api/status").await["paused"], true);
});

on_every_store!(where_there_is_no_world_it_is_said, |store| {
    let running = start(store, &[]).await;
    assert_eq!(
        code(&running, Method::GET, "/api/status", json!(null)).await,
        (404, "no_world".into())
    );
    assert_eq!(send(&running, Method::POST, "/api/admin/game/pause", json!(null)).await.0, 404);
    let tiles = running.json("/api/overview").await;
    assert!(tiles.to_string().contains("There is no world yet"), "{tiles}");
    assert_eq!(send(&running, Method::POST, "/api/admin/game/init", json!(null)).await.0, 201);
    let again = code(&running, Method::POST, "/api/admin/game/init", json!(null)).await;
    assert_eq!(again, (409, "conflict".into()));
    // Nobody ticks it: an order is carried out all the same.
    let (done, told) = send(&running, Method::POST, "/api/admin/game/pause", json!(null)).await;
    assert_eq!((done, &told["paused"], &told["tick"]), (200, &json!(true), &json!(0)));
});

on_cluster!(the_game_is_served_on_a_cluster, |store, _cluster| {
    let first = leader(&store, &[("layout", "tagged")]).await;
    let second = follower(&store, &[("layout", "tagged")]).await;
    let (paused, _) = send(&second, Method::POST, "/api/admin/game/pause", json!(null)).await;
    assert_eq!((paused, &first.json("/api/status").await["paused"]), (200, &json!(true)));
});

/// Metres between two places of an answer.
fn apart(a: &Value, b: &Value) -> f64 {
    let part = |axis: &str| a[axis].as_f64().unwrap() - b[axis].as_f64().unwrap();
    (part("x").powi(2) + part("y").powi(2) + part("z").powi(2)).sqrt()
}

#[tokio::test]
async fn new_ships_appear_where_the_settings_say() {
    let store = testkit::open("memory").await;
    let place = [("galaxy.spawn_body", "luna"), ("galaxy.spawn_altitude", "250000.0")];
    let running = leader(&store, &place).await;
    send(&running, Method::POST, "/api/admin/game/pause", json!(null)).await;
    let made = send(&running, Method::POST, "/api/admin/ships", json!({ "name": "Wren" })).await;
    assert_eq!(made.0, 201);
    let ship = &running.json("/api/ships").await["items"][0];
    let bodies = running.json("/api/bodies").await;
    let luna = bodies["items"].as_array().unwrap().iter().find(|b| b["name"] == "Luna").unwrap();
    let high = apart(&ship["position"], &luna["position"]) - luna["radius"].as_f64().unwrap();
    assert!((high - 250_000.0).abs() < 10.0, "{high}");
    let status = running.json("/api/admin/status").await;
    assert_eq!(status["snapshots_failed"], 0);
    running.measures("worldkeep_galaxy_snapshots_failed 0").await;
    let wrong = ("galaxy.spawn_body", "Vulcan");
    let refused = start(testkit::open("memory").await, &[wrong]).await;
    let module = server::modules::MODULES.iter().find(|module| module.name == "galaxy");
    let before_serving = module.unwrap().start.unwrap();
    let why = before_serving(Arc::clone(&refused.app)).await.unwrap_err();
    assert!(why.contains(wrong.0) && why.contains(wrong.1), "{why}");
    for wrong in [("galaxy.spawn_altitude", "12"), ("galaxy.tick_rate", "101")] {
        let mut settings = server::settings::Settings::new();
        let told = settings.set(wrong.0, wrong.1, server::settings::Source::Default);
        let why = told.unwrap_err().to_string();
        assert!(why.contains(wrong.0) && why.contains(wrong.1), "{why}");
    }
}
