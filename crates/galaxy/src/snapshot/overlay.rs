//! The overlay of the engine's copy on a world that moved on while it was read: the fields that the
//! tick writes are put back, and no other. A value that says the same in other words keeps the
//! words it was stored in.

use uuid::Uuid;

use crate::model::text;
use crate::model::{Fields, Written, write_motion};
use crate::snapshot::SnapshotState;
use crate::world::World;

/// Written by every tick, so surely in the store.
const MOTION: [&str; 4] = ["position", "velocity", "attitude", "angular_velocity"];
/// Never written by a tick.
const NOT_THE_TICKS: [&str; 6] =
    ["player_id", "name", "ship_class", "system_id", "fuel_capacity", "dry_mass"];

/// The state as it was at the tick of `world`.
pub(super) fn overlay(state: &mut SnapshotState, world: &World) {
    game(state, world);
    let now = world.bodies.now();
    for (index, body) in world.system.bodies().iter().enumerate() {
        let fields = state.bodies.entry(body.name.to_owned()).or_default();
        put(fields, "position", text::vector(now.position[index]));
        put(fields, "velocity", text::vector(now.velocity[index]));
    }
    for (id, station) in &world.stations {
        let Some((position, velocity)) = world.motion(station.craft) else { continue };
        let name = id.to_string();
        let kind = match station.kind {
            crate::model::StationKind::Station => &mut state.stations,
            crate::model::StationKind::Jumpgate => &mut state.jumpgates,
        };
        let fields = kind
            .entry(name.clone())
            .or_insert_with(|| owned(station.record.write(station.kind, &name)));
        for (field, value) in write_motion(position, velocity) {
            put(fields, field, value);
        }
    }
    for id in world.ships.keys() {
        ship(state, world, *id);
    }
    later_ones(state, world);
}

fn game(state: &mut SnapshotState, world: &World) {
    let drift = text::float((world.drift_s * 1e3).round() / 1e3);
    for (key, value) in [
        ("game:tick", world.tick.to_string()),
        ("game:time", text::time(world.time_ns)),
        ("game:time_drift", drift),
        ("game:paused", text::flag(world.pace.paused).to_owned()),
        ("game:tick_rate", text::float(world.pace.rate)),
        ("game:time_scale", text::float(world.pace.scale)),
        ("game:time_sync", text::flag(world.pace.sync).to_owned()),
    ] {
        put(&mut state.game, key, value);
    }
}

fn ship(state: &mut SnapshotState, world: &World, id: Uuid) {
    let Some(record) = world.ship_record(id) else { return };
    let name = id.to_string();
    automation(state, world, id, &name);
    let written = record.write();
    // Gone since: all that is known of it is the copy.
    let Some(fields) = state.ships.get_mut(&name) else {
        state.ships.insert(name, owned(written));
        return;
    };
    for (field, value) in written {
        let known = fields.contains_key(field) || MOTION.contains(&field);
        if known && !NOT_THE_TICKS.contains(&field) {
            put(fields, field, value);
        }
    }
    let rest = [
        ("docked_station_id", record.docked.map(|id| id.to_string()).unwrap_or_default()),
        ("docked_at_tick", record.docked_at_tick.to_string()),
        ("landed_body_name", record.landed.unwrap_or_default()),
    ];
    for (field, value) in rest {
        if fields.contains_key(field) {
            put(fields, field, value);
        }
    }
}

/// Puts back the ship's maneuver, and which of its rules are on.
fn automation(state: &mut SnapshotState, world: &World, id: Uuid, name: &str) {
    let Some(ship) = world.ships.get(&id) else { return };
    let started = |fields: &Fields| fields.get("started_tick").and_then(|tick| tick.parse().ok());
    if let Some(maneuver) = &ship.maneuver {
        let written = maneuver.write(|body| world.system.body(body).name);
        let fields = state.maneuvers.entry(name.to_owned()).or_default();
        if started(fields) != Some(maneuver.started_tick) {
            fields.clear();
        }
        for (field, value) in written {
            put(fields, field, value);
        }
    } else if state.maneuvers.get(name).and_then(started).is_some_and(|at| at > world.tick) {
        state.maneuvers.remove(name);
    }
    let Some(rules) = state.automation.get_mut(name) else { return };
    for rule in ship.rules.iter().filter(|rule| rule.broken.is_none()) {
        if let Some(fields) = rules.get_mut(&rule.id.to_string()) {
            put(fields, "enabled", text::flag(rule.enabled).to_owned());
        }
    }
}

/// Removes ships and stations that came after the tick: they are in no snapshot of it. A hash that
/// the engine cannot read stays: it is not in the copy either, and somebody may mend it.
fn later_ones(state: &mut SnapshotState, world: &World) {
    use crate::model::{HOME_SYSTEM, ShipRecord, StationKind, StationRecord};
    let ours = |fields: &Fields| {
        fields.get("system_id").map_or(HOME_SYSTEM, String::as_str) == world.system.id
    };
    let known = |id: &str, ships: bool| {
        id.parse().is_ok_and(|id: Uuid| {
            if ships { world.ships.contains_key(&id) } else { world.stations.contains_key(&id) }
        })
    };
    let late: Vec<String> = state
        .ships
        .iter()
        .filter(|(id, fields)| ours(fields) && !known(id, true) && ShipRecord::read(fields).is_ok())
        .map(|(id, _)| id.clone())
        .collect();
    for id in late {
        state.ships.remove(&id);
        state.maneuvers.remove(&id);
        state.automation.remove(&id);
    }
    for (kind, entities) in
        [(StationKind::Station, &mut state.stations), (StationKind::Jumpgate, &mut state.jumpgates)]
    {
        entities.retain(|id, fields| {
            !ours(fields) || known(id, false) || StationRecord::read(kind, fields).is_err()
        });
    }
}

fn owned(written: Written) -> Fields {
    written.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
}

fn put(fields: &mut Fields, field: &str, value: String) {
    match fields.get_mut(field) {
        Some(stored) if same(stored, &value) => {}
        Some(stored) => *stored = value,
        None => {
            fields.insert(field.to_owned(), value);
        }
    }
}

/// Whether two texts say the same number or numbers.
fn same(stored: &str, value: &str) -> bool {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        let bits = |value: &serde_json::Value| value.as_f64().map(|n| (n + 0.0).to_bits());
        match serde_json::from_str(text).ok()? {
            serde_json::Value::Array(all) => all.iter().map(bits).collect(),
            one => bits(&one).map(|bits| vec![bits]),
        }
    };
    stored == value || numbers(stored).is_some_and(|stored| Some(stored) == numbers(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_for_the_same_are_kept() {
        assert!(same("30000", "30000.0"));
        assert!(same("[1.5e11, 0, -0.0]", "[150000000000.0, 0.0, 0.0]"));
        assert!(same("hold", "hold"));
        assert!(!same("[1, 2]", "[1, 2, 3]"));
        assert!(!same("true", "false"));
        assert!(!same("", "0.0"));
    }
}
