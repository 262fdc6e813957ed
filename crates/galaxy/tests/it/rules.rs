//! Rules: what they see, what they do, in which order, and how they are kept.

#![expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use galaxy::physics::hull::Mode;
use galaxy::physics::solar::SOL;
use galaxy::physics::{Craft, Vec3};
use galaxy::{Command, Effect, ManeuverStatus, Order, OrderError, RuleDraft, StationKind, World};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{add_ship, ship_id, world};

const S: i64 = 1_000_000_000;

pub(crate) fn draft(mode: &str, priority: i64, conditions: Value, actions: Value) -> RuleDraft {
    RuleDraft {
        name: "a rule".into(),
        enabled: true,
        mode: mode.into(),
        priority,
        trigger: json!({ "conditions": conditions, "logic": "AND" }),
        actions,
    }
}

pub(crate) fn obey(world: &mut World, ship: Uuid, order: Order) -> Result<Effect, OrderError> {
    world.obey(&Command { at_ms: 1_794_787_200_000, player_id: None, ship_id: Some(ship), order })
}

fn rule(world: &mut World, ship: Uuid, n: u128, rule: RuleDraft) -> Uuid {
    let rule_id = Uuid::from_u128(n);
    obey(world, ship, Order::RuleCreate { rule_id, rule }).unwrap();
    rule_id
}

fn enabled(world: &World, ship: Uuid, rule: Uuid) -> bool {
    world.ships[&ship].rules.iter().find(|found| found.id == rule).unwrap().enabled
}

/// Whether a condition holds for the first ship of a fresh world.
fn holds(condition: Value, prepare: impl Fn(&mut World, Uuid)) -> bool {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    prepare(&mut world, ship);
    let id = rule(&mut world, ship, 1, draft("once", 0, json!([condition]), alert("now")));
    let stepped = world.step(S);
    assert_eq!(stepped.alerts.len(), stepped.disabled.len());
    !enabled(&world, ship, id)
}

fn alert(message: &str) -> Value {
    json!([{ "action": "alert", "message": message }])
}

fn untouched(_: &mut World, _: Uuid) {}

#[test]
fn every_field_sees_the_ship_as_it_is() {
    let at =
        |field: &str, op: &str, value: Value| json!({"field": field, "op": op, "value": value});
    for condition in [
        json!({"field": "immediate"}),
        at("ship.fuel", "==", json!(1)),
        at("ship.fuel_pct", ">=", json!(100.0)),
        at("ship.thrust", "==", json!(0)),
        at("ship.speed", ">", json!(7_660)),
        at("ship.speed", "<", json!(7_680)),
        at("ship.surface_speed", ">", json!(7_660)),
        at("ship.agl", ">", json!(399_990)),
        at("ship.agl", "<", json!(400_010)),
        at("orbit.eccentricity", "<", json!(0.001)),
        at("orbit.inclination", "<", json!(0.1)),
        at("orbit.apoapsis", "<", json!(410_000)),
        at("orbit.periapsis", ">", json!(390_000)),
        at("game.tick", "==", json!(0)),
        at("game.tick", "!=", json!(1)),
        at("ship.docked_station", "==", json!("")),
        at("ship.docked_station", "==", Value::Null),
        at("ship.docked_station", "!=", json!("Kestrel")),
        json!({"field": "ship.distance_to", "op": "<", "value": 6_771_010.0, "args": ["Earth"]}),
        json!({"field": "ship.distance_to", "op": ">", "value": 3.5e8, "args": ["Luna"]}),
        json!({"field": "orbit.apoapsis", "op": ">", "value": 1e8, "args": ["Sun"]}),
    ] {
        assert!(holds(condition.clone(), untouched), "{condition}");
    }
    for condition in [
        at("ship.fuel", "<", json!(1)),
        at("ship.docked_station", "!=", json!("")),
        // What does not exist is neither near nor far.
        json!({"field": "ship.distance_to", "op": "<", "value": 1e99, "args": ["Vulcan"]}),
        json!({"field": "ship.distance_to", "op": ">=", "value": 0, "args": ["Vulcan"]}),
        json!({"field": "orbit.periapsis", "op": "!=", "value": 0, "args": ["Vulcan"]}),
    ] {
        assert!(!holds(condition.clone(), untouched), "{condition}");
    }
    let escaping = |world: &mut World, ship: Uuid| {
        let craft = world.ships[&ship].craft;
        let at = world.fleet.craft(craft).unwrap();
        world.fleet.relocate(&world.bodies, craft, Craft { v: at.v * 2.0, ..at });
    };
    assert!(!holds(at("orbit.apoapsis", ">", json!(0)), escaping));
    assert!(holds(at("orbit.eccentricity", ">", json!(1)), escaping));
}

