//! Courses: the next burn towards a wanted orbit, from where a ship is now. Pure geometry about one
//! centre; who flies it is in `guide`.
//!
//! A burn is planned as if it took no time, at the place where it costs least, and is flown with its
//! middle there. What it leaves undone is the start of the next plan, until the orbit is the wanted
//! one.

use crate::physics::orbit::{Orbit, mean_anomaly};
use crate::physics::{Vec3, kepler};

/// Orbits rounder than this have no apsis worth waiting for.
const NEARLY_ROUND: f64 = 0.01;
/// An orbit touches the wanted distance when an apsis is this near to it.
const TOUCHES: f64 = 0.003;
/// Two orbits whose axes differ by less than this share are the same for whoever wants to meet.
const SAME_ORBIT: f64 = 0.003;
/// Turns of the other craft that a transfer may wait for.
const PATIENT_TURNS: f64 = 6.0;
/// A phasing orbit reaches up or down by this share at most, and takes so many turns.
const DETOUR: f64 = 0.25;
const MOST_TURNS: u8 = 10;
/// An apsis nearer than this share to where a burn is, is reached by flying level.
const APSIS_APART: f64 = 0.02;
/// A plan with one burn less is taken when it costs no more than this above the cheapest.
const ONE_BURN_MORE: f64 = 1.01;

/// The velocity that is wanted at the place of a burn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// One apsis here, the other at this distance, m.
    Apsis(f64),
    /// Along the ground, with half the long axis this long, m: a circle, where the distance is that too.
    Circle(f64),
    /// The plane with this normal, with half the long axis this long, m.
    Plane(Vec3, f64),
}

impl Goal {
    /// The change of velocity at `r` with velocity `v`.
    pub(crate) fn change(self, mu: f64, r: Vec3, v: Vec3) -> Vec3 {
        let distance = r.length();
        let up = r / distance;
        let normal = r.cross(v).try_normalize().unwrap_or_else(|| up.any_orthonormal_vector());
        match self {
            Goal::Apsis(other) => match along(mu, distance, up, v, other) {
                Some(wanted) => wanted - v,
                None => normal.cross(up) * speed(mu, distance, f64::midpoint(distance, other)) - v,
            },
            Goal::Circle(axis) => normal.cross(up) * speed(mu, distance, axis) - v,
            Goal::Plane(normal, axis) => {
                let rises = v.dot(up);
                let whole = speed(mu, distance, axis);
                let level = (whole * whole - rises * rises).max(0.0).sqrt();
                let turned = normal.cross(up).normalize_or(v.normalize_or(up));
                up * rises + turned * level - v
            }
        }
    }
}

/// The velocity along the way the ship goes now that has an apsis at `other`: cheaper than to turn it too. `None` where
/// the way is too steep for it, or the apsis so near that turning is all there is to do.
fn along(mu: f64, distance: f64, up: Vec3, v: Vec3, other: f64) -> Option<Vec3> {
    let way = v.try_normalize()?;
    let level = way.cross(up).length() * distance / other;
    let apart = (other / distance - 1.0).abs() > APSIS_APART;
    let fits = if other > distance { level < 1.0 } else { level > 1.0 };
    let squared = 2.0 * mu * (1.0 / distance - 1.0 / other) / (1.0 - level * level);
    (apart && fits && squared.is_finite() && squared > 0.0).then(|| way * squared.sqrt())
}

/// Speed at a distance on an orbit of that axis; of a circle there, where no such orbit comes so far.
fn speed(mu: f64, distance: f64, axis: f64) -> f64 {
    let squared = mu * (2.0 / distance - 1.0 / axis);
    if squared > 0.0 { squared.sqrt() } else { (mu / distance).sqrt() }
}

/// The next burn, and those that follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    /// The velocity that is wanted.
    pub(crate) goal: Goal,
    /// All burns from here on: seconds until the middle of each, and m/s. The first is this one.
    pub(crate) burns: Vec<(f64, f64)>,
    /// The goal of the burn after this one at its time; without it, that burn is planned anew then.
    pub(crate) then: Option<Goal>,
}

