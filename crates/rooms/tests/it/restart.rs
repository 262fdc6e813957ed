//! A restart in every state: what a new process reads from the directory is the very same screen.

use rooms::{Caller, Proof, Rooms};
use serde_json::json;

use crate::support::{Party, device};

async fn screens(rooms: &Rooms, party: &Party) -> Vec<String> {
    let mut seen = Vec::new();
    for (device, proof) in
        [(Some("device-0"), Proof::None), (None, Proof::Key(&party.key)), (None, Proof::None)]
    {
        let caller = Caller { device, proof, expires_at: None };
        seen.push(rooms.sync(&party.code, &caller).await.unwrap().reply.payload.get().to_owned());
    }
    seen
}

#[tokio::test]
async fn a_restart_in_every_state_shows_the_same_screens() {
    let dir = tempfile::tempdir().unwrap();
    let place = format!("embedded:{}", dir.path().display());
    let store = testkit::open(&place).await;
    let mut party = Party::new(&store, 2, &[2]).await;
    drop(store);
    let item = |n: usize| json!({"round_id": "r1", "item_id": format!("i{n}")});
    let vote =
        |n: usize| json!({"round_id": "r1", "item_id": format!("i{n}"), "selections": ["s1"]});
    let steps: Vec<(Option<usize>, &str, serde_json::Value)> = vec![
        (Some(0), "TAKE_PLAYER", json!({"player_id": "p0"})),
        (Some(1), "TAKE_PLAYER", json!({"player_id": "p1"})),
        (None, "START_GAME", json!({})),
        (None, "REEL_OPENED", item(1)),
        (Some(0), "SUBMIT_VOTE", vote(1)),
        (None, "FORCE_CLOSE_VOTE", item(1)),
        (Some(1), "SUBMIT_VOTE", vote(1)),
        (None, "END_ITEM", item(1)),
        (None, "REEL_OPENED", item(2)),
        (Some(0), "SUBMIT_VOTE", vote(2)),
        (Some(1), "SUBMIT_VOTE", vote(2)),
        (None, "END_ITEM", item(2)),
        (None, "START_NEXT_ROUND", json!({})),
    ];
    for (who, kind, payload) in steps {
        let said = match who {
            Some(n) => party.play(&device(n), kind, payload).await,
            None => party.master(kind, payload).await,
        };
        assert!(!said.contains('/'), "{kind}: {said}");
        let before = screens(&party.rooms, &party).await;
        // The process ends; another one opens the directory.
        let clock = party.clock.clone();
        party.rooms = Rooms::new(testkit::open("memory").await, clock.clone(), party.layout);
        party.store = testkit::open("memory").await;
        let store = reopen(&place).await;
        party.rooms = Rooms::new(store.clone(), clock, party.layout);
        party.store = store;
        assert_eq!(screens(&party.rooms, &party).await, before, "after {kind}");
    }
}

/// The directory has one owner at a time; the old one lets go when its last handle is gone.
async fn reopen(place: &str) -> std::sync::Arc<dyn kernel::Store> {
    for _ in 0..500 {
        match std::panic::AssertUnwindSafe(link_open(place)).await {
            Some(store) => return store,
            None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    }
    testkit::open(place).await
}

async fn link_open(place: &str) -> Option<std::sync::Arc<dyn kernel::Store>> {
    tokio::spawn({
        let place = place.to_owned();
        async move { testkit::open(&place).await }
    })
    .await
    .ok()
}
