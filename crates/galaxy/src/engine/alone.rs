//! One order to a world that nobody ticks: the command line on a store of its own.

use kernel::Fault;
use tokio::sync::oneshot;

use super::Engine;
use super::lock::Lock;
use crate::orders::{Command, Effect, OrderError};

impl Engine {
    /// Carries out one order and ends; `None` when somebody ticks this world, who must be asked instead.
    pub async fn alone(
        mut self,
        command: &Command,
    ) -> Result<Option<Result<Effect, OrderError>>, Fault> {
        let key = self.keys.engine_lock();
        let lock = Lock::take(&self.store, &self.clock, key.as_str(), &self.options.id).await?;
        let Some(mut lock) = lock else { return Ok(None) };
        let Some(world) = self.find_world(&mut lock).await? else {
            lock.give_back().await;
            return Ok(Some(Err(OrderError::Missing("world; make one: `worldkeep galaxy init`"))));
        };
        let mut turn = self.turn(world, lock);
        let (answer, mut outcome) = oneshot::channel();
        self.obey(&mut turn, command, Some(answer));
        if let Some((id, asker)) = turn.keeper.restore.take() {
            turn = self.restore(turn, id, asker).await?;
        } else {
            let stored = self.flush(&mut turn).await;
            self.show(&mut turn, stored).await;
        }
        turn.keeper.answer(&turn.world, self.clock.monotonic()).await;
        turn.lock.give_back().await;
        let unknown = |_| Fault::Unknown("the order may not have been stored".into());
        outcome.try_recv().map(Some).map_err(unknown)
    }
}
