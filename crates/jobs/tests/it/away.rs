//! The store refuses to write, or does not answer: producers are told in time, workers ask again and lose nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jobs::worker::{Job, JobCx, JobError, Worker};
use jobs::{Asked, Error, NewJob, Options};
use kernel::{Fault, SystemClock};
use serde_json::Value as Json;
use testkit::{Mode, Proxy, Setup, on_cluster, programs, timed};
use tokio::sync::Semaphore;

use crate::hands::{Live, NS, int, live, options, queue_with, send, status, until};
use crate::torture::{left, noting, runtime};

/// A worker finishes a job while the server refuses every write; `refuse` and `allow` are what an operator does.
fn refused_for_a_while(code: &str, refuse: &[&str], allow: &[&str]) {
    for program in programs() {
        let server = Setup::new(program).start();
        let url = server.url();
        runtime().block_on(async {
            let store = testkit::open(&url).await;
            let jobs = live(&store);
            let go = Arc::new(Semaphore::new(0));
            let worker = gated(&jobs, &go, 1).await;
            let id = send(&jobs, NewJob::new("work", &1)).await;
            until("it runs", || async { status(&jobs, &id).await == "active" }).await;
            assert!(server.ask(refuse).starts_with("+OK"), "{refuse:?}");
            let second = jobs.dispatch(NewJob::new("work", &2).id("second"));
            let refusal = testkit::within("the dispatch is refused", second).await.unwrap_err();
            let told =
                matches!(&refusal, Error::Fault(Fault::Refused { code: is, .. }) if is == code);
            let away = matches!(&refusal, Error::Fault(Fault::Unavailable(_)));
            assert!(told || away, "{refusal:?}");
            // It ends while nothing can be written: its worker holds on to the result.
            go.add_permits(2);
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(status(&jobs, &id).await, "active");
            assert!(server.ask(allow).starts_with("+OK"), "{allow:?}");
            until("it is written", || async { status(&jobs, &id).await == "completed" }).await;
            assert_eq!(status(&jobs, "second").await, "gone", "what was refused was not done");
            let third = send(&jobs, NewJob::new("work", &3)).await;
            until("the next runs", || async { status(&jobs, &third).await == "completed" }).await;
            worker.stop().await;
        });
    }
}

#[test]
fn a_full_store_refuses_new_jobs_and_results_wait_for_room() {
    refused_for_a_while(
        "OOM",
        &["CONFIG", "SET", "maxmemory", "1"],
        &["CONFIG", "SET", "maxmemory", "0"],
    );
}

#[test]
fn a_store_that_became_a_replica_is_asked_again_until_it_writes() {
    // Nobody listens at port 1: it stays a replica without a primary.
    refused_for_a_while("READONLY", &["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"]);
}

#[test]
fn what_was_said_while_a_worker_was_cut_off_reaches_it_when_it_is_back() {
    for program in programs() {
        let server = Setup::new(program).start();
        runtime().block_on(async {
            let proxy = Proxy::start(server.addr()).await;
            let (through, direct) =
                (testkit::open(&proxy.url()).await, testkit::open(&server.url()).await);
            // Leases are renewed every ten seconds, and the heart beats as often: neither is waited for.
            let clock = Arc::new(SystemClock::new());
            let jobs = queue_with(&through, clock.clone(), Options::default());
            let sure = queue_with(&direct, clock, Options::default());
            let handler = |_: Job<Json>, cx: JobCx| async move {
                cx.cancelled().await;
                Ok(())
            };
            let worker = Worker::builder(&jobs).server_id("w1").handle("wait", handler);
            let worker = Live::start(worker.concurrency(2)).await;
            let id = send(&sure, NewJob::new("wait", &1)).await;
            until("it runs", || async { status(&sure, &id).await == "active" }).await;
            proxy.set(Mode::Cut);
            sure.cancel(&id).await.unwrap();
            sure.ask_worker("w1", Asked::Stop).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            let start = Instant::now();
            proxy.set(Mode::Pass);
            worker.ended().await;
            timed("what was missed is heard", start.elapsed(), Duration::from_secs(5));
            assert_eq!(
                status(&sure, &id).await,
                "failed",
                "its handler was told of the cancellation"
            );
        });
    }
}

#[test]
fn a_dispatch_into_silence_ends_in_its_time() {
    for program in programs() {
        let server = Setup::new(program).start();
        runtime().block_on(async {
            let proxy = Proxy::start(server.addr()).await;
            let store = testkit::open(&proxy.url()).await;
            let enqueue_timeout = Duration::from_millis(300);
            let options = Options { enqueue_timeout, ..options() };
            let jobs = queue_with(&store, Arc::new(SystemClock::new()), options);
            send(&jobs, NewJob::new("work", &1)).await;
            proxy.set(Mode::HalfOpen);
            let second = jobs.dispatch(NewJob::new("work", &2));
            let error = testkit::within("the dispatch gives up", second).await.unwrap_err();
            let known = matches!(error, Error::Fault(Fault::Unknown(_) | Fault::Unavailable(_)));
            assert!(known, "{error:?}");
        });
    }
}

/// A worker whose jobs end when the test says so.
async fn gated(jobs: &jobs::Jobs, go: &Arc<Semaphore>, slots: usize) -> Live {
    let gate = go.clone();
    let worker = Worker::builder(jobs).server_id("w").concurrency(slots);
    Live::start(worker.handle("work", move |_: Job<Json>, _| {
        let gate = gate.clone();
        async move {
            let pass = gate.acquire().await;
            pass.map_err(|error| JobError::retry("Closed", error.to_string()))?.forget();
            Ok(7)
        }
    }))
    .await
}

