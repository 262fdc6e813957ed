//! Raw JSON text: compacting it without respelling anything, and reading members of objects that other
//! programs wrote.

use std::borrow::Cow;

use kernel::json;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The same JSON without white space between its parts, as `JSON.stringify` would have it; numbers, escapes
/// and order keep their bytes. `text` must be valid JSON.
pub(crate) fn compact(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if quoted {
            out.push(c);
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => quoted = false,
                _ => {}
            }
        } else if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            quoted = c == '"';
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// How deep arrays and objects are nested.
pub(super) fn depth(text: &str) -> usize {
    let (mut deep, mut most, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                deep += 1;
                most = most.max(deep);
            }
            b']' | b'}' if !quoted => deep = deep.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// A JSON string.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}

/// The members of an object that may be none.
pub(super) struct Object<'a>(Vec<json::Member<'a>>);

impl<'a> Object<'a> {
    /// The members of an object; a value that is no object has none.
    pub(super) fn of(raw: Option<&'a RawValue>) -> Object<'a> {
        let raw = raw.filter(|raw| raw.get() != "{}");
        Object(raw.and_then(|raw| json::members(raw.get()).ok()).unwrap_or_default())
    }

    /// The members of a text, or what is wrong with it.
    pub(super) fn read(text: &'a str) -> Result<Object<'a>, String> {
        match json::members(text) {
            Ok(members) => Ok(Object(members)),
            // Any other JSON has no members.
            Err(_) => match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => Ok(Object(Vec::new())),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|member| member.name == name).map(|member| member.raw)
    }

    /// The member, if it is there and of that type.
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// A whole number, also when JavaScript spelled it `1e3` or `5.0`.
    pub(super) fn whole(&self, name: &str) -> Option<i64> {
        whole(self.raw(name)?.get())
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        self.whole(name).and_then(|number| u64::try_from(number).ok())
    }

    /// The strings of an array; anything else in it is passed over.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        if self.raw(name).is_none_or(|raw| raw.get() == "[]") {
            return Vec::new();
        }
        let values: Vec<serde_json::Value> = self.get(name).unwrap_or_default();
        values.into_iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }
}

/// A JSON number that is whole and exact in JavaScript.
pub(super) fn whole(text: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    let number: f64 = serde_json::from_str(text).ok()?;
    #[allow(clippy::cast_possible_truncation)] // whole and within 2^53
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_keeps_every_spelling() {
        let text = " { \"a b\" : [ 1.50 , 1e15 ],\n\"s\":\"x \\\" \\\\ \" , \"e\":{ } } ";
        assert_eq!(compact(text), r#"{"a b":[1.50,1e15],"s":"x \" \\ ","e":{}}"#);
    }

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        assert_eq!(depth("1"), 0);
        assert_eq!(depth(r#"{"a":["[[[\"{",[{}]]}"#), 4);
    }

    #[test]
    fn a_whole_number_may_be_spelled_as_a_float() {
        assert_eq!(whole("5.0"), Some(5));
        assert_eq!(whole("1e3"), Some(1000));
        assert_eq!(whole("1.5"), None);
        assert_eq!(whole("1e300"), None);
        assert_eq!(whole("\"5\""), None);
    }
}
