//! The reader of `DUMP` payloads, ours and those of Redis up to version 7.0. The bytes come from a client: every
//! length is checked against what is there, nothing is reserved from an announced length, and a value that
//! contradicts itself is refused.

use std::sync::Arc;

use crate::data::rdb::{NODE_PACKED, NODE_PLAIN, VERSION, crc64, kind};
use crate::data::stream::Id;
use crate::data::stream::groups::{Group, Pending};
use crate::data::{Hash, Limits, List, Set, Stream, Value, Zset, listpack, num};

/// Whether version and checksum of a payload are right.
pub(crate) fn is_whole(payload: &[u8]) -> bool {
    let Some(body) = payload.len().checked_sub(10) else { return false };
    let version = u16::from_le_bytes([payload[body], payload[body + 1]]);
    version <= VERSION && crc64(&payload[..body + 2]).to_le_bytes() == payload[body + 2..]
}

/// The value of a payload whose checksum is right. `None` for one that is no value.
pub(crate) fn value(payload: &[u8], limits: &Limits) -> Option<Value> {
    let body = payload.get(..payload.len().checked_sub(10)?)?;
    let mut reader = RdbReader { rest: body };
    let kind = reader.byte()?;
    let value = reader.value(kind, limits)?;
    reader.rest.is_empty().then_some(value)
}

struct RdbReader<'a> {
    rest: &'a [u8],
}

/// A length, or how a string is encoded instead of having one.
enum Length {
    Plain(u64),
    Encoded(u8),
}

