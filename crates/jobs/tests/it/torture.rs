//! Workers that are killed, frozen and cut off, servers that restart, limits under fire. Short here; with
//! `WORLDKEEP_TORTURE=1` a hundred times as much.

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jobs::metrics::Metrics;
use jobs::worker::{Builder, Job, JobCx, JobError, Worker};
use jobs::{Asked, Jobs, NewJob, Scheduler};
use kernel::{Deadline, Store};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use testkit::on_every_address;

use crate::hands::{Live, NS, ask, int, live, text, until};

const CHILD: &str = "WORLDKEEP_JOBS_CHILD";

pub(crate) fn long() -> bool {
    std::env::var_os("WORLDKEEP_TORTURE").is_some()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A worker whose handler notes each start, takes a moment, and has its effect once.
pub(crate) fn noting(
    jobs: &Jobs,
    store: &Arc<dyn Store>,
    id: &str,
    slots: usize,
    ms: u64,
) -> Builder {
    let store = store.clone();
    Worker::builder(jobs).server_id(id).concurrency(slots).handle(
        "work",
        move |job: Job<Json>, cx: JobCx| {
            let store = store.clone();
            async move {
                let by = || Deadline::after(Duration::from_secs(5));
                store.call(redis::cmd("INCR").arg("runs"), by()).await?;
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                    why = cx.cancelled() => return Err(JobError::retry("Told", format!("{why:?}"))),
                }
                // The key by which an effect is done once: the job's id.
                store.call(redis::cmd("SADD").arg("effects").arg(&job.id), by()).await?;
                Ok(())
            }
        },
    )
}

/// Not a test: the program of the worker processes, which the tests below start from this very binary.
#[test]
fn worker_process() {
    let Ok(setup) = std::env::var(CHILD) else { return };
    let parts: Vec<&str> = setup.split(' ').collect();
    let [url, id, slots, ms] = parts[..] else { panic!("{setup}") };
    runtime().block_on(async {
        let store = testkit::open(url).await;
        let jobs = live(&store);
        let builder = noting(&jobs, &store, id, slots.parse().unwrap(), ms.parse().unwrap());
        let worker = builder.build().await.unwrap();
        let metrics = worker.metrics().clone();
        worker.run().await.unwrap();
        let lost = metrics.lease_lost.load(Ordering::Relaxed);
        ask(&*store, &["INCRBY", "lost", &lost.to_string()]).await;
    });
}

/// A worker in a process of its own. Dropped, it is killed.
struct Process(Child);

impl Process {
    fn start(url: &str, id: &str, slots: usize, ms: u64) -> Process {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["torture::worker_process", "--exact", "--test-threads=1"])
            .env(CHILD, format!("{url} {id} {slots} {ms}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Process(child)
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn fill(jobs: &Jobs, count: usize) {
    let all: Vec<NewJob> = (0..count).map(|n| NewJob::new("work", &n)).collect();
    for lot in all.chunks(500) {
        jobs.dispatch_many(lot.to_vec()).await.unwrap();
    }
}

pub(crate) async fn left(jobs: &Jobs) -> u64 {
    let stats = jobs.stats().await.unwrap();
    stats.waiting + stats.active + stats.delayed
}

#[test]
fn killed_workers_lose_nothing() {
    const SLOTS: usize = 8;
    let (count, kills) = if long() { (200_000, 1_000) } else { (2_000, 8) };
    on_every_address("killed_workers_lose_nothing", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            fill(&jobs, count).await;
            let scheduler = Scheduler::new(&jobs, Arc::default()).run_until(std::future::pending());
            let scheduler = tokio::spawn(scheduler);
            let mut workers: Vec<Process> =
                (0..4).map(|n| Process::start(url, &format!("w-{n}"), SLOTS, 20)).collect();
            let mut killed = 0;
            until("a worker works", || async { int(&*store, &["GET", "runs"]).await > 0 }).await;
            while killed < kills && jobs.stats().await.unwrap().waiting > 0 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let next = Process::start(url, &format!("w-{}", killed + 4), SLOTS, 20);
                let at = killed % workers.len();
                // Dropping the old one is kill -9.
                workers[at] = next;
                killed += 1;
            }
            let last_kill = Instant::now();
            let limit = Duration::from_secs(if long() { 600 } else { 60 });
            while left(&jobs).await > 0 {
                assert!(last_kill.elapsed() < limit, "{} jobs are left", left(&jobs).await);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let took = last_kill.elapsed();
            drop(workers);
            scheduler.abort();
            let (runs, effects) =
                (int(&*store, &["GET", "runs"]).await, int(&*store, &["SCARD", "effects"]).await);
            let dead = jobs.stats().await.unwrap().dead;
            let twice = usize::try_from(runs).unwrap().saturating_sub(count);
            println!(
                "killed {killed} of 4 workers with {SLOTS} slots, {count} jobs: lost 0, effects {effects}, \
                 runs twice {twice}, dead {dead}, all done {took:?} after the last kill: PASS"
            );
            assert_eq!(usize::try_from(effects).unwrap() + usize::try_from(dead).unwrap(), count);
            assert!(twice <= killed * SLOTS, "{twice} runs twice");
            assert_eq!(int(&*store, &["GET", &format!("{NS}:ratelimit:concurrent:work")]).await, 0);
            assert_eq!(int(&*store, &["ZCARD", &format!("{NS}:x:leases")]).await, 0);
        });
    });
}

