//! The 80-bit long double of x86, as far as INCRBYFLOAT needs it: read, add, print.
//! Every step rounds once, to nearest with ties to even, as the hardware and its C library do.

use super::num::sign;

/// Longest text that is read as a long double.
const TEXT_MAX: usize = 5 * 1024;
/// Weight of the last bit of the smallest long double.
const LOWEST: i64 = -16_445;
/// Weight of the last bit of the largest long double.
const HIGHEST: i64 = 16_320;

/// A number with 64 significant bits: `mantissa * 2^exponent`, or infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongDouble {
    negative: bool,
    infinite: bool,
    mantissa: u64,
    exponent: i64,
}

/// An exact value before rounding: `(bits + something below one if sticky) * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) bits: u128,
    pub(super) exponent: i64,
    pub(super) sticky: bool,
}

impl Parts {
    /// Rounds to `precision` bits, none weighing less than `2^lowest`.
    pub(super) fn round(self, precision: i64, lowest: i64) -> (u64, i64) {
        let width = 128 - i64::from(self.bits.leading_zeros());
        if width == 0 {
            return (0, lowest);
        }
        let target = (self.exponent + width - precision).max(lowest);
        let shift = target - self.exponent;
        if shift <= 0 {
            return ((self.bits << -shift) as u64, target);
        }
        if shift > 128 {
            return (0, lowest);
        }
        let kept = self.bits.checked_shr(shift as u32).unwrap_or(0);
        let lost = self.bits & (u128::MAX >> (128 - shift));
        let half = 1u128 << (shift - 1);
        let up = lost > half || (lost == half && (self.sticky || kept & 1 == 1));
        let rounded = kept + u128::from(up);
        if rounded >> precision == 0 {
            (rounded as u64, target)
        } else {
            ((rounded >> 1) as u64, target + 1)
        }
    }

    fn to_long(self, negative: bool) -> LongDouble {
        let (mantissa, exponent) = self.round(64, LOWEST);
        let infinite = exponent > HIGHEST;
        LongDouble { negative, infinite, mantissa, exponent }
    }
}

impl From<i64> for LongDouble {
    fn from(value: i64) -> Self {
        let bits = u128::from(value.unsigned_abs());
        Parts { bits, exponent: 0, sticky: false }.to_long(value < 0)
    }
}

impl From<f64> for LongDouble {
    /// Exact. NaN becomes an infinity.
    fn from(value: f64) -> Self {
        let bits = value.to_bits();
        let (negative, power) = (bits >> 63 == 1, (bits >> 52 & 0x7ff) as i64);
        let fraction = bits & ((1 << 52) - 1);
        let mantissa = if power == 0 { fraction } else { fraction | 1 << 52 };
        if power == 0x7ff {
            return Self { negative, infinite: true, mantissa: 0, exponent: 0 };
        }
        let exponent = power.max(1) - 1075;
        Parts { bits: u128::from(mantissa), exponent, sticky: false }.to_long(negative)
    }
}

