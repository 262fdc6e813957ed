//! Circles and planes: burn by burn along a course, each planned from the orbit that the one before it left, until the
//! orbit is the wanted one or it is said why not.

use super::course::{Course, Goal};
use super::guide::{Helm, Verdict, turning_s};
use super::{BurnState, Circling, Maneuver, Phase, PlannedBurn};
use crate::error::OrderError;
use crate::model::Target;
use crate::physics::aim::Mark;
use crate::physics::hull::Mode;
use crate::physics::orbit::Orbit;
use crate::physics::solar::Body;
use crate::physics::{Craft, Hull, Vec3, kepler};
use crate::world::World;

/// An orbit is the wanted one within this: eccentricity, share of the axis, and of a plane rad.
pub(super) const EXACTLY: f64 = 1e-3;
/// An orbit that is kept, or that a rule looks after, is left alone within this.
pub(super) const NEARLY: f64 = 2e-3;
/// A smaller change than this is not worth a burn, m/s.
const LEAST_MS: f64 = 0.01;
/// A burn ends when what is left of it points so far away from the nose, rad.
const TURNED: f64 = 0.25;
/// Plans with more burns in a row are given up.
const MOST_ROUNDS: u8 = 12;
/// No orbit on the way to a target goes lower than this above the ground, m.
const LOWEST_M: f64 = 100_000.0;
/// A target that is farther away is come near to along orbits, m.
const FAR_M: f64 = 200_000.0;
/// Orbits rounder than this count as circles for whoever wants to meet.
const ROUND_ENOUGH: f64 = 0.02;
/// Burns that are over and still told, at most.
const TOLD: usize = 8;

impl Maneuver {
    /// Goes on with this course, from now on.
    pub(super) fn follow(&mut self, course: Course, now_ns: i128) {
        self.burns.retain(|burn| burn.state == BurnState::Done);
        let over = self.burns.len().saturating_sub(TOLD);
        self.burns.drain(..over);
        let goals = [Some(course.goal), course.then];
        for ((wait_s, delta_v), goal) in course.burns.into_iter().zip(goals) {
            #[expect(clippy::cast_possible_truncation, reason = "years at most")]
            let at_ns = now_ns + (wait_s * 1e9) as i128;
            self.burns.push(PlannedBurn { at_ns, delta_v, state: BurnState::Planned, goal });
        }
    }

    /// Forgets what was planned and is not needed any more.
    pub(super) fn forget_planned(&mut self) {
        self.burns.retain(|burn| burn.state == BurnState::Done);
    }

    /// The burn that is flown or waited for.
    fn next_burn(&mut self) -> Option<&mut PlannedBurn> {
        self.burns.iter_mut().find(|burn| burn.state != BurnState::Done)
    }
}

