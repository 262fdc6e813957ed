//! The attitude of a ship: the controller that asks for torque, the wheels and thrusters that give
//! it, and the rotation that follows.
//!
//! Momentum is the state that is integrated, in inertial axes: wheels move it between themselves
//! and the hull and cannot change the whole, so it is kept to the last digits whatever the step.

use super::hull::{Hull, Mode};
use super::{Quat, Vec3, aim};

/// The torque of wheels and thrusters about each axis for one step.
struct Torque {
    wheel: Vec3,
    rcs: Vec3,
}

/// The rotation wanted of the nose: an angle still to turn and a rate to have, both about the body
/// axes.
struct Wanted {
    turn: Vec3,
    rate: Vec3,
}

impl Hull {
    /// Turns for `h` seconds; `view` is where it is, for the modes that need to know.
    pub fn turn(&mut self, h: f64, view: &aim::View<'_>) {
        self.rcs_firing = self.translation_nozzles();
        if self.rests() {
            return;
        }
        self.settle_override();
        let longest = (0.05 / self.class.omega_n).min(super::LONGEST_STEP_S);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few steps")]
        let count = (h / longest).ceil().max(1.0) as u32;
        let step = h / f64::from(count);
        for _ in 0..count {
            let wanted = self.wanted(view);
            let demand = self.demand(wanted.as_ref());
            let torque = self.allocate(demand, step);
            self.spin(&torque, step);
        }
    }

    /// A pilot who turned against the controller and let go wants to stay where they are now.
    fn settle_override(&mut self) {
        if self.mode == Mode::None {
            return;
        }
        if self.rotation_input != Vec3::ZERO {
            self.overridden = true;
        } else if self.overridden {
            self.hold_here();
        }
    }

    fn wanted(&mut self, view: &aim::View<'_>) -> Option<Wanted> {
        match self.mode {
            Mode::None => None,
            Mode::Hold => {
                let held = *self.held.get_or_insert(self.attitude);
                let error = self.attitude.conjugate() * held;
                let error = if error.w < 0.0 { -error } else { error };
                let axis = error.xyz();
                let turn = axis.normalize_or_zero() * (2.0 * axis.length().atan2(error.w));
                Some(Wanted { turn, rate: Vec3::ZERO })
            }
            _ => {
                let (along, change) = match view.direction(self) {
                    Some((along, change)) => {
                        self.last_aim = Some(along);
                        (along, change)
                    }
                    None => (self.last_aim?, Vec3::ZERO),
                };
                let inward = self.attitude.conjugate();
                Some(Wanted {
                    turn: shortest_turn(inward * along),
                    rate: inward * along.cross(change),
                })
            }
        }
    }

    /// Torque about each axis: the pilot's where they steer, the controller's elsewhere.
    fn demand(&self, wanted: Option<&Wanted>) -> Vec3 {
        let omega_n = self.class.omega_n;
        let inertia = self.class.inertia(self.fuel);
        let gyroscopic = self.omega.cross(inertia * self.omega + self.wheel);
        let asked = self.rotation_input.clamp(Vec3::NEG_ONE, Vec3::ONE);
        let by_itself = match wanted {
            Some(Wanted { turn, rate }) => {
                inertia * (*turn * (omega_n * omega_n) - (self.omega - *rate) * (2.0 * omega_n))
                    + gyroscopic
            }
            None if self.hold => inertia * (self.omega * (-2.0 * omega_n)) + gyroscopic,
            None => Vec3::ZERO,
        };
        Vec3::select(asked.cmpeq(Vec3::ZERO), by_itself, asked * self.class.wheel_torque)
    }

    /// Wheels first, as far as their torque and capacity go; thrusters give the rest while there is fuel.
    fn allocate(&mut self, demand: Vec3, h: f64) -> Torque {
        let class = self.class;
        let (most, capacity) = (class.wheel_torque, class.wheel_capacity);
        let mut torque = Torque { wheel: Vec3::ZERO, rcs: Vec3::ZERO };
        for axis in 0..3 {
            let held = self.wheel[axis];
            let steered = self.rotation_input[axis] != 0.0;
            if !steered && held.abs() >= 0.9 * capacity {
                self.unloading[axis] = true;
            } else if steered || held.abs() <= 0.1 * capacity {
                self.unloading[axis] = false;
            }
            let wheel = if self.unloading[axis] && self.fuel > 0.0 {
                // Not past zero within this step.
                most.min(held.abs() / h).copysign(held)
            } else {
                let (least, greatest) = ((held - capacity) / h, (held + capacity) / h);
                // A stored momentum beyond the capacity may only come down.
                demand[axis].clamp(-most, most).clamp(least.min(0.0), greatest.max(0.0))
            };
            torque.wheel[axis] = wheel;
            torque.rcs[axis] = (demand[axis] - wheel).clamp(-class.rcs_torque, class.rcs_torque);
        }
        self.fire(&mut torque, h);
        torque
    }

