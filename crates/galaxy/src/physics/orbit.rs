//! The orbit a craft is on right now, from its place and velocity.

use super::Vec3;

/// Osculating elements, as pilots and rules ask for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orbit {
    /// Half the long axis; negative on an escape path, m.
    pub semi_major: f64,
    /// 0 circle, below 1 ellipse.
    pub eccentricity: f64,
    /// Lowest distance from the centre, m.
    pub periapsis: f64,
    /// Greatest distance from the centre, m; `None` on an escape path.
    pub apoapsis: Option<f64>,
    /// Against the ecliptic, rad.
    pub inclination: f64,
    /// Time of one turn, s; `None` on an escape path.
    pub period: Option<f64>,
}

impl Orbit {
    /// About a centre of `mu`.
    pub fn of(mu: f64, r: Vec3, v: Vec3) -> Orbit {
        let distance = r.length();
        let turning = r.cross(v);
        let towards = v.cross(turning) / mu - r / distance;
        let eccentricity = towards.length();
        let inverse = 2.0 / distance - v.length_squared() / mu;
        let semi_major = inverse.recip();
        let parameter = turning.length_squared() / mu;
        let closed = inverse > 0.0 && eccentricity < 1.0;
        Orbit {
            semi_major,
            eccentricity,
            periapsis: parameter / (1.0 + eccentricity),
            apoapsis: closed.then(|| parameter / (1.0 - eccentricity)),
            inclination: turning.normalize_or(Vec3::Z).z.clamp(-1.0, 1.0).acos(),
            period: closed.then(|| {
                std::f64::consts::TAU * (semi_major * semi_major * semi_major / mu).sqrt()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_is_read_back() {
        let mu = 3.986e14;
        let (low, high) = (6.8e6_f64, 4.2e7_f64);
        let speed = (mu * (2.0 / low - 2.0 / (low + high))).sqrt();
        let orbit = Orbit::of(mu, Vec3::new(low, 0.0, 0.0), Vec3::new(0.0, 0.0, speed));
        assert!((orbit.periapsis - low).abs() < 1e-3);
        assert!((orbit.apoapsis.unwrap() - high).abs() < 1e-2);
        assert!((orbit.inclination - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
        let away = Orbit::of(mu, Vec3::new(low, 0.0, 0.0), Vec3::new(0.0, 12_000.0, 0.0));
        assert_eq!((away.apoapsis, away.period), (None, None));
        assert!(away.eccentricity > 1.0);
    }
}
