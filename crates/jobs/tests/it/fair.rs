//! Nobody waits for ever behind jobs of high priority: the starvation guard.

use std::sync::Arc;
use std::time::Duration;

use jobs::worker::{Job, Worker};
use jobs::{Jobs, NewJob, Options, STARVATION_GUARD, Target, WorkerFacts};
use proptest::prelude::*;
use testkit::on_every_store;

use crate::hands::{Live, until};
use crate::support::{Bed, bed_with, job, worker};

fn guarded() -> Options {
    Options { starvation_guard: STARVATION_GUARD, ..Options::default() }
}

/// So many high ones in front, so many others behind.
pub(crate) async fn fill(jobs: &Jobs, high: usize, low: usize) {
    let new =
        |name: &str, n: usize, priority: u8| job("t", &format!("{name}{n}")).priority(priority);
    let high = (0..high).rev().map(|n| new("h", n, 9));
    let all: Vec<NewJob> = high.chain((0..low).map(|n| new("l", n, 5))).collect();
    for part in all.chunks(500) {
        for one in jobs.dispatch_many(part.to_vec()).await.unwrap() {
            one.unwrap();
        }
    }
}

async fn take(bed: &Bed, facts: &WorkerFacts, count: usize) -> String {
    let jobs = bed.jobs.claim(facts, count).await.unwrap().jobs;
    jobs.iter().map(|one| one.job.id.as_str()).collect::<Vec<_>>().join(" ")
}

on_every_store!(after_ten_high_ones_one_from_behind_them_runs, |store| {
    let bed = bed_with(store, guarded());
    fill(&bed.jobs, 25, 4).await;
    let mut order = Vec::new();
    for _ in 0..29 {
        order.push(take(&bed, &worker_once(), 1).await);
    }
    assert_eq!(order.len(), 29);
    assert!(
        order[..25].iter().all(|id| id.starts_with('h')),
        "another worker each time: {order:?}"
    );

    bed.line("FLUSHALL").await;
    fill(&bed.jobs, 25, 4).await;
    let facts = worker("w1");
    let mut order = Vec::new();
    for _ in 0..29 {
        order.push(take(&bed, &facts, 1).await);
    }
    let at = |id: &str| order.iter().position(|one| one == id).unwrap();
    assert_eq!([at("l0"), at("l1"), at("l2"), at("l3")], [10, 21, 27, 28], "{order:?}");
    let high: Vec<usize> = (0..25).map(|n| at(&format!("h{n}"))).collect();
    assert!(high.is_sorted(), "the high ones keep their order: {order:?}");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
    assert_eq!(bed.line("SCARD bridge:jobs:active").await, "29");
});

/// One that has no past.
fn worker_once() -> WorkerFacts {
    worker("w0")
}

on_every_store!(without_the_guard_high_priority_is_all_that_runs, |store| {
    let bed = bed_with(store, Options::default());
    fill(&bed.jobs, 25, 4).await;
    let facts = worker("w1");
    for _ in 0..25 {
        assert!(take(&bed, &facts, 1).await.starts_with('h'));
    }
});

on_every_store!(a_running_worker_guards_the_rest, |store| {
    let bed = bed_with(store, Options { starvation_guard: 3, ..Options::default() });
    fill(&bed.jobs, 8, 2).await;
    let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let noted = order.clone();
    let worker = Worker::builder(&bed.jobs).server_id("w1").chores(false);
    let worker = worker.handle("t", move |job: Job<serde_json::Value>, _| {
        noted.lock().push(job.id.clone());
        async { Ok(()) }
    });
    let worker = Live::start(worker).await;
    until("all ran", || async { order.lock().len() == 10 }).await;
    worker.stop().await;
    assert_eq!(order.lock().join(" "), "h0 h1 h2 l0 h3 h4 h5 l1 h6 h7");
});

on_every_store!(a_batch_owes_one_for_every_ten, |store| {
    let bed = bed_with(store, guarded());
    fill(&bed.jobs, 80, 9).await;
    let facts = worker("w1");
    assert_eq!(take(&bed, &facts, 34).await.matches('h').count(), 34);
    assert_eq!(take(&bed, &facts, 5).await, "l0 l1 l2 h34 h35");
    assert_eq!(take(&bed, &facts, 4).await, "h36 h37 h38 h39", "less than ten again");
    assert_eq!(take(&bed, &facts, 1).await, "l3");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "44");
    assert_eq!(bed.status("l3").await, "active");
});

