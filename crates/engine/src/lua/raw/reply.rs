//! Replies of commands as Lua values, as Redis converts them in both protocols. Everything here may raise: with a
//! memory limit in force any push can fail. So nothing here owns anything.

use std::ffi::c_int;

use mlua::ffi::{
    lua_State, lua_checkstack, lua_createtable, lua_error, lua_pushboolean, lua_pushnil,
    lua_pushnumber, lua_rawset, lua_rawseti_,
};

use super::super::number;
use super::push_bytes;
use crate::data::num;

/// Pushes the first reply in `bytes`; gives how many bytes it takes. Handlers write whole replies.
pub(super) unsafe fn push(state: *mut lua_State, bytes: &[u8]) -> usize {
    // SAFETY: each branch leaves one value more, and `room` keeps slots for the deepest of them.
    unsafe {
        let Some((&kind, rest)) = bytes.split_first() else { half(state) };
        let Some(end) = memchr::memchr(b'\r', rest) else { half(state) };
        let line = &rest[..end];
        let next = end + 3;
        match kind {
            b':' => lua_pushnumber(state, number::of_i64(integer(line))),
            b'$' | b'*' if line == b"-1" => lua_pushboolean(state, 0),
            b'$' => {
                let body = body(state, bytes, line, next);
                push_bytes(state, body);
                return next + body.len() + 2;
            }
            b'+' => push_field(state, b"ok", line),
            b'-' => push_error(state, line),
            b'*' | b'>' => return push_array(state, bytes, integer(line), next),
            b'%' => return push_pairs(state, b"map", bytes, integer(line), next),
            b'~' => return push_pairs(state, b"set", bytes, integer(line), next),
            b'_' => lua_pushnil(state),
            b'#' => lua_pushboolean(state, c_int::from(line == b"t")),
            b',' => {
                open(state, b"double");
                lua_pushnumber(state, number::read_number(line).0);
                lua_rawset(state, -3);
            }
            b'(' => push_field(state, b"big_number", line),
            b'=' => {
                let body = body(state, bytes, line, next);
                let Some((format, text)) = body.split_at_checked(4) else { half(state) };
                open(state, b"verbatim_string");
                push_field(state, b"string", text);
                push_bytes(state, b"format");
                push_bytes(state, &format[..3]);
                lua_rawset(state, -3);
                lua_rawset(state, -3);
                return next + body.len() + 2;
            }
            _ => half(state),
        }
        next
    }
}

/// A bug of a command: raised rather than guessed.
unsafe fn half(state: *mut lua_State) -> ! {
    // SAFETY: the caller owns nothing that needs dropping.
    unsafe {
        push_bytes(state, b"a command wrote half a reply");
        lua_error(state)
    }
}

/// Slots for one more level: a table in a table, a name and a value.
unsafe fn room(state: *mut lua_State) {
    // SAFETY: as `half`.
    unsafe {
        if lua_checkstack(state, 6) == 0 {
            push_bytes(state, b"stack overflow");
            lua_error(state);
        }
    }
}

unsafe fn body<'a>(state: *mut lua_State, bytes: &'a [u8], line: &[u8], at: usize) -> &'a [u8] {
    let length = usize::try_from(integer(line)).unwrap_or(usize::MAX);
    match at.checked_add(length).and_then(|end| bytes.get(at..end)) {
        Some(body) => body,
        // SAFETY: as `half`.
        None => unsafe { half(state) },
    }
}

fn integer(line: &[u8]) -> i64 {
    num::parse_i64(line).unwrap_or(0)
}

/// Pushes a table and the name of its only field.
unsafe fn open(state: *mut lua_State, name: &[u8]) {
    // SAFETY: as `half`.
    unsafe {
        room(state);
        lua_createtable(state, 0, 1);
        push_bytes(state, name);
    }
}

/// Pushes `{name = text}`.
unsafe fn push_field(state: *mut lua_State, name: &[u8], text: &[u8]) {
    // SAFETY: as `half`.
    unsafe {
        open(state, name);
        push_bytes(state, text);
        lua_rawset(state, -3);
    }
}

/// Pushes a table as `redis.pcall` returns it for an error.
unsafe fn push_error(state: *mut lua_State, text: &[u8]) {
    // SAFETY: as `half`.
    unsafe {
        push_field(state, b"err", text);
        push_bytes(state, b"ignore_error_stats_update");
        lua_pushboolean(state, 1);
        lua_rawset(state, -3);
    }
}

unsafe fn push_array(state: *mut lua_State, bytes: &[u8], count: i64, mut at: usize) -> usize {
    // The shortest element takes four bytes, so a wrong count cannot ask for much.
    let count = usize::try_from(count).unwrap_or(0).min(bytes.len() / 4 + 1);
    // SAFETY: as `half`.
    unsafe {
        room(state);
        let count = c_int::try_from(count).unwrap_or(c_int::MAX);
        lua_createtable(state, count, 0);
        for index in 1..=count {
            at += push(state, bytes.get(at..).unwrap_or_default());
            lua_rawseti_(state, -2, index);
        }
    }
    at
}

/// Pushes `{map = {key = value, …}}` or `{set = {member = true, …}}`.
unsafe fn push_pairs(
    state: *mut lua_State,
    name: &[u8],
    bytes: &[u8],
    count: i64,
    mut at: usize,
) -> usize {
    // SAFETY: as `half`.
    unsafe {
        open(state, name);
        lua_createtable(state, 0, 0);
        for _ in 0..count {
            at += push(state, bytes.get(at..).unwrap_or_default());
            if name == b"map" {
                at += push(state, bytes.get(at..).unwrap_or_default());
            } else {
                lua_pushboolean(state, 1);
            }
            lua_rawset(state, -3);
        }
        lua_rawset(state, -3);
    }
    at
}
