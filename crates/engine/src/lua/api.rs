//! `redis.*`: what a script calls. Errors that scripts may catch are raised as [`raise::reply`].

use std::cell::RefCell;
use std::sync::Arc;

use hashbrown::HashMap;
use mlua::{BString, Lua, LuaString, MultiValue, Table, Value};

use super::sandbox::error_table;
use super::stage::{REPL_ALL, REPL_AOF, SharedStage, Stage};
use super::watch::Watch;
use super::{convert, number, raise};
use crate::command::{Found, Spec, TABLE};
use crate::error::ReplyError;

/// The version whose behaviour this is.
const VERSION: &str = "7.0.15";
const VERSION_NUMBER: i64 = 0x0007_000f;
/// A buffer that grew beyond this is not kept for the next call.
const KEEP: usize = 64 << 10;

/// Fills `redis` for scripts and functions.
pub(crate) fn install(
    lua: &Lua,
    redis: &Table,
    stage: &SharedStage,
    watch: &Arc<Watch>,
    eval: bool,
) -> mlua::Result<()> {
    let (shared, meter, names) = (stage.clone(), watch.clone(), Spellings::default());
    let call =
        move |lua: &Lua, args: MultiValue| match command(lua, &shared, &meter, &names, &args)? {
            Ok(value) => Ok(value),
            Err(error) => Err(raise::reply(&error.0)),
        };
    redis.raw_set("call", lua.create_function(call)?)?;
    let (shared, meter, names) = (stage.clone(), watch.clone(), Spellings::default());
    let pcall =
        move |lua: &Lua, args: MultiValue| match command(lua, &shared, &meter, &names, &args)? {
            Ok(value) => Ok(value),
            Err(error) => error_table(lua, &error.0).map(Value::Table),
        };
    redis.raw_set("pcall", lua.create_function(pcall)?)?;
    install_log(lua, redis)?;
    install_replies(lua, redis)?;
    install_switches(lua, redis, stage)?;
    if eval {
        redis.raw_set("breakpoint", lua.create_function(|_, _: MultiValue| Ok(false))?)?;
        redis.raw_set("debug", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
        redis.raw_set("replicate_commands", lua.create_function(|_, _: MultiValue| Ok(true))?)?;
    }
    Ok(())
}

/// `redis.log` and the version: also there while a library loads.
pub(crate) fn install_log(lua: &Lua, redis: &Table) -> mlua::Result<()> {
    redis.raw_set("REDIS_VERSION", VERSION)?;
    redis.raw_set("REDIS_VERSION_NUM", VERSION_NUMBER)?;
    for (level, name) in
        ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"].iter().enumerate()
    {
        redis.raw_set(*name, level)?;
    }
    let log = |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        if args.len() < 2 {
            return Err(raise::reply("ERR redis.log() requires two arguments or more."));
        }
        let Some(level) = raise::as_number(lua, args.first()) else {
            return Err(raise::reply("ERR First argument must be a number (log level)."));
        };
        let mut text: Vec<u8> = Vec::new();
        for index in 2..=args.len() {
            // What is neither a string nor a number is left out.
            let _ = raise::with_string(lua, &args, index, |part| {
                if index > 2 {
                    text.push(b' ');
                }
                text.extend_from_slice(part);
                Ok(())
            });
        }
        let text = String::from_utf8_lossy(&text);
        match number::to_i64(level) {
            0 => tracing::trace!(target: "engine::script", "{text}"),
            1 => tracing::debug!(target: "engine::script", "{text}"),
            2 => tracing::info!(target: "engine::script", "{text}"),
            3 => tracing::warn!(target: "engine::script", "{text}"),
            _ => return Err(raise::reply("ERR Invalid debug level.")),
        }
        Ok(())
    };
    redis.raw_set("log", lua.create_function(log)?)
}

/// `error_reply`, `status_reply` and `sha1hex`.
fn install_replies(lua: &Lua, redis: &Table) -> mlua::Result<()> {
    let error_reply = |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        let [Value::String(text)] = args.as_slice() else { return plain_error(lua, WRONG_ARGS) };
        let bytes = text.as_bytes();
        let text = c_text(&bytes);
        plain_error(lua, &with_code(text.strip_prefix(b"-").unwrap_or(text)))
    };
    redis.raw_set("error_reply", lua.create_function(error_reply)?)?;
    let status_reply = |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        let [Value::String(text)] = args.as_slice() else { return plain_error(lua, WRONG_ARGS) };
        let table = lua.create_table()?;
        table.raw_set("ok", text)?;
        Ok(table)
    };
    redis.raw_set("status_reply", lua.create_function(status_reply)?)?;
    let sha1hex = |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        if args.len() != 1 {
            return Err(raise::reply("ERR wrong number of arguments"));
        }
        // What is no text counts as none, as in Redis.
        let digest = raise::with_string(lua, &args, 1, |text| Ok(sha1_hex(text)));
        Ok(BString::from(digest.unwrap_or_else(|_| sha1_hex(b"")).as_slice()))
    };
    redis.raw_set("sha1hex", lua.create_function(sha1hex)?)
}

