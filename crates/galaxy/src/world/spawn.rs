//! The places where new craft appear: by the number of spawns ever, so that two never appear in one
//! place.

use uuid::Uuid;

use crate::model::{ShipRecord, StationKind, StationRecord};
use crate::physics::solar::{Body, System};
use crate::physics::{ShipClass, Vec3};
use crate::world::World;

/// The golden angle: the k-th ship is never near the one before it.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;
/// A place is free when nobody is nearer than this, m.
const FREE_M: f64 = 500.0;

/// The place where ships appear.
#[derive(Debug, Clone, PartialEq)]
pub enum Placement {
    /// A circle about a body, that high above its mean radius.
    Orbit {
        /// The name of the body.
        body: String,
        /// m.
        altitude: f64,
    },
    /// A circle about a station.
    Station(Uuid),
}

impl Placement {
    /// Heights at which ships may appear, m: clear of the ground, and still of this system.
    pub const HEIGHTS: std::ops::RangeInclusive<f64> = 1e3..=1e12;

    /// A circle about a body of the system; a sentence when there is no such place.
    pub fn about(system: &System, body: &str, altitude: f64) -> Result<Self, String> {
        let named = |known: &&Body| known.name.eq_ignore_ascii_case(body);
        let Some(known) = system.bodies().iter().find(named) else {
            return Err(format!("there is no body `{body}`; name one such as Earth or Luna"));
        };
        if !Self::HEIGHTS.contains(&altitude) {
            return Err(format!("an altitude must be from 1000 to 10^12 metres, not {altitude}"));
        }
        Ok(Placement::Orbit { body: known.name.to_owned(), altitude })
    }
}

impl Default for Placement {
    fn default() -> Self {
        Placement::Orbit { body: "Earth".to_owned(), altitude: 400_000.0 }
    }
}

impl World {
    /// The place and velocity of the `k`-th spawn, `k` from 1; `None` when the body or station does
    /// not exist.
    pub fn spawn_point(&self, placement: &Placement, k: u64) -> Option<(Vec3, Vec3)> {
        #[expect(clippy::cast_precision_loss, reason = "an angle; 2^53 spawns are far away")]
        let angle = (k.saturating_sub(1) as f64 * GOLDEN_ANGLE) % std::f64::consts::TAU;
        let (sin, cos) = angle.sin_cos();
        let out = Vec3::new(cos, sin, 0.0);
        match placement {
            Placement::Orbit { body, altitude } => {
                let index = self.system.find(body)?;
                let body = self.system.body(index);
                let distance = body.radius + altitude;
                let speed = (body.gm / distance).sqrt();
                let now = self.bodies.now();
                let along = Vec3::new(-sin, cos, 0.0);
                Some((now.position[index] + out * distance, now.velocity[index] + along * speed))
            }
            Placement::Station(id) => {
                let station = self.stations.get(id)?;
                let craft = self.fleet.craft(station.craft)?;
                let (position, velocity) = craft.absolute(self.bodies.now());
                // The local horizon: what is square to the way down.
                let up = craft.r.normalize_or(Vec3::Z);
                let (east, north) = up.any_orthonormal_pair();
                #[expect(clippy::cast_precision_loss, reason = "a few rings of 64")]
                let ring = 2_000.0 + 100.0 * (k.saturating_sub(1) / 64) as f64;
                Some((position + (east * cos + north * sin) * ring, velocity))
            }
        }
    }

    /// The first free place from the `k`-th on: its number, place and velocity.
    pub fn free_spawn(&self, placement: &Placement, k: u64) -> Option<(u64, Vec3, Vec3)> {
        // A crowd of more than a thousand in one place is somebody's wish.
        for k in k..k.saturating_add(1_000) {
            let (position, velocity) = self.spawn_point(placement, k)?;
            if !self.crowded(position) {
                return Some((k, position, velocity));
            }
        }
        self.spawn_point(placement, k).map(|(position, velocity)| (k, position, velocity))
    }

    fn crowded(&self, position: Vec3) -> bool {
        let crafts = self.ships.values().map(|ship| ship.craft);
        crafts
            .chain(self.stations.values().map(|station| station.craft))
            .filter_map(|craft| self.motion(craft))
            .any(|(other, _)| (other - position).length_squared() < FREE_M * FREE_M)
    }

    /// A new ship at a spawn point.
    pub fn new_ship(
        &self,
        (player_id, name): (&str, &str),
        class: &'static ShipClass,
        (position, velocity): (Vec3, Vec3),
    ) -> ShipRecord {
        let mut record = ShipRecord::new(player_id, name, class);
        self.system.id.clone_into(&mut record.system_id);
        (record.position, record.velocity) = (position, velocity);
        record
    }

    /// A new station on a circle about its parent; a gate or station at a Lagrange point when `point` names one.
    pub fn new_station(
        &self,
        kind: StationKind,
        name: &str,
        parent: &str,
        altitude: f64,
        point: Option<&str>,
    ) -> Option<StationRecord> {
        let mut record = StationRecord::new(kind, name, parent);
        self.system.id.clone_into(&mut record.system_id);
        (record.position, record.velocity) = if let Some(key) = point {
            self.lagrange(key)?.at(self.bodies.gm(), self.bodies.now())
        } else {
            let orbit = Placement::Orbit { body: parent.to_owned(), altitude };
            self.spawn_point(&orbit, self.stations.len() as u64 + 1)?
        };
        self.system.find(parent)?;
        Some(record)
    }
}
