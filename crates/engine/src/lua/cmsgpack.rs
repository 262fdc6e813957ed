//! `cmsgpack`: `MessagePack` as lua-cmsgpack 0.4.0 in Redis 7.0 writes and reads it.
//! Numbers take the smallest form, tables with keys 1..n are arrays, nesting ends at 16 with nil.

use std::sync::Arc;

use mlua::{BString, Lua, MultiValue, Table, Value};

use super::watch::{Meter, Watch};
use super::{number, raise};

const MAX_NESTING: usize = 16;
/// Lua's C stack holds 8000 slots; the reference stops there with the same words.
const MAX_SLOTS: usize = 7000;
const TOO_MANY: &str = "stack overflow (too many return values at once; \
                        use unpack_one or unpack_limit instead.)";

/// The `cmsgpack` table.
pub(crate) fn install(lua: &Lua, watch: &Arc<Watch>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| pack(lua, &shared, &args);
    table.raw_set("pack", lua.create_function(call)?)?;
    table.raw_set("unpack", lua.create_function(unpack)?)?;
    table.raw_set("unpack_one", lua.create_function(unpack_one)?)?;
    table.raw_set("unpack_limit", lua.create_function(unpack_limit)?)?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.raw_set("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo")?;
    table.raw_set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    Ok(table)
}

fn pack(lua: &Lua, watch: &Watch, args: &MultiValue) -> mlua::Result<BString> {
    if args.is_empty() {
        return Err(raise::argument(lua, 0, "MessagePack pack needs input."));
    }
    let mut out = Out { bytes: Vec::new(), meter: Meter::new(watch) };
    for value in args {
        encode(&mut out, value, 0)?;
    }
    Ok(out.bytes.into())
}

/// The bytes written so far, and the budget for more.
struct Out<'a> {
    bytes: Vec<u8>,
    meter: Meter<'a>,
}

fn encode(out: &mut Out<'_>, value: &Value, level: usize) -> mlua::Result<()> {
    out.meter.step(out.bytes.len())?;
    let bytes = &mut out.bytes;
    match value {
        Value::String(text) => encode_bytes(bytes, &text.as_bytes()),
        Value::Boolean(true) => bytes.push(0xc3),
        Value::Boolean(false) => bytes.push(0xc2),
        Value::Integer(whole) => encode_integer(bytes, *whole),
        Value::Number(number) => encode_number(bytes, *number),
        Value::Table(table) if level < MAX_NESTING => encode_table(out, table, level)?,
        _ => bytes.push(0xc0),
    }
    Ok(())
}

fn encode_number(out: &mut Vec<u8>, value: f64) {
    let whole = number::to_i64(value);
    #[expect(clippy::float_cmp, reason = "exactness is the question")]
    if value.is_finite() && number::of_i64(whole) == value {
        return encode_integer(out, whole);
    }
    #[expect(clippy::cast_possible_truncation, reason = "tried, and compared below")]
    let short = value as f32;
    #[expect(clippy::float_cmp, reason = "exactness is the question")]
    if f64::from(short) == value {
        out.push(0xca);
        out.extend_from_slice(&short.to_be_bytes());
    } else {
        out.push(0xcb);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

fn encode_integer(out: &mut Vec<u8>, value: i64) {
    let bytes = value.to_be_bytes();
    let (tag, width) = match value {
        -32..=0x7f => return out.push(bytes[7]),
        0x80..=0xff => (0xcc, 1),
        0x100..=0xffff => (0xcd, 2),
        0x1_0000..=0xffff_ffff => (0xce, 4),
        0x1_0000_0000.. => (0xcf, 8),
        -0x80..-32 => (0xd0, 1),
        -0x8000..-0x80 => (0xd1, 2),
        -0x8000_0000..-0x8000 => (0xd2, 4),
        _ => (0xd3, 8),
    };
    out.push(tag);
    out.extend_from_slice(&bytes[8 - width..]);
}

/// A header with the shortest length that fits; a length above 32 bits is cut, as the reference.
fn encode_length(out: &mut Vec<u8>, length: usize, fixed: (usize, u8), tags: [u8; 3]) {
    let bytes = (length as u64).to_be_bytes();
    if length < fixed.0 {
        out.push(fixed.1 | bytes[7]);
    } else if length <= 0xff && tags[0] != 0 {
        out.extend_from_slice(&[tags[0], bytes[7]]);
    } else if length <= 0xffff {
        out.push(tags[1]);
        out.extend_from_slice(&bytes[6..]);
    } else {
        out.push(tags[2]);
        out.extend_from_slice(&bytes[4..]);
    }
}

fn encode_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    encode_length(out, bytes.len(), (32, 0xa0), [0xd9, 0xda, 0xdb]);
    out.extend_from_slice(bytes);
}

fn encode_table(out: &mut Out<'_>, table: &Table, level: usize) -> mlua::Result<()> {
    let (count, is_array) = shape(table)?;
    if is_array {
        let length = table.raw_len();
        encode_length(&mut out.bytes, length, (16, 0x90), [0, 0xdc, 0xdd]);
        for index in 1..=length {
            encode(out, &table.raw_get(index)?, level + 1)?;
        }
    } else {
        encode_length(&mut out.bytes, count, (16, 0x80), [0, 0xde, 0xdf]);
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            encode(out, &key, level + 1)?;
            encode(out, &value, level + 1)?;
        }
    }
    Ok(())
}

