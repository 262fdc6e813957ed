//! The one write of a tick: everything that moved, then the time, then `game:tick`, last.
//!
//! A reader that sees tick N sees every entity at N or later. A field that changes rarely (fuel,
//! wheels, controls) is written only when it did, so a name or a field of somebody else is never
//! overwritten. A world that stands still is not written again: only what an order changed. Numbers are spelled straight into the bytes that are sent.

use std::borrow::Cow;
use std::collections::HashSet;

use kernel::keyspace::Key;
use kernel::{Cmd, Packed};
use rayon::prelude::*;
use uuid::Uuid;

use crate::keys::Keys;
use crate::model::text;
use crate::model::write_motion;
use crate::physics::CraftId;
use crate::store::maneuver;
use crate::world::{Moved, Ship, Stored, World};

/// Ships that one thread writes into one piece.
const PIECE: usize = 256;
/// Bytes of a ship that nobody touches, about.
const SHIP_BYTES: usize = 340;

/// The writes of a tick.
#[derive(Debug, Default)]
pub struct Batch {
    /// Entities, then `game:time` and `game:time_drift`; any order within a slot is fine on a Cluster.
    pub entities: Vec<Packed>,
    /// `game:tick` and the word that it is done: after all else.
    pub last: Packed,
    /// `EXISTS` of everything that the tick writes to: it makes nothing that is not there.
    pub guard: Packed,
}

/// Keys that come into being by a write beside the tick's own.
pub(crate) type Born = HashSet<Vec<u8>>;

impl Batch {
    /// All of it in order, for `MULTI`.
    pub fn in_order(&self) -> Vec<Cmd> {
        self.entities.iter().chain([&self.last]).flat_map(Packed::cmds).collect()
    }
}

/// The fields of a ship's hash beside its motion.
type Pairs = Vec<(&'static str, Cow<'static, str>)>;
/// The new stored state of ships of which something changed.
type Changed = Vec<(CraftId, Stored)>;

impl World {
    /// The write of the tick that was just stepped.
    pub fn batch(&mut self, keys: Keys) -> Batch {
        self.batch_in(keys, Batch::default(), &Born::new(), true)
    }

    /// The same in the memory of an older one; `shared` when there are cores with nothing else to do.
    pub fn batch_in(&mut self, keys: Keys, mut batch: Batch, born: &Born, shared: bool) -> Batch {
        let pieces = self.ships.len().div_ceil(PIECE);
        batch.entities.resize_with(pieces + 2, Packed::default);
        batch.entities.iter_mut().for_each(Packed::clear);
        batch.last.clear();
        let [still, ships @ .., time] = &mut batch.entities[..] else { return batch };
        let moved = std::mem::replace(&mut self.moved, Moved::Ships(HashSet::new()));
        if matches!(moved, Moved::All) {
            self.push_bodies(keys, still);
            self.push_stations(keys, still);
            set(time, &keys.time(), &text::time(self.time_ns));
            let drift = text::float((self.drift_s * 1e3).round() / 1e3);
            set(time, &keys.time_drift(), &drift);
        }
        self.push_ships(keys, ships, &moved, shared);
        let tick = self.tick.to_string();
        set(&mut batch.last, &keys.tick(), &tick);
        let channel = keys.tick_completed();
        batch.last.command(3).word("PUBLISH").word(channel.as_str()).word(tick);
        batch.guard.clear();
        let entities = self.entities(keys, born);
        let mut exists = batch.guard.command(1 + entities.len());
        exists.word("EXISTS");
        for key in &entities {
            exists.word(key);
        }
        drop(exists);
        batch
    }

