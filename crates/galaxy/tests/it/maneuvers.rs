//! Maneuvers: burns to a hundredth of a metre per second, circles, meetings, and what ends them.

use galaxy::physics::orbit::Orbit;
use galaxy::physics::solar::SOL;
use galaxy::physics::{Craft, Vec3};
use galaxy::{BurnState, Maneuver, ManeuverStatus, Order, OrderError, StationKind, World};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::rules::obey;
use crate::world::{add_ship, ship_id, world};

const S: i64 = 1_000_000_000;

fn begin(world: &mut World, ship: Uuid, maneuver: Value) -> Result<(), OrderError> {
    obey(world, ship, Order::Maneuver { maneuver }).map(drop)
}

fn flown(world: &World, ship: Uuid) -> &Maneuver {
    world.ships[&ship].maneuver.as_ref().unwrap()
}

fn craft(world: &World, ship: Uuid) -> Craft {
    world.fleet.craft(world.ships[&ship].craft).unwrap()
}

fn orbit(world: &World, ship: Uuid) -> (Orbit, f64) {
    let craft = craft(world, ship);
    let body = SOL.body(craft.reference);
    (Orbit::of(body.gm, craft.r, craft.v), body.radius)
}

/// Steps until the maneuver ended; says after how many ticks.
fn fly(world: &mut World, ship: Uuid, tick_ns: i64, most: usize) -> usize {
    for tick in 1..=most {
        world.step(tick_ns);
        if !flown(world, ship).active() {
            return tick;
        }
    }
    panic!("still flying after {most} ticks: {:?}", flown(world, ship));
}

#[test]
fn a_burn_wins_what_was_asked_for_whatever_the_tick() {
    for (tick_ns, delta_v) in [(S / 10, 3.7), (S, 123.456), (S, 0.05), (100 * S, 1_000.0)] {
        for direction in ["prograde", "antinormal", "radial"] {
            let mut world = world();
            let ship = add_ship(&mut world, 1);
            let fuel = world.hull(ship).unwrap().fuel;
            let burn = json!({"action": "burn", "direction": direction, "delta_v": delta_v});
            begin(&mut world, ship, burn).unwrap();
            fly(&mut world, ship, tick_ns, 2_000);
            let maneuver = flown(&world, ship);
            assert_eq!(maneuver.status, ManeuverStatus::Done, "{maneuver:?}");
            let over = maneuver.delta_v_done - delta_v;
            assert!(over.abs() < 1e-6, "{direction} {delta_v} at {tick_ns}: {over}");
            let hull = world.hull(ship).unwrap();
            assert_eq!(hull.thrust_level.to_bits(), 0, "the engine is off");
            let least = hull.class.exhaust() * ((8_000.0 + fuel) / (8_000.0 + hull.fuel)).ln();
            assert!(least >= delta_v * (1.0 - 1e-9), "the fuel for it was spent");
        }
    }
}

#[test]
fn a_prograde_burn_adds_its_speed_to_the_orbit() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    let before = orbit(&world, ship).0;
    let burn = json!({"action": "burn", "direction": "prograde", "delta_v": 50.0});
    begin(&mut world, ship, burn).unwrap();
    fly(&mut world, ship, S, 600);
    let after = orbit(&world, ship).0;
    // Vis-viva: da = 2 a² v dv / mu.
    let (mu, v) = (SOL.body(SOL.find("Earth").unwrap()).gm, 7_672.6);
    let expected = 2.0 * before.semi_major * before.semi_major * v * 50.0 / mu;
    let won = after.semi_major - before.semi_major;
    assert!((won / expected - 1.0).abs() < 0.02, "{won} is not about {expected}");
}

