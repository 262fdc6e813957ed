//! The Lua states, the cache of scripts and the libraries of functions; runs one script at a time on the
//! core it is lent. Whatever a script does — succeed, fail, panic — the core comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hashbrown::HashMap;
use mlua::{BString, Either, Function, Lua, LuaString, Value, Variadic};

use super::api::{self, Words, sha1_hex};
use super::convert::{self, Names};
use super::flags::{self, Flags};
use super::library::Libraries;
use super::sandbox::{Failure, Sandbox};
use super::stage::{NO_REPLICAS, REPL_ALL, SharedStage, Stage};
use super::watch::Watch;
use crate::acl::User;
use crate::client::Client;
use crate::cluster;
use crate::core::Core;
use crate::error::{Outcome, ReplyError};

/// More arguments than this do not fit on Lua's stack and are passed as tables.
const MANY: usize = 200;

/// The digest of a script in hexadecimal.
pub(crate) type Sha = [u8; 40];

/// A compiled script.
struct Script {
    function: Function,
    flags: Flags,
}

/// Everything Lua.
pub(crate) struct LuaHost {
    pub(crate) watch: Arc<Watch>,
    stage: SharedStage,
    eval: Option<State>,
    functions: Option<State>,
    scripts: HashMap<Sha, Script>,
    pub(crate) libraries: Libraries,
    /// The client that commands of scripts belong to, and room for their arguments; away while one runs.
    client: Option<Box<Client>>,
    words: Words,
}

/// How much the host keeps.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) scripts: usize,
    pub(crate) libraries: usize,
    pub(crate) functions: usize,
}

/// A Lua state with what the host needs of it.
pub(crate) struct State {
    pub(crate) sandbox: Sandbox,
    names: Names,
}

/// One run of a script or function.
pub(crate) struct Call<'a> {
    /// The digest or the function's name.
    pub(crate) name: &'a [u8],
    pub(crate) function: Function,
    pub(crate) flags: Flags,
    /// Called by a command that only reads.
    pub(crate) read_only: bool,
    /// The command: its name, the script, the number of keys, then keys and arguments.
    pub(crate) argv: &'a [&'a [u8]],
    pub(crate) keys: usize,
    /// `EVAL` rather than a function.
    pub(crate) eval: bool,
}

impl Default for LuaHost {
    fn default() -> Self {
        Self {
            watch: Arc::default(),
            stage: SharedStage::default(),
            eval: None,
            functions: None,
            scripts: HashMap::new(),
            libraries: Libraries::default(),
            client: None,
            words: Words::default(),
        }
    }
}

impl LuaHost {
    /// The state of `EVAL`, made when first needed.
    fn eval_state(&mut self) -> Result<&State, ReplyError> {
        if self.eval.is_none() {
            let (stage, watch) = (self.stage.clone(), self.watch.clone());
            let api =
                |lua: &Lua, redis: &mlua::Table| api::install(lua, redis, &stage, &watch, true);
            self.eval =
                Some(State::new(&self.watch, api, None).map_err(|error| broken_state(&error))?);
        }
        self.eval.as_ref().ok_or(NO_STATE)
    }

