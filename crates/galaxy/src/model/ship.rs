//! A ship's hash.

use uuid::Uuid;

use super::{Controls, Fields, HOME_SYSTEM, Unusable, Written, optional, required, unusable};
use crate::model::text::{self, words};
use crate::physics::hull::Mode;
use crate::physics::{Hull, Quat, ShipClass, Vec3};

/// The target that a ship looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Body name, ship id, station id or Lagrange key.
    pub id: String,
    /// The kind of thing that the id names.
    pub kind: TargetKind,
}

words! {
    /// The kind of a target.
    pub enum TargetKind {
        Body = "body",
        Ship = "ship",
        Station = "station",
        Lagrange = "lagrange",
    }
}

/// A ship's hash.
#[derive(Debug, Clone, PartialEq)]
pub struct ShipRecord {
    /// Owner, or `npc`.
    pub player_id: String,
    /// Shown to people.
    pub name: String,
    /// Which system it is in.
    pub system_id: String,
    /// Metres from the barycentre.
    pub position: Vec3,
    /// m/s.
    pub velocity: Vec3,
    /// Controls, attitude, fuel.
    pub hull: Hull,
    /// The target that the target modes look at.
    pub target: Option<Target>,
    /// The station at which the ship is docked.
    pub docked: Option<Uuid>,
    /// The tick since which it is docked.
    pub docked_at_tick: u64,
    /// The body on which the ship stands.
    pub landed: Option<String>,
    /// Whether nobody flies it.
    pub is_npc: bool,
}

impl ShipRecord {
    /// A new ship, as it is spawned.
    pub fn new(player_id: &str, name: &str, class: &'static ShipClass) -> Self {
        ShipRecord {
            player_id: player_id.to_owned(),
            name: name.to_owned(),
            system_id: HOME_SYSTEM.to_owned(),
            position: Vec3::ZERO,
            velocity: Vec3::ZERO,
            hull: Hull::new(class),
            target: None,
            docked: None,
            docked_at_tick: 0,
            landed: None,
            is_npc: player_id == "npc",
        }
    }

    /// Reads a hash. A class nobody knows is the first one.
    pub fn read(fields: &Fields) -> Result<Self, Unusable> {
        let text =
            |field: &str| fields.get(field).map(String::as_str).filter(|text| !text.is_empty());
        let player_id = text("player_id").ok_or_else(|| unusable("player_id", "it is missing"))?;
        let class = text("ship_class").and_then(ShipClass::named).unwrap_or(ShipClass::first());
        let mut ship = ShipRecord::new(player_id, text("name").unwrap_or_default(), class);
        ship.position = required(fields, "position")?;
        ship.velocity = required(fields, "velocity")?;
        ship.hull = read_hull(fields, class)?;
        text("system_id").unwrap_or(HOME_SYSTEM).clone_into(&mut ship.system_id);
        ship.target = text("attitude_target_id").map(|id| Target {
            id: id.to_owned(),
            kind: text("attitude_target_type")
                .and_then(TargetKind::read)
                .unwrap_or(TargetKind::Body),
        });
        ship.docked = text("docked_station_id").and_then(|id| id.parse().ok());
        ship.docked_at_tick =
            text("docked_at_tick").and_then(|tick| tick.parse().ok()).unwrap_or(0);
        ship.landed = text("landed_body_name").map(str::to_owned);
        ship.is_npc = text("is_npc").map_or(player_id == "npc", |word| word == "true");
        Ok(ship)
    }

    /// All fields of a new ship, in the order of the seed.
    pub fn write(&self) -> Written {
        let hull = &self.hull;
        let mut out = vec![
            ("player_id", self.player_id.clone()),
            ("name", self.name.clone()),
            ("ship_class", hull.class.name.to_owned()),
            ("position", text::vector(self.position)),
            ("velocity", text::vector(self.velocity)),
            ("attitude", text::quaternion(hull.attitude)),
            ("angular_velocity", text::vector(hull.omega)),
        ];
        out.extend(Controls::of(hull, self.target.as_ref()).write());
        out.extend([
            ("fuel", text::float(hull.fuel)),
            ("fuel_capacity", text::float(hull.fuel_capacity)),
            ("dry_mass", text::float(hull.dry_mass)),
            ("wheel_momentum", text::vector(hull.wheel)),
            ("system_id", self.system_id.clone()),
        ]);
        if self.is_npc {
            out.push(("is_npc", "true".to_owned()));
        }
        out
    }
}

