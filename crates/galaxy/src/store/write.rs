//! Writes beside the tick's own: ships and stations that come and go, names, pace, each with its event.

use kernel::Cmd;
use uuid::Uuid;

use crate::events::Teller;
use crate::keys::{Keys, of_station};
use crate::model::text;
use crate::model::{StationKind, Written};
use crate::store::cmd;
use crate::world::orders::Effect;
use crate::world::{Cleared, Stepped, World};

/// The writes of an effect, in an order that is also right on a Cluster: hash before index when something comes,
/// index before hash when it goes.
pub(crate) fn effect(world: &World, keys: Keys, effect: &Effect, at_ms: u64) -> Vec<Cmd> {
    match effect {
        Effect::None | Effect::Kept(_) | Effect::Restored(_) => Vec::new(),
        Effect::Spawned(id) => spawned(world, keys, *id, at_ms).unwrap_or_default(),
        Effect::Despawned { ship, rules } => {
            despawned(world, keys, *ship, rules, at_ms).unwrap_or_default()
        }
        Effect::Ruled(ship, rule) => ruled(world, keys, *ship, *rule).unwrap_or_default(),
        Effect::Unruled(ship, rule) => unruled(keys, *ship, *rule).unwrap_or_default(),
        Effect::Cleared(cleared) => self::cleared(world, keys, cleared, at_ms).unwrap_or_default(),
        Effect::Renamed(id, name) => renamed(keys, *id, name).into_iter().collect(),
        Effect::Stationed(id) => stationed(world, keys, *id, at_ms).unwrap_or_default(),
        Effect::Unstationed(id, kind) => {
            unstationed(world, keys, *id, *kind, at_ms).unwrap_or_default()
        }
        Effect::Paced => pace(world, keys),
    }
}

fn spawned(world: &World, keys: Keys, id: Uuid, at_ms: u64) -> Option<Vec<Cmd>> {
    let key = keys.ship(id).ok()?;
    let record = world.ship_record(id)?;
    let index = keys.system_ships(&record.system_id).ok()?;
    let id = id.to_string();
    let event = Teller { keys, at_ms }.ship_spawned(&id, &record, world.total_spawns)?;
    Some(vec![
        cmd(&["DEL", key.as_str()]),
        hash(key.as_str(), record.write()),
        cmd(&["SADD", index.as_str(), &id]),
        event,
    ])
}

fn despawned(world: &World, keys: Keys, id: Uuid, rules: &[Uuid], at_ms: u64) -> Option<Vec<Cmd>> {
    let index = keys.system_ships(world.system.id).ok()?;
    let name = id.to_string();
    let mut cmds = vec![
        cmd(&["SREM", index.as_str(), &name]),
        cmd(&["DEL", keys.ship(id).ok()?.as_str()]),
        cmd(&["DEL", keys.maneuver(id).ok()?.as_str()]),
        cmd(&["DEL", keys.rules(id).ok()?.as_str()]),
    ];
    for rule in rules {
        cmds.push(cmd(&["DEL", keys.rule(id, *rule).ok()?.as_str()]));
    }
    cmds.push(Teller { keys, at_ms }.ship_removed(&name)?);
    Some(cmds)
}

fn ruled(world: &World, keys: Keys, ship: Uuid, id: Uuid) -> Option<Vec<Cmd>> {
    let rule = world.ships.get(&ship)?.rules.iter().find(|rule| rule.id == id)?;
    Some(vec![
        hash(keys.rule(ship, id).ok()?.as_str(), rule.write(ship)),
        cmd(&["SADD", keys.rules(ship).ok()?.as_str(), &id.to_string()]),
    ])
}

fn unruled(keys: Keys, ship: Uuid, id: Uuid) -> Option<Vec<Cmd>> {
    Some(vec![
        cmd(&["SREM", keys.rules(ship).ok()?.as_str(), &id.to_string()]),
        cmd(&["DEL", keys.rule(ship, id).ok()?.as_str()]),
    ])
}

