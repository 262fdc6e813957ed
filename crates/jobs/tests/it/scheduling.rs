//! Schedulers: each firing and each due job exactly once, whoever leads; what dead workers held comes back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jobs::metrics::Metrics;
use jobs::worker::{Job, Worker};
use jobs::{Catchup, Jobs, NewJob, Scheduler, WorkerFacts};
use kernel::{Clock as _, Deadline};
use serde_json::Value as Json;
use testkit::{on_cluster, on_every_store};

use crate::hands::{NOW, NS, ask, error_name, int, options, queue_with, send, status, still, text};

fn scheduler(jobs: &Jobs) -> Scheduler {
    Scheduler::new(jobs, Arc::new(Metrics::default()))
}

async fn counting(jobs: &Jobs, runs: &Arc<AtomicUsize>) -> Worker {
    let runs = runs.clone();
    let builder = Worker::builder(jobs).server_id("w1").handle("do", move |_: Job<Json>, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    });
    builder.build().await.unwrap()
}

on_every_store!(a_round_sleeps_exactly_until_something_is_due, |store| {
    let (jobs, clock) = still(&store);
    let mut one = scheduler(&jobs);
    assert_eq!(one.round().await, Duration::from_secs(1), "nothing to do: a tick");
    let id = send(&jobs, NewJob::new("do", &1).delay(Duration::from_millis(250))).await;
    assert_eq!(one.round().await, Duration::from_millis(250));
    clock.advance(Duration::from_millis(249));
    assert_eq!(one.round().await, Duration::from_millis(1));
    assert_eq!(status(&jobs, &id).await, "delayed");
    clock.advance(Duration::from_millis(1));
    one.round().await;
    assert_eq!(status(&jobs, &id).await, "waiting");
    send(&jobs, NewJob::new("do", &1).cron("*/1 * * * * *", None)).await;
    assert_eq!(one.round().await, Duration::from_millis(1_000 - (NOW + 250) % 1_000));
});

on_every_store!(one_leads_and_gives_the_lead_back, |store| {
    let (jobs, clock) = still(&store);
    let (mut first, mut second) = (scheduler(&jobs), scheduler(&jobs));
    first.round().await;
    second.round().await;
    let leads = |one: &Scheduler| one.metrics().leader.load(Ordering::Relaxed);
    assert_eq!((leads(&first), leads(&second)), (true, false));
    let lock = format!("{NS}:scheduler:lock");
    assert_eq!(text(&*store, &["GET", &lock]).await.as_deref(), first.id());
    let life = int(&*store, &["TTL", &lock]).await;
    assert!((25..=30).contains(&life), "{life}");
    let shown: Json = serde_json::from_str(
        &text(&*store, &["GET", &format!("{NS}:scheduler:leader")]).await.unwrap(),
    )
    .unwrap();
    assert_eq!((shown["id"].as_str(), shown["since"].as_u64()), (first.id(), Some(NOW)));
    // It stops: the next one leads at its next try.
    first.run_until(std::future::ready(())).await;
    assert_eq!(text(&*store, &["GET", &lock]).await, None);
    clock.advance(Duration::from_secs(1));
    second.round().await;
    assert!(leads(&second));
    // Its lock was lost: it stops within one renewal.
    ask(&*store, &["SET", &lock, "somebody"]).await;
    clock.advance(Duration::from_secs(10));
    second.round().await;
    assert!(!leads(&second));
});

/// Schedulers come and go at random, sometimes two believe that they lead; firings and moves stay exact.
#[allow(clippy::print_stdout)] // the line of the scoreboard
async fn exactly_once(
    jobs: &Jobs,
    store: &dyn kernel::Store,
    clock: &kernel::FakeClock,
    seconds: u64,
) {
    let runs = Arc::new(AtomicUsize::new(0));
    let worker = counting(jobs, &runs).await;
    let definition = send(jobs, NewJob::new("do", &1).id("tick").cron("* * * * * *", None)).await;
    let mut all: Vec<Scheduler> = (0..5).map(|_| scheduler(jobs)).collect();
    let mut dice = 42u64;
    let mut throw = move |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let mut delayed = 0;
    for _ in 0..seconds {
        clock.advance(Duration::from_secs(1));
        send(jobs, NewJob::new("do", &1).delay(Duration::from_millis(throw(3_000)))).await;
        delayed += 1;
        // Whoever led may be paused now, as if its lock had run out.
        ask(store, &["DEL", &format!("{NS}:scheduler:lock")]).await;
        let first = usize::try_from(throw(5)).unwrap();
        let second = usize::try_from(throw(5)).unwrap();
        let (low, high) = (first.min(second), first.max(second));
        let (left, right) = all.split_at_mut(high);
        if low == high {
            right[0].round().await;
        } else {
            tokio::join!(left[low].round(), right[0].round());
        }
        worker.drain().await.unwrap();
    }
    clock.advance(Duration::from_secs(3));
    worker.drain().await.unwrap();
    let fired: u64 = all.iter().map(|one| one.metrics().fired.load(Ordering::Relaxed)).sum();
    assert_eq!(fired, seconds, "each second fired once");
    let total = usize::try_from(seconds + delayed).unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), total, "{definition}: nothing lost, nothing twice");
    let left = jobs.stats().await.unwrap();
    assert_eq!((left.waiting, left.active, left.delayed, left.cron), (0, 0, 0, 1));
    println!("{fired} firings and {delayed} delayed jobs, each once: PASS");
}

