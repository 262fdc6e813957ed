//! The checks before a call (rights, slots, memory, pauses, monitors) and the notes taken after it.

use crate::acl::AclLogEntry;
use crate::commands::ctx::is;
use crate::commands::table::{Spec, flag};
use crate::core::Core;
use crate::core::admin::{SlowCall, Slowlog};
use crate::core::client::{Client, Seat};
use crate::core::pubsub;
use crate::core::settings::{self, SETTINGS};
use crate::data::slot;
use crate::doors::conn::Socket;
use crate::error::{Outcome, ReplyError};

/// `CLIENT PAUSE`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pause {
    /// Unix milliseconds; over when it has passed.
    pub(crate) until_ms: i64,
    /// Writes only.
    pub(crate) write_only: bool,
}

impl Core {
    /// Refuses what the client's user may not do, and notes the refusal.
    pub(crate) fn check_acl(
        &mut self,
        client: &Client,
        spec: &'static Spec,
        argv: &[&[u8]],
    ) -> Outcome {
        let Some(denial) = client.user.denies(spec, argv) else { return Ok(()) };
        let context = if client.in_script {
            "lua"
        } else if client.multi.is_some() || client.deny_blocking {
            "multi"
        } else {
            "toplevel"
        };
        let entry = AclLogEntry {
            context,
            username: client.user.name.clone(),
            time_ms: self.now,
            client_info: self.client_info(client).into_bytes(),
            ..AclLogEntry::denied(denial, spec, argv)
        };
        self.admin.acl_log.add(entry, self.config.acllog_max_len);
        Err(denial.error(spec))
    }

    /// Closes a connection that breaks a rule of its door, without another word to it. The program's log hears of each
    /// rule once a minute at most.
    pub(crate) fn turn_away(&mut self, seat: Seat, why: &'static str) {
        const EVERY_MS: i64 = 60_000;
        let now = self.clock.now_ms();
        let Some(client) = self.clients.at(seat) else { return };
        client.out.buf = Vec::new();
        client.closing = true;
        let told = self.admin.turned_away.get(why);
        if told.is_none_or(|at| (now - at).abs() >= EVERY_MS) {
            tracing::warn!(client = client.addr, why, "a connection is closed");
            self.admin.turned_away.insert(why, now);
        }
    }

