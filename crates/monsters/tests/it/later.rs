//! Later upstream features: basic attacks, mp drain, instant kill, catching, the choice of a skill.

use std::sync::Arc;

use monsters::{MonsterError, SkillCheck};
use testkit::on_every_store;

use crate::support::World;

on_every_store!(a_basic_attack_costs_mp_and_waits_for_its_own_cooldown, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    let refused = |check| Err(MonsterError::Skill(check));
    assert_eq!(
        world.monsters.basic_attack(&world.tenant, id, 9).await,
        refused(SkillCheck::Unknown)
    );
    assert_eq!(world.monsters.basic_attack(&world.tenant, id, 1).await, Ok(40));
    assert_eq!(
        world.monsters.basic_attack(&world.tenant, id, 1).await,
        refused(SkillCheck::Cooldown)
    );
    world.ask(&["DEL", &world.own(&format!("attack:{id}:1"))]).await;
    assert_eq!(world.monsters.basic_attack(&world.tenant, id, 1).await, refused(SkillCheck::Mp));
});

on_every_store!(bosses_are_not_killed_or_caught_at_one_stroke, |store| {
    let world = World::new(&store);
    let (boss, dummy) = (world.spawn(4).await, world.spawn(9_300_018).await);
    let refused = MonsterError::Skill(SkillCheck::Boss);
    assert_eq!(world.monsters.instant_kill(&world.tenant, boss, 7).await, Err(refused.clone()));
    assert_eq!(world.monsters.catch(&world.tenant, boss, 7).await, Err(refused));
    let blow = world.monsters.instant_kill(&world.tenant, dummy, 7).await.unwrap();
    assert_eq!((blow.killed, blow.lines[0].actual), (true, 100));
    assert_eq!(world.monsters.drain_mp(&world.tenant, boss, 7, 1, 500).await, Ok(100));
});

on_every_store!(of_many_who_catch_one_has_it, |store| {
    let world = Arc::new(World::new(&store));
    let id = world.spawn(9_300_018).await;
    let all: Vec<_> = (1..=16)
        .map(|who| {
            let world = Arc::clone(&world);
            tokio::spawn(
                async move { world.monsters.catch(&world.tenant, id, who).await.map(|_| who) },
            )
        })
        .collect();
    let mut won = Vec::new();
    for one in all {
        won.extend(one.await.unwrap().ok());
    }
    assert_eq!(won.len(), 1);
    let last = world.events().await.pop().unwrap();
    assert_eq!((last.0.as_str(), &last.2["body"]["actorId"]), ("DESTROYED", &won[0].into()));
});

on_every_store!(a_monster_chooses_among_what_it_can_use_and_then_rests, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    let picked = world.monsters.pick_skill(&world.tenant, id).await.unwrap().unwrap();
    assert_ne!(picked.skill_id, 114, "its threshold is below its hp");
    assert_eq!(world.monsters.pick_skill(&world.tenant, id).await.unwrap(), None);
    world.pass(3_000).await;
    assert!(world.monsters.pick_skill(&world.tenant, id).await.unwrap().is_some());
    let dummy = world.spawn(9_300_018).await;
    assert_eq!(world.monsters.pick_skill(&world.tenant, dummy).await.unwrap(), None);
});
