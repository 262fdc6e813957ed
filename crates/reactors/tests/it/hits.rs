//! Hits: the state machine on a store, and exactly one last blow.

use reactors::{Hit, HitPolicy, New, ReactorError, Rules, Struck};

use crate::support::{ONE, TWO, a_box, data, everywhere, reactors_on};

const PLAIN: Hit = Hit { character_id: 7, skill_id: 0 };

/// Three states, the last of them an end.
const STEPS: &str = r#"{"name":"s","stateInfo":{"0":[{"type":0,"nextState":1}],"1":[{"type":0,"nextState":2}],"2":[]},"timeoutInfo":{}}"#;

everywhere!(one_hit_breaks_a_box, |world| {
    let reactor = world.create(a_box()).await;
    let struck = world.reactors.hit(ONE, reactor.id, PLAIN).await.unwrap();
    assert_eq!(struck, Struck::Destroyed { state: 0 });
    assert_eq!(world.told().await, ["CREATED", "script.HIT", "script.TRIGGER", "DESTROYED"]);
    let again = world.reactors.hit(ONE, reactor.id, PLAIN).await.unwrap_err();
    assert_eq!(again, ReactorError::NotFound(reactor.id));
    assert_eq!(again.to_string(), format!("unable to locate reactor {}", reactor.id));
    assert_eq!(world.told().await.len(), 4, "a reactor that is gone tells nothing");
    world.is_clean().await;
});

everywhere!(a_reactor_goes_from_state_to_state, |world| {
    let reactor = world.create(New { data: data(STEPS), ..a_box() }).await;
    let first = world.reactors.hit(ONE, reactor.id, PLAIN).await.unwrap();
    assert_eq!(first, Struck::Hit { state: 1 });
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 1);
    let second = world.reactors.hit(ONE, reactor.id, PLAIN).await.unwrap();
    assert_eq!(second, Struck::Destroyed { state: 2 });
    let events = world.events().await;
    let last = &events.last().unwrap().1;
    assert_eq!(last["body"]["state"], 2, "the new state is reported");
    assert_eq!(
        world.told().await,
        ["CREATED", "script.HIT", "HIT", "script.HIT", "script.TRIGGER", "DESTROYED"]
    );
    assert_eq!(events[2].1["body"]["destroyed"], false);
    assert_eq!(events[4].1["reactorState"], 2);
});

everywhere!(a_persisting_end_triggers_and_stands, |world| {
    let gated = r#"{"stateInfo":{"0":[{"type":5,"activeSkills":[9],"nextState":1}]}}"#;
    let reactor = world.create(New { data: data(gated), ..a_box() }).await;
    let struck = world.reactors.hit(ONE, reactor.id, Hit { skill_id: 9, ..PLAIN }).await.unwrap();
    assert_eq!(struck, Struck::Hit { state: 1 });
    assert_eq!(world.told().await, ["CREATED", "script.HIT", "script.TRIGGER", "HIT"]);
    let events = world.events().await;
    assert_eq!(
        events[1].1["body"],
        serde_json::json!({"characterId":7,"skillId":9,"isSkill":true})
    );
    assert_eq!(events[2].1["reactorState"], 1);
});

everywhere!(strict_rules_let_a_wrong_hit_do_nothing, |world| {
    let gated = r#"{"stateInfo":{"0":[{"type":5,"activeSkills":[9],"nextState":1}]}}"#;
    let reactor = world.create(New { data: data(gated), ..a_box() }).await;
    let strict = reactors_on(&world.store, &world.clock, world.layout)
        .rules(Rules { hit: HitPolicy::Strict, ..Rules::default() });
    let struck = strict.hit(ONE, reactor.id, PLAIN).await.unwrap();
    assert_eq!(struck, Struck::NoMatch { state: 0 });
    assert_eq!(world.told().await, ["CREATED"]);
    let struck = world.reactors.hit(ONE, reactor.id, PLAIN).await.unwrap();
    assert_eq!(struck, Struck::Destroyed { state: 0 }, "upstream destroys it");
});

everywhere!(of_many_last_blows_one_destroys, |world| {
    for round in 0..8 {
        let reactor = world.create(New { x: round, ..a_box() }).await;
        let all = (0..16).map(|character_id| {
            world.reactors.hit(ONE, reactor.id, Hit { character_id, skill_id: 0 })
        });
        let all = futures_util::future::join_all(all).await;
        let destroyed =
            all.iter().filter(|one| **one == Ok(Struck::Destroyed { state: 0 })).count();
        assert_eq!(destroyed, 1);
        let lost = |one: &&Result<_, _>| **one == Err(ReactorError::NotFound(reactor.id));
        assert_eq!(all.iter().filter(lost).count(), 15);
    }
    let told = world.told().await;
    for kind in ["CREATED", "script.HIT", "script.TRIGGER", "DESTROYED"] {
        assert_eq!(told.iter().filter(|one| *one == kind).count(), 8, "{kind}");
    }
    world.is_clean().await;
});

everywhere!(no_step_is_lost_between_many_hits, |world| {
    // A ring of three: forty hits from four sides end where forty hits end.
    let ring = r#"{"stateInfo":{"0":[{"type":0,"nextState":1}],"1":[{"type":0,"nextState":2}],"2":[{"type":0,"nextState":0}]}}"#;
    let reactor = world.create(New { data: data(ring), ..a_box() }).await;
    let side = async || {
        for _ in 0..10 {
            world.reactors.hit(ONE, reactor.id, PLAIN).await.unwrap();
        }
    };
    futures_util::future::join_all((0..4).map(|_| side())).await;
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap().state, 40 % 3);
    let told = world.told().await;
    assert_eq!(told.iter().filter(|one| *one == "HIT").count(), 40);
});

everywhere!(destroying_is_done_once, |world| {
    let reactor = world.create(a_box()).await;
    let all = (0..8).map(|_| world.reactors.destroy(ONE, reactor.id));
    let all = futures_util::future::join_all(all).await;
    assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 1);
    assert_eq!(world.told().await, ["CREATED", "DESTROYED"]);
    assert!(world.reactors.destroy(TWO, reactor.id).await.is_err());
});