const WRONG_ARGS: &[u8] = b"ERR wrong number or type of arguments";

fn plain_error(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("err", lua.create_string(text)?)?;
    Ok(table)
}

/// Up to the first NUL.
fn c_text(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

/// The text behind its code: a text of one word gets `ERR`; line ends at both sides go.
fn with_code(text: &[u8]) -> Vec<u8> {
    let trim = |text: &[u8]| -> Vec<u8> {
        let is_end = |b: &u8| *b == b'\r' || *b == b'\n';
        let start = text.iter().position(|b| !is_end(b)).unwrap_or(text.len());
        let end = text.iter().rposition(|b| !is_end(b)).map_or(start, |at| at + 1);
        text[start..end].to_vec()
    };
    match memchr::memchr(b' ', text) {
        Some(space) => [&text[..=space], &trim(&text[space + 1..])].concat(),
        None => [b"ERR ".as_slice(), &trim(text)].concat(),
    }
}

/// `setresp`, `set_repl` and `acl_check_cmd`: they act on the running script.
fn install_switches(lua: &Lua, redis: &Table, stage: &SharedStage) -> mlua::Result<()> {
    let shared = stage.clone();
    let setresp = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        let mut stage = shared.lock();
        let stage = running(&mut stage, "redis.setresp")?;
        if args.len() != 1 {
            return Err(raise::reply("ERR redis.setresp() requires one argument."));
        }
        let version = number::to_i64(raise::as_number(lua, args.first()).unwrap_or(0.0));
        if version != 2 && version != 3 {
            return Err(raise::reply("ERR RESP version must be 2 or 3."));
        }
        stage.client.out.resp3 = version == 3;
        Ok(())
    };
    redis.raw_set("setresp", lua.create_function(setresp)?)?;
    let shared = stage.clone();
    let set_repl = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        let mut stage = shared.lock();
        let stage = running(&mut stage, "redis.set_repl")?;
        if args.len() != 1 {
            return Err(raise::reply("ERR redis.set_repl() requires two arguments."));
        }
        let flags = number::to_i64(raise::as_number(lua, args.first()).unwrap_or(0.0));
        match u8::try_from(flags) {
            Ok(flags) if flags <= REPL_ALL => stage.replicate = flags,
            _ => {
                return Err(raise::reply(
                    "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or \
                     REPL_NONE.",
                ));
            }
        }
        Ok(())
    };
    redis.raw_set("set_repl", lua.create_function(set_repl)?)?;
    for (name, bits) in [
        ("REPL_NONE", 0),
        ("REPL_AOF", REPL_AOF),
        ("REPL_SLAVE", 2),
        ("REPL_REPLICA", 2),
        ("REPL_ALL", REPL_ALL),
    ] {
        redis.raw_set(name, bits)?;
    }
    let shared = stage.clone();
    let check = move |_: &Lua, args: MultiValue| {
        let mut stage = shared.lock();
        let stage = running(&mut stage, "redis.acl_check_cmd")?;
        let mut words = Words::default();
        words.read(&args, None).map_err(|error| raise::reply(&error.0))?;
        let argv = words.argv();
        let Found::Command(spec) = TABLE.find(&argv) else {
            return Err(raise::reply("ERR Invalid command passed to redis.acl_check_cmd()"));
        };
        Ok(stage.client.user.denies(spec, &argv).is_none())
    };
    redis.raw_set("acl_check_cmd", lua.create_function(check)?)
}

fn running<'a>(stage: &'a mut Option<Stage>, name: &str) -> mlua::Result<&'a mut Stage> {
    stage.as_mut().ok_or_else(|| {
        raise::reply(format!("ERR {name} can only be called inside a script invocation"))
    })
}

