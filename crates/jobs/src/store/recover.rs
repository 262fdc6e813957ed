//! Recovery, which keeps the queue going: due jobs are promoted, jobs are taken back from dead
//! workers once their locks ran out, and jobs that nobody can read are set aside. Everything here
//! may run in several processes at once.

use std::time::Duration;

use kernel::reply;

use crate::error::Error;
use crate::scripts::{PROMOTE, QUARANTINE, RECLAIM, RECOVER_ACTIVE, REQUEUE_ORPHAN};
use crate::store::Jobs;
use crate::store::wire::texts;

/// A job that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The job.
    pub id: String,
    /// The job's type; empty when it cannot be read.
    pub kind: String,
    /// `waiting`, `dead`, `cancelled` or `gone`.
    pub became: String,
}

impl Jobs {
    /// Moves due jobs from `delayed` to `waiting`: how many, and when the next one is due.
    pub async fn promote(&self, most: u32) -> Result<(u64, Option<u64>), Error> {
        let (now, opts, most) = (self.now_ms().to_string(), self.opts(), most.to_string());
        let args = [now.as_bytes(), opts.as_bytes(), most.as_bytes()];
        let reply = self.script(&PROMOTE, &args, self.by()).await?;
        let parts = reply::list(&reply).unwrap_or_default();
        let moved = parts.first().and_then(reply::int).unwrap_or(0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time, checked
        let next = parts.get(1).and_then(reply::number).map(|score| score.max(0.0) as u64);
        Ok((u64::try_from(moved).unwrap_or(0), next))
    }

    /// Takes claimed jobs back whose lock ran out.
    pub async fn reclaim(&self) -> Result<Vec<Recovered>, Error> {
        self.reclaim_after(Duration::ZERO).await
    }

    /// The same, unless somebody looked through the claimed jobs less than `pause` ago.
    pub(crate) async fn reclaim_after(&self, pause: Duration) -> Result<Vec<Recovered>, Error> {
        let head = self.ending_args();
        let (most, pause) =
            (self.options().max_recoveries.to_string(), pause.as_millis().to_string());
        let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
        loop {
            let own = [&most, &cursor, &pause];
            let args: Vec<&[u8]> = head.iter().chain(own).map(String::as_bytes).collect();
            let reply = match self.script(&RECLAIM, &args, self.by()).await {
                Ok(reply) => reply,
                // The jobs taken back so far are reported; the next look finds the rest.
                Err(error) if !all.is_empty() => {
                    tracing::debug!(%error, "not all claimed jobs were looked through");
                    return Ok(all);
                }
                Err(error) => return Err(error),
            };
            let mut words = texts(&reply).into_iter();
            cursor = words.next().unwrap_or_else(|| "0".to_owned());
            all.extend(self.recovered(words.as_slice()));
            if cursor == "0" {
                return Ok(all);
            }
        }
    }

    fn recovered(&self, words: &[String]) -> Vec<Recovered> {
        let all: Vec<Recovered> = words
            .chunks_exact(3)
            .map(|one| Recovered {
                id: one[0].clone(),
                kind: one[1].clone(),
                became: one[2].clone(),
            })
            .collect();
        for one in &all {
            let word = match one.became.as_str() {
                "dead" => "dead",
                "cancelled" => "failed",
                _ => "recovered",
            };
            self.counts().on(self.now_ms()).add(&one.kind, word, 0);
        }
        all
    }

    /// Takes back jobs that are active without a living owner; each with the owner who was found dead.
    pub(crate) async fn recover_active(
        &self,
        due: Vec<(String, String)>,
    ) -> Result<Vec<Recovered>, Error> {
        let mut all = Vec::new();
        for (id, owner) in due {
            let head = self.ending_args();
            let most = self.options().max_recoveries.to_string();
            let own = [&id, &owner, &most].map(String::as_bytes);
            let args: Vec<&[u8]> = head.iter().map(String::as_bytes).chain(own).collect();
            let reply = self.script(&RECOVER_ACTIVE, &args, self.by()).await?;
            all.extend(self.recovered(&texts(&reply)));
        }
        Ok(all)
    }

    /// Puts jobs back that are in no structure; each with the status it says it has.
    pub(crate) async fn requeue_orphans(
        &self,
        due: Vec<(String, String)>,
    ) -> Result<Vec<Recovered>, Error> {
        let mut all = Vec::new();
        for (id, status) in due {
            let (now, opts) = (self.now_ms().to_string(), self.opts());
            let args = [&now, &opts, &id, &status].map(String::as_bytes);
            let reply = self.script(&REQUEUE_ORPHAN, &args, self.by()).await?;
            all.extend(self.recovered(&texts(&reply)));
        }
        Ok(all)
    }

    /// Moves a job that nobody can read to the dead letters. `false` when it can be read, is held or is gone.
    pub async fn quarantine(&self, id: &str) -> Result<bool, Error> {
        let head = self.ending_args();
        let args: Vec<&[u8]> =
            head.iter().map(String::as_bytes).chain(std::iter::once(id.as_bytes())).collect();
        let reply = self.script(&QUARANTINE, &args, self.by()).await?;
        Ok(reply::text(&reply) == Some("done"))
    }
}
