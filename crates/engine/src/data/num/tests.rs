//! Numbers as Redis reads and spells them.

use super::*;
use proptest::prelude::*;

fn g17(value: f64) -> String {
    String::from_utf8(fmt_double(value)).unwrap()
}

fn g14(value: f64) -> String {
    let mut out = Vec::new();
    write_g(&mut out, value, 14);
    String::from_utf8(out).unwrap()
}

fn sum(a: &str, b: &str) -> Option<String> {
    let a = parse_long_double(a.as_bytes())?;
    let b = parse_long_double(b.as_bytes())?;
    let mut out = Vec::new();
    fmt_human(a.checked_add(b)?, &mut out);
    Some(String::from_utf8(out).unwrap())
}

#[test]
fn integers_are_read_strictly() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-1", Some(-1)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("99999999999999999999", None),
        ("+1", None),
        ("01", None),
        ("-0", None),
        ("-", None),
        ("", None),
        (" 1", None),
        ("1 ", None),
        ("1a", None),
    ] {
        assert_eq!(parse_i64(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn doubles_are_read_as_strtod_does() {
    for (text, expected) in [
        ("1", Some(1.0)),
        ("+1.5", Some(1.5)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1e3", Some(1000.0)),
        ("inf", Some(f64::INFINITY)),
        ("+INF", Some(f64::INFINITY)),
        ("-Infinity", Some(f64::NEG_INFINITY)),
        ("0x10", Some(16.0)),
        ("-0x1.8p1", Some(-3.0)),
        ("0x1p-1074", Some(5e-324)),
        ("0x1.fffffffffffff8p0", Some(2.0)),
        ("4.9e-324", Some(5e-324)),
        ("0e400", Some(0.0)),
        ("0x0p99999", Some(0.0)),
        ("1e400", None),
        ("1e-400", None),
        ("0x1p1024", None),
        ("0x1p-1076", None),
        ("0x", None),
        ("0xg", None),
        ("0x1p", None),
        ("nan", None),
        ("", None),
        (" 1", None),
        ("1 ", None),
        ("1e", None),
        (".", None),
        ("1,5", None),
    ] {
        assert_eq!(parse_f64(text.as_bytes()), expected, "{text:?}");
    }
    assert_eq!(parse_f64(b"-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
    assert_eq!(parse_f64(b"1\0"), None);
}

#[test]
fn doubles_are_printed_as_printf_does() {
    for (value, expected) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (3.5, "3.5"),
        (0.1, "0.10000000000000001"),
        (1e16, "10000000000000000"),
        (1e17, "1e+17"),
        (-1.5e300, "-1.5000000000000001e+300"),
        (1e-5, "1.0000000000000001e-05"),
        (0.0001, "0.0001"),
        (123_456.789, "123456.789"),
        (5e-324, "4.9406564584124654e-324"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(g17(value), expected);
    }
    for (value, expected) in [
        (1e15, "1e+15"),
        (9_007_199_254_740_992.0, "9.007199254741e+15"),
        (0.1, "0.1"),
        (12_345_678_901_232.5, "12345678901232"),
        (12_345_678_901_233.5, "12345678901234"),
        (99_999_999_999_999.5, "1e+14"),
        (3.0, "3"),
        (1e100, "1e+100"),
    ] {
        assert_eq!(g14(value), expected);
    }
    let mut out = Vec::new();
    fmt_stored_double(1e17, &mut out);
    assert_eq!(out, b"100000000000000000");
}

#[test]
fn float_sums_print_as_a_long_double_does() {
    for (a, b, expected) in [
        ("0.1", "0.2", Some("0.3")),
        ("10.50", "0.1", Some("10.6")),
        ("3.0e3", "200", Some("3200")),
        ("5.0e3", "2.0e2", Some("5200")),
        ("1", "-1", Some("0")),
        ("-0", "-0", Some("0")),
        ("1.23", "-1.23", Some("0")),
        ("17179869184", "17179869184", Some("34359738368")),
        ("1e-20", "0", Some("0")),
        ("-1e-20", "0", Some("0")),
        ("0x1p4", "0", Some("16")),
        ("inf", "1", None),
        ("1e5000", "1", None),
        ("1e-5000", "1", None),
        ("nan", "1", None),
        ("", "1", None),
        (" 1", "1", None),
        ("1 ", "1", None),
        ("1e4932", "1e4932", None),
    ] {
        assert_eq!(sum(a, b).as_deref(), expected, "{a} + {b}");
    }
}

proptest! {
    #[test]
    fn integers_agree_with_the_standard_library(value: i64) {
        prop_assert_eq!(parse_i64(value.to_string().as_bytes()), Some(value));
    }

    #[test]
    fn printed_doubles_read_back_as_themselves(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        prop_assert_eq!(parse_f64(&fmt_double(value)).map(f64::to_bits), Some(bits));
    }

    #[test]
    fn arbitrary_bytes_never_panic(text: Vec<u8>, number in "[-+0-9.eExXpPinf]{0,30}") {
        for text in [text.as_slice(), number.as_bytes()] {
            parse_i64(text);
            parse_f64(text);
            if let Some(value) = parse_long_double(text) {
                fmt_human(value, &mut Vec::new());
            }
        }
    }
}
