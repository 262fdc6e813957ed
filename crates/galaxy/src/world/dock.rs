//! Docking, and the services of a station for a ship.

use uuid::Uuid;

use crate::error::DockError;
use crate::model::StationKind;
use crate::physics::hull::Mode;
use crate::physics::{Craft, Vec3};
use crate::world::World;

/// Within this of the station, m.
const NEAR_M: f64 = 500.0;
/// And not faster than this, m/s.
const SLOW_MS: f64 = 5.0;
/// Outward speed when it lets go, m/s.
const PUSH_MS: f64 = 0.5;
/// kg per second of game time.
pub(super) const REFUEL_RATE: f64 = 50.0;

/// A service that a pilot asks of a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Service {
    /// At a station, or at the nearest.
    Dock(Option<Uuid>),
    /// Lets go.
    Undock,
    /// Fills the tank while docked.
    Refuel,
}

impl World {
    /// Does what the pilot asks, or says why not and changes nothing.
    pub fn serve(&mut self, ship: Uuid, service: &Service) -> Result<(), DockError> {
        match service {
            Service::Dock(station) => self.dock(ship, *station),
            Service::Undock => self.undock(ship),
            Service::Refuel => {
                let ship = self.ships.get_mut(&ship).ok_or(DockError::NoShip)?;
                ship.docked.as_ref().ok_or(DockError::NotDocked)?;
                ship.refuelling = true;
                Ok(())
            }
        }
    }

    fn dock(&mut self, id: Uuid, station: Option<Uuid>) -> Result<(), DockError> {
        let ship = self.ships.get(&id).ok_or(DockError::NoShip)?;
        if ship.docked.is_some() {
            return Err(DockError::AlreadyDocked);
        }
        let (station, apart, speed) = self.approach(id, station).ok_or(DockError::NoStation)?;
        if apart > NEAR_M {
            return Err(DockError::TooFar(apart));
        }
        if speed > SLOW_MS {
            return Err(DockError::TooFast(speed));
        }
        let tick = self.tick;
        let ship = self.ships.get_mut(&id).ok_or(DockError::NoShip)?;
        ship.docked = Some(station);
        ship.docked_at_tick = tick;
        ship.target = None;
        if let Some(hull) = self.hull_mut(id) {
            hull.thrust_level = 0.0;
            hull.rotation_input = Vec3::ZERO;
            hull.translation_input = Vec3::ZERO;
            hull.omega = Vec3::ZERO;
            hull.mode = Mode::None;
            hull.hold = false;
        }
        self.lock_docked();
        Ok(())
    }

    /// The station that is meant (the nearest, when none is), its distance and relative speed.
    fn approach(&self, ship: Uuid, station: Option<Uuid>) -> Option<(Uuid, f64, f64)> {
        let (position, velocity) = self.motion(self.ships.get(&ship)?.craft)?;
        let seen = |id: &Uuid| {
            let found = self.stations.get(id).filter(|at| at.kind == StationKind::Station)?;
            let (at, moves) = self.motion(found.craft)?;
            Some((*id, (at - position).length(), (moves - velocity).length()))
        };
        match station {
            Some(id) => seen(&id),
            None => self.stations.keys().filter_map(seen).min_by(|a, b| a.1.total_cmp(&b.1)),
        }
    }

    fn undock(&mut self, id: Uuid) -> Result<(), DockError> {
        let ship = self.ships.get_mut(&id).ok_or(DockError::NoShip)?;
        let station = ship.docked.take().ok_or(DockError::NotDocked)?;
        ship.refuelling = false;
        let craft = ship.craft;
        let Some(at) = self.stations.get(&station).and_then(|s| self.fleet.craft(s.craft)) else {
            return Ok(());
        };
        let outward = at.r.normalize_or(Vec3::Z);
        let free = Craft { v: at.v + outward * PUSH_MS, ..at };
        self.fleet.relocate(&self.bodies, craft, free);
        Ok(())
    }

    /// Docked ships go where their station goes; a station that is gone lets them go.
    pub(super) fn lock_docked(&mut self) {
        for ship in self.ships.values_mut() {
            let Some(id) = &ship.docked else { continue };
            let station = self.stations.get(id).and_then(|station| self.fleet.craft(station.craft));
            if let Some(at) = station {
                self.fleet.relocate(&self.bodies, ship.craft, at);
            } else {
                (ship.docked, ship.refuelling) = (None, false);
            }
        }
    }
}
