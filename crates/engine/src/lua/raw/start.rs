//! Starts a script: its keys and arguments as tables, the memory limit, the protected call, and its end as a reply
//! or an error.

use std::ffi::c_int;

use mlua::ffi::{
    LUA_OK, LUA_TBOOLEAN, LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE, lua_State, lua_checkstack,
    lua_createtable, lua_gettop, lua_insert, lua_pcall, lua_pop, lua_pushcclosure, lua_pushvalue,
    lua_rawseti_, lua_settop, lua_toboolean, lua_tonumber, lua_type, lua_upvalueindex,
};
use mlua::{Function, Lua, Table};

use super::super::number;
use super::lists::List;
use super::value::{LuaWriter, field};
use super::{bytes_at, push_bytes};
use crate::doors::out::Out;

/// The values with which a state starts scripts.
pub(crate) struct Home {
    keys: List,
    args: List,
    on_error: Function,
}

/// The input of a script's run.
pub(crate) struct Input<'a> {
    pub(crate) keys: &'a [&'a [u8]],
    pub(crate) args: &'a [&'a [u8]],
    /// As `KEYS` and `ARGV` rather than as two parameters.
    pub(crate) as_globals: bool,
    /// Bytes that the state may take while the script runs; 0 for no limit.
    pub(crate) memory: usize,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The script's reply is written.
    Well,
    Failed(Failed),
    /// Out of memory, or worse: a bare message.
    Broken(Vec<u8>),
    /// One of our own functions panicked.
    Panicked,
}

/// An error raised or returned.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) text: Vec<u8>,
    /// Source and line, where they are known.
    pub(crate) place: Option<(Vec<u8>, Vec<u8>)>,
    /// Counted already, when the command failed.
    pub(crate) counted: bool,
}

impl Home {
    /// `real` are the globals behind the read-only ones; `handler` makes a table with `err`, `source` and `line` of any error.
    pub(crate) fn new(lua: &Lua, real: &Table, handler: Function) -> mlua::Result<Self> {
        // SAFETY: one push, which takes the handler that `exec_raw` pushed.
        let on_error =
            unsafe { lua.exec_raw(handler, |state| lua_pushcclosure(state, on_error, 1))? };
        let list = |name| List::new(lua, real, name);
        Ok(Self { keys: list("KEYS")?, args: list("ARGV")?, on_error })
    }

    /// Runs a script; its reply goes to `out`. `resp3` tells, at the end, which protocol the script chose.
    pub(crate) fn run(
        &self,
        lua: &Lua,
        function: &Function,
        input: &Input<'_>,
        out: &mut Out,
        resp3: impl FnOnce() -> bool,
    ) -> Ended {
        lua.exec_raw_lua(|raw| {
            let state = raw.state();
            // SAFETY: seven slots are enough up to the call, which is protected and leaves one value in place
            // of what it took; the stack ends as it began.
            unsafe {
                let base = lua_gettop(state);
                if lua_checkstack(state, 8) == 0 || raw.push(&self.on_error).is_err() {
                    return Ended::Broken(b"stack overflow".to_vec());
                }
                let pushed = if input.as_globals {
                    let filled = self.keys.fill(lua, input.keys);
                    filled
                        .and_then(|()| self.args.fill(lua, input.args))
                        .and_then(|()| raw.push(function))
                } else {
                    raw.push(function).inspect(|()| {
                        push_list(state, input.keys);
                        push_list(state, input.args);
                    })
                };
                if pushed.is_err() {
                    lua_settop(state, base);
                    return Ended::Broken(b"the script is of another state".to_vec());
                }
                let given = if input.as_globals { 0 } else { 2 };
                let _ = lua.set_memory_limit(input.memory);
                let status = lua_pcall(state, given, 1, base + 1);
                let _ = lua.set_memory_limit(0);
                let ended = end(state, status, out, resp3);
                lua_settop(state, base);
                if input.as_globals {
                    self.keys.keep(lua, input.keys.len());
                    self.args.keep(lua, input.args.len());
                }
                ended
            }
        })
    }
}

/// The message handler of every script. May raise; Lua takes care of that.
unsafe extern "C-unwind" fn on_error(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the error alone on the stack and twenty free slots.
    unsafe {
        lua_settop(state, 1);
        lua_pushvalue(state, lua_upvalueindex(1));
        lua_insert(state, 1);
        // An error in the handler takes the place of the first one: no memory, or a panic passing
        // through.
        lua_pcall(state, 1, 1, 0);
    }
    1
}

/// Pushes a list of strings.
unsafe fn push_list(state: *mut lua_State, items: &[&[u8]]) {
    // SAFETY: no limit is in force; `run` keeps the slots.
    unsafe {
        lua_createtable(state, c_int::try_from(items.len()).unwrap_or(c_int::MAX), 0);
        for (index, item) in (1..).zip(items) {
            push_bytes(state, item);
            lua_rawseti_(state, -2, index);
        }
    }
}

/// Writes the value on top as a reply, or gives the error that it is.
unsafe fn end(
    state: *mut lua_State,
    status: c_int,
    out: &mut Out,
    resp3: impl FnOnce() -> bool,
) -> Ended {
    // SAFETY: one value is on top; no limit is in force.
    unsafe {
        match (lua_type(state, -1), status) {
            (LUA_TTABLE, _) => {
                if let Some(failed) = failed(state, status != LUA_OK) {
                    return Ended::Failed(failed);
                }
            }
            (_, LUA_OK) => {}
            (LUA_TSTRING, _) => return Ended::Broken(bytes_at(state, -1).to_vec()),
            _ => return Ended::Panicked,
        }
        LuaWriter { state, out, resp3: resp3() }.take(0);
    }
    Ended::Well
}

/// The error that a table is: one with a text in `err`, or anything that was raised.
unsafe fn failed(state: *mut lua_State, raised: bool) -> Option<Failed> {
    // SAFETY: a table is on top, and there are four free slots.
    unsafe {
        let table = lua_gettop(state);
        let is_text = field(state, table, b"err") == LUA_TSTRING;
        lua_pop(state, 1);
        if !is_text && !raised {
            return None;
        }
        let text = text_field(state, table, b"err");
        let text = text.unwrap_or_else(|| b"ERR execution failure".to_vec());
        let source = text_field(state, table, b"source");
        let place = source.zip(text_field(state, table, b"line"));
        let counted = field(state, table, b"ignore_error_stats_update") == LUA_TBOOLEAN
            && lua_toboolean(state, -1) != 0;
        lua_settop(state, table);
        Some(Failed { text, place, counted })
    }
}

/// A field that is a string, or a number as text.
unsafe fn text_field(state: *mut lua_State, table: c_int, name: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: as in `failed`; the field is taken away again.
    unsafe {
        let text = match field(state, table, name) {
            LUA_TSTRING => Some(bytes_at(state, -1).to_vec()),
            LUA_TNUMBER => {
                let mut text = Vec::new();
                number::write_g(&mut text, lua_tonumber(state, -1), 14);
                Some(text)
            }
            _ => None,
        };
        lua_pop(state, 1);
        text
    }
}
