//! The same on a Cluster, in the tagged layout: each tenant's keys in one slot.

use std::sync::Arc;

use kernel::keyspace::Layout;
use testkit::on_cluster;

use crate::support::{TENANT, World, attack};

on_cluster!(a_monsters_whole_life_works_on_a_cluster, |store, _cluster| {
    let world = Arc::new(World::with(&store, Layout::Tagged, |_| {}));
    world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    let id = world.spawn(5).await;
    assert!(world.stored(id).await.contains("\"controlCharacterId\":7"));
    let hits: Vec<_> = (0..20_u32)
        .map(|n| {
            let world = Arc::clone(&world);
            tokio::spawn(
                async move { world.monsters.damage(&world.tenant, id, attack(n, &[1])).await },
            )
        })
        .collect();
    let mut kills = 0;
    for hit in hits {
        kills += usize::from(hit.await.unwrap().is_ok_and(|blow| blow.killed));
    }
    assert_eq!(kills, 1);
    assert_eq!(
        world.monsters.ids(&world.tenant, world.field).await.unwrap().len(),
        2,
        "both halves rose"
    );
    let friend = world.spawn(7).await;
    let poison = crate::status::effect(&[("VENOM", 3)], 2_000);
    world.monsters.apply_status(&world.tenant, friend, &poison).await.unwrap();
    world.monsters.use_skill(&world.tenant, world.spawn(3).await, 110, 1, false).await.unwrap();
    world.pass(3_000).await;
    assert_eq!(world.get(friend).await.hp, 494);
    let told = world.told().await;
    assert!(
        told.contains(&"FRIENDLY_DROP".to_owned()) && told.contains(&"STATUS_EXPIRED".to_owned())
    );
    world.monsters.leave(&world.tenant, world.field, 7).await.unwrap();
    let cleared = world.monsters.teardown().await.unwrap();
    assert_eq!(cleared.failed, 0);
    let free = format!("atlas:monster-ids:{{{TENANT}}}:free");
    assert_eq!(world.int(&["LLEN", &free]).await, 4, "the first half took the id of the twin");
});