    /// Why a new connection is not let in. Beyond this machine a password or a user must be named, as Redis asks in its
    /// protected mode.
    pub(crate) fn turns_away(&self, socket: &Socket) -> Option<&'static str> {
        if self.clients.len() >= self.config.maxclients {
            return Some("ERR max number of clients reached");
        }
        let open = self.admin.users.default_user().needs_no_password();
        (open && self.config.protected_mode && !socket.local).then_some(
            "DENIED Redis is running in protected mode: no password is set for the default user, so that \
             only this machine may connect. Set one with CONFIG SET requirepass, or name users and \
             switch the default user off with ACL SETUSER, or let everybody in with CONFIG SET \
             protected-mode no",
        )
    }

    /// Refuses keys of different slots, as a Cluster node would.
    pub(crate) fn check_slots(spec: &'static Spec, argv: &[&[u8]]) -> Outcome {
        let mut slot = None;
        for key in spec.slot_args(argv) {
            let this = slot::slot_of(argv[key.at]);
            if *slot.get_or_insert(this) != this {
                return Err(ReplyError::fixed(
                    "CROSSSLOT Keys in request don't hash to the same slot",
                ));
            }
        }
        Ok(())
    }

    /// Whether the data takes more than `maxmemory`.
    pub(crate) fn over_memory(&mut self) -> bool {
        self.used_memory() > self.config.maxmemory
    }

    /// The approximate memory of the data. It is measured anew every hundred milliseconds or
    /// thousand questions.
    pub(crate) fn used_memory(&mut self) -> u64 {
        const CALLS: u32 = 1000;
        const AGE_MS: i64 = 100;
        let memory = &mut self.admin.memory;
        memory.calls += 1;
        let fresh = memory.bytes > 0
            && memory.calls < CALLS
            && (0..AGE_MS).contains(&(self.now - memory.at_ms))
            // An estimate that may be over the limit is measured again.
            && (self.config.maxmemory == 0 || memory.bytes + memory.added <= self.config.maxmemory);
        if !fresh {
            let bytes = self.measure_memory();
            let memory = &mut self.admin.memory;
            (memory.bytes, memory.added, memory.calls, memory.at_ms) = (bytes, 0, 0, self.now);
            memory.peak = memory.peak.max(bytes);
        }
        self.admin.memory.bytes + self.admin.memory.added
    }

    /// Notes that a write of this size was let in.
    pub(crate) fn note_write(&mut self, spec: &Spec, argv: &[&[u8]]) {
        self.admin.memory.added += argv.iter().map(|arg| arg.len() as u64).sum::<u64>();
        // Some make much of few words: the next call looks again.
        if spec.group == "bitmap"
            || matches!(spec.full_name, "setrange" | "copy" | "bitop")
            || spec.full_name.ends_with("store")
        {
            self.admin.memory.bytes = 0;
        }
    }

    fn measure_memory(&mut self) -> u64 {
        const SAMPLE: usize = 200;
        const BASE: usize = 900_000; // tables of commands, the Lua state, buffers
        let mut sum = BASE;
        for db in &self.dbs {
            let keys = &db.keys;
            sum += keys.live_bytes();
            if keys.len() <= SAMPLE {
                sum += keys.iter().map(|(_, value)| value.memory_bytes()).sum::<usize>();
            } else {
                let picked = (0..SAMPLE).filter_map(|_| keys.random(&mut self.rng));
                let held: usize = picked.map(|(_, value)| value.memory_bytes()).sum();
                sum += held / SAMPLE * keys.len();
            }
        }
        sum as u64
    }

    /// Until when this call must wait, if clients are paused.
    pub(crate) fn pause_for(&self, client: &Client, spec: &Spec, argv: &[&[u8]]) -> Option<i64> {
        let pause = self.pause;
        if self.now >= pause.until_ms {
            return None;
        }
        let changes = |spec: &Spec| spec.has(flag::WRITE) || spec.has(flag::MAY_REPLICATE);
        let writes = (changes(spec) && !says_no_writes(spec, argv))
            || (spec.full_name == "exec"
                && client.multi.as_ref().is_some_and(|m| m.queue.iter().any(|q| changes(q.spec))));
        let waits = !client.deny_blocking && (!pause.write_only || writes);
        waits.then_some(pause.until_ms)
    }

    /// Whether clients are paused now: nothing may change by itself.
    pub(crate) fn paused(&self) -> bool {
        self.now < self.pause.until_ms
    }

    /// Shows a call to clients in `MONITOR`.
    pub(crate) fn feed_monitors(&mut self, client: &Client, spec: &Spec, argv: &[&[u8]]) {
        let now = self.clock.now_us();
        let from: &str = if client.in_script { "lua" } else { &client.addr };
        let mut line = format!("{}.{:06} [{} {from}]", now / 1_000_000, now % 1_000_000, client.db)
            .into_bytes();
        for arg in redacted(spec, argv) {
            line.push(b' ');
            quote(&mut line, arg);
        }
        let watching: Vec<u64> =
            self.clients.iter().filter(|c| c.monitor && !c.closing).map(|c| c.id).collect();
        for id in watching {
            pubsub::deliver(self, id, |out| {
                out.buf.push(b'+');
                out.buf.extend_from_slice(&line);
                out.buf.extend_from_slice(b"\r\n");
            });
        }
    }

    /// Statistics and slow log of a call that ran.
    pub(crate) fn note_call(
        &mut self,
        client: &Client,
        spec: &'static Spec,
        argv: &[&[u8]],
        usec: u64,
        failed: bool,
    ) {
        self.stats.commands += 1;
        let tracking = self.config.latency_tracking;
        let stats = self.stats.of(spec);
        stats.calls += 1;
        stats.usec += usec;
        stats.failed += u64::from(failed);
        if tracking {
            stats.times.get_or_insert_with(Box::default).add(usec.saturating_mul(1000));
        }
        let slow = self.config.slowlog_slower_than;
        if slow >= 0 && usec >= slow.unsigned_abs() {
            self.note_slow(client, spec, argv, usec);
        }
        let threshold = self.config.latency_threshold_ms;
        if threshold > 0 && usec / 1000 >= threshold.unsigned_abs() && !client.in_script {
            let kind = if spec.has(flag::FAST) { "fast-command" } else { "command" };
            self.admin.latency.add(kind, self.now / 1000, (usec / 1000) as i64);
        }
    }

    #[cold]
    fn note_slow(&mut self, client: &Client, spec: &'static Spec, argv: &[&[u8]], usec: u64) {
        if spec.has(flag::SKIP_SLOWLOG) || client.in_script || client.blocked.is_some() {
            return;
        }
        let call = SlowCall {
            id: 0,
            time_s: self.now / 1000,
            usec,
            argv: Slowlog::shortened(&redacted(spec, argv)),
            addr: client.addr.clone(),
            name: client.name.clone(),
        };
        self.admin.slowlog.add(call, self.config.slowlog_max_len);
    }

    /// Deletes keys whose life is over, a bounded number per call.
    pub(crate) fn expire_due(&mut self) {
        const AT_ONCE: usize = 500; // about half a millisecond with the lock held
        if !self.active_expire || self.loading || self.write_refusal.is_some() || self.paused() {
            return;
        }
        for db in 0..self.dbs.len() {
            self.db = db;
            for key in self.dbs[db].keys.next_due(self.now, AT_ONCE) {
                self.expire_now(&key);
                self.close_unit();
            }
        }
    }

    /// Closes clients that were silent for too long, and those that do not read what they are owed.
    pub(crate) fn close_idle(&mut self) {
        let idle = self.config.idle_timeout_s;
        let now = self.now;
        if idle > 0 {
            let silent = |c: &&Client| {
                c.blocked.is_none()
                    && !c.subscribed()
                    && !c.monitor
                    && !c.in_process
                    && now - c.last_ms > idle.saturating_mul(1000)
            };
            let ids: Vec<u64> = self.clients.iter().filter(silent).map(|c| c.id).collect();
            for id in ids {
                self.kill(id);
            }
        }
        self.close_slow_readers();
    }

    /// The soft limit of `client-output-buffer-limit`: too much for too long.
    fn close_slow_readers(&mut self) {
        let limits = self.config.output_limits;
        let now = self.now;
        let mut over = Vec::new();
        for client in self.clients.iter_mut() {
            let limit = limits.0[if client.subscribed() { 2 } else { 0 }];
            let waiting = client.waiting_bytes() as u64;
            if limit.soft == 0 || waiting <= limit.soft {
                client.over_soft_since = None;
                continue;
            }
            let since = *client.over_soft_since.get_or_insert(now);
            if now - since > i64::try_from(limit.soft_seconds).unwrap_or(0) * 1000 {
                over.push(client.id);
            }
        }
        for id in over {
            self.kill(id);
        }
    }
}