impl LongDouble {
    /// Reads decimal, hexadecimal or infinite text; refuses what Redis refuses.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() >= TEXT_MAX {
            return None;
        }
        let (negative, rest) = sign(text);
        if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
            return Some(Self { negative, infinite: true, mantissa: 0, exponent: 0 });
        }
        let (parts, zero) = match rest {
            [b'0', b'x' | b'X', hex @ ..] => hex_parts(hex)?,
            decimal => decimal_parts(decimal)?,
        };
        let value = parts.to_long(negative);
        let lost = value.infinite || (value.mantissa == 0 && !zero);
        (!lost).then_some(value)
    }

    /// Whether this is an infinity.
    pub fn is_infinite(self) -> bool {
        self.infinite
    }

    /// The sum, or nothing if it is not a finite number.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.infinite || other.infinite {
            return None;
        }
        if self.mantissa == 0 {
            return Some(other);
        }
        if other.mantissa == 0 {
            return Some(self);
        }
        let sum = self.add_finite(other);
        (!sum.infinite).then_some(sum)
    }

    fn add_finite(self, other: Self) -> Self {
        let (a, b) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let gap = a.exponent - b.exponent;
        let up = gap.min(62);
        let down = gap - up;
        let high = u128::from(a.mantissa) << up;
        let low = if down < 64 { b.mantissa >> down } else { 0 };
        let sticky = down > 0 && (down >= 64 || low << down != b.mantissa);
        let exponent = a.exponent - up;
        let low = u128::from(low);
        if a.negative == b.negative {
            return Parts { bits: high + low, exponent, sticky }.to_long(a.negative);
        }
        if sticky {
            // The lost bits make the smaller number larger, hence the difference smaller.
            return Parts { bits: high - low - 1, exponent, sticky }.to_long(a.negative);
        }
        if high >= low {
            Parts { bits: high - low, exponent, sticky }.to_long(a.negative)
        } else {
            Parts { bits: low - high, exponent, sticky }.to_long(b.negative)
        }
    }

    /// Prints with at most 17 decimals and no trailing zeros.
    pub fn fmt_human(self, out: &mut Vec<u8>) {
        let start = out.len();
        if self.negative {
            out.push(b'-');
        }
        if self.infinite {
            out.extend_from_slice(b"inf");
            return;
        }
        if self.exponent >= 0 {
            let mut whole = Big::from(self.mantissa);
            whole.shift_left(self.exponent as usize);
            whole.print(out);
        } else {
            self.print_fraction(out);
        }
        if &out[start..] == b"-0" {
            out.remove(start);
        }
    }

    fn print_fraction(self, out: &mut Vec<u8>) {
        const SCALE: u128 = 100_000_000_000_000_000;
        let shift = -self.exponent as u32;
        let mut whole = self.mantissa.checked_shr(shift).unwrap_or(0);
        let fraction = if shift < 64 { self.mantissa & ((1 << shift) - 1) } else { self.mantissa };
        // Below 2^121, so beyond a shift of 122 even the half is not reached.
        let scaled = u128::from(fraction) * SCALE;
        let mut decimals = scaled.checked_shr(shift).unwrap_or(0);
        if shift < 128 {
            let lost = scaled & ((1 << shift) - 1);
            let half = 1u128 << (shift - 1);
            decimals += u128::from(lost > half || (lost == half && decimals & 1 == 1));
        }
        if decimals == SCALE {
            decimals = 0;
            whole += 1;
        }
        out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
        if decimals == 0 {
            return;
        }
        let mut digits = [0; 17];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (decimals % 10) as u8;
            decimals /= 10;
        }
        let len = 17 - digits.iter().rev().take_while(|&&digit| digit == b'0').count();
        out.push(b'.');
        out.extend_from_slice(&digits[..len]);
    }
}

/// Reads what follows `0x`; also tells whether the value is a true zero.
pub(super) fn hex_parts(text: &[u8]) -> Option<(Parts, bool)> {
    let split = text.iter().position(|b| matches!(b, b'p' | b'P')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(split);
    let power = if exponent.is_empty() { 0 } else { read_exponent(&exponent[1..])? };
    let (mut bits, mut sticky, mut scale) = (0u128, false, 0i64);
    let (mut digits, mut point) = (0usize, false);
    for &byte in mantissa {
        if byte == b'.' && !point {
            point = true;
            continue;
        }
        let digit = char::from(byte).to_digit(16)?;
        digits += 1;
        scale -= i64::from(point) * 4;
        if bits >> 120 == 0 {
            bits = bits << 4 | u128::from(digit);
        } else {
            sticky |= digit != 0;
            scale += 4;
        }
    }
    if digits == 0 {
        return None;
    }
    Some((Parts { bits, exponent: scale + power, sticky }, bits == 0))
}

/// Reads an exponent, clamped far outside of what any number can hold.
fn read_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0i64, |size, &b| (size * 10 + i64::from(b - b'0')).min(1 << 40));
    Some(if negative { -size } else { size })
}

/// Reads plain decimal text; also tells whether the value is a true zero.
fn decimal_parts(text: &[u8]) -> Option<(Parts, bool)> {
    const ZERO: Parts = Parts { bits: 0, exponent: 0, sticky: false };
    let split = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(split);
    let mut power = if exponent.is_empty() { 0 } else { read_exponent(&exponent[1..])? };
    let mut digits = Vec::with_capacity(mantissa.len());
    let (mut point, mut any) = (false, false);
    for &byte in mantissa {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                any = true;
                power -= i64::from(point);
                if byte != b'0' || !digits.is_empty() {
                    digits.push(byte - b'0');
                }
            }
            _ => return None,
        }
    }
    while digits.last() == Some(&0) {
        digits.pop();
        power += 1;
    }
    if digits.is_empty() {
        return any.then_some((ZERO, true));
    }
    let magnitude = digits.len() as i64 + power;
    if magnitude > 5_000 {
        return None;
    }
    if magnitude < -5_000 {
        return Some((ZERO, false));
    }
    Some((scale_decimal(&digits, power), false))
}

