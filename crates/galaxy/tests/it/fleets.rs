//! Login and fleet: what the store is told of a player, and which ships come back.

use std::sync::Arc;

use galaxy::accounts::{Accounts, FleetError, Fleets};
use galaxy::database::Place;
use galaxy::orders::Order;
use kernel::{Store, SystemClock};
use testkit::{on_cluster, on_every_store};
use uuid::Uuid;

use crate::ticking::{KEYS, Ticking, ask, hash, members, text};

async fn fleets(store: &Arc<dyn Store>, engine: &Ticking) -> Fleets {
    let clock = Arc::new(SystemClock::new());
    let accounts = Accounts::open(Place::Memory, Arc::clone(&clock) as _, None).await.unwrap();
    let handle = Some(engine.handle.clone());
    Fleets::new(Arc::new(accounts), Arc::clone(store), clock, KEYS, handle)
}

fn code(error: &FleetError) -> Option<&'static str> {
    match error {
        FleetError::Account(error) => error.code(),
        _ => None,
    }
}

async fn the_whole_story(store: Arc<dyn Store>) {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
    let fleets = fleets(&store, &engine).await;
    let (ann, fleet) = fleets.register("ann", "correct horse").await.unwrap();
    let first = fleet.ships[0].id;
    assert_eq!((fleet.active, fleet.respawned), (Some(first), 1));
    engine.until(|seen| seen.tick > 2 && seen.ships.iter().any(|ship| ship.id == first)).await;
    let stored = hash(&store, &format!("ship:{first}")).await;
    assert_eq!((stored["name"].as_str(), stored["player_id"].clone()), ("ann", ann.id.to_string()));

    let second = fleets.add_ship(ann.id, "Wren", Some("cargo_hauler")).await.unwrap().id;
    engine.until(|seen| seen.ships.len() == 2).await;
    fleets.switch(ann.id, second).await.unwrap();
    let foreign = fleets.switch(ann.id, Uuid::new_v4()).await.unwrap_err();
    assert_eq!(code(&foreign), Some("E014"));
    fleets.rename(ann.id, second, "Owl").await.unwrap();
    engine.until(|seen| seen.ships.iter().any(|ship| ship.name == "Owl")).await;

    // The store loses a ship and gets a stranger; the next login puts it right and leaves the choice alone.
    engine.ask(Order::Pause).await.unwrap();
    let key = format!("player:{}:ships", ann.id);
    ask(&store, &["SADD", &key, "somebody"]).await;
    let despawn = galaxy::orders::Command {
        at_ms: u64::MAX,
        player_id: None,
        ship_id: Some(second),
        order: Order::Despawn,
    };
    engine.handle.ask(despawn).await.unwrap().unwrap();
    engine.until(|seen| seen.ships.len() == 1).await;
    let (_, fleet) = fleets.login("ann", "correct horse").await.unwrap();
    assert_eq!((fleet.active, fleet.respawned), (Some(second), 1));
    let mut ids = [first.to_string(), second.to_string()];
    ids.sort();
    assert_eq!(members(&store, &key).await, ids);
    engine.until(|seen| seen.ships.len() == 2).await;
    assert_eq!(hash(&store, &format!("ship:{second}")).await["ship_class"], "cargo_hauler");
    let (_, again) = fleets.login("ann", "correct horse").await.unwrap();
    assert_eq!(again.respawned, 0);

    // A choice that is not theirs any more falls back to the first.
    ask(&store, &["SET", &format!("player:{}:active_ship", ann.id), "nonsense"]).await;
    assert_eq!(fleets.login("ann", "correct horse").await.unwrap().1.active, Some(first));

    fleets.delete_player(ann.id).await.unwrap();
    engine.until(|seen| seen.ships.is_empty()).await;
    assert_eq!(members(&store, &key).await, [] as [&str; 0]);
    assert_eq!(members(&store, "system:sol:ships").await, [] as [&str; 0]);
    assert_eq!(text(&store, &format!("player:{}:active_ship", ann.id)).await, "");
    assert_eq!(code(&fleets.login("ann", "correct horse").await.unwrap_err()), Some("E005"));
    engine.end().await;
}

on_every_store!(a_fleet_lives_through_logins_and_losses, |store| { the_whole_story(store).await });
on_cluster!(a_fleet_lives_on_a_cluster, |store, _cluster| { the_whole_story(store).await });

on_every_store!(registration_can_be_closed_and_login_cannot, |store| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    let fleets = fleets(&store, &engine).await;
    assert!(fleets.registration_open().await.unwrap());
    fleets.register("ann", "correct horse").await.unwrap();
    fleets.set_registration(false).await.unwrap();
    assert_eq!(text(&store, "game:registration_open").await, "false");
    assert_eq!(code(&fleets.register("ben", "correct horse").await.unwrap_err()), Some("E020"));
    fleets.login("ann", "correct horse").await.unwrap();
    fleets.set_registration(true).await.unwrap();
    fleets.register("ben", "correct horse").await.unwrap();
    engine.end().await;
});
