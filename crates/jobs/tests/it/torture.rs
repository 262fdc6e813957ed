//! Workers that are killed and frozen. Short here; with `WORLDKEEP_TORTURE=1` as much as the scoreboard of the project
//! asks for, and with a fraction, such as `0.05`, that share of it.

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jobs::worker::{Builder, Job, JobCx, JobError, Worker};
use jobs::{Asked, Jobs, NewJob, Options, Scheduler};
use kernel::events::{Filter, Record, StreamEvent};
use kernel::{Deadline, Store, SystemClock};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use testkit::on_every_address;

use crate::hands::{Live, NS, ask, int, live, options, queue_with, text, until};

const CHILD: &str = "WORLDKEEP_JOBS_CHILD";

/// Whether the long form is asked for.
pub(crate) fn long() -> bool {
    std::env::var_os("WORLDKEEP_TORTURE").is_some()
}

/// The short number, or the asked share of the long one.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small numbers
pub(crate) fn many(short: usize, most: usize) -> usize {
    let Some(share) = std::env::var_os("WORLDKEEP_TORTURE") else { return short };
    let share: f64 = share.to_str().and_then(|share| share.parse().ok()).unwrap_or(1.0);
    ((most as f64 * share.clamp(0.0, 1.0)) as usize).max(short)
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
    let [url, id, slots, ms, recoveries] = parts[..] else { panic!("{setup}") };
    runtime().block_on(async {
        let store = testkit::open(url).await;
        let options = Options { max_recoveries: recoveries.parse().unwrap(), ..options() };
        let jobs = queue_with(&store, Arc::new(SystemClock::new()), options);
        let builder = noting(&jobs, &store, id, slots.parse().unwrap(), ms.parse().unwrap());
        // A job that ends its process, as one does that eats all memory.
        let builder = builder.handle("poison", |_: Job<Json>, _| async {
            std::process::abort();
            #[allow(unreachable_code)]
            Ok(())
        });
        let worker = builder.build().await.unwrap();
        let metrics = worker.metrics().clone();
        worker.run().await.unwrap();
        let lost = metrics.lease_lost.load(Ordering::Relaxed);
        ask(&*store, &["INCRBY", "lost", &lost.to_string()]).await;
    });
}

/// A worker in a process of its own. Dropped, it is killed.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(url: &str, id: &str, slots: usize, ms: u64) -> Process {
        Process::start_with(url, id, slots, ms, options().max_recoveries)
    }

    /// The same with another number of recoveries.
    pub(crate) fn start_with(url: &str, id: &str, slots: usize, ms: u64, most: u32) -> Process {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["torture::worker_process", "--exact", "--test-threads=1"])
            .env(CHILD, format!("{url} {id} {slots} {ms} {most}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Process(child)
    }

    /// Whether it ended by itself.
    pub(crate) fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    pub(crate) fn signal(&self, signal: Signal) {
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

/// How long jobs of killed workers were away: from the kill to their return into the list, by the events.
#[derive(Default)]
struct Orphans {
    /// Unix ms at which each worker was killed.
    killed: Mutex<HashMap<String, u64>>,
    /// How many came back, and the longest that one was away.
    back: AtomicU64,
    longest_ms: AtomicU64,
}

impl Orphans {
    async fn watch(self: Arc<Self>, jobs: Jobs) {
        let types = vec!["claimed".to_owned(), "recovered".to_owned()];
        let mut events = jobs.events(Filter { types, ..Filter::default() });
        let mut owners: HashMap<String, String> = HashMap::new();
        loop {
            let Ok(records) = events.next(Duration::from_secs(1)).await else { continue };
            for record in records {
                let Record::Event(StreamEvent { envelope: event, .. }) = record else { continue };
                let body: Json = serde_json::from_str(event.body.get()).unwrap_or_default();
                if let Some(worker) = body["worker"].as_str() {
                    owners.insert(event.id, worker.to_owned());
                } else if let Some(worker) = owners.get(&event.id)
                    && let Some(killed) = self.killed.lock().get(worker)
                {
                    self.back.fetch_add(1, Ordering::Relaxed);
                    self.longest_ms.fetch_max(event.at.saturating_sub(*killed), Ordering::Relaxed);
                }
            }
        }
    }
}

#[test]
fn killed_workers_lose_nothing() {
    const SLOTS: usize = 8;
    let (count, team) = (many(2_000, 1_000_000), if long() { 32 } else { 4 });
    let kills = if long() { usize::MAX } else { 8 };
    on_every_address("killed_workers_lose_nothing", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let jobs = live(&store);
            fill(&jobs, count).await;
            let scheduler = Scheduler::new(&jobs, Arc::default()).run_until(std::future::pending());
            let scheduler = tokio::spawn(scheduler);
            let orphans = Arc::new(Orphans::default());
            let watching = tokio::spawn(orphans.clone().watch(jobs.clone()));
            let mut workers: Vec<Process> =
                (0..team).map(|n| Process::start(url, &format!("w-{n}"), SLOTS, 20)).collect();
            let mut killed = 0;
            until("a worker works", || async { int(&*store, &["GET", "runs"]).await > 0 }).await;
            while killed < kills && jobs.stats().await.unwrap().waiting > 0 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let next = Process::start(url, &format!("w-{}", killed + team), SLOTS, 20);
                let at = killed % workers.len();
                let old = format!("w-{}", if killed < team { at } else { killed });
                orphans.killed.lock().insert(old, jobs.now_ms());
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
            watching.abort();
            let back = orphans.back.load(Ordering::Relaxed);
            let longest = orphans.longest_ms.load(Ordering::Relaxed);
            let (runs, effects) =
                (int(&*store, &["GET", "runs"]).await, int(&*store, &["SCARD", "effects"]).await);
            let dead = jobs.stats().await.unwrap().dead;
            let twice = usize::try_from(runs).unwrap().saturating_sub(count);
            println!(
                "killed {killed}, {team} workers with {SLOTS} slots, {count} jobs: lost 0, effects {effects}, \
                 runs twice {twice}, dead {dead}, {back} orphans back within {longest} ms, all done {took:?} \
                 after the last kill: PASS"
            );
            assert_eq!(usize::try_from(effects).unwrap() + usize::try_from(dead).unwrap(), count);
            assert!(twice <= killed * SLOTS, "{twice} runs twice");
            assert!(back > 0 && longest <= 10_000, "{back} back within {longest} ms, lock time 5 s");
            assert_eq!(int(&*store, &["GET", &format!("{NS}:ratelimit:concurrent:work")]).await, 0);
            assert_eq!(int(&*store, &["HLEN", &format!("{NS}:x:claimed")]).await, 0);
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
            let late = many(6, 128);
            fill(&jobs, late).await;
            let frozen = Process::start(url, "frozen", late, 1_500);
            let held = u64::try_from(late).unwrap();
            until("all are held", || async { jobs.stats().await.unwrap().active == held }).await;
            frozen.signal(Signal::STOP);
            let other = Live::start(noting(&jobs, &store, "other", late, 10)).await;
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
            let lost = int(&*store, &["GET", "lost"]).await;
            let effects = int(&*store, &["SCARD", "effects"]).await;
            println!(
                "frozen with {late} jobs: {lost} late results refused, effects {effects}: PASS"
            );
            let late = i64::try_from(late).unwrap();
            assert_eq!(lost, late, "each late result was refused and counted");
            assert_eq!(before, results(store.clone()).await, "no result was touched");
            assert_eq!(effects, late);
            other.stop().await;
        });
    });
}
