//! `KEYS` and `ARGV`. The tables of the last run serve again when the script left them as they were, which nearly all
//! do: making two tables and collecting them again takes longer than running a small script.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;

use mlua::ffi::{
    LUA_TNUMBER, lua_State, lua_getmetatable, lua_next, lua_pop, lua_pushnil, lua_rawseti_,
    lua_tonumber, lua_type,
};
use mlua::{Lua, Table};

use super::push_bytes;

/// A longer list is made anew.
const FEW: usize = 8;

/// One of the two global lists.
pub(super) struct List {
    name: &'static str,
    /// The globals behind the read-only ones.
    real: Table,
    table: RefCell<Table>,
    /// Elements in the table now; nothing when it must not be used again.
    length: Cell<Option<usize>>,
}

impl List {
    pub(super) fn new(lua: &Lua, real: &Table, name: &'static str) -> mlua::Result<Self> {
        let table = RefCell::new(lua.create_table()?);
        Ok(Self { name, real: real.clone(), table, length: Cell::new(None) })
    }

    /// Makes the list for the next script. No memory limit is in force, and three slots are free.
    pub(super) fn fill(&self, lua: &Lua, items: &[&[u8]]) -> mlua::Result<()> {
        let mut old = self.length.take();
        if old.is_none() || items.len() > FEW {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            self.real.raw_set(self.name, &table)?;
            self.table.replace(table);
            old = None;
        }
        lua.exec_raw_lua(|raw| {
            // SAFETY: without a limit nothing raises; the stack ends as it began.
            unsafe {
                raw.push(&*self.table.borrow())?;
                let state = raw.state();
                for (index, item) in (1..).zip(items) {
                    push_bytes(state, item);
                    lua_rawseti_(state, -2, index);
                }
                for index in items.len()..old.unwrap_or(0) {
                    lua_pushnil(state);
                    lua_rawseti_(state, -2, c_int::try_from(index + 1).unwrap_or(c_int::MAX));
                }
                lua_pop(state, 1);
            }
            Ok(())
        })
    }

    /// After a script: keeps the table if it holds `count` elements and nothing else.
    pub(super) fn keep(&self, lua: &Lua, count: usize) {
        if count > FEW {
            return;
        }
        let same = lua.exec_raw_lua(|raw| {
            // SAFETY: as in `fill`.
            unsafe {
                if raw.push(&*self.table.borrow()).is_err() {
                    return false;
                }
                let same = holds(raw.state(), count);
                lua_pop(raw.state(), 1);
                same
            }
        });
        self.length.set(same.then_some(count));
    }
}

/// Whether the table on top has the keys 1 to `count`, no others and no metatable.
unsafe fn holds(state: *mut lua_State, count: usize) -> bool {
    // SAFETY: the walk changes nothing, so each key is found again; two slots at a time.
    unsafe {
        if lua_getmetatable(state, -1) != 0 {
            lua_pop(state, 1);
            return false;
        }
        let mut found = 0;
        lua_pushnil(state);
        while lua_next(state, -2) != 0 {
            lua_pop(state, 1);
            found += 1;
            // Lua goes through the elements in order before anything else. Bits are compared: a key is whole.
            let expected = f64::from(found).to_bits();
            if lua_type(state, -1) != LUA_TNUMBER || lua_tonumber(state, -1).to_bits() != expected {
                lua_pop(state, 1);
                return false;
            }
        }
        usize::try_from(found).is_ok_and(|found| found == count)
    }
}
