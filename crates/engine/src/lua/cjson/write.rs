//! `cjson.encode`: a value as JSON text, with the quirks of the reference.

use mlua::{BString, Lua, MultiValue, Table, Value};

use super::{Config, DEEPEST};
use crate::lua::watch::Meter;
use crate::lua::{number, raise};

pub(super) fn encode(
    lua: &Lua,
    config: Config,
    meter: Meter<'_>,
    args: &MultiValue,
) -> mlua::Result<BString> {
    if args.len() != 1 {
        return Err(raise::argument(lua, 1, "expected 1 argument"));
    }
    let mut encoder = Encoder { lua, config, meter, out: Vec::with_capacity(64) };
    encoder.document(&args[0])?;
    Ok(encoder.out.into())
}

/// A table being written.
enum WriteFrame {
    Array {
        table: Table,
        next: i32,
        length: i32,
    },
    /// `after` follows the inner table being written; `rest` are the next ones.
    Object {
        rest: std::vec::IntoIter<(Table, Vec<u8>)>,
        after: Vec<u8>,
    },
}

struct Encoder<'a> {
    lua: &'a Lua,
    config: Config,
    meter: Meter<'a>,
    out: Vec<u8>,
}

impl Encoder<'_> {
    fn refuse(&self, value: &Value, reason: &str) -> mlua::Error {
        let kind = raise::type_name(Some(value));
        raise::error(self.lua, format!("Cannot serialise {kind}: {reason}"))
    }

    /// A value with everything inside it, without recursion: tables may be nested deeply.
    fn document(&mut self, value: &Value) -> mlua::Result<()> {
        let Value::Table(table) = value else { return self.scalar(value) };
        let mut open = Vec::new();
        self.enter(&mut open, table)?;
        while let Some(frame) = open.last_mut() {
            self.meter.step(self.out.len())?;
            match frame {
                WriteFrame::Array { next, length, .. } if *next > *length => {
                    self.out.push(b']');
                    open.pop();
                }
                WriteFrame::Array { table, next, .. } => {
                    if *next > 1 {
                        self.out.push(b',');
                    }
                    let value: Value = table.raw_get(*next)?;
                    *next += 1;
                    match value {
                        Value::Table(inner) => self.enter(&mut open, &inner)?,
                        scalar => self.scalar(&scalar)?,
                    }
                }
                WriteFrame::Object { rest, after } => {
                    self.out.append(after);
                    match rest.next() {
                        Some((inner, text)) => {
                            *after = text;
                            self.enter(&mut open, &inner)?;
                        }
                        None => drop(open.pop()),
                    }
                }
            }
        }
        Ok(())
    }

    fn scalar(&mut self, value: &Value) -> mlua::Result<()> {
        match value {
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Integer(whole) => self.number(number::of_i64(*whole), value)?,
            Value::Number(number) => self.number(*number, value)?,
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            Value::Nil => self.out.extend_from_slice(b"null"),
            null if null.is_null() => self.out.extend_from_slice(b"null"),
            other => return Err(self.refuse(other, "type not supported")),
        }
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        let mut plain = 0;
        for (at, byte) in text.iter().enumerate() {
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'/' => b"\\/",
                0x08 => b"\\b",
                b'\t' => b"\\t",
                b'\n' => b"\\n",
                0x0c => b"\\f",
                b'\r' => b"\\r",
                0..0x20 | 0x7f => b"",
                _ => continue,
            };
            self.out.extend_from_slice(&text[plain..at]);
            plain = at + 1;
            if escape.is_empty() {
                self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            } else {
                self.out.extend_from_slice(escape);
            }
        }
        self.out.extend_from_slice(&text[plain..]);
        self.out.push(b'"');
    }

    fn number(&mut self, number: f64, value: &Value) -> mlua::Result<()> {
        if !number.is_finite() {
            match self.config.encode_invalid {
                0 => return Err(self.refuse(value, "must not be NaN or Inf")),
                1 if number.is_nan() => {
                    self.out.extend_from_slice(b"nan");
                    return Ok(());
                }
                1 => {}
                _ => {
                    self.out.extend_from_slice(b"null");
                    return Ok(());
                }
            }
        }
        let precision = usize::try_from(self.config.precision).unwrap_or(14);
        number::write_g(&mut self.out, number, precision);
        Ok(())
    }

    /// Begins a table: an array, or an object of which the part before its first inner table is
    /// written at once.
    fn enter(&mut self, open: &mut Vec<WriteFrame>, table: &Table) -> mlua::Result<()> {
        let depth = i32::try_from(open.len()).unwrap_or(i32::MAX).saturating_add(1);
        if depth > self.config.encode_max_depth.min(DEEPEST) {
            let text = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(raise::error(self.lua, text));
        }
        match self.array_length(table)? {
            Some(length) if length > 0 => {
                self.out.push(b'[');
                open.push(WriteFrame::Array { table: table.clone(), next: 1, length });
            }
            _ => {
                let inner = self.object(table)?;
                open.push(WriteFrame::Object { rest: inner.into_iter(), after: Vec::new() });
            }
        }
        Ok(())
    }

    /// Writes an object up to its first inner table; gives the inner tables, each with the text behind.
    fn object(&mut self, table: &Table) -> mlua::Result<Vec<(Table, Vec<u8>)>> {
        let mut inner: Vec<(Table, Vec<u8>)> = Vec::new();
        // Once an inner table is found, `out` holds only the text behind it and this what came before.
        let mut text = Vec::new();
        let mut written = 0;
        self.out.push(b'{');
        let mut first = true;
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.meter.step(written + self.out.len())?;
            if !first {
                self.out.push(b',');
            }
            first = false;
            match &key {
                Value::String(text) => self.string(&text.as_bytes()),
                Value::Integer(_) | Value::Number(_) => {
                    self.out.push(b'"');
                    self.scalar(&key)?;
                    self.out.push(b'"');
                }
                other => return Err(self.refuse(other, "table key must be a number or string")),
            }
            self.out.push(b':');
            if let Value::Table(next) = value {
                written += self.out.len();
                let done = std::mem::take(&mut self.out);
                match inner.last_mut() {
                    Some((_, after)) => *after = done,
                    None => text = done,
                }
                inner.push((next, Vec::new()));
            } else {
                self.scalar(&value)?;
            }
        }
        self.out.push(b'}');
        if let Some((_, after)) = inner.last_mut() {
            *after = std::mem::replace(&mut self.out, text);
        }
        Ok(inner)
    }

    /// The highest index when all keys are whole numbers from 1, or `None` for an object.
    fn array_length(&self, table: &Table) -> mlua::Result<Option<i32>> {
        let (mut max, mut items): (i32, i32) = (0, 0);
        // Reading values as booleans never makes a reference to them.
        for pair in table.pairs::<Value, bool>() {
            match pair?.0 {
                Value::Integer(key) if key >= 1 => {
                    max = max.max(i32::try_from(key).unwrap_or(i32::MAX));
                }
                Value::Number(key) if key >= 1.0 && key.floor() >= key => max = i32::MAX,
                _ => return Ok(None),
            }
            items = items.saturating_add(1);
        }
        let Config { sparse_ratio, sparse_safe, sparse_convert, .. } = self.config;
        let allowed = i64::from(items) * i64::from(sparse_ratio);
        if sparse_ratio > 0 && i64::from(max) > allowed && max > sparse_safe {
            if sparse_convert == 0 {
                let value = Value::Table(table.clone());
                return Err(self.refuse(&value, "excessively sparse array"));
            }
            return Ok(None);
        }
        Ok(Some(max))
    }
}
