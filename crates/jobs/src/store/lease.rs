//! A worker's calls while a job runs: prolong the lease, tell the progress.

use kernel::reply;

use crate::error::Error;
use crate::model::{Progress, WorkerFacts};
use crate::scripts::{PROGRESS, RENEW};
use crate::store::Jobs;

/// How a lease stands after [`Jobs::renew`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// It goes on.
    Held,
    /// It goes on, and the job's cancellation was asked for.
    Cancelled,
    /// Another worker may have the job: stop, and write nothing.
    Lost,
}

impl Jobs {
    /// Prolongs leases; one answer per id, in order.
    pub async fn renew(&self, facts: &WorkerFacts, ids: &[&str]) -> Result<Vec<Lease>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ttl = self.options().lock_ttl_s.to_string();
        let mut args: Vec<&[u8]> = vec![facts.server_id.as_bytes(), ttl.as_bytes()];
        args.extend(ids.iter().map(|id| id.as_bytes()));
        let reply = self.script(&RENEW, &args, self.by()).await?;
        let answers = reply::list(&reply).unwrap_or_default().iter();
        Ok(answers
            .map(|answer| match reply::int(answer) {
                Some(1) => Lease::Held,
                Some(2) => Lease::Cancelled,
                _ => Lease::Lost,
            })
            .collect())
    }

    /// Writes how far a job is; `false` when the worker does not own it any more.
    pub async fn progress(
        &self,
        facts: &WorkerFacts,
        id: &str,
        progress: &Progress,
    ) -> Result<bool, Error> {
        let text = progress.text(self.now_ms());
        let args = [facts.server_id.as_bytes(), id.as_bytes(), text.as_bytes()];
        let reply = self.script(&PROGRESS, &args, self.by()).await?;
        Ok(reply::text(&reply) == Some("written"))
    }
}
