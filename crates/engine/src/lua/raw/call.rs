//! `redis.call` and `redis.pcall`: arguments go to the command as they lie in Lua's memory, its reply is made
//! into a value straight from the client's buffer.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mlua::ffi::{
    LUA_TNUMBER, LUA_TSTRING, lua_CFunction, lua_State, lua_error, lua_gettop, lua_pushcclosure,
    lua_pushlightuserdata, lua_tonumber, lua_touserdata, lua_type, lua_upvalueindex,
};
use mlua::{Function, Lua, Table};
use smallvec::SmallVec;

use super::super::api::{BAD_ARGUMENT, NO_ARGUMENT, with_code};
use super::super::number;
use super::super::stage::{SharedStage, Stage};
use super::super::watch::Watch;
use super::{bytes_at, reply};
use crate::commands::table::{Spec, TABLE};
use crate::error::ReplyError;

/// A buffer that grew beyond this is not kept for the next call.
const KEEP: usize = 64 << 10;

/// The data behind the two functions; each holds a pointer to it.
struct Bridge {
    stage: SharedStage,
    watch: Arc<Watch>,
}

/// Puts `call` and `pcall` into `redis`.
pub(crate) fn install(
    lua: &Lua,
    redis: &Table,
    stage: &SharedStage,
    watch: &Arc<Watch>,
) -> mlua::Result<()> {
    let bridge = Arc::new(Bridge { stage: stage.clone(), watch: watch.clone() });
    let at = Arc::as_ptr(&bridge).cast_mut();
    // The state owns the bridge, so it lives as long as the functions that point to it.
    lua.set_app_data(bridge);
    for (name, function) in [("call", call as lua_CFunction), ("pcall", pcall)] {
        // SAFETY: two pushes within the slots that `exec_raw` keeps free, under its protection.
        let function: Function = unsafe {
            lua.exec_raw((), |state| {
                lua_pushlightuserdata(state, at.cast());
                lua_pushcclosure(state, function, 1);
            })?
        };
        redis.raw_set(name, function)?;
    }
    Ok(())
}

/// Raises what failed. May raise.
unsafe extern "C-unwind" fn call(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this; `Reply` is plain data, so nothing is left to drop when an error is raised.
    unsafe {
        let served = serve(state);
        reply::push(state, served.bytes());
        if served.failed {
            lua_error(state);
        }
    }
    1
}

/// Returns what failed. May raise when the value does not fit in memory.
unsafe extern "C-unwind" fn pcall(state: *mut lua_State) -> c_int {
    // SAFETY: as in `call`.
    unsafe { reply::push(state, serve(state).bytes()) };
    1
}

/// One whole reply, in the client's buffer or fixed. Plain data.
#[derive(Clone, Copy)]
struct Reply {
    at: *const u8,
    length: usize,
    failed: bool,
}

impl Reply {
    fn fixed(text: &'static [u8]) -> Self {
        Self { at: text.as_ptr(), length: text.len(), failed: true }
    }

    /// The bytes stay where they are until the next call of the script or its end.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: `Bridge::command` took both from a buffer that nobody touches before then.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }
}

const NOT_RUNNING: &[u8] =
    b"-ERR redis.call/pcall can only be called inside a script invocation\r\n";
const PANICKED: &[u8] = b"-ERR internal error while a script ran\r\n";

/// Runs the command on the stack. Raises nothing, and lets no panic out.
unsafe fn serve(state: *mut lua_State) -> Reply {
    // SAFETY: the first upvalue of both functions points to the bridge, which the state keeps.
    let bridge = unsafe { &*lua_touserdata(state, lua_upvalueindex(1)).cast::<Bridge>() };
    // SAFETY: the stack is that of the function that called us.
    let ran = catch_unwind(AssertUnwindSafe(|| unsafe { bridge.command(state) }));
    ran.unwrap_or_else(|_| {
        // A bug of a command. The lock is free again; the script ends soon, whatever it catches.
        if let Some(stage) = bridge.stage.lock().as_mut() {
            stage.panicked = true;
        }
        bridge.watch.end_now();
        Reply::fixed(PANICKED)
    })
}

