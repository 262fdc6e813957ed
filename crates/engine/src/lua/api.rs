//! `redis.*`: what a script calls. Errors that scripts may catch are raised as [`raise::reply`].

use std::sync::Arc;

use mlua::{BString, Lua, MultiValue, Table, Value};

use super::stage::{REPL_ALL, REPL_AOF, SharedStage, Stage};
use super::watch::Watch;
use super::{number, raise, raw};
use crate::commands::table::{Found, TABLE};
use crate::error::ReplyError;

/// The version whose behaviour this is.
const VERSION: &str = "7.0.15";
const VERSION_NUMBER: i64 = 0x0007_000f;

/// Fills `redis` for scripts and functions.
pub(crate) fn install(
    lua: &Lua,
    redis: &Table,
    stage: &SharedStage,
    watch: &Arc<Watch>,
    eval: bool,
) -> mlua::Result<()> {
    raw::install(lua, redis, stage, watch)?;
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
            // An argument that is neither a string nor a number is left out.
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
            0 => tracing::trace!(target: "worldkeep_engine::script", "{text}"),
            1 => tracing::debug!(target: "worldkeep_engine::script", "{text}"),
            2 => tracing::info!(target: "worldkeep_engine::script", "{text}"),
            3 => tracing::warn!(target: "worldkeep_engine::script", "{text}"),
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
        // An argument that is no text counts as an empty one, as in Redis.
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
pub(super) fn with_code(text: &[u8]) -> Vec<u8> {
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
        let words = words(&args).map_err(|error| raise::reply(&error.0))?;
        let argv: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
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

/// Arguments of a call: strings, and numbers with all their digits.
fn words(args: &MultiValue) -> Result<Vec<Vec<u8>>, ReplyError> {
    if args.is_empty() {
        return Err(NO_ARGUMENT);
    }
    let word = |arg: &Value| match arg {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(_) | Value::Number(_) => {
            let mut text = Vec::new();
            number::write_g(&mut text, arg.as_f64().unwrap_or(0.0), 17);
            Ok(text)
        }
        _ => Err(BAD_ARGUMENT),
    };
    args.iter().map(word).collect()
}

pub(super) const NO_ARGUMENT: ReplyError =
    ReplyError::fixed("ERR Please specify at least one argument for this redis lib call");
pub(super) const BAD_ARGUMENT: ReplyError =
    ReplyError::fixed("ERR Lua redis lib command arguments must be strings or integers");

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