/// Everything of before is gone; the bodies come with the write of the world that follows.
fn cleared(world: &World, keys: Keys, cleared: &Cleared, at_ms: u64) -> Option<Vec<Cmd>> {
    let system = world.system.id;
    let mut cmds = vec![
        cmd(&["DEL", keys.system_ships(system).ok()?.as_str()]),
        cmd(&["DEL", keys.system_stations(system).ok()?.as_str()]),
        cmd(&["DEL", keys.system_jumpgates(system).ok()?.as_str()]),
    ];
    for (id, rules) in &cleared.ships {
        cmds.extend(despawned(world, keys, *id, rules, at_ms)?);
    }
    for (id, kind) in &cleared.stations {
        cmds.extend(unstationed(world, keys, *id, *kind, at_ms)?);
    }
    cmds.extend(pace(world, keys));
    Some(cmds)
}

/// The writes for the effects of rules and maneuvers in a tick beyond setting controls.
pub(crate) fn automated(world: &World, keys: Keys, stepped: &Stepped, at_ms: u64) -> Vec<Cmd> {
    let off = |(ship, rule): &(Uuid, Uuid)| {
        Some(cmd(&["HSET", keys.rule(*ship, *rule).ok()?.as_str(), "enabled", "false"]))
    };
    let teller = Teller { keys, at_ms };
    let alert = |alert| teller.ship_alert(world, alert);
    let ended = |id: &Uuid| teller.maneuver_ended(world, *id);
    let disabled = stepped.disabled.iter().filter_map(off);
    let alerts = stepped.alerts.iter().filter_map(alert);
    disabled.chain(alerts).chain(stepped.ended.iter().filter_map(ended)).collect()
}

fn renamed(keys: Keys, id: Uuid, name: &str) -> Option<Cmd> {
    Some(cmd(&["HSET", keys.ship(id).ok()?.as_str(), "name", name]))
}

fn stationed(world: &World, keys: Keys, id: Uuid, at_ms: u64) -> Option<Vec<Cmd>> {
    let station = world.stations.get(&id)?;
    let record = &station.record;
    let name = id.to_string();
    Some(vec![
        hash(of_station(keys, station.kind, id).ok()?.as_str(), record.write(station.kind, &name)),
        cmd(&["SADD", &index_of(keys, station.kind, world.system.id)?, &name]),
        Teller { keys, at_ms }.station_spawned(station.kind, &name, record)?,
    ])
}

fn unstationed(
    world: &World,
    keys: Keys,
    id: Uuid,
    kind: StationKind,
    at_ms: u64,
) -> Option<Vec<Cmd>> {
    let name = id.to_string();
    Some(vec![
        cmd(&["SREM", &index_of(keys, kind, world.system.id)?, &name]),
        cmd(&["DEL", of_station(keys, kind, id).ok()?.as_str()]),
        Teller { keys, at_ms }.station_removed(kind, &name)?,
    ])
}

/// Pause, rate, scale and sync as they are now.
pub(crate) fn pace(world: &World, keys: Keys) -> Vec<Cmd> {
    let pace = &world.pace;
    let set = |key: kernel::keyspace::Key, value: &str| cmd(&["SET", key.as_str(), value]);
    vec![
        set(keys.paused(), text::flag(pace.paused)),
        set(keys.tick_rate(), &text::float(pace.rate)),
        set(keys.time_scale(), &text::float(pace.scale)),
        set(keys.time_sync(), text::flag(pace.sync)),
    ]
}

fn index_of(keys: Keys, kind: StationKind, system: &str) -> Option<String> {
    let key = match kind {
        StationKind::Station => keys.system_stations(system),
        StationKind::Jumpgate => keys.system_jumpgates(system),
    };
    key.ok().map(|key| key.as_str().to_owned())
}

fn hash(key: &str, fields: Written) -> Cmd {
    let mut cmd = cmd(&["HSET", key]);
    for (field, value) in fields {
        cmd.arg(field).arg(value);
    }
    cmd
}
