//! Ids, fields, controllers: how monsters come into being.

use monsters::{MonsterError, Spawn};
use testkit::on_every_store;

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
            "uniqueId":1_000_000_000,"monsterId":9_300_018,"type":"CREATED","body":{"actorId":0},
            "life":1,"x":-5,"y":6})
        .to_string()
    );
    let elsewhere = field::Field { map_id: 1, ..world.field };
    assert!(world.monsters.list(&world.tenant, elsewhere).await.unwrap().monsters.is_empty());
});

on_every_store!(what_is_no_id_or_in_use_is_passed_over, |store| {
    let world = World::new(&store);
    let free = format!("atlas:monster-ids:{TENANT}:free");
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
    let mut ids = Vec::new();
    for template in [7, 9_300_018, 9_300_018] {
        ids.push(world.spawn(template).await);
    }
    assert_eq!(ids, [1_000_000_555, first, 1_000_000_005]);
    assert_eq!(world.int(&["EXISTS", &free]).await, 0);
    // Those who are seen share the control of the seven.
    let present = format!("wk:monsters:{TENANT}:present:0:0:40000:{NIL}");
    for (character, controls) in [("9", "3"), ("7", "4"), ("5", "0")] {
        assert_eq!(world.text(&["HGET", &present, character]).await, controls);
    }
});
