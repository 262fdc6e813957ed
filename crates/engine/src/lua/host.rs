//! The Lua states, the cache of scripts and the libraries of functions; runs one script at a time on the
//! core it is lent. Whatever a script does — succeed, fail, panic — the core comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hashbrown::HashMap;
use mlua::{Function, Lua};

use super::api::{self, sha1_hex};
use super::flags::{self, Flags};
use super::library::Libraries;
use super::raw::{Ended, Failed, Scratch};
use super::sandbox::Sandbox;
use super::stage::{NO_REPLICAS, REPL_ALL, SharedStage, Stage};
use super::watch::Watch;
use crate::acl::User;
use crate::core::Core;
use crate::core::client::Client;
use crate::data::slot;
use crate::error::{Outcome, ReplyError};

/// The digest of a script in hexadecimal.
pub(crate) type Sha = [u8; 40];

/// A compiled script.
struct Script {
    function: Arc<Function>,
    flags: Flags,
}

/// Everything Lua.
pub(crate) struct LuaHost {
    pub(crate) watch: Arc<Watch>,
    stage: SharedStage,
    eval: Option<Sandbox>,
    functions: Option<Sandbox>,
    scripts: HashMap<Sha, Script>,
    pub(crate) libraries: Libraries,
    /// The client that commands of scripts belong to, and what they keep; away while one runs.
    client: Option<Box<Client>>,
    scratch: Option<Box<Scratch>>,
}

/// How much the host keeps.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) scripts: usize,
    pub(crate) libraries: usize,
    pub(crate) functions: usize,
}

/// One run of a script or function.
pub(crate) struct Call<'a> {
    /// The digest or the function's name.
    pub(crate) name: &'a [u8],
    pub(crate) function: Arc<Function>,
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
            scratch: None,
        }
    }
}

impl LuaHost {
    /// The state of `EVAL`, made when first needed.
    fn eval_state(&mut self) -> Result<&Sandbox, ReplyError> {
        if self.eval.is_none() {
            let (stage, watch) = (self.stage.clone(), self.watch.clone());
            let api =
                |lua: &Lua, redis: &mlua::Table| api::install(lua, redis, &stage, &watch, true);
            self.eval =
                Some(Sandbox::new(&self.watch, api, None).map_err(|error| broken_state(&error))?);
        }
        self.eval.as_ref().ok_or(NO_STATE)
    }

    /// The state of functions, made when first needed.
    pub(crate) fn function_state(&mut self) -> Result<&Sandbox, ReplyError> {
        if self.functions.is_none() {
            let (stage, watch) = (self.stage.clone(), self.watch.clone());
            let api =
                |lua: &Lua, redis: &mlua::Table| api::install(lua, redis, &stage, &watch, false);
            let library = self.libraries.registrar();
            let library = Some(Box::new(library) as super::sandbox::Fill<'_>);
            self.functions = Some(
                Sandbox::new(&self.watch, api, library).map_err(|error| broken_state(&error))?,
            );
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

    /// The numbers of scripts, libraries and functions, for `INFO`.
    pub(crate) fn counts(&self) -> Counts {
        let (libraries, functions) = self.libraries.counts();
        Counts { scripts: self.scripts.len(), libraries, functions }
    }

    /// Compiles a script and keeps it.
    pub(crate) fn load_script(&mut self, source: &[u8]) -> Result<Sha, ReplyError> {
        let sha = sha1_hex(source);
        if !self.scripts.contains_key(&sha) {
            let (flags, code) = flags::of_script(source)?;
            let function = self.eval_state()?.compile_script(code).map_err(|message| {
                flags::with("ERR Error compiling script (new function): ", &message)
            })?;
            self.scripts.insert(sha, Script { function: Arc::new(function), flags });
        }
        Ok(sha)
    }

    /// The compiled script of a digest in any case.
    pub(crate) fn script(&self, sha: &[u8]) -> Option<(Sha, Arc<Function>, Flags)> {
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
        let (keys, args) = call.argv[3..].split_at(call.keys);
        let first = keys.first().filter(|_| core.config.cluster);
        let stage = Stage {
            client: self.script_client(caller),
            core,
            read_only: call.read_only
                || (!call.flags.undeclared && call.flags.has(Flags::NO_WRITES)),
            allow_oom: !call.flags.undeclared && call.flags.has(Flags::ALLOW_OOM),
            cross_slots: call.flags.undeclared || call.flags.has(Flags::CROSS_SLOTS),
            slot: first.map(|key| slot::slot_of(key)),
            over_memory,
            wrote: false,
            replicate: REPL_ALL,
            scratch: self.scratch.take(),
            panicked: false,
        };
        *self.stage.lock() = Some(stage);
        if !call.eval {
            self.watch.describe(call.name, call.argv, self.libraries.counts());
        }
        self.watch.begin(call.eval, false);
        let state = if call.eval { &self.eval } else { &self.functions };
        let resp3 = || self.stage.lock().as_ref().is_some_and(|stage| stage.client.out.resp3);
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let state = state.as_ref()?;
            Some(state.run(&call.function, keys, args, call.eval, &mut caller.out, resp3))
        }));
        // First of all: the core is home again.
        let stopped = self.watch.stopping();
        self.watch.end();
        let stage = self.stage.lock().take().expect("nobody else takes the stage");
        let Stage { mut core, mut client, scratch, panicked, .. } = stage;
        client.out.buf.clear();
        // A panic may have left the client half-way through something.
        self.client = Some(client).filter(|_| !panicked);
        self.scratch = scratch;
        core.db = caller.db;
        // The commands of the script logged themselves.
        core.log_as(&[]);
        let ended = match ran {
            Ok(None) => return (core, Err(NO_STATE)),
            Ok(Some(ended)) if !panicked => ended,
            _ => Ended::Panicked,
        };
        let full = match &ended {
            Ended::Broken(text) => text.starts_with(b"not enough"),
            Ended::Panicked => true,
            _ => false,
        };
        let settled = state.as_ref().map_or(Ok(()), |state| state.settle(stopped, full));
        if let Err(error) = settled {
            tracing::error!("a script left its state in disorder: {error}");
        }
        let outcome = match ended {
            Ended::Well => Ok(()),
            Ended::Failed(failed) => Err(error_reply(&mut core, call, failed)),
            Ended::Broken(text) => {
                let text = &text[..text.len().min(100)];
                let mut text = [b"ERR Error running script ", call.name, b", ", text].concat();
                if full {
                    let limit = format!("; scripts may take {} bytes", self.watch.memory());
                    text.extend_from_slice(limit.as_bytes());
                }
                Err(ReplyError(text.into()))
            }
            Ended::Panicked => {
                // A bug of a command: the script ends, its caller is told, the engine lives on.
                tracing::error!("a command panicked inside a script");
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

/// The error a client reads.
fn error_reply(core: &mut Core, call: &Call<'_>, failed: Failed) -> ReplyError {
    let mut text = failed.text;
    if let Some((source, line)) = failed.place {
        text.extend_from_slice(b" script: ");
        text.extend_from_slice(call.name);
        text.extend_from_slice(b", on ");
        text.extend_from_slice(&source);
        text.push(b':');
        text.extend_from_slice(&line);
        text.push(b'.');
    }
    if failed.counted {
        core.stats.counted_already();
    }
    ReplyError(text.into())
}

/// Refuses a script that may not start.
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
