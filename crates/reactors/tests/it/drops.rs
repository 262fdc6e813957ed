//! Items on the ground: who takes them, when, and that none is used up for nothing.

use std::time::Duration;

use reactors::{Drop, Hit, New, Reactors};

use crate::support::{NOW, ONE, TWO, World, a_box, everywhere, field, reactors_on, soon};

/// The shipped altar takes ten embers.
fn altar(x: i16) -> New {
    New { classification: 2004, x, y: 0, ..a_box() }
}

fn embers(x: i16) -> Drop {
    Drop { drop_id: 5, item_id: 4_000_100, quantity: 10, x, y: 0, owner_id: 9, player_drop: true }
}

async fn serve(reactors: &Reactors) {
    let timers = reactors.timers();
    for timer in timers.take(&ONE.to_string(), soon()).await.unwrap() {
        let verdict = reactors.fire(timer.clone()).await;
        timers.settle(&timer, verdict, soon()).await.unwrap();
    }
}

async fn drop_it(world: &World, drop: &Drop) -> Option<u32> {
    world.reactors.offer(ONE, field(1_000_000), drop).await.unwrap()
}

everywhere!(an_item_is_taken_after_a_while, |world| {
    let reactor = world.create(altar(0)).await;
    assert_eq!(drop_it(&world, &embers(60)).await, Some(reactor.id), "the edge is inside");
    let due = world.key(&format!("wk:reactors:{ONE}:due"));
    let member = format!("item:{}", reactor.id);
    assert_eq!(world.text(&["ZSCORE", &due, &member]).await, (NOW + 5_000).to_string());
    world.clock.advance(Duration::from_secs(5));
    serve(&world.reactors).await;
    assert_eq!(
        world.told().await,
        ["CREATED", "drop.CONSUME", "script.HIT", "HIT"],
        "state 1 goes on to 0, so it is no end"
    );
    let events = world.events().await;
    let consume = serde_json::json!({
        "worldId": 0, "channelId": 1, "mapId": 1_000_000,
        "instance": "00000000-0000-0000-0000-000000000000", "type": "CONSUME", "body": {"dropId": 5},
    });
    assert_eq!(events[1].1, consume);
    assert_eq!(events[2].1["body"]["characterId"], 9);
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 1);
    assert_eq!(world.int(&["ZCARD", &due]).await, 1, "the timer of the new state");
    world.is_clean().await;
});

everywhere!(what_does_not_fit_stays_on_the_ground, |world| {
    world.create(altar(0)).await;
    for drop in [
        Drop { player_drop: false, ..embers(0) },
        Drop { item_id: 1, ..embers(0) },
        Drop { quantity: 9, ..embers(0) },
        embers(61),
        Drop { y: 11, ..embers(0) },
    ] {
        assert_eq!(drop_it(&world, &drop).await, None, "{drop:?}");
    }
    let elsewhere = world.reactors.offer(ONE, field(7), &embers(0)).await.unwrap();
    assert_eq!(elsewhere, None);
    assert_eq!(world.reactors.offer(TWO, field(1_000_000), &embers(0)).await.unwrap(), None);
    let due = world.key(&format!("wk:reactors:{ONE}:due"));
    assert_eq!(world.int(&["EXISTS", &due]).await, 0);
});

everywhere!(each_reactor_waits_for_one_item, |world| {
    let (left, right) = (world.create(altar(0)).await, world.create(altar(10)).await);
    let field = field(1_000_000);
    let drop = embers(5);
    let all = (0..6).map(|_| world.reactors.offer(ONE, field, &drop));
    let mut taken: Vec<u32> = futures_util::future::join_all(all)
        .await
        .into_iter()
        .filter_map(|one| one.unwrap())
        .collect();
    taken.sort_unstable();
    assert_eq!(taken, [left.id, right.id]);
});

everywhere!(an_item_is_not_used_up_for_nothing, |world| {
    let reactor = world.create(altar(0)).await;
    drop_it(&world, &embers(0)).await.unwrap();
    // Meanwhile somebody hits it, and it is not in that state any more.
    world.reactors.hit(ONE, reactor.id, Hit::default()).await.unwrap();
    world.clock.advance(Duration::from_secs(5));
    serve(&world.reactors).await;
    let told = world.told().await;
    assert!(!told.contains(&"drop.CONSUME".to_owned()), "{told:?}");
    // Destroyed meanwhile: nothing is left to fire.
    let other = world.create(altar(500)).await;
    drop_it(&world, &embers(500)).await.unwrap();
    world.reactors.destroy(ONE, other.id).await.unwrap();
    let member = format!("item:{}", other.id);
    let due = world.key(&format!("wk:reactors:{ONE}:due:data"));
    assert_eq!(world.int(&["HEXISTS", &due, &member]).await, 0);
});

everywhere!(an_item_is_taken_once_though_two_servers_try, |world| {
    let reactor = world.create(altar(0)).await;
    drop_it(&world, &embers(0)).await.unwrap();
    world.clock.advance(Duration::from_secs(5));
    let slow = world.reactors.timers().take(&ONE.to_string(), soon()).await.unwrap().remove(0);
    world.clock.advance(Duration::from_secs(10));
    let other = reactors_on(&world.store, &world.clock, world.layout);
    serve(&other).await;
    world.reactors.fire(slow).await;
    let told = world.told().await;
    assert_eq!(told.iter().filter(|one| *one == "drop.CONSUME").count(), 1);
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 1);
});