/// How many keys, and whether they are exactly 1..n.
fn shape(table: &Table) -> mlua::Result<(usize, bool)> {
    let (mut count, mut max, mut array) = (0usize, 0i64, true);
    // Reading values as booleans never makes a reference to them.
    for pair in table.pairs::<Value, bool>() {
        match pair?.0 {
            Value::Integer(key) if key > 0 && i32::try_from(key).is_ok() => max = max.max(key),
            _ => array = false,
        }
        count += 1;
    }
    Ok((count, array && usize::try_from(max).is_ok_and(|max| max == count)))
}

/// Why decoding stopped.
enum Bad {
    Short,
    Format,
    Lua(mlua::Error),
}

impl From<mlua::Error> for Bad {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

/// A container being filled, and how many elements are missing.
enum OpenContainer {
    Array { table: Table, next: usize, left: usize },
    Map { table: Table, key: Option<Value>, left: usize },
}

struct Decoder<'a> {
    lua: &'a Lua,
    left: &'a [u8],
}

impl Decoder<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], Bad> {
        let (head, tail) = self.left.split_at_checked(count).ok_or(Bad::Short)?;
        self.left = tail;
        Ok(head)
    }

    fn unsigned(&mut self, width: usize) -> Result<u64, Bad> {
        Ok(self.take(width)?.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }

    fn length(&mut self, width: usize) -> Result<usize, Bad> {
        Ok(usize::try_from(self.unsigned(width)?).unwrap_or(usize::MAX))
    }

    fn signed(&mut self, width: usize) -> Result<Value, Bad> {
        let bits = self.unsigned(width)?;
        let shift = 64 - 8 * width;
        Ok(Value::Number(number::of_i64((bits << shift).cast_signed() >> shift)))
    }

    fn string(&mut self, length: usize) -> Result<Value, Bad> {
        let lua = self.lua;
        Ok(Value::String(lua.create_string(self.take(length)?)?))
    }

    /// One value, containers and all, without recursion.
    fn value(&mut self, depth_left: usize) -> Result<Value, Bad> {
        let mut open: Vec<OpenContainer> = Vec::new();
        loop {
            let mut done = match self.scalar_or_header()? {
                Ok(value) => value,
                Err(container) => {
                    if open.len() * 3 >= depth_left {
                        return Err(Bad::Lua(raise::error(self.lua, TOO_MANY)));
                    }
                    open.push(container);
                    match close(&mut open) {
                        Some(value) => value,
                        None => continue,
                    }
                }
            };
            loop {
                match open.last_mut() {
                    None => return Ok(done),
                    Some(OpenContainer::Array { table, next, left }) => {
                        table.raw_set(*next, done)?;
                        *next += 1;
                        *left -= 1;
                    }
                    Some(OpenContainer::Map { table, key, left }) => match key.take() {
                        None => *key = Some(done),
                        Some(Value::Nil) => return Err(raise::bare("table index is nil").into()),
                        Some(Value::Number(number)) if number.is_nan() => {
                            return Err(raise::bare("table index is NaN").into());
                        }
                        Some(key) => {
                            table.raw_set(key, done)?;
                            *left -= 1;
                        }
                    },
                }
                match close(&mut open) {
                    Some(value) => done = value,
                    None => break,
                }
            }
        }
    }

    /// A plain value, or the header of a container (`Err`).
    fn scalar_or_header(&mut self) -> Result<Result<Value, OpenContainer>, Bad> {
        let tag = self.take(1)?[0];
        let value = match tag {
            0x00..=0x7f => Value::Integer(i64::from(tag)),
            0xe0..=0xff => Value::Integer(i64::from(tag.cast_signed())),
            0xa0..=0xbf => self.string(usize::from(tag & 0x1f))?,
            0x90..=0x9f => return self.array(usize::from(tag & 0xf)).map(Err),
            0x80..=0x8f => return self.map(usize::from(tag & 0xf)).map(Err),
            0xc0 => Value::Nil,
            0xc2 => Value::Boolean(false),
            0xc3 => Value::Boolean(true),
            0xca => {
                let raw: [u8; 4] = self.take(4)?.try_into().unwrap_or_default();
                Value::Number(f64::from(f32::from_be_bytes(raw)))
            }
            0xcb => {
                let raw: [u8; 8] = self.take(8)?.try_into().unwrap_or_default();
                Value::Number(f64::from_be_bytes(raw))
            }
            // Unsigned 64-bit values pass through a signed integer, as in the reference.
            0xcc..=0xcf => {
                let bits = self.unsigned(1 << (tag - 0xcc))?;
                Value::Number(number::of_i64(bits.cast_signed()))
            }
            0xd0..=0xd3 => self.signed(1 << (tag - 0xd0))?,
            0xd9..=0xdb => {
                let length = self.length(1 << (tag - 0xd9))?;
                self.string(length)?
            }
            0xdc | 0xdd => {
                let length = self.length(2 << (tag - 0xdc))?;
                return self.array(length).map(Err);
            }
            0xde | 0xdf => {
                let length = self.length(2 << (tag - 0xde))?;
                return self.map(length).map(Err);
            }
            _ => return Err(Bad::Format),
        };
        Ok(Ok(value))
    }

    fn array(&self, left: usize) -> Result<OpenContainer, Bad> {
        Ok(OpenContainer::Array { table: self.lua.create_table()?, next: 1, left })
    }

    fn map(&self, left: usize) -> Result<OpenContainer, Bad> {
        Ok(OpenContainer::Map { table: self.lua.create_table()?, key: None, left })
    }
}

