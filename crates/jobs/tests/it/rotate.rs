//! Nobody waits for ever behind jobs that nobody may run: they go to the tail.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jobs::metrics::Metrics;
use jobs::{Jobs, NewJob, Options, Registration, Scheduler, Sightings, Target, WorkerFacts};
use kernel::keyspace::Layout;
use kernel::{Cmd, Deadline, Store, reply};
use testkit::{on_cluster, on_every_store};

use crate::fair::fill;
use crate::support::{NOW, bed_with, job, worker};

fn rotating() -> Options {
    Options { rotate_unclaimable_s: 30, ..Options::default() }
}

async fn register(jobs: &Jobs, facts: &WorkerFacts) {
    jobs.register(facts, &Registration::default()).await.unwrap();
}

async fn unroutable(jobs: &Jobs, count: usize) {
    let target = || Target::any().capability("gpu");
    let all: Vec<NewJob> =
        (0..count).map(|n| job("t", &format!("u{n}")).target(target())).collect();
    for part in all.chunks(500) {
        for one in jobs.dispatch_many(part.to_vec()).await.unwrap() {
            one.unwrap();
        }
    }
}

on_every_store!(jobs_that_nobody_may_run_go_to_the_tail_after_their_time, |store| {
    let bed = bed_with(store, Options { scan_limit: 100, ..rotating() });
    let facts = worker("w1").types(["t"]);
    register(&bed.jobs, &facts).await;
    unroutable(&bed.jobs, 250).await;
    bed.put(job("t", "mine")).await;
    assert_eq!(bed.claimed_id(&worker("w1").types(["t"])).await, "-", "a claim looks at 100 heads");
    let mut leader = Scheduler::new(&bed.jobs, Arc::new(Metrics::default()));
    leader.round().await;
    bed.pass(29_000);
    bed.jobs.heartbeat(&facts, None).await.unwrap();
    leader.round().await;
    assert_eq!(leader.metrics().rotated.load(Ordering::Relaxed), 0, "not for long yet");
    bed.pass(6_000);
    assert_eq!(bed.claimed_id(&facts).await, "-", "and it remembers how far it got");
    leader.round().await;
    assert_eq!(leader.metrics().rotated.load(Ordering::Relaxed), 250);
    assert_eq!(bed.claimed_id(&facts).await, "mine", "at the first look");
    let left = bed.line("LRANGE bridge:jobs:waiting 0 -1").await;
    let wanted: Vec<String> = (0..250).map(|n| format!("u{n}")).collect();
    assert_eq!(left, format!("[{}]", wanted.join(" ")), "in their order, none lost");
    let told = bed.events().await;
    assert!(told.contains("rotated u0, rotated u100, rotated u200, claimed mine"), "{told}");
    // All that waits is for nobody: moving it would change nothing.
    bed.pass(10_000);
    bed.jobs.heartbeat(&facts, None).await.unwrap();
    leader.round().await;
    assert_eq!(leader.metrics().rotated.load(Ordering::Relaxed), 250);
});

on_every_store!(nothing_rotates_when_it_is_off_or_a_worker_comes_or_none_is_alive, |store| {
    let bed = bed_with(store.clone(), Options::default());
    let facts = worker("w1").types(["t"]);
    register(&bed.jobs, &facts).await;
    unroutable(&bed.jobs, 3).await;
    bed.put(job("t", "mine")).await;
    let seen = Sightings::default();
    let order = || bed.line("LRANGE bridge:jobs:waiting 0 -1");
    for _ in 0..3 {
        assert_eq!(bed.jobs.rotate(&seen).await.unwrap(), 0);
        bed.pass(20_000);
        bed.jobs.heartbeat(&facts, None).await.unwrap();
    }
    let on = bed_with(store, rotating());
    let seen = Sightings::default();
    assert_eq!(on.jobs.rotate(&seen).await.unwrap(), 0);
    // One that may run them comes in time and goes again: their wait begins anew.
    let gpu = worker("w2").capabilities(["gpu"]);
    register(&on.jobs, &gpu).await;
    on.pass(31_000);
    on.jobs.heartbeat(&facts, None).await.unwrap();
    on.jobs.heartbeat(&gpu, None).await.unwrap();
    assert_eq!(on.jobs.rotate(&seen).await.unwrap(), 0);
    on.jobs.unregister(&gpu, &Registration::default()).await.unwrap();
    assert_eq!(on.jobs.rotate(&seen).await.unwrap(), 0);
    on.pass(29_000);
    on.jobs.heartbeat(&facts, None).await.unwrap();
    assert_eq!(on.jobs.rotate(&seen).await.unwrap(), 0);
    // Nobody is alive: nobody is hindered.
    on.jobs.unregister(&facts, &Registration::default()).await.unwrap();
    on.pass(60_000);
    assert_eq!(on.jobs.rotate(&seen).await.unwrap(), 0);
    assert_eq!(order().await, "[u0 u1 u2 mine]");
});

