//! Describes a worker and registers it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::cx::JobCx;
use super::failure::JobError;
use super::handler::{Handler, Job, JobType, Layer};
use super::phase::Phases;
use super::{Shared, Worker};
use crate::error::{Error, refusal};
use crate::metrics::Metrics;
use crate::model::dice::Dice;
use crate::model::{Registration, WorkerFacts, check_type, process_name};
use crate::store::Jobs;

type Make = Box<dyn FnOnce(&Metrics) -> Handler + Send>;

/// A worker in the making.
#[must_use = "a worker does nothing until it is built and run"]
pub struct Builder {
    jobs: Jobs,
    server_id: Option<String>,
    suffix: bool,
    stack: String,
    region: Option<String>,
    capabilities: Vec<String>,
    concurrency: usize,
    claim_ahead: bool,
    grace: Duration,
    chores: bool,
    seed: Option<u64>,
    handlers: Vec<(String, Make)>,
    layers: Vec<Arc<dyn Layer>>,
    metrics: Arc<Metrics>,
}

impl Builder {
    pub(super) fn new(jobs: &Jobs) -> Builder {
        Builder {
            jobs: jobs.clone(),
            server_id: None,
            suffix: in_container(),
            stack: "rust".to_owned(),
            region: None,
            capabilities: Vec::new(),
            concurrency: 1,
            claim_ahead: true,
            grace: Duration::from_secs(25),
            chores: true,
            seed: None,
            handlers: Vec::new(),
            layers: Vec::new(),
            metrics: Arc::default(),
        }
    }

    /// Sets the worker's id, one per process; host name and process id otherwise. It is then taken
    /// as it is.
    pub fn server_id(mut self, id: impl Into<String>) -> Self {
        self.server_id = Some(id.into());
        self.suffix = false;
        self
    }

    /// Whether something random is put behind the id, for containers that all have the same name. On in a
    /// container unless an id is given.
    pub fn random_suffix(mut self, on: bool) -> Self {
        self.suffix = on;
        self
    }

    /// Sets the worker's stack, `rust` otherwise.
    pub fn stack(mut self, stack: impl Into<String>) -> Self {
        self.stack = stack.into();
        self
    }

    /// Sets the worker's region.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the worker's capabilities.
    pub fn capabilities<S: Into<String>>(mut self, all: impl IntoIterator<Item = S>) -> Self {
        self.capabilities = all.into_iter().map(Into::into).collect();
        self
    }

    /// How many jobs it runs at once; 1 otherwise. A handler that blocks its thread belongs into
    /// [`Builder::handle_blocking`].
    pub fn concurrency(mut self, slots: usize) -> Self {
        self.concurrency = slots;
        self
    }

    /// Whether a worker with one slot claims the next jobs while its own are quick, so that a trip
    /// to the store does not stand between any two; `true` otherwise. Jobs run one at a time and in
    /// their order all the same.
    pub fn claim_ahead(mut self, prefetch: bool) -> Self {
        self.claim_ahead = prefetch;
        self
    }

    /// How long running jobs may go on after a stop; 25 seconds otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Whether it also moves due jobs and takes back those of dead workers. On unless switched off.
    pub fn chores(mut self, on: bool) -> Self {
        self.chores = on;
        self
    }

    /// Sets the seed of the worker's jitter; the operating system gives it otherwise.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the metrics that the worker counts in.
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Runs jobs of a type. The payload is read as `P`; one that cannot be is dead at once.
    pub fn handle<P, R, F, Fut>(mut self, kind: impl Into<String>, run: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: Fn(Job<P>, JobCx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, JobError>> + Send + 'static,
    {
        let kind = kind.into();
        let name = kind.clone();
        let make: Make = Box::new(move |metrics| Handler::new(metrics.of(&name), run));
        self.handlers.push((kind, make));
        self
    }

    /// The same for a payload that knows its type.
    pub fn on<P, R, F, Fut>(self, run: F) -> Self
    where
        P: JobType,
        R: Serialize + 'static,
        F: Fn(Job<P>, JobCx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, JobError>> + Send + 'static,
    {
        self.handle(P::TYPE, run)
    }

    /// A handler that blocks its thread: computes long, or calls what is not asynchronous. It runs on a
    /// thread where that hurts nobody; a time limit ends the attempt, not the thread.
    pub fn handle_blocking<P, R, F>(mut self, kind: impl Into<String>, run: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: Fn(Job<P>, JobCx) -> Result<R, JobError> + Send + Sync + 'static,
    {
        let kind = kind.into();
        let name = kind.clone();
        let make: Make = Box::new(move |metrics| Handler::blocking(metrics.of(&name), run));
        self.handlers.push((kind, make));
        self
    }

    /// Wraps every attempt; the first layer is the outermost.
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.push(Arc::new(layer));
        self
    }

    /// Registers the worker. Refuses an id that a living process has, and what cannot work. A predecessor that is
    /// known to be dead makes room at once: its process is over on this machine, or it does not answer for two seconds.
    pub async fn build(self) -> Result<Worker, Error> {
        if self.concurrency == 0 {
            let sentence = "concurrency must be 1 or more";
            return Err(Error::invalid(
                refusal::program::INVALID_CONCURRENCY,
                "concurrency",
                sentence,
            ));
        }
        if self.handlers.is_empty() {
            let sentence = "a worker needs a handler: add one with handle";
            return Err(Error::invalid(refusal::program::NO_HANDLERS, "handlers", sentence));
        }
        let mut handlers = HashMap::new();
        for (kind, make) in self.handlers {
            check_type(&kind)?;
            handlers.insert(kind, make(&self.metrics));
        }
        let hostname = hostname();
        let pid = std::process::id();
        let mut server_id = self.server_id.unwrap_or_else(|| default_id(&hostname, pid));
        if self.suffix {
            let random = uuid::Uuid::new_v4().simple().to_string();
            server_id = format!("{server_id}-{}", &random[..8]);
        }
        let mut types: Vec<&str> = handlers.keys().map(String::as_str).collect();
        types.sort_unstable();
        let mut facts = WorkerFacts::new(server_id)?
            .stack(self.stack)
            .capabilities(self.capabilities)
            .types(types);
        facts.region = self.region;
        let registration = Registration {
            pid,
            hostname,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            concurrency: u32::try_from(self.concurrency).unwrap_or(u32::MAX),
            started_at: self.jobs.now_ms(),
            process: process_name(pid),
        };
        self.jobs.register(&facts, &registration).await?;
        let shared = Arc::new(Shared {
            jobs: self.jobs,
            facts: Arc::new(facts),
            handlers,
            layers: self.layers,
            concurrency: self.concurrency,
            claim_ahead: self.claim_ahead,
            running: parking_lot::Mutex::default(),
            wake: Notify::new(),
            phase: Phases::new(),
            unsure: std::sync::atomic::AtomicBool::new(false),
            asking: tokio::sync::RwLock::default(),
            metrics: self.metrics,
            dice: self.seed.map_or_else(Dice::any, Dice::seeded),
            registration,
        });
        Ok(Worker { shared, grace: self.grace, chores: self.chores })
    }
}

/// The machine's name as far as it can be in an id.
pub(crate) fn hostname() -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let named = named.trim();
    if named.is_empty() { "localhost".to_owned() } else { named.to_owned() }
}

pub(crate) fn default_id(hostname: &str, pid: u32) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let host: String = hostname.chars().map(plain).take(100).collect();
    format!("{host}-{pid}")
}

fn in_container() -> bool {
    let there = |path: &str| std::path::Path::new(path).exists();
    there("/.dockerenv")
        || there("/run/.containerenv")
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}
