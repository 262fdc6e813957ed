//! A worker that runs: wake-ups, slots, cancellation, lost leases, orders, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jobs::worker::{Builder, Cancelled, Job, JobCx, JobError, Worker};
use jobs::{Asked, Jobs, NewJob};
use serde_json::{Value as Json, json};
use testkit::{FakeClock, Faulty, How, on_every_store, timed};
use tokio::sync::{Notify, Semaphore};

use crate::hands::{
    Live, NS, ask, error_name, int, live, options, queue_with, send, status, still, text, until,
};

fn nothing(jobs: &Jobs, id: &str) -> Builder {
    Worker::builder(jobs).server_id(id).handle("do", |_: Job<Json>, _| async { Ok(()) })
}

on_every_store!(an_idle_worker_picks_a_job_up_at_once, |store| {
    let jobs = live(&store);
    for slots in [1, 4] {
        let worker = Live::start(nothing(&jobs, &format!("w{slots}")).concurrency(slots)).await;
        // Until it has subscribed.
        let first = send(&jobs, NewJob::new("do", &1)).await;
        until("the first job", || async { status(&jobs, &first).await == "completed" }).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let start = Instant::now();
            let id = send(&jobs, NewJob::new("do", &1)).await;
            until("the job", || async { status(&jobs, &id).await == "completed" }).await;
            waits.push(start.elapsed());
        }
        waits.sort();
        timed(&format!("pick-up with {slots} slots"), waits[4], Duration::from_millis(100));
        worker.stop().await;
    }
});

on_every_store!(a_job_of_a_producer_that_wakes_nobody_is_found_by_polling, |store| {
    let jobs = live(&store);
    let worker = Live::start(nothing(&jobs, "w1")).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let job = r#"{"jobId":"f","type":"do","payload":{},"attempts":0}"#;
    ask(&*store, &["SET", &format!("{NS}:jobs:data:f"), job]).await;
    ask(&*store, &["SET", &format!("{NS}:jobs:status:f"), "waiting"]).await;
    ask(&*store, &["RPUSH", &format!("{NS}:jobs:waiting"), "f"]).await;
    until("the foreign job", || async { status(&jobs, "f").await == "completed" }).await;
    worker.stop().await;
});

on_every_store!(a_worker_whose_entry_is_gone_enters_itself_again, |store| {
    let clock = FakeClock::at(1_794_768_259_299);
    let jobs = queue_with(&store, Arc::new(clock.clone()), options());
    let worker = Live::start(nothing(&jobs, "w1")).await;
    ask(&*store, &["FLUSHALL"]).await;
    until("its next heartbeat", || async {
        clock.advance(Duration::from_secs(1));
        int(&*store, &["SISMEMBER", &format!("{NS}:workers:active"), "w1"]).await == 1
    })
    .await;
    assert!(jobs.workers().await.unwrap()[0].alive);
    worker.stop().await;
});

on_every_store!(as_many_jobs_run_at_once_as_there_are_slots, |store| {
    let jobs = live(&store);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Semaphore::new(0));
    let (running, peak, door) = (now.clone(), most.clone(), gate.clone());
    let builder = Worker::builder(&jobs).server_id("w1").concurrency(7).handle(
        "do",
        move |_: Job<Json>, _| {
            let (running, peak, door) = (running.clone(), peak.clone(), door.clone());
            async move {
                peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                door.acquire().await.map_err(|_| JobError::retry("Shut", "no more"))?.forget();
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        },
    );
    let many = (0..40).map(|n| NewJob::new("do", &n)).collect();
    jobs.dispatch_many(many).await.unwrap();
    let worker = Live::start(builder).await;
    until("all slots are used", || async { now.load(Ordering::SeqCst) == 7 }).await;
    assert_eq!(jobs.stats().await.unwrap().active, 7);
    gate.add_permits(40);
    until("all are done", || async {
        let stats = jobs.stats().await.unwrap();
        stats.waiting + stats.active == 0
    })
    .await;
    assert_eq!(most.load(Ordering::SeqCst), 7);
    worker.stop().await;
    assert_eq!(int(&*store, &["GET", &format!("{NS}:ratelimit:concurrent:do")]).await, 0);
    assert_eq!(int(&*store, &["GET", &format!("{NS}:metrics:jobs:processed")]).await, 40);
    assert_eq!(jobs.stats().await.unwrap().workers, 0, "it has left the registry");
});

