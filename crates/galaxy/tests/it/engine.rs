//! The engine on real stores: it ticks, obeys, hands over, and never two tick at once.

use std::sync::Arc;
use std::time::Duration;

use galaxy::{Effect, Engine, Epoch, Options, Order, fields, send};
use kernel::{Deadline, Store, SystemClock, reply};
use testkit::{Faulty, How, on_cluster, on_every_store};
use uuid::Uuid;

use crate::ticking::{KEYS, PLAYER, Ticking, ask, command, spawn, text};

on_every_store!(an_engine_ticks_obeys_and_pauses, |store| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let id = Uuid::new_v4();
    let made = engine.handle.ask(command(Some(id), Some(PLAYER), spawn("Wren"))).await.unwrap();
    assert_eq!(made, Ok(Effect::Spawned(id)));
    let seen = engine.until(|seen| seen.tick >= 5 && seen.ships.len() == 1).await;
    assert_eq!(seen.ships[0].name, "Wren");
    engine.ask(Order::Pause).await.unwrap();
    let paused = engine.until(|seen| seen.pace.paused).await;

    let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{id}")]).await);
    assert_eq!((stored["player_id"].as_str(), stored["name"].as_str()), (PLAYER, "Wren"));
    assert_eq!(
        reply::int(&ask(&store, &["SISMEMBER", "system:sol:ships", &id.to_string()]).await),
        Some(1)
    );
    assert_eq!(text(&store, "game:paused").await, "true");
    assert_eq!(text(&store, "game:tick_rate").await, "50.0");
    assert_eq!(text(&store, "game:total_spawns").await, "1");
    assert_eq!(text(&store, "game:tick").await, paused.tick.to_string());
    assert_eq!(reply::int(&ask(&store, &["XLEN", "galaxy:ships"]).await), Some(1));
    engine.end().await;
    assert_eq!(reply::int(&ask(&store, &["EXISTS", "game:engine_lock"]).await), Some(0));
});

on_every_store!(orders_of_another_server_come_by_the_stream, |store| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let id = Uuid::new_v4();
    send(&*store, KEYS, &command(Some(id), Some(PLAYER), spawn("Far"))).await.unwrap();
    engine.until(|seen| seen.ships.len() == 1).await;
    let thrust =
        Order::Control { thrust_level: Some(7.0), rotation_input: None, translation_input: None };
    let foreign = "770e8400-e29b-41d4-a716-446655440001";
    send(&*store, KEYS, &command(Some(id), Some(foreign), thrust.clone())).await.unwrap();
    let dropped = engine.until(|seen| seen.numbers.orders_dropped == 1).await;
    assert_eq!(
        dropped.ships[0].hull.thrust_level.to_bits(),
        0.0_f64.to_bits(),
        "not theirs to fly"
    );
    send(&*store, KEYS, &command(Some(id), Some(PLAYER), thrust)).await.unwrap();
    engine.until(|seen| seen.ships[0].hull.thrust_level >= 1.0).await;
    send(&*store, KEYS, &command(Some(id), Some(PLAYER), Order::Despawn)).await.unwrap();
    engine.until(|seen| seen.ships.is_empty()).await;
    assert_eq!(reply::int(&ask(&store, &["EXISTS", &format!("ship:{id}")]).await), Some(0));
    engine.end().await;
});

on_every_store!(a_second_engine_waits_and_goes_on_where_the_first_stopped, |store| {
    let first = Ticking::start(&store, "a");
    first.until(|seen| seen.leads).await;
    first.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let second = Ticking::start(&store, "b");
    first.until(|seen| seen.tick > 10).await;
    assert!(!second.handle.seen().borrow().leads);
    assert!(second.handle.ask(command(None, None, Order::Pause)).await.is_none());
    first.end().await;
    let stopped: u64 = text(&store, "game:tick").await.parse().unwrap();
    let seen = second.until(|seen| seen.leads && seen.tick > stopped).await;
    assert!(seen.pace.rate > 49.0);
    second.end().await;
});

