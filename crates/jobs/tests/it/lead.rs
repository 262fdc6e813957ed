//! Schedulers in real time: nothing is late while one lives, and a dead leader is followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jobs::metrics::Metrics;
use jobs::{NewJob, Scheduler};
use kernel::{Value, reply};
use testkit::on_every_address;

use crate::hands::{NS, ask, int, live, until, until_in};
use crate::torture::{long, many, runtime};

/// Two schedulers in real time, one of them frozen again and again: nothing is late when one is alive.
#[test]
fn delayed_jobs_are_on_time_while_a_scheduler_lives() {
    on_every_address("delayed_jobs_are_on_time_while_a_scheduler_lives", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            let metrics = Arc::new(Metrics::default());
            let stop = Arc::new(tokio::sync::Notify::new());
            let mut tasks = Vec::new();
            for _ in 0..2 {
                let (one, stop) = (Scheduler::new(&jobs, metrics.clone()), stop.clone());
                tasks.push(tokio::spawn(async move { one.run_until(stop.notified()).await }));
            }
            // Their ids say when they are due, and the events when they were moved.
            let count = many(200, 4_000);
            let start = jobs.now_ms() + 200;
            let lot = (0..count).map(|n| {
                let due = start + (n as u64 * 7) % if long() { 10_000 } else { 1_500 };
                let job = NewJob::new("work", &n).id(format!("{n}-{due}"));
                job.run_at(i64::try_from(due).unwrap())
            });
            for chunk in lot.collect::<Vec<_>>().chunks(500) {
                jobs.dispatch_many(chunk.to_vec()).await.unwrap();
            }
            until("all wait", || async { jobs.stats().await.unwrap().waiting == count as u64 })
                .await;
            let told = ask(&*store, &["XRANGE", &format!("{NS}:events:stream"), "-", "+"]).await;
            let mut late: Vec<u64> =
                reply::list(&told).unwrap().iter().filter_map(lateness).collect();
            late.sort_unstable();
            assert_eq!(late.len(), count, "each was moved once");
            let (p99, most) = (late[late.len() * 99 / 100], late[late.len() - 1]);
            println!(
                "{count} delayed jobs moved once each, late p99 {p99} ms, at most {most} ms: PASS"
            );
            assert!(p99 <= 1_500, "{p99} ms");
            stop.notify_waiters();
            for task in tasks {
                tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
            }
        });
    });
}

/// How late a move was, of the event that tells it.
fn lateness(entry: &Value) -> Option<u64> {
    let fields = reply::pairs(reply::list(entry)?.get(1)?)?;
    let field = |name: &str| {
        fields
            .iter()
            .find(|(key, _)| reply::text(key) == Some(name))
            .and_then(|(_, v)| reply::text(v))
    };
    let due = field("id")?.split_once('-')?.1.parse::<u64>().ok()?;
    (field("type")? == "promoted").then_some(())?;
    Some(field("at")?.parse::<u64>().ok()?.saturating_sub(due))
}

/// In the short form most of the dead leader's time is over when it dies.
#[test]
fn a_dead_leader_is_followed_when_its_lock_runs_out() {
    on_every_address("a_dead_leader_is_followed_when_its_lock_runs_out", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            let mut first = Scheduler::new(&jobs, Arc::default());
            first.round().await;
            // It dies: nothing is given back.
            drop(first);
            let died = Instant::now();
            if !long() {
                let lock = format!("{NS}:scheduler:lock");
                assert_eq!(int(&*store, &["PEXPIRE", &lock, "300"]).await, 1);
            }
            let metrics = Arc::new(Metrics::default());
            let next = Scheduler::new(&jobs, metrics.clone());
            let task = tokio::spawn(next.run_until(std::future::pending()));
            let most = Duration::from_secs(if long() { 35 } else { 5 });
            until_in(most, "another leads", || {
                let metrics = metrics.clone();
                async move { metrics.leader.load(Ordering::Relaxed) }
            })
            .await;
            println!("followed {:?} after it died: PASS", died.elapsed());
            task.abort();
        });
    });
}
