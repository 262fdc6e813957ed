//! Everybody at once: last votes, claims, renames, photos and toggles, two Masters. Each race has one winner,
//! nobody's change is lost, and nothing is counted twice.

use std::collections::HashSet;
use std::sync::Arc;

use kernel::Store;
use serde_json::json;
use testkit::on_every_store;

use crate::support::{Party, device, photo, trials};

/// Runs all of them at the same time on threads of their own.
async fn together<T: Send + 'static>(all: Vec<impl Future<Output = T> + Send + 'static>) -> Vec<T> {
    let tasks: Vec<_> = all.into_iter().map(tokio::spawn).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.unwrap());
    }
    done
}

/// `voters` last votes at once: one close, one point each.
pub(crate) async fn last_votes(party: &Party, voters: usize, trial: usize) {
    let items = 64;
    let (round, item) = (format!("r{}", trial / items + 1), format!("i{}", trial % items + 1));
    party.open_item(&round, &item).await;
    // s<n> sent the nth reel; every third has two senders.
    let truth = format!("s{}", (trial + 1) % voters);
    let before = party.hash("scores").await;
    let version = party.json("game").await["version"].as_u64().unwrap();
    let votes = (0..voters)
        .map(|n| {
            let (party, round, item, truth) =
                (party.clone(), round.clone(), item.clone(), truth.clone());
            async move { party.vote(n, &round, &item, &[&truth]).await }
        })
        .collect();
    for said in together(votes).await {
        assert_eq!(said, "VOTE_ACK");
    }
    let game = party.json("game").await;
    assert_eq!(game["status"], "reveal_wait");
    assert_eq!(game["version"].as_u64().unwrap(), version + 1, "closed once");
    let after = party.hash("scores").await;
    for (player, score) in after {
        let old: i64 = before[&player].parse().unwrap();
        assert_eq!(score.parse::<i64>().unwrap(), old + 1, "{player} of trial {trial}");
    }
    party.master("END_ITEM", json!({"round_id": round, "item_id": item})).await;
    if trial % items == items - 1 {
        party.master("START_NEXT_ROUND", json!({})).await;
    }
}

async fn many_last_votes(store: &Arc<dyn Store>, trials: usize) {
    let voters = 8;
    let mut left = trials;
    while left > 0 {
        let some = left.min(640);
        let party = Party::new(store, voters, &vec![64; some.div_ceil(64)]).await;
        party.start(voters).await;
        for trial in 0..some {
            last_votes(&party, voters, trial).await;
        }
        party.lives_agree().await;
        left -= some;
    }
}

on_every_store!(last_votes_at_once_close_an_item_once, |store| {
    many_last_votes(&store, trials(100, 10_000)).await;
});

on_every_store!(of_many_devices_one_gets_the_player_and_of_many_players_one, |store| {
    for _ in 0..trials(10, 200) {
        let party = Party::new(&store, 8, &[1]).await;
        // Every device wants every player, in another order each.
        let wishes = (0..24)
            .map(|n| {
                let party = party.clone();
                async move {
                    for step in 0..8 {
                        let player = format!("p{}", (n * 3 + step * 5) % 8);
                        party.play(&device(n), "TAKE_PLAYER", json!({"player_id": player})).await;
                    }
                }
            })
            .collect();
        together(wishes).await;
        let claims = party.hash("claims").await;
        let devices: HashSet<&String> = claims.values().collect();
        assert_eq!((claims.len(), devices.len()), (8, 8), "{claims:?}");
    }
});

