//! The store refuses to write, or does not answer: producers are told in time, workers ask again and lose nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobs::worker::{Job, JobError, Worker};
use jobs::{Error, NewJob, Options};
use kernel::{Fault, SystemClock};
use serde_json::Value as Json;
use testkit::{Mode, Proxy, Setup, programs};
use tokio::sync::Semaphore;

use crate::hands::{Live, live, options, queue_with, send, status, until};
use crate::torture::runtime;

/// A worker finishes a job while the server refuses every write; `refuse` and `allow` are what an operator does.
fn refused_for_a_while(code: &str, refuse: &[&str], allow: &[&str]) {
    for program in programs() {
        let server = Setup::new(program).start();
        let url = server.url();
        runtime().block_on(async {
            let store = testkit::open(&url).await;
            let jobs = live(&store);
            let go = Arc::new(Semaphore::new(0));
            let gate = go.clone();
            let worker =
                Worker::builder(&jobs).server_id("w").handle("work", move |_: Job<Json>, _| {
                    let gate = gate.clone();
                    async move {
                        let pass = gate.acquire().await;
                        pass.map_err(|error| JobError::retry("Closed", error.to_string()))?
                            .forget();
                        Ok(7)
                    }
                });
            let worker = Live::start(worker).await;
            let id = send(&jobs, NewJob::new("work", &1)).await;
            until("it runs", || async { status(&jobs, &id).await == "active" }).await;
            assert!(server.ask(refuse).starts_with("+OK"), "{refuse:?}");
            let start = Instant::now();
            let refusal = jobs.dispatch(NewJob::new("work", &2).id("second")).await.unwrap_err();
            assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
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
            let start = Instant::now();
            let error = jobs.dispatch(NewJob::new("work", &2)).await.unwrap_err();
            let took = start.elapsed();
            let known = matches!(error, Error::Fault(Fault::Unknown(_) | Fault::Unavailable(_)));
            assert!(known, "{error:?}");
            assert!(took >= enqueue_timeout && took < Duration::from_secs(2), "{took:?}");
        });
    }
}
