//! A store behind a network that a test holds in its hands: calls wait, get lost or arrive late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Message, Script, Session, Status, Step, Stepped, Store, Topic,
    Value,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrives, and so does its answer.
    Arrives,
    /// `Unavailable`: nothing was sent.
    NotSent,
    /// `Unknown`, and it was not done.
    RequestLost,
    /// `Unknown`, and it was done.
    AnswerLost,
    /// `Unknown`, and it is done after so many turns of the runtime.
    Late(u64),
}

/// What happens to a call on its way.
pub(crate) trait Weather: Send + Sync + 'static {
    /// Before it reaches the store; `what` is `read` or a step as text. Says what becomes of the call.
    fn before(&self, what: String) -> BoxFuture<'_, Fate>;

    /// Before its answer reaches the caller.
    fn after(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// A store behind such a network. Only single commands and steps meet the weather.
pub(crate) struct Network<W> {
    store: Arc<dyn Store>,
    pub(crate) weather: W,
    late: Mutex<Vec<JoinHandle<()>>>,
}

impl<W: Weather> Network<W> {
    pub(crate) fn new(store: Arc<dyn Store>, weather: W) -> Arc<Self> {
        Arc::new(Network { store, weather, late: Mutex::default() })
    }

    /// Waits until nothing is on its way any more.
    pub(crate) async fn quiet(&self) {
        let late = std::mem::take(&mut *self.late.lock());
        for one in late {
            one.await.expect("a late step ends");
        }
    }

    async fn carry<T>(
        &self,
        fate: Fate,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let lost = || Err(Fault::Unknown("network: lost".to_owned()));
        let answer = match fate {
            Fate::NotSent => return Err(Fault::Unavailable("network: not sent".to_owned())),
            Fate::RequestLost | Fate::Late(_) => lost(),
            Fate::AnswerLost => call.await.and_then(|_| lost()),
            Fate::Arrives => call.await,
        };
        self.weather.after().await;
        answer
    }

    /// The step arrives when its sender has given it up.
    fn deliver_late(&self, step: Step, by: Deadline, turns: u64) {
        let store = self.store.clone();
        let late = tokio::spawn(async move {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            let _ = store.step(&step, by).await;
        });
        self.late.lock().push(late);
    }
}

impl<W: Weather> Store for Network<W> {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let call = async move {
            let fate = self.weather.before("read".to_owned()).await;
            // The embedded store acts when it is called, not when it is awaited.
            self.carry(fate, async { self.store.call(cmd, by).await }).await
        };
        Answer::Later(call.boxed())
    }

    fn step<'a>(&'a self, step: &'a Step, by: Deadline) -> Answer<'a, Stepped> {
        let call = async move {
            let fate = self.weather.before(format!("{step:?}")).await;
            if let Fate::Late(turns) = fate {
                self.deliver_late(step.clone(), by, turns);
            }
            self.carry(fate, async { self.store.step(step, by).await }).await
        };
        Answer::Later(call.boxed())
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        self.store.pipeline(cmds, by)
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        self.store.script(script, keys, args, by)
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        self.store.session(key, by)
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        self.store.subscribe(topics, by)
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}

/// A gate that steps wait at while it is closed, with a log of what came.
pub(crate) struct Gate {
    closed: AtomicBool,
    passes: Semaphore,
    log: Mutex<Vec<String>>,
    fails: Mutex<Vec<Fate>>,
}

impl Gate {
    /// An open gate before this store.
    pub(crate) fn before(store: Arc<dyn Store>) -> Arc<Network<Gate>> {
        let (closed, passes) = (AtomicBool::new(false), Semaphore::new(0));
        let gate = Gate { closed, passes, log: Mutex::default(), fails: Mutex::default() };
        Network::new(store, gate)
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
    pub(crate) fn fail_next(&self, fate: Fate) {
        self.fails.lock().push(fate);
    }

    /// The steps that came to the gate so far.
    pub(crate) fn steps(&self) -> usize {
        self.log.lock().iter().filter(|what| *what != "read").count()
    }

    /// What came since this was last asked: reads and steps.
    pub(crate) fn take_log(&self) -> Vec<&'static str> {
        let log = std::mem::take(&mut *self.log.lock());
        log.iter().map(|what| if what == "read" { "read" } else { "step" }).collect()
    }
}

impl Weather for Gate {
    fn before(&self, what: String) -> BoxFuture<'_, Fate> {
        async move {
            let is_step = what != "read";
            self.log.lock().push(what);
            if is_step && self.closed.load(Ordering::SeqCst) {
                self.passes.acquire().await.expect("a gate is never torn down").forget();
            }
            let fails = if is_step { self.fails.lock().pop() } else { None };
            fails.unwrap_or(Fate::Arrives)
        }
        .boxed()
    }
}
