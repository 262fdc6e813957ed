//! The one write of a tick: everything that moved, then the time, then `game:tick`, last.
//!
//! A reader that sees tick N sees every entity at N or later. What changes rarely (fuel, wheels, controls) is written
//! only when it did, so a name or a field of somebody else is never overwritten.

use kernel::Cmd;
use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};
use uuid::Uuid;

use crate::keys::Keys;
use crate::maneuver;
use crate::model::write_motion;
use crate::physics::CraftId;
use crate::text;
use crate::world::{Ship, Stored, World};

/// From so many ships on, encoding is worth a second thread.
const WORTH_SHARING: usize = 256;

/// What a tick writes.
#[derive(Default)]
pub struct Batch {
    /// Entities, then `game:time` and `game:time_drift`; any order within a slot is fine on a Cluster.
    pub entities: Vec<Cmd>,
    /// `game:tick` and the word that it is done: after all else.
    pub last: Vec<Cmd>,
}

impl Batch {
    /// All of it in order, for `MULTI`.
    pub fn in_order(mut self) -> Vec<Cmd> {
        self.entities.append(&mut self.last);
        self.entities
    }
}

impl World {
    /// The write of the tick that was just stepped.
    pub fn batch(&mut self, keys: Keys) -> Batch {
        let mut batch = Batch::default();
        self.push_bodies(keys, &mut batch.entities);
        self.push_stations(keys, &mut batch.entities);
        self.push_ships(keys, &mut batch.entities);
        batch.entities.push(set(&keys.time(), &text::time(self.time_ns)));
        batch
            .entities
            .push(set(&keys.time_drift(), &text::float((self.drift_s * 1e3).round() / 1e3)));
        let tick = self.tick.to_string();
        batch.last.push(set(&keys.tick(), &tick));
        let mut done = Cmd::new();
        done.arg("PUBLISH").arg(keys.tick_completed().as_str()).arg(&tick);
        batch.last.push(done);
        batch
    }

    fn push_bodies(&self, keys: Keys, out: &mut Vec<Cmd>) {
        let now = self.bodies.now();
        for (index, body) in self.system.bodies().iter().enumerate() {
            let Ok(key) = keys.body(body.name) else { continue };
            let mut hash = Hash::of(&key, 2);
            hash.vector("position", &now.position[index].to_array());
            hash.vector("velocity", &now.velocity[index].to_array());
            out.push(hash.cmd);
        }
    }

    fn push_stations(&self, keys: Keys, out: &mut Vec<Cmd>) {
        for (id, station) in &self.stations {
            let key = crate::keys::of_station(keys, station.kind, *id);
            let (Ok(key), Some((position, velocity))) = (key, self.motion(station.craft)) else {
                continue;
            };
            let mut hash = Hash::of(&key, 6);
            for (field, value) in write_motion(position, velocity) {
                hash.cmd.arg(field).arg(value);
            }
            out.push(hash.cmd);
        }
    }

    fn push_ships(&mut self, keys: Keys, out: &mut Vec<Cmd>) {
        let ships: Vec<_> = self.ships.iter().collect();
        let encode = |(id, ship): &(&Uuid, &Ship)| self.ship_write(keys, **id, ship);
        let written: Vec<_> = if ships.len() < WORTH_SHARING {
            ships.iter().filter_map(encode).collect()
        } else {
            ships.par_iter().filter_map(encode).collect()
        };
        let mut changed = Vec::new();
        for (cmds, craft, stored) in written {
            out.extend(cmds);
            changed.extend(stored.map(|stored| (craft, stored)));
        }
        if changed.is_empty() {
            return;
        }
        let mut changed = changed.into_iter().peekable();
        // Both go through the ships in the order of their ids.
        for ship in self.ships.values_mut() {
            if let Some((_, stored)) = changed.next_if(|(craft, _)| *craft == ship.craft) {
                ship.stored = Some(stored);
            }
        }
    }

    fn ship_write(
        &self,
        keys: Keys,
        id: Uuid,
        ship: &Ship,
    ) -> Option<(SmallVec<[Cmd; 1]>, CraftId, Option<Stored>)> {
        let key = keys.ship(id).ok()?;
        let (position, velocity) = self.motion(ship.craft)?;
        let hull = self.fleet.hull(ship.craft)?;
        let mut hash = Hash::of(&key, 8);
        hash.vector("position", &position.to_array());
        hash.vector("velocity", &velocity.to_array());
        hash.vector("attitude", &text::wxyz(hull.attitude));
        hash.vector("angular_velocity", &hull.omega.to_array());
        let was = ship.stored.as_ref();
        if was.is_some_and(|was| was.is(ship, hull)) {
            return Some((smallvec![hash.cmd], ship.craft, None));
        }
        let now = Stored::of(ship, hull);
        if was.is_none_or(|was| was.fuel.to_bits() != now.fuel.to_bits()) {
            hash.cmd.arg("fuel").arg(text::float(now.fuel));
        }
        if was.is_none_or(|was| was.wheel != now.wheel) {
            hash.vector("wheel_momentum", &now.wheel.to_array());
        }
        let before = was.map(|was| was.controls.write()).unwrap_or_default();
        for pair in now.controls.write().iter().filter(|pair| !before.contains(pair)) {
            hash.cmd.arg(pair.0).arg(&pair.1);
        }
        // Absent means at rest, so that a ship that never moved sideways has no such field.
        if was.is_none_or(|was| was.controls.shift()) && !now.controls.shift() {
            hash.vector("translation_input", &[0.0; 3]);
        }
        if was.is_none_or(|was| was.docked != now.docked) {
            hash.cmd
                .arg("docked_station_id")
                .arg(now.docked.map(|id| id.to_string()).unwrap_or_default());
            hash.cmd.arg("docked_at_tick").arg(ship.docked_at_tick);
        }
        if was.is_none_or(|was| was.landed != now.landed) {
            let body = now.landed.map_or("", |body| self.system.body(body).name);
            hash.cmd.arg("landed_body_name").arg(body);
        }
        let mut cmds = smallvec![hash.cmd];
        let flown = was.and_then(|was| was.maneuver.as_ref());
        if was.is_none() || flown != now.maneuver.as_ref() {
            let key = keys.maneuver(id).ok()?;
            let body = |body| self.system.body(body).name;
            let flies = now.maneuver.as_ref();
            cmds.extend(maneuver::writes(key.as_str(), was.is_some(), flown, flies, body));
        }
        Some((cmds, ship.craft, Some(now)))
    }
}

/// An `HSET` in the making.
struct Hash {
    cmd: Cmd,
    buffer: Vec<u8>,
}

impl Hash {
    fn of(key: &impl AsRef<[u8]>, fields: usize) -> Self {
        let mut cmd = Cmd::with_capacity(2 + 2 * fields, 64 + 80 * fields);
        cmd.arg("HSET").arg(key.as_ref());
        Hash { cmd, buffer: Vec::with_capacity(96) }
    }

    fn vector(&mut self, field: &str, values: &[f64]) {
        self.buffer.clear();
        text::push_vector(&mut self.buffer, values);
        self.cmd.arg(field).arg(&self.buffer[..]);
    }
}

fn set(key: &impl AsRef<[u8]>, value: &str) -> Cmd {
    let mut cmd = Cmd::new();
    cmd.arg("SET").arg(key.as_ref()).arg(value);
    cmd
}
