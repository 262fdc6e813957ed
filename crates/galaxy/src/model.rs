//! Ships, stations and bodies as their hashes hold them: tolerant when read, canonical when
//! written.
//!
//! A field we do not know is never touched: hashes are changed field by field. Older records lack
//! fields; an absent field has a default. A record that cannot be used says which field is to
//! blame.

use std::collections::BTreeMap;

use crate::physics::Vec3;

mod controls;
mod ship;
mod station;
pub mod text;

pub(crate) use controls::Controls;
pub(crate) use ship::ShipRecord;
pub use ship::{Target, TargetKind};
pub use station::StationKind;
pub(crate) use station::{StationRecord, write_motion};

/// A hash as read.
pub type Fields = BTreeMap<String, String>;
/// The fields and values to write to a hash.
pub(crate) type Written = Vec<(&'static str, String)>;

/// The system of an entity that names none.
pub(crate) const HOME_SYSTEM: &str = "sol";

/// A stored hash that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field {field} is unusable: {reason}")]
pub struct Unusable {
    /// The field.
    pub field: &'static str,
    /// The reason.
    pub reason: String,
}

fn unusable(field: &'static str, reason: impl Into<String>) -> Unusable {
    Unusable { field, reason: reason.into() }
}

fn required(fields: &Fields, field: &'static str) -> Result<Vec3, Unusable> {
    let text = fields.get(field).ok_or_else(|| unusable(field, "it is missing"))?;
    text::read_vector(text).ok_or_else(|| unusable(field, "it is not an array of three numbers"))
}

/// A field that may be absent, but not nonsense.
fn optional<T>(
    fields: &Fields,
    field: &'static str,
    read: impl Fn(&str) -> Option<T>,
    default: T,
) -> Result<T, Unusable> {
    match fields.get(field).map(String::as_str).filter(|text| !text.is_empty()) {
        None => Ok(default),
        Some(text) => read(text).ok_or_else(|| unusable(field, "it cannot be read")),
    }
}

/// Place and velocity of a body.
pub(crate) fn read_body(fields: &Fields) -> Result<(Vec3, Vec3), Unusable> {
    Ok((required(fields, "position")?, required(fields, "velocity")?))
}
