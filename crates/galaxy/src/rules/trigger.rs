//! Triggers: up to five conditions on the state at the start of a tick, joined by AND or OR.

use serde_json::Value;
use uuid::Uuid;

use super::{MOST_PARTS, bad, of_number};
use crate::model::Unusable;
use crate::physics::orbit::Orbit;
use crate::physics::{Craft, Hull};
use crate::world::{Ship, World};

/// When a rule acts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Trigger {
    conditions: Vec<Condition>,
    any: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Immediate,
    Number { field: Field, op: Op, value: f64 },
    Docked { same: bool, station: String },
}

#[derive(Debug, Clone, PartialEq)]
enum Field {
    Fuel,
    FuelPct,
    Thrust,
    Speed,
    Agl,
    DistanceTo(String),
    Apoapsis(Option<String>),
    Periapsis(Option<String>),
    Eccentricity,
    Inclination,
    Tick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Less,
    LessOrSame,
    More,
    MoreOrSame,
    Same,
    Other,
}

impl Op {
    fn read(word: &str) -> Option<Op> {
        Some(match word {
            "<" => Op::Less,
            "<=" => Op::LessOrSame,
            ">" => Op::More,
            ">=" => Op::MoreOrSame,
            "==" => Op::Same,
            "!=" => Op::Other,
            _ => return None,
        })
    }

    #[expect(clippy::float_cmp, reason = "whoever asks for the same number means it")]
    fn holds(self, found: f64, value: f64) -> bool {
        match self {
            Op::Less => found < value,
            Op::LessOrSame => found <= value,
            Op::More => found > value,
            Op::MoreOrSame => found >= value,
            Op::Same => found == value,
            Op::Other => found != value,
        }
    }
}

impl Trigger {
    /// Reads `{"conditions": […], "logic": …}`.
    pub(crate) fn read(value: &Value) -> Result<Trigger, Unusable> {
        let object =
            value.as_object().ok_or_else(|| bad("trigger", "must be an object with conditions"))?;
        let any = match object.get("logic").map(|logic| logic.as_str()) {
            None | Some(Some("AND")) => false,
            Some(Some("OR")) => true,
            Some(_) => return Err(bad("trigger.logic", "must be AND or OR")),
        };
        let conditions = object
            .get("conditions")
            .and_then(Value::as_array)
            .filter(|list| (1..=MOST_PARTS).contains(&list.len()))
            .ok_or_else(|| bad("trigger.conditions", "must be a list of 1 to 5"))?;
        let read = |(index, condition)| {
            Condition::read(condition)
                .map_err(|(field, reason)| bad(field, of_number("condition", index, reason)))
        };
        Ok(Trigger {
            conditions: conditions.iter().enumerate().map(read).collect::<Result<_, _>>()?,
            any,
        })
    }

    /// Whether it is met now.
    pub(crate) fn met(&self, sight: &Sight<'_>) -> bool {
        if self.any {
            self.conditions.iter().any(|condition| condition.holds(sight))
        } else {
            self.conditions.iter().all(|condition| condition.holds(sight))
        }
    }
}

type Wrong = (&'static str, &'static str);

impl Condition {
    fn read(value: &Value) -> Result<Condition, Wrong> {
        const FIELD: &str = "trigger.conditions.field";
        let word = value.get("field").and_then(Value::as_str);
        let word = word.ok_or((FIELD, "is missing"))?;
        if word == "immediate" {
            return Ok(Condition::Immediate);
        }
        let argument = match value.get("args") {
            None | Some(Value::Null) => None,
            Some(args) => {
                let args = args.as_array().ok_or(("trigger.conditions.args", "must be a list"))?;
                args.first()
                    .map(|first| {
                        let name = first.as_str().filter(|name| name.len() <= 64);
                        name.ok_or(("trigger.conditions.args", "must hold a name"))
                    })
                    .transpose()?
            }
        };
        let about = argument.map(str::to_owned);
        let field = match word {
            "ship.fuel" => Some(Field::Fuel),
            "ship.fuel_pct" => Some(Field::FuelPct),
            "ship.thrust" => Some(Field::Thrust),
            // Bodies do not turn here, so the ground has the speed of its body.
            "ship.speed" | "ship.surface_speed" => Some(Field::Speed),
            "ship.agl" => Some(Field::Agl),
            "ship.distance_to" => Some(Field::DistanceTo(
                about.ok_or(("trigger.conditions.args", "must name a body or a station"))?,
            )),
            "orbit.apoapsis" => Some(Field::Apoapsis(about)),
            "orbit.periapsis" => Some(Field::Periapsis(about)),
            "orbit.eccentricity" => Some(Field::Eccentricity),
            "orbit.inclination" => Some(Field::Inclination),
            "game.tick" => Some(Field::Tick),
            "ship.docked_station" => None,
            _ => return Err((FIELD, "is not a field of the ship, its orbit or the game")),
        };
        let op = value.get("op").and_then(Value::as_str).and_then(Op::read);
        let op = op.ok_or(("trigger.conditions.op", "must be one of < <= > >= == !="))?;
        let wanted = value.get("value").unwrap_or(&Value::Null);
        let Some(field) = field else { return Condition::docked(op, wanted) };
        let value = wanted.as_f64().filter(|value| value.is_finite());
        let value = value.ok_or(("trigger.conditions.value", "must be a number"))?;
        Ok(Condition::Number { field, op, value })
    }

