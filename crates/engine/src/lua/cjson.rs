//! `cjson`: JSON as lua-cjson 2.1.0 in Redis 7.0 writes and reads it, quirks included: an empty
//! table is `{}`, `/` is escaped, numbers have 14 digits, a NUL byte ends the text.

mod read;
mod write;

use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value};
use parking_lot::Mutex;

use super::raise;
use super::watch::{Meter, Watch};
use read::decode;
use write::encode;

/// Deeper tables are refused even when a script raises the limit; the reference ends near here too.
pub(super) const DEEPEST: i32 = 2600;

/// Settings of one `cjson` instance; scripts change them, and they outlive the script.
#[derive(Clone, Copy)]
pub(super) struct Config {
    pub(super) sparse_convert: i32,
    pub(super) sparse_ratio: i32,
    pub(super) sparse_safe: i32,
    pub(super) encode_max_depth: i32,
    pub(super) decode_max_depth: i32,
    pub(super) encode_invalid: i32,
    pub(super) decode_invalid: i32,
    pub(super) keep_buffer: i32,
    pub(super) precision: i32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sparse_convert: 0,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            encode_invalid: 0,
            decode_invalid: 1,
            keep_buffer: 1,
            precision: 14,
        }
    }
}

type Shared = Arc<Mutex<Config>>;

/// A fresh `cjson` table with its own settings.
pub(crate) fn install(lua: &Lua, watch: &Arc<Watch>) -> mlua::Result<Table> {
    let config: Shared = Arc::default();
    let table = lua.create_table()?;
    let (shared, meter) = (config.clone(), watch.clone());
    let call = move |lua: &Lua, args: MultiValue| {
        let config = *shared.lock();
        encode(lua, config, Meter::new(&meter), &args)
    };
    table.raw_set("encode", lua.create_function(call)?)?;
    let shared = config.clone();
    let call = move |lua: &Lua, args: MultiValue| {
        let config = *shared.lock();
        decode(lua, config, &args.into_vec())
    };
    table.raw_set("decode", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, _: MultiValue| install(lua, &shared);
    table.raw_set("new", lua.create_function(call)?)?;
    table.raw_set("null", Value::NULL)?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    install_settings(lua, &table, &config)?;
    Ok(table)
}

fn install_settings(lua: &Lua, table: &Table, config: &Shared) -> mlua::Result<()> {
    setting(lua, table, config, "encode_sparse_array", 3, |lua, config, args| {
        let convert = choose(lua, args, 1, &mut config.sparse_convert, &["off", "on"])?;
        let ratio = integer(lua, args, 2, &mut config.sparse_ratio, (0, i32::MAX))?;
        let safe = integer(lua, args, 3, &mut config.sparse_safe, (0, i32::MAX))?;
        Ok(vec![convert, ratio, safe])
    })?;
    setting(lua, table, config, "encode_max_depth", 1, |lua, config, args| {
        Ok(vec![integer(lua, args, 1, &mut config.encode_max_depth, (1, i32::MAX))?])
    })?;
    setting(lua, table, config, "decode_max_depth", 1, |lua, config, args| {
        Ok(vec![integer(lua, args, 1, &mut config.decode_max_depth, (1, i32::MAX))?])
    })?;
    setting(lua, table, config, "encode_number_precision", 1, |lua, config, args| {
        Ok(vec![integer(lua, args, 1, &mut config.precision, (1, 14))?])
    })?;
    setting(lua, table, config, "encode_keep_buffer", 1, |lua, config, args| {
        Ok(vec![choose(lua, args, 1, &mut config.keep_buffer, &["off", "on"])?])
    })?;
    setting(lua, table, config, "encode_invalid_numbers", 1, |lua, config, args| {
        Ok(vec![choose(lua, args, 1, &mut config.encode_invalid, &["off", "on", "null"])?])
    })?;
    setting(lua, table, config, "decode_invalid_numbers", 1, |lua, config, args| {
        Ok(vec![choose(lua, args, 1, &mut config.decode_invalid, &["off", "on"])?])
    })
}

type Setting = fn(&Lua, &mut Config, &[Value]) -> mlua::Result<Vec<Value>>;

fn setting(
    lua: &Lua,
    table: &Table,
    config: &Shared,
    name: &str,
    most: usize,
    change: Setting,
) -> mlua::Result<()> {
    let config = config.clone();
    let call = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        if args.len() > most {
            return Err(raise::argument(lua, most + 1, "found too many arguments"));
        }
        change(lua, &mut config.lock(), &args).map(MultiValue::from_vec)
    };
    table.raw_set(name, lua.create_function(call)?)
}

fn integer(
    lua: &Lua,
    args: &[Value],
    index: usize,
    setting: &mut i32,
    (min, max): (i32, i32),
) -> mlua::Result<Value> {
    if !matches!(args.get(index - 1), None | Some(Value::Nil)) {
        #[expect(clippy::cast_possible_truncation, reason = "the reference keeps an int")]
        let value = raise::check_integer(lua, args, index)? as i32;
        if value < min || value > max {
            let text = format!("expected integer between {min} and {max}");
            return Err(raise::argument(lua, 1, text));
        }
        *setting = value;
    }
    Ok(Value::Integer(i64::from(*setting)))
}

fn choose(
    lua: &Lua,
    args: &[Value],
    index: usize,
    setting: &mut i32,
    options: &[&str],
) -> mlua::Result<Value> {
    match args.get(index - 1) {
        None | Some(Value::Nil) => {}
        Some(Value::Boolean(on)) => *setting = i32::from(*on),
        Some(_) => {
            *setting = raise::with_string(lua, args, index, |word| {
                let found = options.iter().position(|option| option.as_bytes() == word);
                found.and_then(|at| i32::try_from(at).ok()).ok_or_else(|| {
                    let text = [b"invalid option '", word, b"'"].concat();
                    raise::argument(lua, index, text)
                })
            })?;
        }
    }
    Ok(match *setting {
        0 => Value::Boolean(false),
        1 => Value::Boolean(true),
        other => {
            let word = usize::try_from(other).ok().and_then(|at| options.get(at));
            Value::String(lua.create_string(word.copied().unwrap_or_default())?)
        }
    })
}
