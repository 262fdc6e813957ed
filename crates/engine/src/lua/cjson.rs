//! `cjson`: JSON as lua-cjson 2.1.0 in Redis 7.0 writes and reads it, quirks included: an empty
//! table is `{}`, `/` is escaped, numbers have 14 digits, a NUL byte ends the text.

use std::sync::Arc;

use mlua::{BString, Lua, MultiValue, Table, Value};
use parking_lot::Mutex;

use super::watch::{Meter, Watch};
use super::{number, raise};

/// Deeper tables are refused even when a script raises the limit; the reference ends near here too.
const DEEPEST: i32 = 2600;

/// Settings of one `cjson` instance; scripts change them, and they outlive the script.
#[derive(Clone, Copy)]
struct Config {
    sparse_convert: i32,
    sparse_ratio: i32,
    sparse_safe: i32,
    encode_max_depth: i32,
    decode_max_depth: i32,
    encode_invalid: i32,
    decode_invalid: i32,
    keep_buffer: i32,
    precision: i32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sparse_convert: 0,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            encode_invalid: 0,
            decode_invalid: 1,
            keep_buffer: 1,
            precision: 14,
        }
    }
}

type Shared = Arc<Mutex<Config>>;

/// A fresh `cjson` table with its own settings.
pub(crate) fn install(lua: &Lua, watch: &Arc<Watch>) -> mlua::Result<Table> {
    let config: Shared = Arc::default();
    let table = lua.create_table()?;
    let (shared, meter) = (config.clone(), watch.clone());
    let call = move |lua: &Lua, args: MultiValue| {
        let config = *shared.lock();
        encode(lua, config, Meter::new(&meter), &args)
    };
    table.raw_set("encode", lua.create_function(call)?)?;
    let shared = config.clone();
    let call = move |lua: &Lua, args: MultiValue| {
        let config = *shared.lock();
        decode(lua, config, &args.into_vec())
    };
    table.raw_set("decode", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, _: MultiValue| install(lua, &shared);
    table.raw_set("new", lua.create_function(call)?)?;
    table.raw_set("null", Value::NULL)?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    install_settings(lua, &table, &config)?;
    Ok(table)
}

fn install_settings(lua: &Lua, table: &Table, config: &Shared) -> mlua::Result<()> {
    setting(lua, table, config, "encode_sparse_array", 3, |lua, config, args| {
        let convert = choose(lua, args, 1, &mut config.sparse_convert, &["off", "on"])?;
        let ratio = integer(lua, args, 2, &mut config.sparse_ratio, (0, i32::MAX))?;
        let safe = integer(lua, args, 3, &mut config.sparse_safe, (0, i32::MAX))?;
        Ok(vec![convert, ratio, safe])
    })?;
    setting(lua, table, config, "encode_max_depth", 1, |lua, config, args| {
        Ok(vec![integer(lua, args, 1, &mut config.encode_max_depth, (1, i32::MAX))?])
    })?;
    setting(lua, table, config, "decode_max_depth", 1, |lua, config, args| {
        Ok(vec![integer(lua, args, 1, &mut config.decode_max_depth, (1, i32::MAX))?])
    })?;
    setting(lua, table, config, "encode_number_precision", 1, |lua, config, args| {
        Ok(vec![integer(lua, args, 1, &mut config.precision, (1, 14))?])
    })?;
    setting(lua, table, config, "encode_keep_buffer", 1, |lua, config, args| {
        Ok(vec![choose(lua, args, 1, &mut config.keep_buffer, &["off", "on"])?])
    })?;
    setting(lua, table, config, "encode_invalid_numbers", 1, |lua, config, args| {
        Ok(vec![choose(lua, args, 1, &mut config.encode_invalid, &["off", "on", "null"])?])
    })?;
    setting(lua, table, config, "decode_invalid_numbers", 1, |lua, config, args| {
        Ok(vec![choose(lua, args, 1, &mut config.decode_invalid, &["off", "on"])?])
    })
}

type Setting = fn(&Lua, &mut Config, &[Value]) -> mlua::Result<Vec<Value>>;

fn setting(
    lua: &Lua,
    table: &Table,
    config: &Shared,
    name: &str,
    most: usize,
    change: Setting,
) -> mlua::Result<()> {
    let config = config.clone();
    let call = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        if args.len() > most {
            return Err(raise::argument(lua, most + 1, "found too many arguments"));
        }
        change(lua, &mut config.lock(), &args).map(MultiValue::from_vec)
    };
    table.raw_set(name, lua.create_function(call)?)
}

