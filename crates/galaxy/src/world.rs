//! The world in memory, which the engine ticks. The store is its copy, written once per tick.
//!
//! Always true: every ship and station has a craft in the fleet; a docked ship has the motion of
//! its station; nothing in here waits, reads a clock or talks to the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::maneuver::Maneuver;
use crate::model::{Controls, ShipRecord, StationKind, StationRecord, Target, TargetKind};
use crate::physics::aim::{Lagrange, Mark};
use crate::physics::solar::System;
use crate::physics::{Bodies, Craft, CraftId, Fleet, Hull, Vec3};
use crate::rules::Rule;

mod anew;
mod dock;
mod foreign;
pub(crate) mod orders;
mod spawn;
mod step;

pub(crate) use anew::Cleared;
pub use dock::Service;
pub use spawn::Placement;
pub(crate) use step::Stepped;

/// How fast game time goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// Ticks per second, 0.1 to 100.
    pub rate: f64,
    /// Game seconds per second, 0.1 to 100.
    pub scale: f64,
    /// Whether game time is drawn towards UTC.
    pub sync: bool,
    /// Whether ticks rest.
    pub paused: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { rate: 1.0, scale: 1.0, sync: true, paused: false }
    }
}

/// A ship in memory; its motion and hull are in the fleet.
#[derive(Debug, Clone)]
pub struct Ship {
    /// The ship's place in the fleet.
    pub craft: CraftId,
    /// Owner, or `npc`.
    pub player_id: String,
    /// Shown to people.
    pub name: String,
    /// The target that the target modes look at.
    pub target: Option<Target>,
    /// The station at which the ship is docked.
    pub docked: Option<Uuid>,
    /// The tick since which it is docked.
    pub docked_at_tick: u64,
    /// The body it stands on.
    pub landed: Option<usize>,
    /// Whether it takes fuel at its dock.
    pub refuelling: bool,
    /// The ship's rules, in the order in which they act.
    pub rules: Arc<Vec<Rule>>,
    /// The maneuver it flies, or flew a minute ago.
    pub maneuver: Option<Maneuver>,
    /// The stored values of fields that change rarely; `None` when nobody knows.
    pub(crate) stored: Option<Stored>,
}

/// The values last written of a ship, so that only changes are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stored {
    pub(crate) fuel: f64,
    pub(crate) wheel: Vec3,
    pub(crate) controls: Controls,
    pub(crate) docked: Option<Uuid>,
    pub(crate) landed: Option<usize>,
    pub(crate) maneuver: Option<Maneuver>,
}

impl Stored {
    pub(crate) fn of(ship: &Ship, hull: &Hull) -> Self {
        Stored {
            fuel: hull.fuel,
            wheel: hull.wheel,
            controls: Controls::of(hull, ship.target.as_ref()),
            docked: ship.docked,
            landed: ship.landed,
            maneuver: ship.maneuver.clone(),
        }
    }

    /// Whether the ship is still as the store has it, but for its motion.
    pub(crate) fn is(&self, ship: &Ship, hull: &Hull) -> bool {
        self.fuel.to_bits() == hull.fuel.to_bits()
            && self.wheel == hull.wheel
            && self.docked == ship.docked
            && self.landed == ship.landed
            && self.controls.are(hull, ship.target.as_ref())
            && self.maneuver == ship.maneuver
    }
}

/// The motion that the store has not been told of.
#[derive(Debug, Clone, Default)]
pub(crate) enum Moved {
    /// Everything moved, as with each tick.
    #[default]
    All,
    /// Only these ships: the world stands still, and an order moved them.
    Ships(HashSet<Uuid>),
}

/// A station or a gate in memory.
#[derive(Debug, Clone)]
pub struct Station {
    /// Which of the two.
    pub kind: StationKind,
    /// The station's place in the fleet.
    pub craft: CraftId,
    /// As stored, but for its motion.
    pub record: StationRecord,
}

