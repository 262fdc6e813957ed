//! Maneuvers that a ship flies by itself, as `maneuver:{ship}` holds them.
//!
//! Always true: a ship flies at most one; it only sets controls; whatever ends it leaves the engine
//! off. The hash of a maneuver says how far it is and stays for a minute after the end.

use uuid::Uuid;

use crate::model::text::{self, words};
use crate::model::{Fields, Target, TargetKind, Unusable, Written};
use crate::physics::hull::Mode;
use crate::rules::bad;

mod course;
mod fly;
mod guide;
mod orbits;

use course::Goal;

words! {
    /// The kinds of work on a circle.
    pub enum Circling {
        /// Flown to, at an altitude or where the ship is.
        Circularize = "circularize",
        /// Flown to at an altitude: Hohmann's transfer, from a circle.
        Transfer = "transfer",
        /// Flown to, and kept until somebody ends it.
        StationKeeping = "station_keeping",
    }
}

/// The plan of a maneuver.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// A circle about the reference body.
    Circle {
        /// The kind of work.
        how: Circling,
        /// Above the mean radius, m; of where the ship is, when it begins without.
        target_altitude: Option<f64>,
    },
    /// Another plane about the reference body: that of a target, or of an inclination with the same line of nodes.
    Plane {
        /// Against the ecliptic, degrees.
        inclination: Option<f64>,
        /// A ship, a station or a body that goes round the same body.
        target: Option<Target>,
    },
    /// A change of speed in one direction.
    Burn {
        /// The direction in which the nose points.
        direction: Mode,
        /// m/s.
        delta_v: f64,
        /// The target that the target directions look at.
        target: Option<Target>,
    },
    /// To within docking limits of a target, straight: accelerate, turn, brake.
    Rendezvous {
        /// A ship, a station or a point of Lagrange.
        target: Target,
        /// Whether it docks there.
        dock_on_arrival: bool,
    },
}

impl Plan {
    /// The word of the field `type`.
    pub fn word(&self) -> &'static str {
        match self {
            Plan::Circle { how, .. } => how.word(),
            Plan::Plane { .. } => "plane_change",
            Plan::Burn { .. } => "burn",
            Plan::Rendezvous { .. } => "rendezvous",
        }
    }
}