fn integer(
    lua: &Lua,
    args: &[Value],
    index: usize,
    setting: &mut i32,
    (min, max): (i32, i32),
) -> mlua::Result<Value> {
    if !matches!(args.get(index - 1), None | Some(Value::Nil)) {
        #[expect(clippy::cast_possible_truncation, reason = "the reference keeps an int")]
        let value = raise::check_integer(lua, args, index)? as i32;
        if value < min || value > max {
            let text = format!("expected integer between {min} and {max}");
            return Err(raise::argument(lua, 1, text));
        }
        *setting = value;
    }
    Ok(Value::Integer(i64::from(*setting)))
}

fn choose(
    lua: &Lua,
    args: &[Value],
    index: usize,
    setting: &mut i32,
    options: &[&str],
) -> mlua::Result<Value> {
    match args.get(index - 1) {
        None | Some(Value::Nil) => {}
        Some(Value::Boolean(on)) => *setting = i32::from(*on),
        Some(_) => {
            *setting = raise::with_string(lua, args, index, |word| {
                let found = options.iter().position(|option| option.as_bytes() == word);
                found.and_then(|at| i32::try_from(at).ok()).ok_or_else(|| {
                    let text = [b"invalid option '", word, b"'"].concat();
                    raise::argument(lua, index, text)
                })
            })?;
        }
    }
    Ok(match *setting {
        0 => Value::Boolean(false),
        1 => Value::Boolean(true),
        other => {
            let word = usize::try_from(other).ok().and_then(|at| options.get(at));
            Value::String(lua.create_string(word.copied().unwrap_or_default())?)
        }
    })
}

fn encode(lua: &Lua, config: Config, meter: Meter<'_>, args: &MultiValue) -> mlua::Result<BString> {
    if args.len() != 1 {
        return Err(raise::argument(lua, 1, "expected 1 argument"));
    }
    let mut encoder = Encoder { lua, config, meter, out: Vec::with_capacity(64) };
    encoder.document(&args[0])?;
    Ok(encoder.out.into())
}

