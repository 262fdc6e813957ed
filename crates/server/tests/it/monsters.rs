//! Monsters over HTTP and from the stream of commands.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Store, reply};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{Running, start};

const ONE: &str = "11111111-1111-4111-8111-111111111111";
const TWO: &str = "22222222-2222-4222-8222-222222222222";
const FIELD: &str =
    "/api/worlds/0/channels/1/maps/40000/instances/00000000-0000-0000-0000-000000000000";

fn of(tenant: &str, request: RequestBuilder) -> RequestBuilder {
    request
        .header("TENANT_ID", tenant)
        .header("REGION", "GMS")
        .header("MAJOR_VERSION", "83")
        .header("MINOR_VERSION", "1")
}

#[allow(clippy::needless_pass_by_value)] // short to write
fn body(attributes: Value) -> Value {
    json!({ "data": { "attributes": attributes } })
}

async fn send(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn ask(running: &Running, method: Method, path: &str) -> RequestBuilder {
    of(ONE, running.ask(method, path))
}

async fn post(running: &Running, path: &str, attributes: Value) -> (u16, Value) {
    send(ask(running, Method::POST, path).json(&body(attributes))).await
}

async fn spawn(running: &Running, template: u32, x: i16) -> String {
    let new = json!({ "monsterId": template, "x": x, "y": 0 });
    let (status, made) = post(running, &format!("{FIELD}/monsters"), new).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

testkit::on_every_store!(a_monster_is_spawned_seen_hit_and_killed_once, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let path = format!("{FIELD}/characters/7");
    assert_eq!(send(ask(&running, Method::PUT, &path)).await.0, 204);
    let request = ask(&running, Method::POST, &format!("{FIELD}/monsters"));
    let new = body(json!({ "monsterId": 9_300_018, "x": -5, "y": 6, "hp": 1, "stance": 9 }));
    let response = request.json(&new).send().await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["location"], "/api/monsters/1000000000");
    let (status, shown) = send(ask(&running, Method::GET, "/api/monsters/1000000000")).await;
    assert_eq!(status, 200);
    assert_eq!(
        shown["data"]["attributes"],
        json!({
            "worldId": 0, "channelId": 1, "mapId": 40_000,
            "instance": "00000000-0000-0000-0000-000000000000", "monsterId": 9_300_018,
            "controlCharacterId": 7, "x": -5, "y": 6, "fh": 0, "stance": 5, "team": 0,
            "maxHp": 100, "hp": 100, "maxMp": 50, "mp": 50, "damageEntries": [],
            "statusEffects": [], "life": 1,
        }),
        "what the caller says of hp and stance does not count"
    );
    let path = "/api/monsters/1000000000/damage";
    let (status, blow) =
        post(&running, path, json!({ "characterId": 7, "damages": [30, 10] })).await;
    assert_eq!(status, 200);
    let lines = json!([{ "damage": 30, "actual": 30 }, { "damage": 10, "actual": 10 }]);
    assert_eq!(
        blow["data"]["attributes"],
        json!({ "hp": 60, "killed": false, "lines": lines, "reflected": null, "life": 1 })
    );
    let to = json!({ "x": 1, "y": 2, "stance": 3 });
    assert_eq!(post(&running, "/api/monsters/1000000000/movement", to).await.0, 200);
    let (_, blow) =
        post(&running, path, json!({ "characterId": 8, "damage": 4_294_967_295_u32 })).await;
    assert_eq!(blow["data"]["attributes"]["killed"], true);
    let (status, gone) = post(&running, path, json!({ "characterId": 8, "damage": 1 })).await;
    assert_eq!((status, &gone["errors"][0]["code"]), (404, &json!("MONSTER_NOT_FOUND")));
});

