//! Hashes of stations and jump gates: one field per number.

use super::{Fields, HOME_SYSTEM, Unusable, Written, optional, unusable};
use crate::model::text;
use crate::physics::Vec3;

/// A station's or a jump gate's hash.
#[derive(Debug, Clone, PartialEq)]
pub struct StationRecord {
    /// Shown to people.
    pub name: String,
    /// Metres from the barycentre.
    pub position: Vec3,
    /// m/s.
    pub velocity: Vec3,
    /// kg; attracts nothing.
    pub mass: f64,
    /// Room to keep around it, m.
    pub radius: f64,
    /// The body that the station orbits.
    pub parent_body: String,
    /// Which system it is in.
    pub system_id: String,
}

/// Stations and gates have the same shape and other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum StationKind {
    Station,
    Jumpgate,
}

impl StationKind {
    /// The field that repeats its id.
    pub fn id_field(self) -> &'static str {
        match self {
            StationKind::Station => "station_id",
            StationKind::Jumpgate => "jumpgate_id",
        }
    }

    fn defaults(self) -> (f64, f64) {
        match self {
            StationKind::Station => (420_000.0, 50.0),
            StationKind::Jumpgate => (500_000.0, 150.0),
        }
    }
}

impl StationRecord {
    /// A new one.
    pub fn new(kind: StationKind, name: &str, parent_body: &str) -> Self {
        let (mass, radius) = kind.defaults();
        StationRecord {
            name: name.to_owned(),
            position: Vec3::ZERO,
            velocity: Vec3::ZERO,
            mass,
            radius,
            parent_body: parent_body.to_owned(),
            system_id: HOME_SYSTEM.to_owned(),
        }
    }

    /// Reads a hash.
    pub fn read(kind: StationKind, fields: &Fields) -> Result<Self, Unusable> {
        let word = |field: &str| fields.get(field).cloned().unwrap_or_default();
        let mut station = StationRecord::new(kind, &word("name"), &word("parent_body"));
        station.position = read_parts(fields, ["position_x", "position_y", "position_z"])?;
        station.velocity = read_parts(fields, ["velocity_x", "velocity_y", "velocity_z"])?;
        station.mass = optional(fields, "mass", text::read_float, station.mass)?;
        station.radius = optional(fields, "radius", text::read_float, station.radius)?;
        if let Some(system) = fields.get("system_id").filter(|system| !system.is_empty()) {
            station.system_id.clone_from(system);
        }
        Ok(station)
    }

    /// All fields of a new station, in the order of the seed. The attitude is written once, in this
    /// form, for ever.
    pub fn write(&self, kind: StationKind, id: &str) -> Written {
        let mut out = vec![(kind.id_field(), id.to_owned()), ("name", self.name.clone())];
        out.extend(write_motion(self.position, self.velocity));
        out.extend([
            ("attitude_w", "1".to_owned()),
            ("attitude_x", "0".to_owned()),
            ("attitude_y", "0".to_owned()),
            ("attitude_z", "0".to_owned()),
            ("mass", text::float(self.mass)),
            ("radius", text::float(self.radius)),
            ("parent_body", self.parent_body.clone()),
            ("system_id", self.system_id.clone()),
        ]);
        out
    }
}

/// Place and velocity of a station, one field each.
pub(crate) fn write_motion(position: Vec3, velocity: Vec3) -> Written {
    let names =
        ["position_x", "position_y", "position_z", "velocity_x", "velocity_y", "velocity_z"];
    let values = position.to_array().into_iter().chain(velocity.to_array());
    names.into_iter().zip(values.map(text::float)).collect()
}

fn read_parts(fields: &Fields, names: [&'static str; 3]) -> Result<Vec3, Unusable> {
    let mut out = Vec3::ZERO;
    for (axis, field) in names.into_iter().enumerate() {
        let text = fields.get(field).ok_or_else(|| unusable(field, "it is missing"))?;
        out[axis] = text::read_float(text).ok_or_else(|| unusable(field, "it is not a number"))?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_has_one_field_per_number() {
        let mut station = StationRecord::new(StationKind::Station, "Kestrel", "Earth");
        station.position = Vec3::new(1.0, -0.0, 2.5e11);
        let written = station.write(StationKind::Station, "id");
        let names: Vec<_> = written.iter().map(|(field, _)| *field).collect();
        assert_eq!(names[..4], ["station_id", "name", "position_x", "position_y"]);
        let stored: Fields =
            written.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
        assert_eq!((stored["attitude_w"].as_str(), stored["mass"].as_str()), ("1", "420000.0"));
        assert_eq!(stored["position_y"], "0.0");
        assert_eq!(StationRecord::read(StationKind::Station, &stored).unwrap(), station);
    }
}