    /// The state of functions, made when first needed.
    pub(crate) fn function_state(&mut self) -> Result<&State, ReplyError> {
        if self.functions.is_none() {
            let (stage, watch) = (self.stage.clone(), self.watch.clone());
            let api =
                |lua: &Lua, redis: &mlua::Table| api::install(lua, redis, &stage, &watch, false);
            let library = self.libraries.registrar();
            let library = Some(Box::new(library) as super::sandbox::Fill<'_>);
            self.functions =
                Some(State::new(&self.watch, api, library).map_err(|error| broken_state(&error))?);
        }
        self.functions.as_ref().ok_or(NO_STATE)
    }

    /// Whether a script is in the cache.
    pub(crate) fn knows(&self, sha: &[u8]) -> bool {
        lower_sha(sha).is_some_and(|sha| self.scripts.contains_key(&sha))
    }

    /// Forgets all scripts and what they left in the state.
    pub(crate) fn flush_scripts(&mut self) {
        self.scripts.clear();
        self.eval = None;
    }

    /// What is kept, for `INFO`.
    pub(crate) fn counts(&self) -> Counts {
        let (libraries, functions) = self.libraries.counts();
        Counts { scripts: self.scripts.len(), libraries, functions }
    }

    /// Compiles a script and keeps it.
    pub(crate) fn load_script(&mut self, source: &[u8]) -> Result<Sha, ReplyError> {
        let sha = sha1_hex(source);
        if !self.scripts.contains_key(&sha) {
            let (flags, code) = flags::of_script(source)?;
            let function =
                self.eval_state()?.sandbox.compile(code, "@user_script").map_err(|message| {
                    flags::with("ERR Error compiling script (new function): ", &message)
                })?;
            self.scripts.insert(sha, Script { function, flags });
        }
        Ok(sha)
    }

    /// The compiled script of a digest in any case.
    pub(crate) fn script(&self, sha: &[u8]) -> Option<(Sha, Function, Flags)> {
        let sha = lower_sha(sha)?;
        let script = self.scripts.get(&sha)?;
        Some((sha, script.function.clone(), script.flags))
    }

    /// Runs a script on the core; its reply is in the caller's `out`.
    pub(crate) fn run(
        &mut self,
        mut core: Box<Core>,
        caller: &mut Client,
        call: &Call<'_>,
    ) -> (Box<Core>, Outcome) {
        let over_memory = core.config.maxmemory > 0 && core.over_memory();
        if let Err(error) = may_start(&core, call, over_memory) {
            return (core, Err(error));
        }
        core.db = caller.db;
        self.watch.slow_after(core.config.busy_reply_threshold_ms);
        let stage = Stage {
            client: self.script_client(caller),
            core,
            read_only: call.read_only
                || (!call.flags.undeclared && call.flags.has(Flags::NO_WRITES)),
            allow_oom: !call.flags.undeclared && call.flags.has(Flags::ALLOW_OOM),
            cross_slots: call.flags.undeclared || call.flags.has(Flags::CROSS_SLOTS),
            slot: call.argv[3..].first().filter(|_| call.keys > 0).map(|key| cluster::slot_of(key)),
            over_memory,
            wrote: false,
            replicate: REPL_ALL,
            words: std::mem::take(&mut self.words),
        };
        *self.stage.lock() = Some(stage);
        if !call.eval {
            self.watch.describe(call.name, call.argv, self.libraries.counts());
        }
        self.watch.begin(call.eval, false);
        let state = if call.eval { &self.eval } else { &self.functions };
        let ran = catch_unwind(AssertUnwindSafe(|| state.as_ref().map(|state| state.start(call))));
        // First of all: the core is home again.
        let stopped = self.watch.stopping();
        self.watch.end();
        let stage = self.stage.lock().take().expect("nobody else takes the stage");
        let Stage { mut core, mut client, words, .. } = stage;
        let resp3 = client.out.resp3;
        client.out.buf.clear();
        self.client = Some(client);
        self.words = words;
        core.db = caller.db;
        // The commands of the script logged themselves.
        core.log_as(&[]);
        let outcome = match ran {
            Ok(Some(result)) => {
                let state = if call.eval { &self.eval } else { &self.functions };
                let state = state.as_ref().expect("it just ran");
                state.finish(&mut core, caller, call, result, stopped, resp3)
            }
            Ok(None) => Err(NO_STATE),
            Err(_) => {
                // A bug of a command: the script ends, its caller is told, the engine lives on.
                tracing::error!("a command panicked inside a script");
                self.client = None;
                if let Some(state) = if call.eval { &self.eval } else { &self.functions } {
                    let _ = state.sandbox.settle(true, true);
                }
                Err(ReplyError::fixed("ERR internal error while a script ran"))
            }
        };
        (core, outcome)
    }

    fn script_client(&mut self, caller: &Client) -> Box<Client> {
        let mut client = self.client.take().unwrap_or_else(|| {
            let mut client = Client::new(0, String::new(), User::unrestricted(), 0);
            client.deny_blocking = true;
            client.in_script = true;
            Box::new(client)
        });
        client.id = caller.id;
        client.db = caller.db;
        client.out.resp3 = false;
        client.authenticated = true;
        if !Arc::ptr_eq(&client.user, &caller.user) {
            client.user = caller.user.clone();
        }
        client
    }
}

impl State {
    fn new(
        watch: &Arc<Watch>,
        api: impl FnOnce(&Lua, &mlua::Table) -> mlua::Result<()>,
        library: Option<super::sandbox::Fill<'_>>,
    ) -> mlua::Result<Self> {
        let sandbox = Sandbox::new(watch, api, library)?;
        let names = Names::new(&sandbox.lua)?;
        Ok(Self { sandbox, names })
    }

