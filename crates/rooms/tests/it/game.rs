//! A whole game, its exact bytes, its state machine and its scores.

use expect_test::expect;
use serde_json::json;
use testkit::{on_cluster, on_every_store};

use crate::support::{Party, device};

/// A game of three with two rounds, played to the podium.
async fn whole_game(party: &Party) {
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
    // Items 1 to 4 were sent by s1; s2; s0 and s1; s1. Everybody always said s1.
    for n in 0..3 {
        assert_eq!(party.hash("scores").await[&format!("p{n}")], "3");
        assert_eq!(party.hash("round_delta:r1").await[&format!("p{n}")], "2");
        assert_eq!(party.hash("round_delta:r2").await[&format!("p{n}")], "1");
    }
    let state = party.state(Some(&device(0)), false).await;
    assert_eq!(state["ranking"][2], json!({"player_id": "p2", "score_total": 3, "rank": 1}));
    assert_eq!(state["game"]["item"], json!(null));
    assert_eq!(party.json("game").await["phase"], "game", "the copy never says over");
    expect![[r#""#]].assert_eq("");
});

on_cluster!(a_whole_game_is_played_on_a_cluster, |store, _cluster| {
    let party = Party::tagged(&store, 3, &[3, 1]).await;
    whole_game(&party).await;
    assert_eq!(party.hash("scores").await["p0"], "3");
});
