//! The same people play on: names, photos, seats and devices go along, in one step that everybody hears of.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kernel::{Fault, Store};
use serde_json::json;
use testkit::{How, Network, Sent, Weather, on_cluster, on_every_store};

use crate::support::{Party, ask, device, int, photo, setup, text};

/// A room of three with a photo, a player added by hand, and one seat that nobody took.
async fn people(party: &Party) -> String {
    party.seat_all(2).await;
    let said = party.play(&device(0), "UPDATE_AVATAR", json!({"image": photo(7)})).await;
    assert_eq!(said, "ok");
    assert_eq!(party.play(&device(1), "RENAME_PLAYER", json!({"new_name": "Zoë"})).await, "ok");
    assert_eq!(party.master("ADD_PLAYER", json!({"name": "Guest"})).await, "ok");
    let players = party.json("players").await;
    let guest = players[3]["player_id"].as_str().unwrap().to_owned();
    let said = party.play("device-guest", "TAKE_PLAYER", json!({"player_id": guest})).await;
    assert_eq!(said, "TAKE_PLAYER_OK");
    guest
}

fn next_setup(seats: &serde_json::Value) -> rooms::Setup {
    let item = json!({"item_id": "i1", "reel": {"reel_id": "n", "url": "https://example.test/new"}, "true_sender_ids": ["s1"]});
    let mut body = json!({
        "senders": [{"sender_id": "s1", "name": "Zoë"}, {"sender_id": "s2", "name": "n0"}, {"sender_id": "s3", "name": "new"}],
        "rounds": [{"round_id": "r1", "items": [item]}],
        "rules": {"vote_ms": 20_000},
    });
    if !seats.is_null() {
        body["seats"] = seats.clone();
    }
    rooms::Setup::read(&body.to_string()).unwrap()
}

async fn plays_on(party: &Party, seats: &serde_json::Value) {
    let guest = people(party).await;
    let before = party.state(None, true).await;
    let made = party.rooms.next(&party.code, &party.key, &next_setup(seats)).await.unwrap();
    assert_eq!(made.master_key, party.key, "the same key directs it");
    let new = Party { code: made.code.clone(), ..party.clone() };
    let claims = new.hash("claims").await;
    assert_eq!(claims.len(), 3, "{claims:?}");
    assert_eq!((&*claims["p1"], &*claims["p2"]), ("device-1", "device-0"));
    assert_eq!(claims[&guest], "device-guest");
    let players = new.json("players").await;
    let names: Vec<_> =
        players.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Zoë", "n0", "new", "Guest"]);
    assert_eq!(players[1]["avatar_url"], photo(7), "photos go along");
    assert_eq!(players[0]["avatar_url"], json!(null));
    assert_eq!(new.hash("scores").await.values().collect::<Vec<_>>(), ["0", "0", "0", "0"]);
    new.lives_agree().await;
    let mine = new.state(Some("device-0"), false).await;
    assert_eq!(mine["my_player_id"], "p2");
    assert_eq!(mine["rules"]["vote_ms"], 20_000);
    assert!(mine.get("next_code").is_none());
    // The old room is as it was, and says where everybody is, also to whoever comes later.
    let mut after = party.state(None, true).await;
    assert_eq!(after["next_code"], made.code);
    after.as_object_mut().unwrap().remove("next_code");
    assert_eq!(after, before);
    party.lives_agree().await;
    let again = party.rooms.next(&party.code, &party.key, &next_setup(seats)).await;
    let refused = again.unwrap_err().refused();
    assert_eq!(
        (refused.message, refused.details),
        ("already_moved", Some(json!({"code": made.code})))
    );
}

on_every_store!(people_play_on_with_their_seats_names_and_photos, |store| {
    plays_on(&Party::new(&store, 3, &[1]).await, &json!(null)).await;
    plays_on(&Party::new(&store, 3, &[1]).await, &json!({"s1": "p1", "s2": "p0"})).await;
    assert_eq!(int(&*store, &["ZCARD", "wk:rooms:due"]).await, 0);
});

