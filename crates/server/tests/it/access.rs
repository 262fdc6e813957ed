//! Credentials that are no good, and what limited tokens reach; `matrix.rs` asks every route as every kind of caller.

use reqwest::Method;
use serde_json::{Value, json};
use server::access::{Need, Role};
use server::app::{openapi, operations};

use crate::rooms::phone::setup;
use crate::support::{start, start_strict};

/// A path that matches the template.
fn concrete(template: &str) -> String {
    template
        .split('/')
        .map(|part| if part.starts_with('{') { "room:ABCD2345:meta" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

fn table() -> server::access::Table {
    let modules = server::modules::MODULES.iter().flat_map(|module| module.access);
    server::access::Table::new(server::access::ACCESS.iter().chain(modules))
}

testkit::on_every_store!(every_route_refuses_bad_credentials_and_foreign_pages, |store| {
    let running = start_strict(store).await;
    let table = table();
    let admin = running.token(Role::Admin).await;
    let all = operations(&openapi());
    assert!(all.len() >= 20, "the document lists the routes");
    for (method, template) in all {
        let need = table.row(&method, &template).expect("every route has a row").need;
        let (path, verb) = (concrete(&template), Method::from_bytes(method.as_bytes()).unwrap());
        let send = |token: Option<&str>, origin: Option<&str>| {
            let mut request = running.ask(verb.clone(), &path);
            if verb != Method::GET {
                request = request.json(&json!({}));
            }
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            async move { request.send().await.unwrap().status().as_u16() }
        };
        let place = format!("{method} {path}");
        let guarded = path.starts_with("/api") || path.starts_with("/ws") || path == "/metrics";
        // Logging in with nothing is refused by the handler itself.
        let login = place == "POST /api/session";
        match need {
            Need::Open => {
                let refused = [401, 403].contains(&send(None, None).await);
                assert!(!refused || login, "{place} is open");
            }
            _ => assert_eq!(send(None, None).await, 401, "{place}, nobody"),
        }
        if guarded {
            let bad = format!("wk_{}", "A".repeat(43));
            assert_eq!(send(Some(&bad), None).await, 401, "{place}, bad token");
            assert_eq!(
                send(Some("eyJhbGciOi.x.y"), None).await,
                match need {
                    Need::Open if login => 400,
                    Need::Open => send(None, None).await,
                    _ => 401,
                },
                "{place}, foreign credential"
            );
            assert_eq!(
                send(Some(&admin), Some("http://evil.example")).await,
                403,
                "{place}, wrong origin"
            );
            assert_eq!(send(Some(&admin), Some("null")).await, 403, "{place}, opaque origin");
        }
    }
});

testkit::on_every_store!(loopback_is_admin_only_when_it_is_direct, |store| {
    let running = start(store, &[]).await;
    assert_eq!(running.status("/api/tokens").await, 200);
    let with = |name: &'static str, value: String| {
        let request = running.get("/api/tokens").header(name, value);
        async move { request.send().await.unwrap() }
    };
    let own = format!("http://{}", running.addr);
    assert_eq!(with("origin", own).await.status(), 200);
    let port = running.addr.port();
    for (name, value) in [
        ("origin", "http://evil.example".to_owned()),
        ("origin", format!("http://localhost:{port}")), // not the host it was sent to
        ("origin", "null".to_owned()),
        ("host", "evil.example".to_owned()),
        ("host", format!("rebound.example:{port}")),
        ("host", "127.0.0.1.evil.example".to_owned()),
        ("x-forwarded-for", "10.0.0.1".to_owned()),
        ("forwarded", "for=10.0.0.1".to_owned()),
        ("x-real-ip", "10.0.0.1".to_owned()),
        ("via", "1.1 proxy".to_owned()),
        ("sec-fetch-site", "cross-site".to_owned()),
    ] {
        let response = with(name, value.clone()).await;
        assert_eq!(response.status(), 403, "{name}: {value}");
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(body["error"]["code"], "wrong_origin", "{name}: {value}");
    }
    // A token works under any name and through proxies; rights then come from the token alone.
    let reader = running.token(Role::Reader).await;
    let request =
        running.get("/api/tokens").bearer_auth(&reader).header("x-forwarded-for", "10.0.0.1");
    assert_eq!(request.send().await.unwrap().status(), 403);
});

testkit::on_every_store!(a_removed_token_is_refused_at_once, |store| {
    let running = start_strict(store).await;
    let admin = running.token(Role::Admin).await;
    let reader = running.token(Role::Reader).await;
    let ask = |token: &str| running.get("/api/overview").bearer_auth(token).send();
    assert_eq!(ask(&reader).await.unwrap().status(), 200);
    let list: serde_json::Value =
        running.get("/api/tokens").bearer_auth(&admin).send().await.unwrap().json().await.unwrap();
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert!(!list.to_string().contains(&reader), "a list never holds a token's text");
    let id = items.iter().find(|item| item["role"] == "reader").unwrap()["id"].as_str().unwrap();
    let gone = running.ask(Method::DELETE, &format!("/api/tokens/{id}")).bearer_auth(&admin);
    assert_eq!(gone.send().await.unwrap().status(), 204);
    assert_eq!(ask(&reader).await.unwrap().status(), 401);
    let again = running.ask(Method::DELETE, &format!("/api/tokens/{id}")).bearer_auth(&admin);
    assert_eq!(again.send().await.unwrap().status(), 404);
    let stored = format!("{:?}", running.store(&["HGETALL", "wk:tokens"]).await);
    assert!(!stored.contains(&admin), "only hashes are stored");
});

testkit::on_every_store!(the_configured_admin_token_works_without_being_stored, |store| {
    let token = format!("wk_{}", "b".repeat(43));
    let running = start(store, &[("loopback_admin", "false"), ("admin_token", &token)]).await;
    let ask = |token: &str| running.get("/api/tokens").bearer_auth(token).send();
    assert_eq!(ask(&token).await.unwrap().status(), 200);
    assert_eq!(ask(&format!("wk_{}", "c".repeat(43))).await.unwrap().status(), 401);
    assert_eq!(running.store(&["EXISTS", "wk:tokens"]).await, kernel::Value::Int(0));
});

testkit::on_every_store!(limited_tokens_cannot_reach_the_whole_store, |store| {
    let running = start_strict(store).await;
    let tenant = "083839c6-c47c-42a6-9585-76492795d123";
    let other = "11111111-1111-4111-8111-111111111111";
    running.store(&["SET", &format!("atlas:monster:{tenant}:1"), "{}"]).await;
    running.store(&["SET", &format!("atlas:monster:{other}:1"), "{}"]).await;
    let token = running.limited_token(Role::Admin, Some(&[tenant]), None).await;
    let status = |path: String| {
        let request = running.get(&path).bearer_auth(&token);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(status(format!("/api/keys/atlas:monster:{tenant}:1")).await, 200);
    assert_eq!(status(format!("/api/keys/atlas:monster:{other}:1")).await, 403);
    assert_eq!(status("/api/keys/anything".into()).await, 403);
    assert_eq!(status("/api/check".into()).await, 403);
    let page = running.get("/api/keys?module=monsters&pattern=monster").bearer_auth(&token);
    let page: serde_json::Value = page.send().await.unwrap().json().await.unwrap();
    assert!(page.to_string().contains(tenant) && !page.to_string().contains(other), "{page}");
});

// Seen: a token `admin, tenants=[T1]` made itself a full admin with `POST /api/tokens`.
testkit::on_every_store!(nobody_hands_out_more_than_they_hold, |store| {
    let running = start_strict(store).await;
    let (mine, other) =
        ("083839c6-c47c-42a6-9585-76492795d123", "11111111-1111-4111-8111-111111111111");
    let limited = running.limited_token(Role::Admin, Some(&[mine]), Some(&["bridge"])).await;
    let ask = |token: &str, body: Value| {
        let request = running.ask(Method::POST, "/api/tokens").bearer_auth(token).json(&body);
        async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        }
    };
    for (field, body) in [
        ("tenants", json!({ "name": "n", "role": "admin" })),
        ("tenants", json!({ "name": "n", "role": "reader", "tenants": [mine, other] })),
        ("namespaces", json!({ "name": "n", "role": "reader", "namespaces": ["other"] })),
        ("payloads", json!({ "name": "n", "role": "reader", "tenants": [mine], "payloads": true })),
    ] {
        let (status, told) = ask(&limited, body).await;
        assert_eq!((status, &told["error"]["field"]), (403, &json!(field)), "{told}");
    }
    let (status, child) =
        ask(&limited, json!({ "name": "child", "role": "admin", "tenants": [mine] })).await;
    assert_eq!(status, 201, "{child}");
    // What it made holds the tenant and no namespace, and makes no more than that in turn.
    let child = child["token"].as_str().unwrap();
    let again = json!({ "name": "n", "role": "reader", "namespaces": ["bridge"] });
    assert_eq!(ask(child, again).await.0, 403);
    let jobs = running.get("/api/jobs?ns=bridge").bearer_auth(child).send().await.unwrap();
    assert_eq!(jobs.status(), 403, "a token for a tenant reaches no job namespace");
});

testkit::on_every_store!(tokens_beyond_the_own_one_are_neither_listed_nor_removed, |store| {
    let running = start_strict(store).await;
    let mine = "083839c6-c47c-42a6-9585-76492795d123";
    let whole = running.token(Role::Admin).await;
    let limited = running.limited_token(Role::Admin, Some(&[mine]), None).await;
    running.limited_token(Role::Reader, Some(&[mine]), None).await;
    let list = |token: &str| {
        let request = running.get("/api/tokens").bearer_auth(token);
        async move { request.send().await.unwrap().json::<Value>().await.unwrap()["items"].clone() }
    };
    let (all, some) = (list(&whole).await, list(&limited).await);
    assert_eq!((all.as_array().unwrap().len(), some.as_array().unwrap().len()), (3, 2), "{some}");
    let foreign = all.as_array().unwrap().iter().find(|one| one["tenants"].is_null()).unwrap();
    let path = format!("/api/tokens/{}", foreign["id"].as_str().unwrap());
    let remove = |token: &str| running.ask(Method::DELETE, &path).bearer_auth(token).send();
    assert_eq!(remove(&limited).await.unwrap().status(), 404);
    assert_eq!(list(&whole).await.as_array().unwrap().len(), 3, "it is still there");
    let reader = some.as_array().unwrap().iter().find(|one| one["role"] == "reader").unwrap();
    let path = format!("/api/tokens/{}", reader["id"].as_str().unwrap());
    let gone = running.ask(Method::DELETE, &path).bearer_auth(&limited).send().await.unwrap();
    assert_eq!(gone.status(), 204);
});

testkit::on_every_store!(a_token_does_not_outlive_the_one_that_made_it, |store| {
    let running = start_strict(store).await;
    let whole = running.token(Role::Admin).await;
    let make = |token: &str, days: Option<u32>| {
        let body = json!({ "name": "n", "role": "admin", "days": days });
        let request = running.ask(Method::POST, "/api/tokens").bearer_auth(token).json(&body);
        async move { request.send().await.unwrap() }
    };
    let ending: Value = make(&whole, Some(7)).await.json().await.unwrap();
    let ending = ending["token"].as_str().unwrap();
    assert_eq!(make(ending, None).await.status(), 201);
    assert_eq!(make(ending, Some(6)).await.status(), 201);
    let refused = make(ending, Some(8)).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.json::<Value>().await.unwrap()["error"]["field"], "days");
    let list = running.get("/api/tokens").bearer_auth(&whole).send().await.unwrap();
    let list: Value = list.json().await.unwrap();
    let ends: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|one| &one["expires_at"]).collect();
    assert_eq!(
        ends.iter().filter(|end| end.is_null()).count(),
        1,
        "only the first never ends: {ends:?}"
    );
    assert_eq!(
        ends.iter().filter(|end| **end == ends[1]).count(),
        2,
        "one ends with its maker: {ends:?}"
    );
});

