//! A game from the first tap to the podium, as phones and the Master hear it.

use serde_json::{Value, json};
use testkit::on_every_store;

use super::phone::{Party, Phone, device, server};

on_every_store!(a_whole_game_over_sockets, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 3).await;
    party.start_game().await;
    for phone in &mut party.phones {
        phone.wait("GAME_START").await;
        let item = phone.wait("NEW_ITEM").await;
        assert_eq!(item["item_id"], "i1");
        assert!(!item.to_string().contains("true_sender"), "the truth stays here: {item}");
    }
    party.start_vote("i1").await;
    let vote = |item: &str, picks: &[&str]| json!({"round_id": "r1", "item_id": item, "selections": picks});
    for (n, phone) in party.phones.iter_mut().enumerate() {
        let ack = phone
            .ask("SUBMIT_VOTE", vote("i1", &[if n == 0 { "s0" } else { "s1" }]), "VOTE_ACK")
            .await;
        assert_eq!(ack["accepted"], true);
        assert_eq!(party.master.wait("PLAYER_VOTED").await["player_id"], format!("p{n}"));
    }
    let results = party.master.wait("VOTE_RESULTS").await;
    assert_eq!(results["true_senders"], json!(["s0"]));
    assert_eq!(
        results["players"][0],
        json!({"player_id": "p0", "selections": ["s0"], "correct": ["s0"], "incorrect": [], "points_gained": 1, "score_total": 1})
    );
    assert_eq!(results["players"][2]["points_gained"], 0);
    // Nothing of the result reaches a phone before the Master is done with the reveal.
    assert!(party.phones[1].heard_no("ITEM_RESULT").await);
    assert!(party.phones[1].heard_no("VOTE_RESULTS").await);
    assert!(party.phones[1].heard_no("PLAYER_VOTED").await);
    let ack = party.phones[1].ask("SUBMIT_VOTE", vote("i1", &["s0"]), "VOTE_ACK").await;
    assert_eq!(ack["reason"], "late");
    // A spectator sees the truth without a result of its own.
    let mut guest = Phone::open(&on).await;
    guest.ask("JOIN_ROOM", json!({"code": party.code, "device_id": "spectator"}), "JOIN_OK").await;
    party.master.send("END_ITEM", json!({"round_id": "r1", "item_id": "i1"})).await;
    assert_eq!(party.phones[0].wait("ITEM_RESULT").await["mine"]["points_gained"], 1);
    assert_eq!(party.phones[1].wait("ITEM_RESULT").await["mine"]["points_gained"], 0);
    let seen = guest.wait("ITEM_RESULT").await;
    assert_eq!((&seen["mine"], &seen["true_senders"]), (&Value::Null, &json!(["s0"])));
    assert!(party.master.heard_no("ITEM_RESULT").await);

    // The second item is closed by force: p2 never votes.
    party.start_vote("i2").await;
    party.phones[0].ask("SUBMIT_VOTE", vote("i2", &["s0", "s1"]), "VOTE_ACK").await;
    party.phones[1].ask("SUBMIT_VOTE", vote("i2", &["s1"]), "VOTE_ACK").await;
    let force = json!({"round_id": "r1", "item_id": "i2", "delay_ms": 50});
    party.master.send("FORCE_CLOSE_VOTE", force).await;
    party.phones[2].wait("VOTE_FORCE_CLOSE_STARTED").await;
    let results = party.master.wait("VOTE_RESULTS").await;
    let totals: Vec<_> = (0..3).map(|n| results["players"][n]["score_total"].clone()).collect();
    assert_eq!(totals, [json!(3), json!(1), json!(0)]);
    party.master.send("END_ITEM", json!({"round_id": "r1", "item_id": "i2"})).await;
    let recap = party.master.wait("ROUND_RECAP").await;
    assert_eq!(
        recap["players"][0],
        json!({"player_id": "p0", "points_round": 3, "score_total": 3})
    );
    assert_eq!(party.phones[2].wait("ROUND_FINISHED").await["players"][1]["points_round"], 1);
    party.master.send("START_NEXT_ROUND", json!({})).await;
    let over = party.phones[2].wait("GAME_OVER").await;
    assert_eq!(over["ranking"][0], json!({"player_id": "p0", "score_total": 3, "rank": 1}));
    assert_eq!(over["scores"], json!({"p0": 3, "p1": 1, "p2": 0}));

    party.master.send("ROOM_CLOSED", json!({})).await;
    for phone in &mut party.phones {
        assert_eq!(phone.wait("ROOM_CLOSED_BROADCAST").await["reason"], "closed_by_master");
        assert_eq!(phone.ended().await, Some(4000));
    }
    assert_eq!(party.master.ended().await, Some(4000));
    assert_eq!(on.status(&format!("/api/rooms/{}", party.code)).await, 404);
});

