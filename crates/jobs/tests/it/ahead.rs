//! One slot and quick jobs: the next are claimed while one runs, and nobody may notice but by the clock.

use std::sync::Arc;
use std::time::Duration;

use jobs::worker::{Builder, Job, Worker};
use jobs::{Jobs, NewJob};
use kernel::{FakeClock, Kind, Store, reply};
use parking_lot::Mutex;
use testkit::on_every_store;
use tokio::sync::Semaphore;

use crate::hands::{Live, NS, ask, error_name, live, send, status, still, until};

const LONG: u32 = 20;
/// Jobs that wait behind the one that runs, at most.
const BEHIND: usize = 3;

/// What ran, in order; the job `LONG` waits at the gate, or holds the thread for so long on that clock.
#[derive(Clone)]
struct Line {
    ran: Arc<Mutex<Vec<u32>>>,
    gate: Arc<Semaphore>,
    holds: Option<(FakeClock, Duration)>,
}

impl Line {
    fn new() -> Line {
        Line { ran: Arc::default(), gate: Arc::new(Semaphore::new(0)), holds: None }
    }

    fn worker(&self, jobs: &Jobs, id: &str) -> Builder {
        let line = self.clone();
        Worker::builder(jobs).server_id(id).handle("do", move |job: Job<u32>, cx| {
            let (line, n) = (line.clone(), job.payload);
            async move {
                line.ran.lock().push(n);
                if n == LONG
                    && let Some((clock, time)) = &line.holds
                {
                    clock.advance(*time);
                } else if n == LONG {
                    tokio::select! {
                        gate = line.gate.acquire() => gate.unwrap().forget(),
                        _ = cx.cancelled() => {}
                    }
                }
                Ok(())
            }
        })
    }

    fn ran(&self) -> Vec<u32> {
        self.ran.lock().clone()
    }
}

struct HeldUp {
    jobs: Jobs,
    clock: FakeClock,
    line: Line,
    worker: Live,
    long: String,
    behind: Vec<String>,
}

/// `LONG` quick jobs, the long one and six behind it; the long one runs, and a store at the end of a wire has given
/// some of those behind it.
async fn held_up(store: &Arc<dyn Store>) -> HeldUp {
    let (jobs, clock) = still(store);
    let mut ids = Vec::new();
    for n in 0..LONG + 7 {
        ids.push(send(&jobs, NewJob::new("do", &n)).await);
    }
    let line = Line::new();
    let worker = Live::start(line.worker(&jobs, "w1")).await;
    until("the long job", || async { line.ran().last() == Some(&LONG) }).await;
    let held = if store.status().kind == Kind::Embedded { 0 } else { BEHIND };
    until("those behind it", || async { jobs.stats().await.unwrap().active == 1 + held as u64 })
        .await;
    let behind = ids.split_off(LONG as usize + 1);
    let long = ids.pop().unwrap();
    HeldUp { jobs, clock, line, worker, long, behind }
}

async fn waiting(store: &dyn Store) -> Vec<String> {
    let list = ask(store, &["LRANGE", &format!("{NS}:jobs:waiting"), "0", "-1"]).await;
    let ids = reply::list(&list).unwrap().iter();
    ids.map(|id| reply::text(id).unwrap().to_owned()).collect()
}

on_every_store!(jobs_of_one_slot_run_in_their_order, |store| {
    let jobs = live(&store);
    let many = (100..500_u32).map(|n| NewJob::new("do", &n)).collect();
    jobs.dispatch_many(many).await.unwrap();
    let line = Line::new();
    let worker = Live::start(line.worker(&jobs, "w1")).await;
    until("all ran", || async { jobs.stats().await.unwrap().waiting == 0 }).await;
    worker.stop().await;
    assert_eq!(line.ran(), (100..500).collect::<Vec<_>>());
    let stats = jobs.stats().await.unwrap();
    assert_eq!((stats.active, stats.waiting), (0, 0));
});

on_every_store!(those_behind_a_long_job_go_back_in_their_order, |store| {
    let HeldUp { jobs, clock, line, worker, behind, .. } = held_up(&store).await;
    clock.advance(Duration::from_millis(2));
    until("they are back", || async { waiting(&*store).await.len() == behind.len() }).await;
    assert_eq!(waiting(&*store).await, behind);
    assert_eq!(jobs.stats().await.unwrap().active, 1);
    let other = Live::start(line.worker(&jobs, "w2")).await;
    until("another ran them", || async { status(&jobs, &behind[5]).await == "completed" }).await;
    line.gate.add_permits(1);
    until("the long job's end", || async { jobs.stats().await.unwrap().active == 0 }).await;
    assert_eq!(line.ran(), (0..LONG + 7).collect::<Vec<_>>(), "each once");
    worker.stop().await;
    other.stop().await;
});

