//! Rules over HTTP, and snapshots: taken, listed, put back.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::on_every_store;

use super::pilot::{Pilot, register};
use super::world::{follower, leader, send, send_as, until};

fn rule(name: &str) -> Value {
    json!({
        "name": name, "mode": "once", "priority": 10,
        "trigger": { "conditions": [{ "field": "immediate", "op": "==", "value": true }], "logic": "AND" },
        "actions": [{ "action": "alert", "message": "all is well" }],
    })
}

on_every_store!(a_pilot_leaves_something_to_the_ship, |store| {
    let running = leader(&store, &[]).await;
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    pilot.until(|heard| heard["ship"].is_object()).await;
    let path = format!("/api/ships/{}/automation", wren.ship);
    let ask = async |token: &str, method: Method, path: &str, body: Value| {
        send_as(&running, Some(token), method, path, body).await
    };
    let (made, told) = ask(&wren.token, Method::POST, &path, rule("Hail")).await;
    assert_eq!((made, &told["name"]), (201, &json!("Hail")), "{told}");
    let one = format!("{path}/{}", told["rule_id"].as_str().unwrap());
    let alert = pilot.wait("alert").await;
    assert_eq!((&alert["message"], &alert["ship_id"]), (&json!("all is well"), &json!(wren.ship)));
    // It acted once and switched itself off.
    let seen = until(&running, &one, |rule| rule["enabled"] == false).await;
    assert_eq!(seen["mode"], "once");
    let mut other = rule("Other");
    other["enabled"] = false.into();
    assert_eq!(ask(&wren.token, Method::PUT, &one, other).await.1["name"], "Other");
    let listed = ask(&wren.token, Method::GET, &path, Value::Null).await.1;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    for (method, path) in [(Method::GET, &path), (Method::DELETE, &one)] {
        let (status, told) = ask(&robin.token, method, path, Value::Null).await;
        assert_eq!((status, &told["error"]["code"]), (404, &json!("E014")), "not theirs");
    }
    for bad in [
        json!({}),
        json!({ "name": "x", "trigger": {}, "actions": [] }),
        json!({ "name": "x", "trigger": rule("x")["trigger"], "actions": [{ "action": "explode" }] }),
        json!({ "name": "", "trigger": rule("x")["trigger"], "actions": rule("x")["actions"] }),
    ] {
        assert_eq!(ask(&wren.token, Method::POST, &path, bad.clone()).await.0, 400, "{bad}");
    }
    assert_eq!(ask(&wren.token, Method::DELETE, &one, Value::Null).await.0, 204);
    assert_eq!(ask(&wren.token, Method::DELETE, &one, Value::Null).await.0, 404);
});

on_every_store!(the_world_goes_back_to_a_snapshot, |store| {
    let dir = std::env::temp_dir().join(format!("wk-galaxy-{}", uuid::Uuid::new_v4()));
    let data = ("data", dir.to_str().unwrap());
    let running = leader(&store, &[data]).await;
    send(&running, Method::POST, "/api/admin/ships", json!({ "name": "Wren" })).await;
    let (made, kept) = send(&running, Method::POST, "/api/admin/snapshots", Value::Null).await;
    assert_eq!(made, 201, "{kept}");
    let other = follower(&store, &[data]).await;
    send(&other, Method::POST, "/api/admin/ships", json!({ "name": "Late" })).await;
    assert_eq!(running.json("/api/ships").await["items"].as_array().unwrap().len(), 2);
    // The newest first, on every server, page by page.
    let (made, newer) = send(&other, Method::POST, "/api/admin/snapshots", Value::Null).await;
    assert_eq!(made, 201, "{newer}");
    let page = other.json("/api/admin/snapshots?limit=1").await;
    assert_eq!(page["items"][0]["id"], newer["id"]);
    let cursor = page["cursor"].as_str().unwrap();
    let next = other.json(&format!("/api/admin/snapshots?limit=1&cursor={cursor}")).await;
    assert!(next["items"][0]["id"].as_i64() < newer["id"].as_i64());
    let path = format!("/api/admin/snapshots/{}/restore", kept["id"]);
    let (done, status) = send(&running, Method::POST, &path, Value::Null).await;
    assert_eq!((done, &status["paused"]), (200, &json!(true)), "{status}");
    assert_eq!(status["tick"], kept["tick_number"]);
    let ships = running.json("/api/ships").await;
    assert_eq!(
        (ships["items"].as_array().unwrap().len(), &ships["items"][0]["name"]),
        (1, &json!("Wren"))
    );
    for bad in ["x", "999999", "-1"] {
        let path = format!("/api/admin/snapshots/{bad}/restore");
        assert_eq!(send(&running, Method::POST, &path, Value::Null).await.0, 404, "{bad}");
    }
    send(&running, Method::POST, "/api/admin/reset", Value::Null).await;
    assert_eq!(running.json("/api/ships").await["items"], json!([]));
    drop((running, other));
    let _ = std::fs::remove_dir_all(&dir);
});

