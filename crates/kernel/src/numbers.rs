//! Numbers spelled as each seed's services spell them: Go for reactors and monsters, Python for galaxy,
//! JavaScript for rooms and jobs. All three write the shortest digits that read back as the same number and
//! differ in when they use an exponent, how they spell it, and whether a whole number keeps its `.0`.
//! Strings are escaped only where JSON demands it.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Whose spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Go's `encoding/json`.
    Go,
    /// `JSON.stringify`.
    JavaScript,
    /// `json.dumps`, which writes floats by `repr`.
    Python,
}

/// Compact JSON with the dialect's floats. What JSON cannot hold (infinite, not a number) becomes `null`.
pub fn to_json<T: Serialize + ?Sized>(value: &T, dialect: Dialect) -> serde_json::Result<String> {
    let mut out = Vec::with_capacity(128);
    let mut serializer = Serializer::with_formatter(&mut out, Spelling { dialect });
    value.serialize(&mut serializer)?;
    Ok(String::from_utf8(out).expect("serde_json writes UTF-8"))
}

/// A float as the dialect spells it; `None` when it is infinite or not a number.
pub fn float(value: f64, dialect: Dialect) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    if value == 0.0 {
        return Some(
            match (dialect, value.is_sign_negative()) {
                (Dialect::JavaScript, _) | (Dialect::Go, false) => "0",
                (Dialect::Go, true) => "-0",
                (Dialect::Python, false) => "0.0",
                (Dialect::Python, true) => "-0.0",
            }
            .to_owned(),
        );
    }
    let (digits, exponent) = shortest(value.abs());
    let mut out = String::with_capacity(26);
    if value < 0.0 {
        out.push('-');
    }
    let scientific = match dialect {
        Dialect::Go | Dialect::JavaScript => !(-6..21).contains(&exponent),
        Dialect::Python => !(-4..16).contains(&exponent),
    };
    if scientific {
        push_scientific(&mut out, &digits, exponent, dialect);
    } else {
        push_plain(&mut out, &digits, exponent);
        if dialect == Dialect::Python && !out.contains('.') {
            out.push_str(".0");
        }
    }
    Some(out)
}

/// An integer: the same in every dialect. JavaScript reads exactly only up to 2^53.
pub fn int(value: i64) -> String {
    value.to_string()
}

/// The shortest digits that read back as `value`, and the decimal exponent of the first of them.
fn shortest(value: f64) -> (String, i32) {
    // Rust's own `{:e}` gives the shortest digits as `d.ddde±x`.
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').expect("`{:e}` writes an exponent");
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (digits, exponent.parse().expect("`{:e}` writes a small exponent"))
}

fn push_plain(out: &mut String, digits: &str, exponent: i32) {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if exponent < 0 {
        out.push_str("0.");
        out.push_str(&zeros(-exponent - 1));
        out.push_str(digits);
        return;
    }
    let whole = usize::try_from(exponent).unwrap_or(0) + 1;
    if digits.len() <= whole {
        out.push_str(digits);
        out.push_str(&"0".repeat(whole - digits.len()));
    } else {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    }
}

fn push_scientific(out: &mut String, digits: &str, exponent: i32, dialect: Dialect) {
    out.push_str(&digits[..1]);
    if digits.len() > 1 {
        out.push('.');
        out.push_str(&digits[1..]);
    }
    out.push('e');
    out.push(if exponent < 0 { '-' } else { '+' });
    let size = exponent.unsigned_abs();
    // Python writes two digits at least. Go does too, but its JSON encoder turns e-09 into e-9; positive
    // exponents there are 21 and more.
    if dialect == Dialect::Python && size < 10 {
        out.push('0');
    }
    out.push_str(&size.to_string());
}

struct Spelling {
    dialect: Dialect,
}

