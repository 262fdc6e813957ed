//! The types that reactors and monsters share: the owner of a world ([`Tenant`]), a place in it
//! ([`Field`]), boxes around a point ([`Area`]), and templates from files ([`Catalogue`]). The
//! crate knows no store and no HTTP.
//!
//! Always true: a value of these types can stand in a key; text from outside becomes one only by a
//! parser that names the part it refuses.

mod area;
mod catalogue;
mod lines;
mod list;
mod place;
mod schema;
mod tenant;

pub use area::{Area, Point, Rect};
pub use catalogue::{Catalogue, CatalogueError, Problem, Template};
pub use list::{list, map};
pub use place::Field;
pub use schema::{FileKind, check_files, schema};
pub use tenant::Tenant;

/// Ids of both modules end here and begin again.
pub const LAST_ID: u32 = 2_000_000_000;

/// After a wrap an id may still be live: so many are drawn before giving up.
pub const ID_DRAWS: usize = 64;

/// A part of a request that is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {why}")]
pub struct Bad {
    /// The part, as its sender spells it.
    pub field: &'static str,
    /// The reason, to be read behind the part's name.
    pub why: String,
}

impl Bad {
    /// A refusal of this part.
    pub fn new(field: &'static str, why: impl Into<String>) -> Self {
        Bad { field, why: why.into() }
    }
}

/// A whole number in its one spelling: no plus sign, no leading zero, no blank, and within its type.
pub fn number<T>(field: &'static str, text: &str) -> Result<T, Bad>
where
    T: std::str::FromStr + ToString + Limits,
{
    match text.parse::<T>() {
        Ok(number) if number.to_string() == text => Ok(number),
        _ => {
            Err(Bad::new(field, format!("must be a whole number from {} to {}", T::LEAST, T::MOST)))
        }
    }
}

/// The ends of a number's range, for sentences.
pub trait Limits {
    /// The least value.
    const LEAST: i64;
    /// The greatest value.
    const MOST: i64;
}

macro_rules! limits {
    ($($type:ident),+) => {$(
        impl Limits for $type {
            #[allow(clippy::cast_lossless)] // `From` is not const
            const LEAST: i64 = $type::MIN as i64;
            #[allow(clippy::cast_lossless)]
            const MOST: i64 = $type::MAX as i64;
        }
    )+};
}
limits!(i8, u8, i16, u16, i32, u32);

/// A UUID of 36 characters with hyphens; the case of its letters does not matter.
pub fn uuid(field: &'static str, text: &str) -> Result<uuid::Uuid, Bad> {
    // The parser also takes braces, `urn:` and no hyphens: those are not 36 long, or not as written.
    let parsed = uuid::Uuid::parse_str(text).ok().filter(|_| text.len() == 36);
    parsed.ok_or_else(|| {
        Bad::new(field, "must be a UUID such as 11111111-1111-4111-8111-111111111111")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_spelling_and_a_range() {
        assert_eq!(number::<u8>("worldId", "255"), Ok(255));
        assert_eq!(number::<i16>("x", "-32768"), Ok(-32768));
        for text in ["256", "-1", "+1", "01", "", " 1", "1 ", "1.0", "1e2", "०"] {
            assert_eq!(
                number::<u8>("worldId", text).unwrap_err().to_string(),
                "worldId must be a whole number from 0 to 255",
                "{text}"
            );
        }
        assert!(number::<u32>("mapId", "4294967296").is_err());
    }

    #[test]
    fn uuids_come_with_hyphens_and_leave_in_lower_case() {
        let given = "AAAAAAAA-1111-4111-8111-11111111111F";
        assert_eq!(uuid("instance", given).unwrap().to_string(), given.to_lowercase());
        for text in
            ["", "x", &given.replace('-', ""), &format!("{{{given}}}"), &format!("{given} ")]
        {
            assert!(uuid("instance", text).is_err(), "{text}");
        }
    }
}
