//! Actions of rules: up to five, in their order.

use serde_json::Value;
use uuid::Uuid;

use super::{MOST_PARTS, bad, of_number};
use crate::maneuver::{Circling, Plan};
use crate::model::{Target, TargetKind, Unusable};
use crate::physics::hull::Mode;

/// Characters of an alert at most.
const LONGEST_MESSAGE: usize = 200;

/// An action of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    SetThrust(f64),
    SetAttitude { mode: Mode, target: Option<Target> },
    Alert(String),
    Dock,
    Undock,
    Maneuver(Plan),
    DisableRule(Uuid),
}

/// A field and what is wrong with it.
type Wrong = (&'static str, &'static str);

impl Action {
    /// Reads `[{"action": …}, …]`.
    pub(crate) fn read_all(value: &Value) -> Result<Vec<Action>, Unusable> {
        let list = value
            .as_array()
            .filter(|list| (1..=MOST_PARTS).contains(&list.len()))
            .ok_or_else(|| bad("actions", "must be a list of 1 to 5"))?;
        let read = |(index, action)| {
            Action::read(action)
                .map_err(|(field, reason)| bad(field, of_number("action", index, reason)))
        };
        list.iter().enumerate().map(read).collect()
    }

    fn read(value: &Value) -> Result<Action, Wrong> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        Ok(match text("action").ok_or(("actions.action", "is missing"))? {
            "set_thrust" => {
                let level = value.get("value").and_then(Value::as_f64);
                let level = level.filter(|level| (0.0..=1.0).contains(level));
                Action::SetThrust(level.ok_or(("actions.value", "must be from 0 to 1"))?)
            }
            "set_attitude" => {
                let mode = text("mode").and_then(Mode::read);
                let mode = mode.ok_or(("actions.mode", "is not a mode of attitude"))?;
                let target = read_target(value)?;
                if mode.needs_target() && target.is_none() {
                    return Err(("actions.target_id", "is missing"));
                }
                Action::SetAttitude { mode, target }
            }
            "alert" => {
                let message = text("message").map(str::trim);
                let message = message
                    .filter(|message| (1..=LONGEST_MESSAGE).contains(&message.chars().count()));
                let message =
                    message.ok_or(("actions.message", "must have 1 to 200 characters"))?;
                Action::Alert(message.to_owned())
            }
            "dock" => Action::Dock,
            "undock" => Action::Undock,
            "disable_rule" => {
                let id = text("rule_id").and_then(|id| id.parse().ok());
                Action::DisableRule(id.ok_or(("actions.rule_id", "must be the id of a rule"))?)
            }
            "circularize" | "transfer" | "station_keeping" | "plane_change" | "burn"
            | "rendezvous" => Action::Maneuver(read_plan(value)?),
            _ => return Err(("actions.action", "is not an action")),
        })
    }
}

/// The target an action names, if it names one.
fn read_target(value: &Value) -> Result<Option<Target>, Wrong> {
    let Some(id) = value.get("target_id").filter(|id| !id.is_null()) else { return Ok(None) };
    let id = id.as_str().filter(|id| (1..=64).contains(&id.len()));
    let id = id.ok_or(("actions.target_id", "must be a name or an id"))?;
    let kind = match value.get("target_type").filter(|kind| !kind.is_null()) {
        None => TargetKind::Body,
        Some(kind) => kind
            .as_str()
            .and_then(TargetKind::read)
            .ok_or(("actions.target_type", "is not body, ship, station or lagrange"))?,
    };
    Ok(Some(Target { id: id.to_owned(), kind }))
}

/// The maneuver an action asks for.
pub(crate) fn read_plan(value: &Value) -> Result<Plan, Wrong> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match text("action") {
        Some(word @ ("circularize" | "transfer" | "station_keeping")) => {
            let how = Circling::read(word).unwrap_or(Circling::Circularize);
            let target_altitude = match value.get("target_altitude").filter(|it| !it.is_null()) {
                None => None,
                Some(altitude) => Some(
                    altitude
                        .as_f64()
                        .filter(|altitude| (10_000.0..=1e12).contains(altitude))
                        .ok_or(("actions.target_altitude", "must be from 10^4 to 10^12 metres"))?,
                ),
            };
            if how == Circling::Transfer && target_altitude.is_none() {
                return Err(("actions.target_altitude", "is missing"));
            }
            Ok(Plan::Circle { how, target_altitude })
        }
        Some("plane_change") => {
            let target = read_target(value)?;
            let inclination = value.get("inclination").filter(|it| !it.is_null());
            let inclination = match inclination.map(Value::as_f64) {
                None if target.is_none() => return Err(("actions.inclination", "is missing")),
                None => None,
                Some(degrees) => Some(
                    degrees
                        .filter(|degrees| (0.0..=180.0).contains(degrees))
                        .ok_or(("actions.inclination", "must be from 0 to 180 degrees"))?,
                ),
            };
            Ok(Plan::Plane { inclination, target })
        }
        Some("burn") => {
            let direction = text("direction").and_then(Mode::read);
            let direction = direction
                .filter(|mode| !matches!(mode, Mode::None | Mode::Hold))
                .ok_or(("actions.direction", "is not a direction such as prograde"))?;
            let delta_v = value.get("delta_v").and_then(Value::as_f64);
            let delta_v = delta_v
                .filter(|delta_v| (0.01..=1e6).contains(delta_v))
                .ok_or(("actions.delta_v", "must be from 0.01 to 1000000 m/s"))?;
            let target = read_target(value)?;
            if direction.needs_target() && target.is_none() {
                return Err(("actions.target_id", "is missing"));
            }
            Ok(Plan::Burn { direction, delta_v, target })
        }
        Some("rendezvous") => {
            let target = read_target(value)?.ok_or(("actions.target_id", "is missing"))?;
            if !matches!(text("strategy"), None | Some("flip_and_burn")) {
                return Err(("actions.strategy", "must be flip_and_burn"));
            }
            let dock_on_arrival = match value.get("dock_on_arrival") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(dock)) => *dock,
                Some(_) => return Err(("actions.dock_on_arrival", "must be true or false")),
            };
            if target.kind == TargetKind::Body {
                return Err(("actions.target_type", "must be ship, station or lagrange"));
            }
            if dock_on_arrival && target.kind != TargetKind::Station {
                return Err(("actions.dock_on_arrival", "needs a station as target"));
            }
            Ok(Plan::Rendezvous { target, dock_on_arrival })
        }
        _ => Err((
            "actions.action",
            "must be circularize, transfer, station_keeping, plane_change, burn or rendezvous",
        )),
    }
}
