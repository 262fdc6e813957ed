//! Other programs share the keys: what they write is read, what they break is told, nothing of it panics.

use serde_json::json;
use testkit::on_every_store;

use crate::support::{Party, ask, device};

on_every_store!(a_room_written_by_another_program_is_played, |store| {
    let now = kernel::Clock::now_ms(&kernel::SystemClock::new());
    let hash = rooms::ids::hash_master_key("their-own-key");
    let meta = format!(
        "{{ \"code\": \"ABCD1234\", \"created_at\": {now}, \"expires_at\": {}, \"phase\": \"lobby\", \"version\": 1, \"master_key_hash\": \"{hash}\" }}",
        now + 43_200_000
    );
    let documents = [
        ("meta", meta.as_str()),
        (
            "senders",
            r#"[ { "sender_id": "s12", "name": "Camille", "active": true, "reels_count": 37 }, { "sender_id": "s44", "name": "Nico", "active": true, "reels_count": 0 } ]"#,
        ),
        (
            "players",
            r#"[ { "player_id": "p12", "sender_id": "s12", "is_sender_bound": true, "active": true, "name": "Camille", "avatar_url": null }, { "player_id": "p44", "sender_id": "s44", "is_sender_bound": true, "active": true, "name": "Nico", "avatar_url": null } ]"#,
        ),
        (
            "game",
            r#"{ "phase": "lobby", "round_order": ["r1"], "current_round_id": null, "current_item_index": null, "status": "idle", "vote": null, "version": 1 }"#,
        ),
        (
            "round:r1",
            r#"{ "round_id": "r1", "created_at": 1730000000000, "items": [ { "item_id": "i1", "reel": { "reel_id": "reel_abc", "url": "https://www.instagram.com/reel/XYZ/" }, "true_sender_ids": ["s12", "s44"], "k": 2 } ] }"#,
        ),
    ];
    for (name, text) in documents {
        ask(&*store, &["SET", &format!("room:ABCD1234:{name}"), text, "EX", "43200"]).await;
    }
    ask(&*store, &["HSET", "room:ABCD1234:scores", "p12", "0", "p44", "0"]).await;
    ask(&*store, &["EXPIRE", "room:ABCD1234:scores", "43200"]).await;
    let mut party = Party::new(&store, 2, &[1]).await;
    party.code = "ABCD1234".into();
    party.key = "their-own-key".into();
    for (n, player) in ["p12", "p44"].into_iter().enumerate() {
        assert_eq!(
            party.play(&device(n), "TAKE_PLAYER", json!({"player_id": player})).await,
            "TAKE_PLAYER_OK"
        );
    }
    assert_eq!(party.master("START_GAME", json!({})).await, "ok");
    party.open_item("r1", "i1").await;
    party.vote(0, "r1", "i1", &["s12", "s44"]).await;
    party.vote(1, "r1", "i1", &["s12"]).await;
    assert_eq!(party.hash("scores").await["p12"], "2");
    party.lives_agree().await;
    let game = party.get("game").await;
    assert!(
        game.starts_with("{ \"phase\": \"game\", \"round_order\": [\"r1\"],"),
        "their spelling stays: {game}"
    );
});

on_every_store!(what_cannot_be_read_is_a_fault_and_changes_nothing, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.seat_all(2).await;
    for (name, text) in [("game", "{"), ("players", "{}"), ("senders", "[1]"), ("meta", "null")] {
        let good = party.get(name).await;
        ask(&*store, &["SET", &party.k(name), text, "KEEPTTL"]).await;
        let said = party.master("START_GAME", json!({})).await;
        assert_eq!(said, "internal_error/internal_error", "{name}");
        ask(&*store, &["SET", &party.k(name), &good, "KEEPTTL"]).await;
    }
    // A key of another type stops the step before its first write.
    ask(&*store, &["SET", &party.k("round_delta:r1"), "text"]).await;
    assert_eq!(party.master("START_GAME", json!({})).await, "internal_error/internal_error");
    assert_eq!(party.json("meta").await["phase"], "lobby");
    ask(&*store, &["DEL", &party.k("round_delta:r1")]).await;
    assert_eq!(party.master("START_GAME", json!({})).await, "ok");
    party.open_item("r1", "i1").await;
    ask(&*store, &["HSET", &party.k("scores"), "p0", "many"]).await;
    party.vote(0, "r1", "i1", &[]).await;
    assert_eq!(party.vote(1, "r1", "i1", &[]).await, "internal_error/internal_error");
    assert_eq!(party.json("game").await["status"], "vote");
    ask(&*store, &["HSET", &party.k("scores"), "p0", "0"]).await;
    assert_eq!(party.vote(1, "r1", "i1", &[]).await, "VOTE_ACK");
    assert_eq!(party.json("game").await["status"], "reveal_wait");
});