/// A handler that waits until it is told to end, and says why.
fn patient(
    jobs: &Jobs,
    id: &str,
    started: &Arc<Notify>,
    ended: &Arc<parking_lot::Mutex<Vec<Cancelled>>>,
) -> Builder {
    let (started, ended) = (started.clone(), ended.clone());
    Worker::builder(jobs).server_id(id).concurrency(2).handle(
        "wait",
        move |_: Job<Json>, cx: JobCx| {
            let (started, ended) = (started.clone(), ended.clone());
            async move {
                started.notify_one();
                let why = cx.cancelled().await;
                ended.lock().push(why);
                Ok(json!("ended"))
            }
        },
    )
}

on_every_store!(a_running_job_is_cancelled_from_outside, |store| {
    let jobs = live(&store);
    let (started, ended) = (Arc::new(Notify::new()), Arc::default());
    let worker = Live::start(patient(&jobs, "w1", &started, &ended)).await;
    let id = send(&jobs, NewJob::new("wait", &1)).await;
    started.notified().await;
    jobs.cancel(&id).await.unwrap();
    until("it has failed", || async { status(&jobs, &id).await == "failed" }).await;
    assert_eq!(error_name(&jobs, &id).await, "JobCancelled");
    assert_eq!(*ended.lock(), [Cancelled::Asked]);
    worker.stop().await;
});

on_every_store!(a_lost_lease_ends_the_handler_and_its_result_is_dropped, |store| {
    let jobs = live(&store);
    let (started, ended) = (Arc::new(Notify::new()), Arc::default());
    let worker = patient(&jobs, "w1", &started, &ended).build().await.unwrap();
    let metrics = worker.metrics().clone();
    let worker = Live::run(worker);
    let id = send(&jobs, NewJob::new("wait", &1)).await;
    started.notified().await;
    // Somebody else has it now.
    ask(&*store, &["SET", &format!("{NS}:jobs:lock:{id}"), "w2"]).await;
    until("the handler was told", || async { !ended.lock().is_empty() }).await;
    assert_eq!(*ended.lock(), [Cancelled::LeaseLost]);
    assert_eq!(metrics.lease_lost.load(Ordering::Relaxed), 1);
    worker.stop().await;
    assert_eq!(status(&jobs, &id).await, "active", "nothing was written");
    assert_eq!(text(&*store, &["GET", &format!("{NS}:jobs:result:{id}")]).await, None);
});

on_every_store!(a_lease_that_the_handler_finds_lost_counts_once, |store| {
    let (jobs, _clock) = still(&store);
    let theirs = store.clone();
    let builder = Worker::builder(&jobs).server_id("w1").handle("do", move |job: Job<Json>, cx| {
        let store = theirs.clone();
        async move {
            ask(&*store, &["SET", &format!("{NS}:jobs:lock:{}", job.id), "w2"]).await;
            assert!(!cx.extend_lock().await.unwrap() && !cx.extend_lock().await.unwrap());
            cx.progress(50.0, "half").await.unwrap();
            Ok(())
        }
    });
    let worker = builder.build().await.unwrap();
    let id = send(&jobs, NewJob::new("do", &1)).await;
    worker.drain().await.unwrap();
    assert_eq!(worker.metrics().lease_lost.load(Ordering::Relaxed), 1);
    assert_eq!(status(&jobs, &id).await, "active", "nothing was written");
});

