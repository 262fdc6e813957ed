//! Replies of commands as Lua values, and values that scripts return as replies, as Redis converts them
//! in both protocols.

use mlua::{Lua, LuaString, Table, Value};

use super::number;
use super::sandbox::error_table;
use crate::out::Out;

/// Deeper values end in an error reply. The reference goes on until its stack is full, some thousand levels
/// further; readers of replies are recursive, ours and those of clients, so we stop where none is harmed.
const DEEPEST: usize = 200;

/// Field names that give a table a meaning, made once.
pub(crate) struct Names {
    err: LuaString,
    ok: LuaString,
    double: LuaString,
    big_number: LuaString,
    verbatim_string: LuaString,
    format: LuaString,
    string: LuaString,
    map: LuaString,
    set: LuaString,
}

impl Names {
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        Ok(Self {
            err: lua.create_string("err")?,
            ok: lua.create_string("ok")?,
            double: lua.create_string("double")?,
            big_number: lua.create_string("big_number")?,
            verbatim_string: lua.create_string("verbatim_string")?,
            format: lua.create_string("format")?,
            string: lua.create_string("string")?,
            map: lua.create_string("map")?,
            set: lua.create_string("set")?,
        })
    }
}

/// The first reply in `bytes` as a Lua value, and how many bytes it takes. Handlers write whole replies.
pub(crate) fn to_lua(lua: &Lua, bytes: &[u8]) -> mlua::Result<(Value, usize)> {
    let broken = || mlua::Error::runtime("a command wrote half a reply");
    let (&kind, rest) = bytes.split_first().ok_or_else(broken)?;
    let line_end = memchr::memchr(b'\r', rest).ok_or_else(broken)?;
    let line = &rest[..line_end];
    let next = line_end + 3;
    let body = || {
        let length = usize::try_from(integer(line)).ok()?;
        bytes.get(next..next + length).map(|body| (body, next + length + 2))
    };
    let value = match kind {
        b':' => Value::Number(number::of_i64(integer(line))),
        b'$' | b'*' if line == b"-1" => Value::Boolean(false),
        b'$' => {
            let (body, end) = body().ok_or_else(broken)?;
            return Ok((Value::String(lua.create_string(body)?), end));
        }
        b'+' => {
            let table = lua.create_table()?;
            set_text(lua, &table, "ok", line)?;
            Value::Table(table)
        }
        b'-' => Value::Table(error_table(lua, line)?),
        b'*' | b'>' => return array(lua, bytes, integer(line), next),
        b'%' => return map(lua, bytes, integer(line), next),
        b'~' => return set(lua, bytes, integer(line), next),
        b'_' => Value::Nil,
        b'#' => Value::Boolean(line == b"t"),
        b',' => {
            let table = lua.create_table()?;
            table.raw_set("double", number::read_number(line).0)?;
            Value::Table(table)
        }
        b'(' => {
            let table = lua.create_table()?;
            table.raw_set("big_number", lua.create_string(line)?)?;
            Value::Table(table)
        }
        b'=' => {
            let (body, end) = body().ok_or_else(broken)?;
            let (format, text) = body.split_at_checked(4).ok_or_else(broken)?;
            let inner = lua.create_table()?;
            inner.raw_set("string", lua.create_string(text)?)?;
            inner.raw_set("format", lua.create_string(&format[..3])?)?;
            let table = lua.create_table()?;
            table.raw_set("verbatim_string", inner)?;
            return Ok((Value::Table(table), end));
        }
        _ => return Err(broken()),
    };
    Ok((value, next))
}

/// Sets a field to a string. Text goes straight into the table; other bytes go by way of a value.
fn set_text(lua: &Lua, table: &Table, key: impl mlua::IntoLua, bytes: &[u8]) -> mlua::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) => table.raw_set(key, text),
        Err(_) => table.raw_set(key, lua.create_string(bytes)?),
    }
}

/// The body of a bulk string and the length of the whole reply; nothing when it is another reply.
fn bulk(reply: &[u8]) -> Option<(&[u8], usize)> {
    let rest = reply.strip_prefix(b"$")?;
    let line_end = memchr::memchr(b'\r', rest)?;
    let length = usize::try_from(integer(&rest[..line_end])).ok()?;
    let start = line_end + 3;
    Some((reply.get(start..start + length)?, start + length + 2))
}

fn integer(line: &[u8]) -> i64 {
    crate::data::num::parse_i64(line).unwrap_or(0)
}

fn array(lua: &Lua, bytes: &[u8], count: i64, mut at: usize) -> mlua::Result<(Value, usize)> {
    let count = usize::try_from(count).unwrap_or(0);
    let table = lua.create_table_with_capacity(count.min(bytes.len() / 4), 0)?;
    for index in 1..=count {
        let rest = &bytes[at..];
        at += if let Some((body, used)) = bulk(rest) {
            set_text(lua, &table, index, body)?;
            used
        } else {
            let (value, used) = to_lua(lua, rest)?;
            table.raw_set(index, value)?;
            used
        };
    }
    Ok((Value::Table(table), at))
}

fn map(lua: &Lua, bytes: &[u8], count: i64, mut at: usize) -> mlua::Result<(Value, usize)> {
    let inner = lua.create_table()?;
    for _ in 0..count {
        let (key, used) = to_lua(lua, &bytes[at..])?;
        at += used;
        let (value, used) = to_lua(lua, &bytes[at..])?;
        at += used;
        inner.raw_set(key, value)?;
    }
    let table = lua.create_table()?;
    table.raw_set("map", inner)?;
    Ok((Value::Table(table), at))
}

