//! Numbers as C writes and reads them: `%.Ng`, `strtod`, and the casts of a 64-bit machine.
//! Scripts see these texts, so each function gives the bytes glibc would give.

pub(crate) use crate::data::num::write_g;

/// The longest number at the start of `text`, and how many bytes it takes (0: none), as `strtod`.
pub(crate) fn read_number(text: &[u8]) -> (f64, usize) {
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let mut pos = 0;
    let negative = at(0) == b'-';
    if negative || at(0) == b'+' {
        pos = 1;
    }
    let signed = |value: f64| if negative { -value } else { value };
    let word = |from: usize, word: &[u8]| {
        text.get(from..from + word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word))
    };
    if word(pos, b"inf") {
        let end = if word(pos, b"infinity") { pos + 8 } else { pos + 3 };
        return (signed(f64::INFINITY), end);
    }
    if word(pos, b"nan") {
        let mut end = pos + 3;
        if at(end) == b'(' {
            let mut close = end + 1;
            while at(close).is_ascii_alphanumeric() || at(close) == b'_' {
                close += 1;
            }
            if at(close) == b')' {
                end = close + 1;
            }
        }
        return (signed(f64::NAN.copysign(1.0)), end);
    }
    if at(pos) == b'0' && at(pos + 1) | 0x20 == b'x' {
        let dot_digit = at(pos + 2) == b'.' && at(pos + 3).is_ascii_hexdigit();
        if at(pos + 2).is_ascii_hexdigit() || dot_digit {
            let (value, end) = read_hex(text, pos + 2);
            return (signed(value), end);
        }
    }
    let (end, any) = decimal_end(text, pos);
    if !any {
        return (0.0, 0);
    }
    let digits = std::str::from_utf8(&text[pos..end]).unwrap_or("0");
    (signed(digits.parse().unwrap_or(0.0)), end)
}

fn decimal_end(text: &[u8], start: usize) -> (usize, bool) {
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let mut pos = start;
    let mut digits = 0;
    while at(pos).is_ascii_digit() {
        pos += 1;
        digits += 1;
    }
    if at(pos) == b'.' && (digits > 0 || at(pos + 1).is_ascii_digit()) {
        pos += 1;
        while at(pos).is_ascii_digit() {
            pos += 1;
            digits += 1;
        }
    }
    if digits > 0 && at(pos) | 0x20 == b'e' {
        let sign = usize::from(matches!(at(pos + 1), b'+' | b'-'));
        if at(pos + 1 + sign).is_ascii_digit() {
            pos += 1 + sign;
            while at(pos).is_ascii_digit() {
                pos += 1;
            }
        }
    }
    (pos, digits > 0)
}

/// Hexadecimal digits with an optional fraction and binary exponent; `pos` is behind `0x`.
fn read_hex(text: &[u8], mut pos: usize) -> (f64, usize) {
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let mut mantissa: u64 = 0;
    let mut scale: i64 = 0;
    let mut in_fraction = false;
    loop {
        let byte = at(pos);
        if byte == b'.' && !in_fraction {
            in_fraction = true;
        } else if let Some(digit) = char::from(byte).to_digit(16) {
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                scale -= if in_fraction { 4 } else { 0 };
            } else {
                // Bits beyond the 60 kept only decide the direction of rounding.
                mantissa |= u64::from(digit != 0);
                scale += if in_fraction { 0 } else { 4 };
            }
        } else {
            break;
        }
        pos += 1;
    }
    if at(pos) | 0x20 == b'p' {
        let sign = usize::from(matches!(at(pos + 1), b'+' | b'-'));
        if at(pos + 1 + sign).is_ascii_digit() {
            let down = at(pos + 1) == b'-';
            pos += 1 + sign;
            let mut exponent: i64 = 0;
            while at(pos).is_ascii_digit() {
                exponent = (exponent * 10 + i64::from(at(pos) - b'0')).min(1 << 40);
                pos += 1;
            }
            scale += if down { -exponent } else { exponent };
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "rounds once, as the C library does")]
    let mut value = mantissa as f64;
    while scale > 0 && value.is_finite() && value != 0.0 {
        let step = scale.min(1000);
        value *= 2f64.powi(i32::try_from(step).unwrap_or(1000));
        scale -= step;
    }
    while scale < 0 && value != 0.0 {
        let step = (-scale).min(1000);
        value /= 2f64.powi(i32::try_from(step).unwrap_or(1000));
        scale += step;
    }
    (value, pos)
}

/// `(int64_t)value` on x86-64: out of range gives the smallest integer.
pub(crate) fn to_i64(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "range checked above")]
        let whole = value as i64;
        whole
    } else {
        i64::MIN
    }
}

/// `(uint64_t)value` on x86-64, for values that are not negative.
pub(crate) fn to_u64(value: f64) -> u64 {
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    if value >= TOP {
        to_i64(value - TOP).cast_unsigned() ^ (1 << 63)
    } else {
        to_i64(value).cast_unsigned()
    }
}

/// The value of an integer as the double Lua keeps.
#[expect(clippy::cast_precision_loss, reason = "Lua 5.1 has doubles only")]
pub(crate) fn of_i64(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn g(value: f64, precision: usize) -> String {
        let mut out = Vec::new();
        write_g(&mut out, value, precision);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_printf_does() {
        assert_eq!(g(0.1, 17), "0.10000000000000001");
        assert_eq!(g(1e17, 17), "1e+17");
        assert_eq!(g(1e14, 14), "1e+14");
        assert_eq!(g(12_345_678_901_234_567.0, 14), "1.2345678901235e+16");
        assert_eq!(g(-0.0, 14), "-0");
        assert_eq!(g(1.5e-7, 14), "1.5e-07");
        assert_eq!(g(0.00012, 14), "0.00012");
        assert_eq!(g(1_730_000_000_000.0, 14), "1730000000000");
        assert_eq!(g(1e300, 3), "1e+300");
        assert_eq!(g(123.0, 2), "1.2e+02");
        assert_eq!(g(99_999.9, 3), "1e+05");
        assert_eq!(g(f64::NEG_INFINITY, 14), "-inf");
    }

    #[test]
    fn numbers_are_read_as_strtod_does() {
        assert_eq!(read_number(b"12.5e3x"), (12500.0, 6));
        assert_eq!(read_number(b"-0x1.8p3,"), (-12.0, 8));
        assert_eq!(read_number(b"0x"), (0.0, 1));
        assert_eq!(read_number(b"1e+"), (1.0, 1));
        assert_eq!(read_number(b"-"), (0.0, 0));
        assert_eq!(read_number(b"Infinite"), (f64::INFINITY, 3));
        assert!(read_number(b"nan(12)").0.is_nan());
        assert_eq!(read_number(b".5"), (0.5, 2));
        assert_eq!(read_number(b"1e999"), (f64::INFINITY, 5));
    }

    #[test]
    fn casts_wrap_as_the_machine_does() {
        assert_eq!(to_i64(f64::NAN), i64::MIN);
        assert_eq!(to_i64(-1.9), -1);
        assert_eq!(to_u64(1e30), 0);
        assert_eq!(to_u64(18_446_744_073_709_549_568.0), 18_446_744_073_709_549_568);
    }
}
