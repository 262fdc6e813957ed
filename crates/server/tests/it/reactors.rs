//! Reactors over HTTP and from the stream of commands.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Store, Value as Reply, reply};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use server::access::Role;

use crate::support::{Running, start, start_strict};

const ONE: &str = "11111111-1111-4111-8111-111111111111";
const TWO: &str = "22222222-2222-4222-8222-222222222222";
const FIELD: &str =
    "/api/worlds/0/channels/1/maps/1000000/instances/00000000-0000-0000-0000-000000000000";

fn of(tenant: &str, request: RequestBuilder) -> RequestBuilder {
    request
        .header("TENANT_ID", tenant)
        .header("REGION", "GMS")
        .header("MAJOR_VERSION", "83")
        .header("MINOR_VERSION", "1")
}

#[allow(clippy::needless_pass_by_value)] // short to write
fn body(attributes: Value) -> Value {
    json!({ "data": { "type": "reactors", "attributes": attributes } })
}

fn a_box() -> Value {
    json!({ "classification": 2001, "x": 231, "y": 253, "delay": 60_000 })
}

async fn send(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, read(response).await)
}

async fn read(response: Response) -> Value {
    let bytes = response.bytes().await.unwrap();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn ask(running: &Running, method: Method, path: &str) -> RequestBuilder {
    of(ONE, running.ask(method, path))
}

async fn create(running: &Running, attributes: Value) -> (u16, Value) {
    let request = ask(running, Method::POST, &format!("{FIELD}/reactors"));
    send(request.json(&body(attributes))).await
}

testkit::on_every_store!(a_reactor_is_made_seen_struck_and_gone, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let request = ask(&running, Method::POST, &format!("{FIELD}/reactors"));
    let response = request.json(&body(a_box())).send().await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["content-type"], "application/vnd.api+json");
    assert_eq!(response.headers()["location"], "/api/reactors/1000000001");
    let made = read(response).await;
    let attributes = json!({
        "worldId": 0, "channelId": 1, "mapId": 1_000_000,
        "instance": "00000000-0000-0000-0000-000000000000", "classification": 2001, "name": "box",
        "state": 0, "eventState": 0, "x": 231, "y": 253, "delay": 60_000, "direction": 0,
    });
    let resource = json!({ "type": "reactors", "id": "1000000001", "attributes": attributes });
    assert_eq!(made, json!({ "data": resource }));
    for path in ["/api/reactors/1000000001", &format!("{FIELD}/reactors/1000000001")] {
        assert_eq!(send(ask(&running, Method::GET, path)).await, (200, made.clone()), "{path}");
    }
    let (_, taken) = create(&running, a_box()).await;
    assert_eq!(taken["errors"][0]["code"], "SPOT_TAKEN");
    assert_eq!(taken["errors"][0]["status"], "409");
    assert_eq!(taken["errors"][0]["meta"]["reactorId"], "1000000001");

    let hit = ask(&running, Method::POST, "/api/reactors/1000000001/hits");
    let hit = hit.json(&json!({ "data": { "attributes": { "characterId": 7 } } }));
    let (status, struck) = send(hit).await;
    assert_eq!(status, 200);
    assert_eq!(
        struck["data"]["attributes"],
        json!({ "result": "DESTROYED", "state": 0, "destroyed": true })
    );
    let (status, cold) = create(&running, a_box()).await;
    assert_eq!((status, &cold["errors"][0]["code"]), (409, &json!("ON_COOLDOWN")));
    let left = cold["errors"][0]["meta"]["remainingMs"].as_u64().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    let (status, gone) = send(ask(&running, Method::GET, "/api/reactors/1000000001")).await;
    assert_eq!((status, &gone["errors"][0]["code"]), (404, &json!("REACTOR_NOT_FOUND")));

    let (_, other) = create(&running, json!({ "classification": 2001, "x": 1, "y": 1 })).await;
    let path = format!("/api/reactors/{}", other["data"]["id"].as_str().unwrap());
    assert_eq!(send(ask(&running, Method::DELETE, &path)).await.0, 204);
    assert_eq!(send(ask(&running, Method::DELETE, &path)).await.0, 404);
    create(&running, json!({ "classification": 2001, "x": 2, "y": 1 })).await;
    let clear = ask(&running, Method::DELETE, &format!("{FIELD}/reactors"));
    assert_eq!(send(clear).await.0, 202);
    assert_eq!(create(&running, a_box()).await.0, 201, "clearing takes the cooldowns along");
});

