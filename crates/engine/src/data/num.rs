//! Numbers as Redis 7.0 reads and prints them, byte for byte.
//! Whatever these functions refuse, Redis refuses too; whatever they print, Redis prints.

use super::wide::{self, Parts};
use std::io::Write as _;

pub use super::wide::LongDouble;

/// Reads a decimal integer: no plus sign, no leading zeros, no spaces, no `-0`.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'0'] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 19 || !(b'1'..=b'9').contains(&digits[0]) {
        return None;
    }
    // Nineteen digits fit a u64, so one check at the end is enough.
    let mut value = 0u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Reads a double: decimal, hexadecimal or infinite; refuses NaN, spaces around, and values too
/// large or too small to be held.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let (negative, rest) = sign(text);
    if matches!(rest, [b'0', b'x' | b'X', ..]) {
        let (parts, zero) = wide::hex_parts(&rest[2..])?;
        let value = parts.to_f64();
        if value.is_infinite() || (value == 0.0 && !zero) {
            return None;
        }
        return Some(if negative { -value } else { value });
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let named = rest.first().is_some_and(u8::is_ascii_alphabetic);
    let refused = value.is_nan()
        || (value.is_infinite() && !named)
        || (value == 0.0 && has_nonzero_digit(rest));
    (!refused).then_some(value)
}

/// Whether the mantissa names a digit other than zero.
fn has_nonzero_digit(text: &[u8]) -> bool {
    text.iter().take_while(|byte| !matches!(byte, b'e' | b'E')).any(|b| (b'1'..=b'9').contains(b))
}

/// Splits an optional sign off.
pub(super) fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    }
}

/// Prints as C's `%.17g`, which Redis uses for scores and for numbers that scripts pass on.
pub fn fmt_g17(value: f64, out: &mut Vec<u8>) {
    write_g(out, value, 17);
}

/// A score as RESP replies show it.
pub fn fmt_double(value: f64) -> Vec<u8> {
    let mut out = Vec::with_capacity(24);
    fmt_g17(value, &mut out);
    out
}

/// A score as the log and small sorted sets spell it: as `%.17g`, but whole numbers up to 2^62
/// are never shown with an exponent.
pub fn fmt_stored_double(value: f64, out: &mut Vec<u8>) {
    const LIMIT: f64 = (i64::MAX / 2) as f64;
    if value.abs() <= LIMIT && value.trunc() == value && value != 0.0 {
        out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
    } else if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else {
        fmt_g17(value, out);
    }
}

/// Prints as C's `%g` with `precision` significant digits, 17 at most; whole numbers that fit need no float printing.
pub fn write_g(out: &mut Vec<u8>, value: f64, precision: usize) {
    if value.is_nan() {
        out.extend_from_slice(if value.is_sign_negative() { b"-nan" } else { b"nan" });
        return;
    }
    if value.is_infinite() {
        out.extend_from_slice(if value < 0.0 { b"-inf" } else { b"inf" });
        return;
    }
    if value.abs() < 10f64.powi(precision as i32) && value.trunc() == value {
        if value == 0.0 && value.is_sign_negative() {
            out.push(b'-');
        }
        out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
        return;
    }
    let mut room = [0; 40];
    let mut rest = &mut room[..];
    write!(rest, "{:.*e}", precision - 1, value.abs()).expect("17 digits fit 40 bytes");
    let used = 40 - rest.len();
    let text = &room[..used];
    let at = text.iter().position(|&b| b == b'e').expect("exponent form has an e");
    let exponent: i32 = std::str::from_utf8(&text[at + 1..])
        .ok()
        .and_then(|digits| digits.parse().ok())
        .expect("an exponent is a number");
    let mut digits = [b'0'; 17];
    digits[0] = text[0];
    digits[1..precision].copy_from_slice(&text[2.min(at)..at]);
    let mut len = precision;
    while len > 1 && digits[len - 1] == b'0' {
        len -= 1;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    place_digits(&digits[..len], exponent, precision, out);
}

/// Writes significant digits plainly or with an exponent, as `%g` chooses.
fn place_digits(digits: &[u8], exponent: i32, precision: usize, out: &mut Vec<u8>) {
    if exponent < -4 || exponent >= precision as i32 {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        out.extend_from_slice(itoa::Buffer::new().format(exponent.abs()).as_bytes());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        out.extend_from_slice(&digits[..whole.min(digits.len())]);
        out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(digits.len())));
        if digits.len() > whole {
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

/// Reads a number the way INCRBYFLOAT does, with the 64 bits of an x87 long double.
pub fn parse_long_double(text: &[u8]) -> Option<LongDouble> {
    LongDouble::parse(text)
}

/// Prints as INCRBYFLOAT does: at most 17 decimals, no trailing zeros, no exponent.
pub fn fmt_human(value: LongDouble, out: &mut Vec<u8>) {
    value.fmt_human(out);
}

impl Parts {
    /// Rounds to the nearest double, ties to even; infinite when too large.
    fn to_f64(self) -> f64 {
        let (mantissa, exponent) = self.round(53, -1074);
        if mantissa == 0 {
            return 0.0;
        }
        if mantissa < 1 << 52 {
            return f64::from_bits(mantissa);
        }
        let biased = exponent + 1075;
        if biased >= 2047 {
            return f64::INFINITY;
        }
        f64::from_bits(((biased as u64) << 52) | (mantissa & ((1 << 52) - 1)))
    }
}

#[cfg(test)]
mod tests;
