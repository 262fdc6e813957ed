//! Orders reach the world: those of this process directly, those of other servers by the stream.
//!
//! Always true: a sender hears that an order is done when the batch that holds it is stored. An
//! order of the stream is carried out once, because the id of its entry is written together with
//! its effects.

use kernel::{Deadline, Fault, reply};

use super::commands;
use super::foreign::Topic;
use super::{Engine, PATIENCE, ReplyTo, Turn};
use crate::error::OrderError;
use crate::keys::of_station;
use crate::store::cmd;
use crate::store::write;
use crate::world::Pace;
use crate::world::orders::{Command, Effect, Order};

impl Engine {
    /// The entry of the stream of orders after which a new leader goes on.
    pub(super) async fn begin_to_hear(&self) -> Result<String, Fault> {
        let get = cmd(&["GET", self.keys.heard().as_str()]);
        let heard = self.store.call(&get, Deadline::after(PATIENCE)).await?;
        Ok(commands::recent(self.clock.now_ms(), reply::text(&heard)))
    }

    pub(super) async fn take_orders(&mut self, turn: &mut Turn) {
        while let Ok(ask) = self.asks.try_recv() {
            self.obey(turn, &ask.command, Some(ReplyTo::Here(ask.answer)));
        }
        if turn.flight.is_none() {
            self.hear(turn).await;
        }
        let mut last = None;
        for sent in std::mem::take(&mut turn.heard) {
            last = Some(sent.entry);
            match sent.command {
                Some(command) => self.obey(turn, &command, sent.ask.map(ReplyTo::There)),
                None => turn.numbers.orders_dropped += 1,
            }
        }
        if let Some(entry) = last {
            turn.extra.push(cmd(&["SET", self.keys.heard().as_str(), &entry]));
        }
    }

    /// Carries an order out. Whoever gave it is told when it is stored, or at once why not.
    pub(super) fn obey(&self, turn: &mut Turn, command: &Command, reply_to: Option<ReplyTo>) {
        // Whoever gave it was told already that its outcome is unknown.
        let given_up = match &reply_to {
            Some(ReplyTo::Here(reply_to)) => reply_to.is_closed(),
            _ => commands::too_old(command, self.clock.now_ms()),
        };
        if given_up {
            turn.numbers.orders_dropped += 1;
            return turn.refuse(reply_to, OrderError::Unconfirmed);
        }
        if self.options.snapshots.is_some()
            && let Order::Snapshot | Order::Restore { .. } = command.order
        {
            return turn.keeper.note(&command.order, reply_to);
        }
        let before = turn.world.pace.clone();
        match turn.world.obey(command) {
            Ok(effect) => self.note(turn, effect, reply_to),
            Err(why) => {
                turn.numbers.orders_dropped += 1;
                tracing::debug!(%why, ?command, "an order was refused");
                turn.refuse(reply_to, why);
            }
        }
        self.follow_pace(turn, &before);
    }

    /// The pace changed, by an order or by somebody who wrote its keys: ticks follow it.
    pub(super) fn follow_pace(&self, turn: &mut Turn, before: &Pace) {
        let (now, pace) = (self.clock.monotonic(), &turn.world.pace);
        if before.rate.to_bits() != pace.rate.to_bits() {
            turn.beat.change(now, pace.rate);
            // The new count begins here: the pause before it is no part of it.
            turn.paused_at = turn.paused_at.map(|_| now);
        }
        if pace.paused && turn.paused_at.is_none() {
            turn.paused_at = Some(now);
            turn.keeper.note(&Order::Snapshot, None);
        } else if let (false, Some(since)) = (pace.paused, turn.paused_at) {
            turn.beat.skip(now.saturating_sub(since));
            turn.paused_at = None;
        }
    }

    /// Adds an effect's writes to the next batch, and its sender to those who hear of it.
    fn note(&self, turn: &mut Turn, effect: Effect, reply_to: Option<ReplyTo>) {
        turn.extra.extend(write::effect(&turn.world, self.keys, &effect, self.clock.now_ms()));
        match &effect {
            Effect::Spawned(id) => {
                turn.unstored.note(Topic::Ship(*id));
                let spawns = turn.world.take_spawns().to_string();
                turn.extra.push(cmd(&["INCRBY", self.keys.total_spawns().as_str(), &spawns]));
                turn.recount = true;
                turn.born.extend(self.keys.ship(*id).map(|key| key.as_bytes().to_vec()));
            }
            Effect::Stationed(id) => {
                let kind = turn.world.stations.get(id).map(|station| station.kind);
                let key = kind.and_then(|kind| of_station(self.keys, kind, *id).ok());
                turn.born.extend(key.map(|key| key.as_bytes().to_vec()));
            }
            Effect::Renamed(id, _) | Effect::Ruled(id, _) | Effect::Unruled(id, _) => {
                turn.unstored.note(Topic::Ship(*id));
            }
            Effect::Paced => turn.unstored.note(Topic::Pace),
            Effect::Cleared(_) => {
                turn.unstored.note(Topic::Pace);
                turn.energy = turn.world.bodies.energy();
            }
            _ => {}
        }
        turn.askers.extend(reply_to.map(|reply_to| (reply_to, Ok(effect))));
    }
}

impl Turn {
    /// Somebody here is told at once, somebody elsewhere with the next batch.
    fn refuse(&mut self, reply_to: Option<ReplyTo>, why: OrderError) {
        match reply_to {
            // Nobody listens any more: then nobody need know.
            Some(ReplyTo::Here(reply_to)) => drop(reply_to.send(Err(why))),
            Some(there) => self.askers.push((there, Err(why))),
            None => {}
        }
    }
}