/// An orbit with directions: where its lowest place is, and which way it goes round.
struct Ellipse {
    mu: f64,
    r: Vec3,
    v: Vec3,
    orbit: Orbit,
    /// Towards the lowest place; of a circle, towards the ship.
    low: Vec3,
    /// A quarter turn further.
    ahead: Vec3,
}

impl Ellipse {
    fn of(mu: f64, r: Vec3, v: Vec3) -> Ellipse {
        let turning = r.cross(v);
        let towards = v.cross(turning) / mu - r.normalize();
        let low = if towards.length() > 1e-9 { towards.normalize() } else { r.normalize() };
        let ahead = turning.normalize_or(Vec3::Z).cross(low);
        Ellipse { mu, r, v, orbit: Orbit::of(mu, r, v), low, ahead }
    }

    /// Mean anomaly of a direction, rad.
    fn mean(&self, direction: Vec3) -> f64 {
        let anomaly = direction.dot(self.ahead).atan2(direction.dot(self.low));
        mean_anomaly(self.orbit.eccentricity, anomaly)
    }

    /// Seconds until the ship comes by a direction, no sooner than `lead`.
    fn until(&self, direction: Vec3, lead: f64) -> f64 {
        let Some(period) = self.orbit.period else { return lead };
        let turns = (self.mean(direction) - self.mean(self.r)) / std::f64::consts::TAU;
        let wait = turns.rem_euclid(1.0) * period;
        if wait >= lead { wait } else { wait + period }
    }

    /// The directions in which the orbit is at a distance, or nearest to it.
    fn at(&self, distance: f64) -> [Vec3; 2] {
        let Orbit { semi_major, eccentricity, .. } = self.orbit;
        let parameter = semi_major * (1.0 - eccentricity * eccentricity);
        let cos = ((parameter / distance - 1.0) / eccentricity.max(1e-12)).clamp(-1.0, 1.0);
        let sin = (1.0 - cos * cos).sqrt();
        [self.low * cos + self.ahead * sin, self.low * cos - self.ahead * sin]
    }

    /// The cost of a burn after `wait` seconds, m/s.
    fn cost(&self, goal: Goal, wait: f64) -> f64 {
        let (r, v) = kepler::propagate(self.mu, self.r, self.v, wait);
        goal.change(self.mu, r, v).length()
    }

    /// A burn after `wait` seconds onto an orbit that touches `wanted`, and the one onto the circle there.
    fn by_apsis(&self, wanted: f64, wait: f64) -> Course {
        let goal = Goal::Apsis(wanted);
        let (r, v) = kepler::propagate(self.mu, self.r, self.v, wait);
        let first = goal.change(self.mu, r, v);
        let axis = f64::midpoint(r.length(), wanted);
        let half = std::f64::consts::PI * (axis * axis * axis / self.mu).sqrt();
        let second = (speed(self.mu, wanted, axis) - (self.mu / wanted).sqrt()).abs();
        Course { goal, burns: vec![(wait, first.length()), (wait + half, second)], then: None }
    }
}

impl Course {
    /// Towards a circle of radius `wanted`; no burn has its middle before `lead` seconds.
    pub(crate) fn to_circle(mu: f64, r: Vec3, v: Vec3, wanted: f64, lead: f64) -> Course {
        let ellipse = Ellipse::of(mu, r, v);
        let Orbit { periapsis, apoapsis, eccentricity, .. } = ellipse.orbit;
        let Some(apoapsis) = apoapsis else {
            // An escape is ended at its lowest place, or now when that is behind.
            let wait = if r.dot(v) < 0.0 { until_lowest(mu, r, v).max(lead) } else { lead };
            return ellipse.by_apsis(wanted, wait);
        };
        let by_apsis = |direction: Vec3| ellipse.by_apsis(wanted, ellipse.until(direction, lead));
        let round = eccentricity < NEARLY_ROUND;
        let touches = TOUCHES * wanted;
        if apoapsis < wanted - touches {
            return if round { ellipse.by_apsis(wanted, lead) } else { by_apsis(ellipse.low) };
        }
        if periapsis > wanted + touches {
            return if round { ellipse.by_apsis(wanted, lead) } else { by_apsis(-ellipse.low) };
        }
        let here = ellipse.at(wanted).map(|direction| ellipse.until(direction, lead));
        let wait = here[0].min(here[1]);
        let goal = Goal::Circle(wanted);
        let direct = Course { goal, burns: vec![(wait, ellipse.cost(goal, wait))], then: None };
        if round {
            return direct;
        }
        [by_apsis(ellipse.low), by_apsis(-ellipse.low)].into_iter().fold(direct, |best, next| {
            let bar = if best.burns.len() == 1 { ONE_BURN_MORE } else { 1.0 };
            if next.delta_v() * bar < best.delta_v() { next } else { best }
        })
    }

