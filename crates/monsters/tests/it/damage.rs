//! Damage: clamped, one entry per hit, exactly one killer; folded or not, by script or by swap.

use std::sync::Arc;

use monsters::{Attack, Line, MOST_ENTRIES, MonsterError, Move, NewEffect, Reflect, SourceType};
use testkit::{Faulty, How, on_every_store};

use crate::support::{World, attack};

on_every_store!(damage_is_clamped_and_the_kill_ends_the_monster, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    let blow = world.hit(id, 7, 30).await;
    assert_eq!((blow.hp, blow.killed), (70, false));
    let last =
        world.monsters.damage(&world.tenant, id, attack(8, &[10, u32::MAX, 5])).await.unwrap();
    assert_eq!((last.hp, last.killed), (0, true));
    let lines = [Line { damage: 10, actual: 10 }, Line { damage: u32::MAX, actual: 60 }];
    assert_eq!(last.lines, lines, "the line after the killing one is discarded");
    assert_eq!(world.told().await, ["CREATED", "DAMAGED", "DAMAGED", "KILLED"]);
    let killed = &world.events().await[3].2;
    assert_eq!(killed["body"]["actorId"], 8);
    assert_eq!(
        killed["body"]["damageEntries"],
        serde_json::json!([{"characterId":7,"damage":30},{"characterId":8,"damage":70}])
    );
    assert_eq!(killed["body"].get("observerId"), None);
    let again = world.monsters.damage(&world.tenant, id, attack(7, &[1])).await;
    assert_eq!(again, Err(MonsterError::NotFound));
    let free = format!("atlas:monster-ids:{}:free", world.scope());
    assert_eq!(world.text(&["LINDEX", &free, "0"]).await, id.to_string());
});

on_every_store!(a_damaged_event_has_its_documented_shape, |store| {
    let world = World::new(&store);
    let id = world.spawn(4).await;
    world
        .monsters
        .movement(&world.tenant, id, Move { x: -7, y: 8, stance: 2, ..Move::default() })
        .await
        .unwrap();
    world.hit(id, 7, 30).await;
    world.hit(id, 7, 12).await;
    let body = world.events().await[2].2["body"].to_string();
    assert_eq!(
        body,
        r#"{"actorId":7,"boss":true,"damageEntries":[{"characterId":7,"damage":42}],"observerId":0,"x":-7,"y":8}"#
    );
});

on_every_store!(a_dead_monster_of_another_program_is_refused_without_an_entry, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    let dead = world.stored(id).await.replace("\"hp\":100", "\"hp\":0");
    world.ask(&["SET", &world.key(id), &dead]).await;
    let refused = world.monsters.damage(&world.tenant, id, attack(7, &[1])).await;
    assert_eq!(refused, Err(MonsterError::Dead));
    assert_eq!(world.stored(id).await, dead);
    assert_eq!(world.told().await, ["CREATED"]);
});

on_every_store!(an_empty_list_does_nothing_and_bad_input_is_named, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    let text = world.stored(id).await;
    let nothing = world.monsters.damage(&world.tenant, id, attack(7, &[])).await.unwrap();
    assert_eq!((nothing.hp, nothing.lines.len()), (100, 0));
    let bad = Attack { attack_type: 4, ..attack(7, &[1]) };
    let told = world.monsters.damage(&world.tenant, id, bad).await.unwrap_err().to_string();
    assert!(told.starts_with("attackType"), "{told}");
    let many = world.monsters.damage(&world.tenant, id, attack(7, &[1; 65])).await;
    assert!(many.unwrap_err().to_string().starts_with("damages"));
    assert_eq!(world.stored(id).await, text);
});

on_every_store!(another_servers_hits_are_seen_and_summed, |store| {
    let (one, two) = {
        let one = World::new(&store);
        let two = one.second();
        (one, two)
    };
    let id = one.spawn(9_300_018).await;
    one.hit(id, 7, 10).await;
    two.hit(id, 8, 20).await;
    one.hit(id, 7, 5).await;
    two.monsters
        .movement(&two.tenant, id, Move { x: 4, y: 4, stance: 1, fh: Some(3), ..Move::default() })
        .await
        .unwrap();
    let blow = one.hit(id, 9, 1).await;
    assert_eq!(blow.hp, 64);
    assert_eq!(two.get(id).await.summed(), [(7, 15), (8, 20), (9, 1)]);
    let last = one.events().await.pop().unwrap().2;
    assert_eq!(
        last["body"]["damageEntries"],
        serde_json::json!([{"characterId":7,"damage":15},{"characterId":8,"damage":20},{"characterId":9,"damage":1}])
    );
    assert_eq!(last["body"]["x"], 4);
});

