//! Giving orders on behalf of whoever is at a route or a socket.

use galaxy::{Command, GiveError, Order};
use uuid::Uuid;

use super::errors::refusal;
use super::gateway::Gateway;
use crate::app::App;
use crate::reply::Refusal;

/// The asker, and the ship.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asker {
    /// `None` for an operator.
    pub(crate) player: Option<Uuid>,
    pub(crate) ship: Option<Uuid>,
}

impl Asker {
    /// An operator, about no ship.
    pub(crate) fn operator() -> Self {
        Asker::default()
    }
}

impl From<GiveError> for Refusal {
    fn from(error: GiveError) -> Self {
        match error {
            GiveError::Refused(told) => refusal(told),
            GiveError::Fault(fault) => fault.into(),
        }
    }
}

impl Gateway {
    fn command(app: &App, asker: &Asker, order: Order) -> Command {
        Command {
            at_ms: app.now_ms(),
            player_id: asker.player.map(|id| id.to_string()),
            ship_id: asker.ship,
            order,
        }
    }

    /// Gives an order and waits until what it did is stored, or why it was refused.
    pub(crate) async fn order(
        &self,
        app: &App,
        asker: &Asker,
        order: Order,
    ) -> Result<(), Refusal> {
        if let Order::Snapshot | Order::Restore { .. } = order {
            self.orders.keep_in(self.snapshots(app).await?);
        }
        Ok(self.orders.give(Gateway::command(app, asker, order)).await?)
    }

    /// Gives an order that nobody waits for, such as a pilot's hand on the stick.
    pub(crate) async fn tell(&self, app: &App, asker: &Asker, order: Order) -> Result<(), Refusal> {
        Ok(self.orders.tell(Gateway::command(app, asker, order)).await?)
    }
}
