//! Rules of a room: votes that close by themselves, and people who come late.

use std::time::Duration;

use serde_json::json;
use testkit::{on_cluster, on_every_store};

use crate::support::{Party, device, int};

async fn timers(party: &Party) -> Vec<kernel::Timer> {
    let keys = party.rooms.deadline_timers();
    let timers = kernel::Timers::new(
        party.store.clone(),
        party.clock.clone(),
        kernel::timers::Scopes::One,
        move |_| Some(keys.clone()),
    );
    timers.take("", crate::support::soon()).await.unwrap()
}

/// A vote ends at its time, served by whoever lives, and the next one has its own time.
async fn closes_by_itself(party: &Party) {
    assert_eq!(party.master("SET_RULES", json!({"vote_ms": 20_000})).await, "ok");
    party.start(2).await;
    party.open_item("r1", "i1").await;
    let ends: u64 = party.get("vote_deadline").await.parse().unwrap();
    assert_eq!(ends, kernel::Clock::now_ms(&*party.clock) + 20_000);
    party.lives_agree().await;
    let state = party.state(Some(&device(0)), false).await;
    assert_eq!(state["game"]["force_close_ends_at_ms"], ends);
    assert_eq!(state["rules"], json!({"vote_ms": 20_000, "latecomers": false}));
    assert!(timers(party).await.is_empty(), "nothing is due yet");
    party.vote(0, "r1", "i1", &["s1"]).await;
    party.clock.advance(Duration::from_secs(20));
    let due = timers(party).await;
    assert_eq!(due.len(), 1);
    assert_eq!(party.rooms.serve_deadline(&due[0]).await, kernel::Verdict::Done);
    assert_eq!(party.json("game").await["status"], "reveal_wait");
    assert_eq!(party.hash("scores").await["p0"], "1");
    let place = json!({"round_id": "r1", "item_id": "i1"});
    assert_eq!(party.master("END_ITEM", place).await, "ok");
    assert_eq!(party.master("SET_RULES", json!({"vote_ms": 0})).await, "ok");
    party.open_item("r1", "i2").await;
    assert_eq!(party.get("vote_deadline").await, "", "the time was taken away");
}

on_every_store!(a_vote_with_a_time_closes_by_itself, |store| {
    closes_by_itself(&Party::new(&store, 2, &[2]).await).await;
});

on_cluster!(a_vote_with_a_time_closes_by_itself_on_a_cluster, |store, _cluster| {
    closes_by_itself(&Party::tagged(&store, 2, &[2]).await).await;
});

on_every_store!(all_votes_end_it_earlier_and_the_host_may_too, |store| {
    let party = Party::new(&store, 2, &[2]).await;
    assert_eq!(party.master("SET_RULES", json!({"vote_ms": 60_000})).await, "ok");
    party.start(2).await;
    party.open_item("r1", "i1").await;
    let place = |delay: u64| json!({"round_id": "r1", "item_id": "i1", "delay_ms": delay});
    let ends: u64 = party.get("vote_deadline").await.parse().unwrap();
    assert_eq!(party.master("FORCE_CLOSE_VOTE", place(10_000)).await, "ok");
    assert_eq!(party.get("vote_deadline").await, (ends - 50_000).to_string());
    for n in 0..2 {
        party.vote(n, "r1", "i1", &[]).await;
    }
    assert_eq!(party.json("game").await["status"], "reveal_wait");
    assert_eq!(party.get("vote_deadline").await, "");
    // Timers of a vote that is over find nothing to do, also when the next one is open.
    assert_eq!(party.master("END_ITEM", json!({"round_id": "r1", "item_id": "i1"})).await, "ok");
    party.clock.advance(Duration::from_secs(50));
    party.open_item("r1", "i2").await;
    let now = kernel::Clock::now_ms(&*party.clock);
    for timer in timers(&party).await {
        let verdict = party.rooms.serve_deadline(&timer).await;
        assert_eq!(verdict, kernel::Verdict::Again(now + 60_000));
    }
    assert_eq!(party.json("game").await["status"], "vote");
});

