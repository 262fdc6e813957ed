//! Friendly monsters: drops on time, put off by hits, never twice.

use std::sync::Arc;

use kernel::keyspace::Layout;
use monsters::MonsterError;
use testkit::on_every_store;

use crate::support::{TENANT, World, low};

fn world(store: &Arc<dyn testkit::Store>) -> World {
    World::with(store, Layout::Plain, |options| options.dice = low())
}

on_every_store!(a_friendly_monster_drops_every_third_of_its_period, |store| {
    let world = world(&store);
    let id = world.spawn(7).await;
    let key = format!("atlas:drop-timer:{TENANT}:{id}");
    let start = crate::support::START;
    assert_eq!(
        world.text(&["GET", &key]).await,
        format!(
            r#"{{"tenantId":"{TENANT}","tenantRegion":"GMS","tenantMajorVersion":83,"tenantMinorVersion":1,"uniqueId":{id},"monsterId":7,"field":{{"worldId":0,"channelId":0,"mapId":40000,"instance":"00000000-0000-0000-0000-000000000000"}},"dropPeriod":3000,"weaponAttack":3,"maxHp":500,"lastDropAt":{start},"lastHitAt":0}}"#
        )
    );
    world.pass(2_999).await;
    assert_eq!(world.told().await, ["CREATED"]);
    world.pass(1).await;
    assert_eq!(world.told().await, ["CREATED", "drop.SPAWN", "drop.SPAWN", "FRIENDLY_DROP"]);
    let events = world.events().await;
    assert_eq!(events[1].2["body"]["mesos"], 5);
    assert_eq!(events[2].2["body"]["itemId"], 44);
    assert_eq!(events[3].2["body"]["itemCount"], 2, "nothing of a quest");
    // Two servers look at once: one period, one drop.
    world.clock.advance(std::time::Duration::from_secs(3));
    let other = world.second();
    let (one, two) = tokio::join!(world.serve(), other.serve());
    assert_eq!(one + two, 1);
    assert_eq!(world.told().await.len(), 7);
});

on_every_store!(a_hit_puts_the_drop_off_and_death_ends_it, |store| {
    let world = world(&store);
    let id = world.spawn(7).await;
    world.pass(2_000).await;
    let blow = world.monsters.damage_friendly(&world.tenant, id, 9_300_018).await.unwrap();
    assert_eq!((blow.hp, blow.killed), (499, false), "at least one");
    world.pass(1_000).await;
    assert!(!world.told().await.contains(&"FRIENDLY_DROP".to_owned()));
    world.pass(2_000).await;
    assert!(world.told().await.contains(&"FRIENDLY_DROP".to_owned()));
    world.hit(id, 7, 499).await;
    assert_eq!(world.int(&["EXISTS", &format!("atlas:drop-timer:{TENANT}:{id}")]).await, 0);
    assert_eq!(world.int(&["EXISTS", &world.own("due"), &world.own("due:data")]).await, 0);
});

on_every_store!(another_spelling_of_the_timer_is_kept, |store| {
    let world = world(&store);
    let id = world.spawn(7).await;
    let key = format!("atlas:drop-timer:{TENANT}:{id}");
    let text = world.text(&["GET", &key]).await;
    let other = text
        .replace("\"dropPeriod\"", "\"more\":1.50,\"dropPeriodMs\"")
        .replace("lastDropAt", "lastDropAtMs")
        .replace("lastHitAt", "lastHitAtMs");
    world.ask(&["SET", &key, &other]).await;
    world.pass(3_000).await;
    let now = world.now().to_string();
    let start = crate::support::START.to_string();
    assert_eq!(
        world.text(&["GET", &key]).await,
        other.replace(&format!("lastDropAtMs\":{start}"), &format!("lastDropAtMs\":{now}"))
    );
});

on_every_store!(a_friendly_death_has_no_actor_and_raises_nothing, |store| {
    let world =
        World::with(&store, Layout::Plain, |options| options.dice = Arc::new(|below| below - 1));
    let id = world.spawn(5).await;
    let blow = world.monsters.damage_friendly(&world.tenant, id, 2).await.unwrap();
    assert!(blow.killed);
    let killed = world.events().await.pop().unwrap();
    assert_eq!((killed.0.as_str(), &killed.2["body"]["actorId"]), ("KILLED", &0.into()));
    assert!(world.monsters.ids(&world.tenant, world.field).await.unwrap().is_empty());
    let unknown = world.monsters.damage_friendly(&world.tenant, id, 999).await;
    assert_eq!(unknown, Err(MonsterError::UnknownTemplate(999)));
});

on_every_store!(a_killed_server_delays_a_drop_by_less_than_a_second, |store| {
    let world = world(&store);
    world.spawn(7).await;
    world.clock.advance(std::time::Duration::from_secs(3));
    // The first server takes the timer and is killed.
    let taken = world.monsters.timers().take(TENANT, crate::support::soon()).await.unwrap();
    assert_eq!(taken.len(), 1);
    let other = world.second();
    assert_eq!(other.serve().await, 0, "it is in somebody's hands");
    other.pass(1_000).await;
    assert!(world.told().await.contains(&"drop.SPAWN".to_owned()), "the second one dropped");
    other.pass(2_999).await;
    let told = |told: Vec<String>| told.iter().filter(|kind| *kind == "FRIENDLY_DROP").count();
    assert_eq!(told(world.told().await), 1);
    other.pass(1).await;
    assert_eq!(told(world.told().await), 2);
});

on_every_store!(a_friendly_hit_and_its_time_are_one_step, |store| {
    let recorder = testkit::Recorder::new(Arc::clone(&store));
    let world = world(&(Arc::clone(&recorder) as Arc<dyn testkit::Store>));
    let id = world.spawn(7).await;
    world.monsters.damage_friendly(&world.tenant, id, 9_300_018).await.unwrap();
    recorder.take();
    world.clock.advance(std::time::Duration::from_millis(5));
    world.monsters.damage_friendly(&world.tenant, id, 9_300_018).await.unwrap();
    let sent = recorder.take_commands();
    let steps: Vec<&str> = sent.lines().filter(|line| line.starts_with("SCRIPT swap")).collect();
    assert_eq!(
        (steps.len(), sent.lines().count()),
        (1, 2),
        "a look at the timer, and a step: {sent}"
    );
    let timer = world.monsters.drop_timer(&world.tenant, id).await.unwrap().unwrap();
    assert_eq!(timer.last_hit_at.unsigned_abs(), world.now());
    // A drop of another server between the look and the step is seen.
    let key = format!("atlas:drop-timer:{TENANT}:{id}");
    let text = world.text(&["GET", &key]).await;
    let other = text.replace("\"weaponAttack\":3", "\"weaponAttack\":4");
    world.ask(&["SET", &key, &other]).await;
    world.monsters.damage_friendly(&world.tenant, id, 9_300_018).await.unwrap();
    assert!(world.text(&["GET", &key]).await.contains("\"weaponAttack\":4"));
});
