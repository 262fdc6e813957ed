//! A pilot's socket: who gets in, what it hears, what it may say.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::on_every_store;
use tokio_tungstenite::tungstenite::Message;

use super::pilot::{Pilot, register};
use super::world::{leader, send};

on_every_store!(a_pilot_is_welcomed_and_sees_the_world, |store| {
    let running = leader(&store, &[]).await;
    let wren = register(&running, "wren").await;
    let (mut pilot, welcome) = Pilot::fly(&running, &wren).await;
    assert_eq!((&welcome["player_id"], &welcome["ship_id"]), (&json!(wren.id), &json!(wren.ship)));
    assert_eq!((&welcome["tick_rate"], &welcome["paused"]), (&json!(20.0), &json!(false)));
    assert_eq!(welcome["config"]["bodies"].as_array().unwrap().len(), 29);
    let state = pilot.hear().await.unwrap();
    assert_eq!(state["type"], "state", "at once after the welcome");
    let state = pilot.until(|heard| heard["ship"].is_object()).await;
    assert_eq!(state["ship"]["ship_id"], wren.ship);
    assert_eq!(state["ships"][0]["ship_id"], wren.ship);
    assert!(
        state["ship"]["attitude"]["w"].is_f64() && state["bodies"][3]["velocity"]["x"].is_f64()
    );
    // Whoever keeps up gets each tick. A reader that a busy machine held up for longer than a tick gets the newest one.
    let last = std::cell::Cell::new(state["tick"].as_u64().unwrap());
    let follows = |tick: u64| last.replace(tick) + 1 == tick;
    pilot.until(|heard| heard["tick"].as_u64().is_some_and(follows)).await;
    // The pilot acts, and the world obeys.
    pilot.say(json!({ "type": "control", "thrust_level": 7, "rotation_input": { "pitch": 0, "yaw": 9, "roll": 0 } })).await;
    let state = pilot.until(|heard| heard["ship"]["thrust_level"] == 1.0).await;
    assert_eq!(state["ship"]["rotation_input"]["y"], 1.0, "inputs are clamped");
    pilot.say(json!({ "type": "attitude", "mode": "target", "target_id": "Luna", "target_type": "body" })).await;
    pilot.until(|heard| heard["ship"]["attitude_target_id"] == "Luna").await;
    pilot.say(json!({ "type": "attitude_hold", "enabled": true })).await;
    pilot.until(|heard| heard["ship"]["attitude_hold"] == true).await;
    pilot.say(json!({ "type": "rename", "name": "Jenny" })).await;
    pilot.until(|heard| heard["ship"]["name"] == "Jenny").await;
    pilot.say(json!({ "type": "ping" })).await;
    assert!(pilot.wait("pong").await["server_time"].is_u64());
    // Refusals come back with their numbers.
    for (message, code) in [
        (json!({ "type": "service", "service": "undock" }), "E031"),
        (json!({ "type": "service", "service": "dock" }), "E034"),
        (json!({ "type": "service", "service": "sell" }), "bad_field"),
        (json!({ "type": "attitude", "mode": "sideways" }), "bad_field"),
        (json!({ "type": "attitude", "mode": "target", "target_id": "Vulcan" }), "not_found"),
        (
            json!({ "type": "switch_ship", "ship_id": "00000000-0000-4000-8000-000000000000" }),
            "E014",
        ),
        (json!({ "type": "rename", "name": "" }), "E017"),
    ] {
        pilot.say(message.clone()).await;
        let refused = pilot.wait("error").await;
        assert_eq!(
            (&refused["code"], &refused["request"]),
            (&json!(code), &message["type"]),
            "{refused}"
        );
    }
    pilot.say(json!({ "type": "service", "service": "reset" })).await;
    pilot.until(|heard| heard["ship"]["thrust_level"] == 0.0).await;
});

on_every_store!(pause_and_others_are_told, |store| {
    let running = leader(&store, &[]).await;
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let (mut first, _) = Pilot::fly(&running, &wren).await;
    first.until(|heard| heard["ship"].is_object()).await;
    let (second, _) = Pilot::fly(&running, &robin).await;
    let joined =
        first.until(|h| h["type"] == "player_joined" && h["player_id"] == robin.id.as_str()).await;
    assert_eq!(joined["username"], "robin");
    // A second socket of the same player is no news, and neither is its end.
    let (twin, _) = Pilot::fly(&running, &robin).await;
    drop(twin);
    send(&running, Method::POST, "/api/admin/game/pause", json!(null)).await;
    first.wait("paused").await;
    send(&running, Method::POST, "/api/admin/game/resume", json!(null)).await;
    first.wait("resumed").await;
    drop(second);
    let left = first.wait("player_left").await;
    assert_eq!((&left["player_id"], &left["username"]), (&json!(robin.id), &json!("robin")));
    // Another ship of the fleet.
    let made = super::world::send_as(
        &running,
        Some(&wren.token),
        Method::POST,
        "/api/fleet",
        json!({ "name": "Spare" }),
    )
    .await;
    let spare = made.1["ship_id"].clone();
    first.say(json!({ "type": "switch_ship", "ship_id": spare })).await;
    first.until(|heard| heard["ship"]["ship_id"] == spare).await;
});

