//! Values in the serialization of Redis's snapshot files, version 10, as `DUMP` hands them out: the parts that
//! reading and writing share, and the writer. Strings are written uncompressed.

pub(crate) mod read;

use crate::data::stream::Id;
use crate::data::{Stream, Value, listpack, num};

/// The version that is written, and the newest that is read.
pub(crate) const VERSION: u16 = 10;

/// Types of values, as their first byte tells.
pub(crate) mod kind {
    pub(crate) const STRING: u8 = 0;
    pub(crate) const LIST: u8 = 1;
    pub(crate) const SET: u8 = 2;
    pub(crate) const ZSET: u8 = 3;
    pub(crate) const HASH: u8 = 4;
    pub(crate) const ZSET_2: u8 = 5;
    pub(crate) const SET_INTSET: u8 = 11;
    pub(crate) const STREAM: u8 = 15;
    pub(crate) const HASH_LISTPACK: u8 = 16;
    pub(crate) const ZSET_LISTPACK: u8 = 17;
    pub(crate) const LIST_QUICKLIST_2: u8 = 18;
    pub(crate) const STREAM_2: u8 = 19;
}

/// Node of a list: elements in a listpack, or one element by itself.
pub(crate) const NODE_PACKED: u64 = 2;
pub(crate) const NODE_PLAIN: u64 = 1;
/// Bytes of elements in one node of a list.
const NODE_BYTES: usize = 8 * 1024;

