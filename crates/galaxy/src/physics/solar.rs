//! The bodies of Sol: their data, their places at J2000, and their places at any date.
//!
//! `data/sol.tsv` has masses, radii and the state at J2000; `data/planets.tsv` the mean elements of
//! the planets. From those, planets at a date are good to some hundred arc seconds: for play, not
//! for navigation. Moons go round their planet as they did at J2000, each on its own ellipse.

use std::sync::LazyLock;

use super::orbit::Orbit;
use super::{Bodies, G, Vec3, kepler};

/// Unix seconds of J2000 (2000-01-01 12:00 terrestrial time).
pub const J2000_UNIX_S: f64 = 946_727_935.816;
/// Metres in an astronomical unit.
pub const AU: f64 = 149_597_870_700.0;
const CENTURY_S: f64 = 36_525.0 * 86_400.0;

/// A body as it is configured; its place is in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Case matters: `Earth`.
    pub name: &'static str,
    /// The body that it orbits.
    pub parent: Option<usize>,
    /// m³/s².
    pub gm: f64,
    /// Mean radius, m.
    pub radius: f64,
    /// Within it this body is the reference, m.
    pub hill: f64,
    /// For maps.
    pub colour: &'static str,
    start: (Vec3, Vec3),
}

impl Body {
    /// kg.
    pub fn mass(&self) -> f64 {
        self.gm / G
    }
}

/// A star system.
#[derive(Debug, Clone)]
pub struct System {
    /// As stored in `system_id`.
    pub id: &'static str,
    bodies: Vec<Body>,
    moons: Vec<Vec<usize>>,
    planets: Vec<Elements>,
}

/// Mean elements of a planet: value at J2000 and change per century.
#[derive(Debug, Clone)]
struct Elements {
    name: &'static str,
    values: [f64; 12],
}

/// Sol.
pub static SOL: LazyLock<System> = LazyLock::new(|| {
    System::read("sol", include_str!("../../data/sol.tsv"), include_str!("../../data/planets.tsv"))
});

impl System {
    fn read(id: &'static str, bodies: &'static str, planets: &'static str) -> System {
        let mut read: Vec<Body> = Vec::new();
        for row in rows(bodies) {
            let parent = read.iter().position(|body| body.name == row[1]);
            let body = Body {
                name: row[0],
                parent,
                gm: number(row[2]),
                radius: number(row[3]),
                hill: f64::INFINITY,
                colour: row[10],
                start: (
                    Vec3::new(number(row[4]), number(row[5]), number(row[6])),
                    Vec3::new(number(row[7]), number(row[8]), number(row[9])),
                ),
            };
            read.push(body);
        }
        for index in 0..read.len() {
            if let Some(hill) = hill_radius(&read, index) {
                read[index].hill = hill;
            }
        }
        let moons = (0..read.len())
            .map(|of| (0..read.len()).filter(|moon| read[*moon].parent == Some(of)).collect())
            .collect();
        let planets = rows(planets)
            .map(|row| Elements {
                name: row[0],
                values: std::array::from_fn(|column| number(row[column + 1])),
            })
            .collect();
        System { id, bodies: read, moons, planets }
    }

    /// All bodies; their index is their number everywhere in the physics.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// One of them.
    pub fn body(&self, index: usize) -> &Body {
        &self.bodies[index]
    }

