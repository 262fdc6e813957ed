//! Bodies that pull each other: velocity Verlet, all pairs once per step, in a fixed order.
//!
//! A [`Track`] is the way of the bodies through one tick, step by step; craft follow it in lock-step, so both
//! kicks of a craft's step see the bodies where they were at that instant.

use super::{LONGEST_STEP_S, Vec3, steps};

/// Pairs closer than this do not pull: something is wrong with them, and a force without bound helps nobody.
const TOO_CLOSE_M: f64 = 1e-10;

/// The places, velocities and accelerations of the bodies at one instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// Metres from the barycentre.
    pub position: Vec<Vec3>,
    /// m/s.
    pub velocity: Vec<Vec3>,
    /// Pull of all others, m/s².
    pub acceleration: Vec<Vec3>,
}

/// The bodies of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct Bodies {
    gm: Vec<f64>,
    now: Frame,
    /// The remainder that the last drift rounded away. Half a second moves Neptune by few units of
    /// its last digit, always rounded the same way: without the remainder it would be a metre off
    /// after a day.
    lost: Vec<Vec3>,
    /// The first pair that was too close to pull each other.
    coinciding: Option<(usize, usize)>,
}

/// The way of the bodies through a stretch of time, in equal steps; the first frame is its start.
#[derive(Debug, Clone)]
pub struct Track {
    /// Length of a step, s.
    pub step_s: f64,
    /// One more than there are steps.
    pub frames: Vec<Frame>,
}

impl Bodies {
    /// Bodies with these GM, places and velocities.
    pub fn new(gm: Vec<f64>, position: Vec<Vec3>, velocity: Vec<Vec3>) -> Self {
        assert!(gm.len() == position.len() && gm.len() == velocity.len(), "one of each per body");
        let nothing = vec![Vec3::ZERO; gm.len()];
        let now = Frame { acceleration: nothing.clone(), position, velocity };
        let mut bodies = Bodies { gm, now, lost: nothing, coinciding: None };
        bodies.pull();
        bodies
    }

    /// GM of each, m³/s².
    pub fn gm(&self) -> &[f64] {
        &self.gm
    }

    /// The first pair that lay in one place and did not pull each other.
    pub fn coinciding(&self) -> Option<(usize, usize)> {
        self.coinciding
    }

    /// The bodies at the present instant.
    pub fn now(&self) -> &Frame {
        &self.now
    }

    /// One step: kick, drift, kick.
    pub fn step(&mut self, h: f64) {
        self.kick(h / 2.0);
        self.drift(h);
        self.pull();
        self.kick(h / 2.0);
    }

    /// Advances by `dt_s` in steps of at most half a second and says how.
    pub fn advance(&mut self, dt_s: f64) -> Track {
        let count = steps(dt_s);
        #[expect(clippy::cast_precision_loss, reason = "a few thousand steps")]
        let step_s = dt_s / count as f64;
        let mut frames = Vec::with_capacity(count + 1);
        frames.push(self.now.clone());
        for _ in 0..count {
            self.step(step_s);
            frames.push(self.now.clone());
        }
        debug_assert!(step_s <= LONGEST_STEP_S * (1.0 + 1e-12));
        Track { step_s, frames }
    }

    /// One long step of the fourth order (Suzuki's composition of five): for far jumps of the bodies alone.
    pub fn leap(&mut self, h: f64) {
        let side = 1.0 / (4.0 - 4.0_f64.cbrt());
        for part in [side, side, 1.0 - 4.0 * side, side, side] {
            self.step(part * h);
        }
    }

    /// Kinetic and potential energy, times G: J·m³/(kg·s²) would be the unit; only its change is of use.
    pub fn energy(&self) -> f64 {
        let Frame { position, velocity, .. } = &self.now;
        let mut energy = 0.0;
        for (i, gm) in self.gm.iter().enumerate() {
            energy += 0.5 * gm * velocity[i].length_squared();
            for j in i + 1..self.gm.len() {
                energy -= gm * self.gm[j] / (position[i] - position[j]).length();
            }
        }
        energy
    }

    /// Momentum times G, and the sum of its parts' lengths to compare it with.
    pub fn momentum(&self) -> (Vec3, f64) {
        let parts = self.gm.iter().zip(&self.now.velocity).map(|(gm, v)| *v * *gm);
        parts.fold((Vec3::ZERO, 0.0), |(sum, size), part| (sum + part, size + part.length()))
    }

    fn kick(&mut self, h: f64) {
        for (v, a) in self.now.velocity.iter_mut().zip(&self.now.acceleration) {
            *v += *a * h;
        }
    }

    fn drift(&mut self, h: f64) {
        let moving = self.now.position.iter_mut().zip(&self.now.velocity);
        for ((r, v), lost) in moving.zip(&mut self.lost) {
            let before = *r;
            let step = *v * h + *lost;
            *r += step;
            *lost = step - (*r - before);
        }
    }

    fn pull(&mut self) {
        let Frame { position, acceleration, .. } = &mut self.now;
        acceleration.fill(Vec3::ZERO);
        for i in 0..self.gm.len() {
            let mut mine = acceleration[i];
            for j in i + 1..self.gm.len() {
                let apart = position[j] - position[i];
                let squared = apart.length_squared();
                if squared < TOO_CLOSE_M * TOO_CLOSE_M {
                    self.coinciding.get_or_insert((i, j));
                    continue;
                }
                let pull = apart / (squared * squared.sqrt());
                mine += pull * self.gm[j];
                acceleration[j] -= pull * self.gm[i];
            }
            acceleration[i] = mine;
        }
    }
}

impl Track {
    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.frames.len() - 1
    }

    /// The whole stretch, s.
    pub fn seconds(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand steps")]
        let steps = self.steps() as f64;
        steps * self.step_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bodies_in_one_place_are_named_and_do_not_pull_each_other() {
        let place = |x| Vec3::new(x, 0.0, 0.0);
        let at = |places: [f64; 3]| {
            Bodies::new(vec![1e14; 3], places.map(place).to_vec(), vec![Vec3::ZERO; 3])
        };
        assert_eq!(at([0.0, 1e9, 2e9]).coinciding(), None);
        let mut bodies = at([0.0, 1e9, 1e9]);
        assert_eq!(bodies.coinciding(), Some((1, 2)));
        bodies.step(0.5);
        let Frame { position, .. } = bodies.now();
        assert!(position.iter().all(|at| at.is_finite()) && position[1] == position[2]);
    }
}
