//! `/ws/events`: live, filtered, resumed, bounded.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Method;
use serde_json::{Value, json};
use server::access::Role;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::support::{Running, start, start_strict};

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// Opens a socket, or gives the status that refused it.
async fn open(
    running: &Running,
    query: &str,
    headers: &[(&'static str, &str)],
) -> Result<Socket, u16> {
    let mut request =
        format!("ws://{}/ws/events{query}", running.addr).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match connect_async(request).await {
        Ok((socket, _)) => Ok(Socket(socket)),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

impl Socket {
    async fn say(&mut self, value: Value) {
        self.0.send(Message::text(value.to_string())).await.unwrap();
    }

    async fn message(&mut self) -> Message {
        loop {
            let next = tokio::time::timeout(Duration::from_secs(10), self.0.next()).await;
            match next.expect("a message in time").expect("the socket is open").unwrap() {
                Message::Ping(_) | Message::Pong(_) => {}
                other => return other,
            }
        }
    }

    async fn hear(&mut self) -> Value {
        match self.message().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn close_code(&mut self) -> u16 {
        loop {
            match self.message().await {
                Message::Close(frame) => return frame.map_or(1005, |frame| frame.code.into()),
                Message::Text(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn subscribe(&mut self, ask: Value) -> Value {
        self.say(ask).await;
        let answer = self.hear().await;
        assert_eq!(answer["type"], "subscribed", "{answer}");
        answer["streams"].clone()
    }
}

const ROOMS: &str = "wk:rooms:events";

async fn add(running: &Running, stream: &str, id: &str, kind: &str, body: &str) {
    running.store(&["XADD", stream, id, "type", kind, "at", "5", "id", "e1", "body", body]).await;
}

testkit::on_every_store!(events_arrive_live_as_envelopes, |store| {
    let running = start(store, &[]).await;
    let mut socket = open(&running, "", &[]).await.ok().unwrap();
    let streams = socket.subscribe(json!({ "type": "subscribe" })).await;
    assert_eq!(streams[ROOMS], "0-0");
    add(&running, ROOMS, "7-1", "created", r#"{"players":1.50}"#).await;
    let event = socket.hear().await;
    let wanted = json!({ "module": "rooms", "scope": null, "seq": "7-1", "at": 5, "type": "created",
        "id": "e1", "body": { "players": 1.5 }, "stream": ROOMS });
    assert_eq!(event, wanted);
});

testkit::on_every_store!(filters_take_only_what_they_name, |store| {
    let running = start(store, &[("jobs.scheduler", "false")]).await;
    let mut socket = open(&running, "", &[]).await.ok().unwrap();
    let ask = json!({ "type": "subscribe", "modules": ["galaxy", "rooms"], "types": ["b"], "where": { "n": 2 } });
    let streams = socket.subscribe(ask).await;
    assert!(streams.get("bridge:events:stream").is_none(), "{streams}");
    add(&running, "bridge:events:stream", "1-1", "b", r#"{"n":2}"#).await;
    add(&running, ROOMS, "1-1", "a", r#"{"n":2}"#).await;
    add(&running, ROOMS, "1-2", "b", r#"{"n":1}"#).await;
    add(&running, ROOMS, "1-3", "b", r#"{"n":2}"#).await;
    assert_eq!(socket.hear().await["seq"], "1-3");
    // Sent again, it replaces what was wanted.
    socket.subscribe(json!({ "type": "subscribe", "modules": ["jobs"] })).await;
    add(&running, ROOMS, "2-1", "b", r#"{"n":2}"#).await;
    add(&running, "bridge:events:stream", "2-1", "completed", "{}").await;
    let event = socket.hear().await;
    assert_eq!((&event["module"], &event["scope"]), (&json!("jobs"), &json!("bridge")));
});

testkit::on_every_store!(a_socket_resumes_where_it_was_without_loss_or_repeat, |store| {
    let running = start(store, &[]).await;
    for n in 1..=1500 {
        add(&running, ROOMS, &format!("{n}-0"), "tick", "{}").await;
    }
    let mut socket = open(&running, "", &[]).await.ok().unwrap();
    socket.subscribe(json!({ "type": "subscribe", "after": { ROOMS: "500-0" } })).await;
    add(&running, ROOMS, "1501-0", "tick", "{}").await;
    for n in 501..=1501 {
        assert_eq!(socket.hear().await["seq"], format!("{n}-0"));
    }
});

testkit::on_every_store!(what_was_trimmed_is_told_as_a_gap, |store| {
    let running = start(store, &[]).await;
    for n in 1..=10 {
        add(&running, ROOMS, &format!("{n}-0"), "tick", "{}").await;
    }
    running.store(&["XTRIM", ROOMS, "MAXLEN", "3"]).await;
    let mut socket = open(&running, "", &[]).await.ok().unwrap();
    socket.subscribe(json!({ "type": "subscribe", "after": { ROOMS: "2-0" } })).await;
    assert_eq!(socket.hear().await, json!({ "type": "gap", "stream": ROOMS, "from": "8-0" }));
    assert_eq!(socket.hear().await["seq"], "8-0");
});

testkit::on_every_store!(new_tenants_are_found_and_strangers_hidden, |store| {
    let running = start_strict(store).await;
    let mine = "083839c6-c47c-42a6-9585-76492795d123";
    let other = "11111111-1111-4111-8111-111111111111";
    let token = running.limited_token(Role::Reader, Some(&[mine]), None).await;
    let auth = format!("Bearer {token}");
    let mut socket = open(&running, "", &[("authorization", &auth)]).await.ok().unwrap();
    socket.subscribe(json!({ "type": "subscribe" })).await;
    let now = running.app.now_ms();
    for tenant in [other, mine] {
        running.store(&["SADD", "wk:monsters:scopes", tenant]).await;
        let id = format!("{now}-0");
        add(&running, &format!("wk:monsters:{tenant}:events"), &id, "KILLED", "{}").await;
    }
    let event = socket.hear().await;
    assert_eq!(event["scope"], mine, "only the tenant of the token");
    // Nor by asking for it.
    let theirs = format!("wk:monsters:{other}:events");
    let streams =
        socket.subscribe(json!({ "type": "subscribe", "after": { theirs.as_str(): "0-0" } })).await;
    assert!(streams.get(&theirs).is_none(), "{streams}");
    add(
        &running,
        &format!("wk:monsters:{other}:events"),
        &format!("{}-1", now + 1),
        "KILLED",
        "{}",
    )
    .await;
    add(&running, &format!("wk:monsters:{mine}:events"), &format!("{}-1", now + 1), "DONE", "{}")
        .await;
    assert_eq!(socket.hear().await["type"], "DONE");
});

testkit::on_every_store!(sockets_open_by_ticket_once, |store| {
    let running = start_strict(store).await;
    let token = running.token(Role::Reader).await;
    assert_eq!(open(&running, "", &[]).await.err(), Some(401));
    assert_eq!(
        open(&running, &format!("?token={token}"), &[]).await.err(),
        Some(401),
        "no token in a URL"
    );
    let ticket = running.ask(Method::POST, "/api/ws-ticket").bearer_auth(&token);
    let ticket: Value = ticket.send().await.unwrap().json().await.unwrap();
    let query = format!("?ticket={}", ticket["ticket"].as_str().unwrap());
    let own = format!("http://{}", running.addr);
    assert_eq!(open(&running, &query, &[("origin", "http://evil.example")]).await.err(), Some(403));
    assert!(
        open(&running, &query, &[("origin", &own)]).await.is_ok(),
        "a refused origin spends no ticket"
    );
    assert_eq!(open(&running, &query, &[("origin", &own)]).await.err(), Some(401), "good once");
    // A cookie alone opens no socket.
    let login = running.ask(Method::POST, "/api/session").json(&json!({ "token": token }));
    let response = login.send().await.unwrap();
    let cookie =
        response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(open(&running, "", &[("cookie", &cookie)]).await.err(), Some(401));
});

testkit::on_every_store!(a_socket_ends_with_its_token, |store| {
    let settings = [("loopback_admin", "false"), ("limits.socket_recheck_s", "1")];
    let running = start(store, &settings).await;
    let token = running.token(Role::Reader).await;
    let auth = format!("Bearer {token}");
    let mut socket = open(&running, "", &[("authorization", &auth)]).await.ok().unwrap();
    socket.subscribe(json!({ "type": "subscribe" })).await;
    running.store(&["DEL", "wk:tokens"]).await;
    assert_eq!(socket.close_code().await, 4401);
});

testkit::on_every_store!(nonsense_is_answered_and_then_closed, |store| {
    let running = start(store, &[]).await;
    let mut socket = open(&running, "", &[]).await.ok().unwrap();
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await["type"], "pong");
    socket.say(json!({ "type": "subscribe", "modules": ["nothing"] })).await;
    assert_eq!(socket.hear().await["code"], "bad_message");
    socket.say(json!({ "type": "subscribe", "after": { "x": "not a sequence" } })).await;
    assert_eq!(socket.hear().await["code"], "bad_message");
    socket.say(json!("what")).await;
    assert_eq!(socket.close_code().await, 1008);
    let mut socket = open(&running, "", &[]).await.ok().unwrap();
    let _ = socket.0.send(Message::text("x".repeat(70_000))).await;
    assert_eq!(socket.close_code().await, 1009);
});

testkit::on_every_store!(sockets_are_capped_and_silent_ones_closed, |store| {
    let settings = [("limits.sockets_per_account", "2"), ("limits.socket_idle_s", "1")];
    let running = start(store, &settings).await;
    let mut first = open(&running, "", &[]).await.ok().unwrap();
    let _second = open(&running, "", &[]).await.ok().unwrap();
    assert_eq!(open(&running, "", &[]).await.err(), Some(429));
    assert_eq!(first.close_code().await, 4008, "nothing was heard for a second");
});

testkit::on_every_store!(a_slow_reader_is_closed_and_others_go_on, |store| {
    let running = start(store, &[("limits.socket_queue_bytes", "20000")]).await;
    let mut slow = open(&running, "", &[]).await.ok().unwrap();
    slow.subscribe(json!({ "type": "subscribe" })).await;
    let mut quick = open(&running, "", &[]).await.ok().unwrap();
    quick.subscribe(json!({ "type": "subscribe" })).await;
    // More than the kernel's buffers and the queue hold: the slow one reads nothing meanwhile.
    let body = format!("{{\"x\":\"{}\"}}", "y".repeat(100_000));
    let count = 150;
    let reading = tokio::spawn(async move {
        for _ in 0..count {
            assert_eq!(quick.hear().await["type"], "big");
        }
    });
    for n in 1..=count {
        add(&running, ROOMS, &format!("{n}-0"), "big", &body).await;
    }
    reading.await.unwrap();
    testkit::eventually("the slow one is let go", async || running.app.hub.listeners() <= 1).await;
});

testkit::on_every_store!(older_events_are_read_without_a_socket, |store| {
    let running = start(store, &[("jobs.scheduler", "false")]).await;
    for n in 1..=5 {
        add(&running, ROOMS, &format!("{n}-0"), "tick", "{}").await;
        add(&running, "galaxy:admin", &format!("{n}-1"), "paused", "{}").await;
    }
    let page = running.json("/api/events?limit=3").await;
    let seqs: Vec<_> = page["items"].as_array().unwrap().iter().map(|e| e["seq"].clone()).collect();
    assert_eq!(seqs, ["5-1", "5-0", "4-1"]);
    let next = running
        .json(&format!("/api/events?limit=3&cursor={}", page["cursor"].as_str().unwrap()))
        .await;
    assert_eq!(next["items"][0]["seq"], "4-0");
    let only = running.json("/api/events?module=galaxy&type=paused").await;
    assert_eq!(only["items"].as_array().unwrap().len(), 5);
    assert!(only["cursor"].is_null());
});

testkit::on_every_store!(a_stream_is_followed_without_a_socket, |store| {
    let running = start(store, &[]).await;
    for n in 1..=5 {
        add(&running, ROOMS, &format!("{n}-0"), if n == 4 { "tick" } else { "tock" }, "{}").await;
    }
    let seqs = |page: &serde_json::Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|event| event["seq"].as_str().unwrap().to_owned()).collect()
    };
    let page = running.json("/api/events?module=rooms&after=0&limit=3").await;
    assert_eq!(seqs(&page), ["1-0", "2-0", "3-0"]);
    let page = running.json("/api/events?module=rooms&limit=3&after=3-0").await;
    assert_eq!(seqs(&page), ["4-0", "5-0"]);
    assert_eq!(page["cursor"], "5-0");
    let page = running.json("/api/events?module=rooms&after=5-0").await;
    assert_eq!((seqs(&page).len(), &page["cursor"]), (0, &"5-0".into()));
    // A filter moves on past what it leaves out.
    let page = running.json("/api/events?module=rooms&type=tick&after=0").await;
    assert_eq!((seqs(&page), &page["cursor"]), (vec!["4-0".to_owned()], &"5-0".into()));
    assert_eq!(running.status("/api/events?after=x").await, 400);
});

testkit::on_every_store!(a_listener_hears_only_what_happens_in_its_box, |store| {
    const TENANT: &str = "11111111-1111-4111-8111-111111111111";
    const FIELD: &str =
        "/api/worlds/0/channels/1/maps/40000/instances/00000000-0000-0000-0000-000000000000";
    let running = start(store, &[("demo", "off")]).await;
    let post = async |path: &str, body: Value| -> Value {
        let request = running.ask(reqwest::Method::POST, path).header("TENANT_ID", TENANT);
        let request = request.header("REGION", "GMS").header("MAJOR_VERSION", "83");
        let answer = request.header("MINOR_VERSION", "1").json(&body).send().await.unwrap();
        answer.json().await.unwrap_or_default()
    };
    let mut here = open(&running, "", &[]).await.unwrap();
    let seen = json!({ "worldId": 0, "channelId": 1, "mapId": 40_000,
        "x1": 100, "y1": 100, "x2": -100, "y2": -100 });
    here.subscribe(json!({ "type": "subscribe", "boxes": [seen] })).await;
    let mut named = open(&running, "", &[]).await.unwrap();
    named.subscribe(json!({ "type": "subscribe", "types": ["MOVED", "CREATED"] })).await;
    let mut plain = open(&running, "", &[]).await.unwrap();
    plain.subscribe(json!({ "type": "subscribe", "modules": ["monsters"] })).await;
    let spawn = async |x: i32| -> String {
        let new = json!({ "data": { "attributes": { "monsterId": 9_300_018, "x": x, "y": 0 } } });
        let made = post(&format!("{FIELD}/monsters"), new).await;
        made["data"]["id"].as_str().unwrap().to_owned()
    };
    let (near, far) = (spawn(0).await, spawn(500).await);
    let to = |id: &str, x: i32| json!({ "id": id, "attributes": { "x": x, "y": 0, "stance": 2 } });
    // The near one goes within the box, leaves it, moves outside, and comes back. The far one stays out.
    for x in [50, 200, 300, 100] {
        let items = json!({ "data": [to(&near, x), to(&far, 500 + x)] });
        assert_eq!(post("/api/monsters/bulk/movement", items).await["meta"]["done"], 2);
    }
    let hit = json!({ "data": { "attributes": { "characterId": 7, "damages": [1] } } });
    post(&format!("/api/monsters/{far}/damage"), hit.clone()).await;
    post(&format!("/api/monsters/{near}/damage"), hit).await;
    let short = |told: &Value| {
        let body = &told["body"];
        (
            told["type"].as_str().unwrap_or_default().to_owned(),
            body["x"].clone(),
            body["body"]["fromX"].clone(),
        )
    };
    let mut heard = Vec::new();
    let count = |heard: &[(String, Value, Value)], kind: &str| {
        heard.iter().filter(|one| one.0 == kind).count()
    };
    while count(&heard, "DAMAGED") < 1 || count(&heard, "MOVED") < 3 {
        let told = here.hear().await;
        assert_eq!((&told["id"], &told["body"]["life"]), (&json!(near), &json!(1)), "{told}");
        heard.push(short(&told));
    }
    // Moves come on a channel and the rest on a stream: each has its order, and one may overtake the other.
    let moves: Vec<_> = heard.iter().filter(|one| one.0 == "MOVED").cloned().collect();
    let moved = |from: i32, to: i32| ("MOVED".to_owned(), json!(to), json!(from));
    assert_eq!(moves, [moved(0, 50), moved(50, 200), moved(300, 100)], "{heard:?}");
    let others: Vec<_> =
        heard.iter().map(|one| one.0.as_str()).filter(|kind| *kind != "MOVED").collect();
    assert_eq!(others, ["CREATED", "DAMAGED"]);
    // Whoever asks for moves by name hears all of them; whoever does not hears none.
    let (mut all, mut created) = (0, 0);
    while all < 8 || created < 2 {
        let told = named.hear().await;
        match told["type"].as_str() {
            Some("MOVED") => all += 1,
            Some("CREATED") => created += 1,
            other => panic!("{other:?} was not asked for"),
        }
    }
    for kind in ["CREATED", "CREATED", "DAMAGED", "DAMAGED"] {
        assert_eq!(plain.hear().await["type"], kind);
    }
    let path = "/api/events?module=monsters&box=0:1:40000@-100,-100,100,100";
    let page: Value = running.get(path).send().await.unwrap().json().await.unwrap();
    let kinds: Vec<_> = page["items"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["DAMAGED", "CREATED"]);
    let bad = running.get("/api/events?box=0:1:40000@1,2,3").send().await.unwrap();
    assert_eq!(bad.status(), 400);
    // A box that is none is told, and changes nothing.
    let wrong = json!({ "worldId": 0, "channelId": 1, "mapId": 40_000, "x1": 0, "y1": 0, "x2": 99_999, "y2": 0 });
    here.say(json!({ "type": "subscribe", "boxes": [wrong] })).await;
    let told = here.hear().await;
    assert!(told["message"].as_str().unwrap().contains("x2 of a box"), "{told}");
    here.say(json!({ "type": "subscribe", "boxes": vec![seen_again(); 65] })).await;
    assert!(here.hear().await["message"].as_str().unwrap().contains("`boxes`"));
});

fn seen_again() -> Value {
    json!({ "worldId": 0, "channelId": 1, "mapId": 1, "x1": 0, "y1": 0, "x2": 1, "y2": 1 })
}
