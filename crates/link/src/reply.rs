//! Reads RESP2 replies as bytes arrive. Strict: whatever a Redis would not send means that the other end
//! is no Redis or that we lost our place, and the connection must be closed. Nesting and lengths are
//! bounded, and memory grows with what has arrived, never with what was merely announced.

use bytes::{Buf as _, BytesMut};
use kernel::{Fault, Value};

const QUEUED: &[u8] = b"+QUEUED\r\n";
const NESTING_MAX: usize = 64; // Lua cannot return deeper tables
const LINE_MAX: usize = 64 * 1024;
const BULK_MAX: usize = 512 * 1024 * 1024; // proto-max-bulk-len

/// Not RESP; says what came instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProtocolError(pub(crate) String);

/// A reply under construction: the arrays that are still open, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    open: Vec<(usize, Vec<Value>)>,
}

impl Reader {
    /// The next whole reply, or `None` when more bytes are needed.
    pub(crate) fn next(&mut self, bytes: &mut BytesMut) -> Result<Option<Value>, ProtocolError> {
        while let Some(part) = Self::part(bytes)? {
            let mut value = match part {
                Part::Whole(value) => value,
                Part::Array(0) => Value::Array(Vec::new()),
                Part::Array(count) => {
                    if self.open.len() == NESTING_MAX {
                        return Err(ProtocolError(format!(
                            "a reply nested over {NESTING_MAX} levels"
                        )));
                    }
                    self.open.push((count, Vec::with_capacity(count.min(1024))));
                    continue;
                }
            };
            // Close every array that this value completes.
            loop {
                let Some((count, items)) = self.open.last_mut() else { return Ok(Some(value)) };
                items.push(value);
                if items.len() < *count {
                    break;
                }
                let (_, items) = self.open.pop().expect("it was just looked at");
                value = Value::Array(items);
            }
        }
        Ok(None)
    }

    /// Passes over replies that say that a command was queued, at most so many; says how many there were.
    pub(crate) fn pass_queued(&self, bytes: &mut BytesMut, most: usize) -> usize {
        if !self.open.is_empty() {
            return 0;
        }
        let alike =
            bytes.chunks_exact(QUEUED.len()).take(most).take_while(|reply| *reply == QUEUED);
        let count = alike.count();
        bytes.advance(count * QUEUED.len());
        count
    }

    fn part(bytes: &mut BytesMut) -> Result<Option<Part>, ProtocolError> {
        let Some(&kind) = bytes.first() else { return Ok(None) };
        if !b"+-:$*".contains(&kind) {
            return Err(garbage(bytes));
        }
        let Some(end) = bytes.iter().take(LINE_MAX).position(|byte| *byte == b'\n') else {
            return if bytes.len() >= LINE_MAX { Err(garbage(bytes)) } else { Ok(None) };
        };
        if end < 2 && kind != b'+' || end < 1 || bytes[end - 1] != b'\r' {
            return Err(garbage(bytes));
        }
        let text = &bytes[1..end - 1];
        let value = match kind {
            b'+' if text == b"OK" => Value::Okay,
            b'+' => Value::SimpleString(String::from_utf8_lossy(text).into_owned()),
            b'-' => error(text),
            b':' => Value::Int(number(text).ok_or_else(|| garbage(bytes))?),
            _ => {
                let length = number(text).ok_or_else(|| garbage(bytes))?;
                let limit = if kind == b'$' { BULK_MAX } else { u32::MAX as usize };
                let length = match usize::try_from(length) {
                    Ok(length) if length <= limit => length,
                    Err(_) if length == -1 => {
                        bytes.advance(end + 1);
                        return Ok(Some(Part::Whole(Value::Nil)));
                    }
                    _ => return Err(garbage(bytes)),
                };
                if kind == b'*' {
                    bytes.advance(end + 1);
                    return Ok(Some(Part::Array(length)));
                }
                let whole = end + 1 + length + 2;
                if bytes.len() < whole {
                    bytes.reserve((whole - bytes.len()).min(1 << 20));
                    return Ok(None);
                }
                if &bytes[whole - 2..whole] != b"\r\n" {
                    return Err(garbage(&bytes[whole - 2..]));
                }
                let value = Value::BulkString(bytes[end + 1..whole - 2].to_vec());
                bytes.advance(whole);
                return Ok(Some(Part::Whole(value)));
            }
        };
        bytes.advance(end + 1);
        Ok(Some(Part::Whole(value)))
    }
}

enum Part {
    Whole(Value),
    Array(usize),
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn garbage(bytes: &[u8]) -> ProtocolError {
    let shown: String =
        String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).escape_debug().collect();
    ProtocolError(format!("not a Redis reply: \"{shown}\""))
}