fn seconds() -> u64 {
    // With three stores and a Cluster that makes 100 000 firings.
    crate::torture::many(150, 25_000) as u64
}

on_every_store!(each_firing_and_each_delayed_job_happens_once_with_five_schedulers, |store| {
    let (jobs, clock) = still(&store);
    exactly_once(&jobs, &*store, &clock, seconds()).await;
});

on_cluster!(each_firing_happens_once_on_a_cluster_too, |store, _cluster| {
    let (jobs, clock) = still(&store);
    exactly_once(
        &jobs,
        &*store,
        &clock,
        if crate::torture::long() { seconds() } else { seconds() / 3 },
    )
    .await;
});

on_every_store!(instances_make_a_job_of_their_own_for_each_firing, |store| {
    let clock = kernel::FakeClock::at(NOW);
    let mut options = options();
    options.cron_instances = true;
    let jobs = queue_with(&store, Arc::new(clock.clone()), options);
    send(&jobs, NewJob::new("do", &1).id("tick").cron("*/2 * * * * *", None)).await;
    let (mut one, mut two) = (scheduler(&jobs), scheduler(&jobs));
    let mut wanted = BTreeSet::new();
    for _ in 0..10 {
        clock.advance(Duration::from_secs(1));
        ask(&*store, &["DEL", &format!("{NS}:scheduler:lock")]).await;
        tokio::join!(one.round(), two.round());
        let now = clock.now_ms() / 1_000 * 1_000;
        if now.is_multiple_of(2_000) {
            wanted.insert(format!("tick:{now}"));
        }
    }
    let waiting = ask(&*store, &["LRANGE", &format!("{NS}:jobs:waiting"), "0", "-1"]).await;
    let found: Vec<String> = kernel::reply::list(&waiting)
        .unwrap()
        .iter()
        .map(|id| kernel::reply::text(id).unwrap().to_owned())
        .collect();
    assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
});

on_every_store!(a_time_that_is_no_occurrence_is_put_right_and_not_fired, |store| {
    let (jobs, clock) = still(&store);
    let id = send(&jobs, NewJob::new("do", &1).cron("0 0 * * *", None)).await;
    // As the seed's own program writes it: now and a minute, whatever the expression.
    let wrong = (NOW + 60_000).to_string();
    ask(&*store, &["ZADD", &format!("{NS}:jobs:cron"), &wrong, &id]).await;
    clock.advance(Duration::from_secs(61));
    let mut one = scheduler(&jobs);
    one.round().await;
    assert_eq!(
        (status(&jobs, &id).await, one.metrics().fired.load(Ordering::Relaxed)),
        ("cron".into(), 0)
    );
    let next = int(&*store, &["ZSCORE", &format!("{NS}:jobs:cron"), &id]).await;
    assert_eq!(
        (next % 86_400_000, u64::try_from(next).unwrap() > NOW),
        (0, true),
        "the next midnight"
    );
});

on_every_store!(
    a_job_that_kills_its_workers_is_dead_after_three_rescues_and_others_go_on,
    |store| {
        let (jobs, clock) = still(&store);
        let poison = send(&jobs, NewJob::new("poison", &1).max_concurrent(1)).await;
        let runs = Arc::new(AtomicUsize::new(0));
        let worker = counting(&jobs, &runs).await;
        let mut one = scheduler(&jobs);
        for turn in 0..4 {
            let doomed = WorkerFacts::new(format!("doomed-{turn}")).unwrap().types(["poison"]);
            assert_eq!(jobs.claim(&doomed, 1).await.unwrap().jobs.len(), 1, "turn {turn}");
            send(&jobs, NewJob::new("do", &1)).await;
            worker.drain().await.unwrap();
            // It dies; its lock runs out, and so does its lease.
            ask(&*store, &["DEL", &format!("{NS}:jobs:lock:{poison}")]).await;
            clock.advance(Duration::from_secs(6));
            one.round().await;
        }
        assert_eq!((status(&jobs, &poison).await, runs.load(Ordering::SeqCst)), ("dead".into(), 4));
        assert_eq!(error_name(&jobs, &poison).await, "WorkerLost");
        assert_eq!(int(&*store, &["GET", &format!("{NS}:ratelimit:concurrent:poison")]).await, 0);
        assert_eq!(one.metrics().recovered.load(Ordering::Relaxed), 4);
    }
);

