//! Pilots who read slowly or stop in the middle of a state, and what they find when they go on.

use reqwest::Method;
use serde_json::json;
use testkit::on_every_store;
use tokio_tungstenite::tungstenite::Message;

use super::pilot::{Pilot, register};
use super::world::{leader, send};
use crate::support::Running;

async fn crowded(store: &std::sync::Arc<dyn kernel::Store>) -> Running {
    let running = leader(store, &[("galaxy.tick_rate", "100")]).await;
    for n in 0..60 {
        send(&running, Method::POST, "/api/admin/ships", json!({ "name": format!("S{n}") })).await;
    }
    running
}

/// More ticks than what the system's buffers hold of states that nobody reads; the last one.
async fn many_ticks(quick: &mut Pilot) -> u64 {
    let tick = |heard: &serde_json::Value| heard["tick"].as_u64();
    let begin = quick.wait("state").await["tick"].as_u64();
    tick(&quick.until(|heard| tick(heard) > begin.map(|begin| begin + 200)).await).unwrap()
}

on_every_store!(who_stops_in_the_middle_of_a_state_goes_on_with_whole_frames, |store| {
    let running = crowded(&store).await;
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let (mut slow, _) = Pilot::fly_narrow(&running, &wren).await;
    let (mut quick, _) = Pilot::fly(&running, &robin).await;
    many_ticks(&mut quick).await;
    // A state is half written now. What is said meanwhile is answered after it.
    for n in 0..5 {
        slow.raw(Message::Ping(vec![n].into())).await;
        slow.say(json!({ "type": "ping" })).await;
        slow.say(json!({ "type": "service", "service": "undock" })).await;
    }
    let end = many_ticks(&mut quick).await;
    let (mut states, mut last, mut pongs, mut errors) = (0, 0, 0, 0);
    while last < end || pongs < 5 || errors < 5 {
        // Each of them is whole, or this fails.
        let heard = slow.hear().await.expect("an open socket");
        match heard["type"].as_str().unwrap() {
            "state" => {
                let tick = heard["tick"].as_u64().unwrap();
                assert!(tick > last, "{tick} after {last}");
                assert_eq!(heard["ships"].as_array().unwrap().len(), 62);
                (last, states) = (tick, states + 1);
            }
            "pong" => pongs += 1,
            "error" => errors += 1,
            "player_joined" => {}
            other => panic!("{other}"),
        }
    }
    assert!(states < 250, "{states} states were queued for somebody who does not read");
});

on_every_store!(who_stops_in_the_middle_of_a_state_is_still_told_why_it_ends, |store| {
    let running = crowded(&store).await;
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let (mut slow, _) = Pilot::fly_narrow(&running, &wren).await;
    let (mut quick, _) = Pilot::fly(&running, &robin).await;
    many_ticks(&mut quick).await;
    for _ in 0..3 {
        slow.raw(Message::text("{")).await;
    }
    let mut errors = 0;
    while let Some(heard) = slow.hear().await {
        errors += usize::from(heard["type"] == "error");
    }
    assert_eq!((errors, slow.ended().await), (3, Some(1008)));
});