testkit::on_every_store!(bad_input_is_named_and_changes_nothing, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let rows: &[(&str, Value, &str)] = &[
        (
            "classification",
            json!({ "classification": 0, "x": 1, "y": 1 }),
            "CLASSIFICATION_REQUIRED",
        ),
        ("classification", json!({ "x": 1, "y": 1 }), "CLASSIFICATION_REQUIRED"),
        (
            "classification",
            json!({ "classification": 77, "x": 1, "y": 1 }),
            "UNKNOWN_CLASSIFICATION",
        ),
        ("classification", json!({ "classification": -1, "x": 1, "y": 1 }), "BAD_FIELD"),
        ("x", json!({ "classification": 2001, "y": 1 }), "BAD_FIELD"),
        ("x", json!({ "classification": 2001, "x": 32_768, "y": 1 }), "BAD_FIELD"),
        ("y", json!({ "classification": 2001, "x": 1, "y": "1" }), "BAD_FIELD"),
        ("state", json!({ "classification": 2001, "x": 1, "y": 1, "state": 128 }), "BAD_FIELD"),
        (
            "direction",
            json!({ "classification": 2001, "x": 1, "y": 1, "direction": 256 }),
            "BAD_FIELD",
        ),
        (
            "delay",
            json!({ "classification": 2001, "x": 1, "y": 1, "delay": 4_294_967_296_u64 }),
            "BAD_FIELD",
        ),
        ("delay", json!({ "classification": 2001, "x": 1, "y": 1, "delay": 1.5 }), "BAD_FIELD"),
        ("name", json!({ "classification": 2001, "x": 1, "y": 1, "name": 5 }), "BAD_FIELD"),
        (
            "data",
            json!({ "classification": 2001, "x": 1, "y": 1, "data": { "tl": { "x": 99_999, "y": 0 } } }),
            "BAD_FIELD",
        ),
        (
            "data",
            json!({ "classification": 2001, "x": 1, "y": 1, "data": { "stateInfo": { "200": [] } } }),
            "BAD_FIELD",
        ),
    ];
    for (field, attributes, code) in rows {
        let (status, answer) = create(&running, attributes.clone()).await;
        let error = &answer["errors"][0];
        assert_eq!((status, error["code"].as_str()), (400, Some(*code)), "{attributes}: {answer}");
        let pointer = format!("/data/attributes/{field}");
        assert_eq!(error["source"]["pointer"], pointer, "{attributes}: {answer}");
    }
    for part in [
        "/api/worlds/256/channels/1/maps/1/instances/00000000-0000-0000-0000-000000000000",
        "/api/worlds/0/channels/-1/maps/1/instances/00000000-0000-0000-0000-000000000000",
        "/api/worlds/0/channels/1/maps/4294967296/instances/00000000-0000-0000-0000-000000000000",
        "/api/worlds/0/channels/1/maps/1/instances/nil",
        "/api/worlds/0/channels/1/maps/1/instances/%7B*%7D:",
        "/api/worlds/00/channels/1/maps/1/instances/00000000-0000-0000-0000-000000000000",
    ] {
        let path = format!("{part}/reactors");
        for method in [Method::GET, Method::DELETE] {
            let (status, answer) = send(ask(&running, method, &path)).await;
            assert_eq!(
                (status, &answer["errors"][0]["code"]),
                (400, &json!("BAD_FIELD")),
                "{path}"
            );
        }
        let made = ask(&running, Method::POST, &path).json(&body(a_box()));
        assert_eq!(send(made).await.0, 400, "{path}");
    }
    for id in ["x", "4294967296", "-1", "01", "1e9"] {
        let path = format!("/api/reactors/{id}");
        assert_eq!(send(ask(&running, Method::GET, &path)).await.0, 400, "{id}");
    }
    for query in ["page[size]=251", "page[number]=0", "limit=5", "page[x]=1"] {
        let path = format!("{FIELD}/reactors?{query}");
        assert_eq!(send(ask(&running, Method::GET, &path)).await.0, 400, "{query}");
    }
    let hits = ask(&running, Method::POST, "/api/reactors/1000000001/hits");
    let (status, answer) = send(hits.json(&json!({ "data": { "attributes": {} } }))).await;
    assert_eq!((status, &answer["errors"][0]["detail"]), (400, &json!("characterId is required")));
    let wrong = ask(&running, Method::POST, &format!("{FIELD}/reactors"));
    let wrong = wrong.json(&json!({ "data": { "type": "monsters", "attributes": a_box() } }));
    assert_eq!(send(wrong).await.0, 400);
    let keys = running.store(&["KEYS", "reactor*"]).await;
    assert_eq!(reply::list(&keys).unwrap().len(), 0, "{keys:?}");
});

