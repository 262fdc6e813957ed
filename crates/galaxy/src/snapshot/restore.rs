//! Back to a snapshot: the keys to remove and the values to write, in an order that may be cut
//! short anywhere and repeated. The engine that holds the lock does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{Classifier, Key, KeyDef};
use kernel::{Cmd, Deadline, Fault, Store, reply};
use uuid::Uuid;

use crate::keys::{self, Keys};
use crate::model::{Fields, HOME_SYSTEM};
use crate::snapshot::{Entities, SnapshotState};
use crate::store::cmd;

const PATIENCE: Duration = Duration::from_secs(10);
/// The names of the keys that a restore replaces.
const REPLACED: [&str; 11] = [
    "ship",
    "station",
    "body",
    "jumpgate",
    "maneuver",
    "rules",
    "rule",
    "system_bodies",
    "system_ships",
    "system_stations",
    "system_jumpgates",
];

/// The first step: from now on whoever starts repeats the restore.
pub(crate) fn begin(keys: Keys, id: i64) -> Vec<Cmd> {
    vec![
        cmd(&["SET", keys.restoring().as_str(), &id.to_string()]),
        cmd(&["SET", keys.paused().as_str(), "true"]),
    ]
}

/// The removal of everything that the snapshot replaces, found by SCAN.
pub(crate) async fn removals(store: &Arc<dyn Store>) -> Result<Vec<Cmd>, Fault> {
    let none: [&str; 0] = [];
    let classifier = Classifier::new(&[&keys::TABLE], &none);
    let replaced = |def: &KeyDef| REPLACED.contains(&def.name);
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut nodes = kernel::Scan::open(&**store, PATIENCE).await?;
    while let Some(keys) = nodes.next(1_000).await? {
        found.extend(keys.into_iter().filter(|key| {
            classifier.classify(key).is_some_and(|classified| replaced(classified.def))
        }));
    }
    // SCAN may give a key twice, and a shuffled order.
    found.sort_unstable();
    found.dedup();
    Ok(found
        .iter()
        .map(|key| {
            let mut del = Cmd::new();
            del.arg("DEL").arg(key);
            del
        })
        .collect())
}

/// The writes of a snapshot: hashes, then the indexes that name them.
pub(crate) fn writes(keys: Keys, state: &SnapshotState) -> Vec<Cmd> {
    let mut out = Vec::new();
    let mut indexes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut entities = |all: &Entities, kind: Kind| {
        for (id, fields) in all {
            let Some((key, index)) = kind.keys(keys, id, fields) else {
                tracing::error!(id, "an id that no key can hold is left out");
                continue;
            };
            out.push(hset(&key, fields));
            indexes.entry(index.as_str().to_owned()).or_default().push(id.clone());
        }
    };
    entities(&state.bodies, Kind::Body);
    entities(&state.stations, Kind::Station);
    entities(&state.jumpgates, Kind::Jumpgate);
    entities(&state.ships, Kind::Ship);
    for (ship, fields) in &state.maneuvers {
        if let Some(key) = id(ship).and_then(|ship| keys.maneuver(ship).ok()) {
            out.push(hset(&key, fields));
        }
    }
    for (ship, rules) in &state.automation {
        let Some(ship) = id(ship) else { continue };
        let Ok(index) = keys.rules(ship) else { continue };
        for (rule, fields) in rules {
            let Some(key) = id(rule).and_then(|rule| keys.rule(ship, rule).ok()) else { continue };
            out.push(hset(&key, fields));
            indexes.entry(index.as_str().to_owned()).or_default().push(rule.clone());
        }
    }
    for (index, members) in indexes {
        let mut add = cmd(&["SADD", &index]);
        for member in members {
            add.arg(member);
        }
        out.push(add);
    }
    out
}

/// Which ship each player flew. Whoever has chosen since keeps the choice.
pub(crate) fn choices(keys: Keys, state: &SnapshotState) -> Vec<Cmd> {
    let choice = |(player, ship): (&String, &String)| {
        let key = keys.active_ship(id(player)?).ok()?;
        Some(cmd(&["SET", key.as_str(), ship, "NX"]))
    };
    state.active_ship.iter().filter_map(choice).collect()
}

/// The game's own keys, `game:tick` last, and the end of the restore.
pub(crate) async fn end(
    store: &Arc<dyn Store>,
    keys: Keys,
    state: &SnapshotState,
) -> Result<Vec<Cmd>, Fault> {
    let mut out = Vec::new();
    let spawns = keys.total_spawns();
    let ask = cmd(&["GET", spawns.as_str()]);
    let now = store.call(&ask, Deadline::after(PATIENCE)).await?;
    let now = reply::int(&now).unwrap_or(0);
    let then = state.game.get(spawns.as_str()).and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
    if then > now {
        out.push(cmd(&["INCRBY", spawns.as_str(), &(then - now).to_string()]));
    }
    let game = [keys.time(), keys.tick_rate(), keys.time_scale(), keys.time_sync(), keys.tick()];
    for key in game {
        if let Some(value) = state.game.get(key.as_str()) {
            out.push(cmd(&["SET", key.as_str(), value]));
        }
    }
    out.push(cmd(&["SET", keys.paused().as_str(), "true"]));
    out.push(cmd(&["DEL", keys.restoring().as_str()]));
    Ok(out)
}

#[derive(Clone, Copy)]
enum Kind {
    Body,
    Station,
    Jumpgate,
    Ship,
}

impl Kind {
    fn keys(self, keys: Keys, name: &str, fields: &Fields) -> Option<(Key, Key)> {
        let system = fields.get("system_id").filter(|system| !system.is_empty());
        let system = system.map_or(HOME_SYSTEM, String::as_str);
        let (key, index) = match self {
            Kind::Body => (keys.body(name), keys.system_bodies(system)),
            Kind::Station => (keys.station(id(name)?), keys.system_stations(system)),
            Kind::Jumpgate => (keys.jumpgate(id(name)?), keys.system_jumpgates(system)),
            Kind::Ship => (keys.ship(id(name)?), keys.system_ships(system)),
        };
        Some((key.ok()?, index.ok()?))
    }
}

fn id(text: &str) -> Option<Uuid> {
    text.parse().ok()
}

fn hset(key: &Key, fields: &Fields) -> Cmd {
    let mut set = cmd(&["HSET", key.as_str()]);
    for (field, value) in fields {
        set.arg(field).arg(value);
    }
    set
}
