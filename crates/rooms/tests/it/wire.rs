//! The promise of byte compatibility and of few round trips: exact values as the seed spells them, and the exact
//! calls a command makes.

#![allow(clippy::needless_raw_string_hashes)] // as expect-test records them

use std::fmt::Write as _;

use expect_test::expect;
use kernel::FakeClock;
use rooms::{Caller, Proof, Rooms, Setup};
use serde_json::json;
use std::sync::Arc;
use testkit::{Recorder, on_every_store};

use crate::support::{Party, ask, device, int, text};

const NOW: u64 = 1_730_000_000_000;

on_every_store!(a_new_room_is_spelled_exactly_so, |store| {
    let clock = Arc::new(FakeClock::at(NOW));
    let rooms = Rooms::new(store.clone(), clock, kernel::keyspace::Layout::Plain);
    let setup = json!({
        "senders": [
            {"sender_id": "s12", "name": "Camille", "active": true, "reels_count": 37},
            {"sender_id": "s44", "name": "Zoë/2", "active": true, "reels_count": 0},
            {"sender_id": "bo", "name": "Bo", "active": false, "reels_count": 1}
        ],
        "rounds": [
            {"round_id": "r1", "items": [{"item_id": "i1", "reel": {"reel_id": "reel_abc", "url": "https://www.instagram.com/reel/XYZ/"}, "true_sender_ids": ["s12", "s44"]}]},
            {"round_id": "r2", "items": [{"item_id": "i1", "reel": {"reel_id": "b", "url": "http://x.test/?a=1&b=2"}, "true_sender_ids": ["bo"], "k": 1}]}
        ]
    });
    let made = rooms.create(&Setup::read(&setup.to_string()).unwrap()).await.unwrap();
    let hash = rooms::ids::hash_master_key(&made.master_key);
    let mut seen = String::new();
    for name in ["meta", "senders", "players", "game", "round:r1", "round:r2"] {
        let value = text(&*store, &["GET", &format!("room:{}:{name}", made.code)]).await;
        let value = value.replace(&made.code, "CODE").replace(&hash, "HASH");
        writeln!(seen, "{name} {value}").unwrap();
    }
    expect![[r#"
        meta {"code":"CODE","created_at":1730000000000,"expires_at":1730043200000,"phase":"lobby","version":1,"master_key_hash":"HASH"}
        senders [{"sender_id":"s12","name":"Camille","active":true,"reels_count":37},{"sender_id":"s44","name":"Zoë/2","active":true,"reels_count":0},{"sender_id":"bo","name":"Bo","active":false,"reels_count":1}]
        players [{"player_id":"p12","sender_id":"s12","is_sender_bound":true,"active":true,"name":"Camille","avatar_url":null},{"player_id":"p44","sender_id":"s44","is_sender_bound":true,"active":true,"name":"Zoë/2","avatar_url":null},{"player_id":"p_bo","sender_id":"bo","is_sender_bound":true,"active":false,"name":"Bo","avatar_url":null}]
        game {"phase":"lobby","round_order":["r1","r2"],"current_round_id":null,"current_item_index":null,"status":"idle","vote":null,"version":1}
        round:r1 {"round_id":"r1","created_at":1730000000000,"items":[{"item_id":"i1","reel":{"reel_id":"reel_abc","url":"https://www.instagram.com/reel/XYZ/"},"true_sender_ids":["s12","s44"],"k":2}]}
        round:r2 {"round_id":"r2","created_at":1730000000000,"items":[{"item_id":"i1","reel":{"reel_id":"b","url":"http://x.test/?a=1&b=2"},"true_sender_ids":["bo"],"k":1}]}
    "#]]
    .assert_eq(&seen);
    assert_eq!(int(&*store, &["EXISTS", &format!("room:{}:claims", made.code)]).await, 0);
    assert_eq!(
        crate::support::hash(&*store, &format!("room:{}:scores", made.code)).await["p_bo"],
        "0"
    );
    assert!(hash.starts_with("sha256:") && !seen.contains(&made.master_key));
});

on_every_store!(the_game_document_is_spelled_exactly_so, |store| {
    let party = Party::new(&store, 2, &[1, 1]).await;
    let mut seen = Vec::new();
    party.start(2).await;
    seen.push(party.get("game").await);
    party.open_item("r1", "i1").await;
    seen.push(party.get("game").await);
    party.vote(0, "r1", "i1", &[]).await;
    party.vote(1, "r1", "i1", &[]).await;
    seen.push(party.get("game").await);
    party.master("END_ITEM", json!({"round_id": "r1", "item_id": "i1"})).await;
    seen.push(party.get("game").await);
    expect![[r#"
        {"phase":"game","round_order":["r1","r2"],"current_round_id":"r1","current_item_index":0,"status":"idle","vote":null,"version":2}
        {"phase":"game","round_order":["r1","r2"],"current_round_id":"r1","current_item_index":0,"status":"vote","vote":{"round_id":"r1","item_id":"i1","expected_player_ids":["p0","p1"]},"version":3}
        {"phase":"game","round_order":["r1","r2"],"current_round_id":"r1","current_item_index":0,"status":"reveal_wait","vote":{"round_id":"r1","item_id":"i1","expected_player_ids":["p0","p1"]},"version":4}
        {"phase":"game","round_order":["r1","r2"],"current_round_id":"r1","current_item_index":1,"status":"round_recap","vote":null,"version":5}"#]]
    .assert_eq(&seen.join("\n"));
});

/// Calls of a transcript: a pipeline counts once.
fn calls(transcript: &str) -> usize {
    let mut count = 0;
    let mut piped = false;
    for line in transcript.lines() {
        let pipe = line.starts_with('|');
        count += usize::from(!pipe || !piped);
        piped = pipe;
    }
    count
}

on_every_store!(every_command_takes_two_round_trips_and_a_sync_one, |store| {
    let party = Party::new(&store, 3, &[2]).await;
    let wire = Recorder::new(store.clone());
    let recorded = Party {
        rooms: Rooms::new(wire.clone(), party.clock.clone(), party.layout),
        ..party.clone()
    };
    let item = |n: usize| json!({"round_id": "r1", "item_id": format!("i{n}")});
    let vote = |n: usize| json!({"round_id": "r1", "item_id": format!("i{n}"), "selections": []});
    let steps: Vec<(Option<usize>, &str, serde_json::Value)> = vec![
        (Some(0), "TAKE_PLAYER", json!({"player_id": "p0"})),
        (Some(0), "RELEASE_PLAYER", json!({})),
        (Some(0), "TAKE_PLAYER", json!({"player_id": "p0"})),
        (Some(1), "TAKE_PLAYER", json!({"player_id": "p1"})),
        (Some(0), "RENAME_PLAYER", json!({"new_name": "Ana"})),
        (Some(0), "UPDATE_AVATAR", json!({"image": null})),
        (None, "ADD_PLAYER", json!({"name": "Guest"})),
        (None, "TOGGLE_PLAYER", json!({"player_id": "p2", "active": false})),
        (None, "RESET_CLAIMS", json!({})),
        (Some(0), "TAKE_PLAYER", json!({"player_id": "p0"})),
        (Some(1), "TAKE_PLAYER", json!({"player_id": "p1"})),
        (None, "FREE_PLAYER", json!({"player_id": "p1"})),
        (Some(1), "TAKE_PLAYER", json!({"player_id": "p1"})),
    ];
    let game: Vec<(Option<usize>, &str, serde_json::Value)> = vec![
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
    let mut seen = String::new();
    for (at, (who, kind, payload)) in steps.into_iter().chain(game).enumerate() {
        if at == 13 {
            // The guest goes again before the game.
            let id = party.json("players").await[3]["player_id"].clone();
            wire.take();
            assert_eq!(recorded.master("DELETE_PLAYER", json!({"player_id": id})).await, "ok");
            writeln!(seen, "DELETE_PLAYER {}", calls(&wire.take_commands())).unwrap();
        }
        wire.take();
        let said = match who {
            Some(n) => recorded.play(&device(n), kind, payload).await,
            None => recorded.master(kind, payload).await,
        };
        assert!(!said.contains('/') && !said.contains("FAIL"), "{kind}: {said}");
        let count = calls(&wire.take_commands());
        assert!(count <= 2, "{kind} took {count}");
        if !seen.contains(kind) {
            writeln!(seen, "{kind} {count}").unwrap();
        }
        recorded.state(Some(&device(0)), true).await;
        assert_eq!(calls(&wire.take_commands()), 1, "STATE_SYNC after {kind}");
    }
    let caller = Caller { device: Some("device-9"), proof: Proof::None, expires_at: None };
    wire.take();
    recorded.rooms.join(&party.code, &caller).await.unwrap();
    writeln!(seen, "JOIN_ROOM {}", calls(&wire.take_commands())).unwrap();
    expect![[r#"
        TAKE_PLAYER 2
        RELEASE_PLAYER 2
        RENAME_PLAYER 2
        UPDATE_AVATAR 2
        ADD_PLAYER 2
        TOGGLE_PLAYER 2
        RESET_CLAIMS 2
        FREE_PLAYER 2
        DELETE_PLAYER 2
        START_GAME 2
        REEL_OPENED 2
        SUBMIT_VOTE 2
        FORCE_CLOSE_VOTE 2
        END_ITEM 2
        START_NEXT_ROUND 2
        JOIN_ROOM 1
    "#]]
    .assert_eq(&seen);
});

on_every_store!(events_tell_operators_ids_and_counts_and_no_secret, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.start(2).await;
    party.open_item("r1", "i1").await;
    party.vote(0, "r1", "i1", &["s1"]).await;
    party.vote(1, "r1", "i1", &["s1"]).await;
    party.master("ROOM_CLOSED", json!({})).await;
    let entries = ask(&*store, &["XRANGE", "wk:rooms:events", "-", "+"]).await;
    let mut seen = String::new();
    for entry in kernel::reply::list(&entries).unwrap() {
        let [_, fields] = kernel::reply::list(entry).unwrap() else { panic!() };
        let fields: Vec<&str> =
            kernel::reply::list(fields).unwrap().iter().filter_map(kernel::reply::text).collect();
        assert_eq!(fields[4..6], ["id", party.code.as_str()]);
        writeln!(seen, "{} {}", fields[1], fields[7].replace(&party.code, "CODE")).unwrap();
    }
    for secret in ["device-", &party.key, "n0", "\"s1\""] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
    expect![[r#"
        CREATE_ROOM {"code":"CODE","items":1,"players":2,"rounds":1,"version":1}
        TAKE_PLAYER {"claims":1,"code":"CODE","player_id":"p0"}
        TAKE_PLAYER {"claims":2,"code":"CODE","player_id":"p1"}
        START_GAME {"code":"CODE","players":2,"version":2}
        REEL_OPENED {"code":"CODE","expected":2,"item_id":"i1","round_id":"r1","version":3}
        SUBMIT_VOTE {"code":"CODE","item_id":"i1","player_id":"p0","round_id":"r1","votes":1,"expected":2,"closed":false}
        SUBMIT_VOTE {"code":"CODE","item_id":"i1","player_id":"p1","round_id":"r1","votes":2,"expected":2,"closed":true}
        ROOM_CLOSED {"code":"CODE","reason":"closed_by_master"}
    "#]]
    .assert_eq(&seen);
});