#[test]
fn orphans_are_back_soon_after_their_lock_ran_out() {
    on_every_address("orphans_are_back_soon_after_their_lock_ran_out", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            fill(&jobs, 8).await;
            let worker = Process::start(url, "doomed", 8, 600_000);
            until("all are held", || async { jobs.stats().await.unwrap().active == 8 }).await;
            drop(worker);
            let killed = Instant::now();
            // No scheduler leads: another worker that knows nothing of the type takes them back.
            let other = Worker::builder(&jobs).server_id("other");
            let other = Live::start(other.handle("else", |_: Job<Json>, _| async { Ok(()) })).await;
            until("they wait again", || async { jobs.stats().await.unwrap().waiting == 8 }).await;
            let took = killed.elapsed();
            println!("8 orphans were back {took:?} after kill -9, lock time 5 s: PASS");
            assert!(took < Duration::from_secs(10), "{took:?}");
            other.stop().await;
        });
    });
}

#[test]
fn a_frozen_worker_that_wakes_up_writes_nothing() {
    on_every_address("a_frozen_worker_that_wakes_up_writes_nothing", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            fill(&jobs, 6).await;
            let frozen = Process::start(url, "frozen", 6, 1_500);
            until("all are held", || async { jobs.stats().await.unwrap().active == 6 }).await;
            frozen.signal(Signal::STOP);
            let other = Live::start(noting(&jobs, &store, "other", 6, 10)).await;
            until("the other has done them", || async { left(&jobs).await == 0 }).await;
            let results = |store: Arc<dyn Store>| async move {
                let found = ask(&*store, &["KEYS", &format!("{NS}:jobs:result:*")]).await;
                let mut all = Vec::new();
                for key in kernel::reply::list(&found).unwrap() {
                    let key = kernel::reply::text(key).unwrap();
                    all.push((key.to_owned(), text(&*store, &["GET", key]).await));
                }
                all.sort();
                all
            };
            let before = results(store.clone()).await;
            frozen.signal(Signal::CONT);
            jobs.ask_worker("frozen", Asked::Stop).await.unwrap();
            until("it has ended", || async { int(&*store, &["GET", "lost"]).await > 0 }).await;
            assert_eq!(
                int(&*store, &["GET", "lost"]).await,
                6,
                "each late result was refused and counted"
            );
            assert_eq!(before, results(store.clone()).await, "no result was touched");
            assert_eq!(int(&*store, &["SCARD", "effects"]).await, 6);
            other.stop().await;
        });
    });
}

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
    on_every_address("limits_hold_while_workers_crash", |url| {
        let kinds = if long() { 10 } else { 4 };
        let gauges: HashMap<String, Arc<Gauge>> =
            (1..=kinds).map(|n| (format!("limited-{n}"), Arc::default())).collect();
        let main = runtime();
        let (store, jobs) = main.block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            for n in 1..=kinds {
                let job = |at: usize| NewJob::new(format!("limited-{n}"), &at).max_concurrent(n);
                let lot = (0..if long() { 2_000 } else { 40 }).map(job).collect();
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
                let mut builder = Worker::builder(&jobs).server_id(id).concurrency(8);
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
        for crash in 0..if long() { 100 } else { 2 } {
            let doomed = start(format!("doomed-{crash}"));
            std::thread::sleep(Duration::from_millis(250));
            doomed.shutdown_background();
        }
        main.block_on(async {
            let jobs = &jobs;
            until("all are done", || async move { left(jobs).await == 0 }).await;
            for n in 1..=kinds {
                let kind = format!("limited-{n}");
                let most = gauges[&kind].most.load(Ordering::SeqCst);
                assert!(most <= usize::try_from(n).unwrap(), "{kind}: {most} at once");
                let key = format!("{NS}:ratelimit:concurrent:{kind}");
                assert_eq!(int(&*store, &["GET", &key]).await, 0, "{kind}");
            }
            pause_is_quick(jobs, &gauges["limited-1"]).await;
        });
        steady.shutdown_background();
    });
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
            let many = if long() { 10_000 } else { 200 };
            let lot =
                (0..many).map(|n| NewJob::new("work", &n).delay(Duration::from_millis(n % 1_500)));
            for chunk in lot.collect::<Vec<_>>().chunks(500) {
                jobs.dispatch_many(chunk.to_vec()).await.unwrap();
            }
            until("all wait", || async { jobs.stats().await.unwrap().waiting == many }).await;
            let lag = metrics.scheduler_lag.counted();
            let within =
                lag.cumulative[jobs::metrics::BOUNDS.partition_point(|bound| *bound < 1_500_000)];
            assert_eq!(within, lag.count, "lateness: {lag:?}");
            stop.notify_waiters();
            for task in tasks {
                tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
            }
        });
    });
}