on_every_store!(what_was_ordered_while_the_store_failed_is_written_when_it_is_back, |store| {
    for how in [How::NotSent, How::RequestLost, How::AnswerLost] {
        let faulty = Faulty::new(Arc::clone(&store));
        let shared: Arc<dyn Store> = faulty.clone();
        let engine = Ticking::start(&shared, "a");
        engine.until(|seen| seen.leads).await;
        engine.ask(Order::TickRate { tick_rate: 20.0 }).await.unwrap();
        let id = Uuid::new_v4();
        // A turn is four calls or three: by fives, reading orders, looking and writing fail in turn.
        faulty.fail_every(5, how);
        let made = engine.handle.ask(command(Some(id), Some(PLAYER), spawn("Wren"))).await;
        assert_eq!(made, Some(Ok(Effect::Spawned(id))), "{how:?}");
        let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{id}")]).await);
        assert_eq!(stored["player_id"], PLAYER, "who hears of it finds it: {how:?}");
        let member = ask(&store, &["SISMEMBER", "system:sol:ships", &id.to_string()]).await;
        assert_eq!(reply::int(&member), Some(1));
        let thrust = Order::Control {
            thrust_level: Some(0.5),
            rotation_input: None,
            translation_input: None,
        };
        engine.order(id, thrust).await.unwrap();
        engine
            .until(|seen| seen.numbers.failed_writes > 1 && seen.ships[0].hull.thrust_level > 0.4)
            .await;
        faulty.fail_every(0, how);
        let before = engine.handle.seen().borrow().tick;
        engine.until(|seen| seen.tick > before + 3).await;
        let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{id}")]).await);
        assert_eq!(stored["thrust_level"], "0.5", "{how:?}");
        engine.order(id, Order::Despawn).await.unwrap();
        engine.end().await;
    }
});

on_every_store!(what_makes_no_sense_is_refused_and_changes_nothing, |store| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    for order in [
        Order::TickRate { tick_rate: 0.0 },
        Order::TickRate { tick_rate: f64::NAN },
        Order::TimeScale { time_scale: 100.5 },
        Order::TimeScale { time_scale: 2.0 },
        Order::StationRemove { id: Uuid::new_v4() },
        Order::Undock,
        spawn(""),
    ] {
        assert!(engine.ask(order.clone()).await.is_err(), "{order:?}");
    }
    engine.ask(Order::TimeSync { enabled: false }).await.unwrap();
    engine.ask(Order::TimeScale { time_scale: 2.0 }).await.unwrap();
    engine.until(|seen| seen.pace.scale > 1.9).await;
    engine.end().await;
});

on_cluster!(the_engine_ticks_on_a_cluster_too, |store, _cluster| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 20.0 }).await.unwrap();
    let id = Uuid::new_v4();
    engine.handle.ask(command(Some(id), Some(PLAYER), spawn("Wren"))).await.unwrap().unwrap();
    engine.until(|seen| seen.tick > 3 && !seen.ships.is_empty()).await;
    engine.end().await;
    let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{id}")]).await);
    assert_eq!(stored["name"], "Wren");
});

on_every_store!(whoever_asks_from_another_server_hears_what_became_of_it, |store| {
    use futures_util::StreamExt as _;
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let topics = [kernel::Topic::Channel("galaxy:bus".into())];
    let mut bus = store.subscribe(&topics, Deadline::after(Duration::from_secs(5))).await.unwrap();
    let undock = command(Some(Uuid::new_v4()), Some(PLAYER), Order::Undock);
    galaxy::send_asking(&*store, KEYS, &undock, "q1").await.unwrap();
    let pause = command(None, None, Order::Pause);
    galaxy::send_asking(&*store, KEYS, &pause, "q2").await.unwrap();
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let heard = tokio::time::timeout(Duration::from_secs(10), bus.next()).await.unwrap();
        if let Some(kernel::Message::Payload { payload, .. }) = heard {
            answers.push(serde_json::from_slice::<galaxy::Answer>(&payload).unwrap());
        }
    }
    assert_eq!(answers[0].answer, "q1");
    assert_eq!(answers[0].refused.as_ref().unwrap().code, "not_found");
    assert_eq!((answers[1].answer.as_str(), &answers[1].refused), ("q2", &None));
    assert_eq!(text(&store, "game:paused").await, "true", "an answer comes after the write");
    engine.end().await;
});

on_every_store!(an_order_to_a_world_that_nobody_ticks_is_carried_out_alone, |store| {
    let alone = async |order: Order| {
        let (engine, _) = Engine::new(
            Arc::clone(&store),
            Arc::new(SystemClock::new()),
            KEYS,
            Options { create: Some(Epoch::Now), ..Options::new("alone") },
        );
        engine.alone(&command(None, None, order)).await.unwrap()
    };
    assert_eq!(alone(Order::Pause).await, Some(Ok(Effect::Paced)));
    assert_eq!(text(&store, "game:paused").await, "true");
    assert!(matches!(alone(Order::TickRate { tick_rate: 500.0 }).await, Some(Err(_))));
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    assert_eq!(alone(Order::Resume).await, None, "somebody ticks it");
    engine.end().await;
});