    /// The keys that a tick writes to, and that must be there: `game:tick`, bodies, stations, ships.
    pub(crate) fn entities(&self, keys: Keys, born: &Born) -> Vec<Vec<u8>> {
        let bytes = |key: Key| key.as_bytes().to_vec();
        let bodies = self.system.bodies().iter().filter_map(|body| keys.body(body.name).ok());
        let stations = self
            .stations
            .iter()
            .filter_map(|(id, station)| crate::keys::of_station(keys, station.kind, *id).ok());
        let mut all: Vec<Vec<u8>> = Vec::with_capacity(self.ships.len() + 64);
        all.push(bytes(keys.tick()));
        all.extend(bodies.chain(stations).map(bytes));
        if let Some(mut names) = Names::of(keys) {
            all.extend(self.ships.keys().map(|id| names.of_ship(*id).to_vec()));
        }
        if !born.is_empty() {
            all.retain(|key| !born.contains(key));
        }
        all
    }

    fn push_bodies(&self, keys: Keys, out: &mut Packed) {
        let now = self.bodies.now();
        for (index, body) in self.system.bodies().iter().enumerate() {
            let Ok(key) = keys.body(body.name) else { continue };
            let mut hash = out.command(6);
            hash.word("HSET").word(key.as_str());
            hash.word("position").word(text::vector(now.position[index]));
            hash.word("velocity").word(text::vector(now.velocity[index]));
        }
    }

    fn push_stations(&self, keys: Keys, out: &mut Packed) {
        for (id, station) in &self.stations {
            let key = crate::keys::of_station(keys, station.kind, *id);
            let (Ok(key), Some((position, velocity))) = (key, self.motion(station.craft)) else {
                continue;
            };
            let fields = write_motion(position, velocity);
            let mut hash = out.command(2 + 2 * fields.len());
            hash.word("HSET").word(key.as_str());
            for (field, value) in fields {
                hash.word(field).word(value);
            }
        }
    }

    /// Ships in a world that stands still are left alone, but for those that an order changed.
    fn push_ships(&mut self, keys: Keys, pieces: &mut [Packed], moved: &Moved, shared: bool) {
        let Some(names) = Names::of(keys) else { return };
        let is_stored = |ship: &Ship| {
            let (stored, hull) = (ship.stored.as_ref(), self.fleet.hull(ship.craft));
            stored.zip(hull).is_some_and(|(stored, hull)| stored.is(ship, hull))
        };
        let ships: Vec<_> = match moved {
            Moved::All => self.ships.iter().collect(),
            Moved::Ships(some) => {
                let changed = |(id, ship): &(&Uuid, &Ship)| some.contains(*id) || !is_stored(ship);
                self.ships.iter().filter(changed).collect()
            }
        };
        let encode = |(ships, out): (&[(&Uuid, &Ship)], &mut Packed)| -> Changed {
            out.reserve(ships.len() * SHIP_BYTES);
            let mut writer =
                TickEncoder { world: self, keys, names: names.clone(), text: Vec::new() };
            let each = ships.iter().filter_map(|(id, ship)| writer.push(out, **id, ship));
            each.collect()
        };
        let changed: Vec<Changed> = if shared && pieces.len() > 1 {
            ships.par_chunks(PIECE).zip(pieces.par_iter_mut()).map(encode).collect()
        } else {
            ships.chunks(PIECE).zip(pieces).map(encode).collect()
        };
        if changed.iter().all(Vec::is_empty) {
            return;
        }
        let mut changed = changed.into_iter().flatten().peekable();
        // Both go through the ships in the order of their ids.
        for ship in self.ships.values_mut() {
            if let Some((_, stored)) = changed.next_if(|(craft, _)| *craft == ship.craft) {
                ship.stored = Some(stored);
            }
        }
    }
}

/// The keys of ships: all alike but for the id, so that the table is asked once.
#[derive(Clone)]
struct Names {
    key: Vec<u8>,
    at: usize,
}

impl Names {
    fn of(keys: Keys) -> Option<Names> {
        let nobody = Uuid::nil();
        let key = keys.ship(nobody).ok()?;
        let at = key.as_str().find(&nobody.to_string())?;
        Some(Names { key: key.as_bytes().to_vec(), at })
    }