    /// Onto a circle where the ship is now.
    pub(crate) fn to_circle_here(mu: f64, r: Vec3, v: Vec3, lead: f64) -> Course {
        let (at, moves) = kepler::propagate(mu, r, v, lead);
        let goal = Goal::Circle(at.length());
        Course { goal, burns: vec![(lead, goal.change(mu, at, moves).length())], then: None }
    }

    /// Into the plane with this normal, at the crossing where it costs less.
    pub(crate) fn to_plane(mu: f64, r: Vec3, v: Vec3, normal: Vec3, lead: f64) -> Course {
        let ellipse = Ellipse::of(mu, r, v);
        let line = r.cross(v).cross(normal).normalize_or(ellipse.low);
        let goal = Goal::Plane(normal, ellipse.orbit.semi_major);
        let waits = [line, -line].map(|direction| ellipse.until(direction, lead));
        let costs = waits.map(|wait| ellipse.cost(goal, wait));
        // Of two that cost the same, the sooner.
        let first = if (costs[0] / costs[1] - 1.0).abs() < NEARLY_ROUND {
            usize::from(waits[1] < waits[0])
        } else {
            usize::from(costs[1] < costs[0])
        };
        Course { goal, burns: vec![(waits[first], costs[first])], then: None }
    }

    /// Towards another craft in the same plane, both on nearly round orbits: Hohmann's transfer at the moment at which it
    /// arrives where the other is, or, on the same orbit, turns on one that is a little shorter or longer. `None` when
    /// no such orbit stays above `lowest`.
    pub(crate) fn to_meet(
        mu: f64,
        (r, v): (Vec3, Vec3),
        (there, moves): (Vec3, Vec3),
        lowest: f64,
        lead: f64,
    ) -> Option<Course> {
        let turn = std::f64::consts::TAU;
        let (r, v) = kepler::propagate(mu, r, v, lead);
        let (there, moves) = kepler::propagate(mu, there, moves, lead);
        let (own, other) = (Orbit::of(mu, r, v), Orbit::of(mu, there, moves));
        let (from, to) = (own.semi_major, other.semi_major);
        let normal = r.cross(v).normalize_or(Vec3::Z);
        let ahead = normal.dot(r.cross(there)).atan2(r.dot(there)).rem_euclid(turn);
        let motion = |axis: f64| (mu / (axis * axis * axis)).sqrt();
        if (from / to - 1.0).abs() > SAME_ORBIT {
            let half = std::f64::consts::PI / motion(f64::midpoint(from, to));
            let wanted = (std::f64::consts::PI - motion(to) * half).rem_euclid(turn);
            let gains = motion(from) - motion(to);
            let wait = ((ahead - wanted) * gains.signum()).rem_euclid(turn) / gains.abs();
            if wait > PATIENT_TURNS * turn / motion(to) {
                // The drift is too slow: on the other's orbit, turns of another length are quicker.
                let mut course = Course::to_circle(mu, r, v, to, 0.0);
                course.burns.iter_mut().for_each(|burn| burn.0 += lead);
                return Some(course);
            }
            let mut course = Ellipse::of(mu, r, v).by_apsis(to, wait);
            course.burns.iter_mut().for_each(|burn| burn.0 += lead);
            course.then = Some(Goal::Circle(to));
            return Some(course);
        }
        let (turns, apsis) = phasing(mu, r.length(), to, ahead, lowest)?;
        let axis = f64::midpoint(r.length(), apsis);
        let goal = Goal::Apsis(apsis);
        let first = goal.change(mu, r, v).length();
        let second = (speed(mu, to, axis) - (mu / to).sqrt()).abs();
        let later = lead + turns * turn / motion(axis);
        Some(Course {
            goal,
            burns: vec![(lead, first), (later, second)],
            then: Some(Goal::Circle(to)),
        })
    }