#[test]
fn an_ellipse_becomes_a_circle() {
    for (class, factor) in [("fast_frigate", 1.1), ("fast_frigate", 0.97), ("cargo_hauler", 1.05)] {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        world.hull_mut(ship).unwrap().class = galaxy::physics::ShipClass::named(class).unwrap();
        let at = craft(&world, ship);
        let lifted = Craft { r: at.r * 1.2, v: at.v * factor, ..at };
        world.fleet.relocate(&world.bodies, world.ships[&ship].craft, lifted);
        begin(&mut world, ship, json!({"action": "circularize"})).unwrap();
        fly(&mut world, ship, S, 4_000);
        assert_eq!(flown(&world, ship).status, ManeuverStatus::Done, "{:?}", flown(&world, ship));
        let (orbit, radius) = orbit(&world, ship);
        assert!(orbit.eccentricity < 1e-3 && orbit.periapsis > radius, "{class}: {orbit:?}");
        assert!((orbit.semi_major / lifted.r.length() - 1.0).abs() < 0.02);
    }
}

#[test]
fn a_circle_is_flown_to_at_another_height() {
    for (altitude, tick_ns) in [(1.2e6, S), (2e5, S), (8e6, 20 * S), (1e6, 100 * S)] {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        let circle = json!({"action": "circularize", "target_altitude": altitude});
        begin(&mut world, ship, circle).unwrap();
        fly(&mut world, ship, tick_ns, 6_000);
        assert_eq!(flown(&world, ship).status, ManeuverStatus::Done, "{:?}", flown(&world, ship));
        let (orbit, radius) = orbit(&world, ship);
        let off = orbit.semi_major / (radius + altitude) - 1.0;
        assert!(orbit.eccentricity < 1e-3 && off.abs() < 1e-3, "{altitude}: {off} {orbit:?}");
        assert!(world.ships[&ship].landed.is_none());
    }
}

/// Speed that the fuel spent since then was worth, m/s.
fn spent(world: &World, ship: Uuid, fuel: f64) -> f64 {
    let hull = world.hull(ship).unwrap();
    hull.class.exhaust() * ((hull.dry_mass + fuel) / (hull.dry_mass + hull.fuel)).ln()
}

/// Hohmann's transfer between two circles about a body of `mu`, m/s.
fn hohmann(mu: f64, from: f64, to: f64) -> f64 {
    let axis = f64::midpoint(from, to);
    let speed = |at: f64| (mu * (2.0 / at - 1.0 / axis)).sqrt();
    (speed(from) - (mu / from).sqrt()).abs() + ((mu / to).sqrt() - speed(to)).abs()
}

#[test]
fn a_transfer_costs_what_hohmann_says() {
    // To the height of geostationary satellites and to one nearby, up and down, at short and long ticks.
    for (from, to, tick_ns) in
        [(4e5, 35_786_000.0, 5 * S), (4e5, 8e5, S), (4e5, 8e5, 100 * S), (2e6, 5e5, 2 * S)]
    {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        let (mu, radius) = {
            let earth = SOL.body(SOL.find("Earth").unwrap());
            (earth.gm, earth.radius)
        };
        let at = craft(&world, ship);
        let (up, along) = (at.r.normalize(), at.v.normalize());
        let start = radius + from;
        let circle = Craft { r: up * start, v: along * (mu / start).sqrt(), ..at };
        world.fleet.relocate(&world.bodies, world.ships[&ship].craft, circle);
        let fuel = world.hull(ship).unwrap().fuel;
        begin(&mut world, ship, json!({"action": "transfer", "target_altitude": to})).unwrap();
        world.step(tick_ns);
        let planned: f64 = flown(&world, ship).burns.iter().map(|burn| burn.delta_v).sum();
        let ideal = hohmann(mu, start, radius + to);
        assert!((planned / ideal - 1.0).abs() < 0.01, "planned {planned}, ideal {ideal}");
        fly(&mut world, ship, tick_ns, 9_000);
        let ended = flown(&world, ship);
        assert_eq!(ended.status, ManeuverStatus::Done, "{ended:?}");
        assert!(ended.burns.iter().all(|burn| burn.state == BurnState::Done), "{ended:?}");
        let (orbit, _) = orbit(&world, ship);
        let off = orbit.semi_major / (radius + to) - 1.0;
        assert!(orbit.eccentricity < 1e-3 && off.abs() < 1e-3, "{to}: {off} {orbit:?}");
        let (engine, fuel) = (ended.delta_v_done, spent(&world, ship, fuel));
        assert!(engine < 1.01 * ideal, "{from} to {to}: {engine} m/s, ideal {ideal}");
        // Turning the ship takes fuel too, the same for short ways and long ones.
        assert!(fuel < 1.01 * ideal + 40.0, "{from} to {to}: fuel for {fuel} m/s, ideal {ideal}");
    }
}

