//! Login and fleet: what the store is told of a player, and which ships come back.

use std::sync::Arc;

use galaxy::{Accounts, DatabaseAddress, FleetError, Fleets, Options, Order, Orders};
use kernel::{Refuses as _, Store, SystemClock};
use testkit::{on_cluster, on_every_store};
use uuid::Uuid;

use crate::ticking::{KEYS, Ticking, ask, hash, members, text};

async fn fleets(store: &Arc<dyn Store>, engine: &Ticking) -> Fleets {
    let clock = Arc::new(SystemClock::new());
    let accounts =
        Accounts::open(DatabaseAddress::Memory, Arc::clone(&clock) as _, None).await.unwrap();
    let (handle, options) = (engine.handle.clone(), Options::new("orders"));
    let orders =
        Arc::new(Orders::new(Arc::clone(store), Arc::clone(&clock) as _, KEYS, handle, options));
    Fleets::new(Arc::new(accounts), Arc::clone(store), clock, KEYS, orders)
}

// The answer used to come when the order was sent; the engine dropped it when it was ten seconds old.
on_every_store!(a_player_who_registers_before_an_engine_leads_has_a_ship, |store| {
    let before = Ticking::start(&store, "before");
    before.until(|seen| seen.leads).await;
    before.end().await;
    // The lock of an engine that was killed.
    ask(&store, &["SET", "game:engine_lock", "killed", "PX", "2000"]).await;
    let engine = Ticking::start(&store, "a");
    let fleets = fleets(&store, &engine).await;
    let (ann, fleet) = fleets.register("ann", "correct horse").await.unwrap();
    let stored = hash(&store, &format!("ship:{}", fleet.ships[0].id)).await;
    assert_eq!(stored["player_id"], ann.id.to_string(), "who is in has a ship");
    let taken = fleets.register("ann", "correct horse").await.unwrap_err();
    assert_eq!(code(&taken), Some("E010"), "what was answered is not repeated");
    engine.end().await;
});

on_every_store!(a_registration_that_was_cut_short_is_completed, |store| {
    let engine = Ticking::start(&store, "a");
    engine.until(|seen| seen.leads).await;
    let fleets = fleets(&store, &engine).await;
    // The account is made, and the process ends before the ship is.
    let (ann, _) = fleets.accounts().register("ann", "correct horse").await.unwrap();
    let (ben, _) = fleets.accounts().register("ben", "correct horse").await.unwrap();
    let wrong = fleets.register("ann", "another horse").await.unwrap_err();
    assert_eq!(code(&wrong), Some("E010"), "a name is nobody else's");
    let (again, fleet) = fleets.register("ann", "correct horse").await.unwrap();
    assert_eq!(again.id, ann.id);
    assert_eq!(hash(&store, &format!("ship:{}", fleet.ships[0].id)).await["name"], "ann");
    assert_eq!(fleets.complete().await.unwrap(), 1, "the other one, at the next start");
    let ships = fleets.accounts().ships_of(ben.id).await.unwrap();
    assert_eq!(hash(&store, &format!("ship:{}", ships[0].id)).await["name"], "ben");
    assert_eq!(fleets.complete().await.unwrap(), 0);
    // One more ship, cut short in the same place.
    let wren = fleets.accounts().add_ship(ann.id, "Wren", None).await.unwrap();
    assert_eq!(fleets.add_ship(ann.id, "Wren", None).await.unwrap().id, wren.id);
    let twice = fleets.add_ship(ann.id, "Wren", None).await.unwrap_err();
    assert_eq!(code(&twice), Some("E015"));
    engine.end().await;
});

fn code(error: &FleetError) -> Option<&'static str> {
    match error {
        FleetError::Account(error) => error.def().map(|def| def.code),
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
    let despawn = galaxy::Command {
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
