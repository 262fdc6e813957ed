//! The party's listener: the game and nothing else, for guests and nobody else, whatever they show.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{Method, redirect};
use serde_json::{Value, json};
use server::access::Role;
use server::app::{openapi, operations};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};

use crate::rooms::phone::setup;
use crate::support::start_party;

/// The paths that guests may ask for; a path that is added to them is added here too.
const GAME: &[(&str, &str)] = &[
    ("POST", "/api/rooms"),
    ("GET", "/api/rooms/{code}"),
    ("DELETE", "/api/rooms/{code}"),
    ("GET", "/api/rooms/{code}/state"),
    ("GET", "/api/rooms/{code}/qr.svg"),
    ("GET", "/api/rooms/{code}/photos/{hash}"),
    ("POST", "/api/rooms/{code}/next"),
    ("GET", "/ws/rooms"),
];

testkit::on_every_store!(every_other_route_is_not_there_for_guests, |store| {
    let no_rates = [("limits.anonymous_per_second", "0"), ("rooms.unknown_codes_per_minute", "0")];
    let (running, guests) = start_party(store, &no_rates).await;
    let admin = running.token(Role::Admin).await;
    assert_eq!(running.status("/api/tokens").await, 200, "the first listener knows loopback");
    let mut asked = 0;
    for (method, template) in operations(&openapi()) {
        let path = template.replace("{code}", "ABCD2345").replace(['{', '}', '*'], "");
        let verb = Method::from_bytes(method.as_bytes()).unwrap();
        let is_game = GAME.contains(&(&method, &template));
        for token in [None, Some(&admin)] {
            let mut request = running.ask_at(guests, verb.clone(), &path);
            if verb != Method::GET {
                request = request.json(&json!({}));
            }
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let text = answer.text().await.unwrap();
            if is_game {
                // A room that is not there is a 404 of the game's own.
                let is_there = status != 404 || text.contains("room_not_found");
                assert!(is_there && status != 401, "{method} {path}: {status} {text}");
            } else {
                assert_eq!(status, 404, "{method} {path}: {text}");
                asked += 1;
            }
        }
    }
    assert!(asked > 150, "only {asked} requests beside the game");
    for (method, path) in [
        (Method::GET, "/api/rooms"),
        (Method::PUT, "/api/rooms"),
        (Method::OPTIONS, "/api/tokens"),
        (Method::GET, "/api"),
        (Method::GET, "/ws"),
        (Method::GET, "/ws/events"),
        (Method::POST, "/api/session"),
        (Method::GET, "/index.html"),
        (Method::GET, "/app.js"),
        (Method::GET, "/jobs"),
        (Method::GET, "/pages/login.js"),
        (Method::GET, "/lang/en.js"),
        (Method::GET, "/docs"),
        (Method::GET, "/docs/docs.html"),
        (Method::GET, "/fly"),
        (Method::GET, "/party/a/b"),
        (Method::GET, "/party/../app.js"),
        (Method::GET, "/party/%2e%2e/app.js"),
        (Method::GET, "//app.js"),
    ] {
        let answer = running.ask_at(guests, method.clone(), path).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{method} {path}");
    }
});

testkit::on_every_store!(guests_get_the_pages_and_a_bare_host_leads_to_the_game, |store| {
    let (running, guests) = start_party(store, &[]).await;
    for path in ["/play", "/party", "/party/new", "/r/ABCD2345", "/party/play.js", "/base/dom.js"] {
        let answer = running.ask_at(guests, Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        assert!(answer.headers().contains_key("content-security-policy"), "{path}");
    }
    for word in ["party.en", "party.fr"] {
        let at = format!("/lang/{word}.js");
        assert_eq!(running.ask_at(guests, Method::GET, &at).send().await.unwrap().status(), 200);
    }
    let plain = reqwest::Client::builder().redirect(redirect::Policy::none()).build().unwrap();
    let answer = plain.get(format!("http://{guests}/")).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["location"]),
        (303, &"/play".parse().unwrap())
    );
});