#[test]
fn a_plane_is_changed_for_the_price_of_the_closed_form() {
    for degrees in [2.0_f64, 12.0] {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        let before = orbit(&world, ship).0;
        let wanted = before.inclination.to_degrees() + degrees;
        begin(&mut world, ship, json!({"action": "plane_change", "inclination": wanted})).unwrap();
        fly(&mut world, ship, S, 6_000);
        let ended = flown(&world, ship).clone();
        assert_eq!(ended.status, ManeuverStatus::Done, "{ended:?}");
        let after = orbit(&world, ship).0;
        assert!((after.inclination.to_degrees() - wanted).abs() < 0.06, "{after:?}");
        let speed = craft(&world, ship).v.length();
        let ideal = 2.0 * speed * (degrees.to_radians() / 2.0).sin();
        assert!((ended.delta_v_done / ideal - 1.0).abs() < 0.05, "{ended:?}, ideal {ideal}");
        assert!((after.semi_major / before.semi_major - 1.0).abs() < 0.01, "{after:?}");
        let again =
            json!({"action": "plane_change", "inclination": after.inclination.to_degrees()});
        let refused = begin(&mut world, ship, again).unwrap_err();
        assert!(refused.to_string().starts_with("nothing is to be done"), "{refused}");
    }
}

#[test]
fn a_kept_orbit_is_mended_and_never_done() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    begin(&mut world, ship, json!({"action": "station_keeping", "target_altitude": 4e5})).unwrap();
    for _ in 0..60 {
        world.step(S);
    }
    assert!(flown(&world, ship).burns.is_empty(), "there is nothing to mend");
    let at = craft(&world, ship);
    let pushed = Craft { v: at.v * 1.004, ..at };
    world.fleet.relocate(&world.bodies, world.ships[&ship].craft, pushed);
    let mut mended = 0;
    let open = |burn: &galaxy::PlannedBurn| burn.state != BurnState::Done;
    while mended == 0 || flown(&world, ship).burns.iter().any(open) {
        world.step(2 * S);
        mended += 1;
        assert!(mended < 6_000, "{:?}", flown(&world, ship));
    }
    let (orbit, radius) = orbit(&world, ship);
    assert!(orbit.eccentricity < 2e-3, "{orbit:?}");
    assert!((orbit.semi_major / (radius + 4e5) - 1.0).abs() < 2e-3, "{orbit:?}");
    assert!(flown(&world, ship).active(), "until somebody ends it");
    obey(&mut world, ship, Order::Abort).unwrap();
}

#[test]
fn a_target_beyond_the_horizon_is_met_along_orbits_and_never_through_the_planet() {
    let mut world = world();
    let (ship, other) = (add_ship(&mut world, 1), add_ship(&mut world, 2));
    let (mu, radius) = {
        let earth = SOL.body(SOL.find("Earth").unwrap());
        (earth.gm, earth.radius)
    };
    let at = craft(&world, ship);
    let (up, along) = (at.r.normalize(), at.v.normalize());
    // A fifth of a turn ahead, on a circle 300 km higher, in a plane a degree away.
    let (sin, cos) = 1.25_f64.sin_cos();
    let far = radius + 7e5;
    let tilted = (along + up.cross(along) * 0.0175).normalize();
    let place = Craft {
        r: (up * cos + tilted * sin) * far,
        v: (tilted * cos - up * sin) * (mu / far).sqrt(),
        ..at
    };
    world.fleet.relocate(&world.bodies, world.ships[&other].craft, place);
    let meet = json!({"action": "rendezvous", "target_id": other, "target_type": "ship"});
    begin(&mut world, ship, meet).unwrap();
    let mut lowest = f64::INFINITY;
    for tick in 0.. {
        world.step(4 * S);
        lowest = lowest.min(craft(&world, ship).r.length() - radius);
        if !flown(&world, ship).active() {
            break;
        }
        assert!(tick < 12_000, "{:?}", flown(&world, ship));
    }
    let ended = flown(&world, ship);
    assert_eq!(ended.status, ManeuverStatus::Done, "{ended:?}");
    assert!(lowest > 1e5, "it came down to {lowest} m");
    let apart = craft(&world, ship).r - craft(&world, other).r;
    let speed = craft(&world, ship).v - craft(&world, other).v;
    assert!(apart.length() < 500.0 && speed.length() < 5.0, "{apart} {speed}");
}

