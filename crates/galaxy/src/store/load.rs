//! Loading: the engine reads the world from the store, and puts a new one there when there is none.
//!
//! A ship that cannot be read is set aside and told; the rest goes on. An entity that no index
//! names is not found: mending indexes is the work of `worldkeep check --repair`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{BadId, Key};
use kernel::{Cmd, Deadline, Fault, Store, reply};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::keys::{Keys, of_station};
use crate::model::text;
use crate::model::{Fields, ShipRecord, StationKind, StationRecord, Unusable, read_body};
use crate::physics::Bodies;
use crate::physics::solar::{J2000_UNIX_S, System};
use crate::store::{cmd, fields, game};
use crate::world::{Moved, Pace, World};

mod automation;

/// The place of `game:total_spawns` among the keys of a game.
const SPAWNS: usize = 7;
/// Hashes read in one trip.
const AT_ONCE: usize = 500;
const PATIENCE: Duration = Duration::from_secs(10);

/// When a new world begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Epoch {
    /// Now: planets from their elements at this date.
    #[default]
    Now,
    /// J2000, from the table; time is not drawn towards UTC.
    J2000,
}

impl Epoch {
    /// The bodies at the beginning, and its time in Unix nanoseconds.
    pub fn start(self, system: &System, now_ms: u64) -> (Bodies, i128) {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of this century")]
        let now_s = now_ms as f64 / 1e3;
        match self {
            Epoch::Now => (system.at(now_s), i128::from(now_ms) * 1_000_000),
            #[expect(clippy::cast_possible_truncation, reason = "a second of this era")]
            Epoch::J2000 => (system.at_j2000(), (J2000_UNIX_S.round() * 1e9) as i128),
        }
    }
}

/// The world found in the store.
pub struct Loaded {
    /// The world.
    pub world: World,
    /// Keys that could not be read, with the reason.
    pub aside: Vec<(String, Unusable)>,
}

/// Reads a world; `None` when there is none: no `game:tick`, or no body of the system.
pub async fn load(
    store: &Arc<dyn Store>,
    keys: Keys,
    system: &'static System,
) -> Result<Option<Loaded>, Fault> {
    read(Reader { store, keys, counts: true }, system).await
}

/// The same for somebody who only looks, and may not read what only an engine needs.
pub(crate) async fn look(
    store: &Arc<dyn Store>,
    keys: Keys,
    system: &'static System,
) -> Result<Option<Loaded>, Fault> {
    read(Reader { store, keys, counts: false }, system).await
}

async fn read(reader: Reader<'_>, system: &'static System) -> Result<Option<Loaded>, Fault> {
    let keys = reader.keys;
    let Some(game) = reader.game().await? else { return Ok(None) };
    let Some(bodies) = reader.bodies(system).await? else { return Ok(None) };
    let mut world = World::new(system, bodies, game.time_ns);
    (world.tick, world.pace, world.total_spawns) = (game.tick, game.pace, game.total_spawns);
    world.drift_s = game.drift_s;
    let mut aside = Vec::new();
    for kind in [StationKind::Station, StationKind::Jumpgate] {
        let index = match kind {
            StationKind::Station => keys.system_stations(system.id),
            StationKind::Jumpgate => keys.system_jumpgates(system.id),
        };
        let index = index.map_err(|bad| corrupt(system.id, &bad.to_string()))?;
        for (id, key, fields) in reader.entities(&index, |id| of_station(keys, kind, id)).await? {
            match StationRecord::read(kind, &fields) {
                Ok(record) => world.add_station(id, kind, record),
                Err(why) => aside.push((key, why)),
            }
        }
    }
    let index = keys.system_ships(system.id).map_err(|bad| corrupt(system.id, &bad.to_string()))?;
    for (id, key, fields) in reader.entities(&index, |id| keys.ship(id)).await? {
        match ShipRecord::read(&fields) {
            Ok(record) => world.add_ship(id, record),
            Err(why) => aside.push((key, why)),
        }
    }
    automation::load(&reader, &mut world, &mut aside).await?;
    // The store holds all of it, to the byte.
    world.moved = Moved::Ships(HashSet::new());
    Ok(Some(Loaded { world, aside }))
}

/// Makes a new world: bodies and `game:*`, written in one step. Keys of `game:*` that exist already
/// are kept.
pub async fn create(
    store: &Arc<dyn Store>,
    keys: Keys,
    system: &'static System,
    epoch: Epoch,
    now_ms: u64,
) -> Result<World, Fault> {
    let (bodies, time_ns) = epoch.start(system, now_ms);
    let mut world = World::new(system, bodies, time_ns);
    world.pace.sync = epoch == Epoch::Now;
    let cmds = first_write(&mut world, keys)?;
    let by = Deadline::after(PATIENCE);
    if store.status().kind == kernel::Kind::Cluster {
        for outcome in store.pipeline(&cmds, by).await? {
            outcome?;
        }
    } else {
        let mut session = store.session(keys.tick().as_str().as_bytes(), by).await?;
        session.queue(&[&cmds.iter().collect()], by).await?;
        session.exec(by).await?;
    }
    Ok(world)
}

