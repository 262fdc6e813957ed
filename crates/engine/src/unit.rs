//! Several commands as one unit by direct call: nothing runs between them, and the log has all of them or none. What
//! each answered is looked at before the next one runs, so a caller in this process decides as a script would.

use crate::client::Seat;
use crate::exec::{Inner, find};

/// What follows a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next command.
    Go,
    /// The one after the next.
    Skip,
    /// Nothing more.
    Stop,
}

impl Inner {
    /// Runs the commands; `look` sees the number and the reply of each. False, and nothing was done, where a command
    /// could be refused after another one wrote: with a memory limit, a disk that refuses, a pause, a limited user.
    pub(crate) fn run_unit(
        &mut self,
        seat: Seat,
        cmds: &[&[&[u8]]],
        look: &mut dyn FnMut(usize, &[u8]) -> Next,
    ) -> bool {
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
        let mut at = 0;
        while let Some(argv) = cmds.get(at) {
            client.out.buf.clear();
            match find(argv) {
                Ok(spec) if spec.arity_fits(argv.len()) => {
                    client.last_command = Some(spec);
                    self.call(&mut client, spec, argv);
                }
                Ok(_) => client.out.error("ERR wrong number of arguments"),
                Err(error) => client.out.error_bytes(&error.0),
            }
            at += match look(at, &client.out.buf) {
                Next::Go => 1,
                Next::Skip => 2,
                Next::Stop => break,
            };
        }
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
