//! Several servers on one store: the bus in the order of the commits, forced closes by whoever lives, presence.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use testkit::{on_cluster, on_every_store};

use super::phone::{OFF, Party, Phone, device, server};
use crate::support::start;

on_every_store!(a_game_spread_over_two_servers, |store| {
    let (one, two) = (server(&store).await, server(&store).await);
    let mut party = Party::spread(&one, &[&one, &two], 4).await;
    party.start_game().await;
    party.start_vote("i1").await;
    for (n, phone) in party.phones.iter_mut().enumerate() {
        let vote = json!({"round_id": "r1", "item_id": "i1", "selections": ["s0"]});
        phone.ask("SUBMIT_VOTE", vote, "VOTE_ACK").await;
        assert_eq!(party.master.wait("PLAYER_VOTED").await["player_id"], format!("p{n}"));
    }
    assert_eq!(party.master.wait("VOTE_RESULTS").await["players"][3]["score_total"], 1);
    party.master.send("END_ITEM", json!({"round_id": "r1", "item_id": "i1"})).await;
    for phone in &mut party.phones {
        // In the order of the commits, on both servers.
        let mut versions = Vec::new();
        assert_eq!(phone.wait("ITEM_RESULT").await["mine"]["points_gained"], 1);
        while versions.len() < 2 {
            versions.push(phone.wait("NEW_ITEM").await["version"].as_u64().unwrap());
        }
        assert!(versions.is_sorted(), "{versions:?}");
    }
    party.master.send("ROOM_CLOSED", json!({})).await;
    for phone in &mut party.phones {
        assert_eq!(phone.ended().await, Some(4000));
    }
});