#[test]
fn a_station_is_known_by_its_name_and_by_its_id() {
    let dock = |world: &mut World, ship: Uuid| {
        let station = ship_id(900);
        let record =
            world.new_station(StationKind::Station, "Kestrel", "Earth", 5e5, None).unwrap();
        world.add_station(station, StationKind::Station, record);
        let at = world.fleet.craft(world.stations[&station].craft).unwrap();
        world.fleet.relocate(&world.bodies, world.ships[&ship].craft, at);
        obey(world, ship, Order::Dock { station_id: None }).unwrap();
    };
    for name in ["Kestrel".to_owned(), ship_id(900).to_string()] {
        let docked = json!({"field": "ship.docked_station", "op": "==", "value": name});
        assert!(holds(docked, dock), "{name}");
        let near = json!({"field": "ship.distance_to", "op": "<", "value": 1, "args": [name]});
        assert!(holds(near, dock));
    }
    let other = json!({"field": "ship.docked_station", "op": "==", "value": "Heron"});
    assert!(!holds(other, dock));
}

#[test]
fn once_acts_once_and_continuous_while_its_trigger_is_met() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let full = json!([{"field": "ship.fuel_pct", "op": ">", "value": 99}]);
    let once = rule(&mut world, ship, 1, draft("once", 0, full.clone(), alert("full")));
    let thrust =
        json!([{"action": "set_thrust", "value": 0.5}, {"action": "alert", "message": "on"}]);
    let keeps = rule(&mut world, ship, 2, draft("continuous", 1, full, thrust));
    let first = world.step(S);
    let told: Vec<_> = first.alerts.iter().map(|alert| alert.message.as_str()).collect();
    assert_eq!(told, ["full", "on"]);
    assert_eq!(first.disabled, [(ship, once)]);
    assert!(!enabled(&world, ship, once) && enabled(&world, ship, keeps));
    // Somebody switches the engine off; the level of the trigger switches it on again, without another word.
    world.hull_mut(ship).unwrap().thrust_level = 0.0;
    let second = world.step(S);
    assert!(second.alerts.is_empty() && second.disabled.is_empty());
    assert!((world.hull(ship).unwrap().thrust_level - 0.5).abs() < 1e-12);
    // The trigger is met no more: the rule lets go.
    world.hull_mut(ship).unwrap().fuel = 100.0;
    world.hull_mut(ship).unwrap().thrust_level = 0.0;
    world.step(S);
    assert_eq!(world.hull(ship).unwrap().thrust_level.to_bits(), 0);
    // And when it is met again, that is told again.
    world.hull_mut(ship).unwrap().fuel = 15_000.0;
    assert_eq!(world.step(S).alerts.len(), 1);
}

#[test]
fn later_rules_have_the_last_word_and_all_see_the_same_start() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let at_rest = json!([{"field": "ship.thrust", "op": "==", "value": 0}]);
    let thrust = |value: f64| json!([{"action": "set_thrust", "value": value}]);
    // Made in the opposite order of their priorities.
    rule(&mut world, ship, 3, draft("continuous", 9, at_rest.clone(), thrust(0.9)));
    rule(&mut world, ship, 2, draft("continuous", 5, at_rest, thrust(0.5)));
    world.step(S);
    assert!((world.hull(ship).unwrap().thrust_level - 0.9).abs() < 1e-12);
    let order: Vec<_> = world.ships[&ship].rules.iter().map(|rule| rule.priority).collect();
    assert_eq!(order, [5, 9]);
}

