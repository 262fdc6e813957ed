//! The value of a key: one of the types, 24 bytes in all. A string that is the plain spelling of a
//! 64-bit integer is held as that integer.

use super::num::parse_i64;
use super::{Hash, List, Set, Stream, Text, Zset};
use std::borrow::Cow;

/// Longest string that is tried as an integer: the sign and nineteen digits.
const DIGITS_MAX: usize = 20;
/// Longest string that Redis holds in one piece with its header.
const EMBEDDED_MAX: usize = 44;

/// The value of a key.
#[derive(Clone)]
pub enum Value {
    /// A string that is no plain integer, or that was edited in place.
    Text(Text),
    /// A string of decimal digits.
    Int(i64),
    /// A list.
    List(Box<List>),
    /// A hash.
    Hash(Box<Hash>),
    /// A set.
    Set(Box<Set>),
    /// A sorted set.
    Zset(Box<Zset>),
    /// A stream.
    Stream(Box<Stream>),
}

impl Value {
    /// A string value.
    #[inline]
    pub fn string(bytes: &[u8]) -> Self {
        if bytes.len() <= DIGITS_MAX
            && let Some(number) = parse_i64(bytes)
        {
            return Self::Int(number);
        }
        Self::Text(Text::new(bytes))
    }

    /// The bytes of a string value; nothing for other types.
    pub fn as_string(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Int(number) => {
                Some(Cow::Owned(itoa::Buffer::new().format(*number).as_bytes().to_vec()))
            }
            _ => None,
        }
    }

    /// Length of a string value; nothing for other types.
    pub fn string_len(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Int(number) => Some(itoa::Buffer::new().format(*number).len()),
            _ => None,
        }
    }

    /// The text of a string value to edit in place; an integer is spelled out first.
    pub fn as_text_mut(&mut self) -> Option<&mut Text> {
        if let Self::Int(number) = self {
            *self = Self::Text(Text::from_i64(*number));
        }
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The name that TYPE answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Int(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
            Self::Stream(_) => "stream",
        }
    }

    /// The name that OBJECT ENCODING answers.
    pub fn encoding_name(&self) -> &'static str {
        match self {
            Self::Int(_) => "int",
            Self::Text(text) if text.len() <= EMBEDDED_MAX && !text.is_edited() => "embstr",
            Self::Text(_) => "raw",
            Self::List(_) => "quicklist",
            Self::Hash(hash) if hash.is_packed() => "listpack",
            Self::Set(set) if set.is_ints() => "intset",
            Self::Zset(zset) if zset.is_packed() => "listpack",
            Self::Hash(_) | Self::Set(_) => "hashtable",
            Self::Zset(_) => "skiplist",
            Self::Stream(_) => "stream",
        }
    }

    /// Bytes held on the heap, besides the 24 of the value itself.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.heap_size(),
            Self::Int(_) => 0,
            Self::List(list) => list.memory_bytes(),
            Self::Hash(hash) => hash.memory_bytes(),
            Self::Set(set) => set.memory_bytes(),
            Self::Zset(zset) => zset.memory_bytes(),
            Self::Stream(stream) => stream.memory_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::*;

    #[test]
    fn a_value_takes_24_bytes() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn encodings_are_named_as_redis_does() {
        let limits = Limits::default();
        assert_eq!(Value::string(b"12").encoding_name(), "int");
        assert_eq!(Value::string(b"-9223372036854775808").encoding_name(), "int");
        assert_eq!(Value::string(b"012").encoding_name(), "embstr");
        assert_eq!(Value::string(&[b'x'; 44]).encoding_name(), "embstr");
        assert_eq!(Value::string(&[b'x'; 45]).encoding_name(), "raw");
        let mut edited = Value::string(b"12");
        edited.as_text_mut().unwrap().append(b"3");
        assert_eq!(edited.encoding_name(), "raw");
        assert_eq!(edited.as_string().as_deref(), Some(&b"123"[..]));
        assert_eq!(Value::List(Box::default()).encoding_name(), "quicklist");
        let mut set = Set::new();
        set.add(b"1", &limits);
        assert_eq!(Value::Set(Box::new(set.clone())).encoding_name(), "intset");
        set.add(b"a", &limits);
        assert_eq!(Value::Set(Box::new(set)).encoding_name(), "hashtable");
        assert_eq!(Value::Hash(Box::default()).encoding_name(), "listpack");
        assert_eq!(Value::Zset(Box::default()).encoding_name(), "listpack");
        assert_eq!(Value::Stream(Box::default()).encoding_name(), "stream");
    }
}