#[test]
fn what_is_so_already_is_said() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    for asked in
        [json!({"action": "circularize"}), json!({"action": "transfer", "target_altitude": 4e5})]
    {
        let refused = begin(&mut world, ship, asked).unwrap_err();
        assert_eq!(refused.to_string(), "nothing is to be done: the ship is on that orbit");
    }
}

#[test]
fn a_meeting_ends_near_and_slow_and_docks() {
    for (ahead, sideways) in [(20_000.0, 0.0), (150_000.0, 30_000.0), (600.0, 0.0)] {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        let record =
            world.new_station(StationKind::Station, "Kestrel", "Earth", 1e6, None).unwrap();
        world.add_station(ship_id(900), StationKind::Station, record);
        let at = world.fleet.craft(world.stations[&ship_id(900)].craft).unwrap();
        let along = at.v.normalize();
        let start = Craft { r: at.r - along * ahead + Vec3::Z * sideways, ..at };
        world.fleet.relocate(&world.bodies, world.ships[&ship].craft, start);
        let meet = json!({"action": "rendezvous", "target_id": ship_id(900),
            "target_type": "station", "strategy": "flip_and_burn", "dock_on_arrival": true});
        begin(&mut world, ship, meet).unwrap();
        let ticks = fly(&mut world, ship, S, 3_000);
        assert_eq!(flown(&world, ship).status, ManeuverStatus::Done, "{:?}", flown(&world, ship));
        assert_eq!(world.ships[&ship].docked, Some(ship_id(900)), "after {ticks} s");
        assert!(ticks < 900, "{ahead}: {ticks} s");
    }
}

#[test]
fn two_ships_meet_without_docking() {
    let mut world = world();
    let (ship, other) = (add_ship(&mut world, 1), add_ship(&mut world, 2));
    let at = craft(&world, other);
    let start = Craft { r: at.r + at.r.normalize() * 40_000.0, ..at };
    world.fleet.relocate(&world.bodies, world.ships[&ship].craft, start);
    let meet = json!({"action": "rendezvous", "target_id": other, "target_type": "ship"});
    begin(&mut world, ship, meet).unwrap();
    fly(&mut world, ship, S / 10, 9_000);
    assert_eq!(flown(&world, ship).status, ManeuverStatus::Done);
    let apart = craft(&world, ship).r - craft(&world, other).r;
    let speed = craft(&world, ship).v - craft(&world, other).v;
    assert!(
        apart.length() < 500.0 && speed.length() < 5.0,
        "{} {}",
        apart.length(),
        speed.length()
    );
}

#[test]
fn a_pilot_who_flies_ends_the_maneuver() {
    let control = |thrust: Option<f64>, turn: Option<[f64; 3]>| Order::Control {
        thrust_level: thrust,
        rotation_input: turn,
        translation_input: None,
    };
    let mode = Order::Attitude { mode: "normal".into(), target_id: None, target_type: None };
    for order in
        [control(Some(0.25), None), control(None, Some([0.0, 0.1, 0.0])), mode, Order::Abort]
    {
        let mut world = world();
        let ship = add_ship(&mut world, 1);
        let burn = json!({"action": "burn", "direction": "prograde", "delta_v": 9_000});
        begin(&mut world, ship, burn.clone()).unwrap();
        for _ in 0..60 {
            world.step(S);
        }
        assert!(world.hull(ship).unwrap().thrust_level > 0.9);
        assert!(matches!(begin(&mut world, ship, burn), Err(OrderError::Conflict(_))));
        let asked = if let Order::Control { thrust_level: Some(level), .. } = &order {
            *level
        } else {
            0.0
        };
        obey(&mut world, ship, order.clone()).unwrap();
        world.step(S);
        assert_eq!(flown(&world, ship).status, ManeuverStatus::Cancelled, "{order:?}");
        assert!((world.hull(ship).unwrap().thrust_level - asked).abs() < 1e-12, "{order:?}");
    }
    // Letting the stick rest is not flying.
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    begin(&mut world, ship, json!({"action": "circularize", "target_altitude": 9e5})).unwrap();
    obey(&mut world, ship, control(None, Some([0.0; 3]))).unwrap();
    assert!(flown(&world, ship).active());
}