/// The innermost container, if it is complete.
fn close(open: &mut Vec<OpenContainer>) -> Option<Value> {
    match open.last()? {
        OpenContainer::Array { left: 0, .. } | OpenContainer::Map { left: 0, key: None, .. } => {
            match open.pop()? {
                OpenContainer::Array { table, .. } | OpenContainer::Map { table, .. } => {
                    Some(Value::Table(table))
                }
            }
        }
        _ => None,
    }
}

fn unpack(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    unpack_full(lua, &args.into_vec(), 0, 0)
}

fn unpack_one(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = args.into_vec();
    let offset = raise::opt_integer(lua, &args, 2, 0)?;
    unpack_full(lua, &args, 1, offset)
}

fn unpack_limit(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = args.into_vec();
    let limit = raise::check_integer(lua, &args, 2)?;
    let offset = raise::opt_integer(lua, &args, 3, 0)?;
    unpack_full(lua, &args, limit, offset)
}

fn unpack_full(lua: &Lua, args: &[Value], limit: i64, offset: i64) -> mlua::Result<MultiValue> {
    raise::with_string(lua, args, 1, |data| {
        let length = data.len();
        // The reference prints these as C ints, and the length where it says limit.
        let (start, Ok(mut limit)) = (usize::try_from(offset), usize::try_from(limit)) else {
            return Err(invalid_request(lua, offset, length));
        };
        let Ok(start) = start else { return Err(invalid_request(lua, offset, length)) };
        if start > length {
            let text = format!("Start offset {} greater than input length {length}.", int(offset));
            return Err(raise::error(lua, text));
        }
        let all = limit == 0 && start == 0;
        if all {
            limit = usize::MAX;
        }
        let mut decoder = Decoder { lua, left: &data[start..] };
        let mut values: Vec<Value> = Vec::new();
        while !decoder.left.is_empty() && values.len() < limit {
            if values.len() >= MAX_SLOTS {
                return Err(raise::error(lua, TOO_MANY));
            }
            let value = decoder.value(MAX_SLOTS - values.len()).map_err(|bad| match bad {
                Bad::Short => raise::error(lua, "Missing bytes in input."),
                Bad::Format => raise::error(lua, "Bad data format in input."),
                Bad::Lua(error) => error,
            })?;
            values.push(value);
        }
        if !all {
            let rest = decoder.left.len();
            let next = if rest == 0 { -1 } else { i64::try_from(length - rest).unwrap_or(-1) };
            values.insert(0, Value::Integer(next));
        }
        Ok(MultiValue::from_vec(values))
    })
}

/// A 64-bit integer as C prints it through an `int`.
fn int(value: i64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the reference prints an int")]
    let low = value as i32;
    low
}

fn invalid_request(lua: &Lua, offset: i64, length: usize) -> mlua::Error {
    let offset = int(offset);
    let text = format!("Invalid request to unpack with offset of {offset} and limit of {length}.");
    raise::error(lua, text)
}