impl<'a> RdbReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn length(&mut self) -> Option<Length> {
        let first = self.byte()?;
        Some(match first >> 6 {
            0 => Length::Plain(u64::from(first)),
            1 => Length::Plain(u64::from(first & 0x3f) << 8 | u64::from(self.byte()?)),
            3 => Length::Encoded(first & 0x3f),
            _ => match first {
                0x80 => Length::Plain(u64::from(u32::from_be_bytes(self.array()?))),
                0x81 => Length::Plain(u64::from_be_bytes(self.array()?)),
                _ => return None,
            },
        })
    }

    fn len(&mut self) -> Option<u64> {
        match self.length()? {
            Length::Plain(len) => Some(len),
            Length::Encoded(_) => None,
        }
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        let number = |n: i64| Some(itoa::Buffer::new().format(n).as_bytes().to_vec());
        match self.length()? {
            Length::Plain(len) => Some(self.take(usize::try_from(len).ok()?)?.to_vec()),
            Length::Encoded(0) => number(i64::from(self.byte()? as i8)),
            Length::Encoded(1) => number(i64::from(i16::from_le_bytes(self.array()?))),
            Length::Encoded(2) => number(i64::from(i32::from_le_bytes(self.array()?))),
            Length::Encoded(3) => {
                let packed = usize::try_from(self.len()?).ok()?;
                let len = usize::try_from(self.len()?).ok()?;
                unpack_lzf(self.take(packed)?, len)
            }
            Length::Encoded(_) => None,
        }
    }

    /// A score as old versions wrote it: as text with its length, or a mark.
    fn old_double(&mut self) -> Option<f64> {
        match self.byte()? {
            255 => Some(f64::NEG_INFINITY),
            254 => Some(f64::INFINITY),
            253 => None,
            len => num::parse_f64(self.take(usize::from(len))?),
        }
    }

    fn double(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes).filter(|score| !score.is_nan())
    }

    fn value(&mut self, kind: u8, limits: &Limits) -> Option<Value> {
        Some(match kind {
            kind::STRING => Value::string(&self.string()?),
            kind::LIST => {
                let mut list = List::new();
                for _ in 0..self.len()? {
                    list.push_back(&self.string()?);
                }
                whole_list(list)?
            }
            kind::LIST_QUICKLIST_2 => self.quicklist()?,
            kind::SET => {
                let mut set = Set::new();
                for _ in 0..self.len()? {
                    set.add(&self.string()?, limits).then_some(())?;
                }
                whole_set(set)?
            }
            kind::SET_INTSET => intset(&self.string()?, limits)?,
            kind::HASH => {
                let mut hash = Hash::new();
                for _ in 0..self.len()? {
                    let (field, value) = (self.string()?, self.string()?);
                    hash.set(&field, &value, limits).then_some(())?;
                }
                whole_hash(hash)?
            }
            kind::HASH_LISTPACK => {
                let mut hash = Hash::new();
                for (field, value) in pairs(&self.string()?)? {
                    hash.set(&field, &value, limits).then_some(())?;
                }
                whole_hash(hash)?
            }
            kind::ZSET | kind::ZSET_2 => {
                let mut zset = Zset::new();
                for _ in 0..self.len()? {
                    let member = self.string()?;
                    let score = if kind == kind::ZSET { self.old_double() } else { self.double() };
                    add_score(&mut zset, &member, score?, limits)?;
                }
                whole_zset(zset)?
            }
            kind::ZSET_LISTPACK => {
                let mut zset = Zset::new();
                for (member, score) in pairs(&self.string()?)? {
                    add_score(&mut zset, &member, num::parse_f64(&score)?, limits)?;
                }
                whole_zset(zset)?
            }
            kind::STREAM | kind::STREAM_2 => {
                Value::Stream(Box::new(self.stream(kind == kind::STREAM_2)?))
            }
            _ => return None,
        })
    }

    fn quicklist(&mut self) -> Option<Value> {
        let mut list = List::new();
        for _ in 0..self.len()? {
            let container = self.len()?;
            let bytes = self.string()?;
            match container {
                NODE_PLAIN => list.push_back(&bytes),
                NODE_PACKED => {
                    for item in listpack::items(&bytes)? {
                        list.push_back(item.text(&mut itoa::Buffer::new()));
                    }
                }
                _ => return None,
            }
        }
        whole_list(list)
    }

    fn id(&mut self) -> Option<Id> {
        Some(Id::new(self.len()?, self.len()?))
    }

    fn raw_id(&mut self) -> Option<Id> {
        self.array().map(id_of)
    }

    fn stream(&mut self, second: bool) -> Option<Stream> {
        let mut stream = Stream::default();
        let entries = &mut stream.entries;
        for _ in 0..self.len()? {
            let first = id_of(self.string()?.try_into().ok()?);
            entries.import(first, &self.string()?).then_some(())?;
        }
        let len = self.len()?;
        entries.last_id = self.id()?;
        entries.added = len;
        if second {
            self.id()?;
            entries.max_deleted_id = self.id()?;
            entries.added = self.len()?;
        }
        let in_order = entries.last_live().is_none_or(|last| last <= entries.last_id);
        (len == entries.len() as u64 && in_order).then_some(())?;
        for _ in 0..self.len()? {
            let name = self.string()?;
            let last_id = self.id()?;
            let read = if second {
                Some(self.len()? as i64).filter(|read| *read != -1)
            } else {
                stream.entries.distance(last_id)
            };
            let group = self.group(Group::new(last_id, read))?;
            stream.groups.0.insert(name.into(), group).is_none().then_some(())?;
        }
        Some(stream)
    }

    fn group(&mut self, mut group: Group) -> Option<Group> {
        let nobody: Arc<[u8]> = Arc::from(&b""[..]);
        for _ in 0..self.len()? {
            let id = self.raw_id()?;
            let delivered_ms = i64::from_le_bytes(self.array()?);
            let deliveries = self.len()? as i64;
            let pending = Pending { consumer: nobody.clone(), delivered_ms, deliveries };
            group.pending.insert(id, pending).is_none().then_some(())?;
        }
        let mut held = 0;
        for _ in 0..self.len()? {
            let name = self.string()?;
            let seen_ms = i64::from_le_bytes(self.array()?);
            let name = group.create(&name, seen_ms)?;
            for _ in 0..self.len()? {
                let id = self.raw_id()?;
                group.pending.get_mut(&id)?.consumer = name.clone();
                let consumer = group.consumers.get_mut(&name)?;
                consumer.pending.insert(id).then_some(())?;
                held += 1;
            }
        }
        // Each pending entry is with exactly one consumer.
        let unheld = group.pending.iter().any(|(id, pending)| {
            group.consumers.get(&pending.consumer).is_none_or(|it| !it.pending.contains(id))
        });
        (held == group.pending.len() && !unheld).then_some(group)
    }
}

fn id_of(bytes: [u8; 16]) -> Id {
    let number = u128::from_be_bytes(bytes);
    Id::new((number >> 64) as u64, number as u64)
}

fn whole_list(list: List) -> Option<Value> {
    (!list.is_empty()).then(|| Value::List(Box::new(list)))
}

fn whole_set(set: Set) -> Option<Value> {
    (!set.is_empty()).then(|| Value::Set(Box::new(set)))
}

fn whole_hash(hash: Hash) -> Option<Value> {
    (!hash.is_empty()).then(|| Value::Hash(Box::new(hash)))
}