on_every_store!(jobs_claimed_by_the_seeds_script_come_back_when_their_worker_is_gone, |store| {
    let (jobs, clock) = still(&store);
    let id = send(&jobs, NewJob::new("do", &1)).await;
    let script = jobs::export::SEED_SCRIPTS.iter().find(|one| one.name() == "claim_job").unwrap();
    let key = |name: &str| format!("{NS}:{name}");
    let keys = [key("jobs:waiting"), key("jobs:active"), key("queues:paused")];
    let args = [
        "gone".to_owned(),
        "[]".into(),
        "[]".into(),
        "[]".into(),
        NOW.to_string(),
        "30".into(),
        key("jobs:data:"),
        key("jobs:lock:"),
        key("ratelimit:concurrent:"),
    ];
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let args: Vec<&[u8]> = args.iter().map(String::as_bytes).collect();
    let by = Deadline::after(Duration::from_secs(5));
    assert!(kernel::reply::text(&store.script(script, &keys, &args, by).await.unwrap()).is_some());
    let mut one = scheduler(&jobs);
    one.round().await;
    assert_eq!(status(&jobs, &id).await, "waiting", "the seed's script leaves the status");
    assert_eq!(jobs.stats().await.unwrap().active, 1, "nothing is believed at first sight");
    clock.advance(Duration::from_secs(10));
    one.round().await;
    let stats = jobs.stats().await.unwrap();
    assert_eq!((stats.active, stats.waiting), (0, 1), "its owner is no living worker");
    assert_eq!(int(&*store, &["GET", &key("ratelimit:concurrent:do")]).await, 0);
});

on_every_store!(counters_pauses_and_dead_letters_are_looked_after, |store| {
    let clock = kernel::FakeClock::at(NOW);
    let mut options = options();
    options.dlq_max = 3;
    let jobs = queue_with(&store, Arc::new(clock.clone()), options);
    let mut one = scheduler(&jobs);
    jobs.pause("do", Some(NOW + 5_000)).await.unwrap();
    // A counter that a crashed program left high.
    ask(&*store, &["SET", &format!("{NS}:ratelimit:concurrent:do"), "7"]).await;
    send(&jobs, NewJob::new("do", &1)).await;
    for n in 0..5 {
        let id = send(&jobs, NewJob::new("do", &n)).await;
        jobs.bury(&id).await.unwrap();
    }
    for _ in 0..70 {
        one.round().await;
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!(int(&*store, &["SCARD", &format!("{NS}:queues:paused")]).await, 0);
    assert_eq!(int(&*store, &["GET", &format!("{NS}:ratelimit:concurrent:do")]).await, 0);
    assert_eq!(one.metrics().ratelimit_repaired.load(Ordering::Relaxed), 1);
    assert_eq!(jobs.stats().await.unwrap().dead, 3);
});

on_every_store!(an_unreadable_job_stops_nobody_and_ends_among_the_dead, |store| {
    let (jobs, _clock) = still(&store);
    let runs = Arc::new(AtomicUsize::new(0));
    let worker = counting(&jobs, &runs).await;
    ask(&*store, &["SET", &format!("{NS}:jobs:data:bad"), "{\"type\":"]).await;
    ask(&*store, &["SET", &format!("{NS}:jobs:status:bad"), "waiting"]).await;
    ask(&*store, &["RPUSH", &format!("{NS}:jobs:waiting"), "bad"]).await;
    send(&jobs, NewJob::new("do", &1)).await;
    worker.drain().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    crate::hands::until("it is dead", || async { status(&jobs, "bad").await == "dead" }).await;
    assert_eq!(error_name(&jobs, "bad").await, "MalformedJob");
});

on_every_store!(missed_firings_are_dropped_joined_or_caught_up_with, |store| {
    for (catchup, wanted) in [(Catchup::None, 0), (Catchup::One, 1), (Catchup::All, 100)] {
        ask(&*store, &["FLUSHALL"]).await;
        let clock = kernel::FakeClock::at(NOW);
        let mut options = options();
        (options.cron_instances, options.cron_catchup) = (true, catchup);
        let jobs = queue_with(&store, Arc::new(clock.clone()), options);
        send(&jobs, NewJob::new("do", &1).id("tick").cron("* * * * *", None)).await;
        clock.advance(Duration::from_mins(150) + Duration::from_secs(70));
        let mut one = scheduler(&jobs);
        one.round().await;
        one.round().await;
        let waiting = jobs.stats().await.unwrap().waiting;
        assert_eq!(waiting, wanted, "{catchup:?}");
        let next = int(&*store, &["ZSCORE", &format!("{NS}:jobs:cron"), "tick"]).await;
        let late = u64::try_from(next).unwrap() - clock.now_ms();
        assert!(late <= 60_000, "{catchup:?}: the next one is the next minute");
    }
});
