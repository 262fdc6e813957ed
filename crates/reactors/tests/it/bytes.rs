//! The promise to other programs: keys, values and events to the byte, and how often the store is asked.

use kernel::keyspace::Layout;
use reactors::Hit;
use serde_json::json;
use testkit::{Recorder, on_every_store};

use crate::support::{ONE, World, a_box, field, reactors_on, soon, tenant};

const MAP: &str = "reactors:map:11111111-1111-4111-8111-111111111111:0:1:1000000:00000000-0000-0000-0000-000000000000";
const COOLDOWN: &str = "reactor:cd:11111111-1111-4111-8111-111111111111:0:1:1000000:00000000-0000-0000-0000-000000000000:2001:231:253";
const VALUE: &str = r#"{"tenant":{"id":"11111111-1111-4111-8111-111111111111","region":"GMS","majorVersion":83,"minorVersion":1},"id":1000000001,"worldId":0,"channelId":1,"mapId":1000000,"instance":"00000000-0000-0000-0000-000000000000","classification":2001,"name":"box","data":{"name":"box","tl":{"x":-20,"y":-40},"br":{"x":20,"y":0},"stateInfo":{"0":[{"type":0,"activeSkills":[],"nextState":1}]},"timeoutInfo":{}},"state":0,"eventState":0,"delay":5000,"direction":0,"x":231,"y":253,"updateTime":"2026-02-21T10:11:12.5Z"}"#;

on_every_store!(a_new_reactor_has_the_bytes_of_the_specification, |store| {
    let world = World::new(store, Layout::Plain);
    let reactor = world.create(a_box()).await;
    assert_eq!(reactor.id, 1_000_000_001);
    assert_eq!(world.text(&["GET", "reactor:1000000001"]).await, VALUE);
    assert_eq!(world.text(&["GET", "reactors:next_id"]).await, "1000000001");
    assert_eq!(world.int(&["SISMEMBER", "reactors:all", "1000000001"]).await, 1);
    assert_eq!(world.int(&["SISMEMBER", MAP, "1000000001"]).await, 1);
    assert_eq!(world.int(&["PTTL", "reactor:1000000001"]).await, -1);
    let spots = format!("wk:reactors:{ONE}:spots");
    let spot = "0:1:1000000:00000000-0000-0000-0000-000000000000:2001:231:253";
    assert_eq!(world.text(&["HGET", &spots, spot]).await, "1000000001");
    world.is_clean().await;

    world.reactors.destroy(ONE, reactor.id).await.unwrap();
    assert_eq!(world.text(&["GET", COOLDOWN]).await, "1");
    let left = world.int(&["PTTL", COOLDOWN]).await;
    assert!((1..=5_000).contains(&left), "{left}");
    let gone = ["EXISTS", "reactor:1000000001", "reactors:all", MAP, &spots];
    assert_eq!(world.int(&gone).await, 0);
    assert_eq!(world.text(&["GET", "reactors:next_id"]).await, "1000000001");
    world.is_clean().await;
});

on_every_store!(events_have_the_documented_shapes, |store| {
    let world = World::new(store, Layout::Plain);
    let reactor = world.create(a_box()).await;
    world.reactors.hit(ONE, reactor.id, Hit { character_id: 7, skill_id: 0 }).await.unwrap();
    let place = json!({
        "worldId": 0, "channelId": 1, "mapId": 1_000_000,
        "instance": "00000000-0000-0000-0000-000000000000", "reactorId": 1_000_000_001,
    });
    let with = |rest: serde_json::Value| {
        let mut all = place.as_object().unwrap().clone();
        all.extend(rest.as_object().unwrap().clone());
        serde_json::Value::from(all)
    };
    let script = |kind: &str, body: serde_json::Value| {
        with(json!({
            "classification": "2001", "reactorName": "box", "reactorState": 0, "x": 231, "y": 253,
            "type": kind, "body": body,
        }))
    };
    let created = json!({
        "classification": 2001, "name": "box", "state": 0, "eventState": 0, "delay": 5000,
        "direction": 0, "x": 231, "y": 253, "updateTime": "2026-02-21T10:11:12.5Z",
    });
    let gone = json!({ "state": 0, "x": 231, "y": 253 });
    assert_eq!(
        world.events().await,
        [
            ("CREATED".to_owned(), with(json!({ "type": "CREATED", "body": created }))),
            (
                "script.HIT".to_owned(),
                script("HIT", json!({ "characterId": 7, "skillId": 0, "isSkill": false }))
            ),
            ("script.TRIGGER".to_owned(), script("TRIGGER", json!({ "characterId": 7 }))),
            ("DESTROYED".to_owned(), with(json!({ "type": "DESTROYED", "body": gone }))),
        ]
    );
});

