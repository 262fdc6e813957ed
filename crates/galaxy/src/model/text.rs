//! Values as the hashes spell them: one canonical form written, every sensible one read.
//!
//! Written: floats as Python's `repr`, vectors as one JSON array with `, ` between, no negative
//! zero. Read: any JSON number or array of numbers, any white space; a number that is not finite is
//! refused.

use jiff::Timestamp;
use kernel::numbers::{Dialect, push_float};

use crate::physics::{Quat, Vec3};

/// An enum whose variants are stored as words: `word` writes one, `read` reads it, `WORDS` has all.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $Enum:ident { $($(#[$note:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $Enum {
            $($(#[$note])* #[doc = concat!("`", $word, "`.")] $variant,)*
        }

        impl $Enum {
            /// All of them with their stored words.
            pub const WORDS: &'static [($Enum, &'static str)] = &[$(($Enum::$variant, $word)),*];

            /// The stored word.
            pub fn word(self) -> &'static str {
                match self {
                    $($Enum::$variant => $word,)*
                }
            }

            /// The meaning of a stored word.
            pub fn read(word: &str) -> Option<Self> {
                Self::WORDS.iter().find(|(_, known)| *known == word).map(|(one, _)| *one)
            }
        }
    };
}
pub(crate) use words;

/// Appends a float; zero has no sign here.
pub fn push(out: &mut Vec<u8>, value: f64) {
    // Adding zero turns -0.0 into 0.0 and changes nothing else.
    push_float(out, value + 0.0, Dialect::Python);
}

/// Appends `[x, y, z]`.
pub fn push_vector(out: &mut Vec<u8>, values: &[f64]) {
    out.push(b'[');
    for (n, value) in values.iter().enumerate() {
        if n > 0 {
            out.extend_from_slice(b", ");
        }
        push(out, *value);
    }
    out.push(b']');
}

/// A float as it is stored.
pub fn float(value: f64) -> String {
    made(|out| push(out, value))
}

/// A vector as it is stored.
pub fn vector(value: Vec3) -> String {
    made(|out| push_vector(out, &value.to_array()))
}

/// A rotation as it is stored: w first.
pub fn quaternion(q: Quat) -> String {
    made(|out| push_vector(out, &wxyz(q)))
}

/// The order of the hashes.
pub fn wxyz(q: Quat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

/// `true` or `false`.
pub fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn made(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(72);
    write(&mut out);
    String::from_utf8(out).expect("numbers are ASCII")
}

/// Reads a float: any JSON number, finite.
pub fn read_float(text: &str) -> Option<f64> {
    let value: f64 = serde_json::from_str(text.trim()).ok()?;
    value.is_finite().then_some(value)
}

/// Reads a JSON array of exactly `N` numbers.
pub fn read_array<const N: usize>(text: &str) -> Option<[f64; N]> {
    let values: Vec<f64> = serde_json::from_str(text).ok()?;
    let values: [f64; N] = values.try_into().ok()?;
    values.iter().all(|value| value.is_finite()).then_some(values)
}

/// Reads a place or a velocity.
pub fn read_vector(text: &str) -> Option<Vec3> {
    read_array::<3>(text).map(Vec3::from_array)
}

/// Reads a rotation, w first, and gives it length one; one without a direction is refused.
pub fn read_quaternion(text: &str) -> Option<Quat> {
    let [w, x, y, z] = read_array::<4>(text)?;
    unit(w, x, y, z)
}

/// A rotation of its parts.
#[expect(clippy::many_single_char_names, reason = "the letters of a quaternion")]
pub fn unit(w: f64, x: f64, y: f64, z: f64) -> Option<Quat> {
    let q = Quat::from_xyzw(x, y, z, w);
    let length = q.length();
    // Stored rotations are unit already but for their last digit: dividing again would change it at every load.
    match (length - 1.0).abs() {
        off if off < 1e-12 => Some(q),
        _ if length.is_finite() && length > 1e-9 => Some(q / length),
        _ => None,
    }
}

/// Reads a word for yes or no.
pub fn read_flag(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Game time, from Unix nanoseconds: whole seconds, or six digits of a fraction.
pub fn time(unix_ns: i128) -> String {
    let micros = unix_ns.div_euclid(1_000);
    let whole = micros.div_euclid(1_000_000);
    let fraction = micros.rem_euclid(1_000_000);
    let second = i64::try_from(whole).ok().and_then(|second| Timestamp::from_second(second).ok());
    let second = second.unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%S");
    if fraction == 0 { format!("{second}Z") } else { format!("{second}.{fraction:06}Z") }
}

/// Reads game time: `Z` or an offset, up to nine digits of a fraction.
pub fn read_time(text: &str) -> Option<i128> {
    text.trim().parse::<Timestamp>().ok().map(Timestamp::as_nanosecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_the_seeds_form() {
        assert_eq!(vector(Vec3::new(1.5e11, -0.0, 29_780.0)), "[150000000000.0, 0.0, 29780.0]");
        assert_eq!(quaternion(Quat::IDENTITY), "[1.0, 0.0, 0.0, 0.0]");
        assert_eq!(float(15_000.0), "15000.0");
        assert_eq!(float(1e-5), "1e-05");
        assert_eq!(float(1.5e16), "1.5e+16");
    }

    #[test]
    fn every_form_of_the_seeds_examples_is_read() {
        assert_eq!(read_vector("[1.5e11, 0, 0]"), Some(Vec3::new(1.5e11, 0.0, 0.0)));
        assert_eq!(read_vector(" [ 1,2 ,\t3 ] "), Some(Vec3::new(1.0, 2.0, 3.0)));
        assert_eq!(read_float("30000"), Some(30_000.0));
        assert_eq!(read_float("3e4"), Some(30_000.0));
        for bad in ["[1, 2]", "[1, 2, null]", "[1e999, 0, 0]", "1", "", "[NaN, 0, 0]"] {
            assert_eq!(read_vector(bad), None, "{bad}");
        }
        assert_eq!(read_quaternion("[2, 0, 0, 0]"), Some(Quat::IDENTITY));
        assert_eq!(read_quaternion("[0, 0, 0, 0]"), None);
    }

    #[test]
    fn time_has_no_fraction_or_six_digits_of_it() {
        let noon = 946_731_600_000_000_000;
        assert_eq!(time(noon), "2000-01-01T13:00:00Z");
        assert_eq!(time(noon + 100_000_000), "2000-01-01T13:00:00.100000Z");
        assert_eq!(time(noon + 999), "2000-01-01T13:00:00Z");
        for text in
            ["2000-01-01T13:00:00Z", "2000-01-01T13:00:00.000+00:00", "2000-01-01T13:00:00.0Z"]
        {
            assert_eq!(read_time(text), Some(noon), "{text}");
        }
        assert_eq!(read_time("yesterday"), None);
    }
}