    fn start(&self, call: &Call<'_>) -> mlua::Result<(bool, Value)> {
        let starters = &self.sandbox.start;
        let args = &call.argv[3..];
        let function = &call.function;
        if args.len() > MANY {
            let table = |args: &[&[u8]]| {
                let table = self.sandbox.lua.create_table_with_capacity(args.len(), 0)?;
                for (index, arg) in args.iter().enumerate() {
                    table.raw_set(index + 1, BString::from(*arg))?;
                }
                Ok::<_, mlua::Error>(table)
            };
            let (keys, args) = args.split_at(call.keys);
            let start = if call.eval { &starters.eval_tables } else { &starters.call_tables };
            return start.call((function, table(keys)?, table(args)?));
        }
        // Text goes straight to Lua's stack; other bytes have to go by way of a value.
        let args: Variadic<Either<&str, BString>> = args
            .iter()
            .map(|arg| match std::str::from_utf8(arg) {
                Ok(text) => Either::Left(text),
                Err(_) => Either::Right(BString::from(*arg)),
            })
            .collect();
        let start = if call.eval { &starters.eval } else { &starters.call };
        start.call((function, call.keys, args))
    }

    /// Turns what the script gave into a reply, and puts the state in order.
    fn finish(
        &self,
        core: &mut Core,
        caller: &mut Client,
        call: &Call<'_>,
        result: mlua::Result<(bool, Value)>,
        stopped: bool,
        resp3: bool,
    ) -> Outcome {
        // Values of the script are read without its memory limit.
        let _ = self.sandbox.lua.set_memory_limit(0);
        let outcome = Sandbox::outcome(result);
        let full =
            matches!(&outcome, Err(Failure::Broken(text)) if text.starts_with(b"not enough"));
        let outcome = match outcome {
            Ok(Value::Table(table)) if is_error(&table) => {
                Err(error_reply(core, call, Failure::Raised(table)))
            }
            Ok(value) => {
                let written = convert::to_resp(&self.names, &mut caller.out, value, resp3);
                written.map_err(|error| ReplyError::new(format!("ERR {error}")))
            }
            Err(failure) => Err(error_reply(core, call, failure)),
        };
        if let Err(error) = self.sandbox.settle(stopped, full) {
            tracing::error!("a script left its state in disorder: {error}");
        }
        outcome
    }
}

/// Whether a script returned an error reply.
fn is_error(table: &mlua::Table) -> bool {
    matches!(table.raw_get("err"), Ok(Value::String(_)))
}

/// The error a client reads.
fn error_reply(core: &mut Core, call: &Call<'_>, failure: Failure) -> ReplyError {
    let table = match failure {
        Failure::Raised(table) => table,
        Failure::Stopped(text) => {
            let text = [&text, b" script: ".as_slice(), call.name, b"."].concat();
            return ReplyError(text.into());
        }
        Failure::Broken(text) => {
            let text = &text[..text.len().min(100)];
            let text = [b"ERR Error running script ", call.name, b", ", text].concat();
            return ReplyError(text.into());
        }
    };
    let field = |name: &str| table.raw_get::<Option<LuaString>>(name).ok().flatten();
    let mut text = match field("err") {
        Some(text) => text.as_bytes().to_vec(),
        None => b"ERR execution failure".to_vec(),
    };
    if let (Some(source), Some(line)) = (field("source"), field("line")) {
        text.extend_from_slice(b" script: ");
        text.extend_from_slice(call.name);
        text.extend_from_slice(b", on ");
        text.extend_from_slice(&source.as_bytes());
        text.push(b':');
        text.extend_from_slice(&line.as_bytes());
        text.push(b'.');
    }
    if matches!(table.raw_get("ignore_error_stats_update"), Ok(Value::Boolean(true))) {
        core.stats.counted_already();
    }
    ReplyError(text.into())
}

/// What forbids a script before it starts.
fn may_start(core: &Core, call: &Call<'_>, over_memory: bool) -> Outcome {
    let flags = call.flags;
    if flags.undeclared {
        return Ok(());
    }
    if flags.has(Flags::NO_CLUSTER) && core.config.cluster {
        return Err(ReplyError::fixed(
            "ERR Can not run script on cluster, 'no-cluster' flag is set.",
        ));
    }
    if !flags.has(Flags::NO_WRITES) {
        if let Some(error) = &core.write_refusal {
            return Err(error.clone());
        }
        if core.config.min_replicas > 0 && !call.read_only {
            return Err(NO_REPLICAS);
        }
        if call.read_only {
            return Err(ReplyError::fixed(
                "ERR Can not execute a script with write flag using *_ro command.",
            ));
        }
        if over_memory && !flags.has(Flags::ALLOW_OOM) {
            return Err(ReplyError::fixed(
                "OOM allow-oom flag is not set on the script, can not run it when used memory > \
                 'maxmemory'",
            ));
        }
    }
    Ok(())
}

fn lower_sha(sha: &[u8]) -> Option<Sha> {
    let mut sha: Sha = sha.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

const NO_STATE: ReplyError = ReplyError::fixed("ERR the Lua state could not be made");

fn broken_state(error: &mlua::Error) -> ReplyError {
    ReplyError::new(format!("ERR the Lua state could not be made: {error}"))
}