fn read_hull(fields: &Fields, class: &'static ShipClass) -> Result<Hull, Unusable> {
    let mut hull = Hull::new(class);
    let not_negative = |text: &str| text::read_float(text).filter(|value| *value >= 0.0);
    let input =
        |text: &str| text::read_vector(text).map(|input| input.clamp(Vec3::NEG_ONE, Vec3::ONE));
    hull.dry_mass = optional(
        fields,
        "dry_mass",
        |text| text::read_float(text).filter(|mass| *mass > 0.0),
        class.dry_mass,
    )?;
    hull.fuel_capacity = optional(fields, "fuel_capacity", not_negative, class.fuel_capacity)?;
    hull.fuel = optional(fields, "fuel", not_negative, class.fuel_capacity)?;
    hull.attitude = optional(fields, "attitude", text::read_quaternion, Quat::IDENTITY)?;
    hull.omega = optional(fields, "angular_velocity", text::read_vector, Vec3::ZERO)?;
    hull.wheel = optional(fields, "wheel_momentum", text::read_vector, Vec3::ZERO)?;
    hull.rotation_input = optional(fields, "rotation_input", input, Vec3::ZERO)?;
    hull.translation_input = optional(fields, "translation_input", input, Vec3::ZERO)?;
    hull.thrust_level = optional(fields, "thrust_level", text::read_float, 0.0)?.clamp(0.0, 1.0);
    hull.hold = optional(fields, "attitude_hold", text::read_flag, false)?;
    hull.mode = optional(fields, "attitude_mode", Mode::read, Mode::None)?;
    hull.held = read_held(fields);
    Ok(hull)
}

fn read_held(fields: &Fields) -> Option<Quat> {
    let part = |field: &str| text::read_float(fields.get(field)?);
    text::unit(
        part("attitude_target_w")?,
        part("attitude_target_x")?,
        part("attitude_target_y")?,
        part("attitude_target_z")?,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        pairs.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
    }

    /// The example of the seed: nine fields, short spellings, more fuel than the class holds.
    fn example() -> Fields {
        fields(&[
            ("player_id", "660e8400-e29b-41d4-a716-446655440001"),
            ("name", "PlayerOne"),
            ("ship_class", "fast_frigate"),
            ("position", "[1.5e11, 0, 0]"),
            ("velocity", "[0, 29780, 0]"),
            ("attitude", "[1, 0, 0, 0]"),
            ("angular_velocity", "[0, 0, 0]"),
            ("rotation_input", "[0, 0, 0]"),
            ("thrust_level", "0.0"),
            ("attitude_hold", "false"),
            ("fuel", "30000"),
            ("wheel_momentum", "[0, 0, 0]"),
        ])
    }

    #[test]
    fn the_seeds_example_loads_with_defaults() {
        let ship = ShipRecord::read(&example()).unwrap();
        assert_eq!(ship.position, Vec3::new(1.5e11, 0.0, 0.0));
        assert_eq!((ship.hull.fuel, ship.hull.fuel_capacity), (30_000.0, 15_000.0));
        assert_eq!((ship.hull.mode, ship.system_id.as_str()), (Mode::None, "sol"));
    }

    #[test]
    fn a_ship_that_is_written_reads_back_the_same() {
        let mut ship = ShipRecord::read(&example()).unwrap();
        ship.hull.thrust_level = 0.25;
        ship.hull.mode = Mode::Target;
        ship.target = Some(Target { id: "Luna".into(), kind: TargetKind::Body });
        let stored: Fields =
            ship.write().into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
        assert_eq!(ShipRecord::read(&stored).unwrap(), ship);
        assert_eq!(stored["position"], "[150000000000.0, 0.0, 0.0]");
        assert_eq!(stored["attitude_mode"], "target");
    }

    #[test]
    fn what_cannot_be_used_names_its_field() {
        for (field, value) in [
            ("position", "[1, 2]"),
            ("velocity", "fast"),
            ("fuel", "-1"),
            ("attitude", "[0, 0, 0, 0]"),
            ("dry_mass", "0"),
            ("attitude_mode", "sideways"),
        ] {
            let mut stored = example();
            stored.insert(field.to_owned(), value.to_owned());
            assert_eq!(ShipRecord::read(&stored).unwrap_err().field, field);
        }
        let mut stored = example();
        stored.remove("position");
        assert_eq!(ShipRecord::read(&stored).unwrap_err().field, "position");
    }
}