testkit::on_every_store!(the_tenant_comes_from_headers_that_the_token_covers, |store| {
    let running = start_strict(store).await;
    let token = running.limited_token(Role::Operator, Some(&[ONE]), None).await;
    let reader = running.limited_token(Role::Reader, Some(&[ONE]), None).await;
    let list = format!("{FIELD}/reactors");
    let with = |tenant: &str, token: &str| of(tenant, running.get(&list)).bearer_auth(token);
    assert_eq!(send(with(ONE, &token)).await.0, 200);
    let (status, refused) = send(with(TWO, &token)).await;
    assert_eq!((status, &refused["errors"][0]["code"]), (403, &json!("FORBIDDEN")));
    let made = of(ONE, running.ask(Method::POST, &list)).json(&body(a_box()));
    assert_eq!(send(made.try_clone().unwrap().bearer_auth(&reader)).await.0, 403);
    assert_eq!(send(made.try_clone().unwrap()).await.0, 401);
    assert_eq!(send(made.bearer_auth(&token)).await.0, 201);
    // Another tenant's token cannot see it, whatever it says.
    let other = running.limited_token(Role::Admin, Some(&[TWO]), None).await;
    let path = "/api/reactors/1000000001";
    assert_eq!(send(of(TWO, running.get(path)).bearer_auth(&other)).await.0, 404);
    assert_eq!(send(of(ONE, running.get(path)).bearer_auth(&other)).await.0, 403);
    let all = running.ask(Method::DELETE, "/api/reactors").bearer_auth(&other);
    assert_eq!(send(all).await.0, 403, "teardown is not for one tenant");
    // The same headers with hyphens, in capitals, are the same tenant.
    let hyphens = running
        .get(path)
        .bearer_auth(&token)
        .header("Tenant-Id", ONE.to_uppercase())
        .header("Region", "GMS")
        .header("Major-Version", "83")
        .header("Minor-Version", "1");
    assert_eq!(send(hyphens).await.0, 200);
    for (name, value) in [
        ("TENANT_ID", "*"),
        ("TENANT_ID", "11111111111141118111111111111111"),
        ("TENANT_ID", "11111111-1111-4111-8111-111111111111:x"),
        ("MAJOR_VERSION", "65536"),
        ("MINOR_VERSION", "x"),
        ("REGION", ""),
    ] {
        let mut request = running.get(path).bearer_auth(&token);
        for (known, good) in
            [("TENANT_ID", ONE), ("REGION", "GMS"), ("MAJOR_VERSION", "83"), ("MINOR_VERSION", "1")]
        {
            request = request.header(known, if known == name { value } else { good });
        }
        let (status, answer) = send(request).await;
        assert_eq!(
            (status, &answer["errors"][0]["source"]["parameter"]),
            (400, &json!(name)),
            "{value}"
        );
    }
    let bare = running.get(path).bearer_auth(&token);
    assert_eq!(send(bare).await.0, 400);
    let twice = of(ONE, running.get(path)).bearer_auth(&token).header("Tenant-Id", TWO);
    assert_eq!(send(twice).await.0, 400);
});

testkit::on_every_store!(lists_have_pages_and_filters, |store| {
    let running = start(store, &[("demo", "off")]).await;
    for x in 0..5 {
        let name = if x % 2 == 0 { "even" } else { "odd" };
        let one = json!({ "classification": 2001, "x": x, "y": 0, "name": name });
        assert_eq!(create(&running, one).await.0, 201);
    }
    let list = async |query: &str| {
        let path = format!("{FIELD}/reactors?{query}");
        let (status, answer) = send(ask(&running, Method::GET, &path)).await;
        assert_eq!(status, 200, "{query}");
        answer
    };
    let xs = |answer: &Value| -> Vec<i64> {
        let data = answer["data"].as_array().unwrap();
        data.iter().map(|one| one["attributes"]["x"].as_i64().unwrap()).collect()
    };
    let first = list("page[size]=2").await;
    assert_eq!(xs(&first), [0, 1]);
    assert_eq!(first["meta"], json!({"total":5,"page":{"number":1,"size":2,"last":3}}));
    let next = first["links"]["next"].as_str().unwrap();
    let (_, second) = send(ask(&running, Method::GET, next)).await;
    assert_eq!(xs(&second), [2, 3]);
    assert!(second["links"].get("prev").is_some());
    assert_eq!(xs(&list("name=odd").await), [1, 3]);
    assert_eq!(xs(&list("filter[name]=even&page[size]=2&page[number]=2").await), [4]);
    assert!(xs(&list("name=ODD").await).is_empty());
    let past = list("page[number]=9").await;
    assert!(xs(&past).is_empty() && past["links"]["prev"].as_str().unwrap().contains("%5D=1&"));
    // A value that somebody broke does not hide the others.
    running.store(&["SET", "reactor:1000000002", "{"]).await;
    assert_eq!(xs(&list("").await), [0, 2, 3, 4]);
    let (status, answer) = send(ask(&running, Method::GET, "/api/reactors/1000000002")).await;
    assert_eq!((status, &answer["errors"][0]["code"]), (500, &json!("CORRUPT_VALUE")));
});