#[test]
fn an_empty_tank_a_target_that_goes_and_the_ground_end_it_badly() {
    let mut world = world();
    let (ship, other) = (add_ship(&mut world, 1), add_ship(&mut world, 2));
    world.hull_mut(ship).unwrap().fuel = 1.0;
    begin(&mut world, ship, json!({"action": "burn", "direction": "prograde", "delta_v": 900}))
        .unwrap();
    fly(&mut world, ship, S, 200);
    let end = flown(&world, ship).clone();
    assert_eq!((end.status, end.error.as_str()), (ManeuverStatus::Failed, "the tanks are empty"));

    world.hull_mut(ship).unwrap().fuel = 1_000.0;
    let meet = json!({"action": "rendezvous", "target_id": other, "target_type": "ship"});
    begin(&mut world, ship, meet.clone()).unwrap();
    world.step(S);
    world.remove_ship(other);
    fly(&mut world, ship, S, 2);
    assert_eq!(flown(&world, ship).error, "the target is gone");
    assert_eq!(begin(&mut world, ship, meet), Err(OrderError::Missing("target")));
    let itself = json!({"action": "rendezvous", "target_id": ship, "target_type": "ship"});
    assert_eq!(begin(&mut world, ship, itself), Err(OrderError::Missing("target")));

    let luna = SOL.find("Luna").unwrap();
    let down = Craft { reference: luna, r: Vec3::Z * SOL.body(luna).radius, v: Vec3::ZERO };
    world.fleet.relocate(&world.bodies, world.ships[&ship].craft, down);
    world.step(S);
    let refused = begin(&mut world, ship, json!({"action": "circularize"})).unwrap_err();
    assert_eq!(refused.to_string(), "the ship stands on the ground; lift off first");
}

#[test]
fn a_maneuver_is_forgotten_a_minute_after_its_end() {
    let mut world = world();
    world.pace.rate = 2.0;
    let ship = add_ship(&mut world, 1);
    begin(&mut world, ship, json!({"action": "burn", "direction": "radial", "delta_v": 1}))
        .unwrap();
    fly(&mut world, ship, S / 2, 600);
    for _ in 0..120 {
        world.step(S / 2);
        assert!(world.ships[&ship].maneuver.is_some());
    }
    world.step(S / 2);
    assert!(world.ships[&ship].maneuver.is_none());
}

#[test]
fn what_is_wrong_with_a_maneuver_is_named() {
    let mut world = world();
    let ship = add_ship(&mut world, 1);
    for (asked, why) in [
        (
            json!({}),
            "action must be circularize, transfer, station_keeping, plane_change, burn or rendezvous",
        ),
        (
            json!({"action": "burn", "direction": "up", "delta_v": 1}),
            "direction is not a direction such as prograde",
        ),
        (
            json!({"action": "burn", "direction": "radial", "delta_v": -1}),
            "delta_v must be from 0.01 to 1000000 m/s",
        ),
        (
            json!({"action": "circularize", "target_altitude": 5}),
            "target_altitude must be from 10^4 to 10^12 metres",
        ),
        (
            json!({"action": "rendezvous", "target_id": "Luna", "target_type": "body"}),
            "target_type must be ship, station or lagrange",
        ),
        (
            json!({"action": "rendezvous", "target_id": "x", "target_type": "ship", "strategy": "hohmann"}),
            "strategy must be flip_and_burn",
        ),
    ] {
        let refused = begin(&mut world, ship, asked).unwrap_err();
        assert_eq!(refused.to_string(), why);
    }
    assert!(world.ships[&ship].maneuver.is_none());
}
