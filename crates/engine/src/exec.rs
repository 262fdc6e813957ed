//! Dispatch: from the arguments of a call to its reply in `client.out`. Order of refusals as in Redis:
//! unknown, arity, login, rights, slots, memory, subscriber's limits, pause; then the queue of `MULTI`; then the
//! handler. Everything here runs with the lock held.

pub(crate) mod guard;
pub(crate) mod wait;

use crate::commands::ctx::Ctx;
use crate::commands::table::{Found, Run, Spec, TABLE, flag};
use crate::core::Core;
use crate::core::client::{Client, Multi, Queued, Replies, Seat};
use crate::doors::out::Out;
use crate::error::{Outcome, ReplyError};
use crate::log::Log;
use crate::lua::host::LuaHost;
use crate::lua::stage::NO_REPLICAS;

/// The state that the engine's lock guards.
pub(crate) struct LockedEngine {
    /// Away only while a script runs, when the Lua host holds it.
    pub(crate) core: Option<Box<Core>>,
    pub(crate) lua: LuaHost,
    /// Absent in memory mode.
    pub(crate) log: Option<Log>,
}

impl LockedEngine {
    pub(crate) fn new(core: Core, lua: LuaHost) -> Self {
        LockedEngine { core: Some(Box::new(core)), lua, log: None }
    }

    pub(crate) fn core(&mut self) -> &mut Core {
        self.core.as_mut().expect("the core is home when no script runs")
    }

    /// Lends the core to a script; [`Inner::give_back`] must follow.
    pub(crate) fn lend(&mut self) -> Box<Core> {
        self.core.take().expect("the core is home when no script runs")
    }

    pub(crate) fn give_back(&mut self, core: Box<Core>) {
        self.core = Some(core);
    }

    /// Runs one call of a client that sits in the registry. The door takes `client.out` afterwards.
    pub(crate) fn run_seated(&mut self, seat: Seat, argv: &[&[u8]]) {
        let core = self.core();
        if core.config.maxmemory > 0 {
            core.make_room_first();
        }
        let mut client = core.clients.take(seat);
        self.run(&mut client, argv);
        self.core().clients.put(seat, client);
        self.after_call();
    }

    /// Runs one call. [`Inner::after_call`] must follow once the client is seated again.
    pub(crate) fn run(&mut self, client: &mut Client, argv: &[&[u8]]) {
        if argv.is_empty() {
            return;
        }
        let core = self.core();
        let started_us = core.clock.now_us();
        core.now = started_us.div_euclid(1000);
        core.started_us = started_us;
        core.db = client.db;
        core.current = client.id;
        core.current_resp3 = client.out.resp3;
        client.last_ms = core.now;
        let tracking = client.tracking.as_deref();
        core.admin.tracking.reader = tracking.and_then(|t| t.remembers().then_some(client.id));
        let mark = client.out.buf.len();
        let silent = begin_silence(client);

        if let Err((spec, error)) = self.admit_and_run(client, argv) {
            client.out.buf.truncate(mark);
            client.out.error_bytes(&error.0);
            let core = self.core();
            core.stats.error(&error.0);
            if let Some(spec) = spec {
                core.stats.of(spec).rejected += 1;
            }
        }

        if let Some(tracking) = client.tracking.as_deref_mut()
            && client.multi.is_none()
            && client.last_command.is_none_or(|spec| spec.full_name != "client|caching")
        {
            tracking.caching = false;
        }
        let core = self.core();
        core.close_unit();
        core.current = 0;
        core.admin.tracking.reader = None;
        if silent && !speaks_anyway(client) {
            client.out.buf.truncate(mark);
        }
        if !core.self_push.is_empty() {
            let push = std::mem::take(&mut core.self_push);
            client.out.buf.splice(mark..mark, push);
        }
    }

    /// Serves clients that waited for what the last call brought.
    pub(crate) fn after_call(&mut self) {
        while let Some((db, key)) = self.core().ready.pop_front() {
            self.serve_waiters(db, &key);
        }
        let core = self.core();
        if core.admin.tracking.due() {
            core.send_invalidations();
        }
        if std::mem::take(&mut core.admin.resume) {
            self.resume_paused();
        }
    }

