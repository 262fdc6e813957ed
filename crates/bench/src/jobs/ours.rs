//! Our side of the measurements: no-op jobs dispatched, worked off and picked up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jobs::worker::{Job, Worker};
use jobs::{Jobs, NewJob, Options};
use kernel::keyspace::Layout;
use kernel::{Store, SystemClock};
use tokio::sync::Notify;

use super::super::peers::Said;
use super::super::stats::percentile;

/// The type of the jobs.
pub(super) const KIND: &str = "noop";

pub(super) fn open(store: Arc<dyn Store>, options: Options) -> Result<Jobs, String> {
    Jobs::new(store, Arc::new(SystemClock::new()), "bench", Layout::Plain, options).map_err(told)
}

fn new_job() -> NewJob {
    NewJob::raw(KIND, r#"{"to":"a@b.c"}"#)
}

/// Work on a task of its own, where programs do theirs: the thread that waits for all would be woken for each step.
async fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Result<T, String> {
    tokio::spawn(work).await.map_err(told)?
}

pub(super) async fn dispatch_each(jobs: &Jobs, count: usize) -> Result<Duration, String> {
    let jobs = jobs.clone();
    apart(async move {
        let began = Instant::now();
        for _ in 0..count {
            jobs.dispatch(new_job()).await.map_err(told)?;
        }
        Ok(began.elapsed())
    })
    .await
}

/// Jobs that ask for a limit of one, and one that runs.
pub(super) async fn dispatch_limited(jobs: &Jobs, count: usize) -> Result<(), String> {
    for _ in 0..count / 1_000 {
        let all = (0..1_000).map(|_| new_job().max_concurrent(1)).collect();
        for sent in jobs.dispatch_many(all).await.map_err(told)? {
            sent.map_err(told)?;
        }
    }
    Ok(())
}

/// Milliseconds of one claim, which must bring so many jobs.
pub(super) async fn claimed_in(
    jobs: &Jobs,
    facts: &jobs::WorkerFacts,
    count: usize,
) -> Result<f64, String> {
    let began = Instant::now();
    let claims = jobs.claim(facts, 1).await.map_err(told)?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if claims.jobs.len() != count {
        return Err(format!("{} jobs were claimed instead of {count}", claims.jobs.len()));
    }
    Ok(took)
}

pub(super) async fn dispatch_bulk(jobs: &Jobs, count: usize) -> Result<Duration, String> {
    let jobs = jobs.clone();
    apart(async move {
        let began = Instant::now();
        let mut left = count;
        while left > 0 {
            let part = left.min(1_000); // as the others are given them
            let all = (0..part).map(|_| new_job()).collect();
            for sent in jobs.dispatch_many(all).await.map_err(told)? {
                sent.map_err(told)?;
            }
            left -= part;
        }
        Ok(began.elapsed())
    })
    .await
}

/// Runs `count` no-op jobs with so many slots; how long until the last of them ran, the worker's end aside.
pub(super) async fn work_off(jobs: &Jobs, count: usize, slots: usize) -> Result<Duration, String> {
    let (done, all) = (AtomicUsize::new(0), Arc::new(Notify::new()));
    let last = Arc::new(OnceLock::new());
    let (ended, finished) = (Arc::clone(&last), Arc::clone(&all));
    // The others' watches run from before their workers are made, too.
    let began = Instant::now();
    let worker = Worker::builder(jobs)
        .concurrency(slots)
        .random_suffix(true)
        .handle(KIND, move |_: Job<serde::de::IgnoredAny>, _| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == count {
                let _ = ended.set(Instant::now());
                finished.notify_one();
            }
            std::future::ready(Ok(()))
        })
        .build()
        .await
        .map_err(told)?;
    let patience = Duration::from_mins(2);
    let until = async { drop(tokio::time::timeout(patience, all.notified()).await) };
    worker.run_until(until).await.map_err(told)?;
    let last: Option<&Instant> = last.get();
    last.map(|last| last.duration_since(began))
        .ok_or_else(|| "the jobs were not done within two minutes".into())
}

/// How long a job waits for an idle worker, from before its dispatch to its handler.
pub(super) async fn pickup(jobs: &Jobs, count: usize) -> Result<Said, String> {
    let arrived = Arc::new(Notify::new());
    let told_arrived = Arc::clone(&arrived);
    let worker = Worker::builder(jobs)
        .random_suffix(true)
        .handle(KIND, move |_: Job<serde::de::IgnoredAny>, _| {
            told_arrived.notify_one();
            std::future::ready(Ok(()))
        })
        .build()
        .await
        .map_err(told)?;
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let producer = jobs.clone();
    let took = apart(async move {
        let mut took = Vec::with_capacity(count);
        for _ in 0..count {
            let began = Instant::now();
            producer.dispatch(new_job()).await.map_err(told)?;
            arrived.notified().await;
            took.push(began.elapsed().as_secs_f64() * 1e3);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(took)
    })
    .await?;
    stopper.stop();
    running.await.map_err(|error| error.to_string())?.map_err(told)?;
    let at = |part: f64| percentile(took.iter().copied(), part);
    Ok(Said { p50_ms: at(0.5), p99_ms: at(0.99), ..Said::default() })
}

pub(super) fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
