//! The world as it was after a tick, for those who only look: sockets, pages, numbers.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Fault, Store};
use uuid::Uuid;

use super::engine_state::EngineState;
use crate::keys::Keys;
use crate::maneuver::Maneuver;
use crate::model::{StationKind, StationRecord, Target};
use crate::physics::solar::System;
use crate::physics::{Hull, Vec3};
use crate::rules::Rule;
use crate::store::load;
use crate::world::{Pace, Ship, World};

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
    /// Values that other services wrote and that took effect.
    pub foreign: u64,
    /// Of the bodies, against the start, relative.
    pub energy_drift: f64,
    /// Of the bodies, relative.
    pub momentum_drift: f64,
}

/// A ship to look at.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the hash")]
pub struct ShipView {
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
    /// The maneuver it flies, or flew a minute ago.
    pub maneuver: Option<Box<Maneuver>>,
}

/// A station or gate to look at.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the hash")]
pub struct StationView {
    pub id: Uuid,
    pub kind: StationKind,
    /// As stored, with the motion of this tick.
    pub record: StationRecord,
}

/// The world after a tick.
#[derive(Debug, Clone, Default)]
pub struct WorldView {
    /// Whether this process ticks it.
    pub leads: bool,
    /// How the engine of this process stands to it.
    pub standing: EngineState,
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
    pub ships: Vec<ShipView>,
    /// By id.
    pub stations: Vec<StationView>,
    /// How the engine is doing.
    pub numbers: Numbers,
    /// When the tick was done, by the monotonic clock of the engine; zero where there is none.
    pub done: Duration,
}

impl WorldView {
    /// The world as the store has it, for servers that do not tick it; `None` when there is none.
    pub async fn read(
        store: &Arc<dyn Store>,
        keys: Keys,
        system: &'static System,
    ) -> Result<Option<WorldView>, Fault> {
        let Some(loaded) = load::look(store, keys, system).await? else { return Ok(None) };
        let mut seen = WorldView::default();
        seen.fill(&loaded.world, &Numbers::default());
        Ok(Some(WorldView { leads: false, standing: EngineState::Off, ..seen }))
    }

    /// One ship.
    pub fn ship(&self, id: Uuid) -> Option<&ShipView> {
        let at = self.ships.binary_search_by_key(&id, |ship| ship.id).ok()?;
        self.ships.get(at)
    }

    /// Becomes what the world is now. Ships that were seen before keep their memory.
    pub(super) fn fill(&mut self, world: &World, numbers: &Numbers) {
        (self.leads, self.standing) = (true, EngineState::Leads);
        (self.tick, self.time_ns, self.drift_s) = (world.tick, world.time_ns, world.drift_s);
        self.pace.clone_from(&world.pace);
        self.numbers.clone_from(numbers);
        let now = world.bodies.now();
        self.bodies.clear();
        self.bodies.extend(now.position.iter().copied().zip(now.velocity.iter().copied()));
        self.fill_ships(world);
        self.stations.clear();
        self.stations.extend(world.stations.iter().filter_map(|(id, station)| {
            let (position, velocity) = world.motion(station.craft)?;
            let record = StationRecord { position, velocity, ..station.record.clone() };
            Some(StationView { id: *id, kind: station.kind, record })
        }));
    }

    fn fill_ships(&mut self, world: &World) {
        let seen = &mut self.ships;
        let alike = seen.len() == world.ships.len()
            && seen.iter().map(|ship| &ship.id).eq(world.ships.keys())
            && seen
                .iter_mut()
                .zip(world.ships.values())
                .all(|(seen, ship)| seen.change(world, ship).is_some());
        if !alike {
            seen.clear();
            seen.extend(world.ships.iter().filter_map(|(id, ship)| ShipView::of(world, *id, ship)));
        }
    }
}

impl ShipView {
    fn of(world: &World, id: Uuid, ship: &Ship) -> Option<Self> {
        let craft = world.fleet.craft(ship.craft)?;
        let (position, velocity) = craft.absolute(world.bodies.now());
        Some(ShipView {
            id,
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
    }

    /// Becomes what this ship is now, without a new copy of what stays.
    fn change(&mut self, world: &World, ship: &Ship) -> Option<()> {
        let craft = world.fleet.craft(ship.craft)?;
        (self.position, self.velocity) = craft.absolute(world.bodies.now());
        self.reference = craft.reference;
        self.hull.clone_from(world.fleet.hull(ship.craft)?);
        self.player_id.clone_from(&ship.player_id);
        self.name.clone_from(&ship.name);
        self.target.clone_from(&ship.target);
        (self.docked, self.docked_at_tick) = (ship.docked, ship.docked_at_tick);
        self.landed = ship.landed;
        if !Arc::ptr_eq(&self.rules, &ship.rules) {
            self.rules = Arc::clone(&ship.rules);
        }
        if self.maneuver.as_deref() != ship.maneuver.as_ref() {
            self.maneuver = ship.maneuver.clone().map(Box::new);
        }
        Some(())
    }
}