/// The world in memory.
#[derive(Debug, Clone)]
pub struct World {
    /// The star system.
    pub system: &'static System,
    /// The state of the system's bodies.
    pub bodies: Bodies,
    /// The state of all craft.
    pub fleet: Fleet,
    /// By id.
    pub ships: BTreeMap<Uuid, Ship>,
    /// By id; gates too.
    pub stations: BTreeMap<Uuid, Station>,
    /// Stations by their name; of two with one name, the later.
    station_names: HashMap<String, Uuid>,
    /// The number of the last finished tick.
    pub tick: u64,
    /// Game time, Unix nanoseconds: an integer, so that no tick is lost to rounding.
    pub time_ns: i128,
    /// How fast it goes.
    pub pace: Pace,
    /// Seconds by which game time is behind UTC.
    pub drift_s: f64,
    /// How many ships were ever spawned.
    pub total_spawns: u64,
    /// Spawns that the store has not been told of.
    pub(crate) new_spawns: u64,
    /// The place where ships appear that name no station.
    pub spawn_place: Placement,
    /// Rules that were stored as enabled and cannot be read, by ship: the next tick disables and tells them.
    pub(crate) broken: Vec<(Uuid, Uuid)>,
    /// The motion that the next write holds.
    pub(crate) moved: Moved,
}

impl World {
    /// A world without craft.
    pub fn new(system: &'static System, bodies: Bodies, time_ns: i128) -> Self {
        World {
            system,
            bodies,
            fleet: Fleet::default(),
            ships: BTreeMap::new(),
            stations: BTreeMap::new(),
            station_names: HashMap::new(),
            tick: 0,
            time_ns,
            pace: Pace::default(),
            drift_s: 0.0,
            total_spawns: 0,
            new_spawns: 0,
            spawn_place: Placement::default(),
            broken: Vec::new(),
            moved: Moved::All,
        }
    }

    /// Takes in a ship as it was stored or spawned.
    pub fn add_ship(&mut self, id: Uuid, record: ShipRecord) {
        let landed = record.landed.as_deref().and_then(|name| self.system.find(name));
        let stored = Some(Stored {
            fuel: record.hull.fuel,
            wheel: record.hull.wheel,
            controls: Controls::of(&record.hull, record.target.as_ref()),
            docked: record.docked,
            landed,
            maneuver: None,
        });
        let motion = (record.position, record.velocity);
        let craft = self.fleet.insert_at(self.system, &self.bodies, motion, Some(record.hull));
        let ship = Ship {
            craft,
            player_id: record.player_id,
            name: record.name,
            target: record.target,
            docked: record.docked,
            docked_at_tick: record.docked_at_tick,
            landed,
            refuelling: false,
            rules: Arc::default(),
            maneuver: None,
            stored,
        };
        if let Some(before) = self.ships.insert(id, ship) {
            self.fleet.remove(before.craft);
            if let Some(ship) = self.ships.get_mut(&id) {
                // A ship that is spawned anew keeps its rules and has done with its maneuver.
                ship.rules = before.rules;
                if let Some(stored) = &mut ship.stored {
                    stored.maneuver = before.maneuver;
                }
            }
        }
    }

    /// Takes in a station or a gate.
    pub fn add_station(&mut self, id: Uuid, kind: StationKind, record: StationRecord) {
        let motion = (record.position, record.velocity);
        let craft = self.fleet.insert_at(self.system, &self.bodies, motion, None);
        if kind == StationKind::Station {
            self.station_names.insert(record.name.clone(), id);
        }
        if let Some(before) = self.stations.insert(id, Station { kind, craft, record }) {
            self.fleet.remove(before.craft);
        }
    }

    /// A write failed, and perhaps in the middle: the next one holds everything again.
    pub fn doubt_the_store(&mut self) {
        self.moved = Moved::All;
        for ship in self.ships.values_mut() {
            ship.stored = None;
        }
    }

    /// An order moved this ship, perhaps while the world stands still.
    pub(crate) fn note_moved(&mut self, id: Uuid) {
        if let Moved::Ships(ships) = &mut self.moved {
            ships.insert(id);
        }
    }

