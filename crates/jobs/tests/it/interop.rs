//! Programs in other languages on the same keys, both directions, on real servers. They were written from the
//! document alone and have nothing of ours but the exported scripts; `tests/clients/install` puts them there.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jobs::worker::{Job, Worker};
use jobs::{Jobs, NewJob, Options, Scheduler};
use kernel::keyspace::Layout;
use kernel::{FakeClock, Store, SystemClock};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use testkit::{Lent, programs};

use crate::hands::{Live, result, send, status, text, until, until_in};

struct Client {
    name: &'static str,
    port: u16,
    lua: tempfile::TempDir,
}

impl Client {
    fn new(name: &'static str, port: u16) -> Client {
        let lua = tempfile::tempdir().unwrap();
        jobs::export::export(lua.path()).unwrap();
        Client { name, port, lua }
    }

    /// Runs it and gives the lines it printed.
    fn run(&self, words: &[&str]) -> Vec<String> {
        let clients = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients"));
        let mut command = Command::new("timeout");
        command.arg(if crate::torture::long() { "600" } else { "60" });
        let installed = if self.name == "node" {
            command.arg("node").arg(clients.join("jobs_node/jobs.mjs"));
            clients.join("jobs_node/node_modules/ioredis")
        } else {
            command.arg("python3").arg(clients.join("jobs_python/jobs.py"));
            let packages = clients.join("../../target/clients/python");
            command.env("PYTHONPATH", &packages);
            packages.join("redis")
        };
        assert!(installed.exists(), "{} is not installed: run `make tools`", self.name);
        command.arg(self.port.to_string()).arg("bridge").arg(self.lua.path()).args(words);
        let output = command.output().unwrap();
        let problems = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {words:?}: {problems}", self.name);
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

fn queue(store: &Arc<dyn Store>) -> Jobs {
    let clock = Arc::new(SystemClock::new());
    Jobs::new(store.clone(), clock, "bridge", Layout::Plain, Options::default()).unwrap()
}

#[derive(Deserialize)]
struct Number {
    n: u64,
}

fn count() -> usize {
    crate::torture::many(100, 10_000)
}

/// They dispatch, we work, they read.
async fn they_dispatch(client: &Client, jobs: &Jobs) {
    let ids = client.run(&["dispatch", &count().to_string()]);
    assert_eq!(ids.len(), count());
    let worker = Worker::builder(jobs).server_id("ours").concurrency(8);
    let worker = worker.handle("double", |job: Job<Number>, _| async move {
        Ok(json!({"twice": job.payload.n * 2, "by": "rust"}))
    });
    let worker = Live::start(worker).await;
    let most = Duration::from_secs(if crate::torture::long() { 120 } else { 15 });
    until_in(most, "all foreign jobs are done", || async {
        let stats = jobs.stats().await.unwrap();
        stats.waiting + stats.active + stats.delayed == 0
    })
    .await;
    worker.stop().await;
    for lot in ids.chunks(500) {
        let mut words = vec!["read"];
        words.extend(lot.iter().map(String::as_str));
        for line in client.run(&words) {
            let read: Json = serde_json::from_str(&line).unwrap();
            assert_eq!(read["status"], "completed", "{line}");
            let wanted = json!({"twice": read["n"].as_u64().unwrap() * 2, "by": "rust"});
            assert_eq!(
                (&read["result"]["data"], &read["attempts"]),
                (&wanted, &json!(0)),
                "{line}"
            );
        }
    }
}

/// We dispatch, they work, we read.
async fn we_dispatch(client: &Client, jobs: &Jobs) {
    let many = (0..count()).map(|n| {
        let job = NewJob::new("double", &json!({"n": n, "list": [], "big": 12_345_678_901_u64}));
        let job = if n % 7 == 0 { job.priority(8) } else { job };
        if n % 10 == 3 { job.delay(Duration::from_millis(30)) } else { job }
    });
    let mut ids = Vec::new();
    for lot in many.collect::<Vec<_>>().chunks(500) {
        let stored = jobs.dispatch_many(lot.to_vec()).await.unwrap();
        ids.extend(stored.into_iter().map(|one| one.unwrap().job.id));
    }
    let mut done = client.run(&["work", &count().to_string()]);
    done.sort();
    let mut wanted = ids.clone();
    wanted.sort();
    assert_eq!(done, wanted, "{} did each once", client.name);
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(status(jobs, id).await, "completed");
        assert_eq!(result(jobs, id).await["data"], json!({"twice": n * 2, "by": client.name}));
    }
    let stats = jobs.stats().await.unwrap();
    assert_eq!((stats.waiting, stats.active, stats.delayed, stats.workers), (0, 0, 0, 0));
}

/// The same job from both sides is the same bytes under the same keys.
async fn bytes_are_equal(client: &Client, store: &Arc<dyn Store>) {
    let id = client.run(&["dispatch", "2"]).remove(1);
    let theirs = text(&**store, &["GET", &format!("bridge:jobs:data:{id}")]).await.unwrap();
    let job: Json = serde_json::from_str(&theirs).unwrap();
    let clock = FakeClock::at(job["createdAt"].as_u64().unwrap());
    let mirror =
        Jobs::new(store.clone(), Arc::new(clock), "mirror", Layout::Plain, Options::default());
    let payload = kernel::json::get(&theirs, "payload").unwrap().get();
    send(&mirror.unwrap(), NewJob::raw("double", payload).id(&id)).await;
    let ours = text(&**store, &["GET", &format!("mirror:jobs:data:{id}")]).await.unwrap();
    assert_eq!(ours, theirs);
    for (ns, at) in [("bridge", "1"), ("mirror", "0")] {
        assert_eq!(
            text(&**store, &["GET", &format!("{ns}:jobs:status:{id}")]).await.unwrap(),
            "waiting"
        );
        assert_eq!(
            text(&**store, &["LINDEX", &format!("{ns}:jobs:waiting"), at]).await.unwrap(),
            id
        );
    }
}

/// They claim and die; the job comes back when their lock has run out.
async fn they_die(client: &Client, store: &Arc<dyn Store>) {
    let clock = FakeClock::at(crate::hands::NOW);
    let jobs = Jobs::new(
        store.clone(),
        Arc::new(clock.clone()),
        "bridge",
        Layout::Plain,
        Options::default(),
    );
    let jobs = jobs.unwrap();
    let id = client.run(&["claim"]).remove(0);
    assert_eq!(jobs.stats().await.unwrap().active, 1);
    until("the lock has run out", || async {
        text(&**store, &["GET", &format!("bridge:jobs:lock:{id}")]).await.is_none()
    })
    .await;
    let mut scheduler = Scheduler::new(&jobs, Arc::default());
    scheduler.round().await;
    clock.advance(Duration::from_secs(10));
    scheduler.round().await;
    assert_eq!(
        (status(&jobs, &id).await, jobs.stats().await.unwrap().active),
        ("waiting".into(), 0)
    );
}

fn with_client(name: &'static str) {
    for program in programs() {
        let lent = Lent::take(program);
        let client = Client::new(name, lent.server().port());
        let url = lent.server().url();
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let count = |text| serde_json::from_str::<Vec<Json>>(text).unwrap().len();
            let all = count(jobs::export::VECTORS) + count(jobs::export::OWN_VECTORS);
            assert_eq!(client.run(&["vectors"]), [all.to_string()]);
            let store = testkit::open(&url).await;
            crate::hands::ask(&*store, &["FLUSHALL"]).await;
            let jobs = queue(&store);
            they_dispatch(&client, &jobs).await;
            we_dispatch(&client, &jobs).await;
            bytes_are_equal(&client, &store).await;
            they_die(&client, &store).await;
        });
    }
}

#[test]
fn node_shares_the_queue_in_both_directions() {
    with_client("node");
}

#[test]
fn python_shares_the_queue_in_both_directions() {
    with_client("python");
}
