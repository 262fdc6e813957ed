//! A ship's own state: controls, fuel, attitude, and the work of its engines in a step.
//!
//! Always true: fuel is never below zero, and when it ends inside a step the burn ends there,
//! exactly.

use super::{Quat, ShipClass, Vec3, aim::Mark};
use crate::model::text::words;

words! {
    /// The direction in which the nose is kept.
    #[derive(Default)]
    pub enum Mode {
        #[default]
        None = "none",
        Hold = "hold",
        Prograde = "prograde",
        Retrograde = "retrograde",
        Normal = "normal",
        Antinormal = "antinormal",
        Radial = "radial",
        Antiradial = "antiradial",
        Target = "target",
        TargetRetrograde = "target_retrograde",
    }
}

impl Mode {
    /// Whether it needs a target.
    pub fn needs_target(self) -> bool {
        matches!(self, Mode::Target | Mode::TargetRetrograde)
    }
}

/// The state of a ship and the inputs of its pilot.
#[derive(Debug, Clone, PartialEq)]
pub struct Hull {
    /// The data that all ships of its class have in common.
    pub class: &'static ShipClass,
    /// Mass without fuel, kg.
    pub dry_mass: f64,
    /// The fuel up to which refuelling fills, kg.
    pub fuel_capacity: f64,
    /// kg; a stored value above the capacity is kept.
    pub fuel: f64,
    /// The remainder that rounding left out of `fuel`: short burns add up to long ones.
    pub fuel_lost: f64,
    /// From body axes to inertial ones: X right, Y up, Z forward.
    pub attitude: Quat,
    /// rad/s about the body axes.
    pub omega: Vec3,
    /// Momentum of the wheels, N·m·s about the body axes.
    pub wheel: Vec3,
    /// Pitch, yaw and roll asked for, −1 to 1.
    pub rotation_input: Vec3,
    /// Shift asked for along the body axes, −1 to 1.
    pub translation_input: Vec3,
    /// Main engine, 0 to 1.
    pub thrust_level: f64,
    /// Damps what nobody asked for.
    pub hold: bool,
    /// The direction in which the nose is kept.
    pub mode: Mode,
    /// The attitude that `hold` keeps.
    pub held: Option<Quat>,
    /// The mark that the target modes look at, in this tick.
    pub mark: Option<Mark>,
    /// The last direction that could be computed, for moments when it cannot.
    pub last_aim: Option<Vec3>,
    /// The pilot turned against the controller; when they let go, the attitude is held.
    pub overridden: bool,
    /// Wheels that give their momentum to the thrusters.
    pub unloading: [bool; 3],
    /// Nozzles that fired in the last step, for display.
    pub rcs_firing: u32,
    /// Speed the main engine may still win, m/s; then it is off.
    pub cutoff: Option<f64>,
    /// Speed the main engine has won since somebody last counted, m/s.
    pub won: f64,
}

/// Speed won in the two halves of a step, along inertial axes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Burn {
    /// Before the drift.
    pub first: Vec3,
    /// After it.
    pub second: Vec3,
}

impl Hull {
    /// A ship of the class as it is spawned: full tanks, at rest, facing +Z.
    pub fn new(class: &'static ShipClass) -> Self {
        Hull {
            class,
            dry_mass: class.dry_mass,
            fuel_capacity: class.fuel_capacity,
            fuel: class.fuel_capacity,
            fuel_lost: 0.0,
            attitude: Quat::IDENTITY,
            omega: Vec3::ZERO,
            wheel: Vec3::ZERO,
            rotation_input: Vec3::ZERO,
            translation_input: Vec3::ZERO,
            thrust_level: 0.0,
            hold: false,
            mode: Mode::None,
            held: None,
            mark: None,
            last_aim: None,
            overridden: false,
            unloading: [false; 3],
            rcs_firing: 0,
            cutoff: None,
            won: 0.0,
        }
    }

