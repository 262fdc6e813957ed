//! What tests of workers and schedulers share.

use std::sync::Arc;
use std::time::Duration;

use jobs::worker::{Builder, Stopper, Worker};
use jobs::{Error, Jobs, NewJob, Options};
use kernel::keyspace::Layout;
use kernel::{Clock, Deadline, FakeClock, Store, SystemClock, Value, reply};
use serde_json::Value as Json;

/// A time of this century, for fake clocks.
pub(crate) const NOW: u64 = 1_794_768_259_299;

/// The namespace of all of them; it works on a Cluster as well.
pub(crate) const NS: &str = "{bridge}";

#[allow(clippy::field_reassign_with_default)] // it may grow, so it cannot be spelled out here
pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.lock_ttl_s = 5;
    options
}

pub(crate) fn queue_with(store: &Arc<dyn Store>, clock: Arc<dyn Clock>, options: Options) -> Jobs {
    Jobs::new(store.clone(), clock, NS, Layout::Plain, options).unwrap()
}

/// A queue whose time a test moves.
pub(crate) fn still(store: &Arc<dyn Store>) -> (Jobs, FakeClock) {
    let clock = FakeClock::at(NOW);
    (queue_with(store, Arc::new(clock.clone()), options()), clock)
}

/// A queue in real time.
pub(crate) fn live(store: &Arc<dyn Store>) -> Jobs {
    queue_with(store, Arc::new(SystemClock::new()), options())
}

pub(crate) async fn ask(store: &dyn Store, words: &[&str]) -> Value {
    let mut cmd = redis::cmd(words[0]);
    words[1..].iter().for_each(|word| {
        cmd.arg(*word);
    });
    let by = Deadline::after(Duration::from_secs(5));
    testkit::call_as_default(store, &cmd, by).await.unwrap()
}

pub(crate) async fn text(store: &dyn Store, words: &[&str]) -> Option<String> {
    reply::text(&ask(store, words).await).map(str::to_owned)
}

pub(crate) async fn int(store: &dyn Store, words: &[&str]) -> i64 {
    reply::int(&ask(store, words).await).unwrap_or(0)
}

pub(crate) async fn send(jobs: &Jobs, job: NewJob) -> String {
    jobs.dispatch(job).await.unwrap().job.id
}

pub(crate) async fn status(jobs: &Jobs, id: &str) -> String {
    let view = jobs.get(id).await.unwrap();
    view.and_then(|view| view.status).unwrap_or_else(|| "gone".to_owned())
}

pub(crate) async fn result(jobs: &Jobs, id: &str) -> Json {
    let view = jobs.get(id).await.unwrap().unwrap();
    view.result.map_or(Json::Null, |raw| serde_json::from_str(raw.get()).unwrap())
}

pub(crate) async fn error_name(jobs: &Jobs, id: &str) -> String {
    result(jobs, id).await["error"]["name"].as_str().unwrap_or_default().to_owned()
}

/// A worker that runs in the background until it is stopped.
pub(crate) struct Live {
    pub(crate) stopper: Stopper,
    task: tokio::task::JoinHandle<Result<(), Error>>,
}

impl Live {
    pub(crate) async fn start(builder: Builder) -> Live {
        Live::run(builder.build().await.unwrap())
    }

    pub(crate) fn run(worker: Worker) -> Live {
        let stopper = worker.stopper();
        Live { stopper, task: tokio::spawn(worker.run()) }
    }

    pub(crate) async fn stop(self) {
        self.stopper.stop();
        self.ended().await;
    }

    /// As a process ends that is killed: nothing is said to anybody.
    pub(crate) async fn dies(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub(crate) async fn ended(self) {
        testkit::within("the worker ends", self.task).await.unwrap().unwrap();
    }
}

pub(crate) use testkit::{eventually as until, eventually_in as until_in};
