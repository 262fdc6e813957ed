//! A Lua state with exactly the globals that Redis 7.0 gives scripts, all read-only. Scripts have no way
//! to files, the process, bytecode or the tables behind the read-only ones.

use std::sync::Arc;

use mlua::{Error, Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, VmState};
use parking_lot::Mutex;

use super::raise::{self, Raised};
use super::raw::{Ended, Home, Input};
use super::watch::Watch;
use super::{bit, bytecode, cjson, cmsgpack, number, strings, structs};
use crate::doors::out::Out;

/// Chunk name of the prelude; its frames are not shown.
pub(crate) const PRELUDE: &str = "=redis";
/// Instructions between two looks at the watch: some ten microseconds, or much longer where each makes a long string.
const LOOK_EVERY: u32 = 2_000;
/// The part of its limit that a script may leave behind before its garbage is collected.
const LEFT_BEHIND: usize = 8;

/// Base functions that scripts do not have.
const REMOVED: &[&str] = &[
    "print", "dofile", "loadfile", "getfenv", "setfenv", "newproxy", "module", "require",
    "package", "debug", "os", "io",
];

/// Fills a table with functions.
pub(crate) type Fill<'a> = Box<dyn FnOnce(&Lua, &Table) -> mlua::Result<()> + 'a>;

/// A state ready to run scripts.
pub(crate) struct Sandbox {
    pub(crate) lua: Lua,
    home: Home,
    /// The globals behind the read-only ones.
    real: Table,
    /// Runs the body of a library: (function) → (ok, value).
    pub(crate) load: Function,
    watch: Arc<Watch>,
}

/// How the body of a library failed.
pub(crate) enum Failure {
    /// An error with `err`, and `source` and `line` where they are known.
    Raised(Table),
    /// Ended from outside; the text is an error reply.
    Stopped(Vec<u8>),
    /// Out of memory, or worse: a bare message.
    Broken(Vec<u8>),
}

impl Failure {
    /// The text of the error alone.
    pub(crate) fn message(self) -> Vec<u8> {
        match self {
            Self::Raised(table) => match table.raw_get::<mlua::LuaString>("err") {
                Ok(text) => text.as_bytes().to_vec(),
                Err(_) => b"ERR execution failure".to_vec(),
            },
            Self::Stopped(text) => text,
            Self::Broken(text) => [b"ERR ".as_slice(), &text].concat(),
        }
    }
}

