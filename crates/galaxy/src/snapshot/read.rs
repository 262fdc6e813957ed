//! The world out of the store, by its indexes: hashes as they are, byte for byte.
//!
//! The tick is read before and after. When it did not move meanwhile, the world read is of one
//! moment; otherwise the engine's copy says what was true at its tick.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{BadId, Key};
use kernel::{Cmd, Deadline, Fault, Store, Value, reply};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::keys::Keys;
use crate::model::Fields;
use crate::snapshot::{Entities, SnapshotState, VERSION, overlay};
use crate::store::{cmd, game};
use crate::world::World;

/// Hashes read in one trip; small, so that a tick's write never waits long behind them.
const AT_ONCE: usize = 200;
const PATIENCE: Duration = Duration::from_secs(10);
/// Keys of which it is told that a field of theirs is left out; beyond that a log helps nobody.
const ODD_MOST: usize = 1_000;

/// The world as it was at one tick.
pub(super) async fn read(
    store: &Arc<dyn Store>,
    keys: Keys,
    systems: &BTreeSet<String>,
    world: &World,
    odd: &Mutex<BTreeSet<String>>,
) -> Result<SnapshotState, Fault> {
    let reader = Reader { store, keys, odd };
    let before = reader.text(&keys.tick()).await?;
    if before.is_none() {
        let why = "there is no world in the store".to_owned();
        return Err(Fault::Corrupt { key: keys.tick().as_str().to_owned(), detail: why });
    }
    let mut state = reader.all(systems).await?;
    let after = reader.text(&keys.tick()).await?;
    let copied = Some(world.tick.to_string());
    if before != copied || after != copied {
        overlay::overlay(&mut state, world);
    }
    Ok(state)
}

/// Every system that the store knows an index of. A walk over all keys: not for every snapshot.
pub(super) async fn systems(store: &Arc<dyn Store>) -> Result<BTreeSet<String>, Fault> {
    let mut systems = BTreeSet::new();
    let mut nodes = kernel::Scan::open(&**store, PATIENCE).await?.matching("system:*:*");
    while let Some(found) = nodes.next(1_000).await? {
        systems.extend(found.iter().filter_map(|key| {
            let key = std::str::from_utf8(key).ok()?;
            Some(key.strip_prefix("system:")?.rsplit_once(':')?.0.to_owned())
        }));
    }
    Ok(systems)
}

struct Reader<'a> {
    store: &'a Arc<dyn Store>,
    keys: Keys,
    odd: &'a Mutex<BTreeSet<String>>,
}