testkit::on_every_store!(fields_that_hold_something_are_found, |store| {
    let running = start_strict(store).await;
    let token = running.limited_token(Role::Operator, None, None).await;
    let narrow = running.limited_token(Role::Reader, Some(&[TWO]), None).await;
    for tenant in [ONE, TWO] {
        let made = of(tenant, running.ask(Method::POST, &format!("{FIELD}/reactors")));
        assert_eq!(send(made.bearer_auth(&token).json(&body(a_box()))).await.0, 201);
    }
    let (_, all) = send(running.get("/api/worlds").bearer_auth(&token)).await;
    assert_eq!(all["meta"], json!({ "total": 2, "complete": true }));
    let first = &all["data"][0]["attributes"];
    assert_eq!(
        first["tenant"],
        json!({ "id": ONE, "region": "GMS", "majorVersion": 83, "minorVersion": 1 })
    );
    assert_eq!((&first["reactors"], &first["monsters"]), (&json!(1), &json!(0)));
    let (_, own) = send(running.get("/api/worlds").bearer_auth(&narrow)).await;
    assert_eq!(own["data"].as_array().unwrap().len(), 1);
    assert!(!own.to_string().contains(ONE), "{own}");
});

/// Waits until the store answers this to the words.
async fn until(running: &Running, words: &[&str], wanted: i64) {
    for _ in 0..1_000 {
        if reply::int(&running.store(words).await) == Some(wanted) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{words:?} is still {:?}", running.store(words).await);
}

async fn command(running: &Running, kind: &str, message: &Value) {
    let tenant = r#"{"region":"GMS","majorVersion":83,"minorVersion":1}"#;
    let stream = format!("wk:reactors:{ONE}:commands");
    running.store(&["SADD", "wk:reactors:scopes", ONE]).await;
    let message = message.to_string();
    running.store(&["XADD", &stream, "*", "tenant", tenant, "type", kind, "body", &message]).await;
}

fn at_field(kind: &str, body: &Value) -> Value {
    json!({
        "worldId": 0, "channelId": 1, "mapId": 1_000_000,
        "instance": "00000000-0000-0000-0000-000000000000", "type": kind, "body": body,
    })
}

testkit::on_every_store!(commands_of_other_services_are_done_once_and_acknowledged, |store| {
    let running = start(Arc::clone(&store), &[("demo", "off")]).await;
    let second = start(store, &[("demo", "off")]).await;
    for x in 0..30 {
        let new = json!({ "classification": 2001, "x": x, "y": 0, "delay": 0 });
        command(&running, "CREATE", &at_field("CREATE", &new)).await;
    }
    until(&running, &["SCARD", "reactors:all"], 30).await;
    let hit =
        json!({ "reactorId": 1_000_000_001_u32, "characterId": 9, "stance": 3, "skillId": 0 });
    command(&running, "HIT", &at_field("HIT", &hit)).await;
    until(&running, &["EXISTS", "reactor:1000000001"], 0).await;
    // What makes no sense is acknowledged all the same, and those behind it are done.
    command(&running, "CREATE", &json!("nonsense")).await;
    command(&running, "SING", &json!({})).await;
    command(&running, "HIT", &json!({ "body": { "reactorId": 1, "characterId": 1 } })).await;
    command(&running, "CREATE", &at_field("CREATE", &json!({ "classification": 2001, "x": "?" })))
        .await;
    let stream = format!("wk:reactors:{ONE}:commands");
    running.store(&["XADD", &stream, "*", "what", "is this"]).await;
    command(&running, "DESTROY_IN_FIELD", &at_field("DESTROY_IN_FIELD", &json!({}))).await;
    until(&running, &["EXISTS", "reactors:all"], 0).await;
    until(&running, &["XLEN", &stream], 0).await;
    let Reply::Array(pending) = running.store(&["XPENDING", &stream, "worldkeep"]).await else {
        panic!("no summary")
    };
    assert_eq!(reply::int(&pending[0]), Some(0));
    let events = running.store(&["XRANGE", &format!("wk:reactors:{ONE}:events"), "-", "+"]).await;
    assert_eq!(count(&events, "CREATED"), 30);
    assert_eq!(count(&events, "DESTROYED"), 30);
    drop(second);
});

/// Entries of this type.
fn count(events: &Reply, kind: &str) -> usize {
    let entries = reply::list(events).unwrap();
    entries
        .iter()
        .filter(|entry| {
            let fields = reply::list(&reply::list(entry).unwrap()[1]).unwrap();
            reply::text(&fields[1]) == Some(kind)
        })
        .count()
}

testkit::on_every_store!(a_request_may_be_put_on_the_list_of_commands, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let later = |attributes: Value| {
        let request = ask(&running, Method::POST, &format!("{FIELD}/reactors"));
        request.header("prefer", "respond-async").json(&body(attributes))
    };
    assert_eq!(send(later(json!({ "classification": 2001, "x": 1 }))).await.0, 400);
    assert_eq!(send(later(json!({ "classification": 9, "x": 1, "y": 1 }))).await.0, 400);
    let own = json!({ "classification": 9, "x": 1, "y": 1, "data": { "name": "own" } });
    assert_eq!(send(later(own)).await.0, 202);
    until(&running, &["SCARD", "reactors:all"], 1).await;
    let (_, one) = send(ask(&running, Method::GET, "/api/reactors/1000000001")).await;
    assert_eq!(one["data"]["attributes"]["name"], "own");
});

