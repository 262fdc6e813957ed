//! What goes over the wire: round trips, counted on a recording.

use std::sync::Arc;

use monsters::{Move, Spawn};
use testkit::{Recorder, Store, on_every_store};

use crate::support::{World, attack};

on_every_store!(spawn_index_and_event_are_one_round_trip, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    world.spawn(9_300_018).await;
    recorder.take();
    let spawn = Spawn { monster_id: 9_300_018, x: 1, ..Spawn::default() };
    world.monsters.spawn(&world.tenant, world.field, &spawn).await.unwrap();
    let sent = recorder.take_commands();
    assert_eq!(sent.lines().count(), 1, "{sent}");
    assert!(sent.starts_with("SCRIPT spawn 9 "), "{sent}");
});

on_every_store!(an_ordinary_hit_is_one_round_trip_and_so_is_a_kill, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    let id = world.spawn(9_300_018).await;
    recorder.take();
    world.hit(id, 7, 10).await;
    let sent = recorder.take_commands();
    let verbs = |sent: &str| {
        sent.lines()
            .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    // The first hit of a leader who may not be there asks once.
    assert_eq!(verbs(&sent)[0], "SCRIPT swap", "{sent}");
    world.hit(id, 7, 10).await;
    assert_eq!(verbs(&recorder.take_commands()), ["SCRIPT swap"]);
    world.hit(id, 7, 90).await;
    assert_eq!(verbs(&recorder.take_commands()), ["SCRIPT swap"]);
});

on_every_store!(a_field_is_listed_in_two_round_trips, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    for _ in 0..200 {
        world.spawn(9_300_018).await;
    }
    recorder.take();
    assert_eq!(world.monsters.list(&world.tenant, world.field).await.unwrap().monsters.len(), 200);
    // The lives and the texts are asked for together.
    let sent = recorder.take_commands();
    let verbs: Vec<_> = sent.lines().map(|line| line.trim_start_matches("| ")).collect();
    let verbs: Vec<_> = verbs.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(verbs, ["SMEMBERS", "HMGET", "MGET"], "{sent}");
    assert_eq!(sent.lines().filter(|line| line.starts_with("| ")).count(), 2, "in one pipeline");
});

on_every_store!(a_move_is_one_step, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    let id = world.spawn(9_300_018).await;
    recorder.take();
    let to = Move { x: 1, y: 2, stance: 3, fh: Some(4), ..Move::default() };
    world.monsters.movement(&world.tenant, id, to).await.unwrap();
    let sent = recorder.take_commands();
    assert_eq!(sent.lines().count(), 1, "{sent}");
    assert!(sent.starts_with("SCRIPT swap "), "{sent}");
});

on_every_store!(hits_on_many_monsters_are_each_their_own_affair, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    let mut ids = Vec::new();
    for _ in 0..40 {
        ids.push(world.spawn(9_300_018).await);
    }
    // One of them is no monster any more: that is its own fault.
    world.ask(&["DEL", &world.key(ids[7])]).await;
    world.ask(&["LPUSH", &world.key(ids[7]), "x"]).await;
    recorder.take();
    let hit = |id| world.monsters.damage(&world.tenant, id, attack(7, &[10]));
    let done = futures_util::future::join_all(ids.iter().map(|id| hit(*id))).await;
    let sent = recorder.take_commands();
    let steps = sent.lines().filter(|line| line.starts_with("SCRIPT swap")).count();
    assert!((39..=41).contains(&steps), "{steps} steps");
    for (n, (id, done)) in ids.iter().zip(done).enumerate() {
        if n == 7 {
            let told = done.unwrap_err().to_string();
            assert!(told.contains("WRONGTYPE") || told.contains("holds no text"), "{told}");
            continue;
        }
        assert_eq!(done.unwrap().hp, 90);
        let entries = r#""damageEntries":[{"characterId":7,"damage":10}]"#;
        assert!(world.stored(*id).await.contains(entries));
    }
    let told = world.told().await;
    assert_eq!(told.iter().filter(|kind| *kind == "DAMAGED").count(), 39);
});
