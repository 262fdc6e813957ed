//! Tenants see only their own, whatever ids they try.

use monsters::{MonsterError, Spawn};
use testkit::on_every_store;

use crate::support::{World, attack};

on_every_store!(the_same_id_of_two_tenants_is_two_monsters, |store| {
    let world = World::new(&store);
    let other = field::Tenant {
        id: "22222222-2222-4222-8222-222222222222".parse().unwrap(),
        ..world.tenant.clone()
    };
    let id = world.spawn(9_300_018).await;
    assert_eq!(world.monsters.get(&other, id).await, Err(MonsterError::NotFound));
    assert_eq!(
        world.monsters.damage(&other, id, attack(1, &[1])).await,
        Err(MonsterError::NotFound)
    );
    assert_eq!(world.monsters.destroy(&other, id).await, Err(MonsterError::NotFound));
    assert!(world.monsters.list(&other, world.field).await.unwrap().monsters.is_empty());
    let spawn = Spawn { monster_id: 9_300_018, ..Spawn::default() };
    let theirs = world.monsters.spawn(&other, world.field, &spawn).await.unwrap();
    assert_eq!(theirs.unique_id, id, "each tenant counts for itself");
    world.hit(id, 7, 60).await;
    assert_eq!(world.monsters.get(&other, id).await.unwrap().hp, 100);
    world.monsters.destroy_field(&world.tenant, world.field).await.unwrap();
    assert!(world.monsters.get(&other, id).await.is_ok());
    assert_eq!(
        world.monsters.damage(&other, id, attack(9, &[60])).await.unwrap().hp,
        40,
        "no hint crosses over"
    );
});

on_every_store!(a_region_that_would_break_json_is_only_text, |store| {
    let mut world = World::new(&store);
    world.tenant.region = "G\"},{\"hp\":9,\\ é \u{1f}[".into();
    let id = world.spawn(9_300_018).await;
    for n in 1..=3 {
        world.hit(id, 7, n).await;
    }
    let monster = world.get(id).await;
    assert_eq!((monster.hp, monster.tenant_region.as_str()), (94, world.tenant.region.as_str()));
    serde_json::from_str::<serde_json::Value>(&world.stored(id).await).unwrap();
});
