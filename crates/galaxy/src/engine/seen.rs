//! The world as it was after a tick, for those who only look: sockets, pages, numbers.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Fault, Store};
use rayon::prelude::*;
use uuid::Uuid;

use crate::keys::Keys;
use crate::load::load;
use crate::maneuver::Maneuver;
use crate::model::{StationKind, StationRecord, Target};
use crate::physics::solar::System;
use crate::physics::{Hull, Vec3};
use crate::rules::Rule;
use crate::world::{Pace, Ship, World};

/// From so many ships on, looking is worth a second thread.
const WORTH_SHARING: usize = 1_024;

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
    /// Snapshots that failed in a row; three deserve an alarm.
    pub snapshots_failed: u32,
    /// Index entries that were mended.
    pub mended: u64,
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
    pub position: Vec3,
    pub velocity: Vec3,
    /// Class, attitude, controls, fuel.
    pub hull: Hull,
    pub target: Option<Target>,
    pub docked: Option<Uuid>,
    pub docked_at_tick: u64,
    pub landed: Option<usize>,
    /// The body it goes round.
    pub reference: usize,
    /// In the order in which they act.
    pub rules: Arc<Vec<Rule>>,
    /// What it flies by itself, or flew a minute ago.
    pub maneuver: Option<Box<Maneuver>>,
}

/// A station or gate to look at.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the hash")]
pub struct StationSeen {
    pub id: Uuid,
    pub kind: StationKind,
    /// As stored, with the motion of this tick.
    pub record: StationRecord,
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
    /// The world as the store has it, for servers that do not tick it; `None` when there is none.
    pub async fn read(
        store: &Arc<dyn Store>,
        keys: Keys,
        system: &'static System,
    ) -> Result<Option<Seen>, Fault> {
        let Some(loaded) = load(store, keys, system).await? else { return Ok(None) };
        Ok(Some(Seen { leads: false, ..Seen::of(&loaded.world, Numbers::default()) }))
    }

    /// One ship.
    pub fn ship(&self, id: Uuid) -> Option<&ShipSeen> {
        let at = self.ships.binary_search_by_key(&id, |ship| ship.id).ok()?;
        self.ships.get(at)
    }

    pub(super) fn of(world: &World, numbers: Numbers) -> Self {
        let now = world.bodies.now();
        let seen = |(id, ship): &(&Uuid, &Ship)| {
            let craft = world.fleet.craft(ship.craft)?;
            let (position, velocity) = craft.absolute(now);
            Some(ShipSeen {
                id: **id,
                player_id: ship.player_id.clone(),
                name: ship.name.clone(),
                position,
                velocity,
                hull: world.fleet.hull(ship.craft)?.clone(),
                target: ship.target.clone(),
                docked: ship.docked,
                docked_at_tick: ship.docked_at_tick,
                landed: ship.landed,
                reference: craft.reference,
                rules: Arc::clone(&ship.rules),
                maneuver: ship.maneuver.clone().map(Box::new),
            })
        };
        let all: Vec<_> = world.ships.iter().collect();
        let ships = if all.len() < WORTH_SHARING {
            all.iter().filter_map(seen).collect()
        } else {
            all.par_iter().filter_map(seen).collect()
        };
        let stations = world.stations.iter().filter_map(|(id, station)| {
            let (position, velocity) = world.motion(station.craft)?;
            let record = StationRecord { position, velocity, ..station.record.clone() };
            Some(StationSeen { id: *id, kind: station.kind, record })
        });
        Seen {
            leads: true,
            tick: world.tick,
            time_ns: world.time_ns,
            pace: world.pace.clone(),
            drift_s: world.drift_s,
            bodies: now.position.iter().copied().zip(now.velocity.iter().copied()).collect(),
            ships,
            stations: stations.collect(),
            numbers,
        }
    }
}
