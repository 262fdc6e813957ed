//! The HTTP side: made, shown, listed, closed; state, QR code, error bodies.

use reqwest::Method;
use serde_json::{Value, json};
use server::access::Role;
use testkit::on_every_store;

use super::phone::{OFF, device, server, setup};
use crate::support::start;

on_every_store!(a_room_lives_over_http, |store| {
    let on = server(&store).await;
    let made = on.ask(Method::POST, "/api/rooms").json(&setup(3)).send().await.unwrap();
    assert_eq!(made.status(), 201);
    assert_eq!(made.headers()["cache-control"], "no-store");
    let made: Value = made.json().await.unwrap();
    let code = made["code"].as_str().unwrap();
    assert_eq!(made["join_url"], format!("http://{}/r/{code}", on.addr));
    assert_eq!(made["players_visible"][0]["status"], "free");
    let shown = on.json(&format!("/api/rooms/{}", code.to_lowercase())).await;
    assert_eq!(shown["players_free"], 3);
    let key = made["master_key"].as_str().unwrap();
    let state = |bearer: Option<&str>| {
        let mut request =
            on.get(&format!("/api/rooms/{code}/state")).header("x-device-id", device(0));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };
    assert!(state(None).await.get("players_all").is_none());
    assert!(state(Some("wrong")).await.get("players_all").is_none());
    assert_eq!(state(Some(key)).await["players_all"].as_array().unwrap().len(), 3);
    let qr = on.get(&format!("/api/rooms/{code}/qr.svg")).send().await.unwrap();
    assert_eq!(qr.headers()["content-type"], "image/svg+xml");
    assert!(qr.text().await.unwrap().starts_with("<svg"));
    let page = on.json("/api/rooms?limit=1").await;
    assert_eq!((&page["items"][0]["code"], &page["cursor"]), (&json!(code), &Value::Null));
    let wrong = on.ask(Method::DELETE, &format!("/api/rooms/{code}")).bearer_auth("wrong");
    let wrong = wrong.send().await.unwrap();
    assert_eq!(wrong.status(), 403);
    let body: Value = wrong.json().await.unwrap();
    let says = rooms::word::BAD_MASTER_KEY.says;
    assert_eq!(body, json!({"error": "forbidden", "message": "bad_master_key", "says": says}));
    let closed = on.ask(Method::DELETE, &format!("/api/rooms/{code}")).bearer_auth(key);
    assert_eq!(closed.send().await.unwrap().status(), 204);
    assert_eq!(on.status(&format!("/api/rooms/{code}")).await, 404);
});

on_every_store!(pages_of_rooms_follow_each_other, |store| {
    let on = server(&store).await;
    let mut codes = Vec::new();
    for _ in 0..5 {
        let made = on.ask(Method::POST, "/api/rooms").json(&setup(2)).send().await.unwrap();
        codes.push(made.json::<Value>().await.unwrap()["code"].as_str().unwrap().to_owned());
    }
    codes.sort();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = on.json(&format!("/api/rooms?limit=2{cursor}")).await;
        for item in page["items"].as_array().unwrap() {
            seen.push(item["code"].as_str().unwrap().to_owned());
        }
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, codes);
});

on_every_store!(strangers_cannot_list_or_close_and_operators_cannot_be_master, |store| {
    let mut settings = OFF.to_vec();
    settings.push(("loopback_admin", "false"));
    let on = start(store, &settings).await;
    let made = on.ask(Method::POST, "/api/rooms").json(&setup(2)).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let path = format!("/api/rooms/{}", made["code"].as_str().unwrap());
    assert_eq!(on.status("/api/rooms").await, 401);
    assert_eq!(on.ask(Method::DELETE, &path).send().await.unwrap().status(), 403);
    let reader = on.token(Role::Reader).await;
    let refused = on.ask(Method::DELETE, &path).bearer_auth(&reader).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let operator = on.token(Role::Operator).await;
    let state = on.get(&format!("{path}/state")).bearer_auth(&operator).send().await.unwrap();
    assert!(state.json::<Value>().await.unwrap().get("players_all").is_none());
    let closed = on.ask(Method::DELETE, &path).bearer_auth(&operator).send().await.unwrap();
    assert_eq!(closed.status(), 204);
});

on_every_store!(a_bad_setup_says_where, |store| {
    let on = server(&store).await;
    let post = |body: String| {
        let request = on
            .ask(Method::POST, "/api/rooms")
            .header("content-type", "application/json")
            .body(body);
        async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        }
    };
    let mut bad = setup(3);
    bad["rounds"][0]["items"][1]["k"] = json!(5);
    let (status, body) = post(bad.to_string()).await;
    assert_eq!(status, 400);
    assert_eq!(
        body,
        json!({"error": "bad_request", "message": "k_invalid", "says": "k goes from 1 to the number of true senders",
            "details": {"path": "rounds[0].items[1].k"}})
    );
    assert_eq!(post("{".into()).await.1["message"], "invalid_json");
    assert_eq!(post("{}".into()).await.1["message"], "invalid_field");
    let (status, body) = post("x".repeat(4 * 1024 * 1024 + 1)).await;
    assert_eq!((status, &body["message"]), (413, &json!("too_large")));
    for path in ["/api/rooms/ZZZZ2345", "/api/rooms/ZZZZ2345/state", "/api/rooms/a*/qr.svg"] {
        let answer = on.get(path).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["error"], "room_not_found", "{path}");
    }
});
