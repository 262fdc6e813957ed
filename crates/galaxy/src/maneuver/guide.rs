//! Guidance: the direction of the nose and the length of the burn in the next tick.
//!
//! The engine is cut by the step of the physics in which the wanted speed is reached, not by the
//! tick, so a long tick overshoots no more than a short one.

use uuid::Uuid;

use super::{Maneuver, Phase, Plan};
use crate::model::Target;
use crate::physics::aim::View;
use crate::physics::hull::Mode;
use crate::physics::{Craft, Hull, Quat, Vec3};
use crate::world::World;

/// The nose counts as aligned within this.
const ALIGNED: f64 = std::f64::consts::PI / 180.0;
/// Arrived: inside of the docking limits of 500 m and 5 m/s.
const ARRIVED_M: f64 = 400.0;
const ARRIVED_MS: f64 = 3.0;
/// A rendezvous brakes with this share of the engine, so that there is some left for corrections.
const BRAKES_WITH: f64 = 0.5;

/// The verdict of guidance on a maneuver.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    GoOn,
    Done,
    Failed(&'static str),
}

/// One ship at the start of a tick, and its hull to steer.
pub(super) struct Helm<'a> {
    pub(super) world: &'a mut World,
    ship: Uuid,
    pub(super) craft: Craft,
    pub(super) dt_s: f64,
}

impl<'a> Helm<'a> {
    /// `None` when the ship cannot fly.
    pub(super) fn take(world: &'a mut World, ship: Uuid, dt_s: f64) -> Option<Self> {
        let found = world.ships.get(&ship)?;
        if found.docked.is_some() || found.landed.is_some() {
            return None;
        }
        let craft = world.fleet.craft(found.craft)?;
        Some(Helm { world, ship, craft, dt_s })
    }

    pub(super) fn fly(&mut self, maneuver: &mut Maneuver) -> Verdict {
        let plan = maneuver.plan.clone();
        match plan {
            Plan::Burn { direction, delta_v, target } => {
                let left = delta_v - maneuver.delta_v_done;
                self.burn(maneuver, direction, target.as_ref(), left)
            }
            Plan::Circle { how, target_altitude } => {
                self.circle(maneuver, how, target_altitude.unwrap_or(0.0))
            }
            Plan::Plane { inclination, target } => {
                self.plane(maneuver, inclination, target.as_ref())
            }
            Plan::Rendezvous { target, .. } => self.rendezvous(maneuver, &target),
        }
    }

    pub(super) fn hull(&mut self) -> Option<&mut Hull> {
        self.world.hull_mut(self.ship)
    }

    fn burn(
        &mut self,
        maneuver: &mut Maneuver,
        direction: Mode,
        target: Option<&Target>,
        left: f64,
    ) -> Verdict {
        let mark = match target {
            None => None,
            Some(target) => match self.world.mark(target) {
                None => return Verdict::Failed("the target is gone"),
                mark => mark,
            },
        };
        let Craft { reference, r, v } = self.craft;
        let Some(hull) = self.hull() else { return Verdict::Failed("the ship is gone") };
        if hull.mode != direction {
            (hull.mode, hull.last_aim, hull.overridden) = (direction, None, false);
        }
        hull.mark = mark;
        let hull = hull.clone();
        let (gm, frame) = (self.world.bodies.gm(), self.world.bodies.now());
        let along = View { gm, frame, reference, r, v, elapsed: 0.0 }.direction(&hull);
        let Some((along, _)) = along else {
            return Verdict::Failed("the direction cannot be told here");
        };
        let aligned = (hull.attitude * Vec3::Z).angle_between(along) <= ALIGNED;
        maneuver.phase = if aligned { Phase::Burn } else { Phase::Align };
        let Some(hull) = self.hull() else { return Verdict::Failed("the ship is gone") };
        hull.throttle(if aligned { left } else { 0.0 });
        Verdict::GoOn
    }

    /// Burns for a wanted change of velocity if the nose points along it; otherwise turns it to where the change
    /// will be when the tick is over. A long tick would else run after its own direction.
    pub(super) fn steer(&mut self, change: Vec3, later: Vec3) {
        let Some(hull) = self.hull() else { return };
        let nose = hull.attitude * Vec3::Z;
        let aligned = change.length() > 0.0 && nose.angle_between(change) <= ALIGNED;
        let along = if aligned { change } else { later }.normalize_or(nose);
        if hull.mode != Mode::Hold {
            hull.hold_here();
        }
        hull.held = Some((shortest(nose, along, hull.attitude) * hull.attitude).normalize());
        hull.throttle(if aligned { change.length() } else { 0.0 });
    }