on_every_store!(the_script_and_the_swap_leave_the_same_bytes, |store| {
    // One monster is hit by the script, one by commands, which go the other way; both keep their spelling.
    let world = World::new(&store);
    let (one, two) = (world.spawn(2).await, world.spawn(2).await);
    for n in 0..40_u32 {
        world.monsters.damage(&world.tenant, one, attack(n % 5, &[n, n + 1])).await.unwrap();
        let body = format!(
            r#"{{"monsterId":{two},"body":{{"characterId":{},"damages":[{n},{}]}}}}"#,
            n % 5,
            n + 1
        );
        world.monsters.command(&world.tenant, "DAMAGE", &body, None).await.unwrap();
    }
    let strip = |text: String, id: u32| text.replace(&id.to_string(), "ID");
    assert_eq!(strip(world.stored(one).await, one), strip(world.stored(two).await, two));
});

on_every_store!(hits_that_arrive_together_are_folded_and_leave_the_same_bytes, |store| {
    let world = Arc::new(World::new(&store));
    let (one, two) = (world.spawn(2).await, world.spawn(2).await);
    let hits: Vec<_> = (0..200_u32)
        .map(|n| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.hit(one, 1 + n % 3, 10).await })
        })
        .collect();
    let mut left = Vec::new();
    for hit in hits {
        left.push(hit.await.unwrap().hp);
    }
    left.sort_unstable();
    left.dedup();
    assert_eq!(left.len(), 200, "each hit has its own place in the order");
    // The same hits one after the other, in the order the entries tell.
    for entry in &world.get(one).await.damage_entries {
        world.hit(two, entry.character_id, entry.damage).await;
    }
    let strip = |text: String, id: u32| text.replace(&id.to_string(), "ID");
    assert_eq!(strip(world.stored(one).await, one), strip(world.stored(two).await, two));
});

on_every_store!(past_1024_entries_they_are_merged_and_sums_stay, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    let lines = [3_u32; 64];
    for n in 0..16_u32 {
        world.monsters.damage(&world.tenant, id, attack(1 + n % 2, &lines)).await.unwrap();
    }
    assert_eq!(world.get(id).await.damage_entries.len(), MOST_ENTRIES);
    world.hit(id, 9, 7).await;
    let monster = world.get(id).await;
    assert_eq!(monster.summed(), [(1, 1536), (2, 1536), (9, 7)]);
    assert_eq!(monster.damage_entries.len(), 3);
    world.hit(id, 9, 7).await;
    assert_eq!(world.get(id).await.damage_entries.len(), 4);
    assert_eq!(4_000_000_000 - world.get(id).await.hp, 3086);
});

on_every_store!(a_reflect_answers_its_own_kind_once_per_attack, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    let effect = NewEffect {
        source_type: SourceType::MonsterSkill,
        statuses: [("WEAPON_COUNTER".to_owned(), 40)].into(),
        duration_ms: 60_000,
        ..NewEffect::default()
    };
    world.monsters.apply_status(&world.tenant, id, &effect).await.unwrap();
    let melee = world.monsters.damage(&world.tenant, id, attack(7, &[100, 100])).await.unwrap();
    assert_eq!(melee.reflected.as_ref().map(|r| (r.damage, r.kind)), Some((40, "PHYSICAL")));
    let magic = Attack { attack_type: 2, ..attack(7, &[100]) };
    assert_eq!(world.monsters.damage(&world.tenant, id, magic).await.unwrap().reflected, None);
    let area = field::Area { tl: field::Point::new(-10, -10), br: field::Point::new(10, 10) };
    let percent = NewEffect {
        reflect: Some(Reflect { magical: false, percent: 50, area, most: 32_767 }),
        ..effect
    };
    world.monsters.apply_status(&world.tenant, id, &percent).await.unwrap();
    let from =
        |x: i16| Attack { from: Some(field::Point::new(x, 0)), ..attack(7, &[100, 100_000]) };
    let near = world.monsters.damage(&world.tenant, id, from(10)).await.unwrap();
    assert_eq!(near.reflected.map(|r| r.damage), Some(32_767), "half of it, capped");
    assert_eq!(world.monsters.damage(&world.tenant, id, from(11)).await.unwrap().reflected, None);
    let told = world.told().await;
    assert_eq!(told.iter().filter(|kind| *kind == "DAMAGE_REFLECTED").count(), 2);
    assert_eq!(world.get(id).await.summed()[0].1, 100 * 3 + 2 * 100_100);
});

on_every_store!(a_lost_answer_is_unknown_and_the_next_hit_is_right, |store| {
    let faulty = Faulty::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&faulty) as Arc<dyn testkit::Store>));
    let id = world.spawn(9_300_018).await;
    world.hit(id, 7, 10).await;
    faulty.fail_next(How::AnswerLost);
    let lost = world.monsters.damage(&world.tenant, id, attack(7, &[10])).await;
    assert!(matches!(lost, Err(MonsterError::Fault(kernel::Fault::Unknown(_)))), "{lost:?}");
    assert_eq!(world.hit(id, 7, 10).await.hp, 70, "it had happened, and is seen");
    faulty.fail_next(How::RequestLost);
    assert!(world.monsters.damage(&world.tenant, id, attack(7, &[10])).await.is_err());
    assert_eq!(world.hit(id, 7, 10).await.hp, 60, "it had not");
});