testkit::on_every_store!(effects_and_skills_answer_as_documented, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let id = spawn(&running, 9_400_001, 0).await;
    let path = format!("/api/monsters/{id}/status");
    let poison = json!({ "statuses": { "POISON": 1 }, "duration": 5000, "sourceSkillLevel": 1 });
    let (status, refused) = post(&running, &path, poison).await;
    assert_eq!((status, &refused["errors"][0]["code"]), (409, &json!("IMMUNE")));
    let stun = json!({ "statuses": { "STUN": 1 }, "duration": 5000 });
    let (status, applied) = post(&running, &path, stun).await;
    assert_eq!(status, 201);
    assert_eq!(applied["data"]["attributes"]["effectId"].as_str().unwrap().len(), 36);
    let (_, shown) = send(ask(&running, Method::GET, &format!("/api/monsters/{id}"))).await;
    assert_eq!(shown["data"]["attributes"]["statusEffects"][0]["statuses"], json!({ "STUN": 1 }));
    let (status, gone) =
        send(ask(&running, Method::DELETE, &format!("{path}?types=STUN,SEAL"))).await;
    assert_eq!((status, &gone["data"]["attributes"]["cancelled"]), (200, &json!(1)));
    let boar = spawn(&running, 9_400_002, 0).await;
    let path = format!("/api/monsters/{boar}/skills");
    let (status, used) = post(&running, &path, json!({ "skillId": 100, "skillLevel": 1 })).await;
    assert_eq!((status, &used["data"]["attributes"]["mp"]), (200, &json!(50)));
    let (status, again) = post(&running, &path, json!({ "skillId": 100, "skillLevel": 1 })).await;
    assert_eq!((status, &again["errors"][0]["meta"]["check"]), (409, &json!("on_cooldown")));
    let (_, shown) = send(ask(&running, Method::GET, &format!("/api/monsters/{boar}"))).await;
    let waits = &shown["meta"]["cooldowns"];
    assert_eq!((waits.as_array().unwrap().len(), &waits[0]["skillId"]), (1, &json!(100)));
    assert!(waits[0]["remainingMs"].as_u64().unwrap() > 0, "{waits}");
});

testkit::on_every_store!(fields_are_listed_paged_searched_and_cleared, |store| {
    let running = start(store, &[("demo", "off")]).await;
    for x in [0, 10, -4, 40] {
        spawn(&running, 9_300_018, x).await;
    }
    let list = format!("{FIELD}/monsters");
    let (_, page) =
        send(ask(&running, Method::GET, &format!("{list}?page[size]=3&page[number]=2"))).await;
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    assert_eq!(page["data"][0]["id"], "1000000003");
    assert_eq!(page["meta"]["total"], 4);
    let (status, found) =
        send(ask(&running, Method::GET, &format!("{list}/in-rect?x1=10&y1=5&x2=-10&y2=-5&max=2")))
            .await;
    assert_eq!(status, 200);
    let at: Vec<i64> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["attributes"]["x"].as_i64().unwrap())
        .collect();
    assert_eq!(at, [0, -4]);
    for bad in ["limit=2", "page[size]=0", "monsterId=x"] {
        assert_eq!(
            send(ask(&running, Method::GET, &format!("{list}?{bad}"))).await.0,
            400,
            "{bad}"
        );
    }
    for bad in ["x1=1&y1=1&x2=1", "x1=1&y1=1&x2=1&y2=40000", "x1=1&y1=1&x2=1&y2=1&limit=3"] {
        let path = format!("{list}/in-rect?{bad}");
        assert_eq!(send(ask(&running, Method::GET, &path)).await.0, 400, "{bad}");
    }
    assert_eq!(send(ask(&running, Method::DELETE, &list)).await.0, 202);
    let (_, empty) = send(ask(&running, Method::GET, &list)).await;
    assert_eq!(empty["meta"]["total"], 0);
});

