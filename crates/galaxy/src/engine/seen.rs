//! The world as it was after a tick, for those who only look: sockets, pages, numbers.

use std::time::Duration;

use uuid::Uuid;

use crate::model::StationKind;
use crate::physics::{Quat, Vec3};
use crate::world::{Pace, World};

/// How the engine is doing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    /// Ticks per second over the last ones.
    pub rate: f64,
    /// Game seconds per second, with what draws it towards UTC.
    pub scale: f64,
    /// Ticks that are due and not done.
    pub behind: u64,
    /// Ticks that were given up.
    pub backlog_dropped: u64,
    /// How long the last tick took, with its write.
    pub took: Duration,
    /// Writes that failed.
    pub failed_writes: u64,
    /// Orders that were too old or refused.
    pub orders_dropped: u64,
    /// Craft that were put back because their state left the numbers.
    pub not_finite: u64,
    /// Of the bodies, against the start, relative.
    pub energy_drift: f64,
    /// Of the bodies, relative.
    pub momentum_drift: f64,
}

/// A ship to look at.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the hash")]
pub struct ShipSeen {
    pub id: Uuid,
    pub player_id: String,
    pub name: String,
    pub ship_class: &'static str,
    pub position: Vec3,
    pub velocity: Vec3,
    pub attitude: Quat,
    pub thrust_level: f64,
    pub reference: usize,
}

/// A station or gate to look at.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the hash")]
pub struct StationSeen {
    pub id: Uuid,
    pub kind: StationKind,
    pub name: String,
    pub position: Vec3,
    pub velocity: Vec3,
}

/// The world after a tick.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Whether this process ticks it.
    pub leads: bool,
    /// The tick.
    pub tick: u64,
    /// Game time, Unix nanoseconds.
    pub time_ns: i128,
    /// How fast it goes.
    pub pace: Pace,
    /// Seconds behind UTC.
    pub drift_s: f64,
    /// Place and velocity of each body, in the system's order.
    pub bodies: Vec<(Vec3, Vec3)>,
    /// By id.
    pub ships: Vec<ShipSeen>,
    /// By id.
    pub stations: Vec<StationSeen>,
    /// How the engine is doing.
    pub numbers: Numbers,
}

impl Seen {
    pub(super) fn of(world: &World, numbers: Numbers) -> Self {
        let now = world.bodies.now();
        let ships = world.ships.iter().filter_map(|(id, ship)| {
            let craft = world.fleet.craft(ship.craft)?;
            let (position, velocity) = craft.absolute(now);
            let hull = world.fleet.hull(ship.craft)?;
            Some(ShipSeen {
                id: *id,
                player_id: ship.player_id.clone(),
                name: ship.name.clone(),
                ship_class: hull.class.name,
                position,
                velocity,
                attitude: hull.attitude,
                thrust_level: hull.thrust_level,
                reference: craft.reference,
            })
        });
        let stations = world.stations.iter().filter_map(|(id, station)| {
            let (position, velocity) = world.motion(station.craft)?;
            let name = station.record.name.clone();
            Some(StationSeen { id: *id, kind: station.kind, name, position, velocity })
        });
        Seen {
            leads: true,
            tick: world.tick,
            time_ns: world.time_ns,
            pace: world.pace.clone(),
            drift_s: world.drift_s,
            bodies: now.position.iter().copied().zip(now.velocity.iter().copied()).collect(),
            ships: ships.collect(),
            stations: stations.collect(),
            numbers,
        }
    }
}