fn first_write(world: &mut World, keys: Keys) -> Result<Vec<Cmd>, Fault> {
    let mut cmds = Vec::new();
    let index = keys
        .system_bodies(world.system.id)
        .map_err(|bad| corrupt(world.system.id, &bad.to_string()))?;
    for body in world.system.bodies() {
        let key = keys.body(body.name).map_err(|bad| corrupt(body.name, &bad.to_string()))?;
        cmds.push(cmd(&["HSET", key.as_str(), "system_id", world.system.id]));
        cmds.push(cmd(&["SADD", index.as_str(), body.name]));
    }
    let pace = &world.pace;
    for (key, value) in [
        (keys.paused(), text::flag(pace.paused).to_owned()),
        (keys.tick_rate(), text::float(pace.rate)),
        (keys.time_scale(), text::float(pace.scale)),
        (keys.time_sync(), text::flag(pace.sync).to_owned()),
    ] {
        cmds.push(cmd(&["SET", key.as_str(), &value, "NX"]));
    }
    cmds.extend(world.batch(keys).in_order());
    Ok(cmds)
}

struct Game {
    tick: u64,
    time_ns: i128,
    pace: Pace,
    total_spawns: u64,
    drift_s: f64,
}

struct Reader<'a> {
    store: &'a Arc<dyn Store>,
    keys: Keys,
    /// Whether the count of spawns is read: the gateway may not.
    counts: bool,
}

impl Reader<'_> {
    async fn game(&self) -> Result<Option<Game>, Fault> {
        let mut names = game(self.keys);
        if !self.counts {
            // The tick stands in for the count, and is not taken for it.
            names[SPAWNS] = self.keys.tick();
        }
        let gets: Vec<_> = names.iter().map(|key| cmd(&["GET", key.as_str()])).collect();
        let mut found = Vec::new();
        for answer in self.store.pipeline(&gets, Deadline::after(PATIENCE)).await? {
            found.push(reply::text(&answer?).map(str::to_owned));
        }
        let [tick, time, paused, rate, scale, sync, drift, spawns, _open] = &found[..] else {
            return Ok(None);
        };
        let Some(tick) = tick.as_deref().and_then(|tick| tick.parse().ok()) else {
            return Ok(None);
        };
        let time = time.as_deref().and_then(text::read_time);
        let time_ns =
            time.ok_or_else(|| corrupt(names[1].as_str(), "it is not a time of ISO 8601"))?;
        let number = |stored: &Option<String>| {
            stored
                .as_deref()
                .and_then(text::read_float)
                .filter(|n| crate::engine::pace::RANGE.contains(n))
        };
        let pace = Pace {
            rate: number(rate).unwrap_or(1.0),
            scale: number(scale).unwrap_or(1.0),
            sync: sync.as_deref() != Some("false"),
            paused: paused.as_deref() == Some("true"),
        };
        let spawns = spawns.as_deref().filter(|_| self.counts);
        let total_spawns = spawns.and_then(|n| n.parse().ok()).unwrap_or(0);
        let drift_s = drift.as_deref().and_then(text::read_float).unwrap_or(0.0);
        Ok(Some(Game { tick, time_ns, pace, total_spawns, drift_s }))
    }

    /// The bodies of the system; `None` when one of them is missing.
    async fn bodies(&self, system: &'static System) -> Result<Option<Bodies>, Fault> {
        let mut gets = Vec::new();
        for body in system.bodies() {
            let key =
                self.keys.body(body.name).map_err(|bad| corrupt(body.name, &bad.to_string()))?;
            gets.push(cmd(&["HGETALL", key.as_str()]));
        }
        let (mut position, mut velocity) = (Vec::new(), Vec::new());
        for answer in self.store.pipeline(&gets, Deadline::after(PATIENCE)).await? {
            let Ok((r, v)) = read_body(&fields(&answer?)) else { return Ok(None) };
            position.push(r);
            velocity.push(v);
        }
        Ok(Some(system.bodies_at(position, velocity)))
    }

    /// The hashes that an index names; ids that are none, and hashes that are gone, are passed over.
    async fn entities(
        &self,
        index: &Key,
        key: impl Fn(Uuid) -> Result<Key, BadId>,
    ) -> Result<Vec<(Uuid, String, Fields)>, Fault> {
        let by = Deadline::after(PATIENCE);
        let members = self.store.call(&cmd(&["SMEMBERS", index.as_str()]), by).await?;
        let mut ids: Vec<Uuid> = reply::list(&members)
            .unwrap_or_default()
            .iter()
            .filter_map(|member| reply::text(member)?.parse().ok())
            .collect();
        ids.sort_unstable();
        let mut found = Vec::with_capacity(ids.len());
        for part in ids.chunks(AT_ONCE) {
            let keys: Vec<_> = part.iter().filter_map(|id| Some((*id, key(*id).ok()?))).collect();
            let gets: Vec<_> =
                keys.iter().map(|(_, key)| cmd(&["HGETALL", key.as_str()])).collect();
            let answers = self.store.pipeline(&gets, Deadline::after(PATIENCE)).await?;
            for ((id, key), answer) in keys.into_iter().zip(answers) {
                let fields = fields(&answer?);
                if !fields.is_empty() {
                    found.push((id, key.as_str().to_owned(), fields));
                }
            }
        }
        Ok(found)
    }
}

fn corrupt(key: &str, detail: &str) -> Fault {
    Fault::Corrupt { key: key.to_owned(), detail: detail.to_owned() }
}
