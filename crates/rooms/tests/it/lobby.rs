//! The lobby: seats, names, photos, who plays. Every rule, and the refusals that change nothing.

use serde_json::json;
use testkit::on_every_store;

use crate::support::{Party, ask, device, photo};

on_every_store!(one_device_per_player_and_one_player_per_device, |store| {
    let party = Party::new(&store, 3, &[1]).await;
    let take = |n: usize, player: &str| {
        let (party, payload) = (party.clone(), json!({"player_id": player}));
        async move { party.play(&device(n), "TAKE_PLAYER", payload).await }
    };
    assert_eq!(take(0, "p0").await, "TAKE_PLAYER_OK");
    assert_eq!(take(0, "p0").await, "TAKE_PLAYER_OK", "taking one's own again is fine");
    assert_eq!(take(1, "p0").await, "TAKE_PLAYER_FAIL taken_now");
    assert_eq!(take(0, "p1").await, "TAKE_PLAYER_FAIL device_already_has_player");
    assert_eq!(take(1, "p1").await, "TAKE_PLAYER_OK");
    assert_eq!(take(0, "p1").await, "TAKE_PLAYER_FAIL taken_now", "when both apply");
    assert_eq!(take(2, "p9").await, "TAKE_PLAYER_FAIL player_not_found");
    party.master("TOGGLE_PLAYER", json!({"player_id": "p2", "active": false})).await;
    assert_eq!(take(2, "p2").await, "TAKE_PLAYER_FAIL inactive");
    assert_eq!(party.hash("claims").await.len(), 2);
    assert_eq!(party.play(&device(0), "RELEASE_PLAYER", json!({})).await, "ok");
    assert_eq!(party.play(&device(0), "RELEASE_PLAYER", json!({})).await, "STATE_SYNC_RESPONSE");
    party.lives_agree().await;
    // The hash was emptied and came back: its life is the room's again.
    assert_eq!(party.master("RESET_CLAIMS", json!({})).await, "ok");
    assert!(party.hash("claims").await.is_empty());
    assert_eq!(take(2, "p0").await, "TAKE_PLAYER_OK");
    party.lives_agree().await;
});

on_every_store!(a_rename_changes_player_and_sender_together, |store| {
    let party = Party::new(&store, 3, &[1]).await;
    party.seat_all(2).await;
    let rename = |name: &str| party.play("device-0", "RENAME_PLAYER", json!({"new_name": name}));
    assert_eq!(rename("  Zoe\u{308}  ").await, "ok");
    assert_eq!(party.json("players").await[0]["name"], "Zoë");
    assert_eq!(party.json("senders").await[0]["name"], "Zoë");
    assert_eq!(rename("Zoë").await, "PLAYER_UPDATE", "nothing to change");
    assert_eq!(rename("N1").await, "conflict/name_taken", "the case does not matter");
    assert_eq!(rename("n2").await, "conflict/name_taken");
    assert_eq!(rename("\u{7}").await, "bad_request/invalid_name");
    assert_eq!(rename("ZOË").await, "ok", "one's own name in another case");
    let other = json!({"player_id": "p1", "new_name": "x"});
    assert_eq!(party.play("device-0", "RENAME_PLAYER", other).await, "not_claimed/not_claimed");
    let stranger = json!({"new_name": "x"});
    assert_eq!(party.play("device-9", "RENAME_PLAYER", stranger).await, "not_claimed/not_claimed");
    party.lives_agree().await;
});

on_every_store!(photos_come_and_go_and_only_real_ones, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.seat_all(1).await;
    let photo = photo(7);
    let send =
        |image: serde_json::Value| party.play("device-0", "UPDATE_AVATAR", json!({"image": image}));
    assert_eq!(send(json!(photo)).await, "ok");
    assert_eq!(party.json("players").await[0]["avatar_url"], photo);
    for bad in ["data:image/svg+xml;base64,PHN2Zy8+", "x", "data:image/jpeg;base64,%%%%"] {
        assert_eq!(send(json!(bad)).await, "bad_request/invalid_avatar");
    }
    let giant = format!("data:image/jpeg;base64,/9j/{}", "A".repeat(200_000));
    assert_eq!(send(json!(giant)).await, "bad_request/invalid_avatar");
    assert_eq!(party.json("players").await[0]["avatar_url"], photo);
    assert_eq!(send(json!(null)).await, "ok");
    assert_eq!(party.json("players").await[0]["avatar_url"], json!(null));
});

