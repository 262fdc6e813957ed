//! Ships, bodies and stations as clients see them, on HTTP and on sockets alike: vectors are `{x, y, z}`, rotations
//! `{w, x, y, z}`, metres, m/s and kg.

use galaxy::physics::solar::{Body, SOL};
use galaxy::physics::{Quat, Vec3};
use galaxy::{ShipView, StationView, WorldView};
use serde::Serialize;
use uuid::Uuid;

/// A place, a velocity, a turn.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub(crate) struct Vector {
    x: f64,
    y: f64,
    z: f64,
}

impl From<Vec3> for Vector {
    fn from(v: Vec3) -> Self {
        // Adding zero turns -0.0 into 0.0.
        Vector { x: v.x + 0.0, y: v.y + 0.0, z: v.z + 0.0 }
    }
}

/// From body axes to inertial ones.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub(crate) struct Rotation {
    w: f64,
    x: f64,
    y: f64,
    z: f64,
}

impl From<Quat> for Rotation {
    fn from(q: Quat) -> Self {
        Rotation { w: q.w + 0.0, x: q.x + 0.0, y: q.y + 0.0, z: q.z + 0.0 }
    }
}

/// A ship as everybody sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ShipLine<'a> {
    #[schema(value_type = String)]
    ship_id: Uuid,
    name: &'a str,
    ship_class: &'a str,
    position: Vector,
    velocity: Vector,
    attitude: Rotation,
    thrust_level: f64,
}

impl<'a> From<&'a ShipView> for ShipLine<'a> {
    fn from(ship: &'a ShipView) -> Self {
        ShipLine {
            ship_id: ship.id,
            name: &ship.name,
            ship_class: ship.hull.class.name,
            position: ship.position.into(),
            velocity: ship.velocity.into(),
            attitude: ship.hull.attitude.into(),
            thrust_level: ship.hull.thrust_level,
        }
    }
}

/// A ship with all there is to know.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ShipFull<'a> {
    #[serde(flatten)]
    line: ShipLine<'a>,
    player_id: &'a str,
    system_id: &'a str,
    /// The body whose pull rules it.
    reference_body: &'a str,
    angular_velocity: Vector,
    rotation_input: Vector,
    translation_input: Vector,
    attitude_hold: bool,
    attitude_mode: &'a str,
    attitude_target_id: Option<&'a str>,
    attitude_target_type: Option<&'a str>,
    fuel: f64,
    fuel_capacity: f64,
    dry_mass: f64,
    wheel_momentum: Vector,
    rcs_firing: u32,
    #[schema(value_type = Option<String>)]
    docked_station_id: Option<Uuid>,
    docked_at_tick: u64,
    landed_body_name: Option<&'a str>,
    is_npc: bool,
}

impl<'a> From<&'a ShipView> for ShipFull<'a> {
    fn from(ship: &'a ShipView) -> Self {
        let hull = &ship.hull;
        ShipFull {
            line: ship.into(),
            player_id: &ship.player_id,
            system_id: SOL.id,
            reference_body: SOL.body(ship.reference).name,
            angular_velocity: hull.omega.into(),
            rotation_input: hull.rotation_input.into(),
            translation_input: hull.translation_input.into(),
            attitude_hold: hull.hold,
            attitude_mode: hull.mode.word(),
            attitude_target_id: ship.target.as_ref().map(|target| target.id.as_str()),
            attitude_target_type: ship.target.as_ref().map(|target| target.kind.word()),
            fuel: hull.fuel,
            fuel_capacity: hull.fuel_capacity,
            dry_mass: hull.dry_mass,
            wheel_momentum: hull.wheel.into(),
            rcs_firing: hull.rcs_firing,
            docked_station_id: ship.docked,
            docked_at_tick: ship.docked_at_tick,
            landed_body_name: ship.landed.map(|body| SOL.body(body).name),
            is_npc: ship.player_id == "npc",
        }
    }
}

/// A body's motion.
#[derive(Debug, Serialize)]
pub(crate) struct BodyLine<'a> {
    name: &'a str,
    position: Vector,
    velocity: Vector,
}

/// The constants of a body.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BodyFacts {
    name: &'static str,
    /// `star`, `planet` or `moon`.
    #[serde(rename = "type")]
    kind: &'static str,
    parent: Option<&'static str>,
    mass: f64,
    gm: f64,
    radius: f64,
    /// Within it, this body's pull rules; `null` for the star.
    hill_radius: Option<f64>,
    color: &'static str,
    system_id: &'static str,
}

impl From<&'static Body> for BodyFacts {
    fn from(body: &'static Body) -> Self {
        let kind = match body.parent {
            None => "star",
            Some(parent) if parent == SOL.star() => "planet",
            Some(_) => "moon",
        };
        BodyFacts {
            name: body.name,
            kind,
            parent: body.parent.map(|parent| SOL.body(parent).name),
            mass: body.mass(),
            gm: body.gm,
            radius: body.radius,
            hill_radius: Some(body.hill).filter(|hill| hill.is_finite()),
            color: body.colour,
            system_id: SOL.id,
        }
    }
}

/// A body with its motion.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BodyFull {
    #[serde(flatten)]
    facts: BodyFacts,
    position: Vector,
    velocity: Vector,
}

/// All bodies, for sockets.
pub(crate) fn body_lines(seen: &WorldView) -> impl Iterator<Item = BodyLine<'static>> {
    SOL.bodies().iter().zip(&seen.bodies).map(|(body, (position, velocity))| BodyLine {
        name: body.name,
        position: (*position).into(),
        velocity: (*velocity).into(),
    })
}

/// The constants of them.
pub(crate) fn body_facts() -> Vec<BodyFacts> {
    SOL.bodies().iter().map(BodyFacts::from).collect()
}

/// All bodies, for lists.
pub(crate) fn bodies(seen: &WorldView) -> Vec<BodyFull> {
    let all = SOL.bodies().iter().zip(&seen.bodies);
    all.map(|(body, (position, velocity))| BodyFull {
        facts: body.into(),
        position: (*position).into(),
        velocity: (*velocity).into(),
    })
    .collect()
}

/// A station or a gate.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct StationLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    station_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    jumpgate_id: Option<Uuid>,
    name: &'a str,
    parent_body: &'a str,
    system_id: &'a str,
    position: Vector,
    velocity: Vector,
    mass: f64,
    radius: f64,
}

impl<'a> From<&'a StationView> for StationLine<'a> {
    fn from(station: &'a StationView) -> Self {
        use galaxy::StationKind::{Jumpgate, Station};
        let StationView { id, kind, record } = station;
        StationLine {
            station_id: (*kind == Station).then_some(*id),
            jumpgate_id: (*kind == Jumpgate).then_some(*id),
            name: &record.name,
            parent_body: &record.parent_body,
            system_id: &record.system_id,
            position: record.position.into(),
            velocity: record.velocity.into(),
            mass: record.mass,
            radius: record.radius,
        }
    }
}