impl Formatter for Spelling {
    fn write_f32<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        // The shortest digits of the 32-bit number, not those of its 64-bit neighbour.
        let widened: f64 = value.to_string().parse().unwrap_or(f64::from(value));
        self.write_f64(writer, widened)
    }

    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        match float(value, self.dialect) {
            Some(text) => writer.write_all(text.as_bytes()),
            None => self.write_null(writer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Go by its documented rule, JavaScript by `JSON.stringify` of node, Python by `json.dumps`.
    const GOLDEN: &[(f64, &str, &str, &str)] = &[
        (0.0, "0", "0", "0.0"),
        (-0.0, "-0", "0", "-0.0"),
        (1.0, "1", "1", "1.0"),
        (-1.5, "-1.5", "-1.5", "-1.5"),
        (100.0, "100", "100", "100.0"),
        (123_456_789.125, "123456789.125", "123456789.125", "123456789.125"),
        (150_000_000_000.0, "150000000000", "150000000000", "150000000000.0"),
        (1e15, "1000000000000000", "1000000000000000", "1000000000000000.0"),
        (1e16, "10000000000000000", "10000000000000000", "1e+16"),
        (
            123_456_789_012_345_680_000.0,
            "123456789012345680000",
            "123456789012345680000",
            "1.2345678901234568e+20",
        ),
        (1e20, "100000000000000000000", "100000000000000000000", "1e+20"),
        (1e21, "1e+21", "1e+21", "1e+21"),
        (-1.5e21, "-1.5e+21", "-1.5e+21", "-1.5e+21"),
        (1e-4, "0.0001", "0.0001", "0.0001"),
        (1e-5, "0.00001", "0.00001", "1e-05"),
        (1e-6, "0.000001", "0.000001", "1e-06"),
        (1.5e-6, "0.0000015", "0.0000015", "1.5e-06"),
        (1e-7, "1e-7", "1e-7", "1e-07"),
        (1.25e-9, "1.25e-9", "1.25e-9", "1.25e-09"),
        (1e-10, "1e-10", "1e-10", "1e-10"),
        (0.1, "0.1", "0.1", "0.1"),
        (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004", "0.30000000000000004"),
        (1.0 / 3.0, "0.3333333333333333", "0.3333333333333333", "0.3333333333333333"),
        (1e100, "1e+100", "1e+100", "1e+100"),
        (5e-324, "5e-324", "5e-324", "5e-324"),
        (f64::MAX, "1.7976931348623157e+308", "1.7976931348623157e+308", "1.7976931348623157e+308"),
    ];

    #[test]
    fn each_dialect_spells_its_golden_cases() {
        for (value, go, javascript, python) in GOLDEN {
            assert_eq!(float(*value, Dialect::Go).unwrap(), *go);
            assert_eq!(float(*value, Dialect::JavaScript).unwrap(), *javascript);
            assert_eq!(float(*value, Dialect::Python).unwrap(), *python);
        }
    }

    #[test]
    fn what_json_cannot_hold_is_none_alone_and_null_inside() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(float(value, Dialect::Python), None);
            assert_eq!(to_json(&[value], Dialect::Python).unwrap(), "[null]");
        }
    }

    #[test]
    fn integers_are_the_same_everywhere() {
        assert_eq!(int(i64::MIN), "-9223372036854775808");
        assert_eq!(to_json(&u64::MAX, Dialect::Go).unwrap(), "18446744073709551615");
    }

    #[test]
    fn a_document_is_compact_and_escapes_only_what_json_demands() {
        let value = serde_json::json!({"n": 2.0, "s": "<é/&>\u{7f}\n\"\\\u{1}", "l": [], "i": 5});
        assert_eq!(
            to_json(&value, Dialect::Go).unwrap(),
            "{\"i\":5,\"l\":[],\"n\":2,\"s\":\"<é/&>\u{7f}\\n\\\"\\\\\\u0001\"}"
        );
        assert_eq!(to_json(&2.0, Dialect::Python).unwrap(), "2.0");
    }

    #[test]
    fn a_small_float_keeps_its_own_shortest_digits() {
        assert_eq!(to_json(&0.1_f32, Dialect::Go).unwrap(), "0.1");
        assert_eq!(to_json(&16_777_216.0_f32, Dialect::JavaScript).unwrap(), "16777216");
    }

    proptest! {
        #[test]
        fn every_spelling_reads_back_as_the_same_number(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for dialect in [Dialect::Go, Dialect::JavaScript, Dialect::Python] {
                let read: f64 = serde_json::from_str(&float(value, dialect).unwrap()).unwrap();
                // JavaScript drops the sign of zero; all else is the same to the bit.
                prop_assert!(value == 0.0 || read.to_bits() == bits);
            }
        }
    }
}
