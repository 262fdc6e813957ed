//! What goes over the wire: round trips, counted on a recording.

use std::sync::Arc;

use monsters::{Move, Spawn};
use testkit::{Recorder, Store, on_every_store};

use crate::support::{TENANT, World};

on_every_store!(spawn_index_and_event_are_one_round_trip, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    world.spawn(9_300_018).await;
    recorder.take();
    let spawn = Spawn { monster_id: 9_300_018, x: 1, ..Spawn::default() };
    world.monsters.spawn(&world.tenant, world.field, &spawn).await.unwrap();
    let sent = recorder.take_commands();
    assert_eq!(sent.lines().count(), 1, "{sent}");
    assert!(sent.starts_with("SCRIPT spawn 10 "), "{sent}");
});

on_every_store!(an_ordinary_hit_is_one_round_trip_and_a_kill_two_more, |store| {
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
    assert_eq!(verbs(&sent)[0], "SCRIPT damage", "{sent}");
    world.hit(id, 7, 10).await;
    assert_eq!(verbs(&recorder.take_commands()), ["SCRIPT damage"]);
    world.hit(id, 7, 90).await;
    let sent = recorder.take_commands();
    assert_eq!(
        verbs(&sent),
        [&format!("GET atlas:monster:{TENANT}:{id}"), "SCRIPT swap"],
        "{sent}"
    );
});

on_every_store!(a_field_is_listed_in_two_round_trips, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    for _ in 0..200 {
        world.spawn(9_300_018).await;
    }
    recorder.take();
    assert_eq!(world.monsters.list(&world.tenant, world.field).await.unwrap().monsters.len(), 200);
    assert_eq!(recorder.take_commands().lines().count(), 2);
});

on_every_store!(a_move_is_watched_as_the_seed_says, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    let id = world.spawn(9_300_018).await;
    recorder.take();
    let to = Move { x: 1, y: 2, stance: 3, fh: Some(4) };
    world.monsters.movement(&world.tenant, id, to).await.unwrap();
    let sent = recorder.take_commands();
    let verbs: Vec<&str> = sent.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(verbs, ["WATCH", "GET", "MULTI", "SET", "EXEC"], "{sent}");
});
