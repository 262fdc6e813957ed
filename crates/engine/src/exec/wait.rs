//! Calls that wait: held back by a pause, or until a key can serve them, or until their time is over. A call that waits is
//! run again from its arguments. Everything here runs with the lock held.

use crate::commands::table::Spec;
use crate::core::client::{Blocked, Client, OnTimeout, Seat};
use crate::exec::LockedEngine;

impl LockedEngine {
    /// Holds a call back until a pause ends.
    pub(crate) fn postpone(
        &mut self,
        client: &mut Client,
        spec: &'static Spec,
        argv: &[&[u8]],
        until: i64,
    ) {
        client.blocked = Some(Box::new(Blocked {
            argv: argv.iter().map(|arg| Box::from(*arg)).collect(),
            spec,
            db: client.db,
            keys: Vec::new(),
            until_ms: Some(until),
            on_timeout: OnTimeout::Run,
            paused: true,
        }));
        self.core().blocked_clients += 1;
    }

    /// A pause is over before its time: calls it held back run now.
    pub(crate) fn resume_paused(&mut self) {
        let core = self.core();
        let paused = |c: &&Client| c.blocked.as_ref().is_some_and(|b| b.paused);
        let ids: Vec<u64> = core.clients.iter().filter(paused).map(|c| c.id).collect();
        for id in ids {
            if let Some(seat) = self.core().clients.seat(id) {
                self.retry(seat);
            }
        }
    }

    /// Tries again the commands of clients that wait for `key`, first come first served.
    pub(crate) fn serve_waiters(&mut self, db: usize, key: &[u8]) {
        let core = self.core();
        let Some(queue) = core.dbs[db].waiting.get(key) else { return };
        for id in queue.clone() {
            let Some(seat) = self.core().clients.seat(id) else { continue };
            self.retry(seat);
        }
    }

    /// Runs a blocked client's command again; it stays blocked if it still cannot be served.
    pub(crate) fn retry(&mut self, seat: Seat) {
        let mut client = self.core().clients.take(seat);
        if let Some(blocked) = client.blocked.take() {
            let core = self.core();
            (core.retrying, core.still_blocked) = (!blocked.paused, false);
            core.db = blocked.db;
            core.current = client.id;
            core.current_resp3 = client.out.resp3;
            let mark = client.out.buf.len();
            let argv: Vec<&[u8]> = blocked.argv.iter().map(|arg| &**arg).collect();
            if blocked.paused {
                self.run(&mut client, &argv);
            } else {
                self.call(&mut client, blocked.spec, &argv);
            }
            let core = self.core();
            core.retrying = false;
            core.current = 0;
            core.close_unit();
            if core.still_blocked {
                client.out.buf.truncate(mark);
                client.blocked = Some(blocked);
            } else {
                let push = std::mem::take(&mut core.self_push);
                client.out.buf.splice(mark..mark, push);
                core.forget_waiter(client.id, &blocked);
                client.wake.ring();
            }
        }
        self.core().clients.put(seat, client);
    }

    /// Ends what is due: waits whose time is over, keys whose life is over. Bounded work.
    pub(crate) fn tick(&mut self) {
        let core = self.core();
        core.now = core.clock.now_ms();
        let now = core.now;
        let due: Vec<(u64, bool)> = core
            .clients
            .iter()
            .filter_map(|client| {
                let blocked = client.blocked.as_ref()?;
                (blocked.until_ms? <= now).then_some((client.id, blocked.paused))
            })
            .collect();
        for (id, paused) in due {
            if !paused {
                self.core().time_out(id);
            } else if let Some(seat) = self.core().clients.seat(id) {
                self.retry(seat);
            }
        }
        let core = self.core();
        core.expire_due();
        core.close_unit();
        core.close_idle();
        core.limit_tracking();
        self.after_call();
    }
}