    fn admit_and_run(
        &mut self,
        client: &mut Client,
        argv: &[&[u8]],
    ) -> Result<(), (Option<&'static Spec>, ReplyError)> {
        let refuse = |client: &mut Client, spec, error| {
            if let Some(multi) = &mut client.multi {
                multi.broken = true;
            }
            Err((spec, error))
        };
        let spec = match find(argv) {
            Ok(spec) => spec,
            Err(error) => return refuse(client, None, error),
        };
        if !spec.arity_fits(argv.len()) {
            return refuse(client, Some(spec), ReplyError::arity(spec.full_name));
        }
        client.last_command = Some(spec);
        if let Err(error) = self.admit(client, spec, argv) {
            return refuse(client, Some(spec), error);
        }
        if let Some(until) = self.core().pause_for(client, spec, argv) {
            self.postpone(client, spec, argv, until);
            return Ok(());
        }
        if !std::mem::take(&mut client.login_waited)
            && let Some(until) = self.core().login_waits(client, spec, argv)
        {
            client.login_waited = true;
            self.postpone(client, spec, argv, until);
            return Ok(());
        }
        if let Some(multi) = &mut client.multi
            && !matches!(spec.full_name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
        {
            let argv = argv.iter().map(|arg| Box::from(*arg)).collect();
            multi.queue.push(Queued { spec, argv });
            client.out.status("QUEUED");
            return Ok(());
        }
        self.call(client, spec, argv);
        Ok(())
    }

    /// Everything that can forbid a call before it runs or is queued.
    fn admit(&mut self, client: &mut Client, spec: &'static Spec, argv: &[&[u8]]) -> Outcome {
        if !client.authenticated
            && !spec.has(flag::NO_AUTH)
            && !self.core().admin.users.default_user().needs_no_password()
        {
            return Err(ReplyError::fixed("NOAUTH Authentication required."));
        }
        if !client.user.unrestricted {
            self.core().check_acl(client, spec, argv)?;
        }
        if client.multi.is_some() && spec.has(flag::NO_MULTI) {
            return Err(ReplyError::fixed("ERR Command not allowed inside a transaction"));
        }
        let core = self.core();
        if core.config.cluster {
            Core::check_slots(spec, argv)?;
        }
        if core.config.maxmemory > 0 {
            let full = core.make_room();
            if spec.has(flag::DENYOOM) {
                if full {
                    return Err(OOM);
                }
                core.note_write(spec, argv);
            }
        }
        if spec.has(flag::WRITE)
            && let Some(refusal) = core.refuses_writes()
        {
            return Err(refusal);
        }
        if !client.out.resp3 && client.subscribed() && !allowed_when_subscribed(spec) {
            return Err(ReplyError::new(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
                spec.full_name
            )));
        }
        Ok(())
    }

    /// Runs an admitted call: handler, statistics, slow log, log.
    pub(crate) fn call(&mut self, client: &mut Client, spec: &'static Spec, argv: &[&[u8]]) {
        let mark = client.out.buf.len();
        let core = self.core();
        // The first command of a top-level call starts with it; those inside a transaction look again.
        let started_us = match std::mem::take(&mut core.started_us) {
            0 => core.clock.now_us(),
            at => at,
        };
        let dirty = core.dirty;
        let shown = core.monitors > 0 && !spec.has(flag::ADMIN);
        // A script is shown before the commands it calls, anything else after what it did.
        let script = spec.has(flag::SKIP_MONITOR) && spec.group == "scripting";
        if shown && script {
            core.feed_monitors(client, spec, argv);
        }
        let outcome = match spec.run {
            Some(Run::Plain(run)) => core.call_plain(client, spec, run, argv),
            Some(Run::Host(run)) => run(self, client, argv),
            None => Err(ReplyError::arity(spec.full_name)),
        };
        let core = self.core();
        core.log_call(dirty, argv);
        if core.admin.tracking.reader.is_some() {
            core.remember_read(spec, argv, client.in_script);
        }
        if shown && !spec.has(flag::SKIP_MONITOR) {
            core.feed_monitors(client, spec, argv);
        }
        let failed = outcome.is_err();
        if let Err(error) = outcome {
            client.out.buf.truncate(mark);
            client.out.error_bytes(&error.0);
            core.stats.error(&error.0);
        }
        // A call that waits counts once, when it is over.
        let waits = client.blocked.is_some() || core.retrying && core.still_blocked;
        if !waits {
            let took_us = core.clock.now_us() - started_us;
            core.note_call(client, spec, argv, took_us.max(0).unsigned_abs(), failed);
        }
    }

    /// Writes what a batch changed to the log. An error means that it must not be acknowledged.
    pub(crate) fn write_log(&mut self) -> std::io::Result<()> {
        let LockedEngine { core: Some(core), log: Some(log), .. } = self else { return Ok(()) };
        log.write(core)
    }

    /// Function libraries as commands, for the head of a base.
    pub(crate) fn function_dump(&mut self) -> Vec<u8> {
        let mut commands = Vec::new();
        for (_, library) in self.lua.libraries.iter() {
            crate::log::pending::encode(&mut commands, &[b"FUNCTION", b"LOAD", &library.code]);
        }
        commands
    }

