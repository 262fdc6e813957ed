//! Small readers of store replies and one place for the deadline of the server's own calls.

use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Store, Value};

/// How long a route waits for one call of its own.
pub(crate) const CALL: Duration = Duration::from_secs(2);

/// A command from its words.
pub(crate) fn cmd(words: &[&str]) -> Cmd {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    cmd
}

/// Sends one command with the usual deadline.
pub(crate) async fn call(store: &dyn Store, words: &[&str]) -> Result<Value, Fault> {
    store.call(&cmd(words), Deadline::after(CALL)).await
}

/// Text of a reply; `None` for nil and for what is no text. Bytes that are not UTF-8 are shown as `\xNN`.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(readable(bytes)),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.clone()),
        Value::Okay => Some("OK".to_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::Double(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A number of a reply.
pub(crate) fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        other => text(other)?.parse().ok(),
    }
}

/// The elements of an array, or of a RESP3 map or set flattened.
pub(crate) fn items(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) | Value::Set(items) => items.iter().collect(),
        Value::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        _ => Vec::new(),
    }
}

/// The pairs of a flat array or a RESP3 map.
pub(crate) fn pairs(value: &Value) -> Vec<(String, String)> {
    let flat: Vec<String> = items(value).into_iter().map(|v| text(v).unwrap_or_default()).collect();
    flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// UTF-8 as it is, other bytes as `\xNN`.
pub(crate) fn readable(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}
