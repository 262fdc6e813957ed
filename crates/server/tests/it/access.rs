//! Every route of the `OpenAPI` document × who calls: what the access table says is what happens.

use reqwest::Method;
use serde_json::json;
use server::access::{Need, Role};
use server::app::{openapi, operations};

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

testkit::on_every_store!(every_route_asks_for_what_the_table_says, |store| {
    let running = start_strict(store).await;
    let table = table();
    let tokens = [
        (Role::Reader, running.token(Role::Reader).await),
        (Role::Operator, running.token(Role::Operator).await),
        (Role::Admin, running.token(Role::Admin).await),
    ];
    let all = operations(&openapi());
    assert!(all.len() >= 20, "the document lists the routes");
    for (method, template) in all {
        let need = table.need(&method, &template).expect("every route has a row");
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
            let admin = &tokens[2].1;
            assert_eq!(
                send(Some(admin), Some("http://evil.example")).await,
                403,
                "{place}, wrong origin"
            );
            assert_eq!(send(Some(admin), Some("null")).await, 403, "{place}, opaque origin");
        }
        for (role, token) in &tokens {
            let status = send(Some(token), None).await;
            match need {
                Need::Role(wanted) | Need::RoleOrPlayer(wanted) | Need::RoleOrAdmin(wanted)
                    if *role < wanted =>
                {
                    assert_eq!(status, 403, "{place}, {role:?}");
                }
                // No token of ours makes anybody a player.
                Need::Player => assert_eq!(status, 401, "{place}, {role:?}"),
                _ => assert!(![401, 403].contains(&status) || login, "{place}, {role:?}: {status}"),
            }
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
