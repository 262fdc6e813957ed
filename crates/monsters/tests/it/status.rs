//! Status effects: immunity, stacking, expiry, ticks without drift, and time that jumps.

use monsters::effects::poison_damage;
use monsters::{Immunity, MonsterError, NewEffect, SourceType};
use testkit::on_every_store;
use uuid::Uuid;

use crate::support::World;

pub(crate) fn effect(statuses: &[(&str, i32)], duration_ms: i64) -> NewEffect {
    NewEffect {
        source_character_id: 7,
        source_skill_id: 2_101_005,
        source_skill_level: 30,
        statuses: statuses.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        duration_ms,
        ..NewEffect::default()
    }
}

async fn apply(world: &World, id: u32, new: &NewEffect) -> Result<Uuid, MonsterError> {
    world.monsters.apply_status(&world.tenant, id, new).await.map(|applied| applied.effect_id)
}

#[test]
fn poison_is_rounded_up_and_capped() {
    assert_eq!((poison_damage(15_200, 30), poison_damage(15_200, 1)), (380, 221));
    assert_eq!(poison_damage(4_000_000_000, 90), 32_767);
    assert_eq!(poison_damage(100, 69), 100);
}

on_every_store!(immunities_count_for_characters_only, |store| {
    let world = World::new(&store);
    let (resists, boss) = (world.spawn(8).await, world.spawn(4).await);
    let refuse = |why| Err(MonsterError::Immune(why));
    assert_eq!(
        apply(&world, resists, &effect(&[("POISON", 1)], 9)).await,
        refuse(Immunity::Element)
    );
    for name in ["FREEZE", "FROZEN"] {
        assert_eq!(
            apply(&world, resists, &effect(&[(name, 1)], 9)).await,
            refuse(Immunity::Element)
        );
    }
    assert!(apply(&world, resists, &effect(&[("POISON", 1), ("DOOM", 1)], 9)).await.is_ok());
    let stun = effect(&[("SPEED", 1), ("STUN", 1)], 9);
    assert_eq!(apply(&world, boss, &stun).await, refuse(Immunity::Boss));
    assert!(apply(&world, boss, &effect(&[("VENOM", 5), ("SPEED", -10)], 9)).await.is_ok());
    let by_monster = NewEffect { source_type: SourceType::MonsterSkill, ..stun };
    assert!(apply(&world, boss, &by_monster).await.is_ok());
    // Nobody knows what a monster without a template resists.
    let stranger = world.spawn(9_300_018).await;
    let text = world.stored(stranger).await.replace("9300018", "999");
    world.ask(&["SET", &world.key(stranger), &text]).await;
    assert_eq!(
        apply(&world, stranger, &effect(&[("STUN", 1)], 9)).await,
        refuse(Immunity::Unknown)
    );
    let low = text
        .replace("\"monsterId\":999", "\"monsterId\":9300018")
        .replace("\"hp\":100", "\"hp\":1");
    world.ask(&["SET", &world.key(stranger), &low]).await;
    assert_eq!(
        apply(&world, stranger, &effect(&[("POISON", 1)], 9)).await,
        refuse(Immunity::PoisonFloor)
    );
});

on_every_store!(bad_effects_are_named_and_change_nothing, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    let text = world.stored(id).await;
    for (new, field) in [
        (effect(&[], 9), "statuses"),
        (effect(&[("poison", 1)], 9), "statuses"),
        (effect(&[("STUN", 1)], 0), "duration"),
        (effect(&[("STUN", 1)], i64::MAX), "duration"),
        (NewEffect { tick_interval_ms: -1, ..effect(&[("STUN", 1)], 9) }, "tickInterval"),
    ] {
        let told = apply(&world, id, &new).await.unwrap_err().to_string();
        assert!(told.starts_with(field), "{told}");
    }
    assert_eq!(world.stored(id).await, text);
    assert_eq!(
        apply(&world, 1_999_999_999, &effect(&[("STUN", 1)], 9)).await,
        Err(MonsterError::NotFound)
    );
});

on_every_store!(effects_of_one_kind_replace_each_other_and_venom_stacks_to_three, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    let first = apply(&world, id, &effect(&[("STUN", 1), ("SPEED", -5)], 5_000)).await.unwrap();
    let second = apply(&world, id, &effect(&[("SPEED", -9)], 5_000)).await.unwrap();
    let effects = |world: &World| {
        let world = world.second();
        async move { world.get(id).await.status_effects.iter().map(|e| e.effect_id).collect::<Vec<_>>() }
    };
    assert_eq!(effects(&world).await, [second], "{first} went whole");
    let mut venoms = Vec::new();
    for duration in [9_000, 1_000, 5_000, 7_000] {
        venoms.push(apply(&world, id, &effect(&[("VENOM", 3)], duration)).await.unwrap());
    }
    assert_eq!(
        effects(&world).await,
        [second, venoms[0], venoms[2], venoms[3]],
        "the earliest end goes"
    );
    let mine = |name: &str| NewEffect {
        source_type: SourceType::MonsterSkill,
        ..effect(&[(name, 1)], 9_000)
    };
    let weapon = apply(&world, id, &mine("WEAPON_ATTACK_IMMUNE")).await.unwrap();
    let magic = apply(&world, id, &mine("MAGIC_ATTACK_IMMUNE")).await.unwrap();
    let now = effects(&world).await;
    assert!(now.contains(&magic) && !now.contains(&weapon));
    let told = world.told().await;
    assert_eq!(told.iter().filter(|kind| *kind == "STATUS_CANCELLED").count(), 3);
    assert_eq!(told.iter().filter(|kind| *kind == "STATUS_APPLIED").count(), 8);
    let gone =
        world.monsters.cancel_status(&world.tenant, id, &["VENOM".into()], None).await.unwrap();
    assert_eq!(gone.effects.len(), 3);
    let all = world.monsters.cancel_status(&world.tenant, id, &[], None).await.unwrap();
    assert_eq!(all.effects.len(), 2);
    assert!(world.stored(id).await.ends_with("\"statusEffects\":[]}"));
    assert_eq!(world.int(&["EXISTS", &world.own("due"), &world.own("due:data")]).await, 0);
});

