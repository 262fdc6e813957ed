//! States that end by themselves: across servers, crashes and clocks that jump.

use std::time::Duration;

use kernel::Verdict;
use reactors::{Hit, New, Reactors, Struck};

use crate::support::{NOW, ONE, World, a_box, data, everywhere, reactors_on, soon};

const CHAIN: &str = r#"{"stateInfo":{"0":[{"type":101,"nextState":1}],"1":[{"type":101,"nextState":2}],"2":[]},"timeoutInfo":{"0":50,"1":50},"timeoutNextStateInfo":{"0":1,"1":2}}"#;

fn chain() -> New {
    New { data: data(CHAIN), ..a_box() }
}

/// Serves what is due now; tells how many timers there were.
async fn serve(reactors: &Reactors) -> usize {
    let timers = reactors.timers();
    let mut count = 0;
    for tenant in reactors.tenants().await.unwrap() {
        for timer in timers.take(&tenant.to_string(), soon()).await.unwrap() {
            count += 1;
            let verdict = reactors.fire(timer.clone()).await;
            timers.settle(&timer, verdict, soon()).await.unwrap();
        }
    }
    count
}

async fn state(world: &World, id: u32) -> i8 {
    world.reactors.get(ONE, id).await.unwrap().state
}

everywhere!(a_state_ends_by_itself_and_never_destroys, |world| {
    let reactor = world.create(chain()).await;
    let due = world.key(&format!("wk:reactors:{ONE}:due"));
    let member = format!("state:{}", reactor.id);
    assert_eq!(world.text(&["ZSCORE", &due, &member]).await, (NOW + 50).to_string());
    world.clock.advance(Duration::from_millis(49));
    assert_eq!(serve(&world.reactors).await, 0);
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(serve(&world.reactors).await, 1);
    assert_eq!(state(&world, reactor.id).await, 1);
    world.clock.advance(Duration::from_millis(50));
    assert_eq!(serve(&world.reactors).await, 1);
    assert_eq!(state(&world, reactor.id).await, 2);
    assert_eq!(world.int(&["EXISTS", &due, &format!("{due}:data")]).await, 0);
    assert_eq!(world.told().await, ["CREATED", "script.TRIGGER", "HIT", "script.TRIGGER", "HIT"]);
    let events = world.events().await;
    assert_eq!(events[1].1["body"]["characterId"], 0);
    assert_eq!(events[2].1["body"]["destroyed"], false);
    world.is_clean().await;
});

everywhere!(a_hit_replaces_or_cancels_the_timer, |world| {
    let both = r#"{"stateInfo":{"0":[{"type":0,"nextState":1}],"1":[{"type":0,"nextState":2}],"2":[{"type":0,"nextState":0}]},"timeoutInfo":{"0":50,"1":1000},"timeoutNextStateInfo":{"0":2,"1":0}}"#;
    let reactor = world.create(New { data: data(both), ..a_box() }).await;
    let due = world.key(&format!("wk:reactors:{ONE}:due"));
    let member = format!("state:{}", reactor.id);
    world.clock.advance(Duration::from_millis(10));
    world.reactors.hit(ONE, reactor.id, Hit::default()).await.unwrap();
    assert_eq!(world.text(&["ZSCORE", &due, &member]).await, (NOW + 1_010).to_string());
    world.reactors.hit(ONE, reactor.id, Hit::default()).await.unwrap();
    assert_eq!(world.int(&["EXISTS", &due]).await, 0, "state 2 has no timer");
    world.reactors.hit(ONE, reactor.id, Hit::default()).await.unwrap();
    assert_eq!(world.int(&["ZCARD", &due]).await, 1);
    world.reactors.destroy(ONE, reactor.id).await.unwrap();
    assert_eq!(world.int(&["EXISTS", &due, &format!("{due}:data")]).await, 0);
});

everywhere!(a_killed_server_loses_no_timer, |world| {
    let reactor = world.create(chain()).await;
    world.clock.advance(Duration::from_millis(50));
    // This one takes the timer and dies.
    let dead = world.reactors.timers().take(&ONE.to_string(), soon()).await.unwrap();
    assert_eq!(dead.len(), 1);
    let alive = reactors_on(&world.store, &world.clock, world.layout);
    assert_eq!(serve(&alive).await, 0, "the lease still runs");
    world.clock.advance(Duration::from_secs(10));
    assert_eq!(serve(&alive).await, 1);
    assert_eq!(state(&world, reactor.id).await, 1);
    // It was only slow: what it holds is not its own any more.
    assert_eq!(world.reactors.fire(dead[0].clone()).await, Verdict::Done);
    assert_eq!(state(&world, reactor.id).await, 1);
    assert_eq!(world.told().await, ["CREATED", "script.TRIGGER", "HIT"]);
});

everywhere!(two_servers_never_do_one_twice, |world| {
    for x in 0..40 {
        world.create(New { x, ..chain() }).await;
    }
    let other = reactors_on(&world.store, &world.clock, world.layout);
    world.clock.advance(Duration::from_millis(50));
    let (one, two) = tokio::join!(serve(&world.reactors), serve(&other));
    assert_eq!(one + two, 40);
    // A clock that jumps an hour ahead makes every lease look dead, and nothing happens twice.
    world.clock.set(NOW + 3_600_000);
    tokio::join!(serve(&world.reactors), serve(&other));
    world.clock.advance(Duration::from_mins(1));
    tokio::join!(serve(&world.reactors), serve(&other));
    let told = world.told().await;
    assert_eq!(told.iter().filter(|one| *one == "HIT").count(), 80);
    assert_eq!(told.iter().filter(|one| *one == "script.TRIGGER").count(), 80);
});

everywhere!(a_clock_set_back_delays_and_loses_nothing, |world| {
    let reactor = world.create(chain()).await;
    world.clock.set(NOW - 3_600_000);
    assert_eq!(serve(&world.reactors).await, 0);
    world.clock.set(NOW + 50);
    assert_eq!(serve(&world.reactors).await, 1);
    assert_eq!(state(&world, reactor.id).await, 1);
});

everywhere!(a_timer_of_another_state_does_nothing, |world| {
    let reactor = world.create(chain()).await;
    let key = world.key(&format!("reactor:{}", reactor.id));
    // Another program moved it without knowing of our timers.
    let text = world.text(&["GET", &key]).await.replace("\"state\":0", "\"state\":5");
    world.ask(&["SET", &key, &text]).await;
    world.clock.advance(Duration::from_millis(50));
    assert_eq!(serve(&world.reactors).await, 1);
    assert_eq!(world.text(&["GET", &key]).await, text);
    assert_eq!(world.told().await, ["CREATED"]);
    let due = world.key(&format!("wk:reactors:{ONE}:due"));
    assert_eq!(world.int(&["EXISTS", &due]).await, 0);
});

everywhere!(the_serving_loop_wakes_for_what_is_armed, |world| {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = world.reactors.serve_timers(async move { drop(stopped.await) });
    let playing = async {
        let reactor = world.create(chain()).await;
        loop {
            world.clock.advance(Duration::from_millis(25));
            tokio::time::sleep(Duration::from_millis(1)).await;
            if state(&world, reactor.id).await == 2 {
                break;
            }
        }
        let struck = world.reactors.hit(ONE, reactor.id, Hit::default()).await.unwrap();
        assert_eq!(struck, Struck::Destroyed { state: 2 });
        drop(stop);
    };
    tokio::join!(serving, playing);
    assert_eq!(world.told().await.last().unwrap(), "DESTROYED");
});
