//! The write of a tick: everything in one step, with the writes of orders; what failed is kept for the next one. Then the world is shown.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Kind};

use super::{Engine, PATIENCE, Seen, Turn, write};
use crate::pace;

impl Engine {
    /// Everything as it is: one atomic write on one server; on a Cluster entities first, then the tick.
    pub(super) async fn flush(&mut self, turn: &mut Turn) {
        if !turn.lock.holds() {
            return;
        }
        let mut batch = turn.world.batch(self.keys);
        batch.last.extend_from_slice(&turn.answers);
        let outcome = if self.store.status().kind == Kind::Cluster {
            self.send_apart(&[&turn.extra, &batch.entities, &batch.last]).await
        } else {
            let all: Vec<_> = turn.extra.iter().cloned().chain(batch.in_order()).collect();
            self.send_at_once(turn, &all).await
        };
        match outcome {
            Ok(()) => {
                turn.failing_since = None;
                turn.extra.clear();
                turn.answers.clear();
            }
            Err(fault) => self.keep_for_later(turn, &fault),
        }
    }

    /// The writes of orders stay, and the next batch holds every field again; after five seconds the world rests.
    fn keep_for_later(&self, turn: &mut Turn, fault: &Fault) {
        let now = self.clock.monotonic();
        turn.numbers.failed_writes += 1;
        turn.session = None;
        turn.world.doubt_the_store();
        let since = *turn.failing_since.get_or_insert(now);
        tracing::warn!(%fault, "a tick could not be written; the newest state is tried again");
        if now.saturating_sub(since) > PATIENCE && !turn.world.pace.paused {
            turn.world.pace.paused = true;
            turn.paused_at = Some(now);
            turn.extra.extend(write::pace(&turn.world, self.keys));
            tracing::error!("the store has not taken a tick for five seconds; the world is paused");
        }
    }

    async fn send_at_once(&self, turn: &mut Turn, cmds: &[Cmd]) -> Result<(), Fault> {
        let by = Deadline::after(PATIENCE);
        if turn.session.is_none() {
            let key = self.keys.tick();
            turn.session = Some(self.store.session(key.as_str().as_bytes(), by).await?);
        }
        let Some(session) = &mut turn.session else { return Ok(()) };
        session.exec(cmds, by).await.map(drop)
    }

    async fn send_apart(&self, parts: &[&[Cmd]]) -> Result<(), Fault> {
        for part in parts.iter().filter(|part| !part.is_empty()) {
            for outcome in self.store.pipeline(part, Deadline::after(PATIENCE)).await? {
                outcome?;
            }
        }
        Ok(())
    }

    /// Lets others see the world as it is now, and tells those whose orders are in the store.
    pub(super) fn show(&self, turn: &mut Turn) {
        turn.numbers.rate = rate(&turn.recent);
        turn.numbers.snapshots_failed = turn.keeper.failed();
        turn.numbers.scale = pace::effective_scale(&turn.world.pace, turn.world.drift_s);
        let energy = turn.world.bodies.energy();
        turn.numbers.energy_drift = ((energy - turn.energy) / turn.energy).abs();
        let (sum, size) = turn.world.bodies.momentum();
        turn.numbers.momentum_drift = sum.length() / size;
        self.seen.send_replace(Arc::new(Seen::of(&turn.world, turn.numbers.clone())));
        // After it can be seen: whoever hears of it may look at once.
        if turn.failing_since.is_none() {
            for (asker, effect) in turn.askers.drain(..) {
                let _ = asker.send(Ok(effect));
            }
        }
    }
}

/// Ticks per second over the last ones.
fn rate(recent: &VecDeque<Duration>) -> f64 {
    match (recent.front(), recent.back()) {
        (Some(first), Some(last)) if last > first => {
            #[expect(clippy::cast_precision_loss, reason = "at most fifty")]
            let ticks = (recent.len() - 1) as f64;
            ticks / last.saturating_sub(*first).as_secs_f64()
        }
        _ => 0.0,
    }
}