on_every_store!(a_cancel_with_a_class_stops_at_a_reflect_of_that_class, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    let counter = NewEffect {
        source_type: SourceType::MonsterSkill,
        ..effect(&[("MAGIC_COUNTER", 5)], 9_000)
    };
    apply(&world, id, &counter).await.unwrap();
    let refused = world.monsters.cancel_status(&world.tenant, id, &[], Some(true)).await;
    assert_eq!(refused, Err(MonsterError::ReflectStands));
    assert!(
        world
            .monsters
            .cancel_status(&world.tenant, id, &["SPEED".into()], Some(false))
            .await
            .unwrap()
            .effects
            .is_empty()
    );
    let gone = world
        .monsters
        .cancel_status(&world.tenant, id, &["MAGIC_COUNTER".into()], Some(true))
        .await;
    assert_eq!(gone.unwrap().effects.len(), 1);
});

on_every_store!(ticks_do_not_drift_and_late_looks_make_up_for_all_of_them, |store| {
    let world = World::new(&store);
    let id = world.spawn(8).await;
    apply(&world, id, &effect(&[("VENOM", 10)], 10_500)).await.unwrap();
    world.pass(999).await;
    assert_eq!(world.get(id).await.hp, 15_200);
    world.pass(251).await;
    assert_eq!(world.get(id).await.hp, 15_190);
    let due = world.text(&["ZSCORE", &world.own("due"), &format!("fx:{id}")]).await;
    assert_eq!(due, (crate::support::START + 2_000).to_string(), "two seconds, not 2.25");
    // Nobody looked for a while: another server finds it, and makes up for it.
    let other = world.second();
    world.clock.advance(std::time::Duration::from_secs(6));
    assert_eq!(other.serve().await, 1);
    assert_eq!(other.get(id).await.hp, 15_130);
    assert_eq!(world.serve().await, 0, "and nobody does it twice");
    world.pass(60_000).await;
    let monster = world.get(id).await;
    assert_eq!(monster.hp, 15_100, "ten ticks within 10.5 s, then it is over");
    assert_eq!(monster.summed(), [(7, 100)]);
    assert!(monster.status_effects.is_empty());
    let told = world.told().await;
    assert_eq!(told.last().unwrap(), "STATUS_EXPIRED");
    assert_eq!(world.int(&["EXISTS", &world.own("due")]).await, 0);
});

on_every_store!(damage_over_time_never_kills, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    apply(&world, id, &effect(&[("VENOM", 60)], 10_000)).await.unwrap();
    world.pass(1_000).await;
    assert_eq!(world.get(id).await.hp, 40);
    world.pass(5_000).await;
    let monster = world.get(id).await;
    assert_eq!((monster.hp, monster.summed()), (1, vec![(7, 99)]));
    world.pass(1_000).await;
    assert_eq!(
        world.get(id).await.status_effects[0].last_tick_ms,
        i64::try_from(world.now()).unwrap()
    );
});

on_every_store!(an_effect_ends_strictly_after_its_time, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    apply(&world, id, &effect(&[("STUN", 1)], 1_000)).await.unwrap();
    world.pass(1_000).await;
    assert_eq!(world.get(id).await.status_effects.len(), 1);
    world.pass(1).await;
    assert_eq!(world.get(id).await.status_effects.len(), 0);
});

on_every_store!(a_clock_that_jumps_brings_no_tick_twice_and_no_busy_loop, |store| {
    let world = World::new(&store);
    let id = world.spawn(8).await;
    apply(&world, id, &effect(&[("VENOM", 10)], 20_000)).await.unwrap();
    world.pass(3_000).await;
    assert_eq!(world.get(id).await.hp, 15_170);
    // An hour back: nothing is due until the old time is reached again.
    world.clock.set(crate::support::START - 3_600_000);
    assert_eq!(world.serve().await, 0);
    assert_eq!(world.get(id).await.hp, 15_170);
    // Ten years on: what was left of the effect, and no more.
    world.clock.set(crate::support::START + 315_360_000_000);
    assert!(world.serve().await <= 2);
    let monster = world.get(id).await;
    assert_eq!((monster.hp, monster.status_effects.len()), (15_000, 0));
});