testkit::on_every_store!(bad_input_is_named_and_changes_nothing, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let list = format!("{FIELD}/monsters");
    let id = spawn(&running, 9_300_018, 0).await;
    let rows = [
        (list.clone(), json!({ "monsterId": 1, "x": 0, "y": 0 }), "monsterId"),
        (list.clone(), json!({ "x": 0, "y": 0 }), "monsterId"),
        (list.clone(), json!({ "monsterId": 9_300_018, "x": 40_000, "y": 0 }), "x"),
        (list.clone(), json!({ "monsterId": 9_300_018, "x": 0, "y": 0, "team": 200 }), "team"),
        (format!("/api/monsters/{id}/damage"), json!({ "damage": 5 }), "characterId"),
        (
            format!("/api/monsters/{id}/damage"),
            json!({ "characterId": 0, "damage": 5 }),
            "characterId",
        ),
        (format!("/api/monsters/{id}/damage"), json!({ "characterId": 1 }), "damages"),
        (
            format!("/api/monsters/{id}/damage"),
            json!({ "characterId": 1, "damages": [-1] }),
            "damages",
        ),
        (
            format!("/api/monsters/{id}/damage"),
            json!({ "characterId": 1, "damage": 1, "attackType": 9 }),
            "attackType",
        ),
        (
            format!("/api/monsters/{id}/movement"),
            json!({ "x": 0, "y": 0, "stance": 256 }),
            "stance",
        ),
        (
            format!("/api/monsters/{id}/status"),
            json!({ "statuses": {}, "duration": 5 }),
            "statuses",
        ),
        (
            format!("/api/monsters/{id}/status"),
            json!({ "statuses": { "STUN": 1 }, "duration": 0 }),
            "duration",
        ),
        (
            format!("/api/monsters/{id}/skills"),
            json!({ "skillId": 70_000, "skillLevel": 1 }),
            "skillId",
        ),
    ];
    for (path, attributes, field) in rows {
        let (status, answer) = post(&running, &path, attributes.clone()).await;
        assert_eq!(status, 400, "{attributes}: {answer}");
        let pointer = format!("/data/attributes/{field}");
        assert_eq!(answer["errors"][0]["source"]["pointer"], pointer, "{attributes}: {answer}");
    }
    for path in [
        "/api/monsters/x".to_owned(),
        "/api/monsters/4294967296".to_owned(),
        FIELD.replace("worlds/0", "worlds/256") + "/monsters",
        FIELD.replace("00000000-", "0-") + "/monsters",
    ] {
        assert_eq!(send(ask(&running, Method::GET, &path)).await.0, 400, "{path}");
    }
    assert_eq!(send(ask(&running, Method::PUT, &format!("{FIELD}/characters/0"))).await.0, 400);
    let (status, answer) = send(running.ask(Method::GET, &list)).await;
    assert_eq!((status, &answer["errors"][0]["source"]["parameter"]), (400, &json!("REGION")));
    let (_, shown) = send(ask(&running, Method::GET, &list)).await;
    assert_eq!(
        (&shown["meta"]["total"], &shown["data"][0]["attributes"]["hp"]),
        (&json!(1), &json!(100))
    );
});

testkit::on_every_store!(a_garbage_counter_and_a_broken_monster_are_named_by_their_keys, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let counter = format!("atlas:monster-ids:{ONE}:next");
    running.store(&["SET", &counter, "many"]).await;
    let new = json!({ "monsterId": 9_300_018, "x": 0, "y": 0 });
    let (status, told) = post(&running, &format!("{FIELD}/monsters"), new).await;
    let error = &told["errors"][0];
    assert_eq!(
        (status, &error["code"], &error["meta"]["key"]),
        (500, &json!("CORRUPT_VALUE"), &json!(counter))
    );
    assert_eq!(
        error["detail"],
        format!("{counter} holds no whole number; `worldkeep check` shows it")
    );
    assert_eq!(error["meta"]["outcome"], "not_done");
    running.store(&["DEL", &counter]).await;
    let id = spawn(&running, 9_300_018, 0).await;
    let key = format!("atlas:monster:{ONE}:{id}");
    running.store(&["SET", &key, "{"]).await;
    for (method, path) in [(Method::GET, ""), (Method::POST, "/movement")] {
        let request = ask(&running, method, &format!("/api/monsters/{id}{path}"));
        let to = body(json!({ "x": 1, "y": 2, "stance": 3 }));
        let (status, told) = send(request.json(&to)).await;
        assert_eq!((status, &told["errors"][0]["meta"]["key"]), (500, &json!(key)), "{told}");
    }
    // A list where a field's set should be is named by the step that would write it.
    let map = format!("atlas:monster-map:{ONE}:0:1:40000:00000000-0000-0000-0000-000000000000");
    running.store(&["DEL", &map]).await;
    running.store(&["LPUSH", &map, "x"]).await;
    let new = json!({ "monsterId": 9_300_018, "x": 0, "y": 0 });
    let (status, told) = post(&running, &format!("{FIELD}/monsters"), new).await;
    assert_eq!((status, &told["errors"][0]["meta"]["key"]), (500, &json!(map)), "{told}");
});