    /// The body of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.name == name)
    }

    /// The star that everything orbits.
    pub fn star(&self) -> usize {
        0
    }

    /// The bodies that orbit a body.
    pub fn moons(&self, of: usize) -> &[usize] {
        &self.moons[of]
    }

    /// The bodies with given places and velocities, in this system's order.
    pub fn bodies_at(&self, position: Vec<Vec3>, velocity: Vec<Vec3>) -> Bodies {
        Bodies::new(self.bodies.iter().map(|body| body.gm).collect(), position, velocity)
    }

    /// The bodies at J2000.
    pub fn at_j2000(&self) -> Bodies {
        // The table is rounded: without this the whole system would drift by a nanometre per second.
        let places = self.bodies.iter().map(|body| body.start).collect();
        let (position, velocity) = self.about_barycentre(places).into_iter().unzip();
        self.bodies_at(position, velocity)
    }

    /// The bodies at a date, about their barycentre.
    pub fn at(&self, unix_s: f64) -> Bodies {
        let since = unix_s - J2000_UNIX_S;
        let mut places = vec![(Vec3::ZERO, Vec3::ZERO); self.bodies.len()];
        for planet in self.moons(self.star()) {
            let moons = self.moons(*planet);
            let of_moons: Vec<_> = moons.iter().map(|moon| self.moon_about(*moon, since)).collect();
            // The elements describe the planet for all but one: with a heavy moon they describe
            // their barycentre.
            let barycentre = self.elements(*planet).is_some_and(|elements| elements.name == "EM");
            let mut state = self.planet_about_star(*planet, since);
            if barycentre {
                for (moon, (r, v)) in moons.iter().zip(&of_moons) {
                    let share =
                        self.bodies[*moon].gm / (self.bodies[*moon].gm + self.bodies[*planet].gm);
                    state = (state.0 - *r * share, state.1 - *v * share);
                }
            }
            places[*planet] = state;
            for (moon, (r, v)) in moons.iter().zip(of_moons) {
                places[*moon] = (state.0 + r, state.1 + v);
            }
        }
        let (position, velocity) = self.about_barycentre(places).into_iter().unzip();
        self.bodies_at(position, velocity)
    }

    fn elements(&self, planet: usize) -> Option<&Elements> {
        let name = self.bodies[planet].name;
        self.planets
            .iter()
            .find(|elements| elements.name == name || (elements.name == "EM" && name == "Earth"))
    }

    fn planet_about_star(&self, planet: usize, since_s: f64) -> (Vec3, Vec3) {
        let mu = self.bodies[self.star()].gm + self.bodies[planet].gm;
        match self.elements(planet) {
            Some(elements) => elements.at(mu, since_s),
            None => self.moon_about(planet, since_s),
        }
    }

    /// A body relative to its parent, on the ellipse it had at J2000.
    fn moon_about(&self, moon: usize, since_s: f64) -> (Vec3, Vec3) {
        let body = &self.bodies[moon];
        let parent = &self.bodies[body.parent.unwrap_or(self.star())];
        let (r, v) = (body.start.0 - parent.start.0, body.start.1 - parent.start.1);
        kepler::propagate(parent.gm + body.gm, r, v, since_s)
    }

    fn about_barycentre(&self, places: Vec<(Vec3, Vec3)>) -> Vec<(Vec3, Vec3)> {
        let total: f64 = self.bodies.iter().map(|body| body.gm).sum();
        let weighed = |pick: fn(&(Vec3, Vec3)) -> Vec3| {
            self.bodies
                .iter()
                .zip(&places)
                .map(|(body, at)| pick(at) * (body.gm / total))
                .sum::<Vec3>()
        };
        let (centre, moves) = (weighed(|at| at.0), weighed(|at| at.1));
        places.into_iter().map(|(r, v)| (r - centre, v - moves)).collect()
    }
}

impl Elements {
    /// Place and velocity about the star.
    #[expect(clippy::many_single_char_names, reason = "the letters of the elements")]
    fn at(&self, mu: f64, since_s: f64) -> (Vec3, Vec3) {
        let centuries = since_s / CENTURY_S;
        let value = |n: usize| self.values[2 * n] + self.values[2 * n + 1] * centuries;
        let a = value(0) * AU;
        let e = value(1);
        let [i, longitude, perihelion, node] = [2, 3, 4, 5].map(|n| value(n).to_radians());
        let mean = (longitude - perihelion).rem_euclid(std::f64::consts::TAU);
        // From perihelion, the orbit itself solves Kepler's equation.
        let nearest = a * (1.0 - e);
        let fastest = (mu / a * (1.0 + e) / (1.0 - e)).sqrt();
        let since_perihelion = mean * (a * a * a / mu).sqrt();
        let (r, v) = kepler::propagate(mu, Vec3::X * nearest, Vec3::Y * fastest, since_perihelion);
        let turn = super::Quat::from_rotation_z(node)
            * super::Quat::from_rotation_x(i)
            * super::Quat::from_rotation_z(perihelion - node);
        (turn * r, turn * v)
    }
}

/// `a (m / 3M)^⅓`, with the axis of the orbit at J2000.
fn hill_radius(bodies: &[Body], index: usize) -> Option<f64> {
    let body = &bodies[index];
    let parent = &bodies[body.parent?];
    let (r, v) = (body.start.0 - parent.start.0, body.start.1 - parent.start.1);
    let orbit = Orbit::of(parent.gm + body.gm, r, v);
    Some(orbit.semi_major * (body.gm / (3.0 * parent.gm)).cbrt())
}

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn number(text: &str) -> f64 {
    text.parse().expect("the data file holds numbers; a test reads all of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hill_radii_are_those_of_the_table() {
        let near = |name: &str, hill: f64| {
            let found = SOL.body(SOL.find(name).unwrap()).hill;
            assert!((found / hill - 1.0).abs() < 2e-3, "{name}: {found:e}, expected {hill:e}");
        };
        for (name, hill) in [
            ("Earth", 1.497e9),
            ("Luna", 6.112e7),
            ("Phobos", 1.657e4),
            ("Jupiter", 5.315e10),
            ("Titan", 5.241e7),
            ("Neptune", 1.162e11),
            ("Triton", 1.460e7),
        ] {
            near(name, hill);
        }
    }

    #[test]
    fn the_momenta_at_j2000_cancel() {
        let (sum, size) = SOL.at_j2000().momentum();
        assert!(sum.length() / size < 1e-15, "{}", sum.length() / size);
    }

    #[test]
    fn the_elements_agree_with_the_table_at_j2000() {
        let (table, computed) = (SOL.at_j2000(), SOL.at(J2000_UNIX_S));
        let sun = SOL.star();
        for planet in SOL.moons(sun) {
            let seen = |bodies: &Bodies| {
                (bodies.now().position[*planet] - bodies.now().position[sun]).normalize()
            };
            let angle = seen(&table).angle_between(seen(&computed)).to_degrees() * 3_600.0;
            assert!(angle < 600.0, "{} is {angle} arc seconds off", SOL.body(*planet).name);
        }
    }
}