#[test]
fn a_store_that_loads_its_data_is_waited_for() {
    for program in programs() {
        // A millisecond for each command of the log, and clients are looked after all the while.
        let slow = ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"];
        let mut server = Setup::new(program)
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .args(slow)
            .start();
        let (url, addr) = (server.url(), server.addr());
        runtime().block_on(async {
            let store = testkit::open(&url).await;
            let jobs = live(&store);
            let go = Arc::new(Semaphore::new(0));
            let worker = gated(&jobs, &go, 4).await;
            let id = send(&jobs, NewJob::new("work", &1)).await;
            until("it runs", || async { status(&jobs, &id).await == "active" }).await;
            let fill = "for n = 1, 1500 do redis.call('SET', 'other:' .. n, n) end";
            server.ask(&["EVAL", fill, "0"]);
            server.kill();
            let restarting = std::thread::spawn(move || {
                server.restart();
                server
            });
            until("it loads", || async {
                testkit::ask(addr, &["PING"]).is_ok_and(|reply| reply.starts_with("-LOADING"))
            })
            .await;
            // One who cannot wait is told in time, and nothing was done; the others are served when it is ready.
            let enqueue_timeout = Duration::from_millis(200);
            let hurried = Options { enqueue_timeout, ..options() };
            let hurried = queue_with(&store, Arc::new(SystemClock::new()), hurried);
            let refusal = hurried.dispatch(NewJob::new("work", &2).id("second")).await.unwrap_err();
            assert!(matches!(refusal, Error::Fault(_)), "{refusal:?}");
            go.add_permits(2);
            let third = send(&jobs, NewJob::new("work", &3)).await;
            let _server = restarting.join().unwrap();
            for id in [&id, &third] {
                until("it is written", || async { status(&jobs, id).await == "completed" }).await;
            }
            assert_eq!(status(&jobs, "second").await, "gone");
            worker.stop().await;
        });
    }
}

on_cluster!(while_a_slot_moves_key_by_key_steps_wait_and_nothing_is_lost, |store, cluster| {
    let jobs = live(&store);
    let mut sent = Vec::new();
    for n in 0..300 {
        sent.push(send(&jobs, NewJob::new("work", &n)).await);
    }
    let workers = [
        Live::start(noting(&jobs, &store, "w1", 1, 20)).await,
        Live::start(noting(&jobs, &store, "w2", 4, 20)).await,
    ];
    let begun = "work began before its slot moves";
    until(begun, || async { int(&*store, &["GET", "runs"]).await > 20 }).await;
    let (producing, queue) = (Arc::new(AtomicBool::new(true)), jobs.clone());
    let more = producing.clone();
    let producer = tokio::spawn(async move {
        let mut sent = Vec::new();
        while more.load(Ordering::Relaxed) {
            sent.push(send(&queue, NewJob::new("work", &0)).await);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        sent
    });
    let (before, mut parts) = (cluster.primary_of(NS), 0);
    // Slowly enough for all of them to ask several times in between.
    tokio::task::block_in_place(|| {
        cluster.move_slot_in_parts(NS, 20, || {
            parts += 1;
            std::thread::sleep(Duration::from_millis(30));
        });
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    producing.store(false, Ordering::Relaxed);
    sent.extend(producer.await.unwrap());
    assert_ne!(cluster.primary_of(NS), before);
    assert!(parts > 5, "{parts} parts");
    until("all are done", || async { left(&jobs).await == 0 }).await;
    for worker in workers {
        worker.stop().await;
    }
    let count = i64::try_from(sent.len()).unwrap();
    println!("{count} jobs, slot moved in {parts} parts");
    assert_eq!(int(&*store, &["SCARD", "effects"]).await, count, "none is lost");
    assert_eq!(int(&*store, &["GET", "runs"]).await, count, "and none ran twice");
    for id in &sent {
        assert_eq!(status(&jobs, id).await, "completed");
    }
    let counter = format!("{NS}:ratelimit:concurrent:work");
    assert_eq!(int(&*store, &["GET", &counter]).await, 0);
});

on_cluster!(a_namespace_that_moves_to_another_shard_is_followed, |store, cluster| {
    let jobs = live(&store);
    let go = Arc::new(Semaphore::new(0));
    let worker = gated(&jobs, &go, 4).await;
    let id = send(&jobs, NewJob::new("work", &1)).await;
    until("it runs", || async { status(&jobs, &id).await == "active" }).await;
    let before = cluster.primary_of(NS);
    tokio::task::block_in_place(|| cluster.move_slot_of(NS));
    assert_ne!(cluster.primary_of(NS), before);
    go.add_permits(100);
    until("it is written there", || async { status(&jobs, &id).await == "completed" }).await;
    let after_move = send(&jobs, NewJob::new("work", &2)).await;
    until("the next runs", || async { status(&jobs, &after_move).await == "completed" }).await;
    tokio::task::block_in_place(|| {
        cluster.fail_over_to(cluster.replica_of(cluster.primary_of(NS)));
        cluster.wait_ok();
    });
    let after_failover = send(&jobs, NewJob::new("work", &3)).await;
    until("and the next", || async { status(&jobs, &after_failover).await == "completed" }).await;
    worker.stop().await;
});
