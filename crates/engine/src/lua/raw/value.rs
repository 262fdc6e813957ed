//! The value that a script returned, as a reply, as Redis converts it in both protocols. This runs
//! on the host's side, without a memory limit: nothing here raises, and no metamethod of the script
//! runs.

use std::ffi::c_int;

use mlua::ffi::{
    LUA_TBOOLEAN, LUA_TNIL, LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE, lua_State, lua_checkstack,
    lua_gettop, lua_next, lua_pop, lua_pushnil, lua_rawget_, lua_rawgeti_, lua_toboolean,
    lua_tonumber, lua_type,
};

use super::super::number;
use super::{bytes_at, push_bytes};
use crate::doors::out::Out;

/// Deeper values end in an error reply. The reference goes on until its stack is full, some thousand levels
/// further; readers of replies are recursive, ours and those of clients, so we stop where none is harmed.
const DEEPEST: usize = 200;

/// Writes values; `resp3` is what the script chose with `redis.setresp`.
pub(super) struct LuaWriter<'a> {
    pub(super) state: *mut lua_State,
    pub(super) out: &'a mut Out,
    pub(super) resp3: bool,
}

/// Pushes the field of a table, without asking its metatable; gives the type.
pub(super) unsafe fn field(state: *mut lua_State, table: c_int, name: &[u8]) -> c_int {
    // SAFETY: `table` is an absolute index of a table, and there is a free slot.
    unsafe {
        push_bytes(state, name);
        lua_rawget_(state, table);
        lua_type(state, -1)
    }
}

impl LuaWriter<'_> {
    /// Writes the value on top of the stack and takes it away.
    pub(super) unsafe fn take(&mut self, depth: usize) {
        let state = self.state;
        // SAFETY: there is a value on top, and four free slots per level.
        unsafe {
            if depth > DEEPEST || lua_checkstack(state, 4) == 0 {
                self.out.error("ERR reached lua stack limit");
                return lua_pop(state, 1);
            }
            match lua_type(state, -1) {
                LUA_TSTRING => self.out.bulk(bytes_at(state, -1)),
                LUA_TNUMBER => self.out.int(number::to_i64(lua_tonumber(state, -1))),
                LUA_TBOOLEAN if self.resp3 => self.out.bool(lua_toboolean(state, -1) != 0),
                LUA_TBOOLEAN if lua_toboolean(state, -1) != 0 => self.out.int(1),
                LUA_TTABLE => {
                    let table = lua_gettop(state);
                    if self.named(table, depth) {
                        mlua::ffi::lua_settop(state, table);
                    } else {
                        self.array(table, depth);
                    }
                }
                _ => self.out.null(),
            }
            lua_pop(state, 1);
        }
    }

    /// A table with one of the names that mean something: written, whatever else is in it. May leave values
    /// above the table.
    unsafe fn named(&mut self, table: c_int, depth: usize) -> bool {
        let state = self.state;
        // SAFETY: `take` keeps four slots free; a field that is not used is taken away.
        unsafe {
            if field(state, table, b"err") == LUA_TSTRING {
                self.out.error_bytes(bytes_at(state, -1));
                return true;
            }
            lua_pop(state, 1);
            if field(state, table, b"ok") == LUA_TSTRING {
                let text = bytes_at(state, -1);
                let end = memchr::memchr(0, text).unwrap_or(text.len());
                self.out.status(&String::from_utf8_lossy(&text[..end]));
                return true;
            }
            lua_pop(state, 1);
            if field(state, table, b"double") == LUA_TNUMBER {
                self.out.double(lua_tonumber(state, -1));
                return true;
            }
            lua_pop(state, 1);
            if field(state, table, b"big_number") == LUA_TSTRING {
                self.big_number(bytes_at(state, -1));
                return true;
            }
            lua_pop(state, 1);
            if field(state, table, b"verbatim_string") == LUA_TTABLE
                && field(state, table + 1, b"format") == LUA_TSTRING
                && field(state, table + 1, b"string") == LUA_TSTRING
            {
                self.verbatim(bytes_at(state, -2), bytes_at(state, -1));
                return true;
            }
            mlua::ffi::lua_settop(state, table);
            if field(state, table, b"map") == LUA_TTABLE {
                let count = self.count();
                self.out.map(count);
                self.pairs(depth, true);
                return true;
            }
            lua_pop(state, 1);
            if field(state, table, b"set") == LUA_TTABLE {
                let count = self.count();
                self.out.set(count);
                self.pairs(depth, false);
                return true;
            }
            lua_pop(state, 1);
        }
        false
    }

    /// How many pairs the table on top has.
    unsafe fn count(&self) -> usize {
        let mut count = 0;
        // SAFETY: `named` found the table; key and value have room.
        unsafe {
            lua_pushnil(self.state);
            while lua_next(self.state, -2) != 0 {
                count += 1;
                lua_pop(self.state, 1);
            }
        }
        count
    }

    /// Writes the keys of the table on top, and the values behind them if wanted.
    unsafe fn pairs(&mut self, depth: usize, values: bool) {
        let state = self.state;
        // SAFETY: as in `count`; a copy of the key is written, so the walk goes on from the key itself.
        unsafe {
            lua_pushnil(state);
            while lua_next(state, -2) != 0 {
                mlua::ffi::lua_pushvalue(state, -2);
                self.take(depth + 1);
                if values { self.take(depth + 1) } else { lua_pop(state, 1) }
            }
        }
    }

    /// Elements up to the first that is nil.
    unsafe fn array(&mut self, table: c_int, depth: usize) {
        let state = self.state;
        let mark = self.out.begin_array();
        let mut count = 0;
        // SAFETY: one slot at a time.
        unsafe {
            loop {
                lua_rawgeti_(state, table, count + 1);
                if lua_type(state, -1) == LUA_TNIL {
                    break lua_pop(state, 1);
                }
                count += 1;
                self.take(depth + 1);
            }
        }
        self.out.end_array(mark, usize::try_from(count).unwrap_or(0));
    }

    fn big_number(&mut self, text: &[u8]) {
        let line = |byte: u8| if byte == b'\r' || byte == b'\n' { b' ' } else { byte };
        let text: Vec<u8> = text.iter().map(|byte| line(*byte)).collect();
        if self.out.resp3 {
            self.out.buf.push(b'(');
            self.out.buf.extend_from_slice(&text);
            self.out.buf.extend_from_slice(b"\r\n");
        } else {
            self.out.bulk(&text);
        }
    }

    /// A format of three letters, whatever the script gave.
    fn verbatim(&mut self, format: &[u8], text: &[u8]) {
        if !self.out.resp3 {
            return self.out.bulk(text);
        }
        let mut kind = *b"   ";
        for (to, from) in kind.iter_mut().zip(format) {
            *to = *from;
        }
        self.out.buf.extend_from_slice(format!("={}\r\n", text.len() + 4).as_bytes());
        self.out.buf.extend_from_slice(&kind);
        self.out.buf.push(b':');
        self.out.buf.extend_from_slice(text);
        self.out.buf.extend_from_slice(b"\r\n");
    }
}
