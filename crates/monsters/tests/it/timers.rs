//! Recovery, decay and revives: armed by what makes them necessary, done once, gone when there is no more to do.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use testkit::{Faulty, How, on_every_store};

use crate::support::{World, soon};

on_every_store!(hp_come_back_after_rest_and_the_timer_goes_with_the_last_of_them, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    assert_eq!(world.int(&["EXISTS", &world.own("due")]).await, 0, "nothing due, no timer");
    world.hit(id, 7, 50).await;
    world.pass(5_000).await;
    world.hit(id, 7, 10).await;
    world.pass(5_000).await;
    assert_eq!(world.get(id).await.hp, 940, "hurt five seconds ago");
    world.pass(10_000).await;
    assert_eq!(world.get(id).await.hp, 980);
    world.pass(10_000).await;
    assert_eq!(world.get(id).await.hp, 1_000);
    assert_eq!(world.int(&["EXISTS", &world.own("due"), &world.own("due:data")]).await, 0);
    let last = world.events().await.pop().unwrap().2;
    assert_eq!(last["body"]["source"], "HEAL");
    assert_eq!(world.get(id).await.summed(), [(7, 60)]);
});

on_every_store!(mp_come_back_always, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    assert_eq!(world.monsters.drain_mp(&world.tenant, id, 7, 5, 15).await, Ok(15));
    world.pass(10_000).await;
    world.pass(10_000).await;
    assert_eq!(world.get(id).await.mp, 100);
    let told: Vec<_> = world
        .events()
        .await
        .into_iter()
        .map(|(kind, _, m)| (kind, m["body"]["amount"].clone()))
        .collect();
    assert_eq!(
        told[1..],
        [
            ("MP_CHANGED".to_owned(), (-15).into()),
            ("MP_CHANGED".to_owned(), 10.into()),
            ("MP_CHANGED".to_owned(), 5.into())
        ]
    );
    assert_eq!(world.int(&["EXISTS", &world.own("due")]).await, 0);
});

on_every_store!(idle_entries_shrink_by_the_series_of_the_document, |store| {
    let world = World::with(&store, Layout::Plain, |options| options.decay = true);
    world.monsters.enter(&world.tenant, world.field, 7, false).await.unwrap();
    let id = world.spawn(2).await;
    world.hit(id, 7, 60).await;
    world.hit(id, 7, 40).await;
    assert!(world.get(id).await.controller_has_aggro);
    // Merge by hand, so that one entry holds the hundred of the document.
    let text = world.stored(id).await;
    let at = text.find("\"damageEntries\":").unwrap();
    let end = text[at..].find(']').unwrap() + at;
    let one = format!(
        "{}\"damageEntries\":[{{\"characterId\":7,\"damage\":100,\"lastHitMs\":{}}}{}",
        &text[..at],
        crate::support::START,
        &text[end..]
    );
    world.ask(&["SET", &world.key(id), &one]).await;
    for _ in 0..6 {
        world.pass(1_500).await;
    }
    assert_eq!(world.get(id).await.summed(), [(7, 100)], "nine seconds are not idle");
    let mut series = Vec::new();
    while !world.get(id).await.damage_entries.is_empty() {
        world.pass(1_500).await;
        series.extend(world.get(id).await.summed().first().map(|(_, sum)| *sum));
    }
    assert_eq!(series, [85, 72, 61, 51, 43, 36, 30, 25, 21, 17, 14, 11, 9, 7, 5, 4, 3, 2, 1]);
    let monster = world.get(id).await;
    assert_eq!((monster.controller_has_aggro, monster.control_character_id), (false, 7));
    assert_eq!(world.told().await.last().unwrap(), "AGGRO_CHANGED");
    assert_eq!(world.int(&["EXISTS", &world.own("due")]).await, 0);
});

on_every_store!(mp_come_back_at_their_own_pace_under_casts_hits_and_poison, |store| {
    // Each of these armed the timer anew, and so put it off for as long as they went on.
    let world = World::new(&store);
    let id = world.spawn(3).await;
    let venom = crate::status::effect(&[("VENOM", 1)], 600_000);
    world.monsters.apply_status(&world.tenant, id, &venom).await.unwrap();
    world.monsters.drain_mp(&world.tenant, id, 7, 5, 100).await.unwrap();
    for second in 1..=50_u32 {
        world.pass(1_000).await;
        world.hit(id, 7, 1).await;
        if second % 4 == 0 {
            world.monsters.drain_mp(&world.tenant, id, 7, 5, 1).await.unwrap();
        }
    }
    let told = world.events().await;
    let back = told.iter().filter(|(_, _, m)| m["body"]["reason"] == "RECOVERY").count();
    assert_eq!(back, 5, "every ten seconds");
    assert!(!told.iter().any(|(_, _, m)| m["body"]["source"] == "HEAL"), "it never rested");
});

on_every_store!(entries_shrink_at_their_own_pace_under_hits_of_others, |store| {
    let world = World::with(&store, Layout::Plain, |options| options.decay = true);
    let id = world.spawn(2).await;
    world.hit(id, 7, 1_000).await;
    for _ in 0..26 {
        world.pass(500).await;
        world.hit(id, 8, 1).await;
    }
    let sums = world.get(id).await.summed();
    assert_eq!(sums[0], (7, 722), "idle for ten seconds, then 850 and 722");
    assert!(sums[1].1 > 20, "who hits is hardly idle: {sums:?}");
});

