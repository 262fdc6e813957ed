//! What other services write, as players and admins see it: names, the ship that is flown, the gate of registration, who
//! is online.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::on_every_store;

use super::pilot::{Pilot, register};
use super::world::{leader, send, send_as, until};

on_every_store!(what_other_services_write_is_seen_by_players_and_admins, |store| {
    let running = leader(&store, &[]).await;
    let wren = register(&running, "wren").await;
    let more = json!({ "name": "Second" });
    let (made, second) =
        send_as(&running, Some(&wren.token), Method::POST, "/api/fleet", more).await;
    assert_eq!(made, 201, "{second}");
    let second = second["ship_id"].as_str().unwrap().to_owned();
    let (mut pilot, welcome) = Pilot::fly(&running, &wren).await;
    assert_eq!(welcome["ship_id"], wren.ship.as_str());
    pilot.until(|heard| heard["ship"]["ship_id"] == wren.ship.as_str()).await;

    // The players service chose another ship: the socket follows. One that is not theirs is left alone.
    let key = format!("player:{}:active_ship", wren.id);
    running.store(&["SET", &key, &uuid::Uuid::new_v4().to_string()]).await;
    running.store(&["SET", &key, &second]).await;
    pilot.until(|heard| heard["ship"]["ship_id"] == second.as_str()).await;

    // The gateway gave it a name.
    running.store(&["HSET", &format!("ship:{second}"), "name", "Dun Cow"]).await;
    pilot.until(|heard| heard["ship"]["name"] == "Dun Cow").await;
    let path = format!("/api/ships/{second}");
    let shown = send_as(&running, Some(&wren.token), Method::GET, &path, Value::Null).await.1;
    assert_eq!(shown["name"], "Dun Cow");
    let fleet =
        send_as(&running, Some(&wren.token), Method::GET, "/api/fleet", Value::Null).await.1;
    assert_eq!(fleet["items"][1]["name"], "Dun Cow", "{fleet}");
    let player = format!("/api/admin/players/{}", wren.id);
    assert_eq!(running.json(&player).await["ships"][1]["name"], "Dun Cow");

    // Somebody closed the gate, and another gateway has a player.
    running.store(&["SET", "game:registration_open", "false"]).await;
    let body = json!({ "username": "robin", "password": "long enough" });
    let (status, told) = send(&running, Method::POST, "/api/auth/register", body).await;
    assert_eq!((status, &told["error"]["code"]), (403, &json!("E020")));
    running.store(&["SADD", "connections:online", &uuid::Uuid::new_v4().to_string()]).await;
    until(&running, "/api/status", |status| status["online"] == 2).await;

    // An operator at the store pauses the game.
    running.store(&["SET", "game:paused", "true"]).await;
    pilot.wait("paused").await;
    until(&running, "/api/admin/status", |status| status["paused"] == true).await;
    running.store(&["SET", "game:paused", "false"]).await;
    pilot.wait("resumed").await;
});
