//! Turning: momentum, norms, modes, wheels and thrusters.

use galaxy::physics::aim::{Mark, View};
use galaxy::physics::hull::Mode;
use galaxy::physics::kepler;
use galaxy::physics::solar::SOL;
use galaxy::physics::{Bodies, Hull, Quat, ShipClass, Vec3};

const LOW: f64 = 6_771_008.4;

struct Ship {
    bodies: Bodies,
    hull: Hull,
    r: Vec3,
    v: Vec3,
}

impl Ship {
    fn new(class: &str) -> Self {
        let bodies = SOL.at_j2000();
        let speed = (bodies.gm()[earth()] / LOW).sqrt();
        Ship {
            bodies,
            hull: Hull::new(ShipClass::named(class).unwrap()),
            r: Vec3::X * LOW,
            v: Vec3::Y * speed,
        }
    }

    fn turn(&mut self, seconds: f64) {
        let mut left = seconds;
        while left > 1e-9 {
            let step = left.min(0.25);
            let mut hull = self.hull.clone();
            hull.turn(step, &self.view());
            self.hull = hull;
            (self.r, self.v) = kepler::propagate(self.bodies.gm()[earth()], self.r, self.v, step);
            left -= step;
        }
    }

    fn view(&self) -> View<'_> {
        View {
            gm: self.bodies.gm(),
            frame: self.bodies.now(),
            reference: earth(),
            r: self.r,
            v: self.v,
            elapsed: 0.0,
        }
    }

    fn nose(&self) -> Vec3 {
        self.hull.attitude * Vec3::Z
    }

    fn momentum(&self) -> Vec3 {
        let inertia = self.hull.class.inertia(self.hull.fuel);
        self.hull.attitude * (inertia * self.hull.omega + self.hull.wheel)
    }
}

fn earth() -> usize {
    SOL.find("Earth").unwrap()
}

#[test]
fn wheels_alone_keep_the_momentum_for_an_hour() {
    let mut ship = Ship::new("fast_frigate");
    ship.hull.omega = Vec3::new(0.011, -0.007, 0.02);
    ship.hull.wheel = Vec3::new(300.0, -120.0, 80.0);
    let before = ship.momentum();
    for quarter in 0..4 {
        // Small turns that the wheels can do without thrusters.
        let sign = if quarter % 2 == 0 { 1.0 } else { -1.0 };
        ship.hull.steer(Vec3::new(0.001, -0.001, 0.000_5) * sign);
        ship.turn(900.0);
        assert!((1.0 - ship.hull.attitude.length()).abs() <= 1e-12);
    }
    assert!(ship.hull.fuel >= ship.hull.class.fuel_capacity, "no thruster fired");
    let off = (ship.momentum() - before).length() / before.length();
    assert!(off <= 1e-9, "{off:e}");
}

#[test]
fn a_free_spin_about_one_axis_is_exact() {
    let mut ship = Ship::new("fast_frigate");
    ship.hull.omega = Vec3::new(0.0, 0.0, 0.1);
    ship.turn(100.0);
    let expected = Quat::from_rotation_z(10.0);
    assert!(ship.hull.attitude.dot(expected).abs() > 1.0 - 1e-12);
    assert!((ship.hull.omega - Vec3::new(0.0, 0.0, 0.1)).length() < 1e-12);
}

#[test]
fn every_mode_brings_the_nose_where_it_says() {
    let luna = SOL.find("Luna").unwrap();
    for class in ["fast_frigate", "cargo_hauler"] {
        for (mode, word) in Mode::WORDS.iter().copied().skip(2) {
            let mut ship = Ship::new(class);
            ship.hull.mode = mode;
            ship.hull.mark = Some(Mark::Body(luna));
            // Tanks that do not empty, so that the comparison is about direction only.
            ship.hull.fuel = 1e6;
            ship.turn(900.0);
            let (along, _) = ship.view().direction(&ship.hull).unwrap();
            let angle = ship.nose().angle_between(along).to_degrees();
            assert!(angle < 0.1, "{class} {word}: {angle}°");
        }
    }
}

#[test]
fn letting_go_of_the_stick_holds_the_attitude() {
    let mut ship = Ship::new("fast_frigate");
    ship.hull.mode = Mode::Normal;
    ship.turn(60.0);
    ship.hull.steer(Vec3::X);
    ship.turn(2.0);
    assert_eq!(ship.hull.mode, Mode::Normal);
    ship.hull.steer(Vec3::ZERO);
    ship.turn(60.0);
    assert_eq!(ship.hull.mode, Mode::Hold);
    let error = ship.hull.attitude.angle_between(ship.hull.held.unwrap());
    assert!(error.to_degrees() < 0.1 && ship.hull.omega.length() < 1e-4, "{error}");
}

#[test]
fn full_wheels_are_unloaded_by_the_thrusters_without_turning_the_ship() {
    let mut ship = Ship::new("fast_frigate");
    let capacity = ship.hull.class.wheel_capacity;
    ship.hull.wheel = Vec3::new(0.95 * capacity, 0.0, 0.0);
    ship.turn(30.0);
    assert!(ship.hull.wheel.x.abs() <= 0.1 * capacity, "{}", ship.hull.wheel.x);
    assert!(ship.hull.fuel < ship.hull.class.fuel_capacity);
    assert!(ship.hull.omega.length() < 1e-9, "{}", ship.hull.omega);
}

#[test]
fn without_fuel_there_are_only_wheels() {
    let mut ship = Ship::new("fast_frigate");
    ship.hull.fuel = 0.0;
    ship.hull.hold = true;
    ship.hull.omega = Vec3::new(2.0, 0.0, 0.0);
    ship.turn(600.0);
    let capacity = ship.hull.class.wheel_capacity;
    assert!(ship.hull.wheel.x.abs() <= capacity * (1.0 + 1e-12));
    assert!(ship.hull.omega.x > 0.1, "the wheels took what they could, and no more");
}

#[test]
fn a_mark_that_is_gone_leaves_the_last_direction() {
    let mut ship = Ship::new("fast_frigate");
    ship.hull.mode = Mode::Target;
    ship.hull.mark = None;
    let before = ship.hull.attitude;
    ship.turn(5.0);
    assert!(ship.hull.attitude.dot(before).abs() > 1.0 - 1e-12);
}
