//! The accuracy table: bodies and craft against the reference states.

use galaxy::physics::solar::SOL;
use galaxy::physics::{Bodies, Craft, CraftId, Fleet, Vec3};

use crate::truth;

fn body(name: &str) -> usize {
    SOL.find(name).unwrap()
}

/// Advances bodies and craft by `seconds`, in ticks of `tick` seconds and a last shorter one.
pub(crate) fn fly(bodies: &mut Bodies, fleet: &mut Fleet, seconds: f64, tick: f64) {
    let mut left = seconds;
    while left > 1e-9 {
        let track = bodies.advance(left.min(tick));
        fleet.advance(bodies.gm(), &track);
        fleet.change_spheres(&SOL, bodies);
        left -= tick;
    }
}

/// Where the craft of a case end, relative to the body they started from, and how far from the truth that is.
fn misses(case: &str, tick: f64) -> Vec<(&'static str, f64)> {
    let truths = truth::of(case);
    let mut bodies = SOL.at_j2000();
    let mut fleet = Fleet::default();
    let ids: Vec<CraftId> = truths
        .iter()
        .map(|truth| {
            let (r, v) = truth.start.unwrap();
            fleet.insert(&bodies, Craft { reference: body(truth.name), r, v }, None)
        })
        .collect();
    fly(&mut bodies, &mut fleet, truths[0].seconds, tick);
    truths
        .iter()
        .zip(ids)
        .map(|(truth, id)| {
            let seen = fleet.craft(id).unwrap().relative_to(body(truth.name), bodies.now());
            (truth.name, (seen.r - truth.at).length())
        })
        .collect()
}

#[test]
fn bodies_after_a_day_are_where_the_reference_has_them() {
    let mut bodies = SOL.at_j2000();
    let energy = bodies.energy();
    for _ in 0..172_800 {
        bodies.step(0.5);
    }
    for truth in truth::of("day") {
        let off = (bodies.now().position[body(truth.name)] - truth.at).length();
        let most = match truth.name {
            "Phobos" => 2.0,
            "Io" | "Mimas" | "Enceladus" | "Miranda" | "Deimos" => 1.0,
            "Earth" | "Luna" | "Mercury" => 0.1,
            _ => 0.5,
        };
        assert!(off <= most, "{} is {off} m off", truth.name);
    }
    let drift = ((bodies.energy() - energy) / energy).abs();
    assert!(drift <= 1e-12, "energy drifted by {drift:e}");
    let (sum, size) = bodies.momentum();
    assert!(sum.length() / size <= 1e-12, "momentum {:e}", sum.length() / size);
}

#[test]
fn a_low_orbit_closes_to_a_decimetre() {
    for (name, off) in misses("orbit", 1.0) {
        assert!(off <= 0.1, "{name}: {off} m");
    }
}

#[test]
fn a_time_scale_of_a_hundred_costs_no_accuracy() {
    for (name, off) in misses("orbit", 100.0) {
        assert!(off <= 0.1, "{name}: {off} m");
    }
}

#[test]
fn a_low_orbit_of_io_keeps_its_energy_and_its_place() {
    for (name, off) in misses("io", 1.0) {
        assert!(off <= 0.5, "{name}: {off} m");
    }
    // The energy of this orbit truly changes, by Jupiter's pull; what counts is the difference from the reference.
    let truth = &truth::of("io")[0];
    let ((r, v), gm) = (truth.start.unwrap(), SOL.body(body("Io")).gm);
    let mut bodies = SOL.at_j2000();
    let mut fleet = Fleet::default();
    let id = fleet.insert(&bodies, Craft { reference: body("Io"), r, v }, None);
    fly(&mut bodies, &mut fleet, truth.seconds, 1.0);
    let energy = |r: Vec3, v: Vec3| v.length_squared() / 2.0 - gm / r.length();
    let seen = fleet.craft(id).unwrap().relative_to(body("Io"), bodies.now());
    let expected = energy(truth.at, truth.moves.unwrap());
    let off = (energy(seen.r, seen.v) - expected).abs() / expected.abs();
    assert!(off <= 1e-7, "{off:e} of the energy");
}

#[test]
fn craft_far_out_and_on_their_way_elsewhere_follow_the_reference() {
    for (name, off) in misses("far", 1.0) {
        assert!(off <= 0.1, "{name}: {off} m");
    }
}

#[test]
fn after_a_year_earth_and_luna_are_where_the_ephemeris_has_them() {
    let mut bodies = SOL.at_j2000();
    let (earth, luna) = (body("Earth"), body("Luna"));
    let longitude = |bodies: &Bodies| {
        let to = bodies.now().position[luna] - bodies.now().position[earth];
        to.y.atan2(to.x)
    };
    let (mut swept, mut last) = (0.0, longitude(&bodies));
    for _ in 0..365 * 720 {
        bodies.leap(120.0);
        let now = longitude(&bodies);
        swept += (now - last).rem_euclid(std::f64::consts::TAU);
        last = now;
    }
    let turns = swept / std::f64::consts::TAU;
    assert!((turns - 13.331_5).abs() <= 0.000_5, "{turns}");
    let at = |name: &str| -> Vec3 { bodies.now().position[body(name)] };
    for truth in truth::of("year") {
        let off = (at(truth.name) - truth.at).length();
        assert!(off <= 1_000.0, "{} is {off} m off after a year", truth.name);
    }
    // What is left is the force model: no relativity, no flattening, no asteroids.
    for (name, about, most) in [("Earth", "Sun", 500e3), ("Luna", "Earth", 200e3)] {
        let off = (at(name) - at(about) - truth::ephemeris(365.0 * 86_400.0, name, about)).length();
        assert!(off <= most, "{name} is {off} m from where the ephemeris has it");
        let start = SOL.at_j2000();
        let from = start.now().position[body(name)] - start.now().position[body(about)];
        assert!((from - truth::ephemeris(0.0, name, about)).length() < 1.0);
    }
}