    /// The `k`-th spawn is taken.
    pub(crate) fn count_spawn(&mut self, k: u64) {
        self.new_spawns += k.saturating_sub(self.total_spawns);
        self.total_spawns = k;
    }

    /// Spawns since this was last asked.
    pub(crate) fn take_spawns(&mut self) -> u64 {
        std::mem::take(&mut self.new_spawns)
    }

    /// Lets a ship go.
    pub fn remove_ship(&mut self, id: Uuid) -> Option<Ship> {
        let ship = self.ships.remove(&id)?;
        self.fleet.remove(ship.craft);
        Some(ship)
    }

    /// Lets a station go; ships that are docked there are free.
    pub fn remove_station(&mut self, id: Uuid) -> Option<Station> {
        let station = self.stations.remove(&id)?;
        self.fleet.remove(station.craft);
        if self.station_names.get(&station.record.name) == Some(&id) {
            self.station_names.remove(&station.record.name);
        }
        for ship in self.ships.values_mut().filter(|ship| ship.docked == Some(id)) {
            ship.docked = None;
            ship.refuelling = false;
        }
        Some(station)
    }

    /// A station by its id or its name.
    pub fn station_named(&self, name: &str) -> Option<Uuid> {
        match name.parse() {
            Ok(id) => self.stations.contains_key(&id).then_some(id),
            Err(_) => self.station_names.get(name).copied(),
        }
    }

    /// Metres from the barycentre, and m/s.
    pub fn motion(&self, craft: CraftId) -> Option<(Vec3, Vec3)> {
        Some(self.fleet.craft(craft)?.absolute(self.bodies.now()))
    }

    /// A ship's hull.
    pub fn hull(&self, id: Uuid) -> Option<&Hull> {
        self.fleet.hull(self.ships.get(&id)?.craft)
    }

    /// A ship's hull, to give it orders.
    pub fn hull_mut(&mut self, id: Uuid) -> Option<&mut Hull> {
        self.fleet.hull_mut(self.ships.get(&id)?.craft)
    }

    /// A ship as it would be stored now.
    pub fn ship_record(&self, id: Uuid) -> Option<ShipRecord> {
        let ship = self.ships.get(&id)?;
        let (position, velocity) = self.motion(ship.craft)?;
        let hull = self.fleet.hull(ship.craft)?.clone();
        let mut record = ShipRecord::new(&ship.player_id, &ship.name, hull.class);
        self.system.id.clone_into(&mut record.system_id);
        (record.position, record.velocity, record.hull) = (position, velocity, hull);
        record.target.clone_from(&ship.target);
        record.docked = ship.docked;
        record.docked_at_tick = ship.docked_at_tick;
        record.landed = ship.landed.map(|body| self.system.body(body).name.to_owned());
        Some(record)
    }

    /// The mark of a target in this tick; `None` when it does not exist.
    pub fn mark(&self, target: &Target) -> Option<Mark> {
        let craft = |id: CraftId| {
            let Craft { reference, r, v } = self.fleet.craft(id)?;
            Some(Mark::Craft { reference, r, v })
        };
        match target.kind {
            TargetKind::Body => self.system.find(&target.id).map(Mark::Body),
            TargetKind::Ship => craft(self.ships.get(&target.id.parse().ok()?)?.craft),
            TargetKind::Station => craft(self.stations.get(&target.id.parse().ok()?)?.craft),
            TargetKind::Lagrange => self.lagrange(&target.id).map(Mark::Lagrange),
        }
    }

    /// Reads `Earth-Luna-L4`.
    pub fn lagrange(&self, key: &str) -> Option<Lagrange> {
        let mut parts = key.split('-');
        let primary = self.system.find(parts.next()?)?;
        let secondary = self.system.find(parts.next()?)?;
        let point =
            parts.next()?.strip_prefix('L')?.parse().ok().filter(|n| (1..=5).contains(n))?;
        let related = self.system.body(secondary).parent == Some(primary);
        (parts.next().is_none() && related).then_some(Lagrange { primary, secondary, point })
    }
}
