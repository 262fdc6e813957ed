//! What becomes of a job by what its handler says, with a clock that only the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jobs::worker::{Drained, Job, JobCx, JobError, JobType, Worker, layer_fn, timeout};
use jobs::{Backoff, NewJob, Retry, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use testkit::on_every_store;

use crate::hands::{self, NS, error_name, int, result, send, status, still, text};

#[derive(Debug, Serialize, Deserialize)]
struct Email {
    to: String,
}

impl JobType for Email {
    const TYPE: &'static str = "email";
}

on_every_store!(a_typed_handler_runs_and_its_answer_has_the_seeds_bytes, |store| {
    let (jobs, clock) = still(&store);
    let moved = clock.clone();
    let worker = Worker::builder(&jobs)
        .server_id("w1")
        .on(move |job: Job<Email>, cx: JobCx| {
            let clock = moved.clone();
            async move {
                assert_eq!((cx.job_id(), cx.attempt(), cx.max_attempts()), (job.id.as_str(), 0, 3));
                clock.advance(Duration::from_millis(7));
                Ok(json!({"sent": job.payload.to, "n": 1.0}))
            }
        })
        .handle("nothing", |_: Job<Json>, _| async { Ok(()) })
        .build()
        .await
        .unwrap();
    let id = send(&jobs, NewJob::of(&Email { to: "a@b.c".into() })).await;
    let quiet = send(&jobs, NewJob::new("nothing", &json!({}))).await;
    assert_eq!(worker.drain().await.unwrap(), Drained { completed: 2, ..Drained::default() });
    assert_eq!(status(&jobs, &id).await, "completed");
    let key = |id: &str| format!("{NS}:jobs:result:{id}");
    assert_eq!(
        text(&*store, &["GET", &key(&id)]).await.unwrap(),
        r#"{"success":true,"data":{"n":1,"sent":"a@b.c"},"completedAt":1794768259306,"processingTime":7}"#
    );
    assert_eq!(
        text(&*store, &["GET", &key(&quiet)]).await.unwrap(),
        r#"{"success":true,"completedAt":1794768259306,"processingTime":0}"#,
        "a handler that returns nothing leaves data out"
    );
});

/// A worker whose handler says what the payload asks for.
async fn obedient(jobs: &jobs::Jobs, id: &str) -> Worker {
    Worker::builder(jobs)
        .server_id(id)
        .seed(1)
        .handle("do", |job: Job<Json>, cx: JobCx| async move {
            let failed = || jobs::Failure::new("Odd", "as it was asked");
            match job.payload.as_str().unwrap_or_default() {
                "fail" => Err(JobError::Retry(failed())),
                "once" if cx.attempt() == 0 => Err(JobError::Retry(failed())),
                "after" => Err(JobError::RetryAfter(Duration::from_secs(9), failed())),
                "snooze" => Err(JobError::snooze(Duration::from_mins(1))),
                "discard" => Err(JobError::Discard(failed())),
                "dead" => Err(JobError::Dead(failed())),
                "panic" => panic!("it broke"),
                "parse" => Ok("x".parse::<u32>()?),
                _ => Ok(1),
            }
        })
        .handle("typed", |_: Job<Email>, _| async { Ok(()) })
        .build()
        .await
        .unwrap()
}

on_every_store!(each_answer_of_a_handler_leads_where_it_says, |store| {
    let (jobs, _clock) = still(&store);
    let worker = obedient(&jobs, "w1").await;
    for (say, becomes, error, attempts) in [
        ("ok", "completed", "", 0),
        ("fail", "delayed", "Odd", 1),
        ("after", "delayed", "Odd", 1),
        ("snooze", "delayed", "Snooze", 0),
        ("discard", "failed", "Odd", 0),
        ("dead", "dead", "Odd", 0),
        ("panic", "delayed", "Panic", 1),
        ("parse", "delayed", "ParseIntError", 1),
    ] {
        let id = send(&jobs, NewJob::new("do", &say)).await;
        worker.drain().await.unwrap();
        assert_eq!(status(&jobs, &id).await, becomes, "{say}");
        assert_eq!(error_name(&jobs, &id).await, error, "{say}");
        let view = jobs.get(&id).await.unwrap().unwrap();
        assert_eq!(view.read().unwrap().attempts, attempts, "{say}");
        let wait = view.due_at.map_or(0, |due| due - i64::try_from(hands::NOW).unwrap());
        let wanted = match say {
            "fail" | "panic" | "parse" => 2_000,
            "after" => 9_000,
            "snooze" => 60_000,
            _ => 0,
        };
        assert_eq!(wait, wanted, "{say}");
    }
    let id = send(&jobs, NewJob::new("typed", &json!({"no": "address"}))).await;
    worker.drain().await.unwrap();
    assert_eq!(
        (status(&jobs, &id).await, error_name(&jobs, &id).await),
        ("dead".into(), "InvalidPayload".into())
    );
});

on_every_store!(three_retries_are_four_executions_and_then_the_dead_letters, |store| {
    let (jobs, clock) = still(&store);
    let worker = obedient(&jobs, "w1").await;
    let id = send(&jobs, NewJob::new("do", "fail")).await;
    let mut waits = Vec::new();
    for _ in 0..4 {
        let before = worker.drain().await.unwrap();
        assert_eq!(before.retried + before.dead, 1);
        let Some(due) = jobs.get(&id).await.unwrap().unwrap().due_at else { break };
        let now = i64::try_from(kernel::Clock::now_ms(&clock)).unwrap();
        waits.push(due - now);
        clock.advance(Duration::from_millis(u64::try_from(due - now).unwrap()));
    }
    assert_eq!(waits, [2_000, 4_000, 8_000]);
    assert_eq!(status(&jobs, &id).await, "dead");
});

on_every_store!(named_errors_skip_retries_or_move_to_another_worker, |store| {
    let (jobs, _clock) = still(&store);
    let first = obedient(&jobs, "w1").await;
    let retry = |skip: &[&str], reroute: &[&str]| Retry {
        backoff: Backoff { delay: 0, ..Backoff::default() },
        skip_on: skip.iter().map(ToString::to_string).collect(),
        reroute_on: reroute.iter().map(ToString::to_string).collect(),
        ..Retry::default()
    };
    let skipped = send(&jobs, NewJob::new("do", "fail").retry(retry(&["Odd"], &[]))).await;
    first.drain().await.unwrap();
    assert_eq!(status(&jobs, &skipped).await, "dead");
    let target = Target::any().server("w1");
    let moved =
        send(&jobs, NewJob::new("do", "once").retry(retry(&[], &["Odd"])).target(target)).await;
    first.drain().await.unwrap();
    assert_eq!(status(&jobs, &moved).await, "waiting", "the first worker leaves it alone");
    obedient(&jobs, "w2").await.drain().await.unwrap();
    assert_eq!(status(&jobs, &moved).await, "completed");
});

on_every_store!(an_expired_job_is_not_started, |store| {
    let (jobs, clock) = still(&store);
    let worker = obedient(&jobs, "w1").await;
    let id = send(&jobs, NewJob::new("do", "ok").expires_at(hands::NOW + 10)).await;
    clock.advance(Duration::from_millis(11));
    worker.drain().await.unwrap();
    assert_eq!(status(&jobs, &id).await, "failed");
    assert_eq!(error_name(&jobs, &id).await, "JobExpired");
});

on_every_store!(
    progress_is_written_at_most_every_tenth_of_a_second_and_always_at_the_end,
    |store| {
        let (jobs, clock) = still(&store);
        let (moved, reader) = (clock.clone(), store.clone());
        let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let kept = seen.clone();
        let worker = Worker::builder(&jobs)
            .server_id("w1")
            .handle("do", move |_: Job<Json>, cx: JobCx| {
                let (clock, store, seen) = (moved.clone(), reader.clone(), kept.clone());
                async move {
                    let key = format!("{NS}:jobs:progress:{}", cx.job_id());
                    for step in 1..=25u32 {
                        cx.progress(f64::from(step * 4), format!("step {step}")).await?;
                        let now: Option<String> = text(&*store, &["GET", &key]).await;
                        seen.lock().push(now.unwrap());
                        clock.advance(Duration::from_millis(10));
                    }
                    Ok(())
                }
            })
            .build()
            .await
            .unwrap();
        let id = send(&jobs, NewJob::new("do", &1)).await;
        worker.drain().await.unwrap();
        let mut writes = std::mem::take(&mut *seen.lock());
        writes.dedup();
        assert_eq!(writes.len(), 3, "{writes:?}");
        let last = text(&*store, &["GET", &format!("{NS}:jobs:progress:{id}")]).await.unwrap();
        assert_eq!(last, r#"{"percent":100,"message":"step 25","updatedAt":1794768259549}"#);
    }
);

// A silent last attempt left the progress of the one before without an end.
on_every_store!(progress_of_an_earlier_attempt_ends_with_the_job, |store| {
    let (jobs, clock) = still(&store);
    let worker = Worker::builder(&jobs)
        .server_id("w1")
        .handle("do", |how: Job<String>, cx: JobCx| async move {
            match (how.payload.as_str(), cx.restored::<u32>().await?) {
                (_, Some(_)) => Ok(()),
                ("retry", None) => {
                    cx.checkpoint(&1).await?;
                    Err(JobError::retry("Half", "not yet"))
                }
                (_, None) => {
                    cx.checkpoint(&1).await?;
                    Err(JobError::snooze(Duration::from_secs(1)))
                }
            }
        })
        .build()
        .await
        .unwrap();
    for how in ["retry", "snooze"] {
        let id = send(&jobs, NewJob::new("do", how)).await;
        let life = ["TTL", &format!("{NS}:jobs:progress:{id}")];
        worker.drain().await.unwrap();
        assert_eq!(int(&*store, &life).await, -1, "{how}: none while it lives");
        clock.advance(Duration::from_secs(3));
        worker.drain().await.unwrap();
        assert_eq!(status(&jobs, &id).await, "completed");
        assert!((86_000..=86_400).contains(&int(&*store, &life).await), "{how}");
    }
});

on_every_store!(a_checkpoint_is_there_after_a_failure, |store| {
    let (jobs, clock) = still(&store);
    let worker = Worker::builder(&jobs)
        .server_id("w1")
        .handle("do", |_: Job<Json>, cx: JobCx| async move {
            let from: u32 = cx.restored().await?.unwrap_or(0);
            cx.checkpoint(&(from + 10)).await?;
            if from < 10 { Err(JobError::retry("Half", "not yet")) } else { Ok(from) }
        })
        .build()
        .await
        .unwrap();
    let id = send(&jobs, NewJob::new("do", &1)).await;
    worker.drain().await.unwrap();
    clock.advance(Duration::from_secs(2));
    worker.drain().await.unwrap();
    assert_eq!(result(&jobs, &id).await["data"], json!(10));
});

on_every_store!(layers_wrap_every_attempt_and_a_time_limit_ends_it, |store| {
    let (jobs, _clock) = still(&store);
    let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let note = |name: &'static str, order: &Arc<parking_lot::Mutex<Vec<String>>>| {
        let order = order.clone();
        layer_fn(move |call, next| {
            let order = order.clone();
            Box::pin(async move {
                order.lock().push(format!("{name} before"));
                let attempt = next.run(call).await;
                order.lock().push(format!("{name} after"));
                attempt
            })
        })
    };
    let live = hands::live(&store);
    let worker = Worker::builder(&live)
        .server_id("w1")
        .layer(note("outer", &order))
        .layer(timeout(Duration::from_millis(500)))
        .layer(note("inner", &order))
        .handle("quick", |_: Job<Json>, _| async { Ok(()) })
        .handle("stuck", |_: Job<Json>, _| async {
            std::future::pending::<()>().await;
            Ok(())
        })
        .build()
        .await
        .unwrap();
    send(&jobs, NewJob::new("quick", &1)).await;
    worker.drain().await.unwrap();
    assert_eq!(*order.lock(), ["outer before", "inner before", "inner after", "outer after"]);
    let by_layer = send(&live, NewJob::new("stuck", &1)).await;
    worker.drain().await.unwrap();
    assert_eq!(error_name(&live, &by_layer).await, "Timeout");
    let own = send(&live, NewJob::new("stuck", &1).timeout(Duration::from_millis(5))).await;
    worker.drain().await.unwrap();
    assert_eq!(error_name(&live, &own).await, "Timeout");
});

on_every_store!(children_are_made_once_however_often_their_parent_runs, |store| {
    let (jobs, clock) = still(&store);
    let born = Arc::new(AtomicU32::new(0));
    let count = born.clone();
    let worker = Worker::builder(&jobs)
        .server_id("w1")
        .handle("parent", |_: Job<Json>, cx: JobCx| async move {
            for n in 0..3 {
                cx.spawn_child(NewJob::new("child", &n)).await?;
            }
            if cx.attempt() == 0 {
                Err(JobError::retry("Late", "after the children"))
            } else {
                Ok(())
            }
        })
        .handle("child", move |_: Job<u32>, _| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok(()) }
        })
        .build()
        .await
        .unwrap();
    let id = send(&jobs, NewJob::new("parent", &1).id("family")).await;
    worker.drain().await.unwrap();
    clock.advance(Duration::from_secs(2));
    worker.drain().await.unwrap();
    assert_eq!(status(&jobs, &id).await, "completed");
    assert_eq!(status(&jobs, "family.3").await, "completed");
    assert_eq!(born.load(Ordering::Relaxed), 3);
});