on_every_store!(a_job_that_is_cancelled_while_it_waits_for_its_turn_never_runs, |store| {
    let HeldUp { jobs, line, worker, long, behind, .. } = held_up(&store).await;
    jobs.cancel(&behind[1]).await.unwrap();
    // Heard after the first.
    jobs.cancel(&long).await.unwrap();
    until("the last", || async { status(&jobs, &behind[5]).await == "completed" }).await;
    worker.stop().await;
    assert!(!line.ran().contains(&(LONG + 2)), "{:?}", line.ran());
    assert_eq!(status(&jobs, &behind[1]).await, "failed");
    assert_eq!(error_name(&jobs, &behind[1]).await, "JobCancelled");
    assert_eq!(jobs.stats().await.unwrap().active, 0);
});

on_every_store!(a_worker_that_ends_leaves_nobody_behind, |store| {
    let HeldUp { jobs, line, worker, behind, .. } = held_up(&store).await;
    worker.stopper.stop();
    line.gate.add_permits(1);
    worker.ended().await;
    let stats = jobs.stats().await.unwrap();
    assert_eq!(stats.active, 0);
    let ran = line.ran().len() - LONG as usize - 1;
    assert!(ran <= BEHIND, "it claimed while it ended");
    assert_eq!(waiting(&*store).await, behind[ran..]);
});

on_every_store!(a_worker_that_dies_loses_none_of_those_it_held, |store| {
    let HeldUp { jobs, clock, line, worker, long, behind } = held_up(&store).await;
    worker.dies().await;
    let held = 1 + 6 - waiting(&*store).await.len();
    for id in std::iter::once(&long).chain(&behind) {
        ask(&*store, &["DEL", &format!("{NS}:jobs:lock:{id}")]).await;
    }
    clock.advance(Duration::from_secs(30));
    assert_eq!(jobs.reclaim().await.unwrap().len(), held);
    assert_eq!(waiting(&*store).await.len(), 1 + behind.len());
    line.gate.add_permits(1);
    let other = Live::start(line.worker(&jobs, "w2")).await;
    until("all ran", || async { line.ran().len() == LONG as usize + 8 }).await;
    other.stop().await;
    let mut ran = line.ran().split_off(LONG as usize);
    ran.sort_unstable();
    assert_eq!(ran, [LONG, LONG, 21, 22, 23, 24, 25, 26], "only what had begun began again");
});

on_every_store!(who_lost_a_lease_while_the_job_waited_for_its_turn_leaves_it_alone, |store| {
    let HeldUp { jobs, clock, line, worker, behind, .. } = held_up(&store).await;
    let held = waiting(&*store).await.len() < behind.len();
    let lock = format!("{NS}:jobs:lock:{}", behind[0]);
    ask(&*store, &["SET", &lock, "another"]).await;
    clock.advance(Duration::from_millis(2));
    let back = &behind[usize::from(held)..];
    until("the others are back", || async { waiting(&*store).await == back }).await;
    assert_eq!(status(&jobs, &behind[0]).await, if held { "active" } else { "waiting" });
    assert_eq!(reply::text(&ask(&*store, &["GET", &lock]).await), Some("another"));
    line.gate.add_permits(1);
    worker.stop().await;
    assert!(!line.ran().contains(&(LONG + 1)), "it is another's");
});

on_every_store!(one_that_holds_the_thread_gives_those_behind_it_back_when_it_ends, |store| {
    let (jobs, clock) = still(&store);
    for n in 0..LONG + 7 {
        send(&jobs, NewJob::new("do", &n)).await;
    }
    let line = Line { holds: Some((clock, Duration::from_millis(2))), ..Line::new() };
    let worker = Live::start(line.worker(&jobs, "w1")).await;
    until("all ran", || async { line.ran().len() == LONG as usize + 7 }).await;
    worker.stop().await;
    assert_eq!(line.ran(), (0..LONG + 7).collect::<Vec<_>>(), "in their order, each once");
    let told = ask(&*store, &["XRANGE", &format!("{NS}:events:stream"), "-", "+"]).await;
    let claims = format!("{told:?}").matches("claimed").count();
    let again = if store.status().kind == Kind::Embedded { 0 } else { BEHIND };
    assert_eq!(claims, LONG as usize + 7 + again, "those behind it were claimed twice");
});

on_every_store!(who_does_not_claim_ahead_holds_one_job, |store| {
    let (jobs, _clock) = still(&store);
    for n in 0..LONG + 7 {
        send(&jobs, NewJob::new("do", &n)).await;
    }
    let line = Line::new();
    let worker = Live::start(line.worker(&jobs, "w1").claim_ahead(false)).await;
    until("the long job", || async { line.ran().last() == Some(&LONG) }).await;
    let stats = jobs.stats().await.unwrap();
    assert_eq!((stats.active, stats.waiting), (1, 6));
    line.gate.add_permits(1);
    until("all ran", || async { line.ran().len() == LONG as usize + 7 }).await;
    worker.stop().await;
});
