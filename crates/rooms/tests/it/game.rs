//! A whole game, its scores, and what each side sees of it.

use serde_json::json;
use testkit::on_every_store;

use crate::support::{Party, device, int};

/// A game of three with two rounds, played to the podium. Items 1 to 4 were sent by s1; s2; s0 and s1; s1.
pub(crate) async fn whole_game(party: &Party) {
    let place = |r: &str, i: &str| json!({"round_id": r, "item_id": i});
    party.start(3).await;
    for (round, items) in [("r1", 3), ("r2", 1)] {
        for n in 1..=items {
            let item = format!("i{n}");
            party.open_item(round, &item).await;
            for voter in 0..3 {
                assert_eq!(party.vote(voter, round, &item, &["s1"]).await, "VOTE_ACK");
            }
            assert_eq!(party.json("game").await["status"], "reveal_wait");
            party.lives_agree().await;
            assert_eq!(party.master("END_ITEM", place(round, &item)).await, "ok");
        }
        assert_eq!(party.json("game").await["status"], "round_recap");
        assert_eq!(party.master("START_NEXT_ROUND", json!({})).await, "ok");
    }
    assert_eq!(party.json("meta").await["phase"], "over");
    party.lives_agree().await;
}

on_every_store!(a_whole_game_is_played_to_the_podium, |store| {
    let party = Party::new(&store, 3, &[3, 1]).await;
    whole_game(&party).await;
    for n in 0..3 {
        assert_eq!(party.hash("scores").await[&format!("p{n}")], "3");
        assert_eq!(party.hash("round_delta:r1").await[&format!("p{n}")], "2");
        assert_eq!(party.hash("round_delta:r2").await[&format!("p{n}")], "1");
    }
    let state = party.state(Some(&device(0)), false).await;
    assert_eq!(state["ranking"][2], json!({"player_id": "p2", "score_total": 3, "rank": 1}));
    assert_eq!(state["game"]["item"], json!(null));
    assert_eq!(party.json("game").await["phase"], "game", "the copy never says over");
});

on_every_store!(points_are_right_senders_and_nothing_else, |store| {
    let party = Party::new(&store, 4, &[3]).await;
    party.start(4).await;
    // The third item was sent by s3 and s0.
    for item in ["i1", "i2"] {
        party.open_item("r1", item).await;
        for n in 0..4 {
            party.vote(n, "r1", item, &[]).await;
        }
        party.master("END_ITEM", json!({"round_id": "r1", "item_id": item})).await;
    }
    party.open_item("r1", "i3").await;
    for (n, picks) in
        [&["s0", "s3"][..], &["s3"], &["s3", "s1"], &["s1", "s2"]].into_iter().enumerate()
    {
        assert_eq!(party.vote(n, "r1", "i3", picks).await, "VOTE_ACK");
    }
    let scores = party.hash("scores").await;
    let points: Vec<&str> = (0..4).map(|n| scores[&format!("p{n}")].as_str()).collect();
    assert_eq!(points, ["2", "1", "1", "0"]);
    let results = &party.state(None, true).await["game"]["current_vote_results"];
    assert_eq!(results["players"][2]["correct"], json!(["s3"]));
    assert_eq!(results["players"][2]["incorrect"], json!(["s1"]));
    party.master("END_ITEM", json!({"round_id": "r1", "item_id": "i3"})).await;
    // A phone that was away when the item ended gets what the others were told.
    let told = party.state(Some(&device(2)), false).await["game"]["last_result"].clone();
    assert_eq!((&told["item_id"], &told["true_senders"]), (&json!("i3"), &json!(["s3", "s0"])));
    assert_eq!(told["mine"]["correct"], json!(["s3"]));
    let guest = party.state(None, false).await["game"]["last_result"].clone();
    assert_eq!((&guest["item_id"], &guest["mine"]), (&json!("i3"), &json!(null)));
    assert_eq!(party.state(None, true).await["game"]["last_result"], json!(null));
    let last = party.k("last").replacen("room:", "wk:rooms:", 1);
    let kept = int(&*store, &["PTTL", &last]).await;
    let meta = int(&*store, &["PTTL", &party.k("meta")]).await;
    assert!(kept > 0 && (kept - meta).abs() <= 1_000, "{kept} ms, meta {meta}");
    let recap = &party.state(Some(&device(3)), false).await["game"]["recap"];
    assert_eq!(recap[0], json!({"player_id": "p0", "points_round": 2, "score_total": 2}));
    party.master("START_NEXT_ROUND", json!({})).await;
    let ranking = &party.state(None, false).await["ranking"];
    let ranks: Vec<_> = (0..4).map(|n| ranking[n]["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [1, 2, 2, 4], "equal points share a rank and the next one skips");
});

on_every_store!(play_never_sees_the_truth_or_who_is_switched_off, |store| {
    let party = Party::new(&store, 3, &[1]).await;
    party.master("TOGGLE_PLAYER", json!({"player_id": "p2", "active": false})).await;
    let play = party.state(Some(&device(0)), false).await;
    assert_eq!(play["players_visible"].as_array().unwrap().len(), 2);
    assert_eq!(play["scores"].as_object().unwrap().len(), 2);
    assert!(play.get("players_all").is_none() && play.get("connected_player_ids").is_none());
    let master = party.state(None, true).await;
    assert_eq!(master["players_all"][2]["status"], "disabled");
    assert_eq!(master["scores"].as_object().unwrap().len(), 3);
    // The sender of a player who is off can still be guessed.
    assert_eq!(play["senders_visible"].as_array().unwrap().len(), 3);
    for n in 0..2 {
        party.play(&device(n), "TAKE_PLAYER", json!({"player_id": format!("p{n}")})).await;
    }
    party.master("START_GAME", json!({})).await;
    party.open_item("r1", "i1").await;
    party.vote(0, "r1", "i1", &["s1"]).await;
    for (device, master) in [(Some(device(0)), false), (None, true)] {
        let state = party.state(device.as_deref(), master).await.to_string();
        assert!(!state.contains("true_sender"), "{state}");
        assert!(!state.contains("device-"), "{state}");
    }
    party.vote(1, "r1", "i1", &["s0"]).await;
    let play = party.state(Some(&device(1)), false).await;
    assert!(!play.to_string().contains("true_sender"), "not before the item is ended");
    assert_eq!(play["game"]["my_vote"]["selections"], json!(["s0"]), "one's own and no other");
    assert!(party.state(None, true).await.to_string().contains("true_senders"));
});