    /// `EXEC`: the queued commands one after the other, nothing between them.
    pub(crate) fn exec(&mut self, client: &mut Client) -> Outcome {
        let Some(Multi { queue, broken }) = client.multi.take() else {
            return Err(ReplyError::fixed("ERR EXEC without MULTI"));
        };
        let core = self.core();
        let stale = core.watches_broken(client);
        core.unwatch(client);
        if broken {
            return Err(ReplyError::fixed(
                "EXECABORT Transaction discarded because of previous errors.",
            ));
        }
        if stale {
            client.out.null_array();
            return Ok(());
        }
        if let Some(refusal) = core.refuses_writes()
            && queue.iter().any(|queued| queued.spec.has(flag::WRITE))
        {
            let why = String::from_utf8_lossy(&refusal.0);
            return Err(ReplyError::new(format!(
                "EXECABORT Transaction discarded because of: {why}"
            )));
        }
        client.out.array(queue.len());
        client.deny_blocking = true;
        for Queued { spec, argv } in &queue {
            let argv: Vec<&[u8]> = argv.iter().map(|arg| &**arg).collect();
            if let Err(error) = self.readmit(client, spec, &argv) {
                client.out.error_bytes(&error.0);
                continue;
            }
            self.core().db = client.db;
            self.call(client, spec, &argv);
        }
        client.deny_blocking = false;
        // The commands logged themselves.
        self.core().log_as(&[]);
        Ok(())
    }

    /// Rights may have changed since a command was queued.
    fn readmit(&mut self, client: &mut Client, spec: &'static Spec, argv: &[&[u8]]) -> Outcome {
        if client.user.unrestricted { Ok(()) } else { self.core().check_acl(client, spec, argv) }
    }
}

pub(crate) const OOM: ReplyError =
    ReplyError::fixed("OOM command not allowed when used memory > 'maxmemory'.");

impl Core {
    /// Why nothing can be written now: the log does not take it, or replicas are asked for.
    fn refuses_writes(&self) -> Option<ReplyError> {
        let replicas = self.config.min_replicas > 0;
        self.write_refusal.clone().or_else(|| replicas.then_some(NO_REPLICAS))
    }

    /// Runs a handler on the data. The client's buffer is lent to it.
    pub(crate) fn call_plain(
        &mut self,
        client: &mut Client,
        spec: &'static Spec,
        run: fn(&mut Ctx<'_>, &[&[u8]]) -> Outcome,
        argv: &[&[u8]],
    ) -> Outcome {
        let mut out = Out { buf: std::mem::take(&mut client.out.buf), resp3: client.out.resp3 };
        let outcome = run(&mut Ctx { core: self, client, out: &mut out, spec }, argv);
        client.out.buf = out.buf;
        outcome
    }
}

/// The command of a call, or why there is none.
pub(crate) fn find(argv: &[&[u8]]) -> Result<&'static Spec, ReplyError> {
    match TABLE.find(argv) {
        Found::Command(spec) => Ok(spec),
        Found::UnknownSub(spec) => Err(ReplyError::unknown_sub(spec.full_name, argv[1])),
        Found::Unknown => Err(unknown_command(argv)),
    }
}

fn unknown_command(argv: &[&[u8]]) -> ReplyError {
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(&argv[0][..argv[0].len().min(128)]);
    text.extend_from_slice(b"', with args beginning with: ");
    let mut shown = 0;
    for arg in &argv[1..] {
        if shown >= 128 {
            break;
        }
        let part = &arg[..arg.len().min(128 - shown)];
        text.push(b'\'');
        text.extend_from_slice(part);
        text.extend_from_slice(b"' ");
        shown += part.len() + 3;
    }
    ReplyError(text.into())
}

fn allowed_when_subscribed(spec: &Spec) -> bool {
    matches!(
        spec.full_name,
        "subscribe"
            | "unsubscribe"
            | "psubscribe"
            | "punsubscribe"
            | "ssubscribe"
            | "sunsubscribe"
            | "ping"
            | "quit"
            | "reset"
    )
}

/// `CLIENT REPLY ON` is itself answered, and the word of a subscription is no reply.
fn speaks_anyway(client: &Client) -> bool {
    let Some(spec) = client.last_command else { return false };
    match spec.full_name {
        "client|reply" => client.replies == Replies::On,
        name => spec.has(flag::PUBSUB) && name.ends_with("subscribe"),
    }
}

/// `CLIENT REPLY`: whether this command's reply is dropped.
fn begin_silence(client: &mut Client) -> bool {
    match client.replies {
        Replies::On => false,
        Replies::Off => true,
        Replies::SkipNext => {
            client.replies = Replies::On;
            true
        }
    }
}
