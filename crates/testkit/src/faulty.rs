//! A store behind a network that a test holds in its hands. A [`Weather`] decides what becomes of each call: it arrives,
//! is not sent, is lost on the way or on the way back, or arrives when its sender has given it up. [`Faulty`] is the plain
//! one, which fails every n-th call, or the next. Callers cannot tell a lost request from a lost answer, and must come out
//! right in both cases.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Message, Packed, Script, Session, Status, Step, Stepped, Store,
    Topic, Value,
};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

/// How a call fails, or that it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It arrives, and so does its answer.
    Arrives,
    /// `Unavailable`: nothing was sent.
    NotSent,
    /// `Unknown`, and it was done.
    AnswerLost,
    /// `Unknown`, and it was not done.
    RequestLost,
    /// `Unknown`, and it is done after so many turns of the runtime. Only steps can be late; other calls are lost.
    Late(u64),
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// A single command.
    Call,
    /// A step.
    Step,
    /// A pipeline, a script, or a call of a session.
    Other,
}

/// The decisions about calls on their way.
pub trait Weather: Send + Sync + 'static {
    /// Before a call reaches the store.
    fn before(&self, sent: Sent) -> BoxFuture<'_, How>;

    /// Before its answer reaches the caller.
    fn after(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// A store behind such a network.
pub struct Network<W> {
    store: Arc<dyn Store>,
    /// The decisions.
    pub weather: Arc<W>,
    late: Mutex<Vec<JoinHandle<()>>>,
}

impl<W: Weather> Network<W> {
    /// A store behind this weather.
    pub fn under(weather: W, store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Network { store, weather: Arc::new(weather), late: Mutex::default() })
    }

    /// Waits until nothing is on its way any more.
    pub async fn quiet(&self) {
        let late = std::mem::take(&mut *self.late.lock());
        for one in late {
            one.await.expect("a late step ends");
        }
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

/// Lets a call meet its end. The embedded store acts when it is called, not when it is awaited: `call` asks it inside.
async fn carry<T>(
    weather: &impl Weather,
    how: How,
    call: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let lost = || Err(Fault::Unknown("testkit: lost".to_owned()));
    let answer = match how {
        How::NotSent => return Err(Fault::Unavailable("testkit: not sent".to_owned())),
        How::RequestLost | How::Late(_) => lost(),
        // A failure of the store itself is its own fault, not ours.
        How::AnswerLost => call.await.and_then(|_| lost()),
        How::Arrives => call.await,
    };
    weather.after().await;
    answer
}

/// The whole way of a call.
fn send<'a, T: Send + 'a>(
    weather: &'a impl Weather,
    sent: Sent,
    call: impl Future<Output = Result<T, Fault>> + Send + 'a,
) -> Answer<'a, T> {
    Answer::Later(
        async move {
            let how = weather.before(sent).await;
            carry(weather, how, call).await
        }
        .boxed(),
    )
}

impl<W: Weather> Store for Network<W> {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        send(&*self.weather, Sent::Call, async move { self.store.call(cmd, by).await })
    }

    fn step<'a>(&'a self, step: &'a Step, by: Deadline) -> Answer<'a, Stepped> {
        let call = async move {
            let how = self.weather.before(Sent::Step).await;
            if let How::Late(turns) = how {
                self.deliver_late(step.clone(), by, turns);
            }
            carry(&*self.weather, how, async { self.store.step(step, by).await }).await
        };
        Answer::Later(call.boxed())
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        send(&*self.weather, Sent::Other, async move { self.store.pipeline(cmds, by).await })
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        let call = async move { self.store.script(script, keys, args, by).await };
        send(&*self.weather, Sent::Other, call)
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let session = self.store.session(key, by).await?;
            let weather = Arc::clone(&self.weather);
            Ok(Box::new(NetworkSession { session, weather }) as Box<dyn Session>)
        }))
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

struct NetworkSession<W> {
    session: Box<dyn Session>,
    weather: Arc<W>,
}

impl<W: Weather> Session for NetworkSession<W> {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let NetworkSession { session, weather } = self;
        send(&**weather, Sent::Other, async move { session.call(cmd, by).await })
    }

    /// Never fails: nothing has happened yet.
    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()> {
        self.session.queue(cmds, by)
    }

    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>> {
        let NetworkSession { session, weather } = self;
        send(&**weather, Sent::Other, async move { session.exec(by).await })
    }
}

/// A store that fails as planned; without a plan it passes everything through.
pub type Faulty = Network<Plan>;

/// The failures that are planned.
#[derive(Default)]
pub struct Plan(Mutex<Planned>);

#[derive(Default)]
struct Planned {
    every: Option<(u64, How)>,
    next: Option<How>,
    delay: Duration,
    calls: u64,
    failed: u64,
}

impl Weather for Plan {
    fn before(&self, _: Sent) -> BoxFuture<'_, How> {
        let (how, delay) = {
            let mut plan = self.0.lock();
            plan.calls += 1;
            let due = plan.every.filter(|(n, _)| plan.calls.is_multiple_of(*n)).map(|(_, how)| how);
            let how = plan.next.take().or(due);
            plan.failed += u64::from(how.is_some());
            (how.unwrap_or(How::Arrives), plan.delay)
        };
        async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            how
        }
        .boxed()
    }
}

impl Faulty {
    /// Fails nothing yet.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Network::under(Plan::default(), store)
    }

    /// Fails every n-th call from now on (sessions' calls count too); 0 stops that.
    pub fn fail_every(&self, n: u64, how: How) {
        let mut plan = self.weather.0.lock();
        plan.every = (n > 0).then_some((n, how));
        plan.calls = 0;
    }

    /// Fails the next call.
    pub fn fail_next(&self, how: How) {
        self.weather.0.lock().next = Some(how);
    }

    /// Waits that long before every call.
    pub fn delay(&self, delay: Duration) {
        self.weather.0.lock().delay = delay;
    }

    /// How many calls were made to fail.
    pub fn failed(&self) -> u64 {
        self.weather.0.lock().failed
    }
}
