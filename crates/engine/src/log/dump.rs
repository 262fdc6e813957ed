//! A value as the commands that make it: the base of a rewritten log.

use crate::data::{Text, Value, num};
use crate::log::pending::encode;

/// Elements in one command at the most, as Redis writes them.
const PER_COMMAND: usize = 64;

/// Appends the commands that make `key` what it is.
pub(crate) fn dump(buf: &mut Vec<u8>, key: &[u8], value: &Value, deadline: Option<i64>) {
    match value {
        Value::Text(text) => encode(buf, &[b"SET", key, text]),
        Value::Int(number) => {
            encode(buf, &[b"SET", key, itoa::Buffer::new().format(*number).as_bytes()]);
        }
        Value::List(list) => many(buf, b"RPUSH", key, 1, list.iter().map(Text::new)),
        Value::Set(set) => many(buf, b"SADD", key, 1, set.iter().map(|member| member.to_text())),
        Value::Hash(hash) => {
            let pairs = hash.iter().flat_map(|(field, value)| [Text::new(field), Text::new(value)]);
            many(buf, b"HSET", key, 2, pairs);
        }
        Value::Zset(zset) => {
            let pairs = zset.iter().flat_map(|(member, score)| {
                let mut text = Vec::new();
                num::fmt_g17(score, &mut text);
                [Text::from(text), Text::new(member)]
            });
            many(buf, b"ZADD", key, 2, pairs);
        }
        Value::Stream(stream) => crate::log::dump_stream::dump(buf, key, stream),
    }
    if let Some(at) = deadline {
        encode(buf, &[b"PEXPIREAT", key, itoa::Buffer::new().format(at).as_bytes()]);
    }
}

/// `COMMAND key element…`, each element `width` arguments wide.
fn many(
    buf: &mut Vec<u8>,
    command: &[u8],
    key: &[u8],
    width: usize,
    arguments: impl Iterator<Item = Text>,
) {
    let mut arguments = arguments.peekable();
    while arguments.peek().is_some() {
        let some: Vec<Text> = arguments.by_ref().take(PER_COMMAND * width).collect();
        let mut argv: Vec<&[u8]> = vec![command, key];
        argv.extend(some.iter().map(Text::as_bytes));
        encode(buf, &argv);
    }
}
