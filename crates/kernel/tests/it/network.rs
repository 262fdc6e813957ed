//! A gate between the writer and its store: steps wait there, fail, or pass one by one, and all is noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::Store;
use parking_lot::Mutex;
use testkit::{How, Network, Sent, Weather};
use tokio::sync::Semaphore;

/// A gate that steps wait at while it is closed, with a log of what came.
pub(crate) struct Gate {
    closed: AtomicBool,
    passes: Semaphore,
    log: Mutex<Vec<&'static str>>,
    fails: Mutex<Vec<How>>,
}

impl Gate {
    /// An open gate before this store.
    pub(crate) fn before(store: Arc<dyn Store>) -> Arc<Network<Gate>> {
        let (closed, passes) = (AtomicBool::new(false), Semaphore::new(0));
        let gate = Gate { closed, passes, log: Mutex::default(), fails: Mutex::default() };
        Network::under(gate, store)
    }

    /// Steps wait from now on.
    pub(crate) fn close(&self) {
        self.passes.forget_permits(self.passes.available_permits());
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Lets one step pass.
    pub(crate) fn pass(&self) {
        self.passes.add_permits(1);
    }

    /// Lets all pass.
    pub(crate) fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
        self.passes.add_permits(1_000);
    }

    /// The next step fails.
    pub(crate) fn fail_next(&self, fate: How) {
        self.fails.lock().push(fate);
    }

    /// The steps that came to the gate so far.
    pub(crate) fn steps(&self) -> usize {
        self.log.lock().iter().filter(|what| **what == "step").count()
    }

    /// What came since this was last asked: reads and steps.
    pub(crate) fn take_log(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.log.lock())
    }
}

impl Weather for Gate {
    fn before(&self, sent: Sent) -> BoxFuture<'_, How> {
        async move {
            match sent {
                Sent::Other => return How::Arrives,
                Sent::Call => {
                    self.log.lock().push("read");
                    return How::Arrives;
                }
                Sent::Step => self.log.lock().push("step"),
            }
            if self.closed.load(Ordering::SeqCst) {
                self.passes.acquire().await.expect("a gate is never torn down").forget();
            }
            self.fails.lock().pop().unwrap_or(How::Arrives)
        }
        .boxed()
    }
}