testkit::on_every_store!(a_guest_is_a_guest_by_any_name_and_with_any_token, |store| {
    let (running, guests) = start_party(store, &[]).await;
    let made = running.get("/api/rooms").send().await.unwrap();
    assert_eq!(made.status(), 200, "an operator lists rooms on the first listener");
    let made = running.ask_at(guests, Method::POST, "/api/rooms").json(&setup(3)).send();
    let made: Value = made.await.unwrap().json().await.unwrap();
    let code = made["code"].as_str().unwrap();
    assert_eq!(made["join_url"], format!("http://{guests}/r/{code}"));
    // The big screen on the first listener sends phones to the second one too.
    let own = running.ask(Method::POST, "/api/rooms").json(&setup(3)).send().await.unwrap();
    let own: Value = own.json().await.unwrap();
    assert!(own["join_url"].as_str().unwrap().starts_with(&format!("http://{guests}/r/")));
    let room = format!("/api/rooms/{code}");
    let seen: Value = running.json(&room).await;
    assert!(seen.get("created_at").is_some(), "loopback is an operator on the first listener");
    assert_eq!(seen["join_url"], made["join_url"]);
    let admin = running.token(Role::Admin).await;
    let ask = |method: Method| running.ask_at(guests, method, &room);
    for request in [ask(Method::GET), ask(Method::GET).bearer_auth(&admin)] {
        let seen: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(seen["code"], code);
        assert!(seen.get("created_at").is_none(), "{seen}");
    }
    let closed = ask(Method::DELETE).bearer_auth(&admin).send().await.unwrap();
    assert_eq!(closed.status(), 403, "an operator closes rooms on the first listener");
    let port = guests.port();
    for (name, value, status) in [
        ("host", format!("127.0.0.2:{port}"), 200),
        ("host", format!("laptop.local:{port}"), 200),
        ("host", format!("[fd00::2]:{port}"), 200),
        ("host", format!("rebound.example:{port}"), 403),
        ("host", "127.0.0.2.evil.example".to_owned(), 403),
        ("origin", format!("http://{guests}"), 200),
        ("origin", format!("http://{}", running.addr), 403),
        ("origin", "http://evil.example".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
        ("x-forwarded-for", "10.0.0.1".to_owned(), 200),
    ] {
        let answer = ask(Method::GET).header(name, &value).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{name}: {value}");
    }
    let key = made["master_key"].as_str().unwrap();
    let closed = ask(Method::DELETE).bearer_auth(key).send().await.unwrap();
    assert_eq!(closed.status(), 204, "the room's own key closes it");
});

testkit::on_every_store!(phones_play_over_the_partys_listener_and_no_other_socket_opens, |store| {
    let (running, guests) = start_party(store, &[]).await;
    let made = running.ask_at(guests, Method::POST, "/api/rooms").json(&setup(3)).send();
    let made: Value = made.await.unwrap().json().await.unwrap();
    let connect = |path: &str, origin: String| {
        let mut request = format!("ws://{guests}{path}").into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        tokio_tungstenite::connect_async(request)
    };
    let ours = format!("http://{guests}");
    for (path, origin) in [
        ("/ws/rooms", "http://evil.example"),
        ("/ws/events", &ours),
        ("/ws/galaxy", &ours),
        ("/ws", &ours),
    ] {
        assert!(connect(path, origin.to_owned()).await.is_err(), "{path} from {origin}");
    }
    let (mut socket, _) = connect("/ws/rooms", ours).await.unwrap();
    let join = json!({"type": "JOIN_ROOM", "payload": {"code": made["code"], "device_id": "device-of-a-guest"}});
    socket.send(Message::text(join.to_string())).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.unwrap();
    let heard: Value = serde_json::from_str(heard.unwrap().unwrap().to_text().unwrap()).unwrap();
    assert_eq!(heard["type"], "JOIN_OK", "{heard}");
});

testkit::on_every_store!(a_guest_who_asks_too_much_is_slowed_down, |store| {
    let rates = [("limits.anonymous_per_second", "2"), ("rooms.unknown_codes_per_minute", "3")];
    let (running, guests) = start_party(store, &rates).await;
    let mut refused = 0;
    for n in 0..30 {
        let path = format!("/api/rooms/ABCD{n:04}");
        let answer = running.ask_at(guests, Method::GET, &path).send().await.unwrap();
        refused += usize::from(answer.status() == 429);
    }
    assert!(refused > 20, "{refused} of 30 were refused");
    let body = "x".repeat(5_000_000);
    let large = running.ask_at(guests, Method::POST, "/api/rooms").body(body).send().await;
    let status = large.map_or(413, |answer| answer.status().as_u16());
    assert!([413, 429].contains(&status), "{status}");
});