on_every_store!(a_view_asks_for_less, |store| {
    let running = leader(&store, &[]).await;
    for n in 0..4 {
        send(&running, Method::POST, "/api/admin/ships", json!({ "name": format!("S{n}") })).await;
    }
    let wren = register(&running, "wren").await;
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    pilot.until(|heard| heard["ships"].as_array().is_some_and(|ships| ships.len() == 5)).await;
    pilot.say(json!({ "type": "view", "rate": 2, "ships": 2 })).await;
    let first =
        pilot.until(|heard| heard["ships"].as_array().is_some_and(|ships| ships.len() == 2)).await;
    assert!(
        first["ships"].as_array().unwrap().iter().any(|s| s["ship_id"] == wren.ship.as_str()),
        "the own one is near"
    );
    let next = pilot.until(|heard| heard["type"] == "state").await;
    let ticks = next["tick"].as_u64().unwrap() - first["tick"].as_u64().unwrap();
    assert!(ticks >= 5, "half a second of twenty ticks: {ticks}");
    pilot.say(json!({ "type": "view", "rate": 0 })).await;
    assert_eq!(pilot.wait("error").await["code"], "bad_request");
});

on_every_store!(only_players_of_our_origin_get_in, |store| {
    let running = leader(&store, &[("origins", "https://game.example")]).await;
    let wren = register(&running, "wren").await;
    let auth = json!({ "type": "auth", "token": wren.token });
    for (origin, passes) in [
        (None, true),
        (Some("https://game.example"), true),
        (Some("http://localhost:5173"), true),
        (Some("https://evil.example"), false),
        (Some("http://localhost.evil.example"), false),
        (Some("null"), false),
    ] {
        let mut pilot = Pilot::open(&running, "/ws", origin).await;
        pilot.say(auth.clone()).await;
        if passes {
            assert_eq!(pilot.hear().await.unwrap()["type"], "welcome", "{origin:?}");
        } else {
            assert_eq!(pilot.ended().await, Some(4003), "{origin:?}");
        }
    }
    for first in [
        json!({ "type": "ping" }),
        json!({ "type": "auth" }),
        json!({ "type": "auth", "token": "x" }),
        json!({ "type": "auth", "token": format!("{}x", wren.token) }),
    ] {
        let mut pilot = Pilot::open(&running, "/ws/galaxy", None).await;
        pilot.say(first.clone()).await;
        assert_eq!(pilot.hear().await.unwrap()["type"], "error", "{first}");
        assert_eq!(pilot.ended().await, Some(4001), "{first}");
    }
});

on_every_store!(nonsense_is_answered_and_ends_the_socket, |store| {
    let running = leader(&store, &[]).await;
    let wren = register(&running, "wren").await;
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    for bad in
        [Message::text("{"), Message::binary(vec![1, 2, 3]), Message::text(r#"{"type":"fly"}"#)]
    {
        pilot.raw(bad).await;
        assert_eq!(pilot.wait("error").await["code"], "bad_request");
    }
    assert_eq!(pilot.ended().await, Some(1008));
    // A frame beyond 64 KiB.
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    pilot.raw(Message::text("x".repeat(70_000))).await;
    let code = pilot.ended().await;
    assert!(code == Some(1009) || code.is_none(), "{code:?}");
    // Faster than thirty a second: dropped, told, and no more than that.
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    for _ in 0..75 {
        pilot.say(json!({ "type": "ping" })).await;
    }
    let refused: Value = pilot.wait("error").await;
    assert_eq!(refused["code"], "too_many_requests");
    tokio::time::sleep(Duration::from_millis(200)).await;
    pilot.say(json!({ "type": "ping" })).await;
    pilot.wait("pong").await;
    // Others fly on.
    assert_eq!(running.json("/api/status").await["paused"], false);
});

on_every_store!(a_slow_reader_gets_the_newest_and_holds_nobody, |store| {
    let running = leader(&store, &[("galaxy.tick_rate", "100")]).await;
    for n in 0..60 {
        send(&running, Method::POST, "/api/admin/ships", json!({ "name": format!("S{n}") })).await;
    }
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let (mut slow, _) = Pilot::fly(&running, &wren).await;
    let (mut quick, _) = Pilot::fly(&running, &robin).await;
    let begin = quick.wait("state").await["tick"].as_u64().unwrap();
    // More than what the system's buffers hold of states that nobody reads.
    let end =
        quick.until(|h| h["tick"].as_u64() > Some(begin + 300)).await["tick"].as_u64().unwrap();
    let mut heard = 0;
    loop {
        let tick = slow.wait("state").await["tick"].as_u64().unwrap();
        heard += 1;
        if tick >= end {
            break;
        }
    }
    assert!(
        heard < 350,
        "{heard} of {} states were queued for somebody who does not read",
        end - begin
    );
});