impl Reader<'_> {
    async fn all(&self, systems: &BTreeSet<String>) -> Result<SnapshotState, Fault> {
        let keys = self.keys;
        let mut state =
            SnapshotState { v: VERSION, game: self.game().await?, ..SnapshotState::default() };
        for system in systems {
            let bodies = self.members(&keys.system_bodies(system)).await?;
            state.bodies.extend(self.hashes(bodies, |name| keys.body(name)).await?);
            let ships = self.members(&keys.system_ships(system)).await?;
            state.ships.extend(self.hashes(ships, |id| keys.ship(uuid(id))).await?);
            let stations = self.members(&keys.system_stations(system)).await?;
            state.stations.extend(self.hashes(stations, |id| keys.station(uuid(id))).await?);
            let gates = self.members(&keys.system_jumpgates(system)).await?;
            state.jumpgates.extend(self.hashes(gates, |id| keys.jumpgate(uuid(id))).await?);
        }
        let ships: Vec<String> = state.ships.keys().cloned().collect();
        state.maneuvers = self.hashes(ships.clone(), |id| keys.maneuver(uuid(id))).await?;
        self.rules(&ships, &mut state).await?;
        self.active_ships(&mut state).await?;
        Ok(state)
    }

    async fn game(&self) -> Result<std::collections::BTreeMap<String, String>, Fault> {
        let all = game(self.keys);
        let gets: Vec<Cmd> = all.iter().map(|key| cmd(&["GET", key.as_str()])).collect();
        let answers = self.many(&gets).await?;
        let found = all.iter().zip(&answers).filter_map(|(key, answer)| {
            Some((key.as_str().to_owned(), reply::text(answer)?.to_owned()))
        });
        Ok(found.collect())
    }

    async fn rules(&self, ships: &[String], state: &mut SnapshotState) -> Result<(), Fault> {
        let sets: Vec<(&String, Key)> =
            ships.iter().filter_map(|id| Some((id, self.keys.rules(uuid(id)).ok()?))).collect();
        let gets: Vec<Cmd> = sets.iter().map(|(_, key)| cmd(&["SMEMBERS", key.as_str()])).collect();
        let mut wanted = Vec::new();
        for ((ship, _), answer) in sets.iter().zip(&self.many(&gets).await?) {
            for rule in reply::list(answer).unwrap_or_default().iter().filter_map(reply::text) {
                let Ok(key) = self.keys.rule(uuid(ship), uuid(rule)) else { continue };
                wanted.push((*ship, rule.to_owned(), key));
            }
        }
        let gets: Vec<Cmd> =
            wanted.iter().map(|(_, _, key)| cmd(&["HGETALL", key.as_str()])).collect();
        for ((ship, rule, key), answer) in wanted.into_iter().zip(&self.many(&gets).await?) {
            let fields = fields(&key, answer, self.odd);
            if !fields.is_empty() {
                state.automation.entry(ship.clone()).or_default().insert(rule, fields);
            }
        }
        Ok(())
    }

    async fn active_ships(&self, state: &mut SnapshotState) -> Result<(), Fault> {
        let players: BTreeSet<String> =
            state.ships.values().filter_map(|ship| ship.get("player_id").cloned()).collect();
        let keyed: Vec<(String, Key)> = players
            .into_iter()
            .filter_map(|id| {
                let key = self.keys.active_ship(id.parse::<Uuid>().ok()?).ok()?;
                Some((id, key))
            })
            .collect();
        let gets: Vec<Cmd> = keyed.iter().map(|(_, key)| cmd(&["GET", key.as_str()])).collect();
        for ((player, _), answer) in keyed.into_iter().zip(&self.many(&gets).await?) {
            if let Some(ship) = reply::text(answer) {
                state.active_ship.insert(player, ship.to_owned());
            }
        }
        Ok(())
    }

    async fn members(&self, index: &Result<Key, BadId>) -> Result<Vec<String>, Fault> {
        let Ok(index) = index else { return Ok(Vec::new()) };
        let ask = cmd(&["SMEMBERS", index.as_str()]);
        let answer = self.store.call(&ask, Deadline::after(PATIENCE)).await?;
        let mut members: Vec<String> = reply::list(&answer)
            .unwrap_or_default()
            .iter()
            .filter_map(|member| reply::text(member).map(str::to_owned))
            .collect();
        members.sort_unstable();
        Ok(members)
    }

    /// The hashes of these; one that is gone is left out.
    async fn hashes(
        &self,
        ids: Vec<String>,
        key: impl Fn(&str) -> Result<Key, BadId>,
    ) -> Result<Entities, Fault> {
        let keyed: Vec<(String, Key)> =
            ids.into_iter().filter_map(|id| key(&id).ok().map(|key| (id, key))).collect();
        let gets: Vec<Cmd> = keyed.iter().map(|(_, key)| cmd(&["HGETALL", key.as_str()])).collect();
        let answers = self.many(&gets).await?;
        let mut found = Entities::new();
        for ((id, key), answer) in keyed.into_iter().zip(&answers) {
            let fields = fields(&key, answer, self.odd);
            if !fields.is_empty() {
                found.insert(id, fields);
            }
        }
        Ok(found)
    }

    async fn many(&self, cmds: &[Cmd]) -> Result<Vec<Value>, Fault> {
        let mut answers = Vec::with_capacity(cmds.len());
        for part in cmds.chunks(AT_ONCE) {
            for answer in self.store.pipeline(part, Deadline::after(PATIENCE)).await? {
                answers.push(match answer {
                    Ok(answer) => answer,
                    // Of another type than it should be: nothing of ours.
                    Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => Value::Nil,
                    Err(fault) => return Err(fault),
                });
            }
        }
        Ok(answers)
    }

    async fn text(&self, key: &Key) -> Result<Option<String>, Fault> {
        let ask = cmd(&["GET", key.as_str()]);
        let answer = self.store.call(&ask, Deadline::after(PATIENCE)).await?;
        Ok(reply::text(&answer).map(str::to_owned))
    }
}

/// An index names what it names; an id that is none becomes nobody's, whose hash does not exist.
fn uuid(id: &str) -> Uuid {
    id.parse().unwrap_or(Uuid::nil())
}

/// The fields of a hash. JSON and its column hold text without NUL; anything else is left out and told.
fn fields(key: &Key, answer: &Value, odd: &Mutex<BTreeSet<String>>) -> Fields {
    let mut found = Fields::new();
    for (field, value) in reply::pairs(answer).unwrap_or_default() {
        let text = |value| reply::text(value).filter(|text| !text.contains('\0'));
        if let (Some(field), Some(value)) = (text(field), text(value)) {
            found.insert(field.to_owned(), value.to_owned());
        } else {
            let mut odd = odd.lock();
            if odd.len() < ODD_MOST && odd.insert(key.as_str().to_owned()) {
                tracing::warn!(key = key.as_str(), "a field that is no text is in no snapshot");
            }
        }
    }
    found
}