// `ServerError` has no public constructor; its own parser makes one of the line.
fn error(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    let line = format!("-{text}\r\n");
    redis::parse_redis_value(line.as_bytes()).unwrap_or(Value::SimpleString(text.into_owned()))
}

/// An error reply as a fault, everything else as it is.
pub(crate) fn outcome(value: Value) -> Result<Value, Fault> {
    match value {
        Value::ServerError(error) => Err(refused(&error)),
        value => Ok(value),
    }
}

/// The fault that an error reply is.
pub(crate) fn refused(error: &redis::ServerError) -> Fault {
    Fault::Refused {
        code: error.code().to_owned(),
        detail: error.details().unwrap_or_default().to_owned(),
    }
}

/// The code of an error reply, such as `MOVED`.
pub(crate) fn code(value: &Value) -> Option<&str> {
    match value {
        Value::ServerError(error) => Some(error.code()),
        _ => None,
    }
}

/// The text of a bulk reply that is still RESP; `None` when it is nil or no bulk.
pub(crate) fn raw_bulk(reply: &[u8]) -> Option<&[u8]> {
    let rest = reply.strip_prefix(b"$").filter(|rest| !rest.starts_with(b"-"))?;
    let start = rest.iter().position(|byte| *byte == b'\n')? + 1;
    rest.get(start..rest.len().checked_sub(2)?)
}

/// The text of a bulk or simple string.
pub(crate) fn text(value: &Value) -> Option<std::borrow::Cow<'_, str>> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes)),
        Value::SimpleString(text) => Some(text.as_str().into()),
        Value::Okay => Some("OK".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[u8] = b"+OK\r\n+PONG\r\n:-7\r\n$5\r\nhe\r\no\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*1\r\n:1\r\n-ERR no\r\n-WRONGTYPE bad kind\r\n";

    fn read(chunks: &[&[u8]]) -> Vec<Value> {
        let (mut reader, mut bytes, mut found) = (Reader::default(), BytesMut::new(), Vec::new());
        for chunk in chunks {
            bytes.extend_from_slice(chunk);
            while let Some(value) = reader.next(&mut bytes).expect("well formed") {
                found.push(value);
            }
        }
        assert!(bytes.is_empty());
        found
    }

    #[test]
    fn replies_are_the_same_however_the_bytes_are_cut() {
        let whole = read(&[ALL]);
        assert_eq!(whole.len(), 9);
        assert_eq!(whole[3], Value::BulkString(b"he\r\no".to_vec()));
        let Value::Array(nested) = &whole[7] else { panic!("an array") };
        assert_eq!(nested[0], Value::Array(vec![Value::Int(1)]));
        assert_eq!(code(&nested[1]), Some("ERR"));
        assert_eq!(code(&whole[8]), Some("WRONGTYPE"));
        for size in 1..ALL.len() {
            assert_eq!(read(&ALL.chunks(size).collect::<Vec<_>>()), whole, "chunks of {size}");
        }
    }

    #[test]
    fn replies_that_say_queued_are_passed_over_up_to_the_last() {
        let mut bytes = BytesMut::from(&b"+QUEUED\r\n+QUEUED\r\n-ERR no\r\n+QUEUED\r\n+QUEU"[..]);
        let mut reader = Reader::default();
        assert_eq!(reader.pass_queued(&mut bytes, 1), 1);
        assert_eq!(reader.pass_queued(&mut bytes, 9), 1);
        assert_eq!(reader.pass_queued(&mut bytes, 9), 0);
        assert_eq!(code(&reader.next(&mut bytes).unwrap().unwrap()), Some("ERR"));
        assert_eq!(reader.pass_queued(&mut bytes, 9), 1);
        assert_eq!(&bytes[..], b"+QUEU");
    }

    #[test]
    fn whatever_a_redis_would_not_send_is_garbage() {
        let deep = [b"*1\r\n".repeat(NESTING_MAX + 1), b":1\r\n".to_vec()].concat();
        let long = [b"+".to_vec(), vec![b'a'; LINE_MAX]].concat();
        for bad in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"\x15\x03\x01\x00\x02",
            b":12a\r\n",
            b"$99999999999\r\n",
            b"$-2\r\n",
            b"*-7\r\n",
            b"$2\r\nabc\r\n",
            b"+line\n",
            b"\r\n",
            &deep,
            &long,
        ] {
            let mut bytes = BytesMut::from(bad);
            assert!(
                Reader::default().next(&mut bytes).is_err(),
                "{:?}",
                bad.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn an_announced_length_takes_no_memory() {
        let mut bytes = BytesMut::from(&b"*1000000000\r\n$500000000\r\nabc"[..]);
        assert_eq!(Reader::default().next(&mut bytes), Ok(None));
        assert!(bytes.capacity() < 4 << 20);
    }
}
