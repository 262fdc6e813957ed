//! What pilots, admins and other servers ask of the engine, and how the world obeys.
//!
//! An order given on the engine's own server is handed over directly; any other comes through `galaxy:commands`. Both
//! have the same shape. Inputs are clamped; what makes no sense is refused and changes nothing.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::{StationKind, Target, TargetKind};
use crate::pace::RANGE;
use crate::physics::hull::Mode;
use crate::physics::{ShipClass, Vec3};
use crate::world::{Placement, Refused, Service, World};

/// An order, as the stream's `type` and `body` spell it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the protocol")]
pub enum Order {
    Control {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thrust_level: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rotation_input: Option<[f64; 3]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        translation_input: Option<[f64; 3]>,
    },
    Attitude {
        mode: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_type: Option<String>,
    },
    AttitudeHold {
        enabled: bool,
    },
    Dock {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        station_id: Option<Uuid>,
    },
    Undock,
    Refuel,
    /// Back to the spawn point with full tanks.
    Reset {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ship_class: Option<String>,
    },
    Rename {
        name: String,
    },
    Spawn {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ship_class: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        station_id: Option<Uuid>,
    },
    Despawn,
    StationSpawn {
        id: Uuid,
        name: String,
        parent_body: String,
        #[serde(default)]
        altitude: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lagrange: Option<String>,
        #[serde(default)]
        jumpgate: bool,
    },
    StationRemove {
        id: Uuid,
    },
    Pause,
    Resume,
    TickRate {
        tick_rate: f64,
    },
    TimeScale {
        time_scale: f64,
    },
    TimeSync {
        enabled: bool,
    },
}

/// Who asks what of which ship.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Unix milliseconds at which it was given.
    pub at_ms: u64,
    /// The player; `None` for an operator.
    pub player_id: Option<String>,
    /// The ship it is about, if it is about one.
    pub ship_id: Option<Uuid>,
    /// What.
    pub order: Order,
}

/// Why an order is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OrderError {
    /// A value cannot be.
    #[error("{field} {reason}")]
    Invalid {
        /// Which.
        field: &'static str,
        /// Why.
        reason: String,
    },
    /// The ship is somebody else's.
    #[error("this ship is not yours")]
    NotYours,
    /// What it is about does not exist.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// Not while things are as they are.
    #[error("{0}")]
    Conflict(&'static str),
    /// A station says no.
    #[error(transparent)]
    Docking(#[from] Refused),
}

/// What obeying needs beyond the world in memory: writes of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing: the next tick writes it.
    None,
    /// A ship was made (or made anew): its whole hash, its index entry, its event.
    Spawned(Uuid),
    /// A ship is gone.
    Despawned(Uuid),
    /// Its new name.
    Renamed(Uuid, String),
    /// A station or gate was made.
    Stationed(Uuid),
    /// A station or gate is gone.
    Unstationed(Uuid, StationKind),
    /// Pause, rate, scale or sync changed.
    Paced,
}

fn invalid(field: &'static str, reason: impl Into<String>) -> OrderError {
    OrderError::Invalid { field, reason: reason.into() }
}

impl World {
    /// Obeys, or says why not and changes nothing.
    pub fn obey(&mut self, command: &Command) -> Result<Effect, OrderError> {
        match &command.order {
            Order::Pause | Order::Resume => {
                self.pace.paused = command.order == Order::Pause;
                Ok(Effect::Paced)
            }
            Order::TickRate { tick_rate } => {
                self.pace.rate = in_range("tick_rate", *tick_rate)?;
                Ok(Effect::Paced)
            }
            Order::TimeScale { time_scale } => self.set_scale(*time_scale),
            Order::TimeSync { enabled } => {
                self.pace.sync = *enabled;
                Ok(Effect::Paced)
            }
            Order::StationSpawn { id, name, parent_body, altitude, lagrange, jumpgate } => {
                let kind = if *jumpgate { StationKind::Jumpgate } else { StationKind::Station };
                self.build(*id, kind, name, parent_body, *altitude, lagrange.as_deref())
            }
            Order::StationRemove { id } => {
                let station = self.remove_station(*id).ok_or(OrderError::Missing("station"))?;
                Ok(Effect::Unstationed(*id, station.kind))
            }
            Order::Spawn { name, ship_class, station_id } => {
                let id = command.ship_id.ok_or_else(|| invalid("ship_id", "is missing"))?;
                let owner = command.player_id.as_deref().unwrap_or("npc");
                self.spawn(id, owner, name, ship_class.as_deref(), *station_id)
            }
            _ => self.obey_pilot(command),
        }
    }

