//! Several commands as one unit by direct call: nothing runs between them, and the log has all of them or
//! none. The caller sees each reply before it runs the next command, so it decides as a script would.

use crate::core::client::{Client, Seat};
use crate::exec::{LockedEngine, find};

/// A unit under way: nothing else runs until it ends.
pub struct Unit<'a> {
    inner: &'a mut LockedEngine,
    client: Box<Client>,
}

impl std::fmt::Debug for Unit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unit").field("client", &self.client.id).finish_non_exhaustive()
    }
}

impl Unit<'_> {
    /// Runs a command and gives its reply, as RESP.
    pub fn call(&mut self, argv: &[&[u8]]) -> &[u8] {
        let client = &mut self.client;
        client.out.buf.clear();
        match find(argv) {
            Ok(spec) if spec.arity_fits(argv.len()) => {
                client.last_command = Some(spec);
                self.inner.call(client, spec, argv);
            }
            Ok(_) => client.out.error("ERR wrong number of arguments"),
            Err(error) => client.out.error_bytes(&error.0),
        }
        &self.client.out.buf
    }
}

impl LockedEngine {
    /// Does `work` with nothing between its commands. False, and nothing was done, where a command could be refused
    /// after another one wrote: with a memory limit, a disk that refuses, a pause, a limited user.
    pub(crate) fn run_unit(&mut self, seat: Seat, work: &mut dyn FnMut(&mut Unit<'_>)) -> bool {
        let core = self.core();
        let started_us = core.clock.now_us();
        core.now = started_us.div_euclid(1000);
        if core.config.maxmemory > 0
            || core.config.cluster
            || core.write_refusal.is_some()
            || core.paused()
        {
            return false;
        }
        let mut client = core.clients.take(seat);
        if !client.user.unrestricted || client.multi.is_some() || client.tracking.is_some() {
            core.clients.put(seat, client);
            return false;
        }
        core.started_us = started_us;
        core.db = client.db;
        core.current = client.id;
        core.current_resp3 = client.out.resp3;
        client.last_ms = core.now;
        client.deny_blocking = true;
        let mut unit = Unit { inner: self, client };
        work(&mut unit);
        let mut client = unit.client;
        client.out.buf.clear();
        client.deny_blocking = false;
        let core = self.core();
        core.close_unit();
        core.current = 0;
        core.clients.put(seat, client);
        self.after_call();
        true
    }
}