impl Sandbox {
    /// A fresh state. `redis` is filled by `api`; a library being loaded sees only `library_api`.
    pub(crate) fn new(
        watch: &Arc<Watch>,
        api: impl FnOnce(&Lua, &Table) -> mlua::Result<()>,
        library_api: Option<Fill<'_>>,
    ) -> mlua::Result<Self> {
        // Panics must reach the host, not a script's pcall.
        let options = LuaOptions::new().catch_rust_panics(false);
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, options)?;
        let real = lua.globals();
        for name in REMOVED {
            real.raw_set(*name, Value::Nil)?;
        }
        real.raw_set("cjson", cjson::install(&lua, watch)?)?;
        real.raw_set("cmsgpack", cmsgpack::install(&lua, watch)?)?;
        real.raw_set("struct", structs::install(&lua)?)?;
        real.raw_set("bit", bit::install(&lua)?)?;
        install_random(&lua, &real.raw_get("math")?)?;
        let redis = lua.create_table()?;
        api(&lua, &redis)?;
        real.raw_set("redis", redis)?;
        let bare = match library_api {
            Some(fill) => {
                let (bare, redis) = (lua.create_table()?, lua.create_table()?);
                fill(&lua, &redis)?;
                bare.raw_set("redis", redis)?;
                Value::Table(bare)
            }
            None => Value::Nil,
        };
        let prelude = lua.load(include_str!("prelude.lua")).set_name(PRELUDE).into_function()?;
        let rust = lua.create_table()?;
        rust.raw_set("unwrap", lua.create_function(unwrap)?)?;
        let shared = watch.clone();
        let arm = move |lua: &Lua, (): ()| lua.set_memory_limit(shared.memory()).map(|_| ());
        rust.raw_set("arm", lua.create_function(arm)?)?;
        let shared = watch.clone();
        let stopping = move |_: &Lua, (): ()| Ok(shared.stopping());
        rust.raw_set("stopping", lua.create_function(stopping)?)?;
        rust.raw_set("checked", cfg!(debug_assertions))?;
        let text = strings::install(&lua, watch)?;
        let (globals, load): (Table, Function) = prelude.call((&real, rust, text, bare))?;
        // New chunks, and chunks that scripts load, see the read-only globals only.
        lua.set_globals(globals)?;
        let home = Home::new(&lua, &real, lua.create_function(handler)?)?;
        let sandbox = Self { lua, home, real, load, watch: watch.clone() };
        sandbox.hook(LOOK_EVERY)?;
        Ok(sandbox)
    }

    /// Looks at the watch every so many instructions, in the script and in its coroutines.
    fn hook(&self, every: u32) -> mlua::Result<()> {
        let watch = self.watch.clone();
        let triggers = HookTriggers::new().every_nth_instruction(every);
        self.lua.set_global_hook(triggers, move |lua, _| match watch.check() {
            Ok(()) => watch.room_when_slow(lua.used_memory()).map(|()| VmState::Continue),
            Err(error) => {
                // A script could catch this and go on: from now on every instruction raises it.
                let watch = watch.clone();
                lua.set_global_hook(HookTriggers::new().every_nth_instruction(1), move |_, _| {
                    watch.check().map(|()| VmState::Continue)
                })?;
                Err(error)
            }
        })
    }

    /// Puts the state in order after a script: no memory limit while the host works, the usual hook,
    /// and room for the next script if this one took much.
    pub(crate) fn settle(&self, stopped: bool, out_of_memory: bool) -> mlua::Result<()> {
        self.lua.set_memory_limit(0)?;
        if stopped {
            self.hook(LOOK_EVERY)?;
        }
        let limit = self.watch.memory();
        if out_of_memory || (limit > 0 && self.lua.used_memory() > limit / LEFT_BEHIND) {
            self.lua.gc_collect()?;
            self.lua.gc_collect()?;
        }
        Ok(())
    }

    /// Runs a script; its reply goes to `out`. `resp3` tells, at the end, which protocol it chose.
    pub(crate) fn run(
        &self,
        function: &Function,
        keys: &[&[u8]],
        args: &[&[u8]],
        as_globals: bool,
        out: &mut Out,
        resp3: impl FnOnce() -> bool,
    ) -> Ended {
        let input = Input { keys, args, as_globals, memory: self.watch.memory() };
        self.home.run(&self.lua, function, &input, out, resp3)
    }

    /// The result of a library's body.
    pub(crate) fn outcome(result: mlua::Result<(bool, Value)>) -> Result<Value, Failure> {
        match result {
            Ok((true, value)) => Ok(value),
            Ok((false, Value::Table(table))) => Err(Failure::Raised(table)),
            Ok((false, Value::String(text))) => Err(Failure::Broken(text.as_bytes().to_vec())),
            Ok((false, _)) => Err(Failure::Broken(b"execution failure".to_vec())),
            // A script that was stopped keeps raising until it has left even the prelude.
            Err(error) => Err(match Raised::find(&error) {
                Some(Raised::Reply(text)) => Failure::Stopped(text.clone()),
                Some(Raised::Text(text)) => Failure::Broken(text.clone()),
                None => Failure::Broken(plain_text(&error).into_bytes()),
            }),
        }
    }

    /// Compiles a script. One that assigns to no global gets the globals without the step in front.
    pub(crate) fn compile_script(&self, source: &[u8]) -> Result<Function, Vec<u8>> {
        let function = self.compile(source, "@user_script")?;
        if !bytecode::sets_globals(&function.dump(false)) {
            function
                .set_environment(self.real.clone())
                .map_err(|error| error.to_string().into_bytes())?;
        }
        Ok(function)
    }

    /// Compiles source text; the error is Lua's message.
    pub(crate) fn compile(&self, source: &[u8], name: &str) -> Result<Function, Vec<u8>> {
        let chunk = self.lua.load(source).set_name(name).set_mode(mlua::chunk::ChunkMode::Text);
        chunk.into_function().map_err(|error| match error {
            Error::SyntaxError { message, .. } => message.into_bytes(),
            other => other.to_string().into_bytes(),
        })
    }
}

