//! Libraries of functions: loaded from source with `FUNCTION LOAD`, called by name with `FCALL`.
//! A library is whole or not there: a load that fails leaves everything as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::{Function, Lua, MultiValue, Table, Value};
use parking_lot::Mutex;

use super::flags::{self, Flags};
use super::host::LuaHost;
use super::{api, raise};
use crate::error::ReplyError;

/// One function of a library.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) name: Vec<u8>,
    pub(crate) function: Arc<Function>,
    pub(crate) flags: Flags,
    pub(crate) description: Option<Vec<u8>>,
}

/// One library.
#[derive(Debug)]
pub(crate) struct Library {
    /// The source as it was given.
    pub(crate) code: Vec<u8>,
    pub(crate) functions: Vec<Registered>,
}

/// Functions of the library being loaded, while one is.
type Loading = Arc<Mutex<Option<Vec<Registered>>>>;

/// All libraries by name.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    by_name: BTreeMap<Vec<u8>, Library>,
    /// Lower-case name of a function → it; function names have no case.
    functions: hashbrown::HashMap<Vec<u8>, Registered>,
    loading: Loading,
}

impl Libraries {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &Library)> {
        self.by_name.iter().map(|(name, library)| (name.as_slice(), library))
    }

    /// Numbers of libraries and functions.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.by_name.len(), self.functions.len())
    }

    pub(crate) fn function(&self, name: &[u8]) -> Option<&Registered> {
        if name.iter().any(u8::is_ascii_uppercase) {
            return self.functions.get(&name.to_ascii_lowercase());
        }
        self.functions.get(name)
    }

    pub(crate) fn clear(&mut self) {
        self.by_name.clear();
        self.functions.clear();
    }

    /// False when there is no such library.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let removed = self.by_name.remove(name).is_some();
        self.index();
        removed
    }

    fn index(&mut self) {
        self.functions.clear();
        for registered in self.by_name.values().flat_map(|library| &library.functions) {
            self.functions.insert(registered.name.to_ascii_lowercase(), registered.clone());
        }
    }

    /// Adds libraries; those of the same name must be gone, or go when `replace` is set.
    fn join(&mut self, new: BTreeMap<Vec<u8>, Library>, replace: bool) -> Result<(), ReplyError> {
        for name in new.keys() {
            if !replace && self.by_name.contains_key(name) {
                let mut error = flags::with("ERR Library ", name);
                error.0.to_mut().extend_from_slice(b" already exists");
                return Err(error);
            }
        }
        let mut taken: hashbrown::HashSet<Vec<u8>> = self
            .by_name
            .iter()
            .filter(|(name, _)| !new.contains_key(*name))
            .flat_map(|(_, library)| &library.functions)
            .map(|function| function.name.to_ascii_lowercase())
            .collect();
        for function in new.values().flat_map(|library| &library.functions) {
            if !taken.insert(function.name.to_ascii_lowercase()) {
                let mut error = flags::with("ERR Function ", &function.name);
                error.0.to_mut().extend_from_slice(b" already exists");
                return Err(error);
            }
        }
        self.by_name.extend(new);
        self.index();
        Ok(())
    }

    /// Fills the `redis` that a library sees while it loads.
    pub(crate) fn registrar(&self) -> impl FnOnce(&Lua, &Table) -> mlua::Result<()> + use<> {
        let loading = self.loading.clone();
        move |lua, redis| {
            api::install_log(lua, redis)?;
            let register =
                move |lua: &Lua, args: MultiValue| register(lua, &loading, &args.into_vec());
            redis.raw_set("register_function", lua.create_function(register)?)
        }
    }
}

impl LuaHost {
    /// Loads a library; gives its name.
    pub(crate) fn load_library(
        &mut self,
        source: &[u8],
        replace: bool,
    ) -> Result<Vec<u8>, ReplyError> {
        let (name, code) = flags::of_library(source)?;
        if !replace && self.libraries.by_name.contains_key(&name) {
            let mut error = flags::with("ERR Library '", &name);
            error.0.to_mut().extend_from_slice(b"' already exists");
            return Err(error);
        }
        let functions = self.compile_library(code)?;
        let library = Library { code: source.to_vec(), functions };
        self.libraries.join(BTreeMap::from([(name.clone(), library)]), true)?;
        Ok(name)
    }

    /// `FUNCTION RESTORE`: all of these libraries or none.
    pub(crate) fn restore_libraries(
        &mut self,
        sources: &[Vec<u8>],
        flush: bool,
        replace: bool,
    ) -> Result<(), ReplyError> {
        let mut new = BTreeMap::new();
        for source in sources {
            let (name, code) = flags::of_library(source)?;
            let functions = self.compile_library(code)?;
            if new.contains_key(&name) {
                let mut error = flags::with("ERR Library '", &name);
                error.0.to_mut().extend_from_slice(b"' already exists");
                return Err(error);
            }
            new.insert(name, Library { code: source.clone(), functions });
        }
        if !flush {
            return self.libraries.join(new, replace);
        }
        let old = std::mem::take(&mut self.libraries.by_name);
        let joined = self.libraries.join(new, false);
        if joined.is_err() {
            self.libraries.by_name = old;
            self.libraries.index();
        }
        joined
    }

