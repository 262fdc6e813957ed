//! What a socket must refuse: bad frames, strangers, forged devices, wrong keys, guesses, floods, giants.

use serde_json::json;
use testkit::on_every_store;
use tokio_tungstenite::tungstenite::Message;

use super::phone::{OFF, Party, Phone, device, server, setup};
use crate::support::start;

on_every_store!(bad_frames_are_answered_and_change_nothing, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 2).await;
    let phone = &mut party.phones[0];
    for (text, word) in [
        ("{", "invalid_json"),
        ("[]", "invalid_envelope"),
        (r#"{"type":"NOPE","payload":{}}"#, "unknown_type"),
        (r#"{"type":"TAKE_PLAYER"}"#, "invalid_envelope"),
        (r#"{"type":"TAKE_PLAYER","payload":{}}"#, "invalid_field"),
    ] {
        phone.raw(Message::text(text)).await;
        let error = phone.wait("ERROR").await;
        assert_eq!((&error["error"], &error["message"]), (&json!("bad_request"), &json!(word)));
    }
    phone.raw(Message::binary(vec![1, 2, 3])).await;
    assert_eq!(phone.wait("ERROR").await["message"], "binary_frame");
    phone.raw(Message::text(r#"{"type":"PING","payload":{},"id":"q7"}"#)).await;
    let mut pong = phone.hear().await.unwrap();
    while pong["type"] != "PONG" {
        pong = phone.hear().await.unwrap();
    }
    assert_eq!(pong["id"], "q7");
    phone.raw(Message::text("x".repeat(1024 * 1024 + 1))).await;
    assert_eq!(phone.ended().await, Some(1009));
});

on_every_store!(a_socket_may_do_only_what_it_is_bound_to, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 2).await;
    let mut stranger = Phone::open(&on).await;
    let take = json!({"player_id": "p0"});
    assert_eq!(stranger.refused("TAKE_PLAYER", take.clone()).await, "forbidden/not_joined");
    let code = party.code.clone();
    stranger.ask("JOIN_ROOM", json!({"code": code, "device_id": "stranger-1"}), "JOIN_OK").await;
    let forged = json!({"device_id": device(0), "player_id": "p0", "new_name": "x"});
    assert_eq!(stranger.refused("RENAME_PLAYER", forged).await, "forbidden/device_mismatch");
    let other = json!({"code": "ZZZZ2345", "player_id": "p0"});
    assert_eq!(stranger.refused("TAKE_PLAYER", other).await, "bad_request/code_mismatch");
    assert_eq!(
        stranger.refused("RENAME_PLAYER", json!({"new_name": "x"})).await,
        "not_claimed/not_claimed"
    );
    assert_eq!(stranger.refused("START_GAME", json!({})).await, "forbidden/bad_master_key");
    let foreign = json!({"master_key": "A".repeat(32)});
    assert_eq!(stranger.refused("ROOM_CLOSED", foreign).await, "forbidden/bad_master_key");
    // A wrong key is refused on the Master's own socket too; the right one makes any socket a Master.
    let wrong = json!({"player_id": "p0", "active": false, "master_key": "nope"});
    assert_eq!(party.master.refused("TOGGLE_PLAYER", wrong).await, "forbidden/bad_master_key");
    let key = json!({"master_key": party.key, "player_id": "p1", "active": false});
    let mut update = stranger.ask("TOGGLE_PLAYER", key, "PLAYER_UPDATE").await;
    // It came while the others took their seats, and may hear of that first.
    while update["player"]["status"] == "taken" {
        update = stranger.wait("PLAYER_UPDATE").await;
    }
    assert_eq!(update["player"]["status"], "disabled", "it hears what Masters hear");
    stranger.send("TOGGLE_PLAYER", json!({"player_id": "p1", "active": true})).await;
    let mut seen = stranger.wait("PLAYER_UPDATE").await;
    while seen["player"]["player_id"] != "p1" || seen["player"]["active"] != true {
        seen = stranger.wait("PLAYER_UPDATE").await;
    }
    let lost = party.phones[1].wait("SLOT_INVALIDATED").await;
    assert_eq!(lost["reason"], "disabled_or_deleted");
});

on_every_store!(wrong_keys_and_unknown_codes_end_a_socket, |store| {
    let mut settings = OFF.to_vec();
    settings.push(("rooms.unknown_codes_per_minute", "3"));
    let on = start(store, &settings).await;
    let mut party = Party::seated(&on, 2).await;
    for _ in 0..5 {
        let guess = json!({"master_key": "guess"});
        assert_eq!(
            party.phones[0].refused("RESET_CLAIMS", guess).await,
            "forbidden/bad_master_key"
        );
    }
    assert_eq!(party.phones[0].ended().await, Some(4429));
    let mut guesser = Phone::open(&on).await;
    let guess = |n: usize| json!({"code": format!("ZZZZ{n}"), "device_id": "guesser-1"});
    for n in 0..3 {
        assert_eq!(guesser.refused("JOIN_ROOM", guess(n)).await, "room_not_found/room_not_found");
    }
    assert_eq!(guesser.refused("JOIN_ROOM", guess(4)).await, "rate_limited/too_many_codes");
    assert_eq!(guesser.ended().await, Some(4429));
});

on_every_store!(a_flood_is_dropped_and_then_ended, |store| {
    let on = server(&store).await;
    let mut phone = Phone::open(&on).await;
    for _ in 0..45 {
        phone.raw(Message::text(r#"{"type":"PING","payload":{}}"#)).await;
    }
    assert_eq!(phone.wait("ERROR").await["error"], "rate_limited");
    for _ in 0..400 {
        phone.raw(Message::text(r#"{"type":"PING","payload":{}}"#)).await;
    }
    assert_eq!(phone.ended().await, Some(4429));
});

on_every_store!(a_full_room_and_fast_renames_are_refused, |store| {
    let mut settings = OFF.to_vec();
    settings.extend([("rooms.sockets_per_room", "2"), ("rooms.renames_per_minute", "2")]);
    let on = start(store, &settings).await;
    let mut master = Phone::open(&on).await;
    let code = master.ask("CREATE_ROOM", setup(2), "ROOM_CREATED").await["code"].clone();
    let mut phone = Phone::open(&on).await;
    phone.ask("JOIN_ROOM", json!({"code": code, "device_id": device(0)}), "JOIN_OK").await;
    let mut late = Phone::open(&on).await;
    let join = json!({"code": code, "device_id": device(1)});
    assert_eq!(late.refused("JOIN_ROOM", join).await, "conflict/room_full");
    assert_eq!(late.ended().await, Some(4503));
    phone.ask("TAKE_PLAYER", json!({"player_id": "p0"}), "TAKE_PLAYER_OK").await;
    for name in ["Ann", "Bea"] {
        phone.send("RENAME_PLAYER", json!({"new_name": name})).await;
    }
    let third = phone.refused("RENAME_PLAYER", json!({"new_name": "Cleo"})).await;
    assert_eq!(third, "rate_limited/too_many_renames");
});

on_every_store!(hostile_names_and_photos_are_refused_or_shown_as_text, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 2).await;
    let phone = &mut party.phones[0];
    for name in ["", "\u{202e}evil", "a\u{0}b", "n1", "N1", &"x".repeat(25)] {
        let refused = phone.refused("RENAME_PLAYER", json!({"new_name": name})).await;
        assert!(
            ["bad_request/invalid_name", "conflict/name_taken"].contains(&refused.as_str()),
            "{name}: {refused}"
        );
    }
    for image in [
        "data:image/svg+xml;base64,PHN2Zy8+",
        "data:image/png;base64,PHN2Zy8+",
        "data:text/html,<script>alert(1)</script>",
        "https://example.test/x.png",
    ] {
        let refused = phone.refused("UPDATE_AVATAR", json!({"image": image})).await;
        assert_eq!(refused, "bad_request/invalid_avatar", "{image}");
    }
    phone.send("RENAME_PLAYER", json!({"new_name": "<b>x</b>"})).await;
    let mut seen = party.master.wait("PLAYER_UPDATE").await;
    while seen["player"]["name"] != "<b>x</b>" {
        seen = party.master.wait("PLAYER_UPDATE").await;
    }
    assert_eq!(seen["sender_updated"]["name"], "<b>x</b>");
});