impl Bridge {
    unsafe fn command(&self, state: *mut lua_State) -> Reply {
        let mut stage = self.stage.lock();
        let Some(stage) = stage.as_mut() else { return Reply::fixed(NOT_RUNNING) };
        if stage.panicked {
            return Reply::fixed(PANICKED);
        }
        let buf = &mut stage.client.out.buf;
        buf.clear();
        if buf.capacity() > KEEP {
            buf.shrink_to(KEEP);
        }
        // SAFETY: the strings stay on the stack, and no Lua code runs, until the command is done.
        let outcome = unsafe { self.run(stage, state) };
        let buf = &mut stage.client.out.buf;
        let error = match outcome {
            Err(ReplyError(text)) => text.into_owned(),
            Ok(()) if buf.first() == Some(&b'-') => {
                let end = memchr::memchr(b'\r', buf).unwrap_or(buf.len());
                with_code(&buf[1..end])
            }
            Ok(()) => return Reply { at: buf.as_ptr(), length: buf.len(), failed: false },
        };
        buf.clear();
        buf.push(b'-');
        buf.extend_from_slice(&error);
        buf.extend_from_slice(b"\r\n");
        Reply { at: buf.as_ptr(), length: buf.len(), failed: true }
    }

    /// Reads the arguments and runs the command.
    unsafe fn run(&self, stage: &mut Stage, state: *mut lua_State) -> Result<(), ReplyError> {
        let mut scratch = stage.scratch.take().unwrap_or_default();
        let Scratch { texts, ends, seen } = &mut *scratch;
        // SAFETY: the stack is that of the function that called us.
        let outcome = unsafe { arguments(state, texts, ends) }
            .and_then(|argv| stage.call(&self.watch, seen.find(argv[0]), &argv));
        texts.shrink_to(KEEP);
        stage.scratch = Some(scratch);
        outcome
    }
}

/// The arguments on the stack: strings where they lie, numbers with all their digits in `texts`.
unsafe fn arguments<'a>(
    state: *mut lua_State,
    texts: &'a mut Vec<u8>,
    ends: &mut Vec<usize>,
) -> Result<SmallVec<[&'a [u8]; 16]>, ReplyError> {
    // SAFETY: all indexes are on the stack; strings are read as strings and numbers as numbers.
    unsafe {
        let count = lua_gettop(state);
        if count == 0 {
            return Err(NO_ARGUMENT);
        }
        texts.clear();
        ends.clear();
        let mut argv = SmallVec::new();
        for index in 1..=count {
            match lua_type(state, index) {
                LUA_TSTRING => argv.push(bytes_at(state, index)),
                LUA_TNUMBER => {
                    number::write_g(texts, lua_tonumber(state, index), 17);
                    ends.push(texts.len());
                    argv.push(&[][..]);
                }
                _ => return Err(BAD_ARGUMENT),
            }
        }
        if !ends.is_empty() {
            // Now that `texts` stays where it is.
            let (mut from, mut ends) = (0, ends.iter());
            for (index, arg) in (1..).zip(&mut argv) {
                if lua_type(state, index) == LUA_TNUMBER
                    && let Some(&end) = ends.next()
                {
                    *arg = &texts[from..end];
                    from = end;
                }
            }
        }
        Ok(argv)
    }
}

/// Buffers that are kept from one call to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Arguments that were numbers, one behind the other, and where each ends.
    texts: Vec<u8>,
    ends: Vec<usize>,
    seen: CommandCache,
}

/// Commands found lately, by where their name lies. A name that moved or changed is looked up again.
struct CommandCache([Option<Known>; Self::SLOTS]);

type Known = (SmallVec<[u8; 16]>, &'static Spec);

impl Default for CommandCache {
    fn default() -> Self {
        Self(std::array::from_fn(|_| None))
    }
}

impl CommandCache {
    const SLOTS: usize = 64;

    /// The command, if its name alone tells it.
    fn find(&mut self, name: &[u8]) -> Option<&'static Spec> {
        // Lua keeps one copy of each short string, some tens of bytes apart.
        let slot = &mut self.0[(name.as_ptr().addr() >> 5) % Self::SLOTS];
        if let Some((known, spec)) = slot
            && known.as_slice() == name
        {
            return Some(spec);
        }
        let spec = TABLE.by_word(name).filter(|spec| spec.subs.is_empty())?;
        *slot = Some((SmallVec::from_slice(name), spec));
        Some(spec)
    }
}
