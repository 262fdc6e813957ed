//! Motion about one centre, exactly: the two-body problem in universal variables, for every conic.
//!
//! With `beta = 2 mu / r - v²` and Stumpff's functions `G0..G3` of `(beta, s)`, Kepler's equation is
//! `dt = r G1 + eta G2 + mu G3`, where `eta = r·v`. The new state is written as a small change of the old one, so
//! that short steps lose no digits.

use super::Vec3;

/// Below this `beta s²` the series are exact to the last bit and no angle is needed.
const SERIES_UP_TO: f64 = 1.0;

/// `G1, G2, G3` of Stumpff for `beta` and `s`.
fn stumpff(beta: f64, s: f64) -> (f64, f64, f64) {
    let x = beta * s * s;
    if x.abs() <= SERIES_UP_TO {
        let g2 = s * s * series(x, 2);
        let g3 = s * s * s * series(x, 3);
        return (s - beta * g3, g2, g3);
    }
    let root = beta.abs().sqrt();
    let (sin, cos) =
        if beta > 0.0 { (root * s).sin_cos() } else { ((root * s).sinh(), (root * s).cosh()) };
    let g1 = sin / root;
    (g1, (1.0 - cos) / beta, (s - g1) / beta)
}

/// `1/k! - x/(k+2)! + x²/(k+4)! - …`, nine terms.
fn series(x: f64, k: u32) -> f64 {
    let k = f64::from(k);
    let first = if k > 2.5 { 1.0 / 6.0 } else { 0.5 };
    let mut sum = 1.0;
    let mut n = 16.0;
    while n > 0.0 {
        sum = 1.0 - x / ((n + k) * (n + k - 1.0)) * sum;
        n -= 2.0;
    }
    first * sum
}

/// The place and velocity after `dt` seconds of a craft at `r` with velocity `v` relative to a
/// centre of `mu`.
#[expect(clippy::many_single_char_names, reason = "the letters of the two-body problem")]
pub fn propagate(mu: f64, r: Vec3, v: Vec3, dt: f64) -> (Vec3, Vec3) {
    let r0 = r.length();
    let beta = 2.0 * mu / r0 - v.length_squared();
    let eta = r.dot(v);
    let dt = within_one_turn(mu, beta, dt);
    let s = solve(mu, r0, beta, eta, dt);
    let (g1, g2, g3) = stumpff(beta, s);
    let r1 = r0 + eta * g1 + (mu - beta * r0) * g2;
    let f = -mu * g2 / r0;
    let g = dt - mu * g3;
    let fd = -mu * g1 / (r0 * r1);
    let gd = -mu * g2 / r1;
    (r + r * f + v * g, v + r * fd + v * gd)
}

/// A closed orbit comes back: whole turns are left out.
fn within_one_turn(mu: f64, beta: f64, dt: f64) -> f64 {
    if beta <= 0.0 {
        return dt;
    }
    let period = std::f64::consts::TAU * mu / (beta * beta.sqrt());
    if dt.abs() > period { dt % period } else { dt }
}

/// Laguerre's method of degree five, which converges from afar for every conic; bisection where it does not.
fn solve(mu: f64, r0: f64, beta: f64, eta: f64, dt: f64) -> f64 {
    let zeta = mu - beta * r0;
    let mut s = first_guess(mu, r0, beta, dt);
    for _ in 0..50 {
        let (g1, g2, g3) = stumpff(beta, s);
        let off = r0 * g1 + eta * g2 + mu * g3 - dt;
        let slope = r0 + eta * g1 + zeta * g2;
        let bend = eta * (1.0 - beta * g2) + zeta * g1;
        let root = (16.0 * slope * slope - 20.0 * off * bend).abs().sqrt();
        let step = -5.0 * off / (slope + root.copysign(slope));
        s += step;
        if step.abs() <= 1e-15 * s.abs() || off == 0.0 {
            return s;
        }
    }
    s
}

fn first_guess(mu: f64, r0: f64, beta: f64, dt: f64) -> f64 {
    let near = dt / r0;
    if beta > 0.0 {
        // Mean motion for the far part of a long arc; the nearer guess for a short one.
        let far = dt * beta / mu;
        return if near.abs() < far.abs() { near } else { far };
    }
    // On an open orbit `s` grows like a logarithm; this keeps the first step from overflowing.
    let most = 10.0 / (-beta).sqrt().max(f64::MIN_POSITIVE);
    near.clamp(-most, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MU: f64 = 3.986_004_355_07e14;

    fn there_and_back(r: Vec3, v: Vec3, dt: f64) -> f64 {
        let (r1, v1) = propagate(MU, r, v, dt);
        let (r2, _) = propagate(MU, r1, v1, -dt);
        (r2 - r).length() / r.length()
    }

    #[test]
    fn a_circle_closes_after_its_period() {
        let r = Vec3::new(6_771_008.4, 0.0, 0.0);
        let speed = (MU / r.x).sqrt();
        let period = std::f64::consts::TAU * r.x / speed;
        assert!((period - 5_544.865).abs() < 0.004, "{period}");
        let (quarter, _) = propagate(MU, r, Vec3::new(0.0, speed, 0.0), period / 4.0);
        assert!((quarter - Vec3::new(0.0, r.x, 0.0)).length() < 1e-6);
        let (whole, _) = propagate(MU, r, Vec3::new(0.0, speed, 0.0), period);
        assert!((whole - r).length() < 1e-5);
    }

    #[test]
    fn many_short_steps_are_one_long_one() {
        let (r0, v0) = (Vec3::new(7e6, 1e5, -2e5), Vec3::new(100.0, 8_500.0, 900.0));
        let (mut r, mut v) = (r0, v0);
        for _ in 0..2_000 {
            (r, v) = propagate(MU, r, v, 0.5);
        }
        let (far, fast) = propagate(MU, r0, v0, 1_000.0);
        assert!((r - far).length() < 1e-4, "{}", (r - far).length());
        assert!((v - fast).length() < 1e-7);
    }

    #[test]
    fn every_conic_goes_there_and_back() {
        let r = Vec3::new(7e6, 0.0, 0.0);
        let escape = (2.0 * MU / r.x).sqrt();
        for factor in [0.2, 0.7, 0.99, 1.0, 1.000_1, 1.4, 6.0] {
            for dt in [0.02, 0.5, 60.0, 3_000.0, 80_000.0] {
                let v = Vec3::new(0.1, 0.9, 0.2).normalize() * escape * factor;
                let off = there_and_back(r, v, dt);
                // A radial plunge past the centre loses digits; nobody flies there and lives.
                assert!(off < 1e-6, "factor {factor}, {dt} s: {off}");
            }
        }
    }
}