fn set(lua: &Lua, bytes: &[u8], count: i64, mut at: usize) -> mlua::Result<(Value, usize)> {
    let inner = lua.create_table()?;
    for _ in 0..count {
        let (member, used) = to_lua(lua, &bytes[at..])?;
        at += used;
        inner.raw_set(member, true)?;
    }
    let table = lua.create_table()?;
    table.raw_set("set", inner)?;
    Ok((Value::Table(table), at))
}

/// A table being written: the values left, last first, or the next index of an array.
enum Frame {
    Array { table: Table, next: i64, count: i64 },
    Flat(Vec<Value>),
}

/// Writes what a script returned. `script_resp3` is what the script chose with `redis.setresp`.
pub(crate) fn to_resp(
    names: &Names,
    out: &mut Out,
    value: Value,
    script_resp3: bool,
) -> mlua::Result<()> {
    let mut open: Vec<Frame> = Vec::new();
    write(names, out, value, script_resp3, &mut open)?;
    while let Some(frame) = open.last_mut() {
        let value = match frame {
            Frame::Array { table, next, count } => {
                *next += 1;
                if *next > *count { None } else { Some(table.raw_get(*next)?) }
            }
            Frame::Flat(values) => values.pop(),
        };
        match value {
            Some(value) => write(names, out, value, script_resp3, &mut open)?,
            None => drop(open.pop()),
        }
    }
    Ok(())
}

/// Writes one value; what is inside it is left in `open`.
fn write(
    names: &Names,
    out: &mut Out,
    value: Value,
    script_resp3: bool,
    open: &mut Vec<Frame>,
) -> mlua::Result<()> {
    if open.len() > DEEPEST {
        out.error("ERR reached lua stack limit");
        return Ok(());
    }
    match value {
        Value::String(text) => out.bulk(&text.as_bytes()),
        Value::Integer(whole) => out.int(whole),
        Value::Number(number) => out.int(number::to_i64(number)),
        Value::Boolean(on) if script_resp3 => out.bool(on),
        Value::Boolean(true) => out.int(1),
        Value::Table(table) => write_table(names, out, table, open)?,
        _ => out.null(),
    }
    Ok(())
}

fn write_table(
    names: &Names,
    out: &mut Out,
    table: Table,
    open: &mut Vec<Frame>,
) -> mlua::Result<()> {
    // A table with a first element and no error is an array, whatever else is in it, unless one of
    // the other names says otherwise.
    if let Value::String(text) = table.raw_get(&names.err)? {
        out.error_bytes(&text.as_bytes());
        return Ok(());
    }
    if let Value::String(text) = table.raw_get(&names.ok)? {
        let text = text.as_bytes();
        let end = memchr::memchr(0, &text).unwrap_or(text.len());
        out.status(&String::from_utf8_lossy(&text[..end]));
        return Ok(());
    }
    match table.raw_get(&names.double)? {
        Value::Number(number) => return write_double(out, number),
        Value::Integer(whole) => return write_double(out, number::of_i64(whole)),
        _ => {}
    }
    if let Value::String(text) = table.raw_get(&names.big_number)? {
        let text: Vec<u8> = text.as_bytes().iter().map(|b| line_byte(*b)).collect();
        if out.resp3 {
            out.buf.push(b'(');
            out.buf.extend_from_slice(&text);
            out.buf.extend_from_slice(b"\r\n");
        } else {
            out.bulk(&text);
        }
        return Ok(());
    }
    if let Value::Table(inner) = table.raw_get(&names.verbatim_string)?
        && let Value::String(format) = inner.raw_get(&names.format)?
        && let Value::String(text) = inner.raw_get(&names.string)?
    {
        write_verbatim(out, &format.as_bytes(), &text.as_bytes());
        return Ok(());
    }
    if let Value::Table(inner) = table.raw_get(&names.map)? {
        let mut values = Vec::new();
        for pair in inner.pairs::<Value, Value>() {
            let (key, value) = pair?;
            values.push(key);
            values.push(value);
        }
        out.map(values.len() / 2);
        values.reverse();
        open.push(Frame::Flat(values));
        return Ok(());
    }
    if let Value::Table(inner) = table.raw_get(&names.set)? {
        let mut values = Vec::new();
        for pair in inner.pairs::<Value, bool>() {
            values.push(pair?.0);
        }
        out.set(values.len());
        values.reverse();
        open.push(Frame::Flat(values));
        return Ok(());
    }
    let mut count = 0;
    // Read as an optional boolean, an element makes no reference.
    while table.raw_get::<Option<bool>>(count + 1)?.is_some() {
        count += 1;
    }
    out.array(usize::try_from(count).unwrap_or(0));
    open.push(Frame::Array { table, next: 0, count });
    Ok(())
}

fn line_byte(byte: u8) -> u8 {
    if byte == b'\r' || byte == b'\n' { b' ' } else { byte }
}

fn write_double(out: &mut Out, number: f64) -> mlua::Result<()> {
    out.double(number);
    Ok(())
}

fn write_verbatim(out: &mut Out, format: &[u8], text: &[u8]) {
    if !out.resp3 {
        return out.bulk(text);
    }
    let mut kind = *b"   ";
    for (to, from) in kind.iter_mut().zip(format) {
        *to = *from;
    }
    out.buf.extend_from_slice(format!("={}\r\n", text.len() + 4).as_bytes());
    out.buf.extend_from_slice(&kind);
    out.buf.push(b':');
    out.buf.extend_from_slice(text);
    out.buf.extend_from_slice(b"\r\n");
}
