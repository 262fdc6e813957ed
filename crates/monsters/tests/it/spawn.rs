//! Ids, fields, controllers: how monsters come into being.

use std::fmt::Write as _;
use std::sync::Arc;

use kernel::reply;
use monsters::{MonsterError, Spawn};
use testkit::{Recorder, Store, on_every_store};

use crate::support::{NIL, TENANT, World};

on_every_store!(released_ids_come_back_last_in_first_out, |store| {
    let world = World::new(&store);
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.spawn(9_300_018).await);
    }
    assert_eq!(ids, [1_000_000_000, 1_000_000_001, 1_000_000_002, 1_000_000_003, 1_000_000_004]);
    for id in &ids {
        world.monsters.destroy(&world.tenant, *id).await.unwrap();
    }
    let mut again = Vec::new();
    for _ in 0..5 {
        again.push(world.spawn(9_300_018).await);
    }
    ids.reverse();
    assert_eq!(again, ids);
});

on_every_store!(the_counter_wraps_and_passes_over_living_ids, |store| {
    let world = World::new(&store);
    let next = format!("atlas:monster-ids:{TENANT}:next");
    let first = world.spawn(9_300_018).await;
    world.ask(&["SET", &next, "1999999999"]).await;
    assert_eq!(world.spawn(9_300_018).await, 2_000_000_000);
    assert_eq!(world.spawn(9_300_018).await, 1_000_000_001, "{first} lives");
    world.ask(&["SET", &next, "5"]).await;
    assert_eq!(world.spawn(9_300_018).await, 1_000_000_002, "below the range it starts anew");
});

on_every_store!(free_entries_that_are_no_ids_are_dropped, |store| {
    let world = World::new(&store);
    let live = world.spawn(9_300_018).await;
    let free = format!("atlas:monster-ids:{TENANT}:free");
    for entry in ["junk", "7", "2000000001", &live.to_string(), "1000000777"] {
        world.ask(&["RPUSH", &free, entry]).await;
    }
    assert_eq!(world.spawn(9_300_018).await, 1_000_000_777);
    assert_eq!(world.int(&["LLEN", &free]).await, 0);
    world.ask(&["SET", &format!("atlas:monster-ids:{TENANT}:next"), "many"]).await;
    let spawn = Spawn { monster_id: 9_300_018, ..Spawn::default() };
    let refused = world.monsters.spawn(&world.tenant, world.field, &spawn).await;
    assert!(refused.unwrap_err().to_string().contains("no whole number"));
});

on_every_store!(an_id_space_full_of_the_living_is_busy, |store| {
    let world = World::new(&store);
    for id in 1_000_000_000..1_000_000_070_u32 {
        world.ask(&["SET", &world.key(id), "x"]).await;
    }
    let spawn = Spawn { monster_id: 9_300_018, ..Spawn::default() };
    let busy = world.monsters.spawn(&world.tenant, world.field, &spawn).await;
    assert_eq!(busy, Err(MonsterError::IdSpaceBusy));
    assert_eq!(world.told().await, [""; 0]);
    assert_eq!(world.spawn(9_300_018).await, 1_000_000_070, "the next try goes on from there");
});

on_every_store!(an_unknown_template_writes_nothing, |store| {
    let world = World::new(&store);
    let spawn = Spawn { monster_id: 12_345, ..Spawn::default() };
    let refused = world.monsters.spawn(&world.tenant, world.field, &spawn).await;
    assert_eq!(refused, Err(MonsterError::UnknownTemplate(12_345)));
    assert_eq!(world.int(&["DBSIZE"]).await, 0);
});

on_every_store!(a_spawn_is_told_once_and_stands_in_its_field_alone, |store| {
    let world = World::new(&store);
    let spawn = Spawn { monster_id: 9_300_018, x: -5, y: 6, fh: 7, team: -1, ..Spawn::default() };
    let born = world.monsters.spawn(&world.tenant, world.field, &spawn).await.unwrap();
    assert_eq!(world.get(born.unique_id).await, born);
    let events = world.events().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].0, "CREATED");
    assert_eq!(
        events[0].2.to_string(),
        serde_json::json!({"worldId":0,"channelId":0,"mapId":40000,"instance":NIL,
            "uniqueId":1_000_000_000,"monsterId":9_300_018,"type":"CREATED","body":{"actorId":0}})
        .to_string()
    );
    let elsewhere = field::Field { map_id: 1, ..world.field };
    assert!(world.monsters.list(&world.tenant, elsewhere).await.unwrap().monsters.is_empty());
});

on_every_store!(a_spawn_is_the_same_with_and_without_a_script, |store| {
    // The recorder wants to see every call, so its spawns are scripts.
    let recorder: Arc<dyn Store> = Recorder::new(Arc::clone(&store));
    assert!(recorder.here().is_none());
    let mut ended = Vec::new();
    let tenants = ["aaaaaaaa-1111-4111-8111-111111111111", "bbbbbbbb-1111-4111-8111-111111111111"];
    for (tenant, store) in tenants.into_iter().zip([&store, &recorder]) {
        let mut world = World::new(store);
        world.tenant.id = tenant.parse().unwrap();
        let free = format!("atlas:monster-ids:{tenant}:free");
        let mut told = String::new();
        let first = world.spawn(9_300_018).await;
        for (character, unseen) in [(9, false), (7, false), (5, true)] {
            world.monsters.enter(&world.tenant, world.field, character, unseen).await.unwrap();
        }
        for template in [9_300_018, 7, 3, 2] {
            world.spawn(template).await;
        }
        world.monsters.destroy(&world.tenant, first).await.unwrap();
        for entry in ["junk", "07", "1000000001", "1000000555"] {
            world.ask(&["LPUSH", &free, entry]).await;
        }
        for template in [7, 9_300_018, 9_300_018] {
            world.spawn(template).await;
        }
        let own = |what: &str| format!("wk:monsters:{tenant}:{what}");
        let place = format!("0:0:40000:{NIL}");
        let map = format!("atlas:monster-map:{tenant}:{place}");
        for id in [1_000_000_000, 1_000_000_001, 1_000_000_002, 1_000_000_005, 1_000_000_555_u32] {
            for kind in ["monster", "drop-timer"] {
                told += &world.text(&["GET", &format!("atlas:{kind}:{tenant}:{id}")]).await;
            }
        }
        for words in [
            ["GET", &format!("atlas:monster-ids:{tenant}:next")].as_slice(),
            &["LRANGE", &free, "0", "-1"],
            &["SMEMBERS", &map],
            &["HGETALL", &own(&format!("present:{place}"))],
            &["ZRANGE", &own("due"), "0", "-1", "WITHSCORES"],
            &["HGETALL", &own("due:data")],
        ] {
            let _ = writeln!(told, "{:?}", world.ask(words).await);
        }
        let events = world.ask(&["XRANGE", &own("events"), "-", "+"]).await;
        for entry in reply::list(&events).unwrap() {
            let _ = writeln!(told, "{:?}", reply::list(entry).unwrap()[1]);
        }
        ended.push(told.replace(tenant, "T"));
    }
    assert_eq!(ended[0], ended[1]);
});