on_every_store!(switching_off_takes_the_seat_along, |store| {
    let party = Party::new(&store, 3, &[1]).await;
    party.seat_all(3).await;
    let toggle = |player: &str, active: bool| {
        party.master("TOGGLE_PLAYER", json!({"player_id": player, "active": active}))
    };
    assert_eq!(toggle("p1", false).await, "ok");
    assert!(!party.hash("claims").await.contains_key("p1"));
    assert_eq!(toggle("p1", false).await, "PLAYER_UPDATE");
    assert_eq!(toggle("p9", false).await, "bad_request/unknown_player");
    assert_eq!(toggle("p1", true).await, "ok");
    assert_eq!(party.json("players").await[1]["active"], true);
    assert_eq!(party.master("START_GAME", json!({})).await, "forbidden/unclaimed_players");
    toggle("p1", false).await;
    toggle("p2", false).await;
    assert_eq!(party.master("START_GAME", json!({})).await, "forbidden/not_enough_players");
});

on_every_store!(players_can_be_added_and_deleted_by_hand, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    assert_eq!(party.master("ADD_PLAYER", json!({"name": "Guest"})).await, "ok");
    assert_eq!(party.master("ADD_PLAYER", json!({"name": "guest"})).await, "conflict/name_taken");
    let player = party.json("players").await[2].clone();
    let id = player["player_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("p_manual_"));
    assert_eq!((&player["sender_id"], &player["is_sender_bound"]), (&json!(null), &json!(false)));
    assert_eq!(party.hash("scores").await[&id], "0");
    party.play("device-7", "TAKE_PLAYER", json!({"player_id": id})).await;
    assert_eq!(
        party.master("DELETE_PLAYER", json!({"player_id": "p0"})).await,
        "forbidden/not_manual"
    );
    assert_eq!(party.master("DELETE_PLAYER", json!({"player_id": id})).await, "ok");
    assert!(party.hash("claims").await.is_empty());
    assert_eq!(party.hash("scores").await.len(), 2);
    assert_eq!(party.json("players").await.as_array().unwrap().len(), 2);
});

on_every_store!(a_room_takes_no_more_players_than_it_may, |store| {
    let party = Party::new(&store, 60, &[1]).await;
    for n in 0..4 {
        assert_eq!(party.master("ADD_PLAYER", json!({"name": format!("g{n}")})).await, "ok");
    }
    assert_eq!(party.master("ADD_PLAYER", json!({"name": "one more"})).await, "conflict/room_full");
});

on_every_store!(fields_of_others_survive_every_rewrite, |store| {
    let party = Party::new(&store, 2, &[1]).await;
    party.seat_all(2).await;
    // Another program adds members and its own white space.
    let spaced = r#"[ {"x":1.50,"player_id":"p0","sender_id":"s0","is_sender_bound":true,"active":true,"name":"n0","avatar_url":null} ,{"player_id":"p1","sender_id":"s1","is_sender_bound":true,"active":true,"name":"n1","avatar_url":null,"note":"\u00e9\/"}]"#;
    ask(&*store, &["SET", &party.k("players"), spaced, "KEEPTTL"]).await;
    assert_eq!(party.play("device-1", "RENAME_PLAYER", json!({"new_name": "Ana"})).await, "ok");
    assert_eq!(party.get("players").await, spaced.replace("\"n1\"", "\"Ana\""));
    let meta = party.get("meta").await.replace("{\"code\"", "{\"mine\":[ ],\"code\"");
    ask(&*store, &["SET", &party.k("meta"), &meta, "KEEPTTL"]).await;
    assert_eq!(party.master("START_GAME", json!({})).await, "ok");
    let now = party.get("meta").await;
    assert!(
        now.starts_with("{\"mine\":[ ],\"code\"") && now.contains("\"phase\":\"game\""),
        "{now}"
    );
});
