//! Ship classes as data.

use super::{G0, Vec3};

/// The data that all ships of a class have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShipClass {
    /// As stored in `ship_class`.
    pub name: &'static str,
    /// Mass without fuel, kg.
    pub dry_mass: f64,
    /// Fuel at most, kg.
    pub fuel_capacity: f64,
    /// Main engine, N.
    pub max_thrust: f64,
    /// Specific impulse of the main engine, s.
    pub isp: f64,
    /// Momentum each wheel can hold, N·m·s.
    pub wheel_capacity: f64,
    /// Torque of each wheel, N·m.
    pub wheel_torque: f64,
    /// Torque of the thrusters about each axis, N·m.
    pub rcs_torque: f64,
    /// Fuel the thrusters take when they turn with all they have, kg/s.
    pub rcs_fuel_rate: f64,
    /// Force of the thrusters along each axis, N.
    pub rcs_thrust: f64,
    /// Fuel the thrusters take for that along one axis, kg/s.
    pub rcs_linear_fuel_rate: f64,
    /// Natural frequency of the attitude controller, rad/s.
    pub omega_n: f64,
    /// Moments of inertia without fuel, kg·m².
    pub inertia_dry: Vec3,
    /// Moments of inertia with full tanks, kg·m².
    pub inertia_full: Vec3,
}

/// All classes; the first is what a new player gets and what an unknown name means.
pub const CLASSES: &[ShipClass] = &[
    ShipClass {
        name: "fast_frigate",
        dry_mass: 8_000.0,
        fuel_capacity: 15_000.0,
        max_thrust: 600_000.0,
        isp: 20_000.0,
        wheel_capacity: 5_000.0,
        wheel_torque: 500.0,
        rcs_torque: 8_000.0,
        rcs_fuel_rate: 0.27,
        rcs_thrust: 4_000.0,
        rcs_linear_fuel_rate: 0.14,
        omega_n: 0.5,
        inertia_dry: Vec3::new(4e4, 4e4, 1.5e4),
        inertia_full: Vec3::new(8e4, 8e4, 3e4),
    },
    ShipClass {
        name: "cargo_hauler",
        dry_mass: 100_000.0,
        fuel_capacity: 60_000.0,
        max_thrust: 400_000.0,
        isp: 15_000.0,
        wheel_capacity: 40_000.0,
        wheel_torque: 2_000.0,
        rcs_torque: 20_000.0,
        rcs_fuel_rate: 0.68,
        rcs_thrust: 10_000.0,
        rcs_linear_fuel_rate: 0.34,
        omega_n: 0.15,
        inertia_dry: Vec3::new(4e6, 4e6, 8e5),
        inertia_full: Vec3::new(6.4e6, 6.4e6, 1.28e6),
    },
];

impl ShipClass {
    /// The class of that name.
    pub fn named(name: &str) -> Option<&'static ShipClass> {
        CLASSES.iter().find(|class| class.name == name)
    }

    /// The class of a new player's ship.
    pub fn first() -> &'static ShipClass {
        &CLASSES[0]
    }

    /// Speed of the exhaust, m/s.
    pub fn exhaust(&self) -> f64 {
        self.isp * G0
    }

    /// Fuel the main engine takes at full thrust, kg/s.
    pub fn fuel_rate(&self) -> f64 {
        self.max_thrust / self.exhaust()
    }

    /// Moments of inertia with that much fuel.
    pub fn inertia(&self, fuel: f64) -> Vec3 {
        let filled = (fuel / self.fuel_capacity).clamp(0.0, 1.0);
        self.inertia_dry + (self.inertia_full - self.inertia_dry) * filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_figures_are_those_of_the_class_table() {
        let frigate = ShipClass::named("fast_frigate").unwrap();
        let hauler = ShipClass::named("cargo_hauler").unwrap();
        let close = |a: f64, b: f64, within: f64| assert!((a - b).abs() < within, "{a} is not {b}");
        close(frigate.fuel_rate(), 3.059_149, 1e-6);
        close(hauler.fuel_rate(), 2.719_243, 1e-6);
        let delta_v =
            |c: &ShipClass| c.exhaust() * ((c.dry_mass + c.fuel_capacity) / c.dry_mass).ln();
        close(delta_v(frigate), 207_126.8, 0.1);
        close(delta_v(hauler), 69_137.4, 0.1);
        close(frigate.fuel_capacity / frigate.fuel_rate(), 4_903.33, 0.01);
        close(hauler.fuel_capacity / hauler.fuel_rate(), 22_064.96, 0.01);
    }
}
