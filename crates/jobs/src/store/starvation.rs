//! The starvation guard: a worker that took its share of high priority asks its next claim for jobs behind them.
//! The worker alone counts, so that a claim without the guard costs nothing.

use crate::model::outcome::Claimed;
use crate::model::{Memory, WorkerFacts};
use crate::store::Jobs;

/// Stands where the last remembered job would: the script is asked for jobs behind the high ones. No job's id.
const BEHIND: &str = "\n";

impl Jobs {
    /// The memory that makes the next claim take jobs that are not of high priority: `index` is
    /// their number.
    pub(crate) fn owed(&self, facts: &WorkerFacts) -> Option<Memory> {
        let every = u64::from(self.options().starvation_guard);
        if every == 0 {
            return None;
        }
        let owed = *facts.fronts.lock() / every;
        (owed > 0).then(|| Memory { last: BEHIND.to_owned(), index: owed, ..Memory::default() })
    }

    /// Counts what a claim brought.
    pub(crate) fn note_fronts(&self, facts: &WorkerFacts, jobs: &[Claimed]) {
        let every = u64::from(self.options().starvation_guard);
        if every == 0 {
            return;
        }
        let mut fronts = facts.fronts.lock();
        if *fronts >= every && jobs.iter().all(|one| one.job.is_high()) {
            // It was asked for and there is none: nobody starves.
            *fronts = 0;
        }
        for one in jobs {
            *fronts = if one.job.is_high() { *fronts + 1 } else { fronts.saturating_sub(every) };
        }
    }
}
