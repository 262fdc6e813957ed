//! The end of a room: closed by its Master or an operator, under traffic, or by time. No key stays behind.

use std::sync::Arc;
use std::time::Duration;

use rooms::{Caller, Proof};
use serde_json::json;
use testkit::on_every_store;

use crate::support::{Party, ask, device, int, said, trials};

on_every_store!(a_closed_room_leaves_no_key, |store| {
    // The printed user may not touch the foreign key below, which no table has.
    let store = testkit::as_default(&store);
    let (party, neighbour) = (Party::new(&store, 3, &[2]).await, Party::new(&store, 2, &[1]).await);
    party.start(3).await;
    party.open_item("r1", "i1").await;
    party.vote(0, "r1", "i1", &[]).await;
    party.master("FORCE_CLOSE_VOTE", json!({"round_id": "r1", "item_id": "i1"})).await;
    party.rooms.presence(&party.code, "server", "p0", rooms::Presence::Came).await.unwrap();
    // What a foreign writer left is found by the sweep; a code that only begins alike is not.
    ask(&*store, &["SET", &party.k("strange"), "x"]).await;
    ask(&*store, &["SET", &format!("room:{}X:meta", party.code), "x"]).await;
    assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "ok");
    let left = format!("room:{}:*", party.code);
    assert_eq!(ask(&*store, &["KEYS", &left]).await, kernel::Value::Array(vec![]));
    for own in ["online", "last", "rules", "next"] {
        assert_eq!(int(&*store, &["EXISTS", &format!("wk:rooms:{}:{own}", party.code)]).await, 0);
    }
    assert_eq!(int(&*store, &["EXISTS", &format!("room:{}X:meta", party.code)]).await, 1);
    assert_eq!(neighbour.keys().await.len(), 6);
    assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "room_not_found/room_not_found");
    assert_eq!(
        party.rooms.close_due(&party.code).await.map_err(|e| e.refused().message),
        Err("room_not_found")
    );
});

on_every_store!(only_the_key_or_an_operator_closes, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    for proof in [Proof::None, Proof::Key("wrong"), Proof::Key("")] {
        let caller = Caller { proof, ..Caller::default() };
        let refused = party.rooms.close(&party.code, &caller).await.unwrap_err().refused();
        assert_eq!(refused.message, "bad_master_key");
    }
    assert_eq!(party.keys().await.len(), 6);
    let operator = Caller { proof: Proof::Operator, ..Caller::default() };
    party.rooms.close(&party.code, &operator).await.unwrap();
    assert!(party.keys().await.is_empty());
    // Half a room can be cleared away by an operator alone.
    let party = Party::new(&store, 2, &[1]).await;
    ask(&*store, &["DEL", &party.k("game")]).await;
    assert_eq!(party.master("START_GAME", json!({})).await, "room_not_found/room_incomplete");
    assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "room_not_found/room_incomplete");
    party.rooms.close(&party.code, &operator).await.unwrap();
    assert!(party.keys().await.is_empty());
});

on_every_store!(closing_under_traffic_leaves_no_key, |store| {
    for trial in 0..trials(5, 200) {
        let party = Party::new(&store, 6, &[4]).await;
        party.start(6).await;
        party.open_item("r1", "i1").await;
        let writers: Vec<_> = (0..6)
            .map(|n| {
                let party = party.clone();
                tokio::spawn(async move {
                    loop {
                        // The embedded engine answers at once: let others run too.
                        tokio::task::yield_now().await;
                        let vote = party.vote(n, "r1", "i1", &[]).await;
                        let _ = party
                            .rooms
                            .presence(&party.code, "s", &format!("p{n}"), rooms::Presence::Came)
                            .await;
                        let take = party
                            .play(&device(n), "TAKE_PLAYER", json!({"player_id": format!("p{n}")}))
                            .await;
                        if vote.starts_with("room_not_found") && take.starts_with("room_not_found")
                        {
                            return;
                        }
                        assert!(!vote.starts_with("internal"), "{vote}");
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(3 + trial as u64 % 5)).await;
        assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "ok");
        for writer in writers {
            writer.await.unwrap();
        }
        assert!(party.keys().await.is_empty(), "{:?}", party.keys().await);
        assert_eq!(int(&*store, &["EXISTS", &format!("wk:rooms:{}:online", party.code)]).await, 0);
    }
});

on_every_store!(a_room_ends_after_twelve_hours_and_nothing_prolongs_it, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    let life = int(&*store, &["PTTL", &party.k("meta")]).await;
    assert!((43_199_000..=43_200_000).contains(&life), "{life}");
    let meta = party.json("meta").await;
    let span = meta["expires_at"].as_u64().unwrap() - meta["created_at"].as_u64().unwrap();
    assert_eq!(span, 43_200_000);
    party.start(2).await;
    party.clock.advance(Duration::from_secs(43_199));
    assert_eq!(party.vote(0, "r1", "i1", &[]).await, "VOTE_ACK not_in_vote");
    // The store's clock may be behind: what its own time says is over is over.
    party.clock.advance(Duration::from_secs(1));
    assert_eq!(party.vote(0, "r1", "i1", &[]).await, "room_expired/room_expired");
    assert_eq!(party.rooms.show(&party.code).await.unwrap_err().refused().message, "room_expired");
    ask(&*store, &["DEL", &party.k("meta")]).await;
    assert_eq!(party.vote(0, "r1", "i1", &[]).await, "room_not_found/room_not_found");
    let known = Caller {
        device: Some("device-0"),
        expires_at: meta["expires_at"].as_u64(),
        ..Caller::default()
    };
    let done = party.rooms.act(&party.code, &known, &rooms::Command::StartGame).await;
    assert_eq!(said(&done), "room_expired/room_expired", "the socket remembers when it ended");
});

on_every_store!(a_life_that_a_foreign_writer_took_away_is_given_back, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    ask(&*store, &["PERSIST", &party.k("meta")]).await;
    assert_eq!(
        party.play("device-0", "TAKE_PLAYER", json!({"player_id": "p0"})).await,
        "TAKE_PLAYER_OK"
    );
    party.lives_agree().await;
    ask(&*store, &["PERSIST", &party.k("meta")]).await;
    assert_eq!(party.play("device-0", "RENAME_PLAYER", json!({"new_name": "Ana"})).await, "ok");
    party.lives_agree().await;
});

on_every_store!(two_masters_closing_at_once_close_once, |store| {
    for _ in 0..trials(10, 100) {
        let party = Arc::new(Party::new(&store, 2, &[1]).await);
        let both: Vec<_> = (0..2)
            .map(|_| {
                let party = Arc::clone(&party);
                tokio::spawn(async move { party.master("ROOM_CLOSED", json!({})).await })
            })
            .collect();
        let mut said = Vec::new();
        for one in both {
            said.push(one.await.unwrap());
        }
        said.sort();
        assert_eq!(said, ["ok", "room_not_found/room_not_found"]);
    }
});
