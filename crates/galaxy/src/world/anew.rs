//! The world anew: no craft, bodies where they begin. Ticks go on counting; accounts are not ours.

use uuid::Uuid;

use crate::model::StationKind;
use crate::physics::{Bodies, Fleet};
use crate::world::{Moved, World};

/// The contents of a world before it began anew.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cleared {
    /// Ships, each with its rules.
    pub ships: Vec<(Uuid, Vec<Uuid>)>,
    /// Stations and gates.
    pub stations: Vec<(Uuid, StationKind)>,
}

impl World {
    /// Pauses, clears and starts over with these bodies at this time.
    pub fn begin_anew(&mut self, bodies: Bodies, time_ns: i128) -> Cleared {
        let ships = std::mem::take(&mut self.ships);
        let stations = std::mem::take(&mut self.stations);
        let cleared = Cleared {
            ships: ships
                .iter()
                .map(|(id, ship)| (*id, ship.rules.iter().map(|rule| rule.id).collect()))
                .collect(),
            stations: stations.iter().map(|(id, station)| (*id, station.kind)).collect(),
        };
        self.fleet = Fleet::default();
        self.station_names.clear();
        self.broken.clear();
        self.bodies = bodies;
        self.time_ns = time_ns;
        self.moved = Moved::All;
        self.pace.paused = true;
        cleared
    }
}