on_every_store!(no_rename_photo_or_toggle_is_lost, |store| {
    for trial in 0..trials(5, 200) {
        let party = Party::new(&store, 6, &[1]).await;
        party.seat_all(5).await;
        let mut all: Vec<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = Vec::new();
        for n in 0..5 {
            let (one, two) = (party.clone(), party.clone());
            all.push(Box::pin(async move {
                one.play(
                    &device(n),
                    "RENAME_PLAYER",
                    json!({"new_name": format!("name {trial} {n}")}),
                )
                .await
            }));
            all.push(Box::pin(async move {
                two.play(&device(n), "UPDATE_AVATAR", json!({"image": photo(n)})).await
            }));
        }
        let off = party.clone();
        all.push(Box::pin(async move {
            off.master("TOGGLE_PLAYER", json!({"player_id": "p5", "active": false})).await
        }));
        for said in together(all).await {
            assert_eq!(said, "ok");
        }
        let (players, senders) = (party.json("players").await, party.json("senders").await);
        for n in 0..5 {
            let name = format!("name {trial} {n}");
            assert_eq!(players[n]["name"], name);
            assert_eq!(senders[n]["name"], name);
            assert_eq!(players[n]["avatar_url"], photo(n));
        }
        assert_eq!(players[5]["active"], false);
    }
});

on_every_store!(a_player_that_is_switched_off_is_held_by_nobody, |store| {
    for _ in 0..trials(20, 500) {
        let party = Party::new(&store, 3, &[1]).await;
        let (one, two) = (party.clone(), party.clone());
        let all: Vec<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = vec![
            Box::pin(async move {
                one.play("device-1", "TAKE_PLAYER", json!({"player_id": "p1"})).await
            }),
            Box::pin(async move {
                two.master("TOGGLE_PLAYER", json!({"player_id": "p1", "active": false})).await
            }),
        ];
        together(all).await;
        assert_eq!(party.json("players").await[1]["active"], false);
        assert!(!party.hash("claims").await.contains_key("p1"));
    }
});

on_every_store!(a_seat_given_up_during_the_start_either_stays_or_stops_it, |store| {
    for _ in 0..trials(20, 500) {
        let party = Party::new(&store, 2, &[1]).await;
        party.seat_all(2).await;
        let (one, two) = (party.clone(), party.clone());
        let all: Vec<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = vec![
            Box::pin(async move { one.play("device-1", "RELEASE_PLAYER", json!({})).await }),
            Box::pin(async move { two.master("START_GAME", json!({})).await }),
        ];
        let said = together(all).await;
        let (seats, phase) =
            (party.hash("claims").await.len(), party.json("meta").await["phase"].clone());
        match said[1].as_str() {
            "ok" => assert_eq!((seats, phase), (2, json!("game")), "{said:?}"),
            "forbidden/unclaimed_players" => {
                assert_eq!((seats, phase), (1, json!("lobby")), "{said:?}");
            }
            other => panic!("{other}"),
        }
    }
});

on_every_store!(two_masters_pressing_at_once_advance_once, |store| {
    let items = trials(20, 60);
    let party = Party::new(&store, 2, &[items]).await;
    party.start(2).await;
    for n in 1..=items {
        let place = json!({"round_id": "r1", "item_id": format!("i{n}")});
        for (kind, ready) in [("REEL_OPENED", "vote"), ("END_ITEM", "")] {
            if kind == "END_ITEM" {
                for voter in 0..2 {
                    party.vote(voter, "r1", &format!("i{n}"), &[]).await;
                }
            }
            let both = (0..2)
                .map(|_| {
                    let (party, place) = (party.clone(), place.clone());
                    async move { party.master(kind, place).await }
                })
                .collect();
            let mut said = together(both).await;
            said.sort();
            assert_eq!(said, ["conflict/bad_status", "ok"]);
            if !ready.is_empty() {
                assert_eq!(party.json("game").await["status"], ready);
            }
        }
        assert_eq!(party.json("game").await["current_item_index"], n);
    }
});

on_every_store!(a_forced_close_and_the_last_vote_count_once, |store| {
    let items = trials(20, 60);
    let party = Party::new(&store, 2, &[items]).await;
    party.start(2).await;
    for n in 1..=items {
        let item = format!("i{n}");
        party.open_item("r1", &item).await;
        party.vote(0, "r1", &item, &[&format!("s{}", n % 2)]).await;
        party
            .master("FORCE_CLOSE_VOTE", json!({"round_id": "r1", "item_id": item, "delay_ms": 0}))
            .await;
        let (one, two, three) = (party.clone(), party.clone(), party.clone());
        let late = item.clone();
        let all: Vec<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = vec![
            Box::pin(async move { one.vote(1, "r1", &late, &[]).await }),
            Box::pin(async move { format!("{:?}", two.rooms.close_due(&two.code).await.is_ok()) }),
            Box::pin(
                async move { format!("{:?}", three.rooms.close_due(&three.code).await.is_ok()) },
            ),
        ];
        together(all).await;
        assert_eq!(party.hash("scores").await["p0"], n.to_string());
        party.master("END_ITEM", json!({"round_id": "r1", "item_id": item})).await;
    }
});

