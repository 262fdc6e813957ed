//! The keyspace over HTTP: counts, pages, one key.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use server::access::Role;

use crate::support::{Running, start, start_strict};

async fn tree(running: &Running) -> Value {
    for _ in 0..50 {
        let tree = running.json("/api/keys").await;
        if tree["done"] == json!(true) {
            return tree;
        }
    }
    panic!("the count never ended");
}

testkit::on_every_store!(the_tree_has_every_pattern_and_counts_live_keys, |store| {
    // The printed user may not look at keys of others.
    let store = testkit::as_default(&store);
    let running = start(store, &[("jobs.scheduler", "false")]).await;
    running.store(&["SET", "room:ABCD2345:meta", "{}", "EX", "100"]).await;
    running.store(&["SET", "somebody:else", "x"]).await;
    running.store(&["SET", "wk:rooms:what:is:this", "x"]).await;
    let tree = tree(&running).await;
    let group = |name: &str| {
        tree["modules"].as_array().unwrap().iter().find(|group| group["module"] == name).unwrap()
    };
    assert_eq!(group("rooms")["keys"], 2);
    assert_eq!(group("rooms")["unknown"], 1);
    assert_eq!(group("foreign")["keys"], 1);
    let meta = &group("rooms")["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "meta")
        .unwrap();
    assert_eq!(meta["keys"], 1);
    assert_eq!(meta["pattern"], "room:{code}:meta");
    assert_eq!(group("jobs")["keys"], 0, "patterns without keys are listed too");
    assert!(group("jobs")["patterns"].as_array().unwrap().len() > 20);
});

testkit::on_every_store!(pages_of_a_pattern_miss_no_key, |store| {
    // While a table grows SCAN may give a key twice, on two pages; it never leaves one out.
    let running = start(store, &[]).await;
    for n in 0..130 {
        running.store(&["SET", &format!("room:ROOM{n:04}:meta"), "{}", "EX", "1000"]).await;
        running.store(&["SET", &format!("room:ROOM{n:04}:senders"), "[]"]).await;
    }
    let mut seen = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/keys?module=rooms&pattern=meta&limit=25{cursor}");
        let page = running.json(&path).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 25);
        let of_page: BTreeSet<_> = items.iter().map(|item| item["key"].to_string()).collect();
        assert_eq!(of_page.len(), items.len(), "no key twice on one page");
        for item in items {
            seen.insert(item["key"].as_str().unwrap().to_owned());
            assert_eq!(item["type"], "string");
            assert!(item["ttl_ms"].as_i64().unwrap() > 0);
        }
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 130);
});

testkit::on_every_store!(one_key_is_explained_and_its_secrets_hidden, |store| {
    // The printed user may not look at keys of others.
    let store = testkit::as_default(&store);
    let running = start(store, &[]).await;
    let meta = r#"{"phase":"lobby","master_key_hash":"sha256:feed"}"#;
    running.store(&["SET", "room:ABCD2345:meta", meta, "EX", "100"]).await;
    running.store(&["HSET", "room:ABCD2345:claims", "p1", "device-secret"]).await;
    running.store(&["HSET", "room:ABCD2345:scores", "p1", "3"]).await;
    let view = running.json("/api/keys/room:ABCD2345:meta").await;
    assert_eq!(view["definition"]["name"], "meta");
    assert_eq!(view["params"]["code"], "ABCD2345");
    assert!(!view.to_string().contains("feed"), "{view}");
    let near: Vec<_> =
        view["neighbours"].as_array().unwrap().iter().map(|n| n["name"].clone()).collect();
    assert!(near.contains(&json!("claims")) && near.contains(&json!("scores")), "{view}");
    let claims = running.json("/api/keys/room:ABCD2345:claims").await;
    assert!(claims["hidden"].is_string() && claims.get("value").is_none(), "{claims}");
    assert!(!claims.to_string().contains("device-secret"));
    assert_eq!(claims["findings"].as_array().unwrap().len(), 1, "it lacks its end");
    assert_eq!(running.status("/api/keys/room:NONE2345:meta").await, 404);
    running.store(&["SET", "odd/key with {things}?", "1"]).await;
    let odd = running.json("/api/keys/odd%2Fkey%20with%20%7Bthings%7D%3F").await;
    assert_eq!(odd["key"], "odd/key with {things}?");
    assert!(odd["definition"].is_null());
});

testkit::on_every_store!(every_type_of_value_is_shown, |store| {
    // The printed user may not look at keys of others.
    let store = testkit::as_default(&store);
    let running = start(store, &[]).await;
    running.store(&["HSET", "x:h", "f", "v"]).await;
    running.store(&["RPUSH", "x:l", "a", "b"]).await;
    running.store(&["SADD", "x:s", "m"]).await;
    running.store(&["ZADD", "x:z", "1.5", "m"]).await;
    running.store(&["XADD", "x:x", "1-1", "f", "v"]).await;
    running.store(&["SET", "x:k", "text"]).await;
    for (key, value) in [
        ("x:h", json!([{ "field": "f", "value": "v" }])),
        ("x:l", json!(["a", "b"])),
        ("x:s", json!(["m"])),
        ("x:z", json!([{ "member": "m", "score": "1.5" }])),
        ("x:x", json!([{ "id": "1-1", "fields": { "f": "v" } }])),
        ("x:k", json!("text")),
    ] {
        let view = running.json(&format!("/api/keys/{key}")).await;
        assert_eq!(view["value"], value, "{key}");
        assert_eq!(view["truncated"], false, "{key}");
    }
});

testkit::on_every_store!(values_of_others_and_payloads_need_their_rights, |store| {
    // The printed user may not look at keys of others.
    let store = testkit::as_default(&store);
    let running = start_strict(store).await;
    running.store(&["SET", "somebody:else", "private"]).await;
    running.store(&["SET", "bridge:jobs:data:j1", r#"{"payload":{"card":"4242"}}"#]).await;
    let operator = running.token(Role::Operator).await;
    let admin = running.token(Role::Admin).await;
    let ask = |key: &str, token: &str| {
        let request = running.get(&format!("/api/keys/{key}")).bearer_auth(token);
        async move { request.send().await.unwrap().text().await.unwrap() }
    };
    assert!(!ask("somebody:else", &operator).await.contains("private"));
    assert!(ask("somebody:else", &admin).await.contains("private"));
    // Not even an admin's token sees payloads without that right.
    assert!(!ask("bridge:jobs:data:j1", &admin).await.contains("4242"));
});

testkit::on_every_store!(the_check_reports_and_repairs, |store| {
    let running = start(store, &[]).await;
    assert_eq!(running.json("/api/check").await["state"], "never");
    running.store(&["SET", "room:ABCD2345:claims", "not a hash"]).await;
    running.store(&["SET", "somebody:else", "x"]).await;
    let check = |body: Value| running.ask(Method::POST, "/api/check").json(&body).send();
    let report: Value = check(json!({})).await.unwrap().json().await.unwrap();
    assert_eq!(report["state"], "done", "{report}");
    assert_eq!(report["foreign"], 1);
    assert!(report["findings_total"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!(report["findings"][0]["key"], "room:ABCD2345:claims");
    assert_eq!(check(json!({ "repare": true })).await.unwrap().status(), 400);
    let last = running.json("/api/check").await;
    assert_eq!(last["findings_total"], report["findings_total"]);
    assert!(last["finished_at"].is_u64());
});
