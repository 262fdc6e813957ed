//! Who is there, and whose client moves a monster.

use testkit::on_every_store;

use crate::support::{NIL, World};

async fn count(world: &World, who: u32) -> i64 {
    let key = world.own(&format!("present:0:0:40000:{NIL}"));
    world.int(&["HGET", &key, &who.to_string()]).await
}

on_every_store!(control_goes_to_who_has_fewest_and_of_equals_to_the_lowest, |store| {
    let world = World::new(&store);
    for who in [30, 10, 20] {
        world.monsters.enter(&world.tenant, world.field, who, false).await.unwrap();
    }
    world.monsters.enter(&world.tenant, world.field, 5, true).await.unwrap();
    let mut got = Vec::new();
    for _ in 0..4 {
        let id = world.spawn(9_300_018).await;
        got.push(world.get(id).await.control_character_id);
    }
    assert_eq!(got, [10, 20, 30, 10], "and never to the hidden one");
    assert_eq!((count(&world, 10).await, count(&world, 30).await), (2, 1));
    assert_eq!(world.told().await, ["CREATED"; 4], "given silently at birth");
});

on_every_store!(an_arrival_takes_what_nobody_controls_and_a_leaver_hands_on, |store| {
    let world = World::new(&store);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(world.spawn(9_300_018).await);
    }
    let entered = world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    assert_eq!((entered.arrived, entered.given), (true, 3));
    let again = world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    assert_eq!((again.arrived, again.given), (false, 0), "granting again does nothing");
    world.monsters.enter(&world.tenant, world.field, 8, false).await.unwrap();
    world.monsters.leave(&world.tenant, world.field, 7).await.unwrap();
    for id in &ids {
        assert_eq!(world.get(*id).await.control_character_id, 8);
    }
    assert_eq!(count(&world, 8).await, 3);
    world.monsters.leave(&world.tenant, world.field, 8).await.unwrap();
    assert_eq!(world.get(ids[0]).await.control_character_id, 0);
    let told = world.told().await;
    let of = |kind: &str| told.iter().filter(|told| *told == kind).count();
    assert_eq!((of("START_CONTROL"), of("STOP_CONTROL")), (6, 6));
    let start = &world.events().await[3].2["body"];
    assert_eq!(start.to_string(), r#"{"actorId":7,"fh":0,"stance":5,"team":0,"x":0,"y":0}"#);
    assert_eq!(world.int(&["EXISTS", &world.own(&format!("present:0:0:40000:{NIL}"))]).await, 0);
});

on_every_store!(the_leader_of_the_damage_takes_control_when_it_is_there, |store| {
    let world = World::new(&store);
    world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    let id = world.spawn(2).await;
    world.hit(id, 9, 50).await;
    let monster = world.get(id).await;
    assert_eq!((monster.control_character_id, monster.controller_has_aggro), (7, true));
    world.monsters.enter(&world.tenant, world.field, 9, false).await.unwrap();
    world.hit(id, 7, 20).await;
    assert_eq!(world.get(id).await.control_character_id, 7, "9 leads and did not hit now");
    world.hit(id, 9, 1).await;
    assert_eq!(world.get(id).await.control_character_id, 9);
    assert_eq!((count(&world, 7).await, count(&world, 9).await), (0, 1));
    // 7 catches up with single smaller hits: the sum counts, not the largest hit.
    for _ in 0..4 {
        world.hit(id, 7, 10).await;
    }
    assert_eq!(world.get(id).await.control_character_id, 7);
    let told = world.told().await;
    let of = |kind: &str| told.iter().filter(|told| *told == kind).count();
    assert_eq!((of("START_CONTROL"), of("STOP_CONTROL"), of("AGGRO_CHANGED")), (2, 2, 1));
    world.monsters.destroy(&world.tenant, id).await.unwrap();
    assert_eq!((count(&world, 7).await, count(&world, 9).await), (0, 0));
});

on_every_store!(a_hidden_character_lets_go_and_gets_nothing, |store| {
    let world = World::new(&store);
    world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    let id = world.spawn(2).await;
    world.monsters.enter(&world.tenant, world.field, 7, true).await.unwrap();
    assert_eq!(world.get(id).await.control_character_id, 0);
    world.hit(id, 7, 50).await;
    assert_eq!(world.get(id).await.control_character_id, 0);
});

on_every_store!(a_puppet_draws_the_monsters_near_it_to_its_owner, |store| {
    let world = World::new(&store);
    world.monsters.enter(&world.tenant, world.field, 1, false).await.unwrap();
    world.monsters.enter(&world.tenant, world.field, 2, false).await.unwrap();
    let near = world.spawn(9_300_018).await;
    assert_eq!(world.get(near).await.control_character_id, 1);
    let at = field::Point::new(400, 100);
    world.monsters.puppet(&world.tenant, world.field, 2, Some(at)).await.unwrap();
    world.monsters.enter(&world.tenant, world.field, 3, false).await.unwrap();
    world.monsters.leave(&world.tenant, world.field, 1).await.unwrap();
    assert_eq!(world.get(near).await.control_character_id, 2, "170000 is within reach");
});

on_every_store!(a_count_that_is_wrong_is_found_and_set_right, |store| {
    let world = World::new(&store);
    for who in [7, 8] {
        world.monsters.enter(&world.tenant, world.field, who, false).await.unwrap();
    }
    for _ in 0..3 {
        world.spawn(9_300_018).await;
    }
    assert_eq!(world.monsters.doctor(true).await.unwrap(), [], "nothing is wrong yet");
    let key = world.own(&format!("present:0:0:40000:{NIL}"));
    world.ask(&["HSET", &key, "7", "-4"]).await;
    let found = world.monsters.doctor(false).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].entry.as_deref(), found[0].repaired), (Some("7"), false));
    assert_eq!(found[0].detail, "character 7 controls 2 monsters here, and -4 are counted");
    assert_eq!(count(&world, 7).await, -4, "looking changes nothing");
    assert!(world.monsters.doctor(true).await.unwrap()[0].repaired);
    assert_eq!((count(&world, 7).await, count(&world, 8).await), (2, 1));
    assert_eq!(world.monsters.doctor(false).await.unwrap(), []);
});
