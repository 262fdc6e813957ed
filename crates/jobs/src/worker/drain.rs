//! For tests: runs all jobs there are, here and now, and tells their outcomes. With a fake clock
//! and the engine in memory a test needs no waiting at all.

use serde::Serialize;

use super::Worker;
use crate::error::Error;
use crate::model::outcome::Ending;

/// The counts of [`Worker::drain`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Drained {
    /// Attempts that worked.
    pub completed: u64,
    /// Attempts after which the job runs again.
    pub retried: u64,
    /// Jobs that ended as `failed`.
    pub failed: u64,
    /// Jobs that went to the dead letters.
    pub dead: u64,
}

impl Worker {
    /// Runs all jobs that wait or are due now, one after the other, and those they make. Jobs for later stay:
    /// move the clock and drain again.
    pub async fn drain(&self) -> Result<Drained, Error> {
        let shared = &self.shared;
        let mut drained = Drained::default();
        let mut done = Vec::new();
        loop {
            shared.jobs.promote(1_000).await?;
            let Some((claimed, cx)) = shared.exchange(&mut done, 1).await.0.pop() else {
                return Ok(drained);
            };
            let Some(one) = shared.run(claimed, cx).await else { continue };
            match &one.ending {
                Ending::Completed { .. } => drained.completed += 1,
                Ending::Retry { .. } => drained.retried += 1,
                Ending::Failed { .. } => drained.failed += 1,
                Ending::Dead { .. } => drained.dead += 1,
                Ending::HandBack => {}
            }
            done.push(one);
        }
    }
}
