//! The next encounter of a craft, if everything stays on its two-body orbit: the ground, the reach of a moon, or the end
//! of the reach of the body it goes round.

use super::orbit::Orbit;
use super::solar::System;
use super::{Vec3, kepler};

/// Looks along an orbit; between two, the moment is found by halving.
const LOOKS: u32 = 720;
const HALVINGS: u32 = 40;
/// An escape path is followed for so long, s; a longer orbit too.
const FARTHEST_S: f64 = 400.0 * 86_400.0;

/// The kind of an encounter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meets {
    /// The ground of the body.
    Surface,
    /// The reach of a moon.
    Enters,
    /// The end of the body's own reach.
    Leaves,
}

impl Meets {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Meets::Surface => "surface",
            Meets::Enters => "enters",
            Meets::Leaves => "leaves",
        }
    }
}

/// An encounter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encounter {
    /// The body whose ground or reach it is.
    pub body: usize,
    /// The event.
    pub meets: Meets,
    /// Seconds from now.
    pub in_s: f64,
}

/// The first one within a turn. `moons` has place and velocity of a body relative to the reference body.
pub fn next(
    system: &System,
    reference: usize,
    (r, v): (Vec3, Vec3),
    relative: impl Fn(usize) -> (Vec3, Vec3),
) -> Option<Encounter> {
    let body = system.body(reference);
    let moons: Vec<(usize, (Vec3, Vec3))> =
        system.moons(reference).iter().map(|moon| (*moon, relative(*moon))).collect();
    let met = |time: f64| {
        let (at, _) = kepler::propagate(body.gm, r, v, time);
        if at.length() < body.radius {
            return Some((reference, Meets::Surface));
        }
        let near = |(moon, (r, v)): &(usize, (Vec3, Vec3))| {
            let (there, _) = kepler::propagate(body.gm, *r, *v, time);
            let reach = system.body(*moon).hill;
            (reach.is_finite() && (at - there).length() < reach).then_some((*moon, Meets::Enters))
        };
        moons
            .iter()
            .find_map(near)
            .or_else(|| (at.length() > body.hill).then_some((reference, Meets::Leaves)))
    };
    let horizon = Orbit::of(body.gm, r, v).period.unwrap_or(FARTHEST_S).min(FARTHEST_S);
    let mut early = 0.0;
    for look in 1..=LOOKS {
        let mut late = horizon * f64::from(look) / f64::from(LOOKS);
        let Some(mut found) = met(late) else {
            early = late;
            continue;
        };
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(early, late);
            match met(middle) {
                Some(sooner) => (found, late) = (sooner, middle),
                None => early = middle,
            }
        }
        return Some(Encounter { body: found.0, meets: found.1, in_s: late });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::solar::SOL;
    use super::*;

    #[test]
    fn the_ground_a_moon_and_the_end_of_reach_are_met() {
        let (earth, luna) = (SOL.find("Earth").unwrap(), SOL.find("Luna").unwrap());
        let (mu, low) = (SOL.body(earth).gm, SOL.body(earth).radius + 4e5);
        let bodies = SOL.at_j2000();
        let now = bodies.now();
        let relative = |body: usize| {
            (now.position[body] - now.position[earth], now.velocity[body] - now.velocity[earth])
        };
        let speed = (mu / low).sqrt();
        let meet = |r: Vec3, v: Vec3| next(&SOL, earth, (r, v), relative);
        let (r, v) = (Vec3::new(low, 0.0, 0.0), Vec3::new(0.0, speed, 0.0));
        assert_eq!(meet(r, v), None, "a low circle meets nothing");
        let falls = meet(r, v * 0.9).unwrap();
        assert_eq!((falls.body, falls.meets), (earth, Meets::Surface));
        let (at, _) = kepler::propagate(mu, r, v * 0.9, falls.in_s);
        assert!((at.length() / SOL.body(earth).radius - 1.0).abs() < 1e-6);
        let away = meet(r, v * 1.6).unwrap();
        assert_eq!((away.body, away.meets), (earth, Meets::Leaves));
        let (there, moves) = relative(luna);
        let beside = meet(there * 0.8, moves + there / 200_000.0).unwrap();
        assert_eq!((beside.body, beside.meets), (luna, Meets::Enters), "{beside:?}");
    }
}
