//! Limits and pauses while workers crash: never one too many, and the counters are right in the end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jobs::worker::{Job, Worker};
use jobs::{Jobs, NewJob};
use serde_json::Value as Json;
use testkit::{Cluster, On, on_every_address};

use crate::hands::{NS, int, live, until, until_in};
use crate::torture::{left, long, many, runtime};

/// How many run now and at most, by type. What a crash drops is counted down too.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct Running(Arc<Gauge>);

impl Running {
    fn start(gauge: &Arc<Gauge>) -> Running {
        let now = gauge.now.fetch_add(1, Ordering::SeqCst) + 1;
        gauge.most.fetch_max(now, Ordering::SeqCst);
        Running(gauge.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn limits_hold_while_workers_crash() {
    on_every_address("limits_hold_while_workers_crash", limits_hold);
}

#[test]
fn limits_hold_on_a_cluster_while_workers_crash() {
    if On::Cluster.is_wanted() {
        limits_hold(&Cluster::lend().url());
    }
}

#[allow(clippy::print_stdout)] // the line of the scoreboard
fn limits_hold(url: &str) {
    // So many types, so many jobs of each; the limits go from 1 up to 50.
    let (kinds, each) = (if long() { 10 } else { 4 }, many(40, 2_000));
    let limit = |n: usize| if long() { 1 + (n - 1) * 49 / (kinds - 1) } else { n };
    let gauges: HashMap<String, Arc<Gauge>> =
        (1..=kinds).map(|n| (format!("limited-{n}"), Arc::default())).collect();
    let main = runtime();
    let (store, jobs) = main.block_on(async {
        let store = testkit::open(url).await;
        let jobs = live(&store);
        for n in 1..=kinds {
            let most = u64::try_from(limit(n)).unwrap();
            let job = |at| NewJob::new(format!("limited-{n}"), &at).max_concurrent(most);
            let lot = (0..each).map(job).collect();
            jobs.dispatch_many(lot).await.unwrap();
        }
        (store, jobs)
    });
    // A worker in a runtime of its own: dropping that is a crash, nothing is handed back.
    let start = |id: String| {
        let runtime = runtime();
        let gauges = gauges.clone();
        let url = url.to_owned();
        runtime.spawn(async move {
            let store = testkit::open(&url).await;
            let jobs = live(&store);
            let mut builder =
                Worker::builder(&jobs).server_id(id).concurrency(if long() { 64 } else { 8 });
            for (kind, gauge) in gauges {
                builder = builder.handle(kind, move |_: Job<Json>, _| {
                    let gauge = gauge.clone();
                    async move {
                        let _running = Running::start(&gauge);
                        tokio::time::sleep(Duration::from_millis(15)).await;
                        Ok(())
                    }
                });
            }
            builder.build().await.unwrap().run().await.unwrap();
        });
        runtime
    };
    let steady = start("steady".to_owned());
    let crashes = many(2, 100);
    for crash in 0..crashes {
        let doomed = start(format!("doomed-{crash}"));
        std::thread::sleep(Duration::from_millis(250));
        doomed.shutdown_background();
    }
    main.block_on(async {
            let jobs = &jobs;
            let time = Duration::from_secs(if long() { 300 } else { 15 });
            until_in(time, "all are done", || async move { left(jobs).await == 0 }).await;
            let mut reached = Vec::new();
            for n in 1..=kinds {
                let kind = format!("limited-{n}");
                let most = gauges[&kind].most.load(Ordering::SeqCst);
                assert!(most <= limit(n), "{kind}: {most} at once");
                reached.push(format!("{most}/{}", limit(n)));
                let key = format!("{NS}:ratelimit:concurrent:{kind}");
                assert_eq!(int(&*store, &["GET", &key]).await, 0, "{kind}");
            }
            println!(
                "{crashes} crashes, {each} jobs of each type, most at once of what is allowed: {}; counters 0: PASS",
                reached.join(" ")
            );
            pause_is_quick(jobs, &gauges["limited-1"]).await;
        });
    steady.shutdown_background();
}

async fn pause_is_quick(jobs: &Jobs, gauge: &Arc<Gauge>) {
    jobs.pause("limited-1", None).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    gauge.most.store(0, Ordering::SeqCst);
    jobs.dispatch(NewJob::new("limited-1", &1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(gauge.most.load(Ordering::SeqCst), 0, "a paused type does not start");
    jobs.resume("limited-1").await.unwrap();
    until("it goes on", || async { gauge.most.load(Ordering::SeqCst) == 1 }).await;
}
