//! Several servers on one store: one ticks, all have sockets, and who is online is exact.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use testkit::{on_cluster, on_every_store};

use super::pilot::{Pilot, register};
use super::world::{follower, leader, send, until};

/// A directory for accounts that several servers share.
struct Shared(std::path::PathBuf);

impl Shared {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("wk-galaxy-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&dir).unwrap();
        Shared(dir)
    }

    fn setting(&self) -> (&str, &str) {
        ("data", self.0.to_str().unwrap())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

on_every_store!(sockets_of_a_server_that_does_not_tick_are_fed_too, |store| {
    let data = Shared::new();
    let first = leader(&store, &[data.setting()]).await;
    let second = follower(&store, &[data.setting()]).await;
    let (wren, robin) = (register(&first, "wren").await, register(&second, "robin").await);
    let (mut near, _) = Pilot::fly(&first, &wren).await;
    let (mut far, _) = Pilot::fly(&second, &robin).await;
    let joined =
        near.until(|h| h["type"] == "player_joined" && h["player_id"] == robin.id.as_str()).await;
    assert_eq!(joined["username"], "robin");
    let state = far.until(|heard| heard["ship"].is_object()).await;
    assert_eq!(state["ships"].as_array().unwrap().len(), 2);
    far.until(|heard| heard["tick"].as_u64() > state["tick"].as_u64().map(|tick| tick + 5)).await;
    far.say(json!({ "type": "control", "thrust_level": 0.5 })).await;
    far.until(|heard| heard["ship"]["thrust_level"] == 0.5).await;
    far.say(json!({ "type": "service", "service": "undock" })).await;
    assert_eq!(far.wait("error").await["code"], "E031", "the engine's answer comes back");
    send(&first, Method::POST, "/api/admin/game/pause", json!(null)).await;
    far.wait("paused").await;
    send(&second, Method::POST, "/api/admin/game/resume", json!(null)).await;
    far.wait("resumed").await;
    near.wait("resumed").await;
    // The account ends on one server, the socket on the other.
    let path = format!("/api/admin/players/{}", robin.id);
    assert_eq!(send(&first, Method::DELETE, &path, json!(null)).await.0, 204);
    assert_eq!(far.ended().await, Some(1008));
});

on_every_store!(who_is_online_is_exact_over_two_servers, |store| {
    let data = Shared::new();
    let first = leader(&store, &[data.setting()]).await;
    let mut second = follower(&store, &[data.setting()]).await;
    let (wren, robin) = (register(&first, "wren").await, register(&first, "robin").await);
    let online = async |count: u64| {
        until(&first, "/api/status", |status| status["online"] == count).await;
    };
    let (mut wren_first, _) = Pilot::fly(&first, &wren).await;
    let (mut wren_second, _) = Pilot::fly(&second, &wren).await;
    let (mut robin_second, _) = Pilot::fly(&second, &robin).await;
    for pilot in [&mut wren_first, &mut wren_second, &mut robin_second] {
        pilot.wait("state").await;
    }
    online(2).await;
    drop(wren_first);
    // wren is still there on the second server.
    until(&first, "/api/admin/players", |page| page["items"][0]["online"] == true).await;
    online(2).await;
    // A server that stops takes its people along.
    second.stop.cancel();
    assert_eq!(wren_second.ended().await, Some(1001));
    second.done.take().unwrap().await.unwrap().unwrap();
    online(0).await;
    let left = first.store(&["HLEN", "{connections:online}:count"]).await;
    assert_eq!(left, kernel::Value::Int(0));
});

on_every_store!(another_server_leads_when_the_first_stops, |store| {
    let data = Shared::new();
    let mut first = leader(&store, &[data.setting()]).await;
    let second = leader_later(&store, &data).await;
    let wren = register(&first, "wren").await;
    let (mut pilot, _) = Pilot::fly(&second, &wren).await;
    let before = pilot.until(|heard| heard["ship"].is_object()).await;
    first.stop.cancel();
    first.done.take().unwrap().await.unwrap().unwrap();
    // The same socket goes on, fed by its own server now.
    pilot
        .until(|heard| heard["tick"].as_u64() > before["tick"].as_u64().map(|tick| tick + 10))
        .await;
    until(&second, "/api/admin/status", |status| status["leader"] == true).await;
    pilot.say(json!({ "type": "control", "thrust_level": 0.25 })).await;
    pilot.until(|heard| heard["ship"]["thrust_level"] == 0.25).await;
});

/// A server that would tick, if it could.
async fn leader_later(store: &Arc<dyn kernel::Store>, data: &Shared) -> crate::support::Running {
    follower(store, &[data.setting(), ("galaxy.engine", "true")]).await
}

on_cluster!(pilots_fly_on_a_cluster, |store, _cluster| {
    let data = Shared::new();
    let settings = [data.setting(), ("layout", "tagged")];
    let first = leader(&store, &settings).await;
    let second = follower(&store, &settings).await;
    let wren = register(&second, "wren").await;
    let (mut pilot, _) = Pilot::fly(&second, &wren).await;
    pilot.until(|heard| heard["ship"].is_object()).await;
    until(&first, "/api/status", |status| status["online"] == 1).await;
    drop(pilot);
    until(&first, "/api/status", |status| status["online"] == 0).await;
});