const CRC_TABLE: [u64; 256] = {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// The checksum of a payload (CRC-64 with the polynomial of Jones).
pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |crc, byte| CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

/// A value as a payload of `DUMP`: type, value, version, checksum.
pub(crate) fn payload(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_value(&mut out, value);
    out.extend_from_slice(&VERSION.to_le_bytes());
    let crc = crc64(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

pub(crate) fn write_len(out: &mut Vec<u8>, len: u64) {
    match len {
        0..64 => out.push(len as u8),
        64..16_384 => out.extend_from_slice(&[0x40 | (len >> 8) as u8, len as u8]),
        16_384..=0xffff_ffff => {
            out.push(0x80);
            out.extend_from_slice(&(len as u32).to_be_bytes());
        }
        _ => {
            out.push(0x81);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
}

/// A string; the plain spelling of a number of up to 32 bits is written as that number.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    let number = if text.len() <= 11 { num::parse_i64(text) } else { None };
    if let Some(number) = number {
        let bytes = number.to_le_bytes();
        if i8::try_from(number).is_ok() {
            return out.extend_from_slice(&[0xc0, bytes[0]]);
        } else if i16::try_from(number).is_ok() {
            return out.extend_from_slice(&[0xc1, bytes[0], bytes[1]]);
        } else if i32::try_from(number).is_ok() {
            out.push(0xc2);
            return out.extend_from_slice(&bytes[..4]);
        }
    }
    write_raw(out, text);
}

fn write_raw(out: &mut Vec<u8>, bytes: &[u8]) {
    write_len(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(text) => {
            out.push(kind::STRING);
            write_string(out, text);
        }
        Value::Int(number) => {
            out.push(kind::STRING);
            write_string(out, itoa::Buffer::new().format(*number).as_bytes());
        }
        Value::List(list) => {
            out.push(kind::LIST_QUICKLIST_2);
            write_list(out, list.iter());
        }
        Value::Set(set) if set.is_ints() => {
            out.push(kind::SET_INTSET);
            let mut numbers: Vec<i64> = set
                .iter()
                .filter_map(|member| num::parse_i64(member.to_text().as_bytes()))
                .collect();
            numbers.sort_unstable();
            write_raw(out, &intset(&numbers));
        }
        Value::Set(set) => {
            out.push(kind::SET);
            write_len(out, set.len() as u64);
            for member in set.iter() {
                write_string(out, member.to_text().as_bytes());
            }
        }
        Value::Hash(hash) if hash.is_packed() => {
            out.push(kind::HASH_LISTPACK);
            let mut elements = Vec::new();
            for (field, value) in hash.iter() {
                listpack::put(&mut elements, field);
                listpack::put(&mut elements, value);
            }
            write_raw(out, &listpack::wrap(&elements, hash.len() * 2));
        }
        Value::Hash(hash) => {
            out.push(kind::HASH);
            write_len(out, hash.len() as u64);
            for (field, value) in hash.iter() {
                write_string(out, field);
                write_string(out, value);
            }
        }
        Value::Zset(zset) if zset.is_packed() => {
            out.push(kind::ZSET_LISTPACK);
            let mut elements = Vec::new();
            for (member, score) in zset.iter() {
                listpack::put(&mut elements, member);
                let mut text = Vec::new();
                num::fmt_stored_double(score, &mut text);
                listpack::put(&mut elements, &text);
            }
            write_raw(out, &listpack::wrap(&elements, zset.len() * 2));
        }
        Value::Zset(zset) => {
            out.push(kind::ZSET_2);
            write_len(out, zset.len() as u64);
            for (member, score) in zset.range_rev(0..zset.len()) {
                write_string(out, member);
                out.extend_from_slice(&score.to_le_bytes());
            }
        }
        Value::Stream(stream) => {
            out.push(kind::STREAM_2);
            write_stream(out, stream);
        }
    }
}

fn write_list<'a>(out: &mut Vec<u8>, elements: impl Iterator<Item = &'a [u8]>) {
    let mut nodes: Vec<(Vec<u8>, usize)> = Vec::new();
    for element in elements {
        if nodes.last().is_none_or(|(bytes, _)| bytes.len() + element.len() > NODE_BYTES) {
            nodes.push((Vec::new(), 0));
        }
        let (bytes, count) = nodes.last_mut().expect("there is one now");
        listpack::put(bytes, element);
        *count += 1;
    }
    write_len(out, nodes.len() as u64);
    for (bytes, count) in nodes {
        write_len(out, NODE_PACKED);
        write_raw(out, &listpack::wrap(&bytes, count));
    }
}

/// Sorted numbers, each as wide as the widest needs.
fn intset(numbers: &[i64]) -> Vec<u8> {
    let fits = |bits: u32| numbers.iter().all(|n| *n >= -(1 << (bits - 1)) && *n < 1 << (bits - 1));
    let width = if fits(16) {
        2
    } else if fits(32) {
        4
    } else {
        8
    };
    let mut out = Vec::with_capacity(8 + numbers.len() * width);
    out.extend_from_slice(&(width as u32).to_le_bytes());
    out.extend_from_slice(&(numbers.len() as u32).to_le_bytes());
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes()[..width]);
    }
    out
}

fn id_bytes(id: Id) -> [u8; 16] {
    (u128::from(id.ms) << 64 | u128::from(id.seq)).to_be_bytes()
}

fn write_id(out: &mut Vec<u8>, id: Id) {
    write_len(out, id.ms);
    write_len(out, id.seq);
}

fn write_stream(out: &mut Vec<u8>, stream: &Stream) {
    let entries = &stream.entries;
    write_len(out, entries.node_count() as u64);
    for (first, pack) in entries.export() {
        write_raw(out, &id_bytes(first));
        write_raw(out, &pack);
    }
    write_len(out, entries.len() as u64);
    write_id(out, entries.last_id);
    write_id(out, entries.first_id());
    write_id(out, entries.max_deleted_id);
    write_len(out, entries.added);
    write_len(out, stream.groups.0.len() as u64);
    for (name, group) in &stream.groups.0 {
        write_string(out, name);
        write_id(out, group.last_id);
        write_len(out, group.entries_read.unwrap_or(-1) as u64);
        write_len(out, group.pending.len() as u64);
        for (id, pending) in &group.pending {
            out.extend_from_slice(&id_bytes(*id));
            out.extend_from_slice(&pending.delivered_ms.to_le_bytes());
            write_len(out, pending.deliveries as u64);
        }
        write_len(out, group.consumers.len() as u64);
        for (name, consumer) in &group.consumers {
            write_string(out, name);
            out.extend_from_slice(&consumer.seen_ms.to_le_bytes());
            write_len(out, consumer.pending.len() as u64);
            for id in &consumer.pending {
                out.extend_from_slice(&id_bytes(*id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_redis() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn a_number_is_dumped_as_redis_7_does() {
        // DUMP of the string 10 on Redis 7.0.15.
        let expected = b"\x00\xc0\x0a\x0a\x00\x6e\x9f\x57\x45\x0e\xae\x63\xbb";
        assert_eq!(payload(&Value::string(b"10")), expected);
    }
}
