//! Votes: who may, what counts, when it closes, by whom; deadlines and healing.

use std::time::Duration;

use serde_json::json;
use testkit::on_every_store;

use crate::support::{Party, ask, device, int};

on_every_store!(the_reasons_of_a_vote_come_in_their_order, |store| {
    let party = Party::new(&store, 4, &[3]).await;
    assert_eq!(party.vote(0, "r1", "i1", &[]).await, "not_in_phase/not_in_phase");
    party.start(4).await;
    party.master("FREE_PLAYER", json!({"player_id": "p3"})).await;
    assert_eq!(party.vote(0, "r1", "i1", &[]).await, "VOTE_ACK not_in_vote");
    party.open_item("r1", "i1").await;
    assert_eq!(party.vote(0, "r1", "i2", &[]).await, "VOTE_ACK late");
    assert_eq!(party.vote(9, "r1", "i1", &[]).await, "VOTE_ACK not_claimed");
    let other = json!({"round_id": "r1", "item_id": "i1", "player_id": "p1", "selections": []});
    assert_eq!(party.play(&device(0), "SUBMIT_VOTE", other).await, "VOTE_ACK not_claimed");
    party.play(&device(3), "TAKE_PLAYER", json!({"player_id": "p3"})).await;
    assert_eq!(party.vote(3, "r1", "i1", &["s0"]).await, "VOTE_ACK not_expected_voter");
    assert_eq!(party.vote(0, "r1", "i1", &["s0", "nobody"]).await, "VOTE_ACK too_many");
    assert_eq!(party.vote(0, "r1", "i1", &["nobody"]).await, "VOTE_ACK invalid_selection");
    assert_eq!(party.vote(0, "r1", "i1", &["s0"]).await, "VOTE_ACK");
    assert_eq!(party.vote(0, "r1", "i1", &["s1"]).await, "VOTE_ACK", "the last one counts");
    assert_eq!(party.hash("votes:r1:i1").await.len(), 1);
    assert!(party.hash("votes:r1:i1").await["p0"].starts_with(r#"{"selections":["s1"],"ts":"#));
    party.vote(1, "r1", "i1", &["s1"]).await;
    party.vote(2, "r1", "i1", &["s1"]).await;
    assert_eq!(party.vote(0, "r1", "i1", &["s0"]).await, "VOTE_ACK late");
    assert_eq!(party.vote(0, "r1", "i2", &["s0"]).await, "VOTE_ACK not_in_vote");
    assert_eq!(party.hash("scores").await["p0"], "1", "counted once, with the last vote");
    assert_eq!(party.hash("scores").await["p3"], "0");
    // Twice the same sender, where two may be chosen.
    for item in ["i1", "i2"] {
        party.master("END_ITEM", json!({"round_id": "r1", "item_id": item})).await;
        party.open_item("r1", if item == "i1" { "i2" } else { "i3" }).await;
        if item == "i1" {
            for n in 0..4 {
                party.vote(n, "r1", "i2", &[]).await;
            }
        }
    }
    assert_eq!(party.vote(0, "r1", "i3", &["s0", "s0"]).await, "VOTE_ACK invalid_selection");
});

on_every_store!(a_forced_close_counts_the_missing_as_nothing, |store| {
    let party = Party::new(&store, 3, &[1]).await;
    party.start(3).await;
    let force = |delay: u64| {
        party.master(
            "FORCE_CLOSE_VOTE",
            json!({"round_id": "r1", "item_id": "i1", "delay_ms": delay}),
        )
    };
    assert_eq!(force(0).await, "conflict/bad_status");
    party.open_item("r1", "i1").await;
    party.vote(1, "r1", "i1", &["s1"]).await;
    assert_eq!(force(10_000).await, "ok");
    let first: u64 = party.get("vote_deadline").await.parse().unwrap();
    assert_eq!(first, kernel::Clock::now_ms(&*party.clock) + 10_000);
    party.lives_agree().await;
    assert_eq!(force(20_000).await, "VOTE_FORCE_CLOSE_STARTED", "it is only brought forward");
    assert_eq!(party.get("vote_deadline").await, first.to_string());
    assert_eq!(force(5_000).await, "ok");
    assert_eq!(party.get("vote_deadline").await, (first - 5_000).to_string());
    assert_eq!(int(&*store, &["ZCARD", "wk:rooms:due"]).await, 2, "one timer per deadline");
    let other = json!({"round_id": "r1", "item_id": "i9", "delay_ms": 0});
    assert_eq!(party.master("FORCE_CLOSE_VOTE", other).await, "bad_request/not_current_item");
    // Too early: the timer is told when to come again.
    assert_eq!(party.rooms.close_due(&party.code).await.unwrap(), Some(first - 5_000));
    party.clock.advance(Duration::from_secs(5));
    assert_eq!(party.rooms.close_due(&party.code).await.unwrap(), None);
    assert_eq!(party.json("game").await["status"], "reveal_wait");
    assert_eq!(party.get("vote_deadline").await, "");
    assert_eq!(party.hash("votes:r1:i1").await.len(), 1, "no field for the missing");
    assert_eq!(party.hash("scores").await["p1"], "1");
    assert_eq!(party.hash("scores").await["p0"], "0");
    assert_eq!(party.rooms.close_due(&party.code).await.unwrap(), None, "and never twice");
    assert_eq!(party.hash("scores").await["p1"], "1");
});

on_every_store!(any_living_server_serves_a_forced_close, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.start(2).await;
    party.open_item("r1", "i1").await;
    let force = json!({"round_id": "r1", "item_id": "i1", "delay_ms": 1000});
    assert_eq!(party.master("FORCE_CLOSE_VOTE", force).await, "ok");
    party.clock.advance(Duration::from_secs(1));
    let keys = party.rooms.deadline_timers();
    let timers = kernel::Timers::new(
        store.clone(),
        party.clock.clone(),
        kernel::timers::Scopes::One,
        move |_| Some(keys.clone()),
    );
    let due = timers.take("", crate::support::soon()).await.unwrap();
    assert_eq!(due.len(), 1);
    let verdict = party.rooms.serve_deadline(&due[0]).await;
    assert_eq!(verdict, kernel::Verdict::Done);
    assert_eq!(party.json("game").await["status"], "reveal_wait");
});

on_every_store!(a_vote_that_a_dead_writer_left_open_is_closed_by_the_next_reader, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.start(2).await;
    party.open_item("r1", "i1").await;
    for player in ["p0", "p1"] {
        let vote = r#"{"selections":["s1"],"ts":1}"#;
        ask(&*store, &["HSET", &party.k("votes:r1:i1"), player, vote]).await;
    }
    let state = party.state(None, true).await;
    assert_eq!(state["game"]["status"], "reveal_wait");
    assert_eq!(state["game"]["current_vote_results"]["players"][0]["points_gained"], 1);
    assert_eq!(party.hash("scores").await["p1"], "1");
    party.lives_agree().await;
    assert_eq!(party.state(None, true).await["scores"]["p0"], 1, "once");
});

on_every_store!(a_freed_player_may_be_taken_over_and_vote, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.start(2).await;
    party.open_item("r1", "i1").await;
    assert_eq!(party.master("FREE_PLAYER", json!({"player_id": "p0"})).await, "ok");
    assert_eq!(party.vote(0, "r1", "i1", &["s1"]).await, "VOTE_ACK not_claimed");
    assert_eq!(
        party.play(&device(7), "TAKE_PLAYER", json!({"player_id": "p0"})).await,
        "TAKE_PLAYER_OK"
    );
    assert_eq!(party.vote(7, "r1", "i1", &["s1"]).await, "VOTE_ACK");
    party.vote(1, "r1", "i1", &[]).await;
    assert_eq!(party.hash("scores").await["p0"], "1");
});

on_every_store!(a_reel_without_anybody_to_vote_stays_closed, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.start(2).await;
    for player in ["p0", "p1"] {
        party.master("FREE_PLAYER", json!({"player_id": player})).await;
    }
    let open = json!({"round_id": "r1", "item_id": "i1"});
    assert_eq!(party.master("REEL_OPENED", open).await, "conflict/no_voters");
});
