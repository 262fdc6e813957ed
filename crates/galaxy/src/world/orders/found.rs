//! Orders that bring ships, stations and gates into the world, or begin it anew, and those that set its pace.

use uuid::Uuid;

use super::{Effect, in_range, invalid, ship_class, ship_name};
use crate::error::OrderError;
use crate::model::StationKind;
use crate::world::{Placement, World};

impl World {
    pub(super) fn spawn(
        &mut self,
        id: Uuid,
        owner: &str,
        name: &str,
        class: Option<&str>,
        station: Option<Uuid>,
    ) -> Result<Effect, OrderError> {
        let name = ship_name(name)?;
        match self.ships.get(&id) {
            // An order that is repeated because its answer was lost.
            Some(ship) if ship.player_id == owner => return Ok(Effect::None),
            Some(_) => return Err(OrderError::Conflict("this ship exists already")),
            None => {}
        }
        let class = ship_class(class)?;
        let placement = station.map_or_else(|| self.spawn_place.clone(), Placement::Station);
        let (k, position, velocity) = self
            .free_spawn(&placement, self.total_spawns + 1)
            .ok_or(OrderError::Missing("station"))?;
        self.count_spawn(k);
        let record = self.new_ship((owner, name), class, (position, velocity));
        self.add_ship(id, record);
        Ok(Effect::Spawned(id))
    }

    pub(super) fn respawn(&mut self, id: Uuid, class: Option<&str>) -> Result<Effect, OrderError> {
        let old = self.ship_record(id).ok_or(OrderError::Missing("ship"))?;
        let class = match class {
            Some(name) => ship_class(Some(name))?,
            None => old.hull.class,
        };
        let point = self.free_spawn(&self.spawn_place, self.total_spawns + 1);
        let (k, position, velocity) = point.ok_or(OrderError::Missing("body"))?;
        self.count_spawn(k);
        let record = self.new_ship((&old.player_id, &old.name), class, (position, velocity));
        self.add_ship(id, record);
        Ok(Effect::Spawned(id))
    }

    pub(super) fn build(
        &mut self,
        id: Uuid,
        kind: StationKind,
        name: &str,
        parent: &str,
        altitude: f64,
        point: Option<&str>,
    ) -> Result<Effect, OrderError> {
        let name = ship_name(name)?;
        if !altitude.is_finite() || !(0.0..=1e12).contains(&altitude) {
            return Err(invalid("altitude", "must be from 0 to 10^12 metres"));
        }
        self.system.find(parent).ok_or(OrderError::Missing("body"))?;
        if kind == StationKind::Jumpgate
            && !point.is_some_and(|key| key.ends_with("L4") || key.ends_with("L5"))
        {
            return Err(invalid("lagrange", "must be an L4 or L5 point for a jump gate"));
        }
        match self.stations.get(&id) {
            // An order that is repeated because its answer was lost.
            Some(known) if known.kind == kind && known.record.name == name => {
                return Ok(Effect::None);
            }
            Some(_) => return Err(OrderError::Conflict("this station exists already")),
            None => {}
        }
        let record = self
            .new_station(kind, name, parent, altitude, point)
            .ok_or_else(|| invalid("lagrange", "is not a point such as Earth-Luna-L4"))?;
        self.add_station(id, kind, record);
        Ok(Effect::Stationed(id))
    }

    pub(super) fn tear_down(&mut self, id: Uuid, kind: StationKind) -> Result<Effect, OrderError> {
        let word = match kind {
            StationKind::Station => "station",
            StationKind::Jumpgate => "jump gate",
        };
        if self.stations.get(&id).is_none_or(|found| found.kind != kind) {
            return Err(OrderError::Missing(word));
        }
        self.remove_station(id);
        Ok(Effect::Unstationed(id, kind))
    }

    pub(super) fn set_scale(&mut self, scale: f64) -> Result<Effect, OrderError> {
        let scale = in_range("time_scale", scale)?;
        if self.pace.sync && (scale - 1.0).abs() > 1e-3 {
            return Err(OrderError::Conflict(
                "time sync is on; switch it off before you scale time",
            ));
        }
        self.pace.scale = scale;
        Ok(Effect::Paced)
    }
}
