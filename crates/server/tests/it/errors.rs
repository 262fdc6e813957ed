//! What goes wrong before and around routing: dialects, limits, ids, hostile heads.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use crate::support::{raw, start};

testkit::on_every_store!(unknown_paths_speak_the_dialect_of_their_family, |store| {
    let running = start(store, &[]).await;
    let plain = running.json("/api/nothing").await;
    assert_eq!(plain["error"]["code"], "not_found");
    assert!(plain["error"]["request_id"].is_string());
    let world = running.get("/api/worlds/0/nothing").send().await.unwrap();
    assert_eq!(world.headers()["content-type"], "application/vnd.api+json");
    let world: Value = world.json().await.unwrap();
    assert_eq!(world["errors"][0]["status"], "404");
    assert_eq!(world["errors"][0]["code"], "NOT_FOUND");
    let room = running.json("/api/rooms/ABCD/nothing").await;
    let says = server::reply::NOT_FOUND.says;
    let spelled =
        serde_json::json!({ "error": "room_not_found", "message": "not_found", "says": says });
    assert_eq!(room, spelled);
});

testkit::on_every_store!(refusals_have_the_right_status, |store| {
    let running = start(store, &[("limits.body_bytes", "1000")]).await;
    let post = |body: String, media: &'static str| {
        let request = running.ask(Method::POST, "/api/tokens").header("content-type", media);
        async move { request.body(body).send().await.unwrap() }
    };
    let json = "application/json";
    for (body, media, status, code) in [
        ("{\"name\"".to_owned(), json, 400, "bad_json"),
        ("{\"name\":\"a\",\"role\":\"king\"}".to_owned(), json, 400, "bad_json"),
        ("{\"name\":\"a\",\"role\":\"reader\",\"extra\":1}".to_owned(), json, 400, "bad_json"),
        ("{\"name\":\"\",\"role\":\"reader\"}".to_owned(), json, 400, "bad_field"),
        ("{}".to_owned(), "text/plain", 415, "unsupported_media_type"),
        (format!("{{\"name\":\"{}\"}}", "a".repeat(2000)), json, 413, "too_large"),
        ("[".repeat(900), json, 400, "bad_json"),
    ] {
        let response = post(body.clone(), media).await;
        assert_eq!(response.status(), status, "{body:.60}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{body:.60}");
    }
    let wrong_method = running.ask(Method::PUT, "/api/overview").send().await.unwrap();
    assert_eq!(wrong_method.status(), 405);
    assert!(wrong_method.headers()["allow"].to_str().unwrap().contains("GET"));
    assert_eq!(running.json("/api/keys?limit=0&pattern=meta").await["error"]["field"], "limit");
    assert_eq!(running.json("/api/keys?nonsense=1").await["error"]["code"], "bad_request");
    assert_eq!(
        running.json("/api/keys?pattern=meta&cursor=!!").await["error"]["code"],
        "bad_cursor"
    );
    assert_eq!(running.status(&format!("/api/{}", "x".repeat(9000))).await, 414);
    assert_eq!(running.status("/ws/events").await, 426);
});

testkit::on_every_store!(request_ids_come_back_unless_they_are_hostile, |store| {
    let running = start(store, &[]).await;
    let ask = |id: &'static str| running.get("/healthz").header("x-request-id", id).send();
    assert_eq!(ask("abc-1.2_3").await.unwrap().headers()["x-request-id"], "abc-1.2_3");
    for hostile in ["a b", "{\"x\":1}", "a;rm", ""] {
        let given =
            ask(hostile).await.unwrap().headers()["x-request-id"].to_str().unwrap().to_owned();
        assert_ne!(given, hostile);
        assert_eq!(given.len(), 36, "a fresh one");
    }
});

testkit::on_every_store!(every_answer_carries_the_security_headers, |store| {
    let running = start(store, &[]).await;
    for path in ["/", "/api/overview", "/api/nothing", "/healthz", "/docs/"] {
        let response = running.get(path).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert!(response.headers().get("access-control-allow-origin").is_none(), "no open CORS");
    }
});

testkit::on_every_store!(rates_are_limited_per_account_and_probes_are_not, |store| {
    let running = start(store, &[("limits.requests_per_second", "2")]).await;
    let mut refused = None;
    for _ in 0..10 {
        let response = running.get("/api/session").send().await.unwrap();
        if response.status() == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("the bucket is empty after its burst");
    assert!(refused.headers().contains_key("retry-after"));
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["error"]["code"], "too_many_requests");
    assert_eq!(running.status("/healthz").await, 200);
    assert_eq!(running.status("/readyz").await, 200);
});

testkit::on_every_store!(hostile_heads_are_cut_off, |store| {
    let running = start(store, &[("limits.header_read_ms", "300")]).await;
    let wait = Duration::from_secs(5);
    let (_, took) = raw(running.addr, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", wait).await;
    assert!(
        took < Duration::from_secs(3),
        "an unfinished head ends the connection, after {took:?}"
    );
    let many = "x-many: 1\r\n".repeat(100);
    let (answer, _) = raw(
        running.addr,
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n").as_bytes(),
        wait,
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let long = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nx: {}\r\n\r\n", "a".repeat(20_000));
    let (answer, _) = raw(running.addr, long.as_bytes(), wait).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let smuggle = b"POST /api/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    let (answer, _) = raw(running.addr, smuggle, wait).await;
    assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    let twice = b"GET /api/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let (answer, _) = raw(running.addr, twice, wait).await;
    assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
});

testkit::on_every_store!(connections_are_capped_per_address, |store| {
    let running = start(store, &[("limits.connections_per_address", "3")]).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(tokio::net::TcpStream::connect(running.addr).await.unwrap());
    }
    // The connections above are accepted in order, so the fourth finds the cap reached.
    let head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    let (answer, _) = raw(running.addr, head, Duration::from_secs(5)).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 429"), "{answer}");
    drop(held);
    let mut answer = String::new();
    for _ in 0..50 {
        answer = raw(running.addr, head, Duration::from_secs(5)).await.0;
        if answer.starts_with("HTTP/1.1 200") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
});

testkit::on_every_store!(addresses_come_from_trusted_proxies_only, |store| {
    let settings = [
        ("limits.anonymous_per_second", "1"),
        ("loopback_admin", "false"),
        ("trusted_proxies", "127.0.0.1"),
    ];
    let running = start(Arc::clone(&store), &settings).await;
    let ask = |running: &crate::support::Running, hops: &str| {
        let request = running.get("/api/session").header("x-forwarded-for", hops);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    // The last hop that is no proxy of ours counts; what the client itself wrote before it does not.
    assert_eq!(ask(&running, "1.1.1.1, 10.0.0.1").await, 200);
    assert_eq!(ask(&running, "2.2.2.2, 10.0.0.1").await, 200);
    assert_eq!(ask(&running, "3.3.3.3, 10.0.0.1, 127.0.0.1").await, 429);
    assert_eq!(ask(&running, "10.0.0.2").await, 200, "another address has its own bucket");
    let running = start(store, &settings[..2]).await;
    assert_eq!(ask(&running, "10.0.0.1").await, 200);
    assert_eq!(ask(&running, "10.0.0.2").await, 200);
    assert_eq!(ask(&running, "10.0.0.3").await, 429, "without trust the header means nothing");
});
