//! Orders reach the world: those of this process directly, those of other servers by the stream.

use super::commands::{self, Answer, Told};
use super::{Asker, Engine, Turn, write};
use crate::orders::{Command, Effect, Order};

impl Engine {
    pub(super) async fn take_orders(&mut self, turn: &mut Turn) {
        while let Ok(ask) = self.asks.try_recv() {
            self.obey(turn, &ask.command, Some(ask.answer));
        }
        if turn.flight.is_none() {
            self.hear(turn).await;
        }
        let now_ms = self.clock.now_ms();
        for (command, ask) in std::mem::take(&mut turn.heard) {
            if commands::too_old(&command, now_ms) {
                turn.numbers.orders_dropped += 1;
                continue;
            }
            let refused = self.obey(turn, &command, None);
            turn.answers.extend(ask.map(|answer| Answer { answer, refused }.tell(self.keys)));
        }
    }

    /// Reads what other servers ordered.
    pub(super) async fn hear(&self, turn: &mut Turn) {
        match commands::read(&*self.store, self.keys, &turn.after).await {
            Ok((commands, after)) => {
                turn.after = after;
                turn.heard.extend(commands);
            }
            Err(fault) => tracing::debug!(%fault, "orders of other servers could not be read"),
        }
    }

    /// Carries an order out; says why not when it is refused.
    pub(super) fn obey(
        &self,
        turn: &mut Turn,
        command: &Command,
        answer: Option<Asker>,
    ) -> Option<Told> {
        if self.options.snapshots.is_some()
            && let Order::Snapshot | Order::Restore { .. } = command.order
        {
            turn.keeper.note(&command.order, answer);
            return None;
        }
        let before = turn.world.pace.clone();
        let outcome = turn.world.obey(command);
        let mut writes = Vec::new();
        match &outcome {
            Ok(effect) => {
                writes = write::effect(&turn.world, self.keys, effect, self.clock.now_ms());
                if matches!(effect, Effect::Cleared(_)) {
                    turn.energy = turn.world.bodies.energy();
                }
            }
            Err(why) => {
                turn.numbers.orders_dropped += 1;
                tracing::debug!(%why, ?command, "an order was refused");
            }
        }
        let (now, pace) = (self.clock.monotonic(), &turn.world.pace);
        if before.rate.to_bits() != pace.rate.to_bits() {
            turn.beat.change(now, pace.rate);
        }
        if pace.paused && turn.paused_at.is_none() {
            turn.paused_at = Some(now);
            turn.keeper.note(&Order::Snapshot, None);
        } else if let (false, Some(since)) = (pace.paused, turn.paused_at) {
            turn.beat.skip(now.saturating_sub(since));
            turn.paused_at = None;
        }
        let refused = outcome.as_ref().err().map(Told::from);
        match (answer, outcome) {
            (Some(asker), Ok(effect)) if !writes.is_empty() => turn.askers.push((asker, effect)),
            // Nobody listens any more: then nobody need know.
            (Some(asker), outcome) => drop(asker.send(outcome)),
            (None, _) => {}
        }
        turn.extra.extend(writes);
        refused
    }
}
