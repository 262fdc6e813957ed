//! Events on `galaxy:ships` and `galaxy:jumpgates`: one entry per fact, with the ids that a
//! listener needs to look further. Each goes to the store with the change it tells of.

use kernel::keyspace::Key;
use kernel::numbers::Dialect;
use kernel::{Cmd, Event};
use serde_json::json;
use uuid::Uuid;

use crate::keys::Keys;
use crate::model::{ShipRecord, StationKind, StationRecord};
use crate::rules::Alert;
use crate::world::World;

/// The streams and the time of an event.
#[derive(Clone, Copy)]
pub(crate) struct Teller {
    pub(crate) keys: Keys,
    pub(crate) at_ms: u64,
}

impl Teller {
    pub(crate) fn ship_spawned(self, id: &str, record: &ShipRecord, total: u64) -> Option<Cmd> {
        let body = json!({ "ship_id": id, "player_id": record.player_id, "name": record.name,
            "ship_class": record.hull.class.name, "total_spawns": total });
        self.ship("ship.spawned", id, &body)
    }

    pub(crate) fn ship_removed(self, id: &str) -> Option<Cmd> {
        self.ship("ship.removed", id, &json!({ "ship_id": id }))
    }

    /// A rule of a ship has something to say to its pilot.
    pub(crate) fn ship_alert(self, world: &World, alert: &Alert) -> Option<Cmd> {
        let (ship, rule) = (alert.ship_id.to_string(), alert.rule_id.to_string());
        let player = &world.ships.get(&alert.ship_id)?.player_id;
        let body = json!({ "ship_id": ship, "player_id": player, "rule_id": rule,
            "message": alert.message, "tick": world.tick });
        self.ship("ship.alert", &ship, &body)
    }

    pub(crate) fn maneuver_ended(self, world: &World, id: Uuid) -> Option<Cmd> {
        let ship = world.ships.get(&id)?;
        let maneuver = ship.maneuver.as_ref()?;
        let name = id.to_string();
        let body = json!({ "ship_id": name, "player_id": ship.player_id,
            "type": maneuver.plan.word(), "status": maneuver.status.word(),
            "error": maneuver.error, "tick": world.tick });
        self.ship("maneuver.ended", &name, &body)
    }

    pub(crate) fn station_spawned(
        self,
        kind: StationKind,
        id: &str,
        record: &StationRecord,
    ) -> Option<Cmd> {
        let body = json!({ kind.id_field(): id, "name": record.name,
            "parent_body": record.parent_body });
        self.station(kind, "spawned", id, &body)
    }

    pub(crate) fn station_removed(self, kind: StationKind, id: &str) -> Option<Cmd> {
        self.station(kind, "removed", id, &json!({ kind.id_field(): id }))
    }

    fn ship(self, word: &str, id: &str, body: &serde_json::Value) -> Option<Cmd> {
        self.tell(&self.keys.ships_events(), word, id, body)
    }

    fn station(
        self,
        kind: StationKind,
        word: &str,
        id: &str,
        body: &serde_json::Value,
    ) -> Option<Cmd> {
        let (stream, word) = match kind {
            StationKind::Station => (self.keys.ships_events(), format!("station.{word}")),
            StationKind::Jumpgate => (self.keys.jumpgates_events(), format!("jumpgate.{word}")),
        };
        self.tell(&stream, &word, id, body)
    }

    fn tell(self, stream: &Key, word: &str, id: &str, body: &serde_json::Value) -> Option<Cmd> {
        let event = Event::new(word, self.at_ms, id, body, Dialect::Python).ok()?;
        Some(event.append_to(stream).cmd())
    }
}
