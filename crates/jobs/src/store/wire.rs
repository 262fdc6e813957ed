//! Reading replies that several files read: lists of texts, SCAN, patterns.

use kernel::{Value, reply};

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let parts = reply::list(value).unwrap_or_default().iter();
    parts.filter_map(|part| reply::text(part).map(str::to_owned)).collect()
}

/// The cursor and the texts of a SCAN reply.
pub(crate) fn scanned(value: &Value) -> (Vec<u8>, Vec<String>) {
    let parts = reply::list(value).unwrap_or_default();
    let cursor = match parts.first() {
        Some(Value::Int(cursor)) => cursor.to_string().into_bytes(),
        Some(other) => reply::bytes(other).unwrap_or(b"0").to_vec(),
        None => b"0".to_vec(),
    };
    (cursor, parts.get(1).map(texts).unwrap_or_default())
}

/// A text as a pattern of SCAN that means itself.
pub(crate) fn escape_glob(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?[]\\^".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