on_every_store!(a_handler_that_blocks_its_thread_runs_elsewhere, |store| {
    let (jobs, _clock) = still(&store);
    let here = std::thread::current().id();
    let worker = Worker::builder(&jobs)
        .server_id("w1")
        .handle_blocking("hash", move |job: Job<u64>, _| {
            assert_ne!(std::thread::current().id(), here);
            assert!(job.payload > 0, "nothing to hash");
            Ok(job.payload * 2)
        })
        .build()
        .await
        .unwrap();
    let good = send(&jobs, NewJob::new("hash", &21)).await;
    let bad = send(&jobs, NewJob::new("hash", &0)).await;
    worker.drain().await.unwrap();
    assert_eq!(result(&jobs, &good).await["data"], json!(42));
    assert_eq!(error_name(&jobs, &bad).await, "Panic");
});

on_every_store!(a_worker_that_cannot_work_is_refused, |store| {
    let (jobs, _clock) = still(&store);
    let handler = |_: Job<Json>, _: JobCx| async { Ok(()) };
    let build = |id: &str| Worker::builder(&jobs).server_id(id).handle("do", handler);
    for (builder, code) in [
        (Worker::builder(&jobs).server_id("w"), "no_handlers"),
        (build("w").concurrency(0), "invalid_concurrency"),
        (build("active"), "invalid_server_id"),
        (build("a:b"), "invalid_server_id"),
        (build("w").handle("bad\n", handler), "invalid_type"),
    ] {
        assert_eq!(builder.build().await.err().unwrap().code(), code);
    }
    // The same id in another process: same registry, other pid.
    build("w1").build().await.unwrap();
    let key = format!("{NS}:workers:w1");
    let entry = text(&*store, &["GET", &key]).await.unwrap();
    let other = entry.replace(&format!("\"pid\":{}", std::process::id()), "\"pid\":1");
    // One that does not say which process it is cannot be found dead.
    let other = other.replace("\"process\"", "\"other\"");
    hands::ask(&*store, &["SET", &key, &other]).await;
    assert_eq!(build("w1").build().await.err().unwrap().code(), "worker_in_use");
    assert!(build("w1").random_suffix(true).build().await.is_ok());
});