on_every_store!(a_hit_while_a_timer_is_looked_at_is_not_forgotten, |store| {
    // The hit finds the timer armed and leaves it; who has it must not end it on what it saw before.
    let world = World::new(&store);
    let id = world.spawn(3).await;
    world.hit(id, 7, 40).await;
    world.clock.advance(Duration::from_millis(20_001));
    let timers = world.monsters.timers();
    let held = timers.take(crate::support::TENANT, soon()).await.unwrap().remove(0);
    let other = world.second();
    other.hit(id, 8, 30).await;
    let verdict = world.monsters.act(&held).await;
    timers.settle(&held, verdict, soon()).await.unwrap();
    assert_eq!(world.get(id).await.hp, 930, "hurt a moment ago");
    assert_eq!(world.int(&["ZCARD", &world.own("due")]).await, 1, "it comes again");
    world.pass(10_000).await;
    world.pass(10_000).await;
    world.pass(10_000).await;
    assert_eq!(world.get(id).await.hp, 1_000);
});

on_every_store!(revives_rise_once_even_when_their_killer_dies, |store| {
    let world = World::new(&store);
    let id = world.spawn(5).await;
    world.hit(id, 7, 10).await;
    let ids = world.monsters.ids(&world.tenant, world.field).await.unwrap();
    assert_eq!(ids.len(), 2);
    assert_eq!(world.told().await, ["CREATED", "DAMAGED", "KILLED", "CREATED", "CREATED"]);
    world.pass(60_000).await;
    assert_eq!(world.monsters.ids(&world.tenant, world.field).await.unwrap(), ids);
    // The killer's server ends right after the kill: its next call never leaves.
    let faulty = Faulty::new(Arc::clone(&store));
    let dying = World::new(&(Arc::clone(&faulty) as Arc<dyn testkit::Store>));
    let field = field::Field { map_id: 5, ..world.field };
    let spawn = monsters::Spawn { monster_id: 5, ..Default::default() };
    let twin = dying.monsters.spawn(&dying.tenant, field, &spawn).await.unwrap().unique_id;
    let kill = dying.monsters.damage(&dying.tenant, twin, crate::support::attack(7, &[9]));
    kill.await.unwrap();
    let fatal = dying.monsters.damage(&dying.tenant, twin, crate::support::attack(7, &[9]));
    // The swap passes, the spawn does not.
    faulty.fail_every(2, How::NotSent);
    assert!(fatal.await.unwrap().killed);
    let left = world.monsters.ids(&world.tenant, field).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    world.pass(60_000).await;
    assert_eq!(world.monsters.ids(&world.tenant, field).await.unwrap().len(), 2);
    assert_eq!(world.serve().await, 0);
});

on_every_store!(
    ten_thousand_timers_are_served_in_a_moment_and_pending_ones_cost_nothing,
    |store| {
        if store.status().kind != kernel::Kind::Embedded {
            return;
        }
        let world = World::new(&store);
        let many = 2_000_u32;
        for _ in 0..many {
            let id = world.spawn(9_300_018).await;
            let stun = crate::status::effect(&[("STUN", 1)], 5_000);
            world.monsters.apply_status(&world.tenant, id, &stun).await.unwrap();
        }
        assert_eq!(world.serve().await, 0);
        let stop = tokio::sync::Notify::new();
        world.clock.advance(Duration::from_millis(5_001));
        let serving = Arc::clone(&world.monsters).serve_timers(stop.notified());
        let watching = async {
            testkit::eventually("no timer is due", async || {
                world.int(&["ZCARD", &world.own("due")]).await == 0
            })
            .await;
            stop.notify_one();
        };
        let _ = soon();
        tokio::join!(serving, watching);
        let told = world.told().await;
        assert_eq!(told.iter().filter(|kind| *kind == "STATUS_EXPIRED").count(), many as usize);
    }
);

on_every_store!(
    a_skill_of_a_monster_that_cannot_be_read_is_put_off_by_a_step_on_its_text,
    |store| {
        // The timer was put off without a look at the monster: one mended meanwhile waited a minute for nothing.
        let recorder = testkit::Recorder::new(Arc::clone(&store));
        let world = World::new(&(Arc::clone(&recorder) as Arc<dyn kernel::Store>));
        let id = world.spawn(9).await;
        world.monsters.use_skill(&world.tenant, id, 100, 1, false).await.unwrap();
        let (key, good) = (world.key(id), world.stored(id).await);
        world.ask(&["SET", &key, "{broken"]).await;
        world.clock.advance(Duration::from_millis(701));
        recorder.take_scripts();
        assert_eq!(world.serve().await, 1);
        let sent = recorder.take_scripts();
        let step = sent.iter().find(|call| call.name == "swap").expect("it is put off by a step");
        assert_eq!(
            (&step.keys[0], step.args[1].as_str(), step.args[3].as_str()),
            (&key, "text", "{broken")
        );
        assert!(sent.iter().all(|call| call.name != "timers_done"), "{sent:?}");
        let least = (world.now() + 59_999).to_string();
        assert_eq!(world.int(&["ZCOUNT", &world.own("due"), &least, "+inf"]).await, 1);
        // Mended, it gets what it waited for.
        world.ask(&["SET", &key, &good]).await;
        world.pass(60_000).await;
        assert!(world.get(id).await.is_under("POWER_UP"));
        assert_eq!(world.int(&["ZCARD", &world.own("due")]).await, 1, "the effect's end is left");
        // A key of another type is put off too.
        world.monsters.use_skill(&world.tenant, id, 100, 1, true).await.unwrap();
        world.ask(&["DEL", &key]).await;
        world.ask(&["LPUSH", &key, "x"]).await;
        world.pass(600_000).await;
        assert_eq!(
            world.int(&["ZCOUNT", &world.own("due"), "-inf", &world.now().to_string()]).await,
            0
        );
    }
);