    fn docked(op: Op, wanted: &Value) -> Result<Condition, Wrong> {
        let same = match op {
            Op::Same => true,
            Op::Other => false,
            _ => return Err(("trigger.conditions.op", "must be == or != for a station")),
        };
        let station = match wanted {
            Value::Null => "",
            Value::String(station) if station.len() <= 64 => station,
            _ => {
                return Err((
                    "trigger.conditions.value",
                    "must be the name or id of a station, or empty for none",
                ));
            }
        };
        Ok(Condition::Docked { same, station: station.to_owned() })
    }

    fn holds(&self, sight: &Sight<'_>) -> bool {
        match self {
            Condition::Immediate => true,
            Condition::Number { field, op, value } => {
                sight.number(field).is_some_and(|found| op.holds(found, *value))
            }
            Condition::Docked { same, station } => sight.docked_at(station) == *same,
        }
    }
}

/// A ship as its rules see it: at the start of the tick.
pub(crate) struct Sight<'a> {
    world: &'a World,
    ship: &'a Ship,
    craft: Craft,
    hull: &'a Hull,
}

impl<'a> Sight<'a> {
    /// `None` for a ship that is not in the fleet.
    pub(crate) fn of(world: &'a World, ship: &'a Ship) -> Option<Self> {
        let craft = world.fleet.craft(ship.craft)?;
        Some(Sight { world, ship, craft, hull: world.fleet.hull(ship.craft)? })
    }

    /// The number of a field; `None` when there is none now.
    fn number(&self, field: &Field) -> Option<f64> {
        let (hull, r, v) = (self.hull, self.craft.r, self.craft.v);
        let fuel = || if hull.fuel_capacity > 0.0 { hull.fuel / hull.fuel_capacity } else { 0.0 };
        Some(match field {
            Field::Fuel => fuel(),
            Field::FuelPct => fuel() * 100.0,
            Field::Thrust => hull.thrust_level,
            Field::Speed => v.length(),
            Field::Agl => r.length() - self.world.system.body(self.craft.reference).radius,
            Field::DistanceTo(name) => self.distance_to(name)?,
            Field::Apoapsis(about) => {
                let (orbit, radius) = self.orbit(about.as_deref())?;
                orbit.apoapsis? - radius
            }
            Field::Periapsis(about) => {
                let (orbit, radius) = self.orbit(about.as_deref())?;
                orbit.periapsis - radius
            }
            Field::Eccentricity => self.orbit(None)?.0.eccentricity,
            Field::Inclination => self.orbit(None)?.0.inclination.to_degrees(),
            #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are far away")]
            Field::Tick => self.world.tick as f64,
        })
    }

    /// The orbit about a body, or about the reference body, and that body's radius.
    fn orbit(&self, about: Option<&str>) -> Option<(Orbit, f64)> {
        let body = match about {
            Some(name) => self.world.system.find(name)?,
            None => self.craft.reference,
        };
        let seen = self.craft.relative_to(body, self.world.bodies.now());
        let body = self.world.system.body(body);
        Some((Orbit::of(body.gm, seen.r, seen.v), body.radius))
    }

    fn distance_to(&self, name: &str) -> Option<f64> {
        let now = self.world.bodies.now();
        if let Some(body) = self.world.system.find(name) {
            return Some(self.craft.relative_to(body, now).r.length());
        }
        let station = self.world.stations.get(&self.world.station_named(name)?)?;
        let at = self.world.fleet.craft(station.craft)?;
        Some((at.relative_to(self.craft.reference, now).r - self.craft.r).length())
    }

    /// Whether it is docked at the station of that name or id; the empty name is no station.
    fn docked_at(&self, name: &str) -> bool {
        let Some(station) = self.ship.docked else { return name.is_empty() };
        name.parse::<Uuid>().is_ok_and(|id| id == station)
            || self.world.stations.get(&station).is_some_and(|at| at.record.name == name)
    }
}