on_every_store!(a_forced_close_survives_the_server_that_promised_it, |store| {
    let (mut one, two) = (server(&store).await, server(&store).await);
    let mut party = Party::spread(&one, &[&two], 2).await;
    party.start_game().await;
    party.start_vote("i1").await;
    let force = json!({"round_id": "r1", "item_id": "i1", "delay_ms": 300});
    party.master.send("FORCE_CLOSE_VOTE", force).await;
    party.phones[0].wait("VOTE_FORCE_CLOSE_STARTED").await;
    // The server of the Master stops; its socket goes with it.
    one.stop.cancel();
    one.done.take().unwrap().await.unwrap().unwrap();
    assert_eq!(party.master.ended().await, Some(1001));
    let mut master = Phone::open(&two).await;
    let sync = json!({"code": party.code, "master_key": party.key});
    let mut state = master.ask("STATE_SYNC", sync.clone(), "STATE_SYNC_RESPONSE").await;
    if state["game"]["status"] == "vote" {
        master.wait("VOTE_RESULTS").await;
        state = master.ask("STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await;
    }
    assert_eq!(state["game"]["status"], "reveal_wait");
    assert_eq!(state["game"]["current_vote_results"]["players"][0]["points_gained"], 0);
});

on_every_store!(presence_follows_sockets_over_servers, |store| {
    let (one, mut two) = (server(&store).await, server(&store).await);
    let mut party = Party::spread(&one, &[&one, &two], 2).await;
    let mut online = std::collections::HashSet::new();
    while online.len() < 2 {
        let told = party.master.wait("PRESENCE").await;
        assert_eq!(told["connected"], true);
        online.insert(told["player_id"].as_str().unwrap().to_owned());
    }
    // A second socket of the same device changes nothing, and neither does its end.
    let mut twin = Phone::open(&one).await;
    twin.ask(
        "STATE_SYNC",
        json!({"code": party.code, "device_id": device(0)}),
        "STATE_SYNC_RESPONSE",
    )
    .await;
    drop(twin);
    party.phones.remove(0);
    let told = party.master.wait("PRESENCE").await;
    assert_eq!((&told["player_id"], &told["connected"]), (&json!("p0"), &json!(false)));
    // A server that stops takes its people along.
    two.stop.cancel();
    two.done.take().unwrap().await.unwrap().unwrap();
    let told = party.master.wait("PRESENCE").await;
    assert_eq!((&told["player_id"], &told["connected"]), (&json!("p1"), &json!(false)));
    // The Master's own presence is told to the players.
    let mut phone = Phone::open(&one).await;
    phone.ask("JOIN_ROOM", json!({"code": party.code, "device_id": device(0)}), "JOIN_OK").await;
    drop(party.master);
    let told = phone.wait("PRESENCE").await;
    assert_eq!((&told["role"], &told["connected"]), (&json!("master"), &json!(false)));
});

on_every_store!(a_dead_servers_leases_run_out_and_it_is_told, |store| {
    let clock = Arc::new(kernel::FakeClock::at(kernel::Clock::now_ms(&kernel::SystemClock::new())));
    let rooms =
        rooms::Rooms::new(Arc::clone(&store), clock.clone(), kernel::keyspace::Layout::Plain);
    let setup = rooms::Setup::read(&super::phone::setup(2).to_string()).unwrap();
    let made = rooms.create(&setup).await.unwrap();
    let device = device(0);
    let caller = rooms::Caller { device: Some(&device), ..rooms::Caller::default() };
    let take = rooms::Command::TakePlayer { player_id: "p0".into() };
    rooms.act(&made.code, &caller, &take).await.unwrap();
    assert!(rooms.presence(&made.code, "dead", "p0", rooms::Presence::Came).await.unwrap());
    let master =
        rooms::Caller { proof: rooms::Proof::Key(&made.master_key), ..rooms::Caller::default() };
    let online = async || {
        rooms
            .sync(&made.code, &master)
            .await
            .unwrap()
            .reply
            .payload
            .get()
            .contains(r#""connected_player_ids":["p0"]"#)
    };
    assert!(online().await);
    clock.advance(Duration::from_secs(61));
    assert!(!online().await, "right after the lease has run out, whoever looks");
    let here = [(made.code.clone(), Vec::new())];
    let bus = rooms.bus(&made.code).unwrap().as_str().to_owned();
    let topics = [kernel::Topic::Channel(bus)];
    let mut heard =
        store.subscribe(&topics, kernel::Deadline::after(Duration::from_secs(5))).await.unwrap();
    rooms.renew("alive", &here).await.unwrap();
    let told = futures_util::StreamExt::next(&mut heard).await.unwrap();
    let kernel::Message::Payload { payload, .. } = told else { panic!("{told:?}") };
    let text = String::from_utf8(payload).unwrap();
    assert!(text.contains(r#""player_id":"p0","connected":false"#), "{text}");
});

on_cluster!(a_game_on_a_cluster_is_heard_by_two_servers, |store, _cluster| {
    let mut settings = OFF.to_vec();
    settings.push(("layout", "tagged"));
    let (one, two) = (start(Arc::clone(&store), &settings).await, start(store, &settings).await);
    let mut party = Party::spread(&one, &[&two], 2).await;
    party.start_game().await;
    party.start_vote("i1").await;
    let vote = json!({"round_id": "r1", "item_id": "i1", "selections": ["s0"]});
    party.phones[0].ask("SUBMIT_VOTE", vote, "VOTE_ACK").await;
    let force = json!({"round_id": "r1", "item_id": "i1", "delay_ms": 50});
    party.master.send("FORCE_CLOSE_VOTE", force).await;
    let results = party.master.wait("VOTE_RESULTS").await;
    assert_eq!(results["players"][0]["score_total"], 1);
    party.master.send("ROOM_CLOSED", json!({})).await;
    for phone in &mut party.phones {
        assert_eq!(phone.ended().await, Some(4000));
    }
});

on_every_store!(guessed_codes_count_on_all_servers_together, |store| {
    let mut settings = OFF.to_vec();
    settings.push(("rooms.unknown_codes_per_minute", "3"));
    let (one, two) = (start(store.clone(), &settings).await, start(store, &settings).await);
    let guess = |n: usize| json!({"code": format!("ZZZZ{n}"), "device_id": "guesser-1"});
    let mut there = Phone::open(&one).await;
    for n in 0..2 {
        assert_eq!(there.refused("JOIN_ROOM", guess(n)).await, "room_not_found/room_not_found");
    }
    let mut here = Phone::open(&two).await;
    assert_eq!(here.refused("JOIN_ROOM", guess(2)).await, "room_not_found/room_not_found");
    assert_eq!(here.refused("JOIN_ROOM", guess(3)).await, "rate_limited/too_many_codes");
    assert_eq!(here.ended().await, Some(4429));
});