/// The value a script expects in place of an error object of ours.
fn unwrap(lua: &Lua, value: Value) -> mlua::Result<Value> {
    let Value::Error(error) = value else { return Ok(value) };
    match Raised::find(&error) {
        Some(Raised::Text(text)) => lua.create_string(text).map(Value::String),
        Some(Raised::Reply(text)) => error_table(lua, text).map(Value::Table),
        None => lua.create_string(plain_text(&error)).map(Value::String),
    }
}

/// A table as `redis.pcall` returns it for an error.
pub(crate) fn error_table(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("err", lua.create_string(text)?)?;
    table.raw_set("ignore_error_stats_update", true)?;
    Ok(table)
}

/// The message of an error that did not come from our own code.
fn plain_text(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => plain_text(cause),
        Error::RuntimeError(text) | Error::MemoryError(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The message handler of every script: a table with `err`, `source` and `line`.
fn handler(lua: &Lua, value: Value) -> mlua::Result<Table> {
    let value = unwrap(lua, value)?;
    let table = match value {
        Value::Table(table) => table,
        other => {
            let mut text = b"ERR ".to_vec();
            match &other {
                Value::String(message) => text.extend_from_slice(&message.as_bytes()),
                Value::Integer(whole) => number::write_g(&mut text, number::of_i64(*whole), 14),
                Value::Number(number) => number::write_g(&mut text, *number, 14),
                Value::Nil => text.extend_from_slice(b"nil"),
                Value::Boolean(on) => text.extend_from_slice(on.to_string().as_bytes()),
                other => text.extend_from_slice(raise::type_name(Some(other)).as_bytes()),
            }
            let table = lua.create_table()?;
            table.raw_set("err", lua.create_string(&text)?)?;
            table
        }
    };
    if let Some((source, line)) = script_frame(lua, 1) {
        table.raw_set("source", source)?;
        table.raw_set("line", line)?;
    }
    Ok(table)
}

/// Source and line of the innermost frame that belongs to a script.
fn script_frame(lua: &Lua, from: usize) -> Option<(String, usize)> {
    for level in from..from + 50 {
        let found = lua.inspect_stack(level, |frame| {
            let source = frame.source();
            let name = source.source.as_deref().unwrap_or_default();
            if source.what == "C" || name == PRELUDE {
                return None;
            }
            Some((name.to_owned(), frame.current_line().unwrap_or(0)))
        })?;
        if found.is_some() {
            return found;
        }
    }
    None
}

/// `math.random` as Redis has it: the same numbers for the same seed on every machine.
fn install_random(lua: &Lua, math: &Table) -> mlua::Result<()> {
    let state = Arc::new(Mutex::new(rand::random::<u64>() & 0xffff_ffff_ffff));
    let shared = state.clone();
    let random = move |lua: &Lua, args: mlua::MultiValue| {
        let args = args.into_vec();
        let ratio = {
            let mut state = shared.lock();
            *state = state.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
            let drawn = u32::try_from(*state >> 17).unwrap_or(0) % 0x7fff_ffff;
            f64::from(drawn) / f64::from(0x7fff_ffff)
        };
        #[expect(clippy::cast_possible_truncation, reason = "the reference takes ints")]
        let int = |index: usize| raise::check_integer(lua, &args, index).map(|n| n as i32);
        match args.len() {
            0 => Ok(ratio),
            1 => {
                let high = int(1)?;
                if high < 1 {
                    return Err(raise::argument(lua, 1, "interval is empty"));
                }
                Ok((ratio * f64::from(high)).floor() + 1.0)
            }
            2 => {
                let (low, high) = (int(1)?, int(2)?);
                if low > high {
                    return Err(raise::argument(lua, 2, "interval is empty"));
                }
                let width = f64::from(high.wrapping_sub(low).wrapping_add(1));
                Ok((ratio * width).floor() + f64::from(low))
            }
            _ => Err(raise::error(lua, "wrong number of arguments")),
        }
    };
    math.raw_set("random", lua.create_function(random)?)?;
    let seed = move |lua: &Lua, args: mlua::MultiValue| {
        #[expect(clippy::cast_possible_truncation, reason = "the reference takes an int")]
        let seed = raise::check_integer(lua, &args.into_vec(), 1)? as i32;
        *state.lock() =
            (i64::from(seed).cast_unsigned() << 16).wrapping_add(0x330e) & 0xffff_ffff_ffff;
        Ok(())
    };
    math.raw_set("randomseed", lua.create_function(seed)?)
}
