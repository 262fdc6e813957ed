//! Replies read back: from the RESP bytes a handler wrote to the `redis` crate's [`Value`].

use memchr::memchr;
use redis::{PushKind, Value, VerbatimFormat};

/// The value at the front of `buf` and its length. `None` if the bytes are no whole reply, which would be a
/// bug of a handler.
pub(crate) fn value(buf: &[u8]) -> Option<(Value, usize)> {
    let end = 1 + memchr(b'\r', buf.get(1..)?)?;
    let line = &buf[1..end];
    let next = end + 2;
    let simple = |value| Some((value, next));
    match buf[0] {
        b'+' if line == b"OK" => simple(Value::Okay),
        b'+' => simple(Value::SimpleString(String::from_utf8_lossy(line).into_owned())),
        b':' => simple(Value::Int(number(line)?)),
        b'$' => match usize::try_from(number(line)?) {
            Err(_) => simple(Value::Nil),
            Ok(len) => {
                Some((Value::BulkString(buf.get(next..next + len)?.to_vec()), next + len + 2))
            }
        },
        b'*' if line == b"-1" => simple(Value::Nil),
        b'*' => {
            let (items, end) = items(buf, next, usize::try_from(number(line)?).ok()?)?;
            Some((Value::Array(items), end))
        }
        b'~' => {
            let (items, end) = items(buf, next, usize::try_from(number(line)?).ok()?)?;
            Some((Value::Set(items), end))
        }
        b'%' => {
            let (flat, end) = items(buf, next, 2 * usize::try_from(number(line)?).ok()?)?;
            let mut flat = flat.into_iter();
            let pairs = std::iter::from_fn(|| Some((flat.next()?, flat.next()?))).collect();
            Some((Value::Map(pairs), end))
        }
        b'>' => {
            let (mut data, end) = items(buf, next, usize::try_from(number(line)?).ok()?)?;
            let kind = match data.remove(0) {
                Value::BulkString(kind) => push_kind(&kind),
                _ => PushKind::Other(String::new()),
            };
            Some((Value::Push { kind, data }, end))
        }
        b',' => simple(Value::Double(crate::data::num::parse_f64(line)?)),
        b'#' => simple(Value::Boolean(line == b"t")),
        b'_' => simple(Value::Nil),
        b'(' => simple(Value::BigNumber(line.to_vec())),
        b'=' => {
            let len = usize::try_from(number(line)?).ok()?;
            let text = String::from_utf8_lossy(buf.get(next + 4..next + len)?).into_owned();
            let format = match &buf[next..next + 3] {
                b"txt" => VerbatimFormat::Text,
                b"mkd" => VerbatimFormat::Markdown,
                other => VerbatimFormat::Unknown(String::from_utf8_lossy(other).into_owned()),
            };
            Some((Value::VerbatimString { format, text }, next + len + 2))
        }
        // The crate builds its own error type only from bytes.
        b'-' => Some((redis::parse_redis_value(&buf[..next]).ok()?, next)),
        _ => None,
    }
}

fn number(line: &[u8]) -> Option<i64> {
    crate::data::num::parse_i64(line)
}

fn items(buf: &[u8], mut at: usize, count: usize) -> Option<(Vec<Value>, usize)> {
    let mut items = Vec::with_capacity(count.min(buf.len() / 3));
    for _ in 0..count {
        let (item, len) = value(buf.get(at..)?)?;
        items.push(item);
        at += len;
    }
    Some((items, at))
}

fn push_kind(kind: &[u8]) -> PushKind {
    match kind {
        b"invalidate" => PushKind::Invalidate,
        b"message" => PushKind::Message,
        b"pmessage" => PushKind::PMessage,
        b"smessage" => PushKind::SMessage,
        b"subscribe" => PushKind::Subscribe,
        b"unsubscribe" => PushKind::Unsubscribe,
        b"psubscribe" => PushKind::PSubscribe,
        b"punsubscribe" => PushKind::PUnsubscribe,
        b"ssubscribe" => PushKind::SSubscribe,
        b"sunsubscribe" => PushKind::SUnsubscribe,
        other => PushKind::Other(String::from_utf8_lossy(other).into_owned()),
    }
}
