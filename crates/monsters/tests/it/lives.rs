//! Ids are given out again at once: who died and who came after are told apart by their life.

use std::sync::Arc;
use std::time::Duration;

use monsters::{Attack, MonsterError, Move, NewEffect};
use testkit::{Faulty, Store, on_every_store};

use crate::support::{World, attack};

on_every_store!(a_hit_that_names_a_life_does_not_fall_on_an_heir, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    assert_eq!(world.get(id).await.life, 1);
    let aimed = |life: u64| Attack { life: Some(life), ..attack(7, &[10]) };
    let hit = |life: u64| world.monsters.damage(&world.tenant, id, aimed(life));
    assert_eq!(hit(1).await.unwrap().hp, 90);
    assert_eq!(hit(2).await, Err(MonsterError::NotFound), "it lives once");
    for life in [2, 3] {
        world.monsters.destroy(&world.tenant, id).await.unwrap();
        assert_eq!(hit(life - 1).await, Err(MonsterError::NotFound));
        assert_eq!(world.second().spawn(9_300_018).await, id);
        assert_eq!(world.get(id).await.life, life);
        assert_eq!(hit(life - 1).await, Err(MonsterError::NotFound), "an heir has the id");
        assert_eq!(hit(life).await.unwrap().hp, 90);
    }
    // Without a life whoever has the id is hit.
    assert_eq!(world.hit(id, 7, 1).await.hp, 89);
    let body = format!(r#"{{"monsterId":{id},"body":{{"characterId":7,"damage":9,"life":1}}}}"#);
    assert!(world.monsters.command(&world.tenant, "DAMAGE", &body, None).await.is_err());
    assert_eq!(world.get(id).await.hp, 89);
});

on_every_store!(hits_under_way_when_a_monster_falls_do_not_hurt_what_rises, |store| {
    // Hits that waited behind the killing one met the monster that had risen under the same id.
    let faulty = Faulty::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&faulty) as Arc<dyn Store>));
    let twin = world.spawn(5).await;
    // All of them have begun before the first one is answered.
    faulty.delay(Duration::from_millis(20));
    let hit = |who| world.monsters.damage(&world.tenant, twin, attack(who, &[4]));
    let done = futures_util::future::join_all((1..=100).map(hit)).await;
    faulty.delay(Duration::ZERO);
    let (done, late): (Vec<_>, Vec<_>) = done.into_iter().partition(Result::is_ok);
    assert_eq!((done.len(), late.len()), (3, 97), "four, four, and the last two");
    assert!(late.iter().all(|late| *late == Err(MonsterError::NotFound)), "{late:?}");
    let risen = world.monsters.list(&world.tenant, world.field).await.unwrap().monsters;
    assert!(risen.iter().any(|half| half.unique_id == twin), "one has the id");
    assert!(risen.iter().all(|half| half.hp == half.max_hp), "{risen:?}");
});

on_every_store!(every_answer_and_every_event_says_which_life_it_is_about, |store| {
    let world = World::new(&store);
    let (monsters, tenant) = (&world.monsters, &world.tenant);
    // The second one of each id is a healer of the same bytes: only its life tells it from the first.
    let id = world.spawn(3).await;
    let first = world.stored(id).await;
    world.hit(id, 7, 1).await;
    world.second().monsters.destroy(tenant, id).await.unwrap();
    assert_eq!(world.second().spawn(3).await, id);
    assert_eq!(world.stored(id).await, first, "the seed's bytes do not know of lives");
    assert_eq!(world.get(id).await.life, 2);
    let listed = monsters.list(tenant, world.field).await.unwrap().monsters;
    assert_eq!(listed.iter().map(|monster| monster.life).collect::<Vec<_>>(), [2]);
    let to = |life| Move { x: 5, y: -6, stance: 1, fh: None, life };
    assert_eq!(monsters.movement(tenant, id, to(Some(1))).await, Err(MonsterError::NotFound));
    assert_eq!(monsters.movement(tenant, id, to(Some(2))).await.unwrap().life, 2);
    assert_eq!(world.hit(id, 7, 10).await.life, 2);
    let stun = NewEffect {
        statuses: [("STUN".to_owned(), 1)].into(),
        duration_ms: 50_000,
        ..NewEffect::default()
    };
    assert_eq!(monsters.apply_status(tenant, id, &stun).await.unwrap().life, 2);
    assert_eq!(monsters.cancel_status(tenant, id, &[], None).await.unwrap().life, 2);
    assert_eq!(monsters.use_skill(tenant, id, 100, 1, false).await.unwrap().life, 2);
    world.pass(11_000).await;
    world.hit(id, 7, u32::MAX).await;
    let told = world.events().await;
    let of = |life: u64| {
        let its = told.iter().filter(|(_, _, body)| body["life"] == life);
        its.map(|(kind, ..)| kind.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(1), ["CREATED", "DAMAGED", "DESTROYED"]);
    let second = of(2);
    for kind in ["CREATED", "DAMAGED", "STATUS_APPLIED", "STATUS_CANCELLED", "MP_CHANGED", "KILLED"]
    {
        assert!(second.contains(&kind), "{kind} is not among {second:?}");
    }
    assert_eq!(of(1).len() + second.len(), told.len(), "{told:?}");
    // Each also says where its monster was.
    let last = &told.last().unwrap().2;
    assert_eq!((&last["x"], &last["y"]), (&5.into(), &(-6).into()));
});
