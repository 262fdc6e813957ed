//! Time on a pilot's socket, by a clock that the test moves: login, silence, the end of a token.

use std::sync::Arc;
use std::time::Duration;

use galaxy::{Claims, Signer};
use kernel::{Clock as _, FakeClock, Store, SystemClock};
use reqwest::Method;
use serde_json::json;
use testkit::on_every_store;

use super::pilot::{Pilot, register};
use super::world::send;
use crate::support::{Running, start_at};

const KEY: &str = "a key of thirty-two bytes or more, for tests";

/// A world that stands still: nobody ticks it.
async fn still(store: Arc<dyn Store>) -> (Running, FakeClock) {
    let clock = FakeClock::at(SystemClock::new().now_ms());
    let settings = [("galaxy.logins_per_minute", "0"), ("jwt_key", KEY)];
    let running = start_at(store, &settings, Arc::new(clock.clone())).await;
    assert_eq!(send(&running, Method::POST, "/api/admin/game/init", json!(null)).await.0, 201);
    (running, clock)
}

async fn alive(pilot: &mut Pilot) {
    pilot.say(json!({ "type": "ping" })).await;
    pilot.wait("pong").await;
}

on_every_store!(who_does_not_log_in_within_five_seconds_is_closed, |store| {
    let (running, clock) = still(store).await;
    let mut pilot = Pilot::open(&running, "/ws/galaxy", None).await;
    let mut ended = std::pin::pin!(pilot.ended());
    // The server may begin to wait only after the clock was moved: then it is moved again.
    let code = loop {
        tokio::select! {
            code = &mut ended => break code,
            () = tokio::time::sleep(Duration::from_millis(100)) => clock.advance(Duration::from_secs(5)),
        }
    };
    assert_eq!(code, Some(4001));
});

on_every_store!(a_minute_of_silence_ends_a_socket_and_any_message_prolongs_it, |store| {
    let (running, clock) = still(store).await;
    let wren = register(&running, "wren").await;
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    pilot.wait("state").await;
    for _ in 0..3 {
        clock.advance(Duration::from_millis(59_900));
        alive(&mut pilot).await;
    }
    let online = running.store(&["SISMEMBER", "connections:online", &wren.id]).await;
    assert_eq!(online, kernel::Value::Int(1));
    clock.advance(Duration::from_secs(59));
    tokio::time::sleep(Duration::from_millis(50)).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(pilot.ended().await, Some(4008), "between 60 and 61 seconds after the last message");
    testkit::eventually("nobody is online", async || {
        running.json("/api/status").await["online"] == 0
    })
    .await;
});

on_every_store!(a_token_is_renewed_an_hour_before_its_end, |store| {
    let (running, clock) = still(store).await;
    let mut wren = register(&running, "wren").await;
    let now_s = clock.now_ms() / 1_000;
    let issue = |exp: u64| {
        let player_id = wren.id.parse().unwrap();
        // As another program makes them, without what is ours alone.
        let (username, is_admin, iat_ms, login) = ("wren".into(), false, None, None);
        let claims = Claims { player_id, username, is_admin, iat: now_s, exp, iat_ms, login };
        Signer::new(KEY.as_bytes()).unwrap().issue(&claims)
    };
    let (soon, over) = (issue(now_s + 3_600 + 30), issue(now_s - 1));
    wren.token = over;
    let mut pilot = Pilot::open(&running, "/ws/galaxy", None).await;
    pilot.say(json!({ "type": "auth", "token": wren.token })).await;
    assert_eq!(pilot.wait("error").await["code"], "E006");
    assert_eq!(pilot.ended().await, Some(4001));
    wren.token = soon;
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    alive(&mut pilot).await;
    clock.advance(Duration::from_secs(31));
    let renewed = pilot.wait("token_refresh").await;
    wren.token = renewed["token"].as_str().unwrap().to_owned();
    let (_, welcome) = Pilot::fly(&running, &wren).await;
    assert!(welcome["token_ends"].as_u64().unwrap() >= (now_s + 24 * 3_600) * 1_000);
});
