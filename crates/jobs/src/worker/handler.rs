//! Handlers: typed functions behind one shape, and the layers around them.

use std::any::TypeId;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use kernel::numbers::{Dialect, to_json};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cx::JobCx;
use super::failure::JobError;
use crate::metrics::TypeMetrics;
use crate::model::{self, Failure, NewJob};

/// The result of an attempt: raw JSON, or nothing, or an error.
pub type Attempt = Result<Option<String>, JobError>;

/// A payload that knows its job type.
pub trait JobType: Serialize + DeserializeOwned + Send + 'static {
    /// The `type` of its jobs.
    const TYPE: &'static str;
}

impl NewJob {
    /// A job of the payload's own type.
    pub fn of<T: JobType>(payload: &T) -> NewJob {
        NewJob::new(T::TYPE, payload)
    }
}

/// A job in a handler's hands: its payload, and by dereference all that is stored of it.
#[derive(Debug)]
pub struct Job<P> {
    /// The payload, read.
    pub payload: P,
    stored: Arc<model::Job>,
}

impl<P> Deref for Job<P> {
    type Target = model::Job;

    fn deref(&self) -> &model::Job {
        &self.stored
    }
}

type Run = dyn Fn(Arc<model::Job>, JobCx) -> BoxFuture<'static, Attempt> + Send + Sync;

/// A handler of one type.
pub(crate) struct Handler {
    run: Box<Run>,
    pub(crate) metrics: Arc<TypeMetrics>,
    /// Whether it kept its thread for long the last time it began.
    slow: AtomicBool,
}

impl Handler {
    /// Whether it may begin on the thread that serves others too.
    pub(crate) fn is_quick(&self) -> bool {
        !self.slow.load(Ordering::Relaxed)
    }

    pub(crate) fn set_quick(&self, quick: bool) {
        if self.is_quick() != quick {
            self.slow.store(!quick, Ordering::Relaxed);
        }
    }

    pub(crate) fn new<P, R, F, Fut>(metrics: Arc<TypeMetrics>, run: F) -> Handler
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: Fn(Job<P>, JobCx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, JobError>> + Send + 'static,
    {
        let run = Arc::new(run);
        Handler {
            metrics,
            slow: AtomicBool::new(false),
            run: Box::new(move |stored, cx| {
                let run = run.clone();
                Box::pin(async move { answer(&run(read(stored)?, cx).await?) })
            }),
        }
    }

    /// One that blocks its thread, run where that hurts nobody.
    pub(crate) fn blocking<P, R, F>(metrics: Arc<TypeMetrics>, run: F) -> Handler
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: Fn(Job<P>, JobCx) -> Result<R, JobError> + Send + Sync + 'static,
    {
        let run = Arc::new(run);
        Handler {
            metrics,
            slow: AtomicBool::new(false),
            run: Box::new(move |stored, cx| {
                let run = run.clone();
                Box::pin(async move {
                    let work = move || answer(&run(read(stored)?, cx)?);
                    match tokio::task::spawn_blocking(work).await {
                        Ok(attempt) => attempt,
                        Err(error) if error.is_panic() => {
                            std::panic::resume_unwind(error.into_panic())
                        }
                        Err(_) => Err(JobError::retry("Stopped", "the program is ending")),
                    }
                })
            }),
        }
    }
}

fn read<P: DeserializeOwned>(stored: Arc<model::Job>) -> Result<Job<P>, JobError> {
    // A payload that cannot be read now cannot be read later either.
    let payload = serde_json::from_str(stored.payload()).map_err(|error| {
        JobError::Dead(Failure::new("InvalidPayload", format!("the payload: {error}")))
    })?;
    Ok(Job { payload, stored })
}

/// The seed leaves `data` out when a handler returns nothing.
fn answer<R: Serialize + 'static>(value: &R) -> Attempt {
    if TypeId::of::<R>() == TypeId::of::<()>() {
        return Ok(None);
    }
    let text = to_json(value, Dialect::JavaScript).map_err(|error| {
        JobError::Dead(Failure::new("InvalidResult", format!("the result is no JSON: {error}")))
    })?;
    Ok(Some(text))
}

/// Wraps every attempt: look at the call, change it, measure it, or do not run it at all.
pub trait Layer: Send + Sync + 'static {
    /// Runs `next`, or answers itself.
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Attempt>;
}

/// One attempt on its way to the handler.
pub struct Call {
    /// The job as it is stored.
    pub job: Arc<model::Job>,
    /// The job's context.
    pub cx: JobCx,
}

/// The layers that are left, and the handler.
pub struct Next<'a> {
    layers: &'a [Arc<dyn Layer>],
    handler: &'a Handler,
}

impl<'a> Next<'a> {
    pub(crate) fn new(layers: &'a [Arc<dyn Layer>], handler: &'a Handler) -> Next<'a> {
        Next { layers, handler }
    }

    /// Goes on.
    pub fn run(self, call: Call) -> BoxFuture<'a, Attempt> {
        match self.layers.split_first() {
            Some((layer, layers)) => layer.call(call, Next { layers, handler: self.handler }),
            None => (self.handler.run)(call.job, call.cx),
        }
    }
}

struct Timeout(Duration);

impl Layer for Timeout {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Attempt> {
        let clock = call.cx.clock();
        Box::pin(async move {
            tokio::select! {
                attempt = next.run(call) => attempt,
                () = clock.sleep(self.0) => Err(timed_out(self.0)),
            }
        })
    }
}

/// Ends an attempt after that long as an error named `Timeout`. A job's own `timeoutMs` counts beside it.
pub fn timeout(limit: Duration) -> impl Layer {
    Timeout(limit)
}

pub(crate) fn timed_out(limit: Duration) -> JobError {
    JobError::retry("Timeout", format!("the handler took longer than {limit:?}"))
}

struct Function<F>(F);

impl<F> Layer for Function<F>
where
    F: for<'a> Fn(Call, Next<'a>) -> BoxFuture<'a, Attempt> + Send + Sync + 'static,
{
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Attempt> {
        (self.0)(call, next)
    }
}

/// A layer from a function.
pub fn layer_fn<F>(function: F) -> impl Layer
where
    F: for<'a> Fn(Call, Next<'a>) -> BoxFuture<'a, Attempt> + Send + Sync + 'static,
{
    Function(function)
}