impl Helm<'_> {
    /// Flies to a circle, and keeps it when that is the plan.
    pub(super) fn circle(
        &mut self,
        maneuver: &mut Maneuver,
        how: Circling,
        altitude: f64,
    ) -> Verdict {
        if maneuver.body != Some(self.craft.reference) {
            return Verdict::Failed("the ship left the body it was to circle");
        }
        if !self.burn_is_over(maneuver) {
            return Verdict::GoOn;
        }
        let body = self.world.system.body(self.craft.reference);
        let (mu, wanted) = (body.gm, body.radius + altitude);
        let keeps = how == Circling::StationKeeping;
        let within = if keeps && maneuver.rounds == 0 { NEARLY } else { EXACTLY };
        if is_circle(body, &self.craft, wanted, within) {
            maneuver.rounds = 0;
            maneuver.forget_planned();
            if !keeps {
                return Verdict::Done;
            }
            maneuver.phase = Phase::Coast;
            self.coast(Mode::Prograde);
            return Verdict::GoOn;
        }
        let Craft { r, v, .. } = self.craft;
        let lead = self.lead_s();
        self.begin_burn(maneuver, Course::to_circle(mu, r, v, wanted, lead))
    }

    /// Turns the plane of the orbit.
    pub(super) fn plane(
        &mut self,
        maneuver: &mut Maneuver,
        inclination: Option<f64>,
        target: Option<&Target>,
    ) -> Verdict {
        if !self.burn_is_over(maneuver) {
            return Verdict::GoOn;
        }
        let normal = match self.world.wanted_plane(&self.craft, inclination, target) {
            Ok(normal) => normal,
            Err(OrderError::Missing(_)) => return Verdict::Failed("the target is gone"),
            Err(_) => return Verdict::Failed("the target goes round another body"),
        };
        if is_plane(&self.craft, normal, EXACTLY) {
            return Verdict::Done;
        }
        let Craft { r, v, reference } = self.craft;
        let mu = self.world.system.body(reference).gm;
        let lead = self.lead_s();
        self.begin_burn(maneuver, Course::to_plane(mu, r, v, normal, lead))
    }

    /// To where a target is, along orbits, while it is far or a body lies between; `None` when the straight way is the
    /// right one.
    pub(super) fn come_near(
        &mut self,
        maneuver: &mut Maneuver,
        target: &Target,
        to: Vec3,
    ) -> Option<Verdict> {
        if !self.burn_is_over(maneuver) {
            return Some(Verdict::GoOn);
        }
        let Craft { r, v, reference } = self.craft;
        let body = self.world.system.body(reference);
        let (mu, lowest) = (body.gm, body.radius + LOWEST_M);
        let blocked = passes(r, to, lowest.min(r.length()));
        if to.length() <= FAR_M && !blocked {
            maneuver.forget_planned();
            return None;
        }
        let straight = if blocked {
            Some(Verdict::Failed("the straight way leads through the body it goes round"))
        } else {
            None
        };
        let Ok(normal) = self.world.plane_of(&self.craft, target) else { return straight };
        let Some(other) = self.world.orbit_of(target, reference) else { return straight };
        let their = Orbit::of(mu, other.0, other.1);
        let own = Orbit::of(mu, r, v);
        if their.eccentricity > ROUND_ENOUGH || own.apoapsis.is_none() {
            return Some(Verdict::Failed(
                "only a target on a nearly round orbit can be met from afar",
            ));
        }
        let lead = self.lead_s();
        let course = if !is_plane(&self.craft, normal, NEARLY) {
            Course::to_plane(mu, r, v, normal, lead)
        } else if own.eccentricity > ROUND_ENOUGH {
            Course::to_circle(mu, r, v, own.semi_major.max(lowest), lead)
        } else {
            match Course::to_meet(mu, (r, v), other, lowest, lead) {
                Some(course) => course,
                None => return Some(Verdict::Failed("no orbit leads there above the ground")),
            }
        };
        Some(self.begin_burn(maneuver, course))
    }

    /// The time that a burn must be away, so that the nose can be turned to it.
    fn lead_s(&mut self) -> f64 {
        let dt_s = self.dt_s;
        self.hull().map_or(0.0, |hull| turning_s(hull)) + dt_s
    }

    fn begin_burn(&mut self, maneuver: &mut Maneuver, course: Course) -> Verdict {
        maneuver.rounds += 1;
        if maneuver.rounds > MOST_ROUNDS {
            return Verdict::Failed("it did not come round; the orbit is disturbed too much");
        }
        maneuver.follow(course, self.world.time_ns);
        self.burn_is_over(maneuver);
        Verdict::GoOn
    }

    /// Flies the burn that is planned, or waits for it; whether there is none any more.
    fn burn_is_over(&mut self, maneuver: &mut Maneuver) -> bool {
        let (now_ns, dt_s) = (self.world.time_ns, self.dt_s);
        let Craft { reference, r, v } = self.craft;
        let mu = self.world.system.body(reference).gm;
        let Some(hull) = self.hull() else { return true };
        let (reached, tank) = (hull.cutoff == Some(0.0), hull.clone());
        let Some(burn) = maneuver.next_burn() else { return true };
        let Some(goal) = burn.goal else { return true };
        if burn.state == BurnState::Planned {
            #[expect(clippy::cast_precision_loss, reason = "seconds to a burn")]
            let wait = ((burn.at_ns - now_ns) as f64 / 1e9).max(0.0);
            let (at, moves) = kepler::propagate(mu, r, v, wait);
            let change = goal.change(mu, at, moves);
            if wait - burning_s(&tank, change.length()) / 2.0 > dt_s / 2.0 {
                maneuver.phase = Phase::Coast;
                self.aim(change);
                return false;
            }
            burn.state = BurnState::Burning;
        }
        let change = planned(goal, mu, (r, v), &tank, 0.0);
        // Towards the end of a burn the rest points elsewhere: it is left to the next plan.
        let lit = tank.cutoff.is_some_and(|left| left > 0.0);
        let turned = lit && (tank.attitude * Vec3::Z).angle_between(change) > TURNED;
        if reached || turned || change.length() < LEAST_MS {
            burn.state = BurnState::Done;
            let over = maneuver.next_burn().is_none_or(|next| next.goal.is_none());
            if let Some(hull) = self.hull() {
                hull.throttle(0.0);
            }
            return over;
        }
        maneuver.phase = match goal {
            Goal::Apsis(_) => Phase::Transfer,
            Goal::Circle(_) => Phase::Circle,
            Goal::Plane(..) => Phase::Burn,
        };
        if lit {
            self.burn_on(change);
        } else {
            self.steer(change, planned(goal, mu, (r, v), &tank, dt_s));
        }
        false
    }
}

