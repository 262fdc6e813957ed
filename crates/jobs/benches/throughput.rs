//! How many no-op jobs a worker finishes, how fast they are dispatched, how soon an idle worker picks one up:
//! `cargo bench -p worldkeep-jobs [-- URL…]`. Without an address: the engine in memory, and a Redis of its own.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kernel::keyspace::Layout;
use kernel::{Deadline, SystemClock};
use serde_json::{Value as Json, json};
use testkit::{Program, Server};
use tokio::sync::Notify;
use worldkeep_jobs::worker::{Job, Worker};
use worldkeep_jobs::{Jobs, NewJob, Options};

/// Runs until so many jobs are done; jobs per second.
async fn work(jobs: &Jobs, slots: usize, count: usize) -> f64 {
    let (done, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counter, last) = (done.clone(), all.clone());
    let worker = Worker::builder(jobs)
        .server_id(format!("bench-{slots}"))
        .concurrency(slots)
        .chores(false)
        .handle("noop", move |_: Job<Json>, _| {
            if counter.fetch_add(1, Ordering::Relaxed) + 1 == count {
                last.notify_one();
            }
            async { Ok(()) }
        })
        .build()
        .await
        .unwrap();
    let stopper = worker.stopper();
    let start = Instant::now();
    let running = tokio::spawn(worker.run());
    all.notified().await;
    let took = start.elapsed();
    stopper.stop();
    running.await.unwrap().unwrap();
    count as f64 / took.as_secs_f64()
}

async fn fill(jobs: &Jobs, count: usize) -> f64 {
    let start = Instant::now();
    let mut left = count;
    while left > 0 {
        let lot = left.min(500);
        let many = (0..lot).map(|n| NewJob::new("noop", &json!({"n": n}))).collect();
        jobs.dispatch_many(many).await.unwrap();
        left -= lot;
    }
    count as f64 / start.elapsed().as_secs_f64()
}

/// Dispatch to start of the handler, on an idle worker.
async fn pickup(jobs: &Jobs) -> (Duration, Duration) {
    let (tell, mut hear) = tokio::sync::mpsc::unbounded_channel();
    let worker =
        Worker::builder(jobs).server_id("bench-idle").handle("noop", move |_: Job<Json>, _| {
            let _ = tell.send(Instant::now());
            async { Ok(()) }
        });
    let worker = worker.build().await.unwrap();
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut waits = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        jobs.dispatch(NewJob::new("noop", &json!({}))).await.unwrap();
        waits.push(hear.recv().await.unwrap() - start);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    stopper.stop();
    running.await.unwrap().unwrap();
    waits.sort();
    (waits[waits.len() / 2], waits[waits.len() * 99 / 100])
}

async fn measure(name: &str, url: &str, scale: usize) {
    let store = testkit::open(url).await;
    let flush = || async {
        store
            .call(&redis::cmd("FLUSHALL"), Deadline::after(Duration::from_secs(30)))
            .await
            .unwrap();
    };
    let clock = Arc::new(SystemClock::new());
    let jobs =
        Jobs::new(store.clone(), clock, "bridge", Layout::Plain, Options::default()).unwrap();
    for repetition in 1..=3 {
        flush().await;
        let start = Instant::now();
        for n in 0..scale / 10 {
            jobs.dispatch(NewJob::new("noop", &json!({"n": n}))).await.unwrap();
        }
        let singly = (scale / 10) as f64 / start.elapsed().as_secs_f64();
        flush().await;
        let bulk = fill(&jobs, scale).await;
        let one = work(&jobs, 1, scale).await;
        fill(&jobs, scale).await;
        let ten = work(&jobs, 10, scale).await;
        fill(&jobs, scale).await;
        let hundred = work(&jobs, 100, scale).await;
        flush().await;
        let (median, late) = pickup(&jobs).await;
        println!(
            "{name} #{repetition}: dispatch {singly:.0}/s, bulk {bulk:.0}/s; work c=1 {one:.0}/s, c=10 {ten:.0}/s, \
             c=100 {hundred:.0}/s; idle pickup p50 {median:?}, p99 {late:?}"
        );
    }
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let given: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let scale = std::env::var("SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    runtime.block_on(async {
        for url in &given {
            measure(url, url, scale).await;
        }
        if given.is_empty() {
            measure("embedded", "memory", scale).await;
            let server = Server::start(Program::Redis);
            measure("redis", &server.url(), scale).await;
        }
    });
}
