//! Orders of pilots, admins and other servers to the engine, and how the world obeys.
//!
//! An order given on the engine's own server is handed over directly; any other comes through
//! `galaxy:commands`. Both have the same shape. Inputs are clamped; an order that makes no sense is
//! refused and changes nothing.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::engine::pace::RANGE;
use crate::error::OrderError;
use crate::model::StationKind;
use crate::physics::ShipClass;
use crate::rules::RuleDraft;
use crate::store::load::Epoch;
use crate::world::{Cleared, Service, World};

mod automate;
mod found;
mod pilot;

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
    /// Makes a rule of the ship.
    RuleCreate {
        rule_id: Uuid,
        rule: RuleDraft,
    },
    /// Puts another rule in the place of one.
    RuleReplace {
        rule_id: Uuid,
        rule: RuleDraft,
    },
    RuleRemove {
        rule_id: Uuid,
    },
    /// Begins a maneuver, in the words of an action: `{"action": "burn", "direction": …}`.
    Maneuver {
        maneuver: serde_json::Value,
    },
    /// Ends the maneuver and switches the engine off.
    Abort,
    /// Through a jump gate; none leads anywhere yet.
    Jump {
        jumpgate_id: Uuid,
    },
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
    JumpgateRemove {
        id: Uuid,
    },
    /// The world anew: paused, without craft, bodies where they are at its start. Accounts and ticks stay.
    ResetWorld {
        #[serde(default)]
        epoch: Epoch,
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
    /// Keeps the world as it is now.
    Snapshot,
    /// Goes back to a snapshot and pauses.
    Restore {
        id: i64,
    },
}

/// An order with its giver and its ship.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Unix milliseconds at which it was given.
    pub at_ms: u64,
    /// The player; `None` for an operator.
    pub player_id: Option<String>,
    /// The ship it is about, if it is about one.
    pub ship_id: Option<Uuid>,
    /// The order.
    pub order: Order,
}

/// The writes of an order beyond those of the tick.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing: the next tick writes it.
    None,
    /// A ship was made (or made anew): its whole hash, its index entry, its event.
    Spawned(Uuid),
    /// A ship is gone, and its rules with it.
    Despawned {
        /// The ship.
        ship: Uuid,
        /// The ship's rules.
        rules: Vec<Uuid>,
    },
    /// A rule was made or replaced: ship and rule.
    Ruled(Uuid, Uuid),
    /// A rule is gone: ship and rule.
    Unruled(Uuid, Uuid),
    /// A ship has a new name.
    Renamed(Uuid, String),
    /// A station or gate was made.
    Stationed(Uuid),
    /// A station or gate is gone.
    Unstationed(Uuid, StationKind),
    /// Pause, rate, scale or sync changed.
    Paced,
    /// The world begins anew; what was in it.
    Cleared(Box<Cleared>),
    /// A snapshot of this number was taken.
    Kept(i64),
    /// The world is as it was in this snapshot.
    Restored(i64),
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
            Order::StationRemove { id } => self.tear_down(*id, StationKind::Station),
            Order::JumpgateRemove { id } => self.tear_down(*id, StationKind::Jumpgate),
            Order::ResetWorld { epoch } => {
                let (bodies, time_ns) = epoch.start(self.system, command.at_ms);
                Ok(Effect::Cleared(Box::new(self.begin_anew(bodies, time_ns))))
            }
            Order::Spawn { name, ship_class, station_id } => {
                let id = command.ship_id.ok_or_else(|| invalid("ship_id", "is missing"))?;
                let owner = command.player_id.as_deref().unwrap_or("npc");
                self.spawn(id, owner, name, ship_class.as_deref(), *station_id)
            }
            Order::Snapshot | Order::Restore { .. } => {
                Err(OrderError::Conflict("this server has no database of snapshots"))
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
                let moves = |input: &Option<[f64; 3]>| {
                    input.is_some_and(|input| input.iter().any(|part| part.abs() > 0.0))
                };
                if thrust_level.is_some() || moves(rotation_input) || moves(translation_input) {
                    self.let_go(id, *thrust_level);
                }
            }
            Order::Attitude { mode, target_id, target_type } => {
                self.point(id, mode, target_id.as_deref(), target_type.as_deref())?;
                self.let_go(id, None);
            }
            Order::AttitudeHold { enabled } => {
                if let Some(hull) = self.hull_mut(id) {
                    hull.hold = *enabled;
                }
            }
            Order::Dock { station_id } => {
                self.serve(id, &Service::Dock(*station_id))?;
                self.note_moved(id);
            }
            Order::Undock => {
                self.serve(id, &Service::Undock)?;
                self.note_moved(id);
            }
            Order::Refuel => self.serve(id, &Service::Refuel)?,
            Order::Rename { name } => return self.rename(id, name),
            Order::Reset { ship_class } => return self.respawn(id, ship_class.as_deref()),
            Order::Despawn => {
                let ship = self.remove_ship(id).ok_or(OrderError::Missing("ship"))?;
                let rules = ship.rules.iter().map(|rule| rule.id).collect();
                return Ok(Effect::Despawned { ship: id, rules });
            }
            Order::RuleCreate { rule_id, rule } => {
                return self.make_rule(id, *rule_id, rule, command.at_ms);
            }
            Order::RuleReplace { rule_id, rule } => return self.replace_rule(id, *rule_id, rule),
            Order::RuleRemove { rule_id } => return self.remove_rule(id, *rule_id),
            Order::Maneuver { maneuver } => self.begin_asked(id, maneuver)?,
            Order::Abort => self.abort(id)?,
            Order::Jump { jumpgate_id } => return self.jump(*jumpgate_id),
            _ => return Err(invalid("type", "is not an order about a ship")),
        }
        Ok(Effect::None)
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
pub(crate) fn ship_name(name: &str) -> Result<&str, OrderError> {
    let name = name.trim();
    let long = name.chars().count();
    if (1..=32).contains(&long) && !name.chars().any(char::is_control) {
        Ok(name)
    } else {
        Err(invalid("name", "must have 1 to 32 characters"))
    }
}
