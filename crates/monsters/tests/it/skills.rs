//! Skills: the checks in their order, mp and cooldown in one step, what each category does.

use std::sync::Arc;

use monsters::{MonsterError, SkillCheck, Spawn};
use testkit::{Faulty, How, on_every_store};

use crate::status::effect;
use crate::support::{NIL, TENANT, World, low};
use kernel::Store;
use kernel::keyspace::Layout;

async fn cast(world: &World, id: u32, skill: u16) -> Result<monsters::Used, MonsterError> {
    world.monsters.use_skill(&world.tenant, id, skill, 1, false).await
}

on_every_store!(a_skill_is_refused_by_the_first_check_that_fails, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    let refused = |check| Err(MonsterError::Skill(check));
    assert_eq!(cast(&world, 1_999_999_999, 100).await, Err(MonsterError::NotFound));
    assert_eq!(cast(&world, id, 199).await, refused(SkillCheck::Unknown));
    assert_eq!(
        cast(&world, id, 102).await,
        refused(SkillCheck::NotItsOwn),
        "defined, but not its own"
    );
    assert_eq!(cast(&world, id, 114).await, refused(SkillCheck::Threshold), "100% is above 80%");
    assert_eq!(cast(&world, id, 100).await.map(|used| (used.worked, used.mp)), Ok((true, 90)));
    let key = format!("atlas:monster-cooldown:{TENANT}:{id}:100");
    assert_eq!(world.text(&["GET", &key]).await, "1");
    let left = world.int(&["PTTL", &key]).await;
    assert!((19_000..=20_000).contains(&left), "{left}");
    assert_eq!(cast(&world, id, 100).await, refused(SkillCheck::Cooldown));
    world.ask(&["SET", &key, "1700000000000", "PX", "5000"]).await;
    assert_eq!(cast(&world, id, 100).await, refused(SkillCheck::Cooldown), "whatever it holds");
    world.monsters.apply_status(&world.tenant, id, &effect(&[("SEAL", 1)], 99)).await.unwrap();
    assert_eq!(cast(&world, id, 199).await, refused(SkillCheck::Unknown));
    assert_eq!(cast(&world, id, 110).await, refused(SkillCheck::Sealed));
    world.monsters.cancel_status(&world.tenant, id, &[], None).await.unwrap();
    let poor = world.stored(id).await.replace("\"mp\":90", "\"mp\":5");
    world.ask(&["SET", &world.key(id), &poor]).await;
    assert_eq!(cast(&world, id, 110).await, refused(SkillCheck::Mp));
    let gm = world.monsters.use_skill(&world.tenant, id, 110, 1, true).await.unwrap();
    assert_eq!((gm.worked, gm.mp), (true, 5), "a game master pays nothing");
    assert!(world.get(id).await.is_under("POWER_UP"));
});

on_every_store!(many_casts_at_once_spend_once, |store| {
    let world = Arc::new(World::new(&store));
    let id = world.spawn(3).await;
    let casts: Vec<_> = (0..16)
        .map(|_| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { cast(&world, id, 100).await })
        })
        .collect();
    let mut won = 0;
    for one in casts {
        won += usize::from(one.await.unwrap().is_ok());
    }
    assert_eq!((won, world.get(id).await.mp), (1, 90));
    assert_eq!(world.told().await, ["CREATED", "STATUS_APPLIED"]);
});

on_every_store!(a_failed_roll_costs_mp_and_cooldown, |store| {
    let world =
        World::with(&store, Layout::Plain, |options| options.dice = Arc::new(|below| below - 1));
    let id = world.spawn(3).await;
    world.monsters.enter(&world.tenant, world.field, 9, false).await.unwrap();
    assert_eq!(cast(&world, id, 121).await.map(|used| (used.worked, used.mp)), Ok((false, 90)));
    assert_eq!(cast(&world, id, 121).await, Err(MonsterError::Skill(SkillCheck::Cooldown)));
    assert!(!world.told().await.contains(&"character.DEBUFF".to_owned()));
});

on_every_store!(a_heal_reaches_the_living_in_its_box_and_stops_at_the_maximum, |store| {
    let world = World::new(&store);
    let healer = world.spawn(3).await;
    let near = world.spawn(9_300_018).await;
    let spawn = Spawn { monster_id: 9_300_018, x: 301, ..Spawn::default() };
    let far = world.monsters.spawn(&world.tenant, world.field, &spawn).await.unwrap().unique_id;
    for (id, damage) in [(healer, 900), (near, 60), (far, 60)] {
        world.hit(id, 7, damage).await;
    }
    cast(&world, healer, 114).await.unwrap();
    let hp = [world.get(healer).await.hp, world.get(near).await.hp, world.get(far).await.hp];
    assert_eq!(hp, [250, 100, 40]);
    let last = world.events().await.pop().unwrap();
    assert_eq!((last.0.as_str(), &last.2["body"]["source"]), ("DAMAGED", &"HEAL".into()));
});

