//! A server with jobs, a client, and a worker by hand.

use std::sync::Arc;

use jobs::{Claimed, Done, Ending, Failure, Jobs, Options, WorkerFacts};
use kernel::keyspace::Layout;
use kernel::{Kind, Store, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Running, start};

/// The namespace whose keys work on every store of the tests.
pub(crate) const NS: &str = "{bridge}";

pub(crate) struct Queue {
    pub(crate) running: Running,
    pub(crate) jobs: Jobs,
    pub(crate) worker: WorkerFacts,
}

/// A server without scheduler, so that nothing moves by itself.
pub(crate) async fn queue(store: Arc<dyn Store>) -> Queue {
    queue_with(store, &[]).await
}

pub(crate) async fn queue_with(store: Arc<dyn Store>, settings: &[(&str, &str)]) -> Queue {
    let layout = if store.status().kind == Kind::Cluster { "tagged" } else { "plain" };
    let mut all = vec![
        ("modules", "jobs"),
        ("jobs.namespaces", "{bridge},{other}"),
        ("jobs.scheduler", "false"),
        ("demo", "off"),
        ("layout", layout),
    ];
    all.extend(settings);
    let running = start(Arc::clone(&store), &all).await;
    let layout = if layout == "tagged" { Layout::Tagged } else { Layout::Plain };
    let clock = Arc::new(SystemClock::new());
    let jobs = Jobs::new(store, clock, NS, layout, Options::default()).unwrap();
    let worker = WorkerFacts::new("w1").unwrap();
    Queue { running, jobs, worker }
}

impl Queue {
    /// Status and body.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let mut request = self.running.ask(method, path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or(Value::Null))
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.ask(Method::GET, path, None).await
    }

    /// Dispatches and gives the id.
    pub(crate) async fn dispatch(&self, body: Value) -> String {
        let (status, made) = self.post("/api/jobs", body).await;
        assert_eq!(status, 201, "{made}");
        made["jobId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn status_of(&self, id: &str) -> String {
        let (status, job) = self.get(&format!("/api/jobs/{id}")).await;
        assert_eq!(status, 200, "{job}");
        job["status"].as_str().unwrap().to_owned()
    }

    /// Claims the next job as worker `w1`.
    pub(crate) async fn claim(&self) -> Claimed {
        self.jobs.claim(&self.worker, 1).await.unwrap().jobs.pop().expect("a job to claim")
    }

    /// Claims the next job and ends it well.
    pub(crate) async fn complete(&self, data: &str) -> String {
        let job = self.claim().await.job;
        let id = job.id.clone();
        self.finish(job, Ending::Completed { data: Some(data.to_owned()) }).await;
        id
    }

    /// Claims the next job and lets it die.
    pub(crate) async fn kill(&self, name: &str) -> String {
        let job = self.claim().await.job;
        let id = job.id.clone();
        self.finish(job, Ending::Dead { failure: Failure::new(name, "it broke") }).await;
        id
    }

    async fn finish(&self, job: jobs::Job, ending: Ending) {
        let done = Done { job, ending, took_ms: 7, progressed: false };
        self.jobs.finish(&self.worker, done).await.unwrap();
    }

    /// A dead letter of this type with this error.
    pub(crate) async fn dead(&self, kind: &str, error: &str) -> String {
        self.dispatch(json!({ "type": kind })).await;
        self.kill(error).await
    }
}