testkit::on_every_store!(many_are_spawned_moved_and_read_in_one_call, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let bulk = async |path: &str, items: Value| {
        send(ask(&running, Method::POST, path).json(&json!({ "data": items }))).await
    };
    let at =
        |monster: u32, x: i32| json!({ "attributes": { "monsterId": monster, "x": x, "y": 0 } });
    let items = json!([at(9_300_018, 1), at(404, 2), at(9_300_018, 40_000), 7, at(9_300_018, 5)]);
    let (status, told) = bulk(&format!("{FIELD}/monsters/bulk"), items).await;
    assert_eq!((status, &told["meta"]), (200, &json!({ "done": 2, "refused": 3 })), "{told}");
    let data = told["data"].as_array().unwrap();
    let error =
        |at: usize| (&data[at]["errors"][0]["code"], &data[at]["errors"][0]["source"]["pointer"]);
    assert_eq!(error(1), (&json!("UNKNOWN_TEMPLATE"), &json!("/data/1/attributes/monsterId")));
    assert_eq!(error(2), (&json!("BAD_FIELD"), &json!("/data/2/attributes/x")));
    assert_eq!(error(3), (&json!("BAD_FIELD"), &json!("/data/3/attributes")));
    let ids = [0, 4].map(|at: usize| data[at]["data"]["id"].as_str().unwrap().to_owned());
    assert_eq!(data[4]["data"]["attributes"]["x"], 5);
    // Moves: each has its own answer, a life is looked at, and one of two on one monster comes after the other.
    let to = |id: &str, x: i32, life: u32| {
        json!({ "id": id, "type": "movement",
            "attributes": { "x": x, "y": 1, "stance": 2, "life": life } })
    };
    let items = json!([to(&ids[0], 11, 1), to("7", 1, 1), to(&ids[1], 1, 9), to(&ids[0], 12, 1), {"attributes": {}}]);
    let (status, told) = bulk("/api/monsters/bulk/movement", items).await;
    let data = told["data"].as_array().unwrap();
    assert_eq!((status, data.len(), &told["meta"]["refused"]), (200, 5, &json!(3)), "{told}");
    assert_eq!(
        data[3]["data"],
        json!({ "type": "movement", "id": ids[0],
            "attributes": { "x": 12, "y": 1, "fh": 0, "stance": 2, "life": 1 } })
    );
    assert_eq!(
        (&data[1]["errors"][0]["status"], &data[2]["errors"][0]["status"]),
        (&json!("404"), &json!("404"))
    );
    assert_eq!(data[4]["errors"][0]["source"]["pointer"], "/data/4/id");
    let (status, told) =
        bulk("/api/monsters/bulk/read", json!([{ "id": ids[1] }, { "id": 3 }, { "id": ids[0] }]))
            .await;
    let data = told["data"].as_array().unwrap();
    let x = |at: usize| &data[at]["data"]["attributes"]["x"];
    assert_eq!((status, x(0), x(2)), (200, &json!(5), &json!(12)), "{told}");
    assert_eq!(data[1]["errors"][0]["code"], "MONSTER_NOT_FOUND");
    // A body that is no list, or a list that is too long, is refused as a whole.
    let many = json!(vec![json!({ "id": 1 }); 1_001]);
    for (items, path) in
        [(json!({}), "bulk/read"), (many, "bulk/read"), (json!(null), "bulk/movement")]
    {
        let (status, told) = bulk(&format!("/api/monsters/{path}"), items).await;
        assert_eq!(
            (status, &told["errors"][0]["source"]["pointer"]),
            (400, &json!("/data")),
            "{told}"
        );
    }
});

