//! Ids are given out again at once: who died and who came after are told apart by their life.

use std::sync::Arc;
use std::time::Duration;

use monsters::{Attack, MonsterError};
use testkit::{Faulty, Store, on_every_store};

use crate::support::{World, attack};

on_every_store!(a_hit_that_names_a_life_does_not_fall_on_an_heir, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    assert_eq!(world.monsters.lives(&world.tenant, &[id]).await, Ok(vec![1]));
    let aimed = |life: u64| Attack { life: Some(life), ..attack(7, &[10]) };
    let hit = |life: u64| world.monsters.damage(&world.tenant, id, aimed(life));
    assert_eq!(hit(1).await.unwrap().hp, 90);
    assert_eq!(hit(2).await, Err(MonsterError::NotFound), "it lives once");
    for life in [2, 3] {
        world.monsters.destroy(&world.tenant, id).await.unwrap();
        assert_eq!(hit(life - 1).await, Err(MonsterError::NotFound));
        assert_eq!(world.second().spawn(9_300_018).await, id);
        assert_eq!(world.monsters.lives(&world.tenant, &[id]).await, Ok(vec![life]));
        assert_eq!(hit(life - 1).await, Err(MonsterError::NotFound), "an heir has the id");
        assert_eq!(hit(life).await.unwrap().hp, 90);
        let born = world.events().await.into_iter().rfind(|(kind, _, _)| kind == "CREATED");
        assert_eq!(born.unwrap().2["life"], life, "whoever reads events knows it too");
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