fn whole_zset(zset: Zset) -> Option<Value> {
    (!zset.is_empty()).then(|| Value::Zset(Box::new(zset)))
}

fn add_score(zset: &mut Zset, member: &[u8], score: f64, limits: &Limits) -> Option<()> {
    if score.is_nan() || zset.contains(member) {
        return None;
    }
    zset.insert(member, score, limits);
    Some(())
}

/// The elements of a listpack, two by two.
fn pairs(pack: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let items = listpack::items(pack)?;
    let (pairs, rest) = items.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[a, b]| (a.to_vec(), b.to_vec())).collect())
}

fn intset(bytes: &[u8], limits: &Limits) -> Option<Value> {
    let width = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let count = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
    let body = &bytes[8..];
    if !matches!(width, 2 | 4 | 8) || count.checked_mul(width)? != body.len() {
        return None;
    }
    let mut set = Set::new();
    for raw in body.chunks_exact(width) {
        let mut wide = [if raw[width - 1] & 0x80 != 0 { 0xff } else { 0 }; 8];
        wide[..width].copy_from_slice(raw);
        let number = i64::from_le_bytes(wide);
        set.add(itoa::Buffer::new().format(number).as_bytes(), limits).then_some(())?;
    }
    whole_set(set)
}

/// Unpacks LZF: runs of literal bytes, and copies of what came before.
fn unpack_lzf(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut reader = RdbReader { rest: packed };
    let mut out = Vec::new();
    while let Some(control) = reader.byte() {
        let control = usize::from(control);
        if control < 32 {
            out.extend_from_slice(reader.take(control + 1)?);
        } else {
            let mut count = control >> 5;
            if count == 7 {
                count += usize::from(reader.byte()?);
            }
            let back = (control & 0x1f) << 8 | usize::from(reader.byte()?);
            let from = out.len().checked_sub(back + 1)?;
            for at in from..from + count + 2 {
                out.push(out[at]);
            }
        }
        if out.len() > len {
            return None;
        }
    }
    (out.len() == len).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rdb::payload;
    use proptest::prelude::*;

    #[test]
    fn lzf_repeats_what_came_before() {
        // "aaaaaaaaaa" as one literal and a copy of nine.
        assert_eq!(unpack_lzf(&[0, b'a', 0xe0, 0, 0], 10).unwrap(), b"aaaaaaaaaa");
        assert_eq!(unpack_lzf(&[0, b'a', 0xe0, 0, 5], 10), None);
        assert_eq!(unpack_lzf(&[0, b'a'], 10), None);
        assert_eq!(unpack_lzf(&[9, b'a'], 10), None);
    }

    fn samples() -> Vec<Value> {
        let limits = Limits::default();
        let (mut list, mut set, mut hash, mut zset) =
            (List::new(), Set::new(), Hash::new(), Zset::new());
        let mut stream = Stream::default();
        for n in 0..300u64 {
            let text = format!("element {n}");
            list.push_back(text.as_bytes());
            set.add(text.as_bytes(), &limits);
            hash.set(text.as_bytes(), b"value", &limits);
            zset.insert(text.as_bytes(), n as f64 / 3.0, &limits);
            stream.entries.append(Id::new(n + 1, n), &[b"f", text.as_bytes()], &limits);
        }
        let mut group = Group::new(Id::new(9, 9), Some(9));
        let (ann, _) = group.see(b"ann", 5);
        group.assign(Id::new(3, 2), Pending { consumer: ann, delivered_ms: 8, deliveries: 2 });
        stream.groups.0.insert(Box::from(&b"g"[..]), group);
        vec![
            Value::string(b"text"),
            Value::List(Box::new(list)),
            Value::Set(Box::new(set)),
            Value::Hash(Box::new(hash)),
            Value::Zset(Box::new(zset)),
            Value::Stream(Box::new(stream)),
        ]
    }

    #[test]
    fn every_type_reads_back() {
        for value in samples() {
            let bytes = payload(&value);
            assert!(is_whole(&bytes));
            let again = super::value(&bytes, &Limits::default()).unwrap();
            assert_eq!(payload(&again).len(), bytes.len(), "{}", value.type_name());
        }
    }

    proptest! {
        #[test]
        fn damage_is_noticed_and_never_panics(
            which in 0..6usize,
            flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..5),
        ) {
            let mut bytes = payload(&samples()[which]);
            let before = bytes.clone();
            for (at, byte) in flips {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            prop_assert_eq!(is_whole(&bytes), bytes == before);
            let _ = super::value(&bytes, &Limits::default());
        }
    }
}
