//! Numbers spelled as each seed's services spell them: Go for reactors and monsters, Python for galaxy,
//! JavaScript for rooms and jobs. All three write the shortest digits that read back as the same number and
//! differ in when they use an exponent, how they spell it, and whether a whole number keeps its `.0`.
//! Strings are escaped only where JSON demands it.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// The language whose spelling of numbers is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Go's `encoding/json`.
    Go,
    /// `JSON.stringify`.
    JavaScript,
    /// `json.dumps`, which writes floats by `repr`.
    Python,
}

/// Compact JSON with the dialect's floats. A number that JSON cannot hold (infinite, not a number)
/// becomes `null`.
pub fn to_json<T: Serialize + ?Sized>(value: &T, dialect: Dialect) -> serde_json::Result<String> {
    let mut out = Vec::with_capacity(128);
    let mut serializer = Serializer::with_formatter(&mut out, Spelling { dialect });
    value.serialize(&mut serializer)?;
    Ok(String::from_utf8(out).expect("serde_json writes UTF-8"))
}

/// A float as the dialect spells it; `None` when it is infinite or not a number.
pub fn float(value: f64, dialect: Dialect) -> Option<String> {
    let mut out = Vec::with_capacity(26);
    push_float(&mut out, value, dialect)
        .then(|| String::from_utf8(out).expect("digits, signs and points are ASCII"))
}

/// The same at the end of `out`, without allocating; `false` and nothing when it is infinite or not a number.
pub fn push_float(out: &mut Vec<u8>, value: f64, dialect: Dialect) -> bool {
    if !value.is_finite() {
        return false;
    }
    if value.is_sign_negative() && (value != 0.0 || dialect != Dialect::JavaScript) {
        out.push(b'-');
    }
    if value == 0.0 {
        out.extend_from_slice(if dialect == Dialect::Python { b"0.0" } else { b"0" });
        return true;
    }
    // Here the printer's own form is Python's, and nothing need be taken apart.
    if dialect == Dialect::Python && (1e-4..1e16).contains(&value.abs()) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value.abs()).as_bytes());
        return true;
    }
    let digits = Digits::shortest(value.abs());
    let scientific = match dialect {
        Dialect::Go | Dialect::JavaScript => !(-6..21).contains(&digits.exponent),
        Dialect::Python => !(-4..16).contains(&digits.exponent),
    };
    if scientific {
        digits.push_scientific(out, dialect);
    } else {
        digits.push_plain(out, dialect);
    }
    true
}

/// An integer: the same in every dialect. JavaScript reads exactly only up to 2^53.
pub fn int(value: i64) -> String {
    value.to_string()
}

/// The shortest digits that read back as the same number, and the decimal exponent of the first of them.
struct Digits {
    text: [u8; 24],
    len: usize,
    exponent: i32,
}

impl Digits {
    /// `value` is positive and finite. The printer's own form (`150.0`, `1.5e-7`) is taken apart.
    fn shortest(value: f64) -> Digits {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value).as_bytes();
        let mut found = Digits { text: [0; 24], len: 0, exponent: 0 };
        let (mut point, mut seen) = (None, 0);
        let mut at = 0;
        while at < text.len() && text[at] != b'e' {
            match text[at] {
                b'.' => point = Some(seen),
                b'0' if found.len == 0 => {
                    // Zeros before the first digit count for the exponent only.
                    seen += 1;
                    found.exponent -= 1;
                }
                digit => {
                    seen += 1;
                    found.text[found.len] = digit;
                    found.len += 1;
                }
            }
            at += 1;
        }
        found.exponent += point.unwrap_or(seen) - 1;
        if at < text.len() {
            found.exponent += exponent(&text[at + 1..]);
        }
        while found.len > 1 && found.text[found.len - 1] == b'0' {
            found.len -= 1;
        }
        found
    }

    fn all(&self) -> &[u8] {
        &self.text[..self.len]
    }

    fn push_plain(&self, out: &mut Vec<u8>, dialect: Dialect) {
        let zeros = |out: &mut Vec<u8>, count: usize| out.resize(out.len() + count, b'0');
        let Ok(exponent) = usize::try_from(self.exponent) else {
            out.extend_from_slice(b"0.");
            zeros(out, usize::try_from(-self.exponent - 1).unwrap_or(0));
            out.extend_from_slice(self.all());
            return;
        };
        let whole = exponent + 1;
        if self.len > whole {
            out.extend_from_slice(&self.text[..whole]);
            out.push(b'.');
            out.extend_from_slice(&self.text[whole..self.len]);
            return;
        }
        out.extend_from_slice(self.all());
        zeros(out, whole - self.len);
        if dialect == Dialect::Python {
            out.extend_from_slice(b".0");
        }
    }

    fn push_scientific(&self, out: &mut Vec<u8>, dialect: Dialect) {
        out.push(self.text[0]);
        if self.len > 1 {
            out.push(b'.');
            out.extend_from_slice(&self.text[1..self.len]);
        }
        out.push(b'e');
        out.push(if self.exponent < 0 { b'-' } else { b'+' });
        let size = self.exponent.unsigned_abs();
        // Python writes two digits at least. Go does too, but its JSON encoder turns e-09 into e-9; positive
        // exponents there are 21 and more.
        if dialect == Dialect::Python && size < 10 {
            out.push(b'0');
        }
        out.extend_from_slice(size.to_string().as_bytes());
    }
}

/// Reads `-7`, `+21`, `300`.
fn exponent(text: &[u8]) -> i32 {
    let digits = text.iter().filter(|digit| digit.is_ascii_digit());
    let size = digits.fold(0, |size, digit| size * 10 + i32::from(digit - b'0'));
    if text.first() == Some(&b'-') { -size } else { size }
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
        fn the_printers_own_form_is_pythons_where_it_is_taken(
            digits in 1.0..10.0_f64, size in -6..18_i32, whole: bool,
        ) {
            let value: f64 = digits * 10_f64.powi(size);
            let value = if whole { value.ceil() } else { value };
            let mut taken_apart = Vec::new();
            let digits = Digits::shortest(value);
            if (-4..16).contains(&digits.exponent) {
                digits.push_plain(&mut taken_apart, Dialect::Python);
            } else {
                digits.push_scientific(&mut taken_apart, Dialect::Python);
            }
            let written = float(value, Dialect::Python).unwrap();
            prop_assert_eq!(written.as_bytes(), taken_apart);
        }

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