/// A script that says itself that it changes nothing.
fn says_no_writes(spec: &Spec, argv: &[&[u8]]) -> bool {
    let script = if spec.full_name == "eval" { argv.get(1) } else { None };
    let first = script.and_then(|code| code.split(|b| *b == b'\n').next()).unwrap_or_default();
    first.starts_with(b"#!lua") && memchr::memmem::find(first, b"no-writes").is_some()
}

/// The arguments with secrets covered, for the slow log and monitors.
pub(crate) fn redacted<'a>(spec: &Spec, argv: &[&'a [u8]]) -> Vec<&'a [u8]> {
    const COVER: &[u8] = b"(redacted)";
    let mut shown = argv.to_vec();
    match spec.full_name {
        "auth" => shown[1..].fill(COVER),
        "acl|setuser" | "acl|deluser" | "acl|getuser" => shown[2..].fill(COVER),
        "hello" | "migrate" => {
            for (at, arg) in argv.iter().enumerate().skip(1) {
                let secret = if is(arg, "auth") && spec.full_name == "hello" {
                    2
                } else if is(arg, "auth") {
                    1
                } else if is(arg, "auth2") {
                    2
                } else {
                    continue;
                };
                for arg in shown.iter_mut().skip(at + 1).take(secret) {
                    *arg = COVER;
                }
            }
        }
        "config|set" => {
            for at in (2..argv.len().saturating_sub(1)).step_by(2) {
                if settings::find(argv[at]).is_some_and(|place| SETTINGS[place].secret) {
                    shown[at + 1] = COVER;
                }
            }
        }
        _ => {}
    }
    shown
}

/// Bytes in quotes, with what cannot be printed as escapes.
pub(crate) fn quote(line: &mut Vec<u8>, bytes: &[u8]) {
    line.push(b'"');
    for byte in bytes {
        match byte {
            b'\\' | b'"' => line.extend_from_slice(&[b'\\', *byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            7 => line.extend_from_slice(b"\\a"),
            8 => line.extend_from_slice(b"\\b"),
            0x20..=0x7e => line.push(*byte),
            _ => line.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;

    #[test]
    fn beyond_this_machine_nobody_connects_without_a_password_or_users() {
        let engine = Engine::memory();
        let owner = engine.as_owner().connect();
        let set = |line: &str| {
            let mut words = line.split(' ');
            let mut command = redis::cmd(words.next().unwrap());
            for word in words {
                command.arg(word);
            }
            assert!(matches!(owner.call(&command), Some(redis::Value::Okay)), "{line}");
        };
        let socket = |local| Socket {
            addr: "192.0.2.1:5".into(),
            laddr: "192.0.2.2:6380".into(),
            fd: 0,
            local,
        };
        let refused = |local| engine.shared.lock().core().turns_away(&socket(local));
        assert!(refused(false).is_some_and(|why| why.starts_with("DENIED ")));
        assert!(refused(true).is_none());
        set("CONFIG SET requirepass secret");
        assert!(refused(false).is_none());
        set("ACL SETUSER default nopass");
        assert!(refused(false).is_some());
        set("ACL SETUSER default off");
        assert!(refused(false).is_none(), "only named users get in");
        set("ACL SETUSER default on");
        set("CONFIG SET protected-mode no");
        assert!(refused(false).is_none());
    }
}