/// `digits * 10^power`, exact but for a sticky bit far below the 64th.
fn scale_decimal(digits: &[u8], power: i64) -> Parts {
    if digits.len() <= 19 && (-18..=19).contains(&power) {
        let value = digits.iter().fold(0u64, |value, &digit| value * 10 + u64::from(digit));
        let scale = 10u64.pow(power.unsigned_abs() as u32);
        if power >= 0 {
            let bits = u128::from(value) * u128::from(scale);
            return Parts { bits, exponent: 0, sticky: false };
        }
        let up = u128::from(value).leading_zeros();
        let (top, scale) = (u128::from(value) << up, u128::from(scale));
        return Parts { bits: top / scale, exponent: -i64::from(up), sticky: top % scale != 0 };
    }
    scale_large(digits, power)
}

fn scale_large(digits: &[u8], power: i64) -> Parts {
    let mut top = Big::default();
    for chunk in digits.chunks(9) {
        let value = chunk.iter().fold(0u32, |value, &digit| value * 10 + u32::from(digit));
        top.multiply_add(10u32.pow(chunk.len() as u32), value);
    }
    let mut bottom = Big::from(1);
    let scaled = if power >= 0 { &mut top } else { &mut bottom };
    let mut left = power.unsigned_abs();
    while left > 0 {
        let step = left.min(9);
        scaled.multiply_add(10u32.pow(step as u32), 0);
        left -= step;
    }
    divide(top, bottom)
}

/// A quotient of about a hundred bits.
fn divide(mut top: Big, mut bottom: Big) -> Parts {
    const WIDTH: i64 = 100;
    let shift = WIDTH - (top.width() as i64 - bottom.width() as i64);
    if shift > 0 {
        top.shift_left(shift as usize);
    } else {
        bottom.shift_left(-shift as usize);
    }
    bottom.shift_left(WIDTH as usize + 1);
    let mut bits = 0u128;
    for _ in 0..=WIDTH + 1 {
        bits <<= 1;
        if top.subtract_if_not_less(&bottom) {
            bits |= 1;
        }
        bottom.halve();
    }
    Parts { bits, exponent: -shift, sticky: top.width() > 0 }
}

/// An unsigned integer of any size, lowest limb first, no zero limb on top.
#[derive(Default)]
struct Big(Vec<u32>);

impl From<u64> for Big {
    fn from(value: u64) -> Self {
        let mut big = Self(vec![value as u32, (value >> 32) as u32]);
        big.trim();
        big
    }
}

impl Big {
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn width(&self) -> usize {
        self.0.last().map_or(0, |top| self.0.len() * 32 - top.leading_zeros() as usize)
    }

    fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.0 {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn shift_left(&mut self, bits: usize) {
        if !bits.is_multiple_of(32) {
            self.multiply_add(1 << (bits % 32), 0);
        }
        self.0.splice(0..0, std::iter::repeat_n(0, bits / 32));
        self.trim();
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for limb in self.0.iter_mut().rev() {
            let low = *limb & 1;
            *limb = *limb >> 1 | carry << 31;
            carry = low;
        }
        self.trim();
    }

    fn subtract_if_not_less(&mut self, other: &Self) -> bool {
        let less = self
            .0
            .len()
            .cmp(&other.0.len())
            .then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()));
        if less.is_lt() {
            return false;
        }
        let mut borrow = false;
        for (at, limb) in self.0.iter_mut().enumerate() {
            let taken = other.0.get(at).copied().unwrap_or(0);
            let (value, first) = limb.overflowing_sub(taken);
            let (value, second) = value.overflowing_sub(u32::from(borrow));
            *limb = value;
            borrow = first || second;
        }
        self.trim();
        true
    }

    fn print(mut self, out: &mut Vec<u8>) {
        let mut groups = Vec::new();
        while !self.0.is_empty() {
            let mut rest = 0u64;
            for limb in self.0.iter_mut().rev() {
                rest = rest << 32 | u64::from(*limb);
                *limb = (rest / 1_000_000_000) as u32;
                rest %= 1_000_000_000;
            }
            groups.push(rest as u32);
            self.trim();
        }
        let top = groups.pop().unwrap_or(0);
        out.extend_from_slice(itoa::Buffer::new().format(top).as_bytes());
        for group in groups.iter().rev() {
            out.extend_from_slice(format!("{group:09}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn short_numbers_round_alike_on_the_large_path(value: u64, power in -18i64..=19) {
            let digits: Vec<u8> = (value % 10u64.pow(19)).to_string().bytes().map(|b| b - b'0').collect();
            prop_assume!(digits[0] != 0);
            let quick = scale_decimal(&digits, power).round(64, LOWEST);
            prop_assert_eq!(quick, scale_large(&digits, power).round(64, LOWEST));
        }

        #[test]
        fn a_double_is_read_exactly_as_a_long_double(value: f64) {
            prop_assume!(value.is_normal());
            let exact = LongDouble::parse(format!("{value:e}").as_bytes());
            let plain = LongDouble::parse(format!("{value}").as_bytes());
            prop_assert_eq!(exact, plain);
        }
    }
}