const PHONES: usize = 60;

/// Every phone changes its name and its photo, and the last one gives its seat up.
async fn phones_at_once(party: &Party, processes: &[rooms::Rooms]) {
    party.seat_all(PHONES).await;
    let mut all: Vec<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = Vec::new();
    for n in 0..PHONES {
        let own = Party { rooms: processes[n % processes.len()].clone(), ..party.clone() };
        let (name, photo) = (json!({"new_name": format!("phone {n}")}), json!({"image": photo(n)}));
        let (one, two) = (own.clone(), own);
        all.push(Box::pin(async move { one.play(&device(n), "RENAME_PLAYER", name).await }));
        all.push(Box::pin(async move { two.play(&device(n), "UPDATE_AVATAR", photo).await }));
    }
    for said in together(all).await {
        assert_eq!(said, "ok");
    }
    let (players, senders) = (party.json("players").await, party.json("senders").await);
    for n in 0..PHONES {
        assert_eq!(players[n]["name"], format!("phone {n}"));
        assert_eq!(senders[n]["name"], format!("phone {n}"));
        assert_eq!(players[n]["avatar_url"], photo(n));
    }
    let leave = (0..PHONES).map(|n| {
        let own = Party { rooms: processes[n % processes.len()].clone(), ..party.clone() };
        async move { own.play(&device(n), "RELEASE_PLAYER", json!({})).await }
    });
    for said in together(leave.collect()).await {
        assert_eq!(said, "ok");
    }
    assert_eq!(party.hash("claims").await.len(), 0);
}

on_every_store!(of_sixty_phones_that_change_one_room_none_is_refused, |store| {
    let party = Party::new(&store, PHONES, &[1]).await;
    phones_at_once(&party, std::slice::from_ref(&party.rooms)).await;
});

on_every_store!(sixty_phones_on_two_servers_change_one_room_and_none_is_refused, |store| {
    let party = Party::new(&store, PHONES, &[1]).await;
    let other = rooms::Rooms::new(store.clone(), party.clock.clone(), party.layout);
    phones_at_once(&party, &[party.rooms.clone(), other]).await;
});

on_every_store!(a_phone_that_hangs_up_takes_its_change_along_or_not_and_stops_nobody, |store| {
    let party = Party::new(&store, PHONES, &[1]).await;
    party.seat_all(PHONES).await;
    let mut calls: Vec<_> = (0..PHONES)
        .map(|n| {
            let party = party.clone();
            let name = json!({"new_name": format!("phone {n}")});
            Box::pin(async move { (n, party.play(&device(n), "RENAME_PLAYER", name).await) })
        })
        .collect();
    let mut said = vec![None; PHONES];
    for call in &mut calls {
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;
        if let std::task::Poll::Ready((n, word)) = polled {
            said[n] = Some(word);
        }
    }
    for (n, call) in calls.into_iter().enumerate() {
        // Every second phone hangs up while its change waits or is under way.
        if n % 2 == 0 && said[n].is_none() {
            said[n] = Some(call.await.1);
        }
    }
    let (players, senders) = (party.json("players").await, party.json("senders").await);
    for n in 0..PHONES {
        assert_eq!(players[n]["name"], senders[n]["name"], "all of a change or nothing");
        let name = players[n]["name"].as_str().unwrap();
        match &said[n] {
            Some(word) => assert_eq!((word.as_str(), name), ("ok", &*format!("phone {n}"))),
            None => assert!([format!("phone {n}"), format!("n{n}")].contains(&name.to_owned())),
        }
    }
});