#[test]
fn a_rule_disables_another_before_it_acts() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let now = json!([{"field": "immediate"}]);
    let second = Uuid::from_u128(2);
    let off = json!([{"action": "disable_rule", "rule_id": second}]);
    rule(&mut world, ship, 1, draft("once", 0, now.clone(), off));
    rule(&mut world, ship, 2, draft("continuous", 1, now, alert("never")));
    let stepped = world.step(S);
    assert!(stepped.alerts.is_empty());
    assert_eq!(stepped.disabled.len(), 2);
    assert!(!enabled(&world, ship, second));
}

#[test]
fn or_needs_one_condition_and_and_all_of_them() {
    let (yes, no) =
        (json!({"field": "immediate"}), json!({"field": "ship.fuel", "op": "<", "value": 0}));
    for (logic, conditions, expected) in [
        ("AND", json!([yes, no]), false),
        ("OR", json!([no, yes]), true),
        ("OR", json!([no, no]), false),
        ("AND", json!([yes, yes]), true),
    ] {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        let mut made = draft("once", 0, json!([]), alert("x"));
        made.trigger = json!({"conditions": conditions, "logic": logic});
        rule(&mut world, ship, 1, made);
        assert_eq!(!world.step(S).alerts.is_empty(), expected, "{logic} {conditions}");
    }
}

#[test]
fn a_rule_that_wants_a_maneuver_waits_for_the_one_that_flies() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let now = json!([{"field": "immediate"}]);
    let burn = |dv: f64| json!([{"action": "burn", "direction": "prograde", "delta_v": dv}]);
    let first = rule(&mut world, ship, 1, draft("once", 0, now.clone(), burn(5.0)));
    let second = rule(&mut world, ship, 2, draft("once", 1, now, burn(7.0)));
    world.step(S);
    assert_eq!(world.ships[&ship].maneuver.as_ref().unwrap().rule_id, Some(first));
    assert!(!enabled(&world, ship, first) && enabled(&world, ship, second), "it was put off");
    while world.ships[&ship]
        .maneuver
        .as_ref()
        .is_some_and(|flown| flown.rule_id == Some(first) || flown.status == ManeuverStatus::Active)
    {
        world.step(S);
        assert!(world.tick < 200);
    }
    let maneuver = world.ships[&ship].maneuver.as_ref().unwrap();
    assert_eq!((maneuver.rule_id, maneuver.status), (Some(second), ManeuverStatus::Done));
}

#[test]
fn rules_point_dock_and_undock() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let now = json!([{"field": "immediate"}]);
    let look = json!([{"action": "set_attitude", "mode": "target", "target_id": "Luna", "target_type": "body"}]);
    rule(&mut world, ship, 1, draft("continuous", 0, now.clone(), look));
    for _ in 0..60 {
        world.step(S);
    }
    let hull = world.hull(ship).unwrap();
    assert_eq!(hull.mode, Mode::Target);
    let (earth, luna) = (SOL.find("Earth").unwrap(), SOL.find("Luna").unwrap());
    let seen = world.fleet.craft(world.ships[&ship].craft).unwrap();
    assert_eq!(seen.reference, earth);
    let to = seen.relative_to(luna, world.bodies.now()).r * -1.0;
    assert!((hull.attitude * Vec3::Z).angle_between(to) < 0.01);

    obey(&mut world, ship, Order::RuleRemove { rule_id: Uuid::from_u128(1) }).unwrap();
    rule(&mut world, ship, 2, draft("once", 0, now.clone(), json!([{"action": "dock"}])));
    let refused = world.step(S);
    assert_eq!(refused.alerts[0].message, "a rule: there is no such station");
    let record = world.new_station(StationKind::Station, "Kestrel", "Earth", 5e5, None).unwrap();
    world.add_station(ship_id(900), StationKind::Station, record);
    let at = world.fleet.craft(world.stations[&ship_id(900)].craft).unwrap();
    world.fleet.relocate(&world.bodies, world.ships[&ship].craft, at);
    rule(&mut world, ship, 3, draft("once", 0, now, json!([{"action": "dock"}])));
    world.step(S);
    assert_eq!(world.ships[&ship].docked, Some(ship_id(900)));
    let docked = json!([{"field": "ship.docked_station", "op": "==", "value": "Kestrel"}]);
    rule(&mut world, ship, 4, draft("once", 0, docked, json!([{"action": "undock"}])));
    world.step(S);
    assert_eq!(world.ships[&ship].docked, None);
}

