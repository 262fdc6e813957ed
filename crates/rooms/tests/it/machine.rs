//! The state machine: whatever is not in the table is refused with the right word and changes nothing.

use serde_json::{Value, json};
use testkit::on_every_store;

use crate::support::{Party, ask, device};

/// Every message with a payload that would be right in its place, and whether it is the Master's.
fn messages() -> Vec<(&'static str, bool, Value)> {
    let item = json!({"round_id": "r1", "item_id": "i1"});
    vec![
        ("TAKE_PLAYER", false, json!({"player_id": "p0"})),
        ("RELEASE_PLAYER", false, json!({})),
        ("RENAME_PLAYER", false, json!({"new_name": "Somebody"})),
        ("UPDATE_AVATAR", false, json!({"image": null})),
        ("SUBMIT_VOTE", false, json!({"round_id": "r1", "item_id": "i1", "selections": []})),
        ("TOGGLE_PLAYER", true, json!({"player_id": "p1", "active": false})),
        ("ADD_PLAYER", true, json!({"name": "Guest"})),
        ("DELETE_PLAYER", true, json!({"player_id": "p0"})),
        ("RESET_CLAIMS", true, json!({})),
        ("FREE_PLAYER", true, json!({"player_id": "p0"})),
        ("START_GAME", true, json!({})),
        ("REEL_OPENED", true, item.clone()),
        ("END_ITEM", true, item.clone()),
        ("FORCE_CLOSE_VOTE", true, item),
        ("START_NEXT_ROUND", true, json!({})),
    ]
}

/// Everything stored, as bytes.
async fn everything(party: &Party) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for key in party.keys().await {
        let dump = ask(&*party.store, &["DUMP", &key]).await;
        all.push([key.as_bytes(), kernel::reply::bytes(&dump).unwrap()].concat());
    }
    all
}

/// Tries all but the allowed; each must be refused and change nothing.
async fn only(party: &Party, state: &str, allowed: &[&str], wrong_phase: &[&str]) {
    for (kind, master, payload) in messages() {
        if allowed.contains(&kind) {
            continue;
        }
        let before = everything(party).await;
        let said = if master {
            party.master(kind, payload).await
        } else {
            party.play(&device(0), kind, payload).await
        };
        let expected = if wrong_phase.contains(&kind) {
            "not_in_phase/not_in_phase"
        } else {
            "conflict/bad_status"
        };
        let vote = kind == "SUBMIT_VOTE" && said.starts_with("VOTE_ACK ");
        assert!(said == expected || vote, "{kind} in {state}: {said}");
        assert_eq!(everything(party).await, before, "{kind} in {state} changed something");
    }
}

const LOBBY_ONLY: [&str; 8] = [
    "RELEASE_PLAYER",
    "RENAME_PLAYER",
    "UPDATE_AVATAR",
    "TOGGLE_PLAYER",
    "ADD_PLAYER",
    "DELETE_PLAYER",
    "RESET_CLAIMS",
    "START_GAME",
];

on_every_store!(only_what_the_table_says_is_possible, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    let game = ["SUBMIT_VOTE", "REEL_OPENED", "END_ITEM", "FORCE_CLOSE_VOTE", "START_NEXT_ROUND"];
    let lobby: Vec<&str> =
        messages().iter().map(|m| m.0).filter(|kind| !game.contains(kind)).collect();
    party.seat_all(2).await;
    only(&party, "lobby", &lobby, &game).await;
    party.master("START_GAME", json!({})).await;
    let any = ["TAKE_PLAYER", "FREE_PLAYER"];
    let with = |one: &[&'static str]| [&any[..], one].concat();
    only(&party, "idle", &with(&["REEL_OPENED"]), &LOBBY_ONLY).await;
    party.open_item("r1", "i1").await;
    only(&party, "vote", &with(&["SUBMIT_VOTE", "FORCE_CLOSE_VOTE"]), &LOBBY_ONLY).await;
    for n in 0..2 {
        party.vote(n, "r1", "i1", &["s1"]).await;
    }
    only(&party, "reveal_wait", &with(&["END_ITEM"]), &LOBBY_ONLY).await;
    party.master("END_ITEM", json!({"round_id": "r1", "item_id": "i1"})).await;
    only(&party, "round_recap", &with(&["START_NEXT_ROUND"]), &LOBBY_ONLY).await;
    party.master("START_NEXT_ROUND", json!({})).await;
    let all: Vec<&str> = messages().iter().map(|m| m.0).collect();
    only(&party, "over", &[], &all).await;
    assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "ok");
});

on_every_store!(the_first_thing_that_is_wrong_is_answered, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    let said = |done: rooms::Result<rooms::Done>| crate::support::said(&done);
    // Alive before key, key before phase, phase before status, status before ids.
    let wrong =
        party.send(None, false, "REEL_OPENED", json!({"round_id": "x", "item_id": "x"})).await;
    assert_eq!(said(wrong), "forbidden/bad_master_key");
    assert_eq!(
        party.master("REEL_OPENED", json!({"round_id": "x", "item_id": "x"})).await,
        "not_in_phase/not_in_phase"
    );
    party.start(2).await;
    assert_eq!(
        party.master("END_ITEM", json!({"round_id": "x", "item_id": "x"})).await,
        "conflict/bad_status"
    );
    assert_eq!(
        party.master("REEL_OPENED", json!({"round_id": "r1", "item_id": "x"})).await,
        "bad_request/not_current_item"
    );
    let mut gone = party.clone();
    gone.code = "ZZZZ2345".into();
    assert_eq!(
        gone.play(&device(0), "START_GAME", json!({})).await,
        "room_not_found/room_not_found"
    );
});

on_every_store!(versions_count_the_writes_of_their_document, |store| {
    let party = Party::new(&store, 2, &[1, 1]).await;
    let versions = async || {
        (party.json("meta").await["version"].clone(), party.json("game").await["version"].clone())
    };
    assert_eq!(versions().await, (json!(1), json!(1)));
    party.start(2).await;
    assert_eq!(versions().await, (json!(2), json!(2)));
    for (round, first) in [("r1", 3), ("r2", 7)] {
        party.open_item(round, "i1").await;
        party.vote(0, round, "i1", &[]).await;
        assert_eq!(versions().await.1, json!(first), "a vote that does not close changes nothing");
        party.vote(1, round, "i1", &[]).await;
        assert_eq!(versions().await.1, json!(first + 1));
        party.master("END_ITEM", json!({"round_id": round, "item_id": "i1"})).await;
        assert_eq!(versions().await.1, json!(first + 2));
        party.master("START_NEXT_ROUND", json!({})).await;
    }
    assert_eq!(versions().await, (json!(3), json!(9)), "the end of the game is told by meta alone");
});