    fn obey_pilot(&mut self, command: &Command) -> Result<Effect, OrderError> {
        let id = command.ship_id.ok_or_else(|| invalid("ship_id", "is missing"))?;
        let ship = self.ships.get(&id).ok_or(OrderError::Missing("ship"))?;
        if command.player_id.as_ref().is_some_and(|player| *player != ship.player_id) {
            return Err(OrderError::NotYours);
        }
        match &command.order {
            Order::Control { thrust_level, rotation_input, translation_input } => {
                self.control(id, *thrust_level, *rotation_input, *translation_input)?;
            }
            Order::Attitude { mode, target_id, target_type } => {
                self.point(id, mode, target_id.as_deref(), target_type.as_deref())?;
            }
            Order::AttitudeHold { enabled } => {
                if let Some(hull) = self.hull_mut(id) {
                    hull.hold = *enabled;
                }
            }
            Order::Dock { station_id } => self.serve(id, &Service::Dock(*station_id))?,
            Order::Undock => self.serve(id, &Service::Undock)?,
            Order::Refuel => self.serve(id, &Service::Refuel)?,
            Order::Rename { name } => return self.rename(id, name),
            Order::Reset { ship_class } => return self.respawn(id, ship_class.as_deref()),
            Order::Despawn => {
                self.remove_ship(id);
                return Ok(Effect::Despawned(id));
            }
            _ => return Err(invalid("type", "is not an order about a ship")),
        }
        Ok(Effect::None)
    }

    fn control(
        &mut self,
        id: Uuid,
        thrust: Option<f64>,
        turn: Option<[f64; 3]>,
        shift: Option<[f64; 3]>,
    ) -> Result<(), OrderError> {
        let finite = |field, numbers: &[f64]| {
            let good = numbers.iter().all(|number| number.is_finite());
            if good { Ok(()) } else { Err(invalid(field, "must be a number")) }
        };
        finite("thrust_level", thrust.as_slice())?;
        finite("rotation_input", turn.unwrap_or_default().as_slice())?;
        finite("translation_input", shift.unwrap_or_default().as_slice())?;
        if self.ships.get(&id).is_some_and(|ship| ship.docked.is_some()) {
            return Err(OrderError::Conflict("the ship is docked; undock first"));
        }
        let Some(hull) = self.hull_mut(id) else { return Err(OrderError::Missing("ship")) };
        if let Some(thrust) = thrust {
            hull.thrust_level = thrust.clamp(0.0, 1.0);
        }
        if let Some(turn) = turn {
            hull.steer(Vec3::from_array(turn));
        }
        if let Some(shift) = shift {
            hull.translation_input = Vec3::from_array(shift).clamp(Vec3::NEG_ONE, Vec3::ONE);
        }
        Ok(())
    }

    /// Changes where the nose is kept.
    pub(crate) fn point(
        &mut self,
        id: Uuid,
        mode: &str,
        target_id: Option<&str>,
        target_type: Option<&str>,
    ) -> Result<(), OrderError> {
        let mode = Mode::read(mode).ok_or_else(|| invalid("mode", "is not a mode of attitude"))?;
        let target = match target_id {
            Some(target) => {
                let kind = TargetKind::read(target_type.unwrap_or("body")).ok_or_else(|| {
                    invalid("target_type", "is not body, ship, station or lagrange")
                })?;
                let target = Target { id: target.to_owned(), kind };
                self.mark(&target).ok_or(OrderError::Missing("target"))?;
                Some(target)
            }
            None if mode.needs_target() => return Err(invalid("target_id", "is missing")),
            None => None,
        };
        let ship = self.ships.get_mut(&id).ok_or(OrderError::Missing("ship"))?;
        if target.is_some() {
            ship.target = target;
        }
        let Some(hull) = self.hull_mut(id) else { return Err(OrderError::Missing("ship")) };
        if mode == Mode::Hold {
            hull.hold_here();
        } else {
            (hull.mode, hull.last_aim, hull.overridden) = (mode, None, false);
        }
        Ok(())
    }

