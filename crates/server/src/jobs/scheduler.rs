//! A scheduler for each namespace of this server: cron, delayed jobs, recovery, counters. Its numbers go to `/metrics`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use jobs::metrics::{BOUNDS, Counted, Histogram, Metrics};
use jobs::{Jobs, Scheduler};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::handle::Queues;
use crate::app::App;
use crate::modules::State;

/// How often the numbers of this process are carried to `/metrics`.
const EVERY: Duration = Duration::from_secs(1);

/// The counters of this process's schedulers and workers, by namespace.
pub(crate) struct Counters(Mutex<HashMap<String, Arc<Metrics>>>);

impl Counters {
    pub(crate) fn of(app: &App, jobs: &Jobs) -> Arc<Metrics> {
        let all = app.kept(|| Counters(Mutex::default()));
        Arc::clone(all.0.lock().entry(jobs.namespace().to_owned()).or_default())
    }
}

/// The loop: one scheduler per namespace until the stop.
pub(crate) fn run(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut tasks = tokio::task::JoinSet::new();
        for jobs in Queues::of(&app).iter() {
            let metrics = Counters::of(&app, jobs);
            tasks.spawn(carry(jobs.namespace().to_owned(), Arc::clone(&metrics), stop.clone()));
            if app.settings.jobs.scheduler {
                let scheduler = Scheduler::new(jobs, metrics);
                let stop = stop.clone();
                tasks.spawn(scheduler.run_until(async move { stop.cancelled().await }));
            }
        }
        // All of them end with the token; a scheduler gives the lead back first.
        while tasks.join_next().await.is_some() {}
    })
}

/// Carries counts to `/metrics` as they grow.
async fn carry(ns: String, metrics: Arc<Metrics>, stop: CancellationToken) {
    let mut every = tokio::time::interval(EVERY);
    let (mut lost, mut repaired, mut rotated) = (0, 0, 0);
    let mut scanned = Seen::default();
    let mut lag = Seen::default();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = every.tick() => {}
        }
        let counter = |name: &'static str, from: &AtomicU64, before: &mut u64| {
            let now = from.load(Ordering::Relaxed);
            metrics::counter!(name, "ns" => ns.clone()).increment(now - *before);
            *before = now;
        };
        counter("jobs_lease_lost_total", &metrics.lease_lost, &mut lost);
        counter("ratelimit_repaired_total", &metrics.ratelimit_repaired, &mut repaired);
        counter("jobs_rotated_total", &metrics.rotated, &mut rotated);
        scanned.carry(&metrics.claim_scanned, 1.0, |value| {
            metrics::histogram!("jobs_claim_scanned", "ns" => ns.clone()).record(value);
        });
        lag.carry(&metrics.scheduler_lag, 1_000_000.0, |value| {
            metrics::histogram!("scheduler_lag_seconds", "ns" => ns.clone()).record(value);
        });
    }
}

/// How much of a histogram was carried already.
#[derive(Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// Records what came since, each value as the bound of its bucket.
    #[allow(clippy::cast_precision_loss)] // A histogram is of floats by its format.
    fn carry(&mut self, from: &Histogram, unit: f64, record: impl Fn(f64)) {
        let Counted { cumulative, .. } = from.counted();
        self.0.resize(cumulative.len(), 0);
        let mut below = 0;
        for (at, count) in cumulative.into_iter().enumerate() {
            let here = count - below;
            below = count;
            let bound = BOUNDS.get(at).or(BOUNDS.last()).copied().unwrap_or(0);
            // A flood within one second is worth a thousand records, not more.
            for _ in 0..(here - self.0[at]).min(1000) {
                record(bound as f64 / unit);
            }
            self.0[at] = here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_carried_once() {
        let histogram = Histogram::default();
        histogram.add(90);
        histogram.add(90);
        histogram.add(400);
        let mut seen = Seen::default();
        let heard = Mutex::new(Vec::new());
        seen.carry(&histogram, 1.0, |value| heard.lock().push(value));
        assert_eq!(*heard.lock(), [100.0, 100.0, 500.0]);
        heard.lock().clear();
        histogram.add(5000);
        seen.carry(&histogram, 1000.0, |value| heard.lock().push(value));
        assert_eq!(*heard.lock(), [5.0]);
    }
}