on_every_store!(the_others_are_found_behind_thousands_and_only_those_for_this_worker, |store| {
    let bed = bed_with(store, Options { scan_limit: 50, ..guarded() });
    fill(&bed.jobs, 3_000, 0).await;
    let elsewhere = job("t", "gpu").target(Target::any().capability("gpu"));
    bed.put(elsewhere).await;
    bed.put(job("other", "other")).await;
    bed.put(job("t", "paused").max_concurrent(1)).await;
    bed.put(job("t", "mine")).await;
    bed.put(job("t", "late").priority(5)).await;
    let facts = worker("w1").types(["t"]);
    assert_eq!(take(&bed, &facts, 10).await.matches('h').count(), 10);
    assert_eq!(
        take(&bed, &facts, 2).await,
        "mine h10",
        "limited, unroutable and unknown ones stay"
    );
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting -4 -1").await, "[gpu other paused late]");
});

on_every_store!(promoted_high_ones_at_the_tail_hide_nobody, |store| {
    let bed = bed_with(store, guarded());
    fill(&bed.jobs, 300, 3).await;
    for n in 0..5 {
        bed.put(job("t", &format!("p{n}")).priority(8).delay(Duration::from_secs(1))).await;
    }
    bed.pass(1_000);
    assert_eq!(bed.jobs.promote(10).await.unwrap().0, 5);
    let facts = worker("w1");
    take(&bed, &facts, 20).await;
    assert_eq!(take(&bed, &facts, 3).await, "l0 l1 h20");
});

/// Whatever stands in the list and in whatever order: each job is claimed once and none is left.
fn all_are_claimed(list: &[u8], every: u32, count: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = Options { starvation_guard: every, ..Options::default() };
        let bed = bed_with(testkit::open("memory").await, options);
        let mut wanted = Vec::new();
        for (n, kind) in list.iter().enumerate() {
            let id = format!("{n}");
            if *kind < 7 {
                bed.put(job("t", &id).priority(if *kind < 4 { 9 } else { 5 })).await;
                // Not where its priority would put it.
                bed.ask(&["LREM", "bridge:jobs:waiting", "1", &id]).await;
                wanted.push(id.clone());
            }
            bed.ask(&["RPUSH", "bridge:jobs:waiting", &id]).await;
        }
        let (facts, mut got, mut since) = (worker("w1"), Vec::new(), 0);
        loop {
            let jobs = bed.jobs.claim(&facts, count).await.unwrap().jobs;
            if jobs.is_empty() {
                break;
            }
            for one in jobs {
                since = if one.job.is_high() { since + 1 } else { 0 };
                got.push(one.job.id);
            }
            let low_left = list
                .iter()
                .enumerate()
                .any(|(n, kind)| (4..7).contains(kind) && !got.contains(&n.to_string()));
            assert!(!low_left || since <= every as usize + count, "{since} high ones in a row");
        }
        got.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(got, wanted);
        assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_guarded_worker_claims_every_job_once(
        list in proptest::collection::vec(0u8..8, 0..90), every in 1u32..6, count in 1usize..9,
    ) {
        all_are_claimed(&list, every, count);
    }
}

on_every_store!(a_guard_with_nothing_behind_loses_nothing, |store| {
    let bed = bed_with(store, guarded());
    fill(&bed.jobs, 30, 0).await;
    bed.ask(&["LPUSH", "bridge:jobs:waiting", "ghost"]).await;
    bed.ask(&["RPUSH", "bridge:jobs:waiting", "ghost2"]).await;
    let facts = worker("w1");
    let mut got = Vec::new();
    for _ in 0..31 {
        got.push(take(&bed, &facts, 1).await);
    }
    let wanted: Vec<String> = (0..30).map(|n| format!("h{n}")).chain([String::new()]).collect();
    assert_eq!(got, wanted);
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0", "ghosts are dropped as ever");
});