    /// kg.
    pub fn mass(&self) -> f64 {
        self.dry_mass + self.fuel
    }

    /// Keeps the attitude it has now.
    pub fn hold_here(&mut self) {
        self.mode = Mode::Hold;
        self.held = Some(self.attitude);
        self.mark = None;
        self.last_aim = None;
        self.overridden = false;
    }

    /// Sets the pilot's turn; letting go of it after a fight with the controller holds the attitude.
    pub fn steer(&mut self, input: Vec3) {
        self.rotation_input = input.clamp(Vec3::NEG_ONE, Vec3::ONE);
    }

    /// Whether nothing about it changes by itself.
    pub fn rests(&self) -> bool {
        self.thrust_level == 0.0
            && self.mode == Mode::None
            && !self.hold
            && self.rotation_input == Vec3::ZERO
            && self.translation_input == Vec3::ZERO
            && self.omega.length_squared() < 1e-24
            && self.unloading == [false; 3]
            && self.wheel.abs().max_element() < 0.9 * self.class.wheel_capacity
    }

    /// Burns for `h` seconds with the attitude of the middle of the step.
    ///
    /// Thrust over a mass that falls linearly gives `F/w · ln(m0/m1)`: the rocket equation, exactly.
    pub fn burn(&mut self, h: f64) -> Burn {
        let class = self.class;
        let level = self.level(h);
        let shift = self.translation_input.clamp(Vec3::NEG_ONE, Vec3::ONE);
        let rate =
            level * class.fuel_rate() + shift.abs().element_sum() * class.rcs_linear_fuel_rate;
        if rate <= 0.0 || self.fuel <= 0.0 {
            self.cut_dry_engine();
            return Burn::default();
        }
        let force = Vec3::Z * (level * class.max_thrust) + shift * class.rcs_thrust;
        let mass = self.mass();
        let time = h.min(self.fuel / rate);
        let speed = |from: f64, to: f64| -(-(to - from) * rate / (mass - from * rate)).ln_1p();
        let along = self.attitude * (force / rate);
        let (first, second) = (speed(0.0, time / 2.0), speed(time / 2.0, time));
        self.count(level, level * class.max_thrust / rate * (first + second));
        self.spend(rate * h);
        self.cut_dry_engine();
        Burn { first: along * first, second: along * second }
    }

    /// Full thrust until the engine has won `left` m/s; nothing of it, engine off.
    pub fn throttle(&mut self, left: f64) {
        let burns = left > 0.0;
        self.thrust_level = if burns { 1.0 } else { 0.0 };
        self.cutoff = burns.then_some(left);
    }

    /// The thrust of this step: less than was asked in the step in which the cutoff is reached.
    fn level(&self, h: f64) -> f64 {
        let Some(left) = self.cutoff else { return self.thrust_level };
        let enough = -self.mass() * (-left / self.class.exhaust()).exp_m1();
        self.thrust_level.min(enough / (self.class.fuel_rate() * h))
    }

    fn count(&mut self, level: f64, won: f64) {
        self.won += won;
        if let Some(left) = self.cutoff {
            let reached = level < self.thrust_level;
            self.cutoff = Some(if reached { 0.0 } else { (left - won).max(0.0) });
            if reached {
                self.thrust_level = 0.0;
            }
        }
    }

    /// Takes fuel out of the tank, at most what is there.
    pub(super) fn spend(&mut self, fuel: f64) {
        if fuel >= self.fuel {
            (self.fuel, self.fuel_lost) = (0.0, 0.0);
            return;
        }
        let before = self.fuel;
        let spent = fuel - self.fuel_lost;
        self.fuel -= spent;
        self.fuel_lost = (before - self.fuel) - spent;
    }

    fn cut_dry_engine(&mut self) {
        if self.fuel <= 0.0 {
            self.fuel = 0.0;
            self.thrust_level = 0.0;
        }
    }
}
