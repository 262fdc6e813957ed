//! One reactor in many hands: callers of this server, other servers, other programs, commands of other
//! services. Every change is decided on what is stored, and a command is answered once.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{Pending, Store};
use reactors::{Drop, Hit, New, ReactorError, Struck};
use testkit::{Faulty, Recorder, on_every_store};

use crate::support::{ONE, World, a_box, data, everywhere, field, reactors_on};

/// A ring of three states.
const RING: &str = r#"{"stateInfo":{"0":[{"type":0,"nextState":1}],"1":[{"type":0,"nextState":2}],"2":[{"type":0,"nextState":0}]}}"#;
/// A state that takes an item.
const ALTAR: &str = r#"{"tl":{"x":-9,"y":-9},"br":{"x":9,"y":9},"stateInfo":{"0":[{"type":100,"reactorItem":{"itemId":7,"quantity":1},"nextState":1}]}}"#;

/// A command that this server has read and not answered.
async fn a_command(world: &World) -> Pending {
    let stream = world.key(&format!("wk:reactors:{ONE}:commands"));
    if world.int(&["EXISTS", &stream]).await == 0 {
        world.ask(&["XGROUP", "CREATE", &stream, "servers", "0", "MKSTREAM"]).await;
    }
    let entry = world.text(&["XADD", &stream, "*", "type", "HIT"]).await;
    world.ask(&["XREADGROUP", "GROUP", "servers", "one", "STREAMS", &stream, ">"]).await;
    Pending { stream, group: "servers".into(), entry }
}

async fn is_pending(world: &World, command: &Pending) -> bool {
    let Pending { stream, group, entry } = command;
    let answer = world.ask(&["XPENDING", stream, group, entry, entry, "1"]).await;
    kernel::reply::list(&answer).is_some_and(|list| !list.is_empty())
}

everywhere!(a_command_is_acknowledged_by_its_step_and_answered_once, |world| {
    let reactor = world.create(New { data: data(RING), ..a_box() }).await;
    let command = a_command(&world).await;
    let hit =
        async || world.reactors.hit_for(ONE, reactor.id, Hit::default(), Some(&command)).await;
    assert_eq!(hit().await, Ok(Struck::Hit { state: 1 }));
    assert!(!is_pending(&world, &command).await);
    // A server that was taken for dead comes back with the same command.
    assert_eq!(hit().await, Err(ReactorError::Answered));
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 1);
    assert_eq!(world.told().await, ["CREATED", "script.HIT", "HIT"]);
});

everywhere!(one_command_twice_and_another_at_the_same_time_are_two_hits, |world| {
    let reactor = world.create(New { data: data(RING), ..a_box() }).await;
    let (one, two) = (a_command(&world).await, a_command(&world).await);
    let hit = |command| world.reactors.hit_for(ONE, reactor.id, Hit::default(), Some(command));
    let all = tokio::join!(hit(&one), hit(&one), hit(&two));
    let all = [all.0, all.1, all.2];
    assert_eq!(all.iter().filter(|one| **one == Err(ReactorError::Answered)).count(), 1, "{all:?}");
    assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 2, "{all:?}");
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 2);
});

everywhere!(a_command_that_brings_an_item_is_answered_once, |world| {
    let altar = world.create(New { data: data(ALTAR), ..a_box() }).await;
    let drop = Drop {
        drop_id: 1,
        item_id: 7,
        quantity: 1,
        x: altar.x,
        y: altar.y,
        owner_id: 5,
        player_drop: true,
    };
    let (one, two) = (a_command(&world).await, a_command(&world).await);
    let offer = |command| world.reactors.offer_for(ONE, field(1_000_000), &drop, Some(command));
    assert_eq!(offer(&one).await, Ok(Some(altar.id)));
    assert!(!is_pending(&world, &one).await);
    assert_eq!(offer(&one).await, Err(ReactorError::Answered));
    // Another item is on its way: nobody takes this one, and the command is left to its reader.
    assert_eq!(offer(&two).await, Ok(None));
    assert!(is_pending(&world, &two).await);
});

everywhere!(a_hit_is_decided_on_what_another_program_left, |world| {
    let reactor = world.create(New { data: data(RING), ..a_box() }).await;
    let key = world.key(&format!("reactor:{}", reactor.id));
    let hit = async || world.reactors.hit(ONE, reactor.id, Hit::default()).await;
    assert_eq!(hit().await, Ok(Struck::Hit { state: 1 }));
    let text = world.text(&["GET", &key]).await;
    world.ask(&["SET", &key, &text.replace("\"state\":1,", "\"state\":2,")]).await;
    assert_eq!(hit().await, Ok(Struck::Hit { state: 0 }));
    world.ask(&["DEL", &key]).await;
    assert_eq!(hit().await, Err(ReactorError::NotFound(reactor.id)));
    world.ask(&["SET", &key, &text]).await;
    assert_eq!(hit().await, Ok(Struck::Hit { state: 2 }), "it is back");
});

everywhere!(two_servers_lose_no_hit_between_them, |world| {
    let reactor = world.create(New { data: data(RING), ..a_box() }).await;
    let other = reactors_on(&world.store, &world.clock, world.layout);
    let hits = |server| async move {
        let server: &reactors::Reactors = server;
        for _ in 0..10 {
            server.hit(ONE, reactor.id, Hit::default()).await.unwrap();
        }
    };
    let here = (0..4).map(|_| hits(&world.reactors));
    let there = (0..4).map(|_| hits(&other));
    futures_util::future::join_all(here.chain(there)).await;
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 80 % 3);
    let told = world.told().await;
    assert_eq!(told.iter().filter(|one| *one == "HIT").count(), 80);
});

on_every_store!(hits_that_arrive_together_leave_together, |store| {
    let world = World::new(store.clone(), Layout::Plain);
    // A store that takes its time: the embedded one is done with each hit before the next one comes.
    let slow = Faulty::new(store);
    slow.delay(Duration::from_millis(5));
    let wire = Recorder::new(slow);
    let recorded: Arc<dyn Store> = wire.clone();
    let reactors = reactors_on(&recorded, &world.clock, Layout::Plain);
    let reactor = world.create(New { data: data(RING), ..a_box() }).await;
    let hits = (0..30).map(|_| reactors.hit(ONE, reactor.id, Hit::default()));
    let mut states: Vec<Struck> =
        futures_util::future::join_all(hits).await.into_iter().map(Result::unwrap).collect();
    let steps = wire.take_commands().matches("SCRIPT swap").count();
    assert!(steps < 15, "{steps} steps for thirty hits");
    states.sort_by_key(|struck| format!("{struck:?}"));
    let expected = [0, 1, 2].map(|state| [Struck::Hit { state }; 10]).concat();
    assert_eq!(states, expected, "each hit has an answer of its own");
});
