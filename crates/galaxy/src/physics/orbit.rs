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

/// The place of a craft on its orbit, and the orbit's attitude; all angles rad, from 0 to a whole turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrbitPlace {
    /// From the frame's x axis to where the orbit rises through the ecliptic.
    pub node: f64,
    /// From there to the lowest place, along the orbit.
    pub argument: f64,
    /// From the lowest place to the craft.
    pub anomaly: f64,
    /// Seconds until the lowest place; `None` on an escape path that has left it behind.
    pub to_periapsis: Option<f64>,
    /// Seconds until the highest place; `None` on an escape path.
    pub to_apoapsis: Option<f64>,
}

impl OrbitPlace {
    /// About a centre of `mu`.
    pub fn of(mu: f64, r: Vec3, v: Vec3) -> OrbitPlace {
        let orbit = Orbit::of(mu, r, v);
        let turning = r.cross(v).normalize_or(Vec3::Z);
        let towards = v.cross(r.cross(v)) / mu - r.normalize();
        let node = Vec3::Z.cross(turning).try_normalize().unwrap_or(Vec3::X);
        // A circle has no lowest place; it is counted from the node.
        let low = if orbit.eccentricity > 1e-9 { towards.normalize() } else { node };
        let turn = std::f64::consts::TAU;
        let angle =
            |from: Vec3, to: Vec3| turning.dot(from.cross(to)).atan2(from.dot(to)).rem_euclid(turn);
        let anomaly = angle(low, r);
        let (to_periapsis, to_apoapsis) = match orbit.period {
            Some(period) => {
                let mean = mean_anomaly(orbit.eccentricity, anomaly).rem_euclid(turn);
                let until = |at: f64| (at - mean).rem_euclid(turn) / turn * period;
                (Some(until(0.0)), Some(until(std::f64::consts::PI)))
            }
            None => (open_periapsis(mu, &orbit, anomaly), None),
        };
        OrbitPlace {
            node: node.y.atan2(node.x).rem_euclid(turn),
            argument: angle(node, low),
            anomaly,
            to_periapsis,
            to_apoapsis,
        }
    }
}

/// Mean anomaly of a true one on an ellipse, rad.
pub(crate) fn mean_anomaly(eccentricity: f64, anomaly: f64) -> f64 {
    let (sin, cos) = (anomaly / 2.0).sin_cos();
    let eccentric =
        2.0 * ((1.0 - eccentricity).sqrt() * sin).atan2((1.0 + eccentricity).sqrt() * cos);
    eccentric - eccentricity * eccentric.sin()
}

/// Seconds until the lowest place of an escape path, while it lies ahead.
fn open_periapsis(mu: f64, orbit: &Orbit, anomaly: f64) -> Option<f64> {
    let Orbit { eccentricity, semi_major, .. } = *orbit;
    if anomaly < std::f64::consts::PI || eccentricity <= 1.0 {
        return None;
    }
    let half = (std::f64::consts::TAU - anomaly) / 2.0;
    let part = ((eccentricity - 1.0) / (eccentricity + 1.0)).sqrt() * half.tan();
    let eccentric = 2.0 * part.clamp(-1.0 + 1e-15, 1.0 - 1e-15).atanh();
    let mean = eccentricity * eccentric.sinh() - eccentric;
    Some(mean * (-semi_major).powf(1.5) / mu.sqrt())
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

    #[test]
    fn the_place_on_an_orbit_is_where_two_body_motion_comes_to() {
        let mu = 3.986e14;
        for (v, closed) in
            [(Vec3::new(0.0, 8_500.0, 2_000.0), true), (Vec3::new(0.0, 11_900.0, 900.0), false)]
        {
            let low = Vec3::new(6.8e6, 0.0, 0.0);
            let (r, v) = super::super::kepler::propagate(mu, low, v, -1_234.5);
            let place = OrbitPlace::of(mu, r, v);
            assert!((place.to_periapsis.unwrap() - 1_234.5).abs() < 1e-3, "{place:?}");
            assert!(place.node.min(std::f64::consts::TAU - place.node) < 1e-9, "{place:?}");
            assert_eq!(place.to_apoapsis.is_some(), closed);
            if let Some(wait) = place.to_apoapsis {
                let (r, v) = super::super::kepler::propagate(mu, r, v, wait);
                assert!((r.length() / Orbit::of(mu, r, v).apoapsis.unwrap() - 1.0).abs() < 1e-9);
            }
        }
    }
}