on_every_store!(create_with_index_and_event_is_one_round_trip, |store| {
    let world = World::new(store.clone(), Layout::Plain);
    let wire = Recorder::new(store.clone());
    let recorded: std::sync::Arc<dyn kernel::Store> = wire.clone();
    let reactors = reactors_on(&recorded, &world.clock, Layout::Plain);
    let mut new = a_box();
    reactors.create(&tenant(ONE), new.clone()).await.unwrap();
    let first = wire.take_commands();
    assert!(first.starts_with("SADD wk:reactors:scopes "), "{first}");
    new.x = 5;
    reactors.create(&tenant(ONE), new).await.unwrap();
    let second = wire.take_commands();
    assert_eq!(second.lines().count(), 1, "{second}");
    assert!(second.starts_with("SCRIPT create 9 reactors:next_id reactors:all "), "{second}");

    reactors.hit(ONE, 1_000_000_001, Hit::default()).await.unwrap();
    let hit = wire.take_commands();
    let names: Vec<&str> = hit.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["GET", "SCRIPT"], "{hit}");

    reactors.list(ONE, field(1_000_000)).await.unwrap();
    let list = wire.take_commands();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["SMEMBERS", "MGET"], "{list}");
});

on_every_store!(members_of_other_programs_survive_a_hit, |store| {
    let world = World::new(store, Layout::Plain);
    let two_steps = VALUE
        .replace(
            r#""nextState":1}]}"#,
            r#""nextState":1}],"1":[{"type":0,"activeSkills":{},"nextState":0}]}"#,
        )
        .replace("\"delay\":5000", "\"delay\":5000, \"ours\": [1.50,{ }]")
        .replace("2026-02-21T10:11:12.5Z", "2026-02-21T11:11:12.123456789+01:00");
    world.ask(&["SET", "reactor:1000000001", &two_steps]).await;
    world.ask(&["SADD", "reactors:all", "1000000001"]).await;
    world.ask(&["SADD", MAP, "1000000001"]).await;
    world.clock.advance(std::time::Duration::from_millis(1_500));
    world.reactors.hit(ONE, 1_000_000_001, Hit::default()).await.unwrap();
    let expected = two_steps
        .replace("\"state\":0", "\"state\":1")
        .replace("2026-02-21T11:11:12.123456789+01:00", "2026-02-21T10:11:14Z");
    assert_eq!(world.text(&["GET", "reactor:1000000001"]).await, expected);
});

on_every_store!(ids_wrap_skip_the_living_and_start_by_themselves, |store| {
    let world = World::new(store, Layout::Plain);
    let at = async |x: i16| {
        let mut new = a_box();
        new.x = x;
        world.create(new).await.id
    };
    for low in ["7", "999999999", "1000000000"] {
        world.ask(&["SET", "reactors:next_id", low]).await;
        world.ask(&["DEL", "reactor:1000000001", "reactors:all", MAP]).await;
        assert_eq!(at(1).await, 1_000_000_001, "{low}");
    }
    world.ask(&["SET", "reactors:next_id", "1999999999"]).await;
    assert_eq!(at(2).await, 2_000_000_000);
    assert_eq!(at(3).await, 1_000_000_002, "1000000001 is still live");
    for id in 1_000_000_003..1_000_000_067_u32 {
        world.ask(&["SET", &format!("reactor:{id}"), "x"]).await;
    }
    let mut new = a_box();
    new.x = 4;
    let error = world.reactors.create(&tenant(ONE), new.clone()).await.unwrap_err();
    assert_eq!(error.refusal(), Some("id_space_busy"));
    world.reactors.create(&tenant(ONE), new.clone()).await.unwrap();
    world.ask(&["SET", "reactors:next_id", "many"]).await;
    new.x = 5;
    let error = world.reactors.create(&tenant(ONE), new).await.unwrap_err();
    assert!(error.to_string().contains("reactors:next_id holds no whole number"), "{error}");
    let _ = soon();
});
