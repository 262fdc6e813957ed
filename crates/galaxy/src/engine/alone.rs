//! One order to a world that nobody ticks: the command line on a store of its own.

use kernel::Fault;
use tokio::sync::oneshot;

use super::lock::Lock;
use super::{Engine, ReplyTo};
use crate::error::{OrderError, SnapshotError};
use crate::world::orders::{Command, Effect, Order};

impl Engine {
    /// Carries out one order and ends; `None` when somebody ticks this world, who must be asked instead.
    pub async fn alone(
        mut self,
        command: &Command,
    ) -> Result<Option<Result<Effect, OrderError>>, Fault> {
        let key = self.keys.engine_lock();
        let lock = Lock::take(&self.store, &self.clock, key.as_str(), &self.options.id).await?;
        let Some(mut lock) = lock else { return Ok(None) };
        if let (Order::Restore { id }, Some(_)) = (&command.order, &self.options.snapshots) {
            // There may be no world to be found, and the restore is what brings it back.
            let outcome = self.go_back(&mut lock, *id).await;
            lock.give_back().await;
            return restored(*id, outcome).map(Some);
        }
        let world = match self.find_world(&mut lock).await? {
            Ok(world) => world,
            Err(standing) => {
                lock.give_back().await;
                return match standing.alarm() {
                    Some(alarm) => Err(Fault::Unavailable(alarm.sentence())),
                    None => Ok(Some(Err(OrderError::Missing(
                        "world; make one: `worldkeep galaxy init`",
                    )))),
                };
            }
        };
        let mut turn = self.turn(world, lock);
        let (answer, mut outcome) = oneshot::channel();
        self.obey(&mut turn, command, Some(ReplyTo::Here(answer)));
        let stored = self.flush_whole(&mut turn).await?;
        self.show(&mut turn, stored).await;
        turn.keeper.answer(&turn.world, self.clock.monotonic()).await;
        self.tell(std::mem::take(&mut turn.keeper.told)).await;
        turn.lock.give_back().await;
        let unknown = |_| Fault::Unknown("the order may not have been stored".into());
        outcome.try_recv().map(Some).map_err(unknown)
    }
}

/// The outcome of a restore that was asked for.
pub(super) fn restored(
    id: i64,
    outcome: Result<(), SnapshotError>,
) -> Result<Result<Effect, OrderError>, Fault> {
    match outcome {
        Ok(()) => Ok(Ok(Effect::Restored(id))),
        Err(SnapshotError::Fault(fault)) => Err(fault),
        Err(SnapshotError::Missing(_)) => Ok(Err(OrderError::Missing("snapshot"))),
        Err(error) => {
            tracing::warn!(%error, id, "no restore");
            Ok(Err(OrderError::Conflict("the snapshot cannot be used")))
        }
    }
}
