//! Engines: speed won and fuel spent.

use galaxy::physics::{Hull, ShipClass, Vec3};

fn frigate() -> Hull {
    Hull::new(ShipClass::first())
}

#[test]
fn a_burn_wins_what_the_rocket_equation_says() {
    let mut hull = frigate();
    hull.thrust_level = 0.7;
    let before = hull.mass();
    let mut won = Vec3::ZERO;
    for _ in 0..10_000 {
        let burn = hull.burn(0.1);
        won += burn.first + burn.second;
    }
    let expected = hull.class.exhaust() * (before / hull.mass()).ln();
    assert!(((won.z - expected) / expected).abs() <= 1e-9, "{} is not {expected}", won.z);
    let spent = 0.7 * hull.class.fuel_rate() * 1_000.0;
    let off = hull.class.fuel_capacity - hull.fuel - spent;
    assert!(off.abs() <= 1e-9, "{off:e} kg off");
}

#[test]
fn a_burn_ends_exactly_where_the_fuel_does() {
    let mut hull = frigate();
    hull.fuel = 1.0;
    hull.thrust_level = 1.0;
    let mass = hull.mass();
    let burn = hull.burn(0.5);
    assert_eq!((hull.fuel, hull.thrust_level), (0.0, 0.0));
    let expected = hull.class.exhaust() * (mass / hull.dry_mass).ln();
    assert!(((burn.first + burn.second).z - expected).abs() < 1e-9 * expected);
    assert_eq!(hull.burn(0.5).first, Vec3::ZERO);
}

#[test]
fn thrusters_push_along_each_axis_and_take_their_fuel() {
    let mut hull = frigate();
    hull.translation_input = Vec3::new(1.0, -0.5, 0.0);
    let mass = hull.mass();
    let burn = hull.burn(1.0);
    let won = burn.first + burn.second;
    assert!((won.x - 4_000.0 / mass).abs() < 1e-5 && (won.y + 2_000.0 / mass).abs() < 1e-5);
    let spent = hull.class.fuel_capacity - hull.fuel;
    assert!((spent - 0.14 * 1.5).abs() < 1e-12, "{spent}");
}