#[test]
fn rules_are_made_replaced_and_removed_within_limits() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let now = json!([{"field": "immediate"}]);
    let make = |world: &mut World, n: u128| {
        let rule = draft("once", 0, now.clone(), alert("x"));
        obey(world, ship, Order::RuleCreate { rule_id: Uuid::from_u128(n), rule })
    };
    for n in 1..=32 {
        assert_eq!(make(&mut world, n), Ok(Effect::Ruled(ship, Uuid::from_u128(n))));
    }
    assert!(matches!(make(&mut world, 33), Err(OrderError::Conflict(_))));
    assert_eq!(make(&mut world, 1), Ok(Effect::None), "repeated, because its answer was lost");
    let rule = draft("once", 0, now.clone(), alert("another"));
    let order = Order::RuleCreate { rule_id: Uuid::from_u128(1), rule };
    assert!(matches!(obey(&mut world, ship, order), Err(OrderError::Conflict(_))));
    let created = world.ships[&ship].rules[0].created_at.clone();
    let mut other = draft("continuous", 99, now.clone(), alert("y"));
    let replace = |rule_id: u128, rule: &RuleDraft| Order::RuleReplace {
        rule_id: Uuid::from_u128(rule_id),
        rule: rule.clone(),
    };
    assert_eq!(obey(&mut world, ship, replace(77, &other)), Err(OrderError::Missing("rule")));
    obey(&mut world, ship, replace(1, &other)).unwrap();
    let last = world.ships[&ship].rules.last().unwrap();
    assert_eq!((last.id, last.created_at.as_str()), (Uuid::from_u128(1), created.as_str()));
    other.priority = 1_000;
    let before = world.ships[&ship].rules.clone();
    let bad = obey(&mut world, ship, replace(1, &other)).unwrap_err();
    assert_eq!(bad.to_string(), "priority must be from 0 to 99");
    assert_eq!(world.ships[&ship].rules, before, "what is refused changes nothing");
    obey(&mut world, ship, Order::RuleRemove { rule_id: Uuid::from_u128(1) }).unwrap();
    assert!(obey(&mut world, ship, Order::RuleRemove { rule_id: Uuid::from_u128(1) }).is_err());
    let gone = obey(&mut world, ship, Order::Despawn).unwrap();
    assert!(matches!(gone, Effect::Despawned { rules, .. } if rules.len() == 31));
}

#[test]
fn rules_of_a_ship_are_its_owners() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let rule = draft("once", 0, json!([{"field": "immediate"}]), alert("x"));
    for order in [
        Order::RuleCreate { rule_id: Uuid::from_u128(1), rule },
        Order::RuleRemove { rule_id: Uuid::from_u128(1) },
        Order::Maneuver { maneuver: json!({"action": "circularize"}) },
        Order::Abort,
    ] {
        let foreign = Command {
            at_ms: 0,
            player_id: Some("770e8400-e29b-41d4-a716-446655440001".into()),
            ship_id: Some(ship),
            order,
        };
        assert_eq!(world.obey(&foreign), Err(OrderError::NotYours));
    }
}