impl World {
    /// The normal of the plane that is asked for.
    pub(super) fn wanted_plane(
        &self,
        craft: &Craft,
        inclination: Option<f64>,
        target: Option<&Target>,
    ) -> Result<Vec3, OrderError> {
        match (target, inclination) {
            (Some(target), _) => self.plane_of(craft, target),
            (None, inclination) => {
                let turning = craft.r.cross(craft.v);
                // The line of nodes stays; an orbit in the ecliptic gets one where the ship is.
                let line = Vec3::Z.cross(turning).try_normalize();
                let flat = turning.normalize_or(Vec3::Z).z.abs() > 1.0 - 1e-9;
                let line = line.filter(|_| !flat).unwrap_or_else(|| craft.r.normalize());
                let line = (line - Vec3::Z * line.z).normalize_or(Vec3::X);
                let (sin, cos) = inclination.unwrap_or(0.0).to_radians().sin_cos();
                Ok(Vec3::Z * cos - Vec3::Z.cross(line) * sin)
            }
        }
    }

    /// The normal of a target's orbit about the ship's reference body.
    pub(super) fn plane_of(&self, craft: &Craft, target: &Target) -> Result<Vec3, OrderError> {
        self.mark(target).ok_or(OrderError::Missing("target"))?;
        let (r, v) = self
            .orbit_of(target, craft.reference)
            .ok_or(OrderError::Conflict("the target does not go round the same body"))?;
        r.cross(v).try_normalize().ok_or(OrderError::Conflict("the target has no orbit"))
    }

    /// Place and velocity of a target that goes round this body.
    fn orbit_of(&self, target: &Target, about: usize) -> Option<(Vec3, Vec3)> {
        let frame = self.bodies.now();
        match self.mark(target)? {
            Mark::Craft { reference, r, v } => (reference == about).then_some((r, v)),
            Mark::Body(body) if self.system.body(body).parent == Some(about) => Some((
                frame.position[body] - frame.position[about],
                frame.velocity[body] - frame.velocity[about],
            )),
            Mark::Body(_) | Mark::Lagrange(_) => None,
        }
    }
}

/// Whether the straight way from `r` by `to` comes nearer to the centre than that.
fn passes(r: Vec3, to: Vec3, lowest: f64) -> bool {
    let share = (-r.dot(to) / to.length_squared()).clamp(0.0, 1.0);
    (r + to * share).length() < lowest
}

/// The change of velocity that a burn from now on has in its middle, `later` seconds from here.
fn planned(goal: Goal, mu: f64, (r, v): (Vec3, Vec3), hull: &Hull, later: f64) -> Vec3 {
    let now = goal.change(mu, r, v).length();
    let (r, v) = kepler::propagate(mu, r, v, later + burning_s(hull, now) / 2.0);
    goal.change(mu, r, v)
}

/// How long the main engine burns for a change of speed, s.
fn burning_s(hull: &Hull, delta_v: f64) -> f64 {
    -hull.mass() * (-delta_v / hull.class.exhaust()).exp_m1() / hull.class.fuel_rate()
}

/// The burn onto a circle where the ship is when it has turned, and the distance of it.
pub(super) fn circle_here(body: &Body, craft: &Craft, lead: f64) -> (Course, f64) {
    let course = Course::to_circle_here(body.gm, craft.r, craft.v, lead);
    let distance = kepler::propagate(body.gm, craft.r, craft.v, lead).0.length();
    (course, distance)
}

/// Whether a craft goes round a body on a circle of that radius.
pub(super) fn is_circle(body: &Body, craft: &Craft, wanted: f64, within: f64) -> bool {
    let orbit = Orbit::of(body.gm, craft.r, craft.v);
    let off = (orbit.semi_major - wanted).abs() / wanted;
    orbit.eccentricity < within && off < within && orbit.periapsis >= body.radius
}

/// Whether a craft goes round in the plane with that normal.
pub(super) fn is_plane(craft: &Craft, normal: Vec3, within: f64) -> bool {
    craft.r.cross(craft.v).angle_between(normal) < within
}