words! {
    /// How a maneuver stands.
    pub enum ManeuverStatus {
        Active = "active",
        Done = "done",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

words! {
    /// The phase of a maneuver.
    pub enum Phase {
        Align = "align",
        Burn = "burn",
        /// Towards an orbit that touches the wanted circle.
        Transfer = "transfer",
        Coast = "coast",
        /// Onto the circle.
        Circle = "circle",
        Accelerate = "accelerate",
        Brake = "brake",
        Ended = "ended",
    }
}

words! {
    /// How a burn of a plan stands.
    pub enum BurnState {
        Planned = "planned",
        Burning = "burning",
        Done = "done",
    }
}

/// A burn of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedBurn {
    /// The burn's middle in game time, Unix nanoseconds.
    pub at_ns: i128,
    /// As planned, m/s.
    pub delta_v: f64,
    /// How it stands.
    pub state: BurnState,
    /// The goal; without it, the burn is planned anew when its turn comes.
    pub(crate) goal: Option<Goal>,
}

/// A ship's maneuver.
#[derive(Debug, Clone, PartialEq)]
pub struct Maneuver {
    /// The plan.
    pub plan: Plan,
    /// The phase.
    pub phase: Phase,
    /// The status.
    pub status: ManeuverStatus,
    /// The body a circle is about.
    pub body: Option<usize>,
    /// Speed won by the main engine for it, m/s.
    pub delta_v_done: f64,
    /// The tick it began after.
    pub started_tick: u64,
    /// The last tick that changed it.
    pub updated_tick: u64,
    /// The rule that began it.
    pub rule_id: Option<Uuid>,
    /// The reason of a failure.
    pub error: String,
    /// The burns that were flown, and those that are planned.
    pub burns: Vec<PlannedBurn>,
    /// Burns begun since the orbit was last as wanted: a plan that never arrives is given up.
    pub(crate) rounds: u8,
}

impl Maneuver {
    pub(crate) fn new(plan: Plan, phase: Phase, tick: u64, rule_id: Option<Uuid>) -> Self {
        Maneuver {
            plan,
            phase,
            status: ManeuverStatus::Active,
            body: None,
            delta_v_done: 0.0,
            started_tick: tick,
            updated_tick: tick,
            rule_id,
            error: String::new(),
            burns: Vec::new(),
            rounds: 0,
        }
    }

    /// Whether it still flies.
    pub fn active(&self) -> bool {
        self.status == ManeuverStatus::Active
    }

    pub(crate) fn end(&mut self, status: ManeuverStatus, error: &str, tick: u64) {
        (self.status, self.phase, self.updated_tick) = (status, Phase::Ended, tick);
        error.clone_into(&mut self.error);
    }

    /// All fields of its hash; those that do not apply are empty.
    pub fn write(&self, body_name: impl Fn(usize) -> &'static str) -> Written {
        let (mut target, mut altitude, mut direction, mut delta_v) = (None, None, "", None);
        let mut dock = false;
        match &self.plan {
            Plan::Circle { target_altitude, .. } => {
                altitude = *target_altitude;
                target = self
                    .body
                    .map(|body| Target { id: body_name(body).to_owned(), kind: TargetKind::Body });
            }
            Plan::Plane { target: at, .. } => target.clone_from(at),
            Plan::Burn { direction: mode, delta_v: wanted, target: at } => {
                (direction, delta_v) = (mode.word(), Some(*wanted));
                target.clone_from(at);
            }
            Plan::Rendezvous { target: at, dock_on_arrival } => {
                (target, dock) = (Some(at.clone()), *dock_on_arrival);
            }
        }
        let number = |value: Option<f64>| value.map(text::float).unwrap_or_default();
        let mut out = vec![
            ("type", self.plan.word().to_owned()),
            ("phase", self.phase.word().to_owned()),
            ("status", self.status.word().to_owned()),
            ("target_id", target.as_ref().map(|at| at.id.clone()).unwrap_or_default()),
            ("target_type", target.map(|at| at.kind.word().to_owned()).unwrap_or_default()),
            ("target_altitude", number(altitude)),
            ("direction", direction.to_owned()),
            ("delta_v", number(delta_v)),
            ("delta_v_done", text::float(self.delta_v_done)),
            ("started_tick", self.started_tick.to_string()),
            ("updated_tick", self.updated_tick.to_string()),
            ("rule_id", self.rule_id.map(|id| id.to_string()).unwrap_or_default()),
            ("error", self.error.clone()),
        ];
        match &self.plan {
            Plan::Rendezvous { .. } => {
                out.push(("dock_on_arrival", text::flag(dock).to_owned()));
            }
            Plan::Plane { inclination, .. } => out.push(("inclination", number(*inclination))),
            _ => {}
        }
        if !matches!(self.plan, Plan::Burn { .. }) {
            out.push(("burns", self.spell_burns()));
        }
        out
    }

    /// `[{"at": …, "delta_v": …, "state": …}, …]`.
    fn spell_burns(&self) -> String {
        let spell = |burn: &PlannedBurn| {
            let at = text::time(burn.at_ns);
            serde_json::json!({ "at": at, "delta_v": burn.delta_v, "state": burn.state.word() })
        };
        serde_json::Value::from(self.burns.iter().map(spell).collect::<Vec<_>>()).to_string()
    }

    /// Burns that are over; what was planned when the engine ended is planned anew.
    fn read_burns(stored: &str) -> Vec<PlannedBurn> {
        let list: Vec<serde_json::Value> = serde_json::from_str(stored).unwrap_or_default();
        let read = |burn: &serde_json::Value| {
            Some(PlannedBurn {
                at_ns: text::read_time(burn["at"].as_str()?)?,
                delta_v: burn["delta_v"].as_f64()?,
                state: BurnState::read(burn["state"].as_str()?)?,
                goal: None,
            })
        };
        let done = |burn: &PlannedBurn| burn.state == BurnState::Done;
        list.iter().filter_map(read).filter(done).collect()
    }

    /// Reads a hash; what cannot be flown on says which field is to blame.
    pub fn read(
        fields: &Fields,
        body: impl Fn(&str) -> Option<usize>,
    ) -> Result<Maneuver, Unusable> {
        let word = |field: &str| fields.get(field).map(String::as_str).filter(|w| !w.is_empty());
        let number = |field: &'static str| match word(field) {
            None => Ok(None),
            Some(text) => {
                text::read_float(text).map(Some).ok_or_else(|| bad(field, "it is not a number"))
            }
        };
        let tick = |field: &'static str| {
            let text = word(field).unwrap_or("0");
            text.parse::<u64>().map_err(|_| bad(field, "it is not a tick"))
        };
        let target = word("target_id").map(|id| Target {
            id: id.to_owned(),
            kind: word("target_type").and_then(TargetKind::read).unwrap_or(TargetKind::Body),
        });
        let about = target.as_ref().and_then(|target| body(&target.id));
        let plan = match word("type") {
            Some("plane_change") => Plan::Plane { inclination: number("inclination")?, target },
            Some("burn") => Plan::Burn {
                direction: word("direction")
                    .and_then(Mode::read)
                    .ok_or_else(|| bad("direction", "it is not a direction"))?,
                delta_v: number("delta_v")?.ok_or_else(|| bad("delta_v", "it is missing"))?,
                target,
            },
            Some("rendezvous") => Plan::Rendezvous {
                target: target.ok_or_else(|| bad("target_id", "it is missing"))?,
                dock_on_arrival: word("dock_on_arrival") == Some("true"),
            },
            Some(word) => Plan::Circle {
                how: Circling::read(word).ok_or_else(|| bad("type", "it is not a maneuver"))?,
                target_altitude: number("target_altitude")?,
            },
            None => return Err(bad("type", "it is not a maneuver")),
        };
        let status = word("status").and_then(ManeuverStatus::read);
        let phase = word("phase").and_then(Phase::read);
        let mut read = Maneuver::new(plan, Phase::Align, tick("started_tick")?, None);
        read.status = status.ok_or_else(|| bad("status", "it is not a status"))?;
        read.phase = phase.ok_or_else(|| bad("phase", "it is not a phase"))?;
        read.updated_tick = tick("updated_tick")?;
        read.delta_v_done = number("delta_v_done")?.unwrap_or(0.0);
        read.rule_id = word("rule_id").and_then(|id| id.parse().ok());
        word("error").unwrap_or_default().clone_into(&mut read.error);
        read.body = matches!(read.plan, Plan::Circle { .. }).then_some(about).flatten();
        read.burns = word("burns").map(Maneuver::read_burns).unwrap_or_default();
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maneuver_that_is_written_reads_back_the_same() {
        let target = Target { id: "Earth-Luna-L4".into(), kind: TargetKind::Lagrange };
        for plan in [
            Plan::Circle { how: Circling::Circularize, target_altitude: Some(5e5) },
            Plan::Circle { how: Circling::StationKeeping, target_altitude: Some(5e5) },
            Plan::Plane { inclination: Some(28.5), target: None },
            Plan::Burn { direction: Mode::Prograde, delta_v: 12.5, target: None },
            Plan::Burn { direction: Mode::Target, delta_v: 1.0, target: Some(target.clone()) },
            Plan::Rendezvous { target, dock_on_arrival: false },
        ] {
            let mut maneuver = Maneuver::new(plan, Phase::Align, 7, Some(Uuid::from_u128(3)));
            maneuver.delta_v_done = 0.125;
            if matches!(maneuver.plan, Plan::Circle { .. }) {
                maneuver.body = Some(3);
                let (at_ns, state) = (1_800_000_000_500_000_000, BurnState::Done);
                maneuver.burns = vec![PlannedBurn { at_ns, delta_v: 12.25, state, goal: None }];
            }
            let stored: Fields = maneuver
                .write(|_| "Earth")
                .into_iter()
                .map(|(field, value)| (field.to_owned(), value))
                .collect();
            assert_eq!(stored["status"], "active");
            let read = Maneuver::read(&stored, |name| (name == "Earth").then_some(3));
            assert_eq!(read.unwrap(), maneuver);
        }
    }

    #[test]
    fn a_hash_that_is_no_maneuver_names_its_field() {
        let read = |pairs: &[(&str, &str)]| {
            let fields = pairs.iter().map(|(f, v)| ((*f).to_owned(), (*v).to_owned())).collect();
            Maneuver::read(&fields, |_| None).unwrap_err().field
        };
        assert_eq!(read(&[]), "type");
        assert_eq!(read(&[("type", "burn"), ("direction", "up")]), "direction");
        assert_eq!(read(&[("type", "burn"), ("direction", "radial")]), "delta_v");
        assert_eq!(read(&[("type", "circularize"), ("target_altitude", "NaN")]), "target_altitude");
        assert_eq!(read(&[("type", "circularize"), ("status", "lost")]), "status");
    }
}