on_every_store!(a_handler_that_goes_on_without_its_lease_counts_once, |store| {
    let (jobs, clock) = still(&store);
    let (started, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begun, go_on) = (started.clone(), end.clone());
    let builder = Worker::builder(&jobs).server_id("w1").handle("do", move |_: Job<Json>, _| {
        let (begun, go_on) = (begun.clone(), go_on.clone());
        async move {
            begun.notify_one();
            go_on.notified().await;
            Ok(())
        }
    });
    let worker = builder.build().await.unwrap();
    let metrics = worker.metrics().clone();
    let worker = Live::run(worker);
    let id = send(&jobs, NewJob::new("do", &1)).await;
    started.notified().await;
    ask(&*store, &["SET", &format!("{NS}:jobs:lock:{id}"), "w2"]).await;
    let lost = || metrics.lease_lost.load(Ordering::Relaxed);
    // Each is time for a renewal, and a moment for its answer.
    for _ in 0..5 {
        clock.advance(Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until("a renewal found out", || async { lost() > 0 }).await;
    end.notify_one();
    worker.stop().await;
    assert_eq!(lost(), 1);
});

on_every_store!(a_worker_that_is_dropped_claims_nothing_more_and_its_handlers_end, |store| {
    let jobs = live(&store);
    for slots in [1, 4] {
        let gate = Arc::new(Semaphore::new(0));
        let (begun, handlers_gate) = (Arc::new(AtomicUsize::new(0)), gate.clone());
        let counted = begun.clone();
        let builder = Worker::builder(&jobs).server_id("w1").concurrency(slots).handle(
            "work",
            move |_: Job<usize>, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                let gate = handlers_gate.clone();
                async move {
                    drop(gate.acquire().await.unwrap());
                    Ok(())
                }
            },
        );
        let worker = Live::start(builder).await;
        let mut ids = Vec::new();
        for n in 0..=slots {
            ids.push(send(&jobs, NewJob::new("work", &n)).await);
        }
        until("its slots are full", || async { begun.load(Ordering::SeqCst) == slots }).await;
        worker.dies().await;
        // They end one after the other, each with the task that holds it, and nobody opened the gate for them.
        until("the handlers are gone", || async { Arc::strong_count(&gate) == 1 }).await;
        for (n, id) in ids.iter().enumerate() {
            let expected = if n < slots { "active" } else { "waiting" };
            assert_eq!(status(&jobs, id).await, expected, "{slots} slots, job {n}");
            jobs.cancel(id).await.unwrap();
        }
    }
});

on_every_store!(a_stopping_worker_waits_then_tells_then_hands_back, |store| {
    let jobs = live(&store);
    let started = Arc::new(Semaphore::new(0));
    let (begun, told) = (started.clone(), Arc::new(AtomicUsize::new(0)));
    let seen = told.clone();
    let builder = Worker::builder(&jobs)
        .server_id("w1")
        .concurrency(3)
        .grace(Duration::from_millis(200))
        .handle("work", move |job: Job<String>, cx: JobCx| {
            let (begun, told) = (begun.clone(), seen.clone());
            async move {
                begun.add_permits(1);
                match job.payload.as_str() {
                    "quick" => tokio::time::sleep(Duration::from_millis(50)).await,
                    "polite" => {
                        assert_eq!(cx.cancelled().await, Cancelled::Stopping);
                        told.fetch_add(1, Ordering::SeqCst);
                    }
                    _ => std::future::pending().await,
                }
                Ok(())
            }
        });
    let mut ids = Vec::new();
    for what in ["quick", "polite", "stuck"] {
        ids.push(send(&jobs, NewJob::new("work", what)).await);
    }
    let later = send(&jobs, NewJob::new("other", &1)).await;
    let worker = Live::start(builder).await;
    let _ = started.acquire_many(3).await.unwrap();
    worker.stopper.stop();
    until("the polite one was told", || async { told.load(Ordering::SeqCst) == 1 }).await;
    // The last five seconds are not for a test.
    worker.stopper.stop();
    worker.ended().await;
    let states =
        [status(&jobs, &ids[0]).await, status(&jobs, &ids[1]).await, status(&jobs, &ids[2]).await];
    assert_eq!(states, ["completed", "completed", "waiting"]);
    let view = jobs.get(&ids[2]).await.unwrap().unwrap();
    assert_eq!((view.read().unwrap().attempts, view.recoveries, view.lock.is_none()), (0, 0, true));
    let head = text(&*store, &["LINDEX", &format!("{NS}:jobs:waiting"), "0"]).await.unwrap();
    assert_eq!((head, later.is_empty()), (ids[2].clone(), false), "it is the next one");
    assert_eq!(jobs.stats().await.unwrap().workers, 0);
});

on_every_store!(operators_quiet_and_stop_a_worker, |store| {
    let jobs = live(&store);
    let worker = Live::start(nothing(&jobs, "w1").concurrency(2)).await;
    let first = send(&jobs, NewJob::new("do", &1)).await;
    until("it works", || async { status(&jobs, &first).await == "completed" }).await;
    jobs.ask_worker("w1", Asked::Quiet).await.unwrap();
    // It hears of it soon, and claims nothing from then on.
    until("a quiet worker claims nothing", || async {
        let next = send(&jobs, NewJob::new("do", &1)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        status(&jobs, &next).await == "waiting"
    })
    .await;
    jobs.ask_worker("w1", Asked::Stop).await.unwrap();
    worker.ended().await;
});

on_every_store!(an_order_that_nobody_heard_is_found_as_soon_as_the_worker_listens, |store| {
    let jobs = live(&store);
    let worker = nothing(&jobs, "w1").build().await.unwrap();
    jobs.ask_worker("w1", Asked::Stop).await.unwrap();
    let start = Instant::now();
    Live::run(worker).ended().await;
    // The next heartbeat would be in ten.
    timed("an order is found", start.elapsed(), Duration::from_secs(5));
});

on_every_store!(delayed_jobs_run_when_they_are_due_without_any_scheduler, |store| {
    let jobs = live(&store);
    let worker = Live::start(nothing(&jobs, "w1")).await;
    let start = Instant::now();
    let id = send(&jobs, NewJob::new("do", &1).delay(Duration::from_millis(300))).await;
    until("it ran", || async { status(&jobs, &id).await == "completed" }).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(290), "too early: {took:?}");
    timed("a delayed job ran", took, Duration::from_millis(2_500));
    worker.stop().await;
});

on_every_store!(a_late_result_counts_as_lost_although_the_first_answer_to_it_was, |store| {
    let faulty = Faulty::new(store.clone());
    let through: Arc<dyn kernel::Store> = faulty.clone();
    let (jobs, clock) = still(&through);
    let (theirs, fails, time) = (store.clone(), faulty.clone(), clock.clone());
    let builder = Worker::builder(&jobs).server_id("w1").handle("do", move |job: Job<bool>, _| {
        let (store, faulty, clock) = (theirs.clone(), fails.clone(), time.clone());
        async move {
            if job.payload {
                ask(&*store, &["SET", &format!("{NS}:jobs:lock:{}", job.id), "w2"]).await;
                clock.advance(Duration::from_secs(6));
            }
            // The next call moves due jobs, the one after it ends this attempt.
            faulty.fail_every(2, How::AnswerLost);
            Ok(())
        }
    });
    let worker = builder.build().await.unwrap();
    let lost = || worker.metrics().lease_lost.load(Ordering::Relaxed);
    let drain = async || {
        // A worker waits a moment before it tries again.
        let ticking = async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                clock.advance(Duration::from_millis(10));
            }
        };
        tokio::select! {
            drained = worker.drain() => drained.unwrap(),
            () = ticking => unreachable!(),
        };
        faulty.fail_every(0, How::AnswerLost);
    };
    let well = send(&jobs, NewJob::new("do", &false)).await;
    drain().await;
    let ended = status(&jobs, &well).await;
    assert_eq!((ended.as_str(), lost()), ("completed", 0), "written by the call without answer");
    let late = send(&jobs, NewJob::new("do", &true)).await;
    drain().await;
    let ended = status(&jobs, &late).await;
    assert_eq!((ended.as_str(), lost()), ("active", 1), "another worker's, whatever was answered");
});

on_every_store!(jobs_of_a_claim_whose_answer_was_lost_are_not_left_lying, |store| {
    let faulty = Faulty::new(store.clone());
    let through: Arc<dyn kernel::Store> = faulty.clone();
    let (jobs, sure) = (live(&through), live(&store));
    let worker = nothing(&jobs, "w1").build().await.unwrap();
    let id = send(&sure, NewJob::new("do", &1)).await;
    // Of a drain the first call moves due jobs and the second claims: that is done, and nobody hears of it.
    faulty.fail_every(2, How::AnswerLost);
    assert_eq!(worker.drain().await.unwrap().completed, 0);
    faulty.fail_every(0, How::AnswerLost);
    assert_eq!(status(&sure, &id).await, "active", "held by a worker that does not know it");
    worker.drain().await.unwrap();
    assert_eq!(status(&sure, &id).await, "waiting", "given back as soon as the store answers");
    assert_eq!(worker.drain().await.unwrap().completed, 1);
});