on_cluster!(people_play_on_in_a_room_of_another_slot, |store, _cluster| {
    for _ in 0..4 {
        plays_on(&Party::tagged(&store, 3, &[1]).await, &json!(null)).await;
    }
});

on_every_store!(nobody_moves_on_without_the_key_or_with_wrong_seats, |store| {
    let store = testkit::as_default(&store);
    let party = Party::new(&store, 3, &[1]).await;
    people(&party).await;
    let rooms = || async { ask(&*store, &["KEYS", "room:*:meta"]).await };
    let before = rooms().await;
    for (key, seats, word) in [
        ("wrong", json!(null), "bad_master_key"),
        (&*party.key, json!({"s9": "p0"}), "seats_invalid"),
        (&*party.key, json!({"s1": "nobody"}), "seats_invalid"),
        (&*party.key, json!({"s1": "p0", "s2": "p0"}), "seats_invalid"),
    ] {
        let refused = party.rooms.next(&party.code, key, &next_setup(&seats)).await.unwrap_err();
        assert_eq!(refused.refused().message, word, "{seats}");
    }
    assert_eq!(rooms().await, before, "no room was made");
    assert_eq!(party.state(None, true).await.get("next_code"), None);
});

on_every_store!(two_screens_that_press_at_once_make_one_room, |store| {
    let store = testkit::as_default(&store);
    let party = Party::new(&store, 3, &[1]).await;
    people(&party).await;
    let press =
        || async { party.rooms.next(&party.code, &party.key, &next_setup(&json!(null))).await };
    let (one, two, three) = tokio::join!(press(), press(), press());
    let all = [one, two, three];
    let won: Vec<_> = all.iter().filter_map(|made| made.as_ref().ok()).collect();
    assert_eq!(won.len(), 1, "{all:?}");
    let next = format!("wk:rooms:{}:next", party.code);
    assert_eq!(text(&*store, &["GET", &next]).await, won[0].code);
    for made in all.iter().filter_map(|made| made.as_ref().err()) {
        assert_eq!(made.refused().message, "already_moved");
    }
    let kept = ask(&*store, &["KEYS", "room:*:meta"]).await;
    assert_eq!(
        kernel::reply::list(&kept).unwrap().len(),
        2,
        "those that lost left nothing: {kept:?}"
    );
});

on_every_store!(a_closed_room_forgets_where_its_people_went, |store| {
    let party = Party::new(&store, 3, &[1]).await;
    people(&party).await;
    let made = party.rooms.next(&party.code, &party.key, &setup(2, &[1])).await.unwrap();
    assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "ok");
    for own in ["next", "rules"] {
        let key = format!("wk:rooms:{}:{own}", party.code);
        assert_eq!(int(&*store, &["EXISTS", &key]).await, 0, "{key}");
    }
    assert_eq!(party.rooms.show(&made.code).await.unwrap().players_active, 3);
});

/// A store that answers so often, and then never again.
struct Dies(AtomicUsize);

impl Weather for Dies {
    fn before(&self, _: Sent) -> Pin<Box<dyn Future<Output = How> + Send + '_>> {
        Box::pin(async move {
            let left = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            if left.is_err() {
                std::future::pending::<()>().await;
            }
            How::Arrives
        })
    }
}

// Each call of a move had its own time: a store that died midway kept the host waiting for several of them.
on_every_store!(a_store_that_dies_midway_keeps_nobody_waiting_for_long, |store| {
    let network = Network::under(Dies(AtomicUsize::new(usize::MAX)), store.clone());
    let party = Party::new(&(Arc::clone(&network) as Arc<dyn Store>), 3, &[1]).await;
    people(&party).await;
    network.weather.0.store(1, Relaxed);
    let setup = next_setup(&json!(null));
    let moved = party.rooms.next(&party.code, &party.key, &setup);
    let moved = tokio::time::timeout(Duration::from_mins(1), moved).await;
    let error = moved.expect("waited 60 s for an answer").unwrap_err();
    assert!(matches!(error, rooms::RoomError::Fault(Fault::Unknown(_))), "{error:?}");
});
