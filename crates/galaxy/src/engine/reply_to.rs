//! Askers, who wait for the outcome of an order: somebody in this process, or on another server by
//! `galaxy:bus`.

use tokio::sync::oneshot;

use crate::error::OrderError;
use crate::world::orders::Effect;

/// The outcome of an order.
pub(super) type OrderOutcome = Result<Effect, OrderError>;

/// Somebody who gave an order and waits.
pub(super) enum ReplyTo {
    /// In this process.
    Here(oneshot::Sender<OrderOutcome>),
    /// On another server, under this name.
    There(String),
}

/// Askers that are to be told, each with its outcome.
pub(super) type Replies = Vec<(ReplyTo, OrderOutcome)>;
