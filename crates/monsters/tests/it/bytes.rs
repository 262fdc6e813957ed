//! The seed's bytes: what the Go service wrote, and what it reads.

use expect_test::expect;
use monsters::{DropTimer, Monster, Move};
use testkit::on_every_store;

use crate::support::{NIL, TENANT, World, attack};

on_every_store!(a_new_monster_is_written_exactly_as_the_seed_has_it, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    assert_eq!(id, 1_000_000_000);
    expect![[r#"{"uniqueId":1000000000,"tenantId":"11111111-1111-4111-8111-111111111111","tenantRegion":"GMS","tenantMajorVersion":83,"tenantMinorVersion":1,"worldId":0,"channelId":0,"mapId":40000,"instance":"00000000-0000-0000-0000-000000000000","maxHp":100,"hp":100,"maxMp":50,"mp":50,"monsterId":9300018,"controlCharacterId":0,"x":0,"y":0,"fh":0,"stance":5,"team":0,"damageEntries":[],"statusEffects":[]}"#]]
    .assert_eq(&world.stored(id).await);
    let map = format!("atlas:monster-map:{TENANT}:0:0:40000:{NIL}");
    assert_eq!(world.int(&["SISMEMBER", &map, "1000000000"]).await, 1);
    assert_eq!(
        world.text(&["GET", &format!("atlas:monster-ids:{TENANT}:next")]).await,
        "1000000000"
    );
    assert_eq!(world.int(&["PTTL", &world.key(id)]).await, -1);
});

on_every_store!(hits_change_hp_and_entries_and_no_other_byte, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    let before = world.stored(id).await;
    world.hit(id, 7, 30).await;
    let after = before
        .replace("\"hp\":100", "\"hp\":70")
        .replace("\"damageEntries\":[]", "\"damageEntries\":[{\"characterId\":7,\"damage\":30}]");
    assert_eq!(world.stored(id).await, after);
    world.hit(id, 8, 5).await;
    let after = after
        .replace("\"hp\":70", "\"hp\":65")
        .replace("30}]", "30},{\"characterId\":8,\"damage\":5}]");
    assert_eq!(world.stored(id).await, after);
});

/// Another program wrote it: other order, spaces, unknown members, empty lists as cjson writes them.
const FOREIGN: &str = r#"{ "hp": 100, "maxHp":100,"note":"\/ \"hp\":5 ]","uniqueId":1000000007,"tenantId":"11111111-1111-4111-8111-111111111111","worldId":0,"channelId":0,"mapId":40000,"instance":"00000000-0000-0000-0000-000000000000","monsterId":9300018,"damageEntries":{},"statusEffects":{},"big":1e+14,"mp":50,"maxMp":50,"x":-3,"y":4,"stance":2,"team":-1,"fh":9,"controlCharacterId":0}"#;

async fn foreign(world: &World, text: &str) -> u32 {
    let id = 1_000_000_007;
    world.ask(&["SET", &world.key(id), text]).await;
    let map = format!("atlas:monster-map:{}:0:0:40000:{NIL}", world.scope());
    world.ask(&["SADD", &map, "1000000007"]).await;
    id
}

on_every_store!(a_text_of_another_spelling_is_read_and_keeps_every_other_byte, |store| {
    let world = World::new(&store);
    let id = foreign(&world, FOREIGN).await;
    let monster = world.get(id).await;
    assert_eq!((monster.hp, monster.at.x, monster.team), (100, -3, -1));
    assert!(monster.damage_entries.is_empty() && monster.status_effects.is_empty());
    world.hit(id, 7, 30).await;
    world.hit(id, 7, 1).await;
    let entries = r#"[{"characterId":7,"damage":30},{"characterId":7,"damage":1}]"#;
    let hit = FOREIGN
        .replace("\"hp\": 100", "\"hp\": 69")
        .replace("\"damageEntries\":{}", &format!("\"damageEntries\":{entries}"))
        .replace("\"statusEffects\":{}", "\"statusEffects\":[]");
    assert_eq!(world.stored(id).await, hit);
    let to = Move { x: 1, y: 2, stance: 3, ..Move::default() };
    world.monsters.movement(&world.tenant, id, to).await.unwrap();
    let moved = hit.replace("\"x\":-3,\"y\":4,\"stance\":2", "\"x\":1,\"y\":2,\"stance\":3");
    assert_eq!(world.stored(id).await, moved);
});