/// A table being written.
enum Frame {
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
                Frame::Array { next, length, .. } if *next > *length => {
                    self.out.push(b']');
                    open.pop();
                }
                Frame::Array { table, next, .. } => {
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
                Frame::Object { rest, after } => {
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
    fn enter(&mut self, open: &mut Vec<Frame>, table: &Table) -> mlua::Result<()> {
        let depth = i32::try_from(open.len()).unwrap_or(i32::MAX).saturating_add(1);
        if depth > self.config.encode_max_depth.min(DEEPEST) {
            let text = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(raise::error(self.lua, text));
        }
        match self.array_length(table)? {
            Some(length) if length > 0 => {
                self.out.push(b'[');
                open.push(Frame::Array { table: table.clone(), next: 1, length });
            }
            _ => {
                let inner = self.object(table)?;
                open.push(Frame::Object { rest: inner.into_iter(), after: Vec::new() });
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

fn decode(lua: &Lua, config: Config, args: &[Value]) -> mlua::Result<Value> {
    if args.len() != 1 {
        return Err(raise::argument(lua, 1, "expected 1 argument"));
    }
    raise::with_string(lua, args, 1, |data| {
        if data.len() >= 2 && (data[0] == 0 || data[1] == 0) {
            return Err(raise::error(lua, "JSON parser does not support UTF-16 or UTF-32"));
        }
        let mut decoder = Decoder { lua, config, data, pos: 0, text: Vec::new() };
        let value = decoder.document()?;
        let token = decoder.next();
        if !matches!(token.kind, Kind::End) {
            return Err(decoder.unexpected("the end", &token));
        }
        Ok(value)
    })
}

/// What the tokenizer found; the text of a string is left in `Decoder::text`.
enum Kind {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

struct Token {
    kind: Kind,
    at: usize,
}

/// A container being filled.
enum Open {
    Array(Table, usize),
    Object(Table, mlua::LuaString),
}

struct Decoder<'a> {
    lua: &'a Lua,
    config: Config,
    data: &'a [u8],
    pos: usize,
    text: Vec<u8>,
}

impl Decoder<'_> {
    /// The byte at `index`; behind the end there is a NUL, as in C.
    fn byte(&self, index: usize) -> u8 {
        self.data.get(index).copied().unwrap_or(0)
    }

    fn unexpected(&self, wanted: &str, token: &Token) -> mlua::Error {
        let found = match token.kind {
            Kind::ObjectBegin => "T_OBJ_BEGIN",
            Kind::ObjectEnd => "T_OBJ_END",
            Kind::ArrayBegin => "T_ARR_BEGIN",
            Kind::ArrayEnd => "T_ARR_END",
            Kind::String => "T_STRING",
            Kind::Number(_) => "T_NUMBER",
            Kind::Boolean(_) => "T_BOOLEAN",
            Kind::Null => "T_NULL",
            Kind::Colon => "T_COLON",
            Kind::Comma => "T_COMMA",
            Kind::End => "T_END",
            Kind::Error(reason) => reason,
        };
        let place = token.at + 1;
        raise::error(self.lua, format!("Expected {wanted} but found {found} at character {place}"))
    }

    /// One value with everything inside it, without recursion.
    fn document(&mut self) -> mlua::Result<Value> {
        let mut open: Vec<Open> = Vec::new();
        let mut token = self.next();
        loop {
            let mut done = match token.kind {
                Kind::String => Value::String(self.lua.create_string(&self.text)?),
                Kind::Number(number) => Value::Number(number),
                Kind::Boolean(on) => Value::Boolean(on),
                Kind::Null => Value::NULL,
                Kind::ObjectBegin => {
                    let table = self.descend(open.len() + 1)?;
                    token = self.next();
                    if matches!(token.kind, Kind::ObjectEnd) {
                        Value::Table(table)
                    } else {
                        let key = self.key(&token)?;
                        open.push(Open::Object(table, key));
                        token = self.next();
                        continue;
                    }
                }
                Kind::ArrayBegin => {
                    let table = self.descend(open.len() + 1)?;
                    token = self.next();
                    if matches!(token.kind, Kind::ArrayEnd) {
                        Value::Table(table)
                    } else {
                        open.push(Open::Array(table, 1));
                        continue;
                    }
                }
                _ => return Err(self.unexpected("value", &token)),
            };
            // Put the value into its container; a container that ends is a value itself.
            loop {
                let Some(container) = open.last_mut() else { return Ok(done) };
                match container {
                    Open::Array(table, next) => {
                        table.raw_set(*next, done)?;
                        *next += 1;
                    }
                    Open::Object(table, key) => table.raw_set(&*key, done)?,
                }
                token = self.next();
                match (&mut *container, &token.kind) {
                    (Open::Array(..), Kind::ArrayEnd) | (Open::Object(..), Kind::ObjectEnd) => {}
                    (Open::Array(..), Kind::Comma) => {
                        token = self.next();
                        break;
                    }
                    (Open::Object(_, key), Kind::Comma) => {
                        token = self.next();
                        *key = self.key(&token)?;
                        token = self.next();
                        break;
                    }
                    (Open::Array(..), _) => {
                        return Err(self.unexpected("comma or array end", &token));
                    }
                    (Open::Object(..), _) => {
                        return Err(self.unexpected("comma or object end", &token));
                    }
                }
                done = match open.pop() {
                    Some(Open::Array(table, _) | Open::Object(table, _)) => Value::Table(table),
                    None => return Ok(Value::Nil),
                };
            }
        }
    }

    fn descend(&self, depth: usize) -> mlua::Result<Table> {
        let limit = usize::try_from(self.config.decode_max_depth.min(DEEPEST)).unwrap_or(0);
        if depth > limit {
            let place = self.pos;
            let text =
                format!("Found too many nested data structures ({depth}) at character {place}");
            return Err(raise::error(self.lua, text));
        }
        self.lua.create_table()
    }

    /// The key in `token`, and the colon behind it.
    fn key(&mut self, token: &Token) -> mlua::Result<mlua::LuaString> {
        if !matches!(token.kind, Kind::String) {
            return Err(self.unexpected("object key string", token));
        }
        let key = self.lua.create_string(&self.text)?;
        let colon = self.next();
        if !matches!(colon.kind, Kind::Colon) {
            return Err(self.unexpected("colon", &colon));
        }
        Ok(key)
    }

    fn next(&mut self) -> Token {
        while matches!(self.byte(self.pos), b' ' | b'\t' | b'\n' | b'\r') {
            self.pos += 1;
        }
        let at = self.pos;
        let rest = self.data.get(at..).unwrap_or_default();
        let (kind, length) = match self.byte(at) {
            b'{' => (Kind::ObjectBegin, 1),
            b'}' => (Kind::ObjectEnd, 1),
            b'[' => (Kind::ArrayBegin, 1),
            b']' => (Kind::ArrayEnd, 1),
            b',' => (Kind::Comma, 1),
            b':' => (Kind::Colon, 1),
            0 => (Kind::End, 0),
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => {
                if self.config.decode_invalid == 0 && is_invalid_number(rest) {
                    (Kind::Error("invalid number"), 0)
                } else {
                    read_number(rest)
                }
            }
            b't' if rest.starts_with(b"true") => (Kind::Boolean(true), 4),
            b'f' if rest.starts_with(b"false") => (Kind::Boolean(false), 5),
            b'n' if rest.starts_with(b"null") => (Kind::Null, 4),
            b'i' | b'I' | b'n' | b'N' | b'+'
                if self.config.decode_invalid != 0 && is_invalid_number(rest) =>
            {
                read_number(rest)
            }
            _ => (Kind::Error("invalid token"), 0),
        };
        self.pos += length;
        Token { kind, at }
    }

    fn string(&mut self) -> Token {
        let at = self.pos;
        self.pos += 1;
        self.text.clear();
        loop {
            let rest = self.data.get(self.pos..).unwrap_or_default();
            let plain =
                rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0)).unwrap_or(rest.len());
            self.text.extend_from_slice(&rest[..plain]);
            self.pos += plain;
            match self.byte(self.pos) {
                b'"' => {
                    self.pos += 1;
                    return Token { kind: Kind::String, at };
                }
                b'\\' => {
                    let plain = match self.byte(self.pos + 1) {
                        byte @ (b'"' | b'\\' | b'/') => byte,
                        b'b' => 0x08,
                        b't' => b'\t',
                        b'n' => b'\n',
                        b'f' => 0x0c,
                        b'r' => b'\r',
                        b'u' => {
                            if self.unicode() {
                                continue;
                            }
                            return self.failed("invalid unicode escape code");
                        }
                        _ => return self.failed("invalid escape code"),
                    };
                    self.text.push(plain);
                    self.pos += 2;
                }
                _ => return self.failed("unexpected end of string"),
            }
        }
    }

    fn failed(&self, reason: &'static str) -> Token {
        Token { kind: Kind::Error(reason), at: self.pos }
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        (at..at + 4).try_fold(0, |code, index| {
            let digit = char::from(self.byte(index)).to_digit(16)?;
            Some(code << 4 | digit)
        })
    }

    /// Reads `\uXXXX`, or a pair of surrogates, at the cursor; false when it is malformed.
    fn unicode(&mut self) -> bool {
        let Some(mut code) = self.hex4(self.pos + 2) else { return false };
        let mut length = 6;
        if code & 0xf800 == 0xd800 {
            let low = (code & 0x400 == 0
                && self.byte(self.pos + 6) == b'\\'
                && self.byte(self.pos + 7) == b'u')
                .then(|| self.hex4(self.pos + 8))
                .flatten()
                .filter(|low| low & 0xfc00 == 0xdc00);
            let Some(low) = low else { return false };
            code = ((code & 0x3ff) << 10 | low & 0x3ff) + 0x1_0000;
            length = 12;
        }
        let Some(letter) = char::from_u32(code) else { return false };
        self.text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        self.pos += length;
        true
    }
}

fn read_number(rest: &[u8]) -> (Kind, usize) {
    match number::read_number(rest) {
        (_, 0) => (Kind::Error("invalid number"), 0),
        (value, length) => (Kind::Number(value), length),
    }
}

/// Forms that `strtod` takes and JSON does not: a plus, leading zeros, hexadecimal, inf, nan.
fn is_invalid_number(rest: &[u8]) -> bool {
    let at = |index: usize| rest.get(index).copied().unwrap_or(0);
    if at(0) == b'+' {
        return true;
    }
    let start = usize::from(at(0) == b'-');
    match at(start) {
        b'0' => at(start + 1) | 0x20 == b'x' || at(start + 1).is_ascii_digit(),
        byte if byte <= b'9' || byte >= 0x80 => false,
        _ => rest
            .get(start..start + 3)
            .is_some_and(|w| w.eq_ignore_ascii_case(b"inf") || w.eq_ignore_ascii_case(b"nan")),
    }
}