    fn rename(&mut self, id: Uuid, name: &str) -> Result<Effect, OrderError> {
        let name = ship_name(name)?;
        let owner = self.ships.get(&id).map(|ship| ship.player_id.clone()).unwrap_or_default();
        let taken = self
            .ships
            .iter()
            .any(|(other, ship)| *other != id && ship.player_id == owner && ship.name == name);
        if taken {
            return Err(OrderError::Conflict("you have a ship of that name already"));
        }
        let ship = self.ships.get_mut(&id).ok_or(OrderError::Missing("ship"))?;
        name.clone_into(&mut ship.name);
        Ok(Effect::Renamed(id, name.to_owned()))
    }

    fn spawn(
        &mut self,
        id: Uuid,
        owner: &str,
        name: &str,
        class: Option<&str>,
        station: Option<Uuid>,
    ) -> Result<Effect, OrderError> {
        let name = ship_name(name)?;
        if self.ships.contains_key(&id) {
            return Err(OrderError::Conflict("this ship exists already"));
        }
        let class = ship_class(class)?;
        let placement = station.map_or_else(Placement::default, Placement::Station);
        let (k, position, velocity) = self
            .free_spawn(&placement, self.total_spawns + 1)
            .ok_or(OrderError::Missing("station"))?;
        self.total_spawns = k;
        let record = self.new_ship((owner, name), class, (position, velocity));
        self.add_ship(id, record);
        Ok(Effect::Spawned(id))
    }

    fn respawn(&mut self, id: Uuid, class: Option<&str>) -> Result<Effect, OrderError> {
        let old = self.ship_record(id).ok_or(OrderError::Missing("ship"))?;
        let class = match class {
            Some(name) => ship_class(Some(name))?,
            None => old.hull.class,
        };
        let point = self.free_spawn(&Placement::default(), self.total_spawns + 1);
        let (k, position, velocity) = point.ok_or(OrderError::Missing("body"))?;
        self.total_spawns = k;
        let record = self.new_ship((&old.player_id, &old.name), class, (position, velocity));
        self.add_ship(id, record);
        Ok(Effect::Spawned(id))
    }

    fn build(
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
        if self.stations.contains_key(&id) {
            return Err(OrderError::Conflict("this station exists already"));
        }
        let record = self
            .new_station(kind, name, parent, altitude, point)
            .ok_or_else(|| invalid("lagrange", "is not a point such as Earth-Luna-L4"))?;
        self.add_station(id, kind, record);
        Ok(Effect::Stationed(id))
    }

    fn set_scale(&mut self, scale: f64) -> Result<Effect, OrderError> {
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

fn in_range(field: &'static str, value: f64) -> Result<f64, OrderError> {
    if RANGE.contains(&value) { Ok(value) } else { Err(invalid(field, "must be from 0.1 to 100")) }
}

fn ship_class(name: Option<&str>) -> Result<&'static ShipClass, OrderError> {
    match name {
        None => Ok(ShipClass::first()),
        Some(name) => ShipClass::named(name).ok_or_else(|| invalid("ship_class", "is not a class")),
    }
}

/// A name of 1 to 32 characters, none of them a control.
pub fn ship_name(name: &str) -> Result<&str, OrderError> {
    let name = name.trim();
    let long = name.chars().count();
    if (1..=32).contains(&long) && !name.chars().any(char::is_control) {
        Ok(name)
    } else {
        Err(invalid("name", "must have 1 to 32 characters"))
    }
}