    fn of_ship(&mut self, id: Uuid) -> &[u8] {
        let mut text = Uuid::encode_buffer();
        let text = id.hyphenated().encode_lower(&mut text).as_bytes();
        self.key[self.at..self.at + text.len()].copy_from_slice(text);
        &self.key
    }
}

/// Spells ships.
struct TickEncoder<'a> {
    world: &'a World,
    keys: Keys,
    names: Names,
    text: Vec<u8>,
}

impl TickEncoder<'_> {
    /// Writes a ship; says what the store holds then, when more than its motion changed.
    fn push(&mut self, out: &mut Packed, id: Uuid, ship: &Ship) -> Option<(CraftId, Stored)> {
        let (position, velocity) = self.world.motion(ship.craft)?;
        let hull = self.world.fleet.hull(ship.craft)?;
        let was = ship.stored.as_ref();
        let now = (!was.is_some_and(|was| was.is(ship, hull))).then(|| Stored::of(ship, hull));
        let pairs = now.as_ref().map(|now| self.pairs(ship, now)).unwrap_or_default();
        let mut hash = out.command(10 + 2 * pairs.len());
        hash.word("HSET").word(self.names.of_ship(id));
        for (field, values) in [
            ("position", &position.to_array()[..]),
            ("velocity", &velocity.to_array()),
            ("attitude", &text::wxyz(hull.attitude)),
            ("angular_velocity", &hull.omega.to_array()),
        ] {
            self.text.clear();
            text::push_vector(&mut self.text, values);
            hash.word(field).word(&self.text);
        }
        for (field, value) in pairs {
            hash.word(field).word(&*value);
        }
        drop(hash);
        let now = now?;
        let flown = was.and_then(|was| was.maneuver.as_ref());
        if was.is_none() || flown != now.maneuver.as_ref() {
            let key = self.keys.maneuver(id).ok()?;
            let body = |body| self.world.system.body(body).name;
            let flies = now.maneuver.as_ref();
            for cmd in maneuver::writes(key.as_str(), was.is_some(), flown, flies, body) {
                out.push(&cmd);
            }
        }
        Some((ship.craft, now))
    }

    /// The fields that change rarely, and did.
    fn pairs(&self, ship: &Ship, now: &Stored) -> Pairs {
        let was = ship.stored.as_ref();
        let mut pairs = Pairs::new();
        if was.is_none_or(|was| was.fuel.to_bits() != now.fuel.to_bits()) {
            pairs.push(("fuel", text::float(now.fuel).into()));
        }
        if was.is_none_or(|was| was.wheel != now.wheel) {
            pairs.push(("wheel_momentum", text::vector(now.wheel).into()));
        }
        let before = was.map(|was| was.controls.write()).unwrap_or_default();
        let controls = now.controls.write().into_iter().filter(|pair| !before.contains(pair));
        pairs.extend(controls.map(|(field, value)| (field, value.into())));
        // Absent means at rest, so that a ship that never moved sideways has no such field.
        if was.is_none_or(|was| was.controls.shift()) && !now.controls.shift() {
            pairs.push(("translation_input", "[0.0, 0.0, 0.0]".into()));
        }
        if was.is_none_or(|was| was.docked != now.docked) {
            let station = now.docked.map(|id| id.to_string()).unwrap_or_default();
            pairs.push(("docked_station_id", station.into()));
            pairs.push(("docked_at_tick", ship.docked_at_tick.to_string().into()));
        }
        if was.is_none_or(|was| was.landed != now.landed) {
            let body = now.landed.map_or("", |body| self.world.system.body(body).name);
            pairs.push(("landed_body_name", body.into()));
        }
        pairs
    }
}

fn set(out: &mut Packed, key: &Key, value: &str) {
    out.command(3).word("SET").word(key.as_str()).word(value);
}