    /// The engine goes on, and the nose follows what is left of the burn.
    pub(super) fn burn_on(&mut self, change: Vec3) {
        let Some(hull) = self.hull() else { return };
        let nose = hull.attitude * Vec3::Z;
        let along = change.normalize_or(nose);
        hull.held = Some((shortest(nose, along, hull.attitude) * hull.attitude).normalize());
        hull.throttle(change.dot(nose));
    }

    /// Engine off, nose turned to where the next burn will be.
    pub(super) fn aim(&mut self, along: Vec3) {
        let Some(hull) = self.hull() else { return };
        hull.throttle(0.0);
        if hull.mode != Mode::Hold {
            hull.hold_here();
        }
        let nose = hull.attitude * Vec3::Z;
        let along = along.normalize_or(nose);
        hull.held = Some((shortest(nose, along, hull.attitude) * hull.attitude).normalize());
    }

    /// Engine off, nose kept where a mode says.
    pub(super) fn coast(&mut self, mode: Mode) {
        let Some(hull) = self.hull() else { return };
        hull.throttle(0.0);
        if hull.mode != mode {
            (hull.mode, hull.last_aim, hull.overridden) = (mode, None, false);
        }
    }

    /// Straight to the target: as fast as it can still brake, and braking in time.
    fn rendezvous(&mut self, maneuver: &mut Maneuver, target: &Target) -> Verdict {
        let Some((to, closing)) = self.towards(target) else {
            return Verdict::Failed("the target is gone");
        };
        let distance = to.length();
        if let Some(verdict) = self.come_near(maneuver, target, to) {
            return verdict;
        }
        if distance <= ARRIVED_M && closing.length() <= ARRIVED_MS {
            return Verdict::Done;
        }
        let dt_s = self.dt_s;
        let Some(hull) = self.hull() else { return Verdict::Failed("the ship is gone") };
        let brakes = BRAKES_WITH * hull.class.max_thrust / hull.mass();
        // Turning round takes time in which the ship flies on.
        let turning = turning_s(hull) + dt_s;
        let left = (distance - ARRIVED_M / 2.0).max(0.0);
        let braking = brakes * turning;
        let fastest = (braking * braking + 2.0 * brakes * left).sqrt() - braking;
        let speed = fastest.min(left / (2.0 * dt_s)).max(ARRIVED_MS / 2.0);
        let along = to / distance;
        let change = along * speed - closing;
        // Less than this is not worth a turn of the ship while there is a way to go.
        let worth = (0.05 * speed).max(ARRIVED_MS / 4.0);
        if change.length() < worth {
            maneuver.phase = Phase::Coast;
            self.coast(Mode::TargetRetrograde);
        } else {
            let gains = change.dot(along) > 0.0;
            maneuver.phase = if gains { Phase::Accelerate } else { Phase::Brake };
            self.steer(change, change);
        }
        Verdict::GoOn
    }

    /// The way to a target and our velocity against it.
    fn towards(&self, target: &Target) -> Option<(Vec3, Vec3)> {
        let mark = self.world.mark(target)?;
        let frame = self.world.bodies.now();
        let Craft { reference, r, v } = self.craft;
        let view = View { gm: self.world.bodies.gm(), frame, reference, r, v, elapsed: 0.0 };
        let (at, moves) = view.seen(mark);
        Some((at - r, v - moves))
    }
}

/// Seconds that a ship needs to turn its nose anywhere.
pub(super) fn turning_s(hull: &Hull) -> f64 {
    8.0 / hull.class.omega_n
}

/// The turn that takes one direction to another; the half turn goes about the ship's own Y.
fn shortest(from: Vec3, to: Vec3, attitude: Quat) -> Quat {
    if from.dot(to) < -1.0 + 1e-9 {
        Quat::from_axis_angle(attitude * Vec3::Y, std::f64::consts::PI)
    } else {
        Quat::from_rotation_arc(from, to)
    }
}
