//! People who play on, photos as links, and what phones hear while the store is away.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{On, Program, Server, on_every_store};

use super::phone::{Party, Phone, device, server, setup};

/// Base64 of ff d8 ff e0 and a few bytes more.
const PHOTO: &str = "data:image/jpeg;base64,/9j/4ABCREVG";
const BYTES: &[u8] = b"\xff\xd8\xff\xe0\x00BDEF";

on_every_store!(phones_hear_where_their_people_went_and_sit_there_already, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 3).await;
    party.phones[1].send("UPDATE_AVATAR", json!({"image": PHOTO})).await;
    party.master.wait("PLAYER_UPDATE").await;
    let next = format!("/api/rooms/{}/next", party.code);
    let ask = |key: &str| on.ask(Method::POST, &next).bearer_auth(key).json(&setup(3)).send();
    assert_eq!(ask("wrong").await.unwrap().status(), 403);
    let made = ask(&party.key).await.unwrap();
    assert_eq!(made.status(), 201);
    let made: Value = made.json().await.unwrap();
    assert_eq!(made["master_key"], party.key);
    let code = made["code"].as_str().unwrap();
    assert_eq!(made["join_url"], format!("http://{}/r/{code}", on.addr));
    for (n, phone) in party.phones.iter_mut().chain([&mut party.master]).enumerate() {
        assert_eq!(phone.wait("ROOM_MOVED").await["next_code"], code, "phone {n}");
    }
    for (n, phone) in party.phones.iter_mut().enumerate() {
        let sync = json!({"code": code, "device_id": device(n)});
        let state = phone.ask("STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await;
        assert_eq!(state["my_player_id"], format!("p{n}"));
        assert_eq!(state["players_visible"][1]["avatar_url"], PHOTO);
    }
    // A phone that slept asks for the old room and is told.
    let mut late = Phone::open(&on).await;
    let join = json!({"code": party.code, "device_id": device(9)});
    assert_eq!(late.ask("JOIN_ROOM", join, "JOIN_OK").await["next_code"], code);
    let again: Value = ask(&party.key).await.unwrap().json().await.unwrap();
    assert_eq!(
        (&again["message"], &again["details"]["code"]),
        (&json!("already_moved"), &json!(code))
    );
});

on_every_store!(photos_are_links_for_those_who_ask_and_data_for_the_others, |store| {
    let on = server(&store).await;
    let mut party = Party::seated(&on, 2).await;
    let sync = |n: usize| json!({"code": party.code, "device_id": device(n), "photos": "links"});
    party.phones[0].ask("STATE_SYNC", sync(0), "STATE_SYNC_RESPONSE").await;
    party.phones[1].send("UPDATE_AVATAR", json!({"image": PHOTO})).await;
    let link = loop {
        let told = party.phones[0].wait("PLAYER_UPDATE").await;
        if let Some(link) = told["player"]["avatar_url"].as_str() {
            break link.to_owned();
        }
    };
    assert!(link.starts_with(&format!("/api/rooms/{}/photos/", party.code)), "{link}");
    let plain = loop {
        let told = party.phones[1].wait("PLAYER_UPDATE").await;
        if told["player"]["avatar_url"].is_string() {
            break told;
        }
    };
    assert_eq!(plain["player"]["avatar_url"], PHOTO, "others get what they always got");
    let state = party.phones[0].ask("STATE_SYNC", sync(0), "STATE_SYNC_RESPONSE").await;
    assert_eq!(state["players_visible"][1]["avatar_url"], link);
    let at = format!("/api/rooms/{}/state", party.code);
    assert_eq!(on.json(&at).await["players_visible"][1]["avatar_url"], PHOTO);
    let linked = on.json(&format!("{at}?photos=links")).await;
    assert_eq!(linked["players_visible"][1]["avatar_url"], link);
    assert!(!linked.to_string().contains("base64"), "not one copy: {linked}");
    assert_eq!(on.status(&format!("{at}?photos=x")).await, 400);
    for _ in 0..2 {
        let photo = on.get(&link).send().await.unwrap();
        assert_eq!(photo.headers()["content-type"], "image/jpeg");
        assert_eq!(photo.headers()["cache-control"], "private, max-age=43200, immutable");
        assert_eq!(photo.headers()["x-content-type-options"], "nosniff");
        assert_eq!(photo.bytes().await.unwrap().as_ref(), BYTES);
    }
    let (gone, nowhere) = (format!("{}0", &link[..link.len() - 1]), "/api/rooms/ABCD2345/photos/x");
    assert_eq!(on.status(&gone).await, 404);
    assert_eq!(on.status(nowhere).await, 404);
    // A photo that was taken away is not there any more, although its room is.
    party.phones[1].send("UPDATE_AVATAR", json!({"image": null})).await;
    party.phones[0].wait("PLAYER_UPDATE").await;
    let error = party.phones[1]
        .ask("UPDATE_AVATAR", json!({"image": "data:image/gif;base64,R0lG"}), "ERROR")
        .await;
    assert_eq!(
        (&error["message"], &error["details"]["reason"]),
        (&json!("invalid_avatar"), &json!("not_jpeg_png_or_webp"))
    );
});

#[test]
fn while_redis_is_away_everybody_is_told_what_to_do() {
    if !On::Redis.is_wanted() {
        return;
    }
    let mut redis = Server::start(Program::Redis);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(testkit::open(&redis.url()));
    runtime.block_on(async {
        let on = server(&store).await;
        let mut party = Party::seated(&on, 2).await;
        redis.kill();
        let made = on.ask(Method::POST, "/api/rooms").json(&setup(2)).send().await.unwrap();
        assert_eq!(made.status(), 503);
        assert!(made.headers().contains_key("retry-after"));
        let body: Value = made.json().await.unwrap();
        assert_eq!(body["message"], "internal_error");
        assert!(body["says"].as_str().unwrap().contains("ask for the state"), "{body}");
        let error = party.phones[0].ask("RELEASE_PLAYER", json!({}), "ERROR").await;
        assert_eq!(error["error"], "internal_error", "{error}");
        let sync = json!({"code": party.code, "device_id": device(1)});
        let error = party.phones[1].ask("STATE_SYNC", sync, "ERROR").await;
        assert_eq!(error["error"], "internal_error", "{error}");
        assert!(party.phones[1].ask("PING", json!({}), "PONG").await["now"].is_u64());
        drop(on);
    });
}
