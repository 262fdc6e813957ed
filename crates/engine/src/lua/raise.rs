//! How Rust functions raise errors that scripts can read, and how they check arguments.
//! A Rust error reaches Lua as userdata; every place where a script can catch one (see
//! `prelude.lua`) turns it back into the string or table held here, so a script never sees ours.

use mlua::{Error, Lua, Value};

/// The value that a script finds when it catches the error.
#[derive(Debug, Clone)]
pub(crate) enum Raised {
    /// A plain string, position included.
    Text(Vec<u8>),
    /// A table with this `err` field, as `redis.call` raises it.
    Reply(Vec<u8>),
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Text(text) | Self::Reply(text)) = self;
        f.write_str(&String::from_utf8_lossy(text))
    }
}

impl std::error::Error for Raised {}

impl Raised {
    /// The raised value inside an error of ours, however deeply wrapped.
    pub(crate) fn find(error: &Error) -> Option<&Self> {
        match error {
            Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => {
                Self::find(cause)
            }
            Error::ExternalError(inner) => inner.downcast_ref(),
            _ => None,
        }
    }
}

/// `luaL_error`: the message behind the position of the calling Lua function.
pub(crate) fn error(lua: &Lua, message: impl AsRef<[u8]>) -> Error {
    let mut text = position(lua, 1);
    text.extend_from_slice(message.as_ref());
    Error::external(Raised::Text(text))
}

/// An error without position, as the Lua core raises from inside a C function.
pub(crate) fn bare(message: impl AsRef<[u8]>) -> Error {
    Error::external(Raised::Text(message.as_ref().to_vec()))
}

/// An error reply, as `redis.call` raises it: a table with field `err`.
pub(crate) fn reply(message: impl AsRef<[u8]>) -> Error {
    Error::external(Raised::Reply(message.as_ref().to_vec()))
}

/// The level of the function the script called: our own, or the prelude's in front of it.
fn called_level(lua: &Lua) -> usize {
    let mut level = 0;
    while lua
        .inspect_stack(level + 1, |frame| {
            frame.source().source.as_deref() == Some(super::sandbox::PRELUDE)
        })
        .unwrap_or(false)
    {
        level += 1;
    }
    level
}

/// `luaL_where`: `chunk:line: `, or nothing when that level is not Lua code. Frames of the prelude
/// do not count.
fn position(lua: &Lua, mut level: usize) -> Vec<u8> {
    loop {
        let text = lua.inspect_stack(level, |frame| {
            let source = frame.source();
            if source.source.as_deref() == Some(super::sandbox::PRELUDE) {
                return None;
            }
            let name = source.short_src.as_deref().unwrap_or("?");
            let line = frame.current_line();
            Some(line.map(|line| format!("{name}:{line}: ").into_bytes()).unwrap_or_default())
        });
        match text {
            Some(None) => level += 1,
            Some(Some(text)) => return text,
            None => return Vec::new(),
        }
    }
}

/// `luaL_argerror`: `bad argument #n to 'name' (message)`; `index` counts from 1.
pub(crate) fn argument(lua: &Lua, index: usize, message: impl AsRef<[u8]>) -> Error {
    let (name, method) = lua
        .inspect_stack(called_level(lua), |frame| {
            let names = frame.names();
            let name = names.name.map(std::borrow::Cow::into_owned);
            (name, names.name_what == Some("method"))
        })
        .unwrap_or((None, false));
    let name = name.unwrap_or_else(|| "?".into());
    let mut text = match (method, index) {
        (true, 1) => format!("calling '{name}' on bad self ("),
        (true, _) => format!("bad argument #{} to '{name}' (", index.saturating_sub(1)),
        (false, _) => format!("bad argument #{index} to '{name}' ("),
    }
    .into_bytes();
    text.extend_from_slice(message.as_ref());
    text.push(b')');
    error(lua, text)
}

/// The type name Lua gives a value; `None` is an argument that was not passed.
pub(crate) fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None => "no value",
        Some(Value::Nil) => "nil",
        Some(Value::Boolean(_)) => "boolean",
        Some(Value::Integer(_) | Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Table(_)) => "table",
        Some(Value::Function(_)) => "function",
        Some(Value::Thread(_)) => "thread",
        Some(_) => "userdata",
    }
}

fn wrong_type(lua: &Lua, args: &[Value], index: usize, expected: &str) -> Error {
    let got = type_name(args.get(index - 1));
    argument(lua, index, format!("{expected} expected, got {got}"))
}

/// `lua_tonumber`: a number, or a string that reads as one.
pub(crate) fn as_number(lua: &Lua, value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => Some(*number),
        Value::Integer(whole) => Some(super::number::of_i64(*whole)),
        text @ Value::String(_) => lua.coerce_number(text.clone()).ok().flatten(),
        _ => None,
    }
}

/// `luaL_checknumber`.
pub(crate) fn check_number(lua: &Lua, args: &[Value], index: usize) -> mlua::Result<f64> {
    as_number(lua, args.get(index - 1)).ok_or_else(|| wrong_type(lua, args, index, "number"))
}

/// `luaL_checkinteger`.
pub(crate) fn check_integer(lua: &Lua, args: &[Value], index: usize) -> mlua::Result<i64> {
    check_number(lua, args, index).map(super::number::to_i64)
}

/// `luaL_optinteger`: `default` when absent or nil.
pub(crate) fn opt_integer(
    lua: &Lua,
    args: &[Value],
    index: usize,
    default: i64,
) -> mlua::Result<i64> {
    match args.get(index - 1) {
        None | Some(Value::Nil) => Ok(default),
        Some(_) => check_integer(lua, args, index),
    }
}

/// `luaL_checklstring`: the bytes of a string, or a number as Lua writes it.
pub(crate) fn with_string<T>(
    lua: &Lua,
    args: &[Value],
    index: usize,
    use_it: impl FnOnce(&[u8]) -> mlua::Result<T>,
) -> mlua::Result<T> {
    match args.get(index - 1) {
        Some(Value::String(text)) => use_it(&text.as_bytes()),
        Some(Value::Integer(_) | Value::Number(_)) => {
            let number = as_number(lua, args.get(index - 1)).unwrap_or(0.0);
            let mut text = Vec::new();
            super::number::write_g(&mut text, number, 14);
            use_it(&text)
        }
        _ => Err(wrong_type(lua, args, index, "string")),
    }
}