on_every_store!(a_reload_in_the_middle_of_a_vote_restores_the_screen, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 2).await;
    party.start_game().await;
    party.start_vote("i1").await;
    let vote = json!({"round_id": "r1", "item_id": "i1", "selections": ["s1"]});
    party.phones[0].ask("SUBMIT_VOTE", vote.clone(), "VOTE_ACK").await;
    let sync = json!({"code": party.code, "device_id": device(0)});
    let mut again = Phone::open(&on).await;
    let state = again.ask("STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await;
    assert_eq!(state["my_player_id"], "p0");
    assert_eq!(state["game"]["status"], "vote");
    assert_eq!(state["game"]["my_vote"]["selections"], json!(["s1"]));
    assert!(
        state.get("players_all").is_none()
            && state["game"].get("votes_received_player_ids").is_none()
    );
    // The Master loses its screen too; another one resumes with the key, also in the middle of the reveal.
    let sync = json!({"code": party.code, "master_key": party.key});
    let mut second = Phone::open(&on).await;
    let state = second.ask("STATE_SYNC", sync.clone(), "STATE_SYNC_RESPONSE").await;
    assert_eq!(state["game"]["votes_received_player_ids"], json!(["p0"]));
    assert_eq!(state["connected_player_ids"], json!(["p0", "p1"]));
    party.phones[1].ask("SUBMIT_VOTE", vote, "VOTE_ACK").await;
    let told = second.wait("VOTE_RESULTS").await;
    let state = second.ask("STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await;
    let mut recomputed = state["game"]["current_vote_results"].clone();
    recomputed["code"] = party.code.clone().into();
    assert_eq!(recomputed, told, "what was told and what is read are the same");
    // A wrong key is no error: it sees what Play sees.
    let wrong = json!({"code": party.code, "master_key": "wrong"});
    let state = again.ask("STATE_SYNC", wrong, "STATE_SYNC_RESPONSE").await;
    assert!(state.get("players_all").is_none());
});

on_every_store!(seats_are_given_back_freed_and_taken_over, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 3).await;
    party.phones[2].send("RELEASE_PLAYER", json!({})).await;
    let mut freed = party.master.wait("PLAYER_UPDATE").await;
    while freed["player"]["status"] != "free" || freed["player"]["player_id"] != "p2" {
        freed = party.master.wait("PLAYER_UPDATE").await;
    }
    let again = party.phones[2].ask("RELEASE_PLAYER", json!({}), "STATE_SYNC_RESPONSE").await;
    assert_eq!(again["my_player_id"], Value::Null);
    party.phones[2].ask("TAKE_PLAYER", json!({"player_id": "p2"}), "TAKE_PLAYER_OK").await;
    let fail =
        party.phones[2].ask("TAKE_PLAYER", json!({"player_id": "p1"}), "TAKE_PLAYER_FAIL").await;
    assert_eq!(fail["reason"], "taken_now");
    party.start_game().await;
    // A lost phone: the Master frees the seat in the middle of the game, another phone takes it.
    party.master.send("FREE_PLAYER", json!({"player_id": "p1"})).await;
    let lost = party.phones[1].wait("SLOT_INVALIDATED").await;
    assert_eq!((&lost["player_id"], &lost["reason"]), (&json!("p1"), &json!("freed_by_master")));
    assert!(party.phones[0].heard_no("SLOT_INVALIDATED").await);
    let mut new = Phone::open(&on).await;
    new.ask("JOIN_ROOM", json!({"code": party.code, "device_id": "new-device"}), "JOIN_OK").await;
    new.ask("TAKE_PLAYER", json!({"player_id": "p1"}), "TAKE_PLAYER_OK").await;
    // No device id is ever heard by others.
    let all = party
        .master
        .ask(
            "STATE_SYNC",
            json!({"code": party.code, "master_key": party.key}),
            "STATE_SYNC_RESPONSE",
        )
        .await;
    assert!(!all.to_string().contains("device"), "{all}");
});
