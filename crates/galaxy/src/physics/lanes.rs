//! Eight craft at a time about one body: the inner loops, written so that the compiler makes vectors of them.
//!
//! Plain arithmetic in a fixed order per lane and no fused operations, so the width of the machine's vectors changes
//! no bit of the result. A lane that a short step cannot serve (a very tight or very fast orbit) takes the slow and
//! sure way of `kepler.rs`.
#![expect(clippy::needless_range_loop, reason = "lanes of several arrays are walked together")]
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use super::{Frame, Hull, Vec3, fleet::CraftId, kepler};

/// Craft in a block.
pub(super) const LANES: usize = 8;
/// One number of each.
type Lane = [f64; LANES];

/// Craft with the same reference body; lanes from `used` on hold a copy of some craft and are never read.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) reference: usize,
    pub(super) used: usize,
    pub(super) ids: [CraftId; LANES],
    /// Place relative to the reference body.
    pub(super) r: [Lane; 3],
    /// Velocity relative to it.
    pub(super) v: [Lane; 3],
    /// Pull of the other bodies, relative to their pull on the reference body.
    pub(super) a: [Lane; 3],
    pub(super) hulls: [Option<Box<Hull>>; LANES],
}

/// The velocity that each lane's engines add, in the two halves of a step.
#[derive(Default)]
pub(super) struct Burns {
    pub(super) first: [Lane; 3],
    pub(super) second: [Lane; 3],
}

impl Block {
    pub(super) fn new(reference: usize) -> Self {
        Block {
            reference,
            used: 0,
            ids: [CraftId::NONE; LANES],
            // Far from everything and at rest: unused lanes compute without trouble.
            r: [[1e9; LANES], [0.0; LANES], [0.0; LANES]],
            v: [[0.0; LANES]; 3],
            a: [[0.0; LANES]; 3],
            hulls: [const { None }; LANES],
        }
    }

    pub(super) fn place(&self, lane: usize) -> Vec3 {
        Vec3::new(self.r[0][lane], self.r[1][lane], self.r[2][lane])
    }

    pub(super) fn velocity(&self, lane: usize) -> Vec3 {
        Vec3::new(self.v[0][lane], self.v[1][lane], self.v[2][lane])
    }

    pub(super) fn set(&mut self, lane: usize, r: Vec3, v: Vec3) {
        for (axis, (r, v)) in r.to_array().into_iter().zip(v.to_array()).enumerate() {
            self.r[axis][lane] = r;
            self.v[axis][lane] = v;
        }
    }

    /// Moves one lane over another within the block.
    pub(super) fn copy(&mut self, from: usize, to: usize) {
        self.ids[to] = self.ids[from];
        for axis in 0..3 {
            self.r[axis][to] = self.r[axis][from];
            self.v[axis][to] = self.v[axis][from];
            self.a[axis][to] = self.a[axis][from];
        }
    }

    /// Half a kick by the bodies, and what the engines add.
    #[inline(always)]
    pub(super) fn kick(&mut self, h: f64, engines: &[Lane; 3]) {
        for axis in 0..3 {
            for l in 0..LANES {
                self.v[axis][l] += self.a[axis][l] * h + engines[axis][l];
            }
        }
    }

    /// The pull of all bodies but the reference, on the craft and on the reference body: the difference moves us.
    #[inline(always)]
    pub(super) fn pull(&mut self, gm: &[f64], frame: &Frame) {
        let home = frame.position[self.reference];
        let shared = frame.acceleration[self.reference];
        let [rx, ry, rz] = self.r;
        let (mut ax, mut ay, mut az) = ([-shared.x; LANES], [-shared.y; LANES], [-shared.z; LANES]);
        for (body, (gm, at)) in gm.iter().zip(&frame.position).enumerate() {
            if body == self.reference {
                continue;
            }
            let to = *at - home;
            for l in 0..LANES {
                let (dx, dy, dz) = (to.x - rx[l], to.y - ry[l], to.z - rz[l]);
                let squared = dx * dx + dy * dy + dz * dz;
                let pull = gm / (squared * squared.sqrt());
                ax[l] += pull * dx;
                ay[l] += pull * dy;
                az[l] += pull * dz;
            }
        }
        self.a = [ax, ay, az];
    }

    /// Follows the orbit about the reference body for `h` seconds.
    #[inline(always)]
    pub(super) fn drift(&mut self, mu: f64, h: f64) {
        let (before_r, before_v) = (self.r, self.v);
        let mut sure = [false; LANES];
        for l in 0..LANES {
            let (rx, ry, rz) = (self.r[0][l], self.r[1][l], self.r[2][l]);
            let (vx, vy, vz) = (self.v[0][l], self.v[1][l], self.v[2][l]);
            let r0 = (rx * rx + ry * ry + rz * rz).sqrt();
            let eta = rx * vx + ry * vy + rz * vz;
            let beta = 2.0 * mu / r0 - (vx * vx + vy * vy + vz * vz);
            let zeta = mu - beta * r0;
            let mut s = h / r0;
            s -= 0.5 * eta * s * s / r0;
            let mut last = 0.0;
            for _ in 0..2 {
                let (g1, g2, g3) = short(beta, s);
                let off = r0 * g1 + eta * g2 + mu * g3 - h;
                last = off / (r0 + eta * g1 + zeta * g2);
                s -= last;
            }
            let (g1, g2, g3) = short(beta, s);
            let r1 = r0 + eta * g1 + zeta * g2;
            let (f, g) = (-mu * g2 / r0, h - mu * g3);
            let (fd, gd) = (-mu * g1 / (r0 * r1), -mu * g2 / r1);
            self.r[0][l] = rx + (rx * f + vx * g);
            self.r[1][l] = ry + (ry * f + vy * g);
            self.r[2][l] = rz + (rz * f + vz * g);
            self.v[0][l] = vx + (rx * fd + vx * gd);
            self.v[1][l] = vy + (ry * fd + vy * gd);
            self.v[2][l] = vz + (rz * fd + vz * gd);
            sure[l] = (beta * s * s).abs() <= SHORT_UP_TO && last.abs() <= 1e-8 * s.abs();
        }
        if sure != [true; LANES] {
            self.drift_slowly(mu, h, sure, before_r, before_v);
        }
    }

    #[cold]
    fn drift_slowly(&mut self, mu: f64, h: f64, sure: [bool; LANES], r: [Lane; 3], v: [Lane; 3]) {
        for l in (0..self.used).filter(|l| !sure[*l]) {
            let r = Vec3::new(r[0][l], r[1][l], r[2][l]);
            let v = Vec3::new(v[0][l], v[1][l], v[2][l]);
            let (r, v) = kepler::propagate(mu, r, v, h);
            self.set(l, r, v);
        }
    }
}

/// Below this `beta s²` five terms of the series are exact to the last bit.
const SHORT_UP_TO: f64 = 0.05;

/// Stumpff's `G1 G2 G3` for a short arc.
#[inline(always)]
fn short(beta: f64, s: f64) -> (f64, f64, f64) {
    let x = beta * s * s;
    let g2 = s
        * s
        * (1.0 / 2.0
            - x * (1.0 / 24.0 - x * (1.0 / 720.0 - x * (1.0 / 40_320.0 - x / 3_628_800.0))));
    let g3 = s
        * s
        * s
        * (1.0 / 6.0
            - x * (1.0 / 120.0 - x * (1.0 / 5_040.0 - x * (1.0 / 362_880.0 - x / 39_916_800.0))));
    (s - beta * g3, g2, g3)
}
