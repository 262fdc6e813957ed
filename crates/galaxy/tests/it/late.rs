//! A store that is slower than the ticks: the next one is computed while the one before is written, and nothing that
//! was ordered gets lost when such a write fails.

use std::sync::Arc;
use std::time::Duration;

use galaxy::{Effect, Order, fields};
use kernel::Store;
use testkit::{Faulty, How, on_every_store};
use uuid::Uuid;

use crate::ticking::{PLAYER, Ticking, ask, command, spawn, text};

on_every_store!(late_ticks_are_computed_while_the_store_takes_the_one_before, |store| {
    for how in [How::NotSent, How::RequestLost, How::AnswerLost] {
        let faulty = Faulty::new(Arc::clone(&store));
        let shared: Arc<dyn Store> = faulty.clone();
        let engine = Ticking::start(&shared, "a");
        engine.until(|seen| seen.leads).await;
        engine.ask(Order::TickRate { tick_rate: 100.0 }).await.unwrap();
        faulty.delay(Duration::from_millis(20));
        engine.until(|seen| seen.numbers.behind > 5).await;
        let id = Uuid::new_v4();
        let made = engine.handle.ask(command(Some(id), Some(PLAYER), spawn("Wren"))).await;
        assert_eq!(made, Some(Ok(Effect::Spawned(id))), "{how:?}");
        let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{id}")]).await);
        assert_eq!(stored["player_id"], PLAYER, "who hears of it finds it: {how:?}");
        faulty.fail_every(5, how);
        let failed = engine.handle.seen().borrow().numbers.failed_writes;
        let other = Uuid::new_v4();
        let made = engine.handle.ask(command(Some(other), Some(PLAYER), spawn("Lark"))).await;
        assert_eq!(made, Some(Ok(Effect::Spawned(other))), "{how:?}");
        let thrust = Order::Control {
            thrust_level: Some(0.5),
            rotation_input: None,
            translation_input: None,
        };
        engine.order(id, thrust).await.unwrap();
        engine.until(|seen| seen.numbers.failed_writes > failed + 1).await;
        faulty.fail_every(0, how);
        faulty.delay(Duration::ZERO);
        let before = engine.handle.seen().borrow().tick;
        engine.until(|seen| seen.tick > before + 20).await;
        engine.ask(Order::Pause).await.unwrap();
        let seen = engine.until(|seen| seen.pace.paused).await;
        assert_eq!(text(&store, "game:tick").await, seen.tick.to_string(), "{how:?}");
        for (ship, name) in [(id, "Wren"), (other, "Lark")] {
            let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{ship}")]).await);
            assert_eq!(stored["name"], name, "{how:?}");
            let shown = seen.ship(ship).unwrap();
            assert_eq!(stored["position"], galaxy::text::vector(shown.position), "{how:?}");
        }
        let stored = fields(&ask(&store, &["HGETALL", &format!("ship:{id}")]).await);
        assert_eq!(stored["thrust_level"], "0.5", "{how:?}");
        for ship in [id, other] {
            engine.order(ship, Order::Despawn).await.unwrap();
        }
        engine.ask(Order::Resume).await.unwrap();
        engine.end().await;
    }
});
