//! `cjson.decode`: JSON text as a value, with the errors of the reference.

use mlua::{Lua, Table, Value};

use super::{Config, DEEPEST};
use crate::lua::{number, raise};

pub(super) fn decode(lua: &Lua, config: Config, args: &[Value]) -> mlua::Result<Value> {
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
        if !matches!(token.kind, TokenKind::End) {
            return Err(decoder.unexpected("the end", &token));
        }
        Ok(value)
    })
}

/// A token; the text of a string is left in `Decoder::text`.
enum TokenKind {
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
    kind: TokenKind,
    at: usize,
}

/// A container being filled.
enum OpenContainer {
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
            TokenKind::ObjectBegin => "T_OBJ_BEGIN",
            TokenKind::ObjectEnd => "T_OBJ_END",
            TokenKind::ArrayBegin => "T_ARR_BEGIN",
            TokenKind::ArrayEnd => "T_ARR_END",
            TokenKind::String => "T_STRING",
            TokenKind::Number(_) => "T_NUMBER",
            TokenKind::Boolean(_) => "T_BOOLEAN",
            TokenKind::Null => "T_NULL",
            TokenKind::Colon => "T_COLON",
            TokenKind::Comma => "T_COMMA",
            TokenKind::End => "T_END",
            TokenKind::Error(reason) => reason,
        };
        let place = token.at + 1;
        raise::error(self.lua, format!("Expected {wanted} but found {found} at character {place}"))
    }

    /// One value with everything inside it, without recursion.
    fn document(&mut self) -> mlua::Result<Value> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut token = self.next();
        loop {
            let mut done = match token.kind {
                TokenKind::String => Value::String(self.lua.create_string(&self.text)?),
                TokenKind::Number(number) => Value::Number(number),
                TokenKind::Boolean(on) => Value::Boolean(on),
                TokenKind::Null => Value::NULL,
                TokenKind::ObjectBegin => {
                    let table = self.descend(open.len() + 1)?;
                    token = self.next();
                    if matches!(token.kind, TokenKind::ObjectEnd) {
                        Value::Table(table)
                    } else {
                        let key = self.key(&token)?;
                        open.push(OpenContainer::Object(table, key));
                        token = self.next();
                        continue;
                    }
                }
                TokenKind::ArrayBegin => {
                    let table = self.descend(open.len() + 1)?;
                    token = self.next();
                    if matches!(token.kind, TokenKind::ArrayEnd) {
                        Value::Table(table)
                    } else {
                        open.push(OpenContainer::Array(table, 1));
                        continue;
                    }
                }
                _ => return Err(self.unexpected("value", &token)),
            };
            // Put the value into its container; a container that ends is a value itself.
            loop {
                let Some(container) = open.last_mut() else { return Ok(done) };
                match container {
                    OpenContainer::Array(table, next) => {
                        table.raw_set(*next, done)?;
                        *next += 1;
                    }
                    OpenContainer::Object(table, key) => table.raw_set(&*key, done)?,
                }
                token = self.next();
                match (&mut *container, &token.kind) {
                    (OpenContainer::Array(..), TokenKind::ArrayEnd)
                    | (OpenContainer::Object(..), TokenKind::ObjectEnd) => {}
                    (OpenContainer::Array(..), TokenKind::Comma) => {
                        token = self.next();
                        break;
                    }
                    (OpenContainer::Object(_, key), TokenKind::Comma) => {
                        token = self.next();
                        *key = self.key(&token)?;
                        token = self.next();
                        break;
                    }
                    (OpenContainer::Array(..), _) => {
                        return Err(self.unexpected("comma or array end", &token));
                    }
                    (OpenContainer::Object(..), _) => {
                        return Err(self.unexpected("comma or object end", &token));
                    }
                }
                done = match open.pop() {
                    Some(OpenContainer::Array(table, _) | OpenContainer::Object(table, _)) => {
                        Value::Table(table)
                    }
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
        if !matches!(token.kind, TokenKind::String) {
            return Err(self.unexpected("object key string", token));
        }
        let key = self.lua.create_string(&self.text)?;
        let colon = self.next();
        if !matches!(colon.kind, TokenKind::Colon) {
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
            b'{' => (TokenKind::ObjectBegin, 1),
            b'}' => (TokenKind::ObjectEnd, 1),
            b'[' => (TokenKind::ArrayBegin, 1),
            b']' => (TokenKind::ArrayEnd, 1),
            b',' => (TokenKind::Comma, 1),
            b':' => (TokenKind::Colon, 1),
            0 => (TokenKind::End, 0),
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => {
                if self.config.decode_invalid == 0 && is_invalid_number(rest) {
                    (TokenKind::Error("invalid number"), 0)
                } else {
                    read_number(rest)
                }
            }
            b't' if rest.starts_with(b"true") => (TokenKind::Boolean(true), 4),
            b'f' if rest.starts_with(b"false") => (TokenKind::Boolean(false), 5),
            b'n' if rest.starts_with(b"null") => (TokenKind::Null, 4),
            b'i' | b'I' | b'n' | b'N' | b'+'
                if self.config.decode_invalid != 0 && is_invalid_number(rest) =>
            {
                read_number(rest)
            }
            _ => (TokenKind::Error("invalid token"), 0),
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
                    return Token { kind: TokenKind::String, at };
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
        Token { kind: TokenKind::Error(reason), at: self.pos }
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

fn read_number(rest: &[u8]) -> (TokenKind, usize) {
    match number::read_number(rest) {
        (_, 0) => (TokenKind::Error("invalid number"), 0),
        (value, length) => (TokenKind::Number(value), length),
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
