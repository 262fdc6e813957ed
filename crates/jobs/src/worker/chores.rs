//! The chores of a worker beside its jobs: it renews their leases, shows that it lives, and hears
//! wake-ups, cancellations and orders. Each is a task of its own, so that none waits for a handler.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use kernel::{Deadline, Message, Topic};

use super::Shared;
use super::cx::{Cancelled, JobCx};
use super::phase::Phase;
use crate::metrics::bump;
use crate::store::lease::Lease;
use crate::store::takeover::ASK;
use crate::store::workers::Asked;

/// A worker shows that it lives this often; its key lives three times as long (seed).
const HEARTBEAT: Duration = Duration::from_secs(10);
/// After a fault it tries again this soon, because a missed renewal costs a job.
const AGAIN: Duration = Duration::from_millis(500);
/// Leases renewed in one call.
const RENEW_BATCH: usize = 200;

/// Lines logged of leases that were not renewed, by worker.
static RENEWAL: kernel::LogOnce = kernel::LogOnce::new();

impl Shared {
    /// Renews all leases every third of their time.
    pub(super) async fn keep_leases(self: Arc<Self>) {
        let every = Duration::from_secs(u64::from(self.jobs.options().lock_ttl_s)) / 3;
        let mut wait = every;
        loop {
            self.jobs.clock().sleep(wait).await;
            wait = if self.renew_all().await { every } else { AGAIN.min(every) };
        }
    }

    /// `false` when the store did not answer for some.
    pub(super) async fn renew_all(&self) -> bool {
        let held: Vec<(String, JobCx)> = {
            let running = self.running.lock();
            running.iter().map(|(id, cx)| (id.clone(), cx.clone())).collect()
        };
        let mut all = true;
        for batch in held.chunks(RENEW_BATCH) {
            let ids: Vec<&str> = batch.iter().map(|(id, _)| id.as_str()).collect();
            match self.jobs.renew(&self.facts, &ids).await {
                Ok(leases) => {
                    RENEWAL.well(&self.facts.server_id);
                    for ((id, cx), lease) in batch.iter().zip(leases) {
                        self.note_lease(id, cx, lease);
                    }
                }
                Err(error) => {
                    if RENEWAL.is_news(&self.facts.server_id, &error) {
                        tracing::warn!(%error, jobs = batch.len(), "leases were not renewed, again soon");
                    }
                    bump(&self.metrics.faults);
                    all = false;
                    for (id, cx) in batch.iter().filter(|(_, cx)| cx.lease_is_over()) {
                        self.note_lease(id, cx, Lease::Lost);
                    }
                }
            }
        }
        all
    }

    fn note_lease(&self, id: &str, cx: &JobCx, lease: Lease) {
        match lease {
            Lease::Held => cx.extend_lease(),
            Lease::Cancelled => {
                cx.extend_lease();
                cx.cancel(Cancelled::Asked);
            }
            // Finished between the look and the call: it is not held any more, and not lost either.
            Lease::Lost if !self.running.lock().contains_key(id) => {}
            Lease::Lost => {
                tracing::warn!(job = %id, "the lease was lost, the handler is told and its result dropped");
                self.count_loss(cx);
                cx.cancel(Cancelled::LeaseLost);
            }
        }
    }

    /// Shows that the worker lives; every third time it renews its entry too.
    pub(super) async fn keep_alive(self: Arc<Self>) {
        for turn in 1u64.. {
            self.jobs.clock().sleep(HEARTBEAT).await;
            self.beat(turn % 3 == 0).await;
        }
    }

    async fn beat(&self, renews_entry: bool) {
        let entry = renews_entry.then_some(&self.registration);
        match self.jobs.heartbeat(&self.facts, entry).await {
            Ok(beat) if !beat.was_known && !renews_entry => {
                tracing::info!("the registry has lost this worker, which enters itself again");
                Box::pin(self.beat(true)).await;
            }
            Ok(beat) if beat.is_replaced(&self.registration) => {
                let id = &self.facts.server_id;
                tracing::warn!(worker = %id, "another process has this worker's id: it finishes and ends");
                self.obey(Some(Asked::Stop));
            }
            Ok(beat) => self.obey(beat.asked),
            Err(error) => {
                bump(&self.metrics.faults);
                tracing::debug!(%error, "the heartbeat was not written");
            }
        }
    }

    /// Hears what the queue and its operators say, for ever.
    pub(super) async fn listen(self: Arc<Self>) {
        let wake = self.jobs.wake_channel().as_str().to_owned();
        let cancel = self.jobs.cancel_channel().as_str().to_owned();
        let control = self.jobs.control_channel().as_str().to_owned();
        let topics = [&wake, &cancel, &control].map(|channel| Topic::Channel(channel.clone()));
        loop {
            let by = Deadline::after(self.jobs.options().call_timeout);
            let mut stream = match self.jobs.store().subscribe(&topics, by).await {
                Ok(stream) => stream,
                Err(fault) => {
                    tracing::debug!(%fault, "no wake-ups yet, the queue is polled meanwhile");
                    self.jobs.clock().sleep(AGAIN).await;
                    continue;
                }
            };
            self.catch_up().await;
            while let Some(message) = stream.next().await {
                match message {
                    Message::Payload { channel, payload } => {
                        let text = String::from_utf8_lossy(&payload);
                        if channel == wake {
                            self.hear_wake(&text);
                        } else if channel == cancel {
                            self.hear_cancel(&text);
                        } else if text.strip_prefix(ASK) == Some(&self.facts.server_id) {
                            self.beat(false).await;
                        } else {
                            self.obey(Asked::read(&text, &self.facts.server_id));
                        }
                    }
                    Message::Resumed => self.catch_up().await,
                }
            }
        }
    }

    fn hear_wake(&self, kind: &str) {
        if self.handlers.contains_key(kind) || kind.is_empty() || kind == "*" {
            self.wake.notify_one();
        }
    }

    fn hear_cancel(&self, id: &str) {
        if let Some(cx) = self.running.lock().get(id) {
            cx.cancel(Cancelled::Asked);
        }
    }

    fn obey(&self, asked: Option<Asked>) {
        match asked {
            Some(Asked::Quiet) => self.phase.reach(Phase::Quiet),
            Some(Asked::Stop) => self.phase.reach(Phase::Draining),
            None => {}
        }
    }

    /// Messages may have been missed: jobs may wait, a heartbeat tells orders, a renewal cancellations.
    async fn catch_up(&self) {
        self.wake.notify_one();
        self.beat(false).await;
        self.renew_all().await;
    }
}
