//! Counters of running jobs: they are compared with the active set and put right when they leaked. The types come from
//! what the queue keeps itself, so that a store full of other keys costs nothing; a stretch of SCAN finds the rest.

use kernel::{Value, reply};

use crate::error::Error;
use crate::scripts::RECONCILE;
use crate::store::counts::day;
use crate::store::sweep::Sightings;
use crate::store::wire::{escape_glob, scanned, texts};
use crate::store::{Jobs, cmd};

/// Active jobs that a reconciliation looks at, at most.
const RECONCILE_MAX: u64 = 50_000;

/// A counter that was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miscount {
    /// The type.
    pub kind: String,
    /// The counter's value.
    pub counter: String,
    /// The number of active jobs.
    pub active: i64,
    /// Whether it was put right.
    pub repaired: bool,
}

impl Jobs {
    /// Compares the counters of running jobs with the active set, and puts right those that were wrong the time
    /// before as well. Looks at every type that runs, waits or ended a job since yesterday, and at a stretch of all
    /// counters each time.
    pub async fn reconcile(&self, seen: &Sightings) -> Result<Vec<Miscount>, Error> {
        let suspects = seen.counters.lock().clone();
        let from = seen.cursor.lock().1.clone();
        let (mut others, next) = self.counted_types(&from, 1_000).await?;
        seen.cursor.lock().1 = next;
        others.extend(self.types_of_days().await?);
        let found = self.compare_counters(&suspects, &others).await?;
        *seen.counters.lock() =
            found.iter().filter(|one| !one.repaired).map(|one| one.kind.clone()).collect();
        Ok(found)
    }

    /// Counters that differ from the active set; those of `suspects` are put right.
    pub(crate) async fn compare_counters(
        &self,
        suspects: &[String],
        others: &[String],
    ) -> Result<Vec<Miscount>, Error> {
        let (most, many) = (RECONCILE_MAX.to_string(), suspects.len().to_string());
        let mut args: Vec<&[u8]> = vec![most.as_bytes(), many.as_bytes()];
        args.extend(suspects.iter().chain(others).map(String::as_bytes));
        let reply = self.script(&RECONCILE, &args, self.by()).await?;
        let parts = reply::list(&reply).unwrap_or_default();
        let read = |one: &[Value]| {
            Some(Miscount {
                kind: reply::text(&one[0])?.to_owned(),
                counter: reply::text(&one[1]).unwrap_or_default().to_owned(),
                active: reply::int(&one[2])?,
                repaired: reply::int(&one[3]) == Some(1),
            })
        };
        Ok(parts.chunks_exact(4).filter_map(read).collect())
    }

    /// Types of which a job ended today or yesterday.
    async fn types_of_days(&self) -> Result<Vec<String>, Error> {
        let now_ms = self.now_ms();
        let days = [now_ms, now_ms.saturating_sub(86_400_000)].map(day);
        let cmds = days.map(|day| cmd("HKEYS", self.space().stats(&day)));
        let fields = self.all(&cmds).await?;
        let types = fields.iter().flat_map(texts);
        Ok(types.filter_map(|field| Some(field.rsplit_once(':')?.0.to_owned())).collect())
    }

    /// Types that have a counter of running jobs: one stretch of SCAN, and where the next one begins.
    async fn counted_types(
        &self,
        from: &[u8],
        budget: usize,
    ) -> Result<(Vec<String>, Vec<u8>), Error> {
        let key = self.space().waiting.clone();
        let mut session = self.store().session(key.as_bytes(), self.by()).await?;
        let prefix = self.space().concurrent("");
        let mut scan = redis::cmd("SCAN");
        scan.arg(if from.is_empty() { b"0" } else { from });
        scan.arg("MATCH").arg(format!("{}*", escape_glob(&prefix)));
        scan.arg("COUNT").arg(budget);
        let (next, keys) = scanned(&session.call(&scan, self.by()).await?);
        let types = keys.iter().filter_map(|key| key.strip_prefix(&prefix));
        Ok((types.map(str::to_owned).collect(), if next == b"0" { Vec::new() } else { next }))
    }

    /// All of them.
    pub(crate) async fn all_counted_types(&self) -> Result<Vec<String>, Error> {
        let (mut all, mut from) = (Vec::new(), Vec::new());
        loop {
            let (types, next) = self.counted_types(&from, 1_000).await?;
            all.extend(types);
            from = next;
            if from.is_empty() {
                all.sort_unstable();
                all.dedup();
                return Ok(all);
            }
        }
    }
}