on_every_store!(a_ship_flies_a_maneuver_and_everybody_sees_its_orbit, |store| {
    let running = leader(&store, &[]).await;
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let (orbit, path) =
        (format!("/api/ships/{}/orbit", wren.ship), format!("/api/ships/{}/maneuver", wren.ship));
    let ask = async |token: &str, method: Method, path: &str, body: Value| {
        send_as(&running, Some(token), method, path, body).await
    };
    let (status, seen) = ask(&robin.token, Method::GET, &orbit, Value::Null).await;
    assert_eq!(status, 200, "{seen}");
    assert_eq!(seen["reference_body"], "Earth");
    assert!((seen["altitude"].as_f64().unwrap() - 4e5).abs() < 2e3, "{seen}");
    assert!((seen["period"].as_f64().unwrap() - 5_545.0).abs() < 5.0, "{seen}");
    assert!(seen["encounter"].is_null() && seen["maneuver"].is_null(), "{seen}");
    let lift = json!({ "action": "transfer", "target_altitude": 2e6 });
    assert_eq!(ask(&robin.token, Method::POST, &path, lift.clone()).await.0, 404, "not theirs");
    let (status, flown) = ask(&wren.token, Method::POST, &path, lift.clone()).await;
    assert_eq!((status, &flown["type"]), (201, &json!("transfer")), "{flown}");
    assert_eq!(ask(&wren.token, Method::POST, &path, lift).await.0, 409, "one at a time");
    let planned = until(&running, &orbit, |seen| seen["maneuver"]["burns"][1].is_object()).await;
    let burn = &planned["maneuver"]["burns"][0];
    assert!((burn["delta_v"].as_f64().unwrap() - 395.0).abs() < 20.0, "{burn}");
    assert_eq!(ask(&wren.token, Method::DELETE, &path, Value::Null).await.0, 204);
    assert_eq!(ask(&wren.token, Method::DELETE, &path, Value::Null).await.0, 409);
    for (bad, status) in [
        (json!({ "action": "warp" }), 400),
        (json!({ "action": "transfer" }), 400),
        (json!({ "action": "plane_change", "inclination": 200 }), 400),
        (json!({ "action": "transfer", "target_altitude": 4e5 }), 409),
    ] {
        let (got, told) = ask(&wren.token, Method::POST, &path, bad.clone()).await;
        assert_eq!(got, status, "{bad}: {told}");
    }
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    let keep = json!({ "action": "station_keeping", "target_altitude": 4e5 });
    pilot.say(json!({ "type": "maneuver", "maneuver": keep })).await;
    until(&running, &orbit, |seen| seen["maneuver"]["type"] == "station_keeping").await;
    pilot.say(json!({ "type": "abort" })).await;
    until(&running, &orbit, |seen| seen["maneuver"]["status"] == "cancelled").await;
});