    /// Runs the body of a library, which registers its functions.
    fn compile_library(&mut self, code: &[u8]) -> Result<Vec<Registered>, ReplyError> {
        let watch = self.watch.clone();
        let loading = self.libraries.loading.clone();
        let state = self.function_state()?;
        let function = state
            .compile(code, "@user_function")
            .map_err(|message| flags::with("ERR Error compiling function: ", &message))?;
        *loading.lock() = Some(Vec::new());
        watch.begin(false, true);
        let result = state.load.call::<(bool, Value)>(function);
        let stopped = watch.stopping();
        watch.end();
        let functions = loading.lock().take().unwrap_or_default();
        let failed = match super::sandbox::Sandbox::outcome(result) {
            Ok(_) => None,
            Err(failure) => Some(failure.message()),
        };
        state.settle(stopped, failed.is_some()).map_err(|error| {
            ReplyError::new(format!("ERR the Lua state is in disorder: {error}"))
        })?;
        match failed {
            Some(message) => Err(flags::with("ERR Error registering functions: ", &message)),
            None if functions.is_empty() => Err(ReplyError::fixed("ERR No functions registered")),
            None => Ok(functions),
        }
    }
}

/// `redis.register_function`, with a name and a function or with one table of named arguments.
fn register(lua: &Lua, loading: &Loading, args: &[Value]) -> mlua::Result<()> {
    let fail = |text: &str| Err(raise::reply(text));
    let mut loading = loading.lock();
    let Some(functions) = loading.as_mut() else {
        return fail("ERR redis.register_function can only be called on FUNCTION LOAD command");
    };
    let registered = match args {
        [Value::Table(named)] => from_named(lua, named)?,
        [_] => {
            return fail(
                "ERR calling redis.register_function with a single argument is only applicable \
                 to Lua table (representing named arguments).",
            );
        }
        [name, function] => {
            let Some(name) = text(lua, name) else {
                return fail("ERR first argument to redis.register_function must be a string");
            };
            let Value::Function(function) = function else {
                return fail("ERR second argument to redis.register_function must be a function");
            };
            let (flags, function) = (Flags::default(), Arc::new(function.clone()));
            Registered { name, function, flags, description: None }
        }
        _ => return fail("ERR wrong number of arguments to redis.register_function"),
    };
    if !flags::is_name(&registered.name) {
        return Err(raise::reply(&flags::BAD_NAME.0));
    }
    if functions.iter().any(|known| known.name == registered.name) {
        return fail("ERR Function already exists in the library");
    }
    functions.push(registered);
    Ok(())
}

fn from_named(lua: &Lua, named: &Table) -> mlua::Result<Registered> {
    let (mut name, mut function, mut description) = (None, None, None);
    let mut flags = Flags::default();
    let fail = |text: &str| Err(raise::reply(text));
    let wanted = |name: &str, shape: &str| {
        let what =
            format!("ERR {name} argument given to redis.register_function must be a {shape}");
        raise::reply(&what)
    };
    let string = |value: &Value, name| text(lua, value).ok_or_else(|| wanted(name, "string"));
    for pair in named.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let Some(key) = text(lua, &key) else {
            return fail("ERR named argument key given to redis.register_function is not a string");
        };
        match key.to_ascii_lowercase().as_slice() {
            b"function_name" => name = Some(string(&value, "function_name")?),
            b"description" => description = Some(string(&value, "description")?),
            b"callback" => match value {
                Value::Function(callback) => function = Some(Arc::new(callback)),
                _ => return Err(wanted("callback", "function")),
            },
            b"flags" => {
                let Value::Table(words) = value else {
                    return fail(
                        "ERR flags argument to redis.register_function must be a table \
                         representing function flags",
                    );
                };
                for word in words.sequence_values::<Value>() {
                    if !text(lua, &word?).is_some_and(|word| flags.add(&word, true)) {
                        return fail("ERR unknown flag given");
                    }
                }
            }
            _ => return fail("ERR unknown argument given to redis.register_function"),
        }
    }
    let Some(name) = name else {
        return fail("ERR redis.register_function must get a function name argument");
    };
    let Some(function) = function else {
        return fail("ERR redis.register_function must get a callback argument");
    };
    Ok(Registered { name, function, flags, description })
}

/// A string, or a number as text.
fn text(lua: &Lua, value: &Value) -> Option<Vec<u8>> {
    raise::with_string(lua, std::slice::from_ref(value), 1, |text| Ok(text.to_vec())).ok()
}