on_every_store!(a_skill_with_a_reach_is_done_once_to_each_whatever_call_is_lost, |store| {
    let faulty = Faulty::new(Arc::clone(&store));
    let shared: Arc<dyn Store> = faulty.clone();
    let world = World::new(&shared);
    let mut spent = 0;
    for how in [How::AnswerLost, How::RequestLost] {
        for nth in 2..=12 {
            let all = [world.spawn(3).await, world.spawn(8).await, world.spawn(8).await];
            for id in all {
                world.hit(id, 7, 900).await;
            }
            faulty.fail_every(nth, how);
            let _ = cast(&world, all[0], 114).await;
            faulty.fail_every(0, how);
            world.second().pass(5_000).await;
            let paid = world.get(all[0]).await.mp < 100;
            spent += u32::from(paid);
            for (id, hp) in all.into_iter().zip([100, 14_300, 14_300]) {
                let healed = if paid { hp + 150 } else { hp };
                assert_eq!(world.get(id).await.hp, healed, "{how:?}, every {nth}th call");
                world.monsters.destroy(&world.tenant, id).await.unwrap();
            }
        }
    }
    assert!(spent > 11, "most casts went through: {spent}");
});

on_every_store!(hp_percent_does_not_overflow, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    assert_eq!(world.get(id).await.hp_percent(), 100);
    assert_eq!(cast(&world, id, 200).await, Err(MonsterError::Skill(SkillCheck::Threshold)));
});

on_every_store!(a_summon_fills_the_field_up_to_its_limit, |store| {
    let world = World::with(&store, Layout::Plain, |options| {
        options.templates = Arc::new(monsters::Templates::of(monsters::SHIPPED_TEMPLATES).unwrap());
    });
    let boss = world.spawn(9_400_007).await;
    world.hit(boss, 7, 100_000).await;
    let used = cast(&world, boss, 200).await.unwrap();
    assert_eq!((used.worked, used.delay_ms), (true, 1_200));
    assert_eq!(world.monsters.ids(&world.tenant, world.field).await.unwrap().len(), 1, "not yet");
    world.pass(1_200).await;
    assert_eq!(world.monsters.ids(&world.tenant, world.field).await.unwrap().len(), 3);
    for _ in 0..9 {
        world.spawn(9_300_018).await;
    }
    world.ask(&["DEL", &format!("atlas:monster-cooldown:{TENANT}:{boss}:200")]).await;
    assert_eq!(cast(&world, boss, 200).await, Err(MonsterError::Skill(SkillCheck::Full)));
});

on_every_store!(debuffs_reach_the_controller_or_those_present, |store| {
    let world = World::with(&store, Layout::Plain, |options| options.dice = low());
    for who in [7, 8, 9] {
        world.monsters.enter(&world.tenant, world.field, who, false).await.unwrap();
    }
    let (id, boss) = (world.spawn(3).await, world.spawn(4).await);
    cast(&world, id, 120).await.unwrap();
    cast(&world, id, 121).await.unwrap();
    cast(&world, id, 127).await.unwrap();
    cast(&world, boss, 129).await.unwrap();
    let commands: Vec<_> = world
        .events()
        .await
        .into_iter()
        .filter(|(kind, _, _)| kind.starts_with("character."))
        .map(|(kind, _, message)| (kind, message["body"]["characterId"].as_u64().unwrap()))
        .collect();
    let kinds: Vec<&str> = commands.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "character.DEBUFF",
            "character.DEBUFF",
            "character.DEBUFF",
            "character.DISPEL",
            "character.WARP"
        ]
    );
    assert_eq!(commands[0].1, 7, "the controller");
    assert_eq!((commands[3].1, commands[4].1), (7, 8));
});

on_every_store!(an_animation_outlives_its_server_and_ends_with_its_monster, |store| {
    let world = World::new(&store);
    let (lives, dies) = (world.spawn(9).await, world.spawn(9).await);
    for id in [lives, dies] {
        assert_eq!(cast(&world, id, 100).await.unwrap().delay_ms, 700);
    }
    world.monsters.destroy(&world.tenant, dies).await.unwrap();
    let heir = world.spawn(9_300_018).await;
    assert_eq!(heir, dies, "its id is in use again");
    let other = world.second();
    other.pass(699).await;
    assert!(!other.get(lives).await.is_under("POWER_UP"));
    other.pass(1).await;
    assert!(other.get(lives).await.is_under("POWER_UP"));
    assert!(!other.get(heir).await.is_under("POWER_UP"));
});

on_every_store!(an_end_clears_the_cooldowns_so_that_no_heir_inherits_them, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    cast(&world, id, 100).await.unwrap();
    world.monsters.basic_attack(&world.tenant, id, 1).await.unwrap();
    world.monsters.destroy(&world.tenant, id).await.unwrap();
    assert_eq!(world.spawn(3).await, id);
    cast(&world, id, 100).await.unwrap();
    world.monsters.basic_attack(&world.tenant, id, 1).await.unwrap();
    // One SCAN takes every skill of those that died, and of no other whose number begins alike.
    let other = world.spawn(3).await;
    let cooldown = |key: String| format!("atlas:monster-cooldown:{TENANT}:{key}");
    for key in [format!("{id}:9"), format!("{id}0:9"), format!("{other}:9")] {
        world.ask(&["SET", &cooldown(key), "1", "PX", "60000"]).await;
    }
    assert_eq!(world.monsters.clear_cooldowns().await.unwrap(), 0, "its id is in use again");
    world.monsters.destroy(&world.tenant, id).await.unwrap();
    assert_eq!(world.monsters.clear_cooldowns().await.unwrap(), 1);
    for key in [format!("{id}0:9"), format!("{other}:9")] {
        assert_eq!(world.int(&["EXISTS", &cooldown(key)]).await, 1);
    }
    // A spawn clears those of its template itself, whoever left them.
    world.ask(&["SET", &cooldown(format!("{id}:100")), "1", "PX", "60000"]).await;
    assert_eq!(world.spawn(3).await, id);
    cast(&world, id, 100).await.unwrap();
    let _ = NIL;
});
