//! Directions: the nose in each mode, the marks that can be pointed at, and Lagrange's five points.

use super::hull::{Hull, Mode};
use super::{Frame, Quat, Vec3, kepler};

/// Slower than this a velocity has no direction worth following, m/s.
const TOO_SLOW: f64 = 0.1;
/// Shorter than this fraction of the whole, a difference is noise.
const TOO_SHORT: f64 = 1e-6;

/// A mark that a ship can look at, fixed for one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// A body, by its index.
    Body(usize),
    /// A craft as it was at the start of the tick, relative to its reference body; its orbit carries it on.
    Craft {
        /// The body it is relative to.
        reference: usize,
        /// Place.
        r: Vec3,
        /// Velocity.
        v: Vec3,
    },
    /// A point of Lagrange.
    Lagrange(Lagrange),
}

/// One of the five points of two bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagrange {
    /// Index of the heavier body.
    pub primary: usize,
    /// Index of the lighter one.
    pub secondary: usize,
    /// 1 to 5.
    pub point: u8,
}

/// The place of a ship when it asks for a direction.
pub struct View<'a> {
    /// GM of the bodies.
    pub gm: &'a [f64],
    /// The bodies now.
    pub frame: &'a Frame,
    /// Index of the reference body.
    pub reference: usize,
    /// Place relative to it.
    pub r: Vec3,
    /// Velocity relative to it.
    pub v: Vec3,
    /// Seconds since the start of the tick.
    pub elapsed: f64,
}

impl View<'_> {
    /// The direction of the hull's mode and how it changes per second; `None` when it cannot be told now.
    pub fn direction(&self, hull: &Hull) -> Option<(Vec3, Vec3)> {
        let (r, v) = (self.r, self.v);
        let fall = fall(self.gm[self.reference], r);
        let turned = |(along, change): (Vec3, Vec3)| (-along, -change);
        match hull.mode {
            Mode::None | Mode::Hold => None,
            Mode::Prograde => unit(v, fall, TOO_SLOW),
            Mode::Retrograde => unit(v, fall, TOO_SLOW).map(turned),
            Mode::Normal => self.normal(),
            Mode::Antinormal => self.normal().map(turned),
            Mode::Radial => unit(r, v, 0.0),
            Mode::Antiradial => unit(r, v, 0.0).map(turned),
            Mode::Target => {
                let mark = self.mark(hull.mark?);
                unit(mark.r - r, mark.v - v, TOO_SHORT * r.length())
            }
            Mode::TargetRetrograde => {
                let mark = self.mark(hull.mark?);
                unit(mark.v - v, mark.a - fall, TOO_SLOW)
            }
        }
    }

    /// Place and velocity of a mark, relative to the reference body.
    pub fn seen(&self, mark: Mark) -> (Vec3, Vec3) {
        let Motion { r, v, .. } = self.mark(mark);
        (r, v)
    }

    fn normal(&self) -> Option<(Vec3, Vec3)> {
        let normal = self.r.cross(self.v);
        unit(normal, Vec3::ZERO, TOO_SHORT * self.r.length() * self.v.length())
    }

    /// A mark relative to the reference body.
    fn mark(&self, mark: Mark) -> Motion {
        let (body, about) = match mark {
            Mark::Body(body) => (body, Motion::default()),
            Mark::Craft { reference, r, v } => {
                let (r, v) = kepler::propagate(self.gm[reference], r, v, self.elapsed);
                (reference, Motion { r, v, a: fall(self.gm[reference], r) })
            }
            Mark::Lagrange(point) => {
                let (r, v) = point.about_primary(self.gm, self.frame);
                (point.primary, Motion { r, v, a: fall(self.gm[point.primary], r) })
            }
        };
        let Frame { position, velocity, acceleration } = self.frame;
        let home = self.reference;
        Motion {
            r: about.r + (position[body] - position[home]),
            v: about.v + (velocity[body] - velocity[home]),
            a: about.a + (acceleration[body] - acceleration[home]),
        }
    }
}

/// Place, velocity and acceleration.
#[derive(Default)]
struct Motion {
    r: Vec3,
    v: Vec3,
    a: Vec3,
}

/// How a body of `gm` pulls what is at `r` from it.
fn fall(gm: f64, r: Vec3) -> Vec3 {
    -r * (gm / r.length().powi(3))
}

/// The direction of `to`, and its change per second when `to` changes by `change`.
fn unit(to: Vec3, change: Vec3, least: f64) -> Option<(Vec3, Vec3)> {
    let length = to.length();
    if length.is_nan() || length <= least {
        return None;
    }
    let along = to / length;
    Some((along, (change - along * change.dot(along)) / length))
}

impl Lagrange {
    /// Metres from the barycentre, and m/s.
    pub fn at(self, gm: &[f64], frame: &Frame) -> (Vec3, Vec3) {
        let (r, v) = self.about_primary(gm, frame);
        (frame.position[self.primary] + r, frame.velocity[self.primary] + v)
    }

    fn about_primary(self, gm: &[f64], frame: &Frame) -> (Vec3, Vec3) {
        let (p, s) = (self.primary, self.secondary);
        let apart = frame.position[s] - frame.position[p];
        let speed = frame.velocity[s] - frame.velocity[p];
        match self.point {
            4 | 5 => {
                let third = std::f64::consts::FRAC_PI_3;
                let angle = if self.point == 4 { third } else { -third };
                let turn = Quat::from_axis_angle(apart.cross(speed).normalize_or(Vec3::Z), angle);
                (turn * apart, turn * speed)
            }
            point => {
                let along = collinear(gm[s] / (gm[p] + gm[s]), point);
                (apart * along, speed * along)
            }
        }
    }
}

/// Distance of L1, L2 or L3 from the primary along the line to the secondary, in units of their distance.
fn collinear(mass_ratio: f64, point: u8) -> f64 {
    let mu = mass_ratio;
    // Coefficients of the quintic for the distance from the near body, highest power first.
    let quintic = match point {
        1 => [1.0, mu - 3.0, 3.0 - 2.0 * mu, -mu, 2.0 * mu, -mu],
        2 => [1.0, 3.0 - mu, 3.0 - 2.0 * mu, -mu, -2.0 * mu, -mu],
        _ => [1.0, 2.0 + mu, 1.0 + 2.0 * mu, mu - 1.0, 2.0 * (mu - 1.0), mu - 1.0],
    };
    let mut x = if point == 3 { 1.0 } else { (mu / 3.0).cbrt() };
    for _ in 0..60 {
        let (mut value, mut slope) = (0.0, 0.0);
        for c in quintic {
            slope = slope * x + value;
            value = value * x + c;
        }
        let step = value / slope;
        x -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    match point {
        1 => 1.0 - x,
        2 => 1.0 + x,
        _ => -x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collinear_points_of_earth_and_luna() {
        let ratio = 4.902_800_118e12 / (3.986_004_355_07e14 + 4.902_800_118e12);
        for (point, distance) in [(1, 1.0 - 0.150_934), (2, 1.0 + 0.167_833), (3, -0.992_912)] {
            let found = collinear(ratio, point);
            assert!((found - distance).abs() < 1e-6, "L{point} at {found}");
        }
    }
}