testkit::on_every_store!(tenants_see_only_their_own, |store| {
    let running = start(store, &[("demo", "off")]).await;
    let id = spawn(&running, 9_300_018, 0).await;
    let path = format!("/api/monsters/{id}");
    assert_eq!(send(of(TWO, running.ask(Method::GET, &path))).await.0, 404);
    assert_eq!(send(of(TWO, running.ask(Method::DELETE, &path))).await.0, 404);
    let (_, list) = send(of(TWO, running.ask(Method::GET, &format!("{FIELD}/monsters")))).await;
    assert_eq!(list["meta"]["total"], 0);
    assert_eq!(send(ask(&running, Method::GET, &path)).await.0, 200);
});

testkit::on_every_store!(commands_of_other_services_are_done_and_acknowledged, |store| {
    let running = start(Arc::clone(&store), &[("demo", "off")]).await;
    let id = spawn(&running, 9_300_018, 0).await;
    let by = || kernel::Deadline::after(Duration::from_secs(5));
    let stream = format!("wk:monsters:{ONE}:commands");
    let tenant = r#"{"region":"GMS","majorVersion":83,"minorVersion":1}"#;
    for (kind, message) in [
        ("DAMAGE", format!(r#"{{"monsterId":{id},"body":{{"characterId":7,"damage":30}}}}"#)),
        ("DANCE", "{}".to_owned()),
        ("DAMAGE", format!(r#"{{"monsterId":{id},"body":{{"characterId":7,"damages":[5,6]}}}}"#)),
    ] {
        let mut add = kernel::Cmd::new();
        add.arg("XADD").arg(&stream).arg("*").arg("tenant").arg(tenant);
        add.arg("type").arg(kind).arg("body").arg(message);
        store.call(&add, by()).await.unwrap();
    }
    let wanted = json!(59);
    for _ in 0..200 {
        let (_, shown) = send(ask(&running, Method::GET, &format!("/api/monsters/{id}"))).await;
        let mut left = kernel::Cmd::new();
        left.arg("XLEN").arg(&stream);
        let left = reply::int(&store.call(&left, by()).await.unwrap());
        if shown["data"]["attributes"]["hp"] == wanted && left == Some(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the commands were not done in five seconds");
});

testkit::on_every_store!(commands_that_a_dead_server_held_come_before_newer_ones, |store| {
    let settings = [("demo", "off"), ("worlds.on_stop", "keep")];
    let mut running = start(Arc::clone(&store), &settings).await;
    let (id, ruined) = (spawn(&running, 9_300_018, 0).await, spawn(&running, 9_300_018, 0).await);
    running.stop.cancel();
    running.done.take().unwrap().await.unwrap().unwrap();
    let ask = async |words: &[&str]| {
        let mut cmd = kernel::Cmd::new();
        for word in words {
            cmd.arg(*word);
        }
        store.call(&cmd, kernel::Deadline::after(Duration::from_secs(5))).await.unwrap()
    };
    let stream = format!("wk:monsters:{ONE}:commands");
    let tenant = r#"{"region":"GMS","majorVersion":83,"minorVersion":1}"#;
    let add = async |kind: &str, body: &str| {
        ask(&["XADD", &stream, "*", "tenant", tenant, "type", kind, "body", body]).await;
    };
    let hit = async |who: u32| {
        let body = format!(r#"{{"monsterId":{id},"body":{{"characterId":{who},"damage":1}}}}"#);
        add("DAMAGE", &body).await;
        let body = format!(r#"{{"monsterId":{id},"body":{{"x":{who},"y":0,"stance":2}}}}"#);
        add("MOVE", &body).await;
    };
    for who in 1..=40 {
        hit(who).await;
    }
    // What the store will never do is answered, and does not hold back those behind it.
    let nowhere = format!("/api/monsters/{ruined}");
    let text = ask(&["GET", &format!("atlas:monster:{ONE}:{ruined}")]).await;
    let elsewhere = reply::text(&text).unwrap().replace("\"mapId\":", "\"mapId\":7");
    ask(&["SET", &format!("atlas:monster:{ONE}:{ruined}"), &elsewhere]).await;
    let map: serde_json::Value = serde_json::from_str(&elsewhere).unwrap();
    let (map, nil) = (&map["mapId"], "00000000-0000-0000-0000-000000000000");
    let (world, channel) = (0, 1);
    ask(&["SET", &format!("atlas:monster-map:{ONE}:{world}:{channel}:{map}:{nil}"), "no set"])
        .await;
    add("DESTROY", &format!(r#"{{"monsterId":{ruined}}}"#)).await;
    // A dead server held some of them, another one some of the rest.
    ask(&["XGROUP", "CREATE", &stream, "worldkeep", "0"]).await;
    for (dead, count) in [("dead", "5"), ("gone", "30")] {
        let read = ["XREADGROUP", "GROUP", "worldkeep", dead, "COUNT", count, "STREAMS"];
        ask(&[&read[..], &[stream.as_str(), ">"]].concat()).await;
    }
    for who in 41..=60 {
        hit(who).await;
    }
    let running = start(Arc::clone(&store), &settings).await;
    testkit::eventually("all commands are done", async || {
        reply::int(&ask(&["XLEN", &stream]).await) == Some(0)
    })
    .await;
    let (_, shown) = send(self::ask(&running, Method::GET, &format!("/api/monsters/{id}"))).await;
    let attributes = &shown["data"]["attributes"];
    let entries = attributes["damageEntries"].as_array().unwrap();
    let who: Vec<u64> = entries.iter().map(|one| one["characterId"].as_u64().unwrap()).collect();
    assert_eq!(who, (1..=60).collect::<Vec<_>>(), "each once, in their order");
    assert_eq!(attributes["x"], 60);
    assert_eq!(send(self::ask(&running, Method::GET, &nowhere)).await.0, 200, "it was refused");
    let groups = ask(&["XINFO", "GROUPS", &stream]).await;
    let facts = reply::pairs(&reply::list(&groups).unwrap()[0]).unwrap();
    let fact = |name: &str| facts.iter().find(|(n, _)| reply::text(n) == Some(name)).unwrap().1;
    let counts = (reply::int(fact("consumers")), reply::int(fact("pending")));
    assert_eq!(counts, (Some(1), Some(0)), "the dead have left the group");
});

testkit::on_every_store!(
    one_server_at_a_time_reads_a_tenant_and_no_tenant_waits_for_another,
    |store| {
        let settings = [("demo", "off"), ("worlds.on_stop", "keep")];
        let mut first = start(Arc::clone(&store), &settings).await;
        let call = async |words: &[&str]| {
            let mut cmd = kernel::Cmd::new();
            for word in words {
                cmd.arg(*word);
            }
            store.call(&cmd, kernel::Deadline::after(Duration::from_secs(5))).await.unwrap()
        };
        let new = body(json!({ "monsterId": 9_300_018, "x": 0, "y": 0 }));
        let mut ids = Vec::new();
        for tenant in [ONE, TWO] {
            let request = of(tenant, first.ask(Method::POST, &format!("{FIELD}/monsters")));
            ids.push(send(request.json(&new)).await.1["data"]["id"].as_str().unwrap().to_owned());
        }
        // A server that was stopped in the middle of its work still has the first tenant's lease.
        let lease = |tenant: &str| format!("wk:lease:monsters-commands-{tenant}");
        call(&["SET", &lease(ONE), "stopped", "PX", "600000"]).await;
        let stream = |tenant: &str| format!("wk:monsters:{tenant}:commands");
        let said = r#"{"region":"GMS","majorVersion":83,"minorVersion":1}"#;
        let hit = async |at: usize, who: u32| {
            let (tenant, id) = ([ONE, TWO][at], &ids[at]);
            let body = format!(r#"{{"monsterId":{id},"body":{{"characterId":{who},"damage":1}}}}"#);
            let key = stream(tenant);
            call(&["XADD", &key, "*", "tenant", said, "type", "DAMAGE", "body", &body]).await;
        };
        for who in 1..=30 {
            hit(0, who).await;
            hit(1, who).await;
        }
        let second = start(Arc::clone(&store), &settings).await;
        let done =
            async |tenant: &str| reply::int(&call(&["XLEN", &stream(tenant)]).await) == Some(0);
        testkit::eventually("the other tenant's commands are done", async || done(TWO).await).await;
        assert_eq!(
            reply::int(&call(&["XLEN", &stream(ONE)]).await),
            Some(30),
            "one server has them"
        );
        let holder = call(&["GET", &lease(TWO)]).await;
        assert!(reply::text(&holder).is_some(), "a lease of its own");
        // The lease ends, and while the commands are done one of the two servers stops.
        call(&["DEL", &lease(ONE)]).await;
        for who in 31..=40 {
            hit(0, who).await;
        }
        first.stop.cancel();
        first.done.take().unwrap().await.unwrap().unwrap();
        for who in 41..=60 {
            hit(0, who).await;
            hit(1, who - 10).await;
        }
        for (at, tenant, most) in [(0, ONE, 60), (1, TWO, 50)] {
            testkit::eventually("all commands are done", async || done(tenant).await).await;
            let path = format!("/api/monsters/{}", ids[at]);
            let (_, shown) = send(of(tenant, second.ask(Method::GET, &path))).await;
            let entries = shown["data"]["attributes"]["damageEntries"].as_array().unwrap();
            let who: Vec<u64> =
                entries.iter().map(|one| one["characterId"].as_u64().unwrap()).collect();
            assert_eq!(who, (1..=most).collect::<Vec<_>>(), "each once, in their order");
        }
    }
);

testkit::on_every_store!(teardown_templates_and_the_tile_have_routes, |store| {
    let running = start(store, &[("demo", "off")]).await;
    spawn(&running, 9_300_018, 0).await;
    let (_, overview) = send(running.get("/api/overview")).await;
    let tiles = overview["tiles"].as_array().cloned().unwrap_or_default();
    assert!(tiles.iter().any(|tile| tile["module"] == "monsters"), "{overview}");
    let (status, done) = send(running.ask(Method::DELETE, "/api/monsters")).await;
    assert_eq!((status, &done["data"]["attributes"]["destroyed"]), (200, &json!(1)));
    let (_, templates) = send(running.get("/api/monsters/templates")).await;
    let all = templates["data"].as_array().unwrap();
    assert!(all.iter().any(|one| one["id"] == "9300018"), "{templates}");
});

#[tokio::test]
async fn the_last_server_to_stop_tears_monsters_down_unless_it_is_told_to_keep() {
    for (word, left) in [("teardown", 0), ("keep", 1)] {
        let store: Arc<dyn Store> = testkit::open("memory").await;
        let settings = [("demo", "off"), ("worlds.on_stop", word)];
        let mut running = start(store, &settings).await;
        spawn(&running, 9_300_018, 0).await;
        running.stop.cancel();
        running.done.take().unwrap().await.unwrap().unwrap();
        for module in &running.app.modules {
            if let Some(stop) = module.stop {
                stop(Arc::clone(&running.app)).await;
            }
        }
        let key = format!("atlas:monster:{ONE}:1000000000");
        assert_eq!(reply::int(&running.store(&["EXISTS", &key]).await), Some(left), "{word}");
    }
}
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_field_lives_and_stays_bounded() {
    let store: Arc<dyn Store> = testkit::open("memory").await;
    let running = start(store, &[("demo", "on")]).await;
    let tenant = server::worlds::demo::TENANT.to_string();
    let list = format!("/api/{}/monsters", server::worlds::demo::FIELD.path());
    for _ in 0..200 {
        let (_, shown) = send(of(&tenant, running.ask(Method::GET, &list))).await;
        let total = shown["meta"]["total"].as_u64().unwrap_or(0);
        assert!(total <= 40, "{total}");
        if total >= 6 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing lives in the demo field after ten seconds");
}
