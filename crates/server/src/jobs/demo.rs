//! A queue that lives, for the demo world: producers, two workers, failures, retries, dead letters, cron, progress. It runs
//! only with `App::demo`, touches only the first namespace, and stays small: it stops producing while much waits, and
//! ended jobs of the demo stay for minutes.

use std::time::Duration;

use futures_util::future::BoxFuture;
use jobs::worker::{Job, JobCx, JobError, Worker};
use jobs::{Backoff, Error, Jobs, NewJob, Retry, Target};
use rand::RngExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::handle::{Queues, options};
use super::scheduler::Counters;
use crate::modules::State;

/// Nothing is produced while so many wait.
const MOST_WAITING: u64 = 60;
/// Dead letters beyond which the oldest go.
const MOST_DEAD: u64 = 12;
/// How long ended jobs of the demo stay.
const KEPT_S: i64 = 600;

/// The loop.
pub(crate) fn run(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Some(first) = Queues::of(&app).iter().next().cloned().filter(|_| app.demo()) else {
            return;
        };
        let mut own = options(&app.settings);
        own.retention_s = KEPT_S;
        own.dlq_max = MOST_DEAD;
        let (store, clock) = (app.shared_store(), std::sync::Arc::clone(&app.clock));
        let opened = Jobs::new(store, clock, first.namespace(), first.layout(), own);
        let Ok(jobs) = opened else { return };
        let metrics = Counters::of(&app, &first);
        let mut tasks = tokio::task::JoinSet::new();
        for (id, region, can) in
            [("demo-eu", "eu", &["gpu", "smtp"][..]), ("demo-us", "us", &["smtp"])]
        {
            let worker = Worker::builder(&jobs)
                .server_id(id)
                .region(region)
                .capabilities(can.iter().copied())
                .concurrency(4)
                .grace(Duration::from_millis(500))
                .metrics(std::sync::Arc::clone(&metrics))
                .handle("email", email)
                .handle("thumbnail", thumbnail)
                .handle("report", report)
                .handle("invoice", invoice)
                .handle("cleanup", cleanup)
                .build();
            match worker.await {
                Ok(worker) => {
                    let stop = stop.clone();
                    tasks.spawn(async move {
                        let ended = worker.run_until(async move { stop.cancelled().await }).await;
                        if let Err(error) = ended {
                            tracing::debug!(%error, "a demo worker ended");
                        }
                    });
                }
                // Another server shows the demo on the same store.
                Err(error) => tracing::debug!(%error, "no demo worker here"),
            }
        }
        if tasks.is_empty() {
            return;
        }
        if let Err(error) = definitions(&jobs).await {
            tracing::debug!(%error, "demo definitions");
        }
        produce(&jobs, &stop).await;
        while tasks.join_next().await.is_some() {}
    })
}

async fn definitions(jobs: &Jobs) -> Result<(), Error> {
    let empty = json!({});
    let all = [
        NewJob::new("cleanup", &empty).id("demo-cleanup").cron("* * * * *", None),
        NewJob::new("report", &json!({ "kind": "daily digest" }))
            .id("demo-digest")
            .cron("0 18 * * *", Some("Europe/Paris")),
        NewJob::new("report", &json!({ "kind": "weekly" }))
            .id("demo-weekly")
            .cron("30 7 * * MON", Some("America/New_York")),
    ];
    for one in all {
        let id = one.id.clone().unwrap_or_default();
        if jobs.cron(&id).await?.is_none() {
            jobs.put_cron(one).await?;
        }
    }
    Ok(())
}

/// A job every few hundred milliseconds, in little waves.
async fn produce(jobs: &Jobs, stop: &CancellationToken) {
    let mut count: u64 = 0;
    loop {
        let wave = if (count / 40).is_multiple_of(3) { 150 } else { 500 };
        let pause = Duration::from_millis(wave + rand::rng().random_range(0..wave));
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        count += 1;
        let made = match jobs.stats().await {
            Ok(stats) if stats.waiting + stats.delayed < MOST_WAITING => {
                jobs.dispatch(next(count)).await.map(drop)
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        let made = match made {
            Ok(()) if count.is_multiple_of(50) => jobs.trim_dlq().await.map(drop),
            other => other,
        };
        if let Err(error) = made {
            tracing::debug!(%error, "producing a demo job");
        }
    }
}

fn next(count: u64) -> NewJob {
    let dice = rand::rng().random_range(0..100);
    let retry = |attempts: u32, delay: u64| Retry {
        attempts,
        backoff: Backoff { delay, ..Backoff::default() },
        ..Retry::default()
    };
    match dice {
        0..45 => {
            NewJob::new("email", &json!({ "to": format!("player{}@example.org", count % 97) }))
                .retry(retry(2, 1500))
        }
        45..70 => NewJob::new("thumbnail", &json!({ "image": format!("scene-{count}.png") }))
            .max_concurrent(2)
            .target(Target::any().capability("gpu")),
        70..85 => NewJob::new("invoice", &json!({ "order": count, "amount": dice })).priority(8),
        85..95 => NewJob::new("report", &json!({ "kind": "activity", "day": count % 7 })),
        95..99 => NewJob::new("email", &json!({ "to": "later@example.org" }))
            .delay(Duration::from_secs(20 + count % 40)),
        // Nobody in the demo has this: the page that explains has something to explain.
        _ => NewJob::new("thumbnail", &json!({ "image": "huge.png" }))
            .target(Target::any().region("ap"))
            .id(format!("demo-unroutable-{}", count % 3)),
    }
}

/// A while, or until the job is cancelled or the server stops.
async fn pause(cx: &JobCx, from: u64, to: u64) {
    let ms = rand::rng().random_range(from..to);
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
        _ = cx.cancelled() => {}
    }
}

fn chance(percent: u32) -> bool {
    rand::rng().random_range(0..100) < percent
}

async fn email(job: Job<Value>, cx: JobCx) -> Result<Value, JobError> {
    pause(&cx, 20, 250).await;
    if chance(12) {
        return Err(JobError::retry("SmtpTimeout", "no answer from mail.example.org in 10 s"));
    }
    Ok(json!({ "sent": job.payload["to"], "try": cx.attempt() }))
}

async fn thumbnail(job: Job<Value>, cx: JobCx) -> Result<Value, JobError> {
    for step in 1..=10_u32 {
        pause(&cx, 100, 400).await;
        let _ = cx.progress(f64::from(step) * 10.0, format!("tile {step} of 10")).await;
        if cx.is_cancelled().is_some() {
            return Err(JobError::discard("Stopped", "asked to stop"));
        }
    }
    Ok(json!({ "image": job.payload["image"], "width": 320 }))
}

async fn report(_: Job<Value>, cx: JobCx) -> Result<Value, JobError> {
    for part in ["rows", "charts", "pages"] {
        pause(&cx, 300, 1200).await;
        let _ = cx.progress(if part == "rows" { 33.0 } else { 66.0 }, part).await;
    }
    Ok(json!({ "pages": 12 }))
}

async fn invoice(job: Job<Value>, cx: JobCx) -> Result<Value, JobError> {
    pause(&cx, 30, 200).await;
    if chance(4) {
        return Err(JobError::dead("CardRefused", "the bank refused the card"));
    }
    Ok(json!({ "paid": job.payload["amount"] }))
}

async fn cleanup(_: Job<Value>, cx: JobCx) -> Result<Value, JobError> {
    pause(&cx, 50, 400).await;
    Ok(json!({ "removed": rand::rng().random_range(0..20) }))
}
