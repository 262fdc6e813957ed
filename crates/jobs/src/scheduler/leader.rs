//! The leader: it holds `scheduler:lock` with a life of 30 seconds, renewed every 10 (seed). A
//! leader that dies is followed after at most that life; one that stops gives the lock back.

use std::time::Duration;

use kernel::{Deadline, reply};

use crate::error::Error;
use crate::scripts::{LEAD, bundle};
use crate::store::Jobs;
use crate::worker::hostname;

/// The lock's life (seed).
const LIFE_S: u64 = 30;
/// A leader renews this often.
const RENEW: Duration = Duration::from_secs(10);
/// Whoever follows tries this often.
const TRY: Duration = Duration::from_secs(1);
/// How long a leader counts on its lock: it stops leading two seconds before another could start.
const TERM: Duration = Duration::from_secs(LIFE_S - 2);

/// One contender.
pub(super) struct Leader {
    jobs: Jobs,
    id: String,
    since_ms: u64,
    /// On the monotonic clock: until when the lock is surely ours, and when to ask again.
    until: Option<Duration>,
    ask_at: Duration,
}

impl Leader {
    pub(super) fn new(jobs: Jobs, id: String) -> Leader {
        Leader { jobs, id, since_ms: 0, until: None, ask_at: Duration::ZERO }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether this one leads now; asks when it is time to.
    pub(super) async fn keep(&mut self) -> Result<bool, Error> {
        let now = self.jobs.clock().monotonic();
        if now >= self.ask_at {
            self.ask(now).await?;
        }
        let now = self.jobs.clock().monotonic();
        if self.until.is_some_and(|until| now >= until) {
            self.until = None;
        }
        Ok(self.until.is_some())
    }

    async fn ask(&mut self, now: Duration) -> Result<(), Error> {
        if self.until.is_none() {
            self.since_ms = self.jobs.now_ms();
        }
        if self.step("take").await? == "lead" {
            // Counted from before the call, so that the lock lives longer than we believe.
            self.until = Some(now + TERM);
            self.ask_at = now + RENEW;
        } else {
            self.until = None;
            self.ask_at = now + TRY;
        }
        Ok(())
    }

    /// Gives the lead back, if it is ours.
    pub(super) async fn leave(&mut self) {
        if self.until.take().is_some()
            && let Err(error) = self.step("leave").await
        {
            tracing::debug!(%error, "the lead was not given back; it runs out by itself");
        }
    }

    async fn step(&self, verb: &str) -> Result<String, Error> {
        let space = self.jobs.space();
        let text = serde_json::json!({
            "id": self.id, "host": hostname(), "pid": std::process::id(), "since": self.since_ms,
            "scripts": bundle::digest(),
        })
        .to_string();
        let (life, now) = (LIFE_S.to_string(), self.jobs.now_ms().to_string());
        let kept = if self.jobs.options().events { kernel::EVENTS_KEPT } else { "0" };
        let keys = [&space.scheduler_lock, &space.scheduler_leader, &space.events];
        let keys = keys.map(kernel::keyspace::Key::as_bytes);
        let args = [verb, &self.id, &life, &text, &now, kept].map(str::as_bytes);
        let by = Deadline::after(self.jobs.options().call_timeout);
        let reply = self.jobs.store().script(&LEAD, &keys, &args, by).await?;
        Ok(reply::text(&reply).unwrap_or_default().to_owned())
    }
}
