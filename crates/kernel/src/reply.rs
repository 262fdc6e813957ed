//! Reading what the store answered. RESP 2 and 3 spell some replies differently (a score as text or as a
//! number, a map as a flat list); these helpers accept both, so that callers never look at the protocol.

use redis::Value;

use crate::fault::Fault;

/// Text of any kind; `None` for nil and for what is no text.
pub fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.as_bytes()),
        Value::Okay => Some(b"OK"),
        _ => None,
    }
}

/// Text that is UTF-8.
pub fn text(value: &Value) -> Option<&str> {
    std::str::from_utf8(bytes(value)?).ok()
}

/// A whole number, also when it came as text.
pub fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        Value::Boolean(yes) => Some(i64::from(*yes)),
        other => text(other)?.parse().ok(),
    }
}

/// A number, also when it came as text.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        #[allow(clippy::cast_precision_loss)] // scores are doubles anyway
        Value::Int(int) => Some(*int as f64),
        other => text(other)?.parse().ok(),
    }
}

/// The elements of a list or set; nil is an empty one.
pub fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) | Value::Set(items) => Some(items),
        Value::Nil => Some(&[]),
        _ => None,
    }
}

/// Pairs of a map, or of a flat list of names and values, or of a list of pairs; nil is an empty one.
pub fn pairs(value: &Value) -> Option<Vec<(&Value, &Value)>> {
    match value {
        Value::Map(pairs) => Some(pairs.iter().map(|(name, value)| (name, value)).collect()),
        Value::Nil => Some(Vec::new()),
        Value::Array(items) if matches!(items.first(), Some(Value::Array(_))) => items
            .iter()
            .map(|item| match item {
                Value::Array(pair) if pair.len() == 2 => Some((&pair[0], &pair[1])),
                _ => None,
            })
            .collect(),
        Value::Array(items) if items.len() % 2 == 0 => {
            Some(items.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect())
        }
        _ => None,
    }
}

/// The fault for an answer that the command never gives.
pub fn unexpected(key: impl AsRef<[u8]>, wanted: &str, value: &Value) -> Fault {
    let mut seen = format!("{value:?}");
    if seen.len() > 200 {
        let end = (0..=200).rev().find(|at| seen.is_char_boundary(*at)).unwrap_or(0);
        seen.truncate(end);
        seen.push('…');
    }
    Fault::Corrupt {
        key: String::from_utf8_lossy(key.as_ref()).into_owned(),
        detail: format!("expected {wanted}, the store answered {seen}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn both_protocols_read_alike() {
        assert_eq!(number(&bulk("1.5")), number(&Value::Double(1.5)));
        assert_eq!(int(&bulk("7")), int(&Value::Int(7)));
        assert_eq!(text(&Value::Okay), Some("OK"));
        let flat = Value::Array(vec![bulk("a"), bulk("1")]);
        let nested = Value::Array(vec![Value::Array(vec![bulk("a"), bulk("1")])]);
        let map = Value::Map(vec![(bulk("a"), bulk("1"))]);
        for value in [flat, nested, map] {
            assert_eq!(pairs(&value).unwrap(), vec![(&bulk("a"), &bulk("1"))]);
        }
        assert_eq!(pairs(&Value::Nil).unwrap(), vec![]);
        assert_eq!(list(&Value::Nil).unwrap(), &[] as &[Value]);
    }

    #[test]
    fn an_unexpected_answer_is_named_and_cut_short() {
        let fault = unexpected("k", "a word", &bulk(&"é".repeat(500)));
        assert!(fault.to_string().len() < 1000, "{fault}");
        assert!(fault.to_string().starts_with("bad value at k: expected a word"));
    }
}