testkit::on_every_store!(limited_tokens_see_no_numbers_of_the_whole_server, |store| {
    let running = start_strict(store).await;
    let tenant = "083839c6-c47c-42a6-9585-76492795d123";
    running.store(&["XADD", "wk:rooms:events", "*", "type", "created", "id", "ABCD2345"]).await;
    let room = running.ask(Method::POST, "/api/rooms").json(&setup(2)).send().await.unwrap();
    let room: Value = room.json().await.unwrap();
    let close = format!("/api/rooms/{}", room["code"].as_str().unwrap());
    for token in [
        running.limited_token(Role::Admin, Some(&[tenant]), None).await,
        running.limited_token(Role::Admin, None, Some(&["bridge"])).await,
    ] {
        let ask = |path: &'static str| {
            let request = running.get(path).bearer_auth(&token);
            async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
        };
        let overview = ask("/api/overview").await;
        assert_eq!(overview["tiles"], json!([]), "{overview}");
        assert_eq!(overview["store"]["place"], "", "{overview}");
        assert_eq!(ask("/api/events").await["items"], json!([]));
        assert_eq!(ask("/api/keys?pattern=meta&module=rooms").await["items"], json!([]));
        let shut = running.ask(Method::DELETE, &close).bearer_auth(&token).send().await.unwrap();
        assert_eq!(shut.status(), 403, "an operator of one tenant closes no room");
        // A session and a ticket hold what their token holds.
        let login = running.ask(Method::POST, "/api/session").json(&json!({ "token": token }));
        let login = login.send().await.unwrap();
        let cookie =
            login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let health = running.get("/api/health").header("cookie", cookie).send().await.unwrap();
        assert_eq!(health.status(), 403);
    }
    let whole = running.token(Role::Operator).await;
    let shut = running.ask(Method::DELETE, &close).bearer_auth(&whole).send().await.unwrap();
    assert_eq!(shut.status(), 204);
});

testkit::on_every_store!(sockets_of_an_address_are_counted_on_every_listener, |store| {
    let cap = ["limits", "rooms", "galaxy"].map(|module| format!("{module}.sockets_per_address"));
    let cap: Vec<_> = cap.iter().map(|name| (name.as_str(), "2")).collect();
    let running = start(store, &cap).await;
    for path in ["/ws/events", "/ws/rooms", "/ws/galaxy"] {
        let shake = || {
            running
                .get(path)
                .header("connection", "Upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
                .send()
        };
        let (one, two) = (shake().await.unwrap(), shake().await.unwrap());
        assert_eq!((one.status().as_u16(), two.status().as_u16()), (101, 101), "{path}");
        let third = shake().await.unwrap();
        assert_eq!(third.status(), 429, "{path}");
        assert!(third.headers().contains_key("retry-after"), "{path}");
        // A socket that is gone makes room, as soon as the server has noticed.
        drop((one, two));
        let began = std::time::Instant::now();
        while shake().await.unwrap().status() != 101 {
            assert!(began.elapsed().as_secs() < 20, "{path}: room for a new socket");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
});