on_every_store!(unknown_members_of_entries_and_effects_survive, |store| {
    let world = World::new(&store);
    let id = world.spawn(9_300_018).await;
    let text = world.stored(id).await.replace(
        "\"damageEntries\":[],\"statusEffects\":[]}",
        r#""damageEntries":[{"damage":5,"characterId":3,"odd":[1]}],"statusEffects":[],"later":{"hp":1}}"#,
    );
    world.ask(&["SET", &world.key(id), &text]).await;
    world.hit(id, 7, 30).await;
    world.hit(id, 7, 2).await;
    let wanted = text.replace("\"hp\":100", "\"hp\":68").replace(
        "\"odd\":[1]}]",
        r#""odd":[1]},{"characterId":7,"damage":30},{"characterId":7,"damage":2}]"#,
    );
    assert_eq!(world.stored(id).await, wanted);
    assert_eq!(world.get(id).await.summed(), [(3, 5), (7, 32)]);
});

on_every_store!(what_nobody_can_read_is_an_error_and_hides_nobody, |store| {
    let world = World::new(&store);
    let good = world.spawn(9_300_018).await;
    for (at, text) in ["", "{", "[]", r#"{"uniqueId":1}"#, "\u{0}", r#"{"uniqueId":1,"hp":-1}"#]
        .iter()
        .enumerate()
    {
        let id = 1_500_000_000 + u32::try_from(at).unwrap();
        world.ask(&["SET", &world.key(id), text]).await;
        let map = format!("atlas:monster-map:{TENANT}:0:0:40000:{NIL}");
        world.ask(&["SADD", &map, &id.to_string()]).await;
        let read = world.monsters.get(&world.tenant, id).await;
        assert!(format!("{read:?}").contains("Corrupt"), "{text}: {read:?}");
        let hit = world.monsters.damage(&world.tenant, id, attack(1, &[1])).await;
        assert!(format!("{hit:?}").contains("Corrupt"), "{text}: {hit:?}");
        assert_eq!(world.stored(id).await, *text, "nothing was changed");
    }
    let listed = world.monsters.list(&world.tenant, world.field).await.unwrap();
    assert_eq!(listed.monsters.iter().map(|m| m.unique_id).collect::<Vec<_>>(), [good]);
    assert_eq!(listed.ruined.len(), 6);
    // One by one they can be destroyed, and leave no entry behind.
    world.monsters.destroy(&world.tenant, 1_500_000_005).await.unwrap();
    let map = format!("atlas:monster-map:{TENANT}:0:0:40000:{NIL}");
    assert_eq!(world.int(&["SISMEMBER", &map, "1500000005"]).await, 0);
    // Clearing the field takes the ruins along.
    let cleared = world.monsters.destroy_field(&world.tenant, world.field).await.unwrap();
    assert_eq!((cleared.destroyed, cleared.failed), (6, 0));
    assert_eq!(world.int(&["EXISTS", &world.key(1_500_000_000)]).await, 0);
});

on_every_store!(a_value_of_another_type_is_refused_and_left, |store| {
    let world = World::new(&store);
    world.ask(&["SADD", &world.key(1_500_000_001), "x"]).await;
    assert!(world.monsters.get(&world.tenant, 1_500_000_001).await.is_err());
    assert!(world.monsters.damage(&world.tenant, 1_500_000_001, attack(1, &[1])).await.is_err());
    let before = world.monsters.destroy(&world.tenant, 1_500_000_001).await;
    assert!(before.is_ok(), "what is no monster can be taken away: {before:?}");
    assert_eq!(world.text(&["TYPE", &world.key(1_500_000_001)]).await, "none");
    // A whole field is cleared of them too.
    let list = format!("atlas:monster-map:{TENANT}:0:0:40000:{NIL}");
    world.ask(&["LPUSH", &world.key(1_500_000_002), "x"]).await;
    world.ask(&["SADD", &list, "1500000002", "1500000003"]).await;
    let cleared = world.monsters.destroy_field(&world.tenant, world.field).await.unwrap();
    assert_eq!((cleared.destroyed, cleared.failed), (1, 0));
    assert_eq!(world.int(&["EXISTS", &list, &world.key(1_500_000_002)]).await, 0);
    // A field whose set is no set refuses a spawn and takes no id.
    let map = format!("atlas:monster-map:{TENANT}:0:0:40000:{NIL}");
    world.ask(&["SET", &map, "x"]).await;
    let spawn = monsters::Spawn { monster_id: 9_300_018, ..Default::default() };
    assert!(world.monsters.spawn(&world.tenant, world.field, &spawn).await.is_err());
    assert_eq!(world.int(&["EXISTS", &format!("atlas:monster-ids:{TENANT}:next")]).await, 0);
});

#[test]
fn every_member_of_a_full_monster_is_read_and_written_in_the_seeds_order() {
    let text = r#"{"uniqueId":1000000000,"tenantId":"t","tenantRegion":"GMS","tenantMajorVersion":83,"tenantMinorVersion":1,"worldId":1,"channelId":2,"mapId":3,"instance":"00000000-0000-0000-0000-000000000004","maxHp":100,"hp":90,"maxMp":50,"mp":40,"monsterId":9300018,"controlCharacterId":6,"x":-1,"y":2,"fh":3,"stance":4,"team":-1,"damageEntries":[{"characterId":7,"damage":10,"lastHitMs":5}],"statusEffects":[{"effectId":"00000000-0000-0000-0000-000000000009","sourceType":"PLAYER_SKILL","sourceCharacterId":7,"sourceSkillId":8,"sourceSkillLevel":9,"statuses":{"POISON":3},"durationMs":5,"tickIntervalMs":6,"lastTickMs":7,"createdAtMs":8,"expiresAtMs":9,"reflectKind":"MAGICAL","reflectPercent":5,"reflectLtX":-1,"reflectLtY":-2,"reflectRbX":3,"reflectRbY":4,"reflectMaxDamage":6}],"controllerHasAggro":true,"nextEligibleRepickAtMs":11,"lastDamageTakenMs":12,"spawnSourceType":"gate","spawnSourceId":13}"#;
    let monster = Monster::read("k", text.as_bytes()).unwrap();
    assert_eq!(monster.text(), text);
    assert_eq!(monster.status_effects[0].reflect_percent, 5);
}

#[test]
fn a_drop_timer_is_read_in_both_spellings() {
    let seeds = r#"{"tenantId":"t","tenantRegion":"G","tenantMajorVersion":1,"tenantMinorVersion":2,"uniqueId":5,"monsterId":6,"field":{"worldId":0,"channelId":1,"mapId":2,"instance":"00000000-0000-0000-0000-000000000000"},"dropPeriod":3000,"weaponAttack":3,"maxHp":500,"lastDropAt":10,"lastHitAt":0}"#;
    let other = seeds
        .replace("dropPeriod", "dropPeriodMs")
        .replace("lastDropAt", "lastDropAtMs")
        .replace("lastHitAt", "lastHitAtMs");
    let both = seeds.replace("\"lastHitAt\":0", "\"lastHitAt\":0,\"lastHitAtMs\":99");
    let read = DropTimer::read("k", seeds.as_bytes()).unwrap();
    assert_eq!(DropTimer::read("k", other.as_bytes()).unwrap(), read);
    assert_eq!(DropTimer::read("k", both.as_bytes()).unwrap(), read);
    assert_eq!(read.next_ms(), 3010);
    assert_eq!(kernel::numbers::to_json(&read, kernel::numbers::Dialect::Go).unwrap(), seeds);
}