/// Arguments of a call, one behind the other. Kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Words {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Words {
    /// Takes strings, and numbers with all their digits. Gives the command if its name alone tells it.
    fn read(
        &mut self,
        args: &MultiValue,
        names: Option<&Spellings>,
    ) -> Result<Option<&'static Spec>, ReplyError> {
        self.bytes.clear();
        self.ends.clear();
        let mut rest = args.iter();
        let mut spec = None;
        match (args.front(), names) {
            (None, _) => return Err(NO_ARGUMENT),
            (Some(Value::String(name)), Some(names)) => {
                spec = names.append(name, &mut self.bytes);
                self.ends.push(self.bytes.len());
                rest.next();
            }
            _ => {}
        }
        for arg in rest {
            match arg {
                Value::String(text) => self.bytes.extend_from_slice(&text.as_bytes()),
                Value::Integer(whole) => {
                    number::write_g(&mut self.bytes, number::of_i64(*whole), 17);
                }
                Value::Number(number) => number::write_g(&mut self.bytes, *number, 17),
                _ => return Err(BAD_ARGUMENT),
            }
            self.ends.push(self.bytes.len());
        }
        Ok(spec)
    }

    fn argv(&self) -> smallvec::SmallVec<[&[u8]; 16]> {
        let mut from = 0;
        self.ends
            .iter()
            .map(|end| {
                let word = &self.bytes[from..*end];
                from = *end;
                word
            })
            .collect()
    }
}

/// Commands that scripts of one Lua state have called, by the address of the name's string there. Each
/// string is held on to, so its address stays its own; a look here costs far less than reading the string.
#[derive(Default)]
struct Spellings(RefCell<HashMap<usize, Spelling>>);

struct Spelling {
    _held: LuaString,
    bytes: Box<[u8]>,
    spec: &'static Spec,
}

impl Spellings {
    /// More ways to write names than this are read each time.
    const MOST: usize = 256;

    /// Appends the name; gives the command if it is known already.
    fn append(&self, name: &LuaString, words: &mut Vec<u8>) -> Option<&'static Spec> {
        let address = name.to_pointer().addr();
        let mut known = self.0.borrow_mut();
        if let Some(spelling) = known.get(&address) {
            words.extend_from_slice(&spelling.bytes);
            return Some(spelling.spec);
        }
        let bytes = name.as_bytes();
        words.extend_from_slice(&bytes);
        // A command with subcommands is found by its first two words.
        let spec = TABLE.by_word(&bytes).filter(|spec| spec.subs.is_empty());
        if let Some(spec) = spec
            && known.len() < Self::MOST
        {
            known.insert(
                address,
                Spelling { _held: name.clone(), bytes: bytes.as_ref().into(), spec },
            );
        }
        spec
    }
}

const NO_ARGUMENT: ReplyError =
    ReplyError::fixed("ERR Please specify at least one argument for this redis lib call");
const BAD_ARGUMENT: ReplyError =
    ReplyError::fixed("ERR Lua redis lib command arguments must be strings or integers");

/// One command of a script: its reply as a value, or its error.
fn command(
    lua: &Lua,
    stage: &SharedStage,
    watch: &Watch,
    names: &Spellings,
    args: &MultiValue,
) -> mlua::Result<Result<Value, ReplyError>> {
    let mut stage = stage.lock();
    let stage = running(&mut stage, "redis.call/pcall")?;
    let mut words = std::mem::take(&mut stage.words);
    let outcome =
        words.read(args, Some(names)).and_then(|spec| stage.call(watch, spec, &words.argv()));
    if words.bytes.capacity() <= KEEP {
        stage.words = words;
    }
    if let Err(error) = outcome {
        stage.client.out.buf.clear();
        return Ok(Err(error));
    }
    // Nothing of the script runs while its value is made, so the stage may stay locked.
    let reply = &mut stage.client.out.buf;
    let value = match reply.first() {
        Some(b'-') => {
            let end = memchr::memchr(b'\r', reply).unwrap_or(reply.len());
            Err(ReplyError(with_code(&reply[1..end]).into()))
        }
        Some(b':') => Ok(convert::to_lua(lua, reply)?.0),
        _ => {
            // With a limit in force each value would be made under protection, at twice the cost.
            lua.set_memory_limit(0)?;
            let value = convert::to_lua(lua, reply);
            lua.set_memory_limit(watch.memory())?;
            Ok(value?.0)
        }
    };
    reply.clear();
    reply.shrink_to(KEEP);
    Ok(value)
}

/// The digest that names a script.
pub(crate) fn sha1_hex(text: &[u8]) -> [u8; 40] {
    use sha1::Digest as _;
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; 40];
    for (byte, pair) in sha1::Sha1::digest(text).iter().zip(hex.chunks_exact_mut(2)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    hex
}