on_every_store!(rules_are_the_hosts_and_have_bounds, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    let before = party.state(None, false).await;
    assert_eq!(before["rules"], json!({"vote_ms": null, "latecomers": false}));
    let key = format!("wk:rooms:{}:rules", party.code);
    assert_eq!(int(&*store, &["EXISTS", &key]).await, 0, "no rules, no key");
    for bad in [1, 4_999, 600_001] {
        let said = party.master("SET_RULES", json!({"vote_ms": bad})).await;
        assert_eq!(said, "bad_request/rules_invalid");
    }
    let phone = party.play(&device(0), "SET_RULES", json!({"vote_ms": 5000})).await;
    assert_eq!(phone, "forbidden/bad_master_key");
    assert_eq!(party.master("SET_RULES", json!({"latecomers": true})).await, "ok");
    assert_eq!(party.master("SET_RULES", json!({"vote_ms": 5000})).await, "ok");
    let after = party.state(None, false).await;
    assert_eq!(
        after["rules"],
        json!({"vote_ms": 5000, "latecomers": true}),
        "what is left out stays"
    );
    let life = int(&*store, &["PTTL", &key]).await;
    assert!((life - int(&*store, &["PTTL", &party.k("meta")]).await).abs() < 1_000, "{life}");
});

on_every_store!(a_latecomer_votes_from_the_next_item_on, |store| {
    let party = Party::new(&store, 2, &[2]).await;
    party.start(2).await;
    party.open_item("r1", "i1").await;
    let late = |name: &'static str| party.play("device-late", "JOIN_LATE", json!({"name": name}));
    assert_eq!(late("Zed").await, "forbidden/no_latecomers");
    assert_eq!(party.master("SET_RULES", json!({"latecomers": true})).await, "ok");
    assert_eq!(late(" ").await, "bad_request/invalid_name");
    assert_eq!(late("N1").await, "conflict/name_taken");
    assert_eq!(late("Zed").await, "TAKE_PLAYER_OK");
    assert_eq!(late("Two").await, "TAKE_PLAYER_FAIL device_already_has_player");
    let state = party.state(Some("device-late"), false).await;
    let id = state["my_player_id"].as_str().unwrap().to_owned();
    assert_eq!(state["game"]["may_vote"], false, "this vote began without them");
    assert_eq!(party.state(Some(&device(0)), false).await["game"]["may_vote"], true);
    let vote = |item: &'static str| {
        let payload = json!({"round_id": "r1", "item_id": item, "selections": ["s1"]});
        party.play("device-late", "SUBMIT_VOTE", payload)
    };
    assert_eq!(vote("i1").await, "VOTE_ACK not_expected_voter");
    for n in 0..2 {
        party.vote(n, "r1", "i1", &[]).await;
    }
    assert_eq!(party.json("game").await["status"], "reveal_wait", "nobody waits for them");
    assert_eq!(party.master("END_ITEM", json!({"round_id": "r1", "item_id": "i1"})).await, "ok");
    party.open_item("r1", "i2").await;
    let expected = party.json("game").await["vote"]["expected_player_ids"].clone();
    assert_eq!(expected, json!(["p0", "p1", id]));
    assert_eq!(vote("i2").await, "VOTE_ACK");
    for n in 0..2 {
        party.vote(n, "r1", "i2", &[]).await;
    }
    assert_eq!(party.master("END_ITEM", json!({"round_id": "r1", "item_id": "i2"})).await, "ok");
    assert_eq!(party.master("START_NEXT_ROUND", json!({})).await, "ok");
    let over = party.state(Some("device-late"), false).await;
    assert_eq!(over["ranking"].as_array().unwrap().len(), 3, "{over}");
    assert_eq!(late("Zed").await, "not_in_phase/not_in_phase");
    party.lives_agree().await;
});
