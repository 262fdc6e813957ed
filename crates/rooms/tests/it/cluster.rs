//! What must hold on a Cluster, with tagged keys: whole games in many slots, the vote race, the close.

use serde_json::json;
use testkit::on_cluster;

use crate::game::whole_game;
use crate::races::last_votes;
use crate::support::{Party, trials};

on_cluster!(games_in_many_slots_with_races_and_closes, |store, _cluster| {
    for _ in 0..4 {
        let party = Party::tagged(&store, 3, &[3, 1]).await;
        whole_game(&party).await;
        assert_eq!(party.hash("scores").await["p0"], "3");
        assert_eq!(party.master("ROOM_CLOSED", json!({})).await, "ok");
        assert!(party.keys().await.is_empty(), "{:?}", party.keys().await);
    }
    let party = Party::tagged(&store, 8, &[64]).await;
    party.start(8).await;
    for trial in 0..trials(20, 64) {
        last_votes(&party, 8, trial).await;
    }
    party.lives_agree().await;
});

on_cluster!(a_forced_close_is_armed_beside_the_step, |store, _cluster| {
    let party = Party::tagged(&store, 2, &[1]).await;
    party.start(2).await;
    party.open_item("r1", "i1").await;
    let force = json!({"round_id": "r1", "item_id": "i1", "delay_ms": 1000});
    assert_eq!(party.master("FORCE_CLOSE_VOTE", force).await, "ok");
    party.clock.advance(std::time::Duration::from_secs(1));
    let keys = party.rooms.deadline_timers();
    let timers = kernel::Timers::new(
        store.clone(),
        party.clock.clone(),
        kernel::timers::Scopes::One,
        move |_| Some(keys.clone()),
    );
    let due = timers.take("", crate::support::soon()).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(party.rooms.serve_deadline(&due[0]).await, kernel::Verdict::Done);
    assert_eq!(party.json("game").await["status"], "reveal_wait");
    let listed = party.rooms.list(None, 10).await.unwrap().0;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].code, party.code);
});