    /// All burns together, m/s.
    pub(crate) fn delta_v(&self) -> f64 {
        self.burns.iter().map(|(_, delta_v)| delta_v).sum()
    }

    /// Seconds until the middle of the next burn.
    #[cfg(test)]
    fn wait(&self) -> f64 {
        self.burns.first().map_or(0.0, |(wait, _)| *wait)
    }
}

/// The number of turns, and the other apsis, of an orbit from `here` that comes back when the other craft, `ahead` on a
/// circle of radius `to`, is there.
fn phasing(mu: f64, here: f64, to: f64, ahead: f64, lowest: f64) -> Option<(f64, f64)> {
    let turn = std::f64::consts::TAU;
    let period = turn * (to * to * to / mu).sqrt();
    let mut shifts = [-ahead, turn - ahead];
    shifts.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    for turns in 1..=MOST_TURNS {
        let turns = f64::from(turns);
        for shift in shifts {
            let time = period * (1.0 + shift / (turn * turns)) / turn;
            let apsis = 2.0 * (mu * time * time).cbrt() - here;
            if apsis >= lowest && (apsis / here - 1.0).abs() <= DETOUR {
                return Some((turns, apsis));
            }
        }
    }
    None
}

/// Seconds until the lowest place of an escape path that leads inwards, by halving.
fn until_lowest(mu: f64, r: Vec3, v: Vec3) -> f64 {
    let inwards = |time: f64| {
        let (at, moves) = kepler::propagate(mu, r, v, time);
        at.dot(moves) < 0.0
    };
    let mut late = r.length() / v.length();
    for _ in 0..64 {
        if !inwards(late) {
            break;
        }
        late *= 2.0;
    }
    let mut early = 0.0;
    for _ in 0..60 {
        let middle = f64::midpoint(early, late);
        if inwards(middle) {
            early = middle;
        } else {
            late = middle;
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    const MU: f64 = 3.986_004_355_07e14;
    const LOW: f64 = 6_771_008.4;
    const HIGH: f64 = 42_164_000.0;

    fn circle(radius: f64) -> (Vec3, Vec3) {
        (Vec3::new(radius, 0.0, 0.0), Vec3::new(0.0, (MU / radius).sqrt(), 0.0))
    }

    /// The orbit after the first burn of a course.
    fn after(course: &Course, r: Vec3, v: Vec3) -> (Vec3, Vec3) {
        let (at, moves) = kepler::propagate(MU, r, v, course.wait());
        (at, moves + course.goal.change(MU, at, moves))
    }

    #[test]
    fn from_a_circle_to_another_it_is_hohmanns_transfer() {
        for (from, to) in [(LOW, HIGH), (HIGH, LOW), (LOW, 1.2 * LOW)] {
            let (r, v) = circle(from);
            let course = Course::to_circle(MU, r, v, to, 20.0);
            let axis = f64::midpoint(from, to);
            let ideal = ((MU * (2.0 / from - 1.0 / axis)).sqrt() - (MU / from).sqrt()).abs()
                + ((MU / to).sqrt() - (MU * (2.0 / to - 1.0 / axis)).sqrt()).abs();
            assert!((course.delta_v() / ideal - 1.0).abs() < 1e-9, "{from} {to}: {course:?}");
            let (at, moves) = after(&course, r, v);
            let next = Course::to_circle(MU, at, moves, to, 20.0);
            assert!((next.wait() - (course.burns[1].0 - 20.0)).abs() < 1.0, "{next:?}");
            let orbit = {
                let (at, moves) = after(&next, at, moves);
                Orbit::of(MU, at, moves)
            };
            assert!(orbit.eccentricity < 1e-4 && (orbit.semi_major / to - 1.0).abs() < 1e-4);
        }
        let (r, v) = circle(LOW);
        let total = Course::to_circle(MU, r, v, HIGH, 0.0).delta_v();
        assert!((total - 3_856.7).abs() < 1.0, "{total}");
    }

    #[test]
    fn from_an_ellipse_it_takes_the_cheapest_apsis() {
        let (r, v) = (Vec3::new(LOW, 0.0, 0.0), Vec3::new(0.0, 9_500.0, 0.0));
        for wanted in [0.99 * LOW, 1.5 * LOW, 9.0 * LOW] {
            for time in [100.0, 4_000.0, 9_000.0] {
                let (r, v) = kepler::propagate(MU, r, v, time);
                let course = Course::to_circle(MU, r, v, wanted, 30.0);
                assert!(course.wait() >= 30.0);

                let (mut at, mut moves) = after(&course, r, v);
                for _ in 0..4 {
                    let next = Course::to_circle(MU, at, moves, wanted, 30.0);
                    (at, moves) = after(&next, at, moves);
                }
                let orbit = Orbit::of(MU, at, moves);
                assert!(orbit.eccentricity < 1e-3, "{wanted} {time}: {orbit:?}");
                assert!((orbit.semi_major / wanted - 1.0).abs() < 1e-3, "{orbit:?}");
            }
        }
    }

    #[test]
    fn an_escape_is_ended_where_it_is_lowest() {
        let far = kepler::propagate(
            MU,
            Vec3::new(LOW, 0.0, 0.0),
            Vec3::new(0.0, 12_000.0, 0.0),
            -5_000.0,
        );
        let course = Course::to_circle(MU, far.0, far.1, HIGH, 10.0);
        assert!((course.wait() - 5_000.0).abs() < 1.0, "{course:?}");
    }

    /// Flies the burns of a course to a meeting, as if they took no time; how far apart they are then, and how fast.
    fn met(own: (Vec3, Vec3), other: (Vec3, Vec3), lowest: f64) -> (f64, f64, f64) {
        let (mut own, mut other, mut cost) = (own, other, 0.0);
        for _ in 0..8 {
            let apart = (own.0 - other.0).length();
            let Some(course) = Course::to_meet(MU, own, other, lowest, 30.0) else { break };
            if apart < 2e5 {
                break;
            }
            let (mut at, goals) = (0.0, [Some(course.goal), course.then]);
            for (goal, (wait, _)) in goals.into_iter().zip(&course.burns) {
                let Some(goal) = goal else { continue };
                own = kepler::propagate(MU, own.0, own.1, wait - at);
                let change = goal.change(MU, own.0, own.1);
                (own.1, cost, at) = (own.1 + change, cost + change.length(), *wait);
                assert!(Orbit::of(MU, own.0, own.1).periapsis >= lowest * 0.999, "{course:?}");
            }
            other = kepler::propagate(MU, other.0, other.1, at);
        }
        ((own.0 - other.0).length(), (own.1 - other.1).length(), cost)
    }

    #[test]
    fn two_craft_meet_by_transfer_or_by_phasing_and_never_underground() {
        let lowest = 6_371_008.4 + 1e5;
        for (from, to) in [
            (LOW, 1.3 * LOW),
            (2.0 * LOW, LOW),
            (LOW, HIGH),
            (LOW, LOW),
            (LOW, 1.01 * LOW),
            (1.02 * LOW, LOW),
        ] {
            for degrees in [20.0_f64, 90.0, 179.0, 200.0, 340.0] {
                let other = circle(to);
                let other = kepler::propagate(
                    MU,
                    other.0,
                    other.1,
                    degrees / 360.0 * std::f64::consts::TAU * (to * to * to / MU).sqrt(),
                );
                let (apart, speed, cost) = met(circle(from), other, lowest);
                assert!(
                    apart < 2e5 && speed < 300.0,
                    "{from} {to} {degrees}: {apart} m, {speed} m/s, {cost}"
                );
            }
        }
    }

    #[test]
    fn a_plane_is_changed_at_its_line_for_the_closed_forms_price() {
        let (r, v) = circle(HIGH);
        let tilt = 10.0_f64.to_radians();
        let normal = Vec3::new(0.0, -tilt.sin(), tilt.cos());
        let course = Course::to_plane(MU, r, v, normal, 60.0);
        let ideal = 2.0 * (MU / HIGH).sqrt() * (tilt / 2.0).sin();
        assert!((course.delta_v() / ideal - 1.0).abs() < 1e-9, "{course:?}");
        let (at, moves) = after(&course, r, v);
        assert!(at.cross(moves).angle_between(normal) < 1e-9);
        assert!((moves.length() - v.length()).abs() < 1e-6);
    }
}
