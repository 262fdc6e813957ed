//! What surrounds a call: rights, slots, memory, pauses, monitors, and the notes taken afterwards.

use std::time::Duration;

use crate::client::Client;
use crate::command::{Spec, flag};
use crate::core::Core;
use crate::error::Outcome;

/// `CLIENT PAUSE`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pause {
    /// Unix milliseconds; over when it has passed.
    pub(crate) until_ms: i64,
    /// Writes only.
    pub(crate) write_only: bool,
}

impl Core {
    /// Refuses what the client's user may not do.
    pub(crate) fn check_acl(&mut self, client: &Client, spec: &Spec, argv: &[&[u8]]) -> Outcome {
        client.user.check(spec, argv)
    }

    /// Refuses keys of different slots, as a Cluster node would.
    pub(crate) fn check_slots(
        &mut self,
        _client: &Client,
        _spec: &Spec,
        _argv: &[&[u8]],
    ) -> Outcome {
        Ok(())
    }

    /// Whether the data takes more than `maxmemory`.
    pub(crate) fn over_memory(&mut self) -> bool {
        false
    }

    /// Until when this call must wait, if clients are paused.
    pub(crate) fn pause_for(&self, client: &Client, spec: &Spec) -> Option<i64> {
        let pause = self.pause;
        let waits = self.now < pause.until_ms
            && !client.deny_blocking
            && (!pause.write_only || spec.has(flag::WRITE) || spec.has(flag::MAY_REPLICATE));
        waits.then_some(pause.until_ms)
    }

    /// Shows a call to clients in `MONITOR`.
    pub(crate) fn feed_monitors(&mut self, _client: &Client, _argv: &[&[u8]]) {}

    /// Statistics and slow log of a call that ran.
    pub(crate) fn note_call(
        &mut self,
        _client: &Client,
        spec: &'static Spec,
        _argv: &[&[u8]],
        took: Duration,
        failed: bool,
    ) {
        self.stats.commands += 1;
        let stats = self.stats.of(spec);
        stats.calls += 1;
        stats.usec += u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        stats.failed += u64::from(failed);
    }

    /// Deletes keys whose life is over, a bounded number per call.
    pub(crate) fn expire_due(&mut self) {
        const AT_ONCE: usize = 500; // about half a millisecond with the lock held
        if !self.active_expire || self.loading || self.write_refusal.is_some() {
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
}
