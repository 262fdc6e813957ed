//! One process per worker id: dead predecessors make room, living ones do not; and who holds which job.

use jobs::worker::{Job, JobCx, Worker};
use jobs::{NewJob, WorkerFacts};
use testkit::on_every_store;

use crate::hands::{Live, NS, ask, live, send, status, text, until};
use crate::support::{bed, job, worker};

on_every_store!(a_restarted_worker_takes_over_its_dead_predecessor_and_its_jobs, |store| {
    let jobs = live(&store);
    let build = || {
        let handler = |_: Job<serde_json::Value>, _: JobCx| async { Ok(()) };
        Worker::builder(&jobs).server_id("w1").handle("do", handler)
    };
    drop(build().build().await.unwrap());
    let id = send(&jobs, NewJob::new("do", &1)).await;
    let facts = WorkerFacts::new("w1").unwrap();
    assert_eq!(jobs.claim(&facts, 1).await.unwrap().jobs.len(), 1);
    // As a process that was killed leaves it: no process has this number, or another one.
    let key = format!("{NS}:workers:w1");
    let entry = text(&*store, &["GET", &key]).await.unwrap();
    let pid = format!("\"pid\":{}", std::process::id());
    ask(&*store, &["SET", &key, &entry.replace(&pid, "\"pid\":4194305")]).await;
    drop(build().build().await.unwrap());
    assert_eq!(status(&jobs, &id).await, "waiting", "its job waits again at once");
    assert!(text(&*store, &["GET", &key]).await.unwrap().contains(&pid));
});

on_every_store!(an_id_that_nobody_answers_for_is_free_and_a_living_one_is_not, |store| {
    let jobs = live(&store);
    let build = || {
        let handler = |_: Job<serde_json::Value>, _: JobCx| async { Ok(()) };
        Worker::builder(&jobs).server_id("w1").handle("do", handler)
    };
    // A worker of another host, as far as its entry says; it lives and answers.
    let worker = Live::start(build()).await;
    let first = send(&jobs, NewJob::new("do", &1)).await;
    until("it listens", || async { status(&jobs, &first).await == "completed" }).await;
    let key = format!("{NS}:workers:w1");
    let own = text(&*store, &["GET", &key]).await.unwrap();
    let elsewhere = own.replace("\"hostname\":\"", "\"hostname\":\"far-");
    ask(&*store, &["SET", &key, &elsewhere]).await;
    let refused = build().build().await.err().unwrap();
    let pid = std::process::id();
    assert!(refused.to_string().contains(&format!("by process {pid} on far-")), "{refused}");
    ask(&*store, &["SET", &key, &own]).await;
    worker.stop().await;
    // The same entry and sign of life, and nobody behind them.
    let beat = format!("{NS}:workers:heartbeat:w1");
    ask(&*store, &["SET", &key, &elsewhere]).await;
    ask(&*store, &["SET", &beat, "1", "EX", "30"]).await;
    drop(build().build().await.unwrap());
    assert!(!text(&*store, &["GET", &key]).await.unwrap().contains("far-"));
});

on_every_store!(what_a_foreign_worker_has_claimed_is_shown_at_once, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b")).await;
    assert_eq!(bed.claimed_id(&worker("ours")).await, "a");
    // As the seed's claim leaves it: a lock and an entry in `active`.
    bed.line("LREM bridge:jobs:waiting 1 b").await;
    bed.line("SET bridge:jobs:lock:b v1 EX 30").await;
    bed.line("SADD bridge:jobs:active b").await;
    bed.line("SADD bridge:workers:active v1").await;
    let all = bed.jobs.workers().await.unwrap();
    let foreign = all.iter().find(|one| one.server_id == "v1").unwrap();
    assert_eq!(foreign.jobs, ["b"]);
});
