//! Ends: destroyed, a field cleared, everything torn down, and nothing left behind.

use std::sync::Arc;

use monsters::{MonsterError, Spawn};
use testkit::on_every_store;

use crate::support::{NIL, TENANT, World};

on_every_store!(of_many_who_destroy_one_succeeds_and_the_id_is_free_once, |store| {
    let world = Arc::new(World::new(&store));
    let id = world.spawn(9_300_018).await;
    let all: Vec<_> = (0..16)
        .map(|_| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.monsters.destroy(&world.tenant, id).await })
        })
        .collect();
    let mut won = 0;
    for one in all {
        match one.await.unwrap() {
            Ok(()) => won += 1,
            Err(error) => assert_eq!(error, MonsterError::NotFound),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(world.told().await, ["CREATED", "DESTROYED"]);
    assert_eq!(world.int(&["LLEN", &format!("atlas:monster-ids:{TENANT}:free")]).await, 1);
});

on_every_store!(clearing_a_field_leaves_other_instances_alone, |store| {
    let world = World::new(&store);
    for _ in 0..40 {
        world.spawn(9_300_018).await;
    }
    let map = format!("atlas:monster-map:{TENANT}:0:0:40000:{NIL}");
    world.ask(&["SADD", &map, "1000009999", "junk"]).await;
    let copy = field::Field {
        instance: "00000000-0000-0000-0000-000000000001".parse().unwrap(),
        ..world.field
    };
    let spawn = Spawn { monster_id: 9_300_018, ..Spawn::default() };
    let other = world.monsters.spawn(&world.tenant, copy, &spawn).await.unwrap().unique_id;
    let cleared = world.monsters.destroy_field(&world.tenant, world.field).await.unwrap();
    assert_eq!((cleared.destroyed, cleared.failed), (40, 0));
    assert!(world.get(other).await.alive());
    assert_eq!(
        world.int(&["SISMEMBER", &map, "1000009999"]).await,
        0,
        "an entry without a monster"
    );
});

on_every_store!(monsters_of_one_source_go_together, |store| {
    let world = World::new(&store);
    let gate = Spawn {
        monster_id: 9_300_018,
        source_type: "gate".into(),
        source_id: 3,
        ..Spawn::default()
    };
    let id = world.monsters.spawn(&world.tenant, world.field, &gate).await.unwrap().unique_id;
    assert!(
        world
            .stored(id)
            .await
            .ends_with(r#""statusEffects":[],"spawnSourceType":"gate","spawnSourceId":3}"#)
    );
    let stays = world.spawn(9_300_018).await;
    let cleared =
        world.monsters.destroy_source(&world.tenant, world.field, "gate", 3).await.unwrap();
    assert_eq!(cleared.destroyed, 1);
    assert_eq!(world.monsters.ids(&world.tenant, world.field).await.unwrap(), [stays]);
});

on_every_store!(teardown_leaves_counters_free_ids_and_events, |store| {
    let world = World::new(&store);
    world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    for template in [9_300_018, 3, 7] {
        world.spawn(template).await;
    }
    let other = field::Tenant {
        id: "22222222-2222-4222-8222-222222222222".parse().unwrap(),
        ..world.tenant.clone()
    };
    let spawn = Spawn { monster_id: 9_300_018, ..Spawn::default() };
    world.monsters.spawn(&other, world.field, &spawn).await.unwrap();
    world.ask(&["SET", &world.key(1_700_000_000), "in no field and no JSON"]).await;
    let cleared = world.monsters.teardown().await.unwrap();
    assert_eq!((cleared.destroyed, cleared.failed), (5, 0));
    let mut left: Vec<String> = Vec::new();
    for key in kernel::reply::list(&world.ask(&["KEYS", "*"]).await).unwrap() {
        left.push(
            kernel::reply::text(key)
                .unwrap()
                .replace(TENANT, "1")
                .replace(&other.id.to_string(), "2"),
        );
    }
    left.sort();
    assert_eq!(
        left,
        [
            "atlas:monster-ids:1:free",
            "atlas:monster-ids:1:next",
            "atlas:monster-ids:2:free",
            "atlas:monster-ids:2:next",
            "wk:monsters:1:events",
            "wk:monsters:2:events",
            "wk:monsters:scopes"
        ]
    );
});

on_every_store!(the_nearest_in_a_box_come_first, |store| {
    let world = World::new(&store);
    for (x, y) in [(0, 0), (10, 0), (-4, 0), (11, 0), (4, 0)] {
        let spawn = Spawn { monster_id: 9_300_018, x, y, ..Spawn::default() };
        world.monsters.spawn(&world.tenant, world.field, &spawn).await.unwrap();
    }
    let corners = (field::Point::new(10, 5), field::Point::new(-10, -5));
    let found = world.monsters.in_rect(&world.tenant, world.field, corners, 10).await.unwrap();
    let at: Vec<i16> = found.iter().map(|monster| monster.at.x).collect();
    assert_eq!(at, [0, -4, 4, 10], "edges are inside, of equals the lowest id");
    assert_eq!(
        world.monsters.in_rect(&world.tenant, world.field, corners, 2).await.unwrap().len(),
        2
    );
});