on_every_store!(leaders_that_race_or_die_in_between_lose_nothing, |store| {
    let bed = bed_with(store, rotating());
    let facts = worker("w1").types(["t"]);
    register(&bed.jobs, &facts).await;
    unroutable(&bed.jobs, 150).await;
    for n in 0..150 {
        bed.put(job("t", &format!("m{n}"))).await;
    }
    let leaders: Vec<Sightings> = (0..3).map(|_| Sightings::default()).collect();
    for seen in &leaders {
        bed.jobs.rotate(seen).await.unwrap();
    }
    bed.pass(31_000);
    bed.jobs.heartbeat(&facts, None).await.unwrap();
    let claims = async {
        let mut got = Vec::new();
        while got.len() < 30 {
            let jobs = bed.jobs.claim(&facts, 3).await.unwrap().jobs;
            got.extend(jobs.into_iter().map(|one| one.job.id));
        }
        got
    };
    // The third is dropped in the middle of what it does.
    let cut = async {
        tokio::select! {
            biased;
            moved = bed.jobs.rotate(&leaders[2]) => drop(moved),
            () = tokio::task::yield_now() => {}
        }
    };
    let (one, two, got, ()) =
        tokio::join!(bed.jobs.rotate(&leaders[0]), bed.jobs.rotate(&leaders[1]), claims, cut);
    assert!(one.unwrap() + two.unwrap() <= 150, "none is moved twice");
    let wanted: Vec<String> = (0..30).map(|n| format!("m{n}")).collect();
    assert_eq!(got, wanted, "the others ran in their order");
    // Whoever leads next goes on where the others stopped.
    bed.jobs.rotate(&leaders[0]).await.unwrap();
    let left = bed.line("LRANGE bridge:jobs:waiting 0 -1").await;
    let mine = (30..150).map(|n| format!("m{n}"));
    let wanted: Vec<String> = mine.chain((0..150).map(|n| format!("u{n}"))).collect();
    assert_eq!(left, format!("[{}]", wanted.join(" ")), "none lost, none twice, all in order");
});

async fn ask(store: &dyn Store, words: &[&str]) -> kernel::Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    let by = Deadline::after(Duration::from_secs(10));
    testkit::call_as_default(store, &cmd, by).await.unwrap()
}

on_cluster!(guard_and_rotation_keep_to_one_slot, |store, _cluster| {
    let clock = kernel::FakeClock::at(NOW);
    let options = Options { starvation_guard: 2, ..rotating() };
    let here = Arc::new(clock.clone());
    let jobs = Jobs::new(store.clone(), here, "bridge", Layout::Tagged, options).unwrap();
    let facts = worker("w1").types(["t"]);
    register(&jobs, &facts).await;
    unroutable(&jobs, 120).await;
    jobs.dispatch(job("t", "mine")).await.unwrap();
    let seen = Sightings::default();
    jobs.rotate(&seen).await.unwrap();
    clock.advance(Duration::from_secs(31));
    jobs.heartbeat(&facts, None).await.unwrap();
    assert_eq!(jobs.rotate(&seen).await.unwrap(), 120);
    let head = ask(&*store, &["LINDEX", "{bridge}:jobs:waiting", "0"]).await;
    assert_eq!(reply::text(&head), Some("mine"));
    fill(&jobs, 5, 0).await;
    let mut order = Vec::new();
    for _ in 0..6 {
        let claims = jobs.claim(&facts, 1).await.unwrap();
        order.extend(claims.jobs.into_iter().map(|one| one.job.id));
    }
    assert_eq!(order.join(" "), "h0 h1 mine h2 h3 h4");
});