    /// Takes the thrusters' fuel; with too little of it they give what it is good for.
    fn fire(&mut self, torque: &mut Torque, h: f64) {
        let class = self.class;
        let share = (torque.rcs.abs().element_sum() / class.rcs_torque).min(1.0);
        if share <= 0.0 {
            return;
        }
        let needed = class.rcs_fuel_rate * share * h;
        if needed > self.fuel {
            torque.rcs *= self.fuel / needed;
        }
        self.spend(needed);
        self.rcs_firing |= turning_nozzles(torque.rcs);
    }

    /// Rotates under constant torque for `h` seconds: a commutator-free Lie group method of the fourth order,
    /// exact while the rate is constant.
    fn spin(&mut self, torque: &Torque, h: f64) {
        let inertia = self.class.inertia(self.fuel);
        let q0 = self.attitude;
        let whole = q0 * (inertia * self.omega + self.wheel);
        let rate = |q: Quat, momentum: Vec3, t: f64| {
            (q.conjugate() * momentum - (self.wheel - torque.wheel * t)) / inertia
        };
        let turned = |by: Vec3| Quat::from_scaled_axis(by);
        let (k1, p1) = (rate(q0, whole, 0.0), q0 * torque.rcs);
        let q2 = q0 * turned(k1 * (h / 2.0));
        let (k2, p2) = (rate(q2, whole + p1 * (h / 2.0), h / 2.0), q2 * torque.rcs);
        let q3 = q0 * turned(k2 * (h / 2.0));
        let (k3, p3) = (rate(q3, whole + p2 * (h / 2.0), h / 2.0), q3 * torque.rcs);
        let q4 = q2 * turned(k3 * h - k1 * (h / 2.0));
        let (k4, p4) = (rate(q4, whole + p3 * h, h), q4 * torque.rcs);
        let early = (k1 * 3.0 + k2 * 2.0 + k3 * 2.0 - k4) * (h / 12.0);
        let late = (k4 * 3.0 + k2 * 2.0 + k3 * 2.0 - k1) * (h / 12.0);
        let whole = whole + (p1 + p2 * 2.0 + p3 * 2.0 + p4) * (h / 6.0);
        self.attitude = (q0 * turned(early) * turned(late)).normalize();
        self.wheel -= torque.wheel * h;
        self.omega = (self.attitude.conjugate() * whole - self.wheel) / inertia;
    }

    /// Nozzles that push the ship along: pod × 3 + axis.
    fn translation_nozzles(&self) -> u32 {
        if self.fuel <= 0.0 {
            0
        } else {
            nozzles(|pod, axis| pod[axis] * self.translation_input[axis] < 0.0)
        }
    }
}

/// The turn that brings the nose to `along` (both about the body axes) by the shortest way; a half turn goes about Y.
fn shortest_turn(along: Vec3) -> Vec3 {
    let axis = Vec3::Z.cross(along);
    let sine = axis.length();
    if sine < 1e-12 {
        return if along.z < 0.0 { Vec3::Y * std::f64::consts::PI } else { Vec3::ZERO };
    }
    axis * (sine.atan2(along.z) / sine)
}

/// Nozzles whose push has an arm in the sense of the torque.
fn turning_nozzles(torque: Vec3) -> u32 {
    nozzles(|pod, axis| {
        let push = Vec3::AXES[axis] * -pod[axis];
        pod.cross(push).dot(torque) > 0.0
    })
}

fn nozzles(fires: impl Fn(Vec3, usize) -> bool) -> u32 {
    let sign = |negative: bool| if negative { -1.0 } else { 1.0 };
    let mut bits = 0;
    for pod in 0..8_usize {
        let at = Vec3::new(sign(pod & 1 != 0), sign(pod & 2 != 0), sign(pod & 4 != 0));
        for axis in 0..3 {
            if fires(at, axis) {
                bits |= 1 << (pod * 3 + axis);
            }
        }
    }
    bits
}