testkit::on_every_store!(drops_and_timers_are_served_by_the_server, |store| {
    let running = start(store, &[("demo", "off"), ("reactors.item_delay_ms", "20")]).await;
    let (_, altar) = create(&running, json!({ "classification": 2004, "x": 0, "y": 0 })).await;
    let id = altar["data"]["id"].as_str().unwrap();
    let drop = json!({
        "dropId": 5, "itemId": 4_000_100, "quantity": 10, "x": 0, "y": 0, "ownerId": 7,
        "playerDrop": true,
    });
    let tell = |attributes: Value| {
        let request = ask(&running, Method::POST, &format!("{FIELD}/drops"));
        request.json(&json!({ "data": { "attributes": attributes } }))
    };
    let (status, taken) = send(tell(drop.clone())).await;
    assert_eq!((status, &taken["data"]["attributes"]["reactorId"]), (202, &json!(id)));
    let mut small = drop;
    small["quantity"] = json!(1);
    let (status, kept) = send(tell(small)).await;
    assert_eq!((status, &kept["data"]["attributes"]["reactorId"]), (202, &Value::Null));
    for _ in 0..1_000 {
        let (_, now) = send(ask(&running, Method::GET, &format!("/api/reactors/{id}"))).await;
        if now["data"]["attributes"]["state"] == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the item was never taken");
});

testkit::on_every_store!(teardown_and_templates_have_routes, |store| {
    let running = start(store, &[("demo", "off")]).await;
    create(&running, a_box()).await;
    let (status, done) = send(running.ask(Method::DELETE, "/api/reactors")).await;
    assert_eq!((status, &done["data"]["attributes"]["destroyed"]), (200, &json!(1)));
    let (_, templates) = send(running.get("/api/reactors/templates")).await;
    let ids: Vec<&str> =
        templates["data"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"2001"), "{ids:?}");
    let (_, overview) = send(running.get("/api/overview")).await;
    let tiles = overview["tiles"].as_array().cloned().unwrap_or_default();
    assert!(tiles.iter().any(|tile| tile["module"] == "reactors"), "{overview}");
});

#[tokio::test]
async fn the_last_server_to_stop_tears_down_unless_it_is_told_to_keep() {
    for (word, left) in [("teardown", 0), ("keep", 1)] {
        let store: Arc<dyn Store> = testkit::open("memory").await;
        let settings = [("demo", "off"), ("worlds.on_stop", word)];
        let mut running = start(Arc::clone(&store), &settings).await;
        create(&running, a_box()).await;
        running.stop.cancel();
        running.done.take().unwrap().await.unwrap().unwrap();
        for module in &running.app.modules {
            if let Some(stop) = module.stop {
                stop(Arc::clone(&running.app)).await;
            }
        }
        let all = running.store(&["EXISTS", "reactors:all"]).await;
        assert_eq!(reply::int(&all), Some(left), "{word}");
        let cooldowns = running.store(&["KEYS", "reactor:cd:*"]).await;
        let cooldowns = i64::try_from(reply::list(&cooldowns).unwrap().len()).unwrap();
        assert_eq!(cooldowns, 1 - left, "{word}");
    }
}
