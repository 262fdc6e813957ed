//! The stage: the place where a script meets the data. While a script runs, the core and the client
//! it calls through stand on the stage, which the permanent `redis.*` functions share with the
//! host; afterwards they are always taken back. Calls from scripts are checked here in the order of
//! Redis.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::raw::Scratch;
use super::watch::Watch;
use crate::commands::table::{Found, Run, Spec, TABLE, flag};
use crate::core::Core;
use crate::core::client::Client;
use crate::data::slot;
use crate::error::{Outcome, ReplyError};
use crate::exec::OOM;

/// The running script's stage, shared by the host and the functions that scripts call.
pub(crate) type SharedStage = Arc<Mutex<Option<Stage>>>;

/// `REPL_AOF` of `redis.set_repl`; the other bit would go to replicas.
pub(crate) const REPL_AOF: u8 = 1;
pub(crate) const REPL_ALL: u8 = 3;

/// The core and what the running script may do with it.
pub(crate) struct Stage {
    pub(crate) core: Box<Core>,
    /// The client that commands of the script belong to.
    pub(crate) client: Box<Client>,
    /// Writes are refused.
    pub(crate) read_only: bool,
    /// Runs even when the memory limit is passed.
    pub(crate) allow_oom: bool,
    /// Keys of several slots are fine (no flags declared, or the flag says so).
    pub(crate) cross_slots: bool,
    /// The slot of the keys seen so far, on a Cluster.
    pub(crate) slot: Option<u16>,
    /// The memory limit was passed when the script began.
    pub(crate) over_memory: bool,
    /// Has written: from now on nothing may stop it half-way.
    pub(crate) wrote: bool,
    /// `redis.set_repl`.
    pub(crate) replicate: u8,
    /// Kept from one call to the next.
    pub(crate) scratch: Option<Box<Scratch>>,
    /// A command panicked: nothing more is run for this script.
    pub(crate) panicked: bool,
}

impl Stage {
    /// Runs one command of the script; its reply is in `client.out`. The command is looked up unless it is
    /// given.
    pub(crate) fn call(
        &mut self,
        watch: &Watch,
        spec: Option<&'static Spec>,
        argv: &[&[u8]],
    ) -> Outcome {
        #[cfg(test)]
        assert!(argv.last() != Some(&b"panic now".as_slice()), "a test asked for a panic");
        let spec = self.admit(watch, spec, argv)?;
        let Some(Run::Plain(run)) = spec.run else { return Err(NOT_ALLOWED) };
        let core = &mut *self.core;
        core.db = self.client.db;
        let (dirty, logging) = (core.dirty, core.pending.on);
        core.pending.on = logging && self.replicate & REPL_AOF != 0;
        if core.monitors > 0 && !spec.has(flag::SKIP_MONITOR) && !spec.has(flag::ADMIN) {
            core.feed_monitors(&self.client, spec, argv);
        }
        let started = Instant::now();
        let outcome = core.call_plain(&mut self.client, spec, run, argv);
        core.log_call(dirty, argv);
        core.pending.on = logging;
        if core.admin.tracking.reader.is_some() {
            core.remember_read(spec, argv, true);
        }
        if let Err(error) = &outcome {
            core.stats.error(&error.0);
        }
        core.note_call(
            &self.client,
            spec,
            argv,
            started.elapsed().as_micros() as u64,
            outcome.is_err(),
        );
        outcome
    }

    /// Whether the keys of a command are in the slot of all the script's keys.
    fn same_slot(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> bool {
        if self.cross_slots {
            return true;
        }
        let slot = &mut self.slot;
        spec.slot_args(argv).into_iter().all(|key| {
            let this = slot::slot_of(argv[key.at]);
            *slot.get_or_insert(this) == this
        })
    }

    /// Everything that forbids a command inside this script.
    fn admit(
        &mut self,
        watch: &Watch,
        spec: Option<&'static Spec>,
        argv: &[&[u8]],
    ) -> Result<&'static Spec, ReplyError> {
        let refused = self.check(watch, spec, argv);
        if let Err((spec, error)) = &refused {
            self.core.stats.error(&error.0);
            if let Some(spec) = spec {
                self.core.stats.of(spec).rejected += 1;
            }
        }
        refused.map_err(|(_, error)| error)
    }

    fn check(
        &mut self,
        watch: &Watch,
        spec: Option<&'static Spec>,
        argv: &[&[u8]],
    ) -> Result<&'static Spec, (Option<&'static Spec>, ReplyError)> {
        let found = spec.map_or_else(|| TABLE.find(argv), Found::Command);
        let Found::Command(spec) = found else { return Err((None, UNKNOWN)) };
        let refuse = |error: ReplyError| Err((Some(spec), error));
        if !spec.arity_fits(argv.len()) {
            return refuse(ARITY);
        }
        if spec.has(flag::NOSCRIPT) {
            return refuse(NOT_ALLOWED);
        }
        if !self.client.user.unrestricted
            && let Err(error) = self.core.check_acl(&self.client, spec, argv)
        {
            return refuse(not_permitted(&error));
        }
        if self.read_only && (spec.has(flag::WRITE) || spec.has(flag::MAY_REPLICATE)) {
            return refuse(READ_ONLY);
        }
        if spec.has(flag::WRITE) {
            if !self.wrote {
                if let Some(error) = self.core.write_refusal.clone() {
                    return refuse(error);
                }
                if self.core.config.min_replicas > 0 {
                    return refuse(NO_REPLICAS);
                }
                if self.over_memory && !self.allow_oom && spec.has(flag::DENYOOM) {
                    return refuse(OOM);
                }
                watch.wrote();
            }
            self.wrote = true;
        }
        if self.core.config.cluster && !self.same_slot(spec, argv) {
            return refuse(OTHER_SLOT);
        }
        Ok(spec)
    }
}

/// The core's refusal in the words a script reads.
fn not_permitted(error: &ReplyError) -> ReplyError {
    let text = String::from_utf8_lossy(&error.0);
    ReplyError::fixed(if text.contains("key") {
        "ERR The user executing the script can't access at least one of the keys mentioned in the \
         command arguments"
    } else if text.contains("channel") {
        "ERR The user executing the script can't publish to the channel mentioned in the command"
    } else {
        "ERR The user executing the script can't run this command or subcommand"
    })
}

/// This engine has no replicas, so any number asked for is too many.
pub(crate) const NO_REPLICAS: ReplyError =
    ReplyError::fixed("NOREPLICAS Not enough good replicas to write.");
const UNKNOWN: ReplyError = ReplyError::fixed("ERR Unknown Redis command called from script");
const ARITY: ReplyError =
    ReplyError::fixed("ERR Wrong number of args calling Redis command from script");
const NOT_ALLOWED: ReplyError =
    ReplyError::fixed("ERR This Redis command is not allowed from script");
const READ_ONLY: ReplyError =
    ReplyError::fixed("ERR Write commands are not allowed from read-only scripts.");
const OTHER_SLOT: ReplyError =
    ReplyError::fixed("ERR Script attempted to access keys that do not hash to the same slot");
