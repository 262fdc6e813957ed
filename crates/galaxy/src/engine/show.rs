//! The view of the world and of the engine for others, and the answers to those who gave an order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kernel::Deadline;

use super::commands::{Answer, OrderRefusal};
use super::reply_to::{self, ReplyTo};
use super::{Engine, PATIENCE, Turn, WorldView};
use crate::engine::pace;

/// The world as it is now, for those who only look.
pub(super) fn look(turn: &mut Turn) -> Box<WorldView> {
    turn.numbers.rate = rate(&turn.recent);
    turn.numbers.snapshots_failed = turn.keeper.failed();
    turn.numbers.scale = pace::effective_scale(&turn.world.pace, turn.world.drift_s);
    let energy = turn.world.bodies.energy();
    turn.numbers.energy_drift = ((energy - turn.energy) / turn.energy).abs();
    let (sum, size) = turn.world.bodies.momentum();
    turn.numbers.momentum_drift = sum.length() / size;
    let mut seen = turn.unseen.take().unwrap_or_default();
    seen.fill(&turn.world, &turn.numbers);
    seen
}

impl Engine {
    /// Lets others see this; what they saw before is used again when nobody holds it.
    pub(super) fn show_this(&self, turn: &mut Turn, mut seen: Box<WorldView>) {
        seen.done = self.clock.monotonic();
        let before = self.seen.send_replace(Arc::from(seen));
        turn.unseen = Arc::into_inner(before).map(Box::new);
    }

    /// Lets others see the world as it is now; when it is stored, those who changed it are told.
    pub(super) async fn show(&self, turn: &mut Turn, stored: bool) {
        let seen = look(turn);
        self.show_this(turn, seen);
        if stored {
            self.tell(std::mem::take(&mut turn.askers)).await;
        }
    }

    /// Tells those who ordered, here and in other servers, after it can be seen: whoever hears of it may look at
    /// once, at this server too.
    pub(super) async fn tell(&self, told: reply_to::Replies) {
        let mut answers = Vec::new();
        for (reply_to, outcome) in told {
            match reply_to {
                // Nobody listens any more: then nobody need know.
                ReplyTo::Here(reply_to) => drop(reply_to.send(outcome)),
                ReplyTo::There(answer) => {
                    let refused = outcome.as_ref().err().map(OrderRefusal::from);
                    answers.push(Answer { answer, refused }.tell(self.keys));
                }
            }
        }
        if answers.is_empty() {
            return;
        }
        let told = self.store.pipeline(&answers, Deadline::after(PATIENCE)).await;
        // A sender that waits in vain is told that the outcome is unknown.
        if let Err(fault) = told.and_then(|all| all.into_iter().collect::<Result<Vec<_>, _>>()) {
            tracing::debug!(%fault, "other servers were not told what became of their orders");
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
