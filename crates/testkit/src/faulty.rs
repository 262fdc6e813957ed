//! A store that fails on demand: before anything is sent, after the effect but without the answer, or with
//! the request lost on the way; every n-th time, or the next time. Callers cannot tell the last two apart,
//! and must come out right in both.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Message, Packed, Script, Session, Status, Store, Topic, Value,
};
use parking_lot::Mutex;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// `Unavailable`: nothing was sent.
    NotSent,
    /// `Unknown`, and it was done.
    AnswerLost,
    /// `Unknown`, and it was not done.
    RequestLost,
}

#[derive(Default)]
struct Plan {
    every: Option<(u64, How)>,
    next: Option<How>,
    delay: Duration,
    calls: u64,
    failed: u64,
}

/// Wraps a store; without a plan it passes everything through.
pub struct Faulty {
    store: Arc<dyn Store>,
    plan: Arc<Mutex<Plan>>,
}

impl Faulty {
    /// Fails nothing yet.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Faulty { store, plan: Arc::default() })
    }

    /// Fails every n-th call from now on (sessions' calls count too); 0 stops that.
    pub fn fail_every(&self, n: u64, how: How) {
        let mut plan = self.plan.lock();
        plan.every = (n > 0).then_some((n, how));
        plan.calls = 0;
    }

    /// Fails the next call.
    pub fn fail_next(&self, how: How) {
        self.plan.lock().next = Some(how);
    }

    /// Waits that long before every call.
    pub fn delay(&self, delay: Duration) {
        self.plan.lock().delay = delay;
    }

    /// How many calls were made to fail.
    pub fn failed(&self) -> u64 {
        self.plan.lock().failed
    }
}

async fn run<T>(plan: &Mutex<Plan>, call: BoxFuture<'_, Result<T, Fault>>) -> Result<T, Fault> {
    let (how, delay) = {
        let mut plan = plan.lock();
        plan.calls += 1;
        let due = plan.every.filter(|(n, _)| plan.calls.is_multiple_of(*n)).map(|(_, how)| how);
        let how = plan.next.take().or(due);
        plan.failed += u64::from(how.is_some());
        (how, plan.delay)
    };
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    match how {
        None => call.await,
        Some(How::NotSent) => Err(Fault::Unavailable("testkit: not sent".to_owned())),
        Some(How::RequestLost) => Err(Fault::Unknown("testkit: request lost".to_owned())),
        Some(How::AnswerLost) => {
            // What the store itself could not do is its own fault, not ours.
            call.await?;
            Err(Fault::Unknown("testkit: answer lost".to_owned()))
        }
    }
}

impl Store for Faulty {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let call = Box::pin(async move { self.store.call(cmd, by).await });
        Answer::Later(Box::pin(run(&self.plan, call)))
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        let call = Box::pin(async move { self.store.pipeline(cmds, by).await });
        Answer::Later(Box::pin(run(&self.plan, call)))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        let call = Box::pin(async move { self.store.script(script, keys, args, by).await });
        Answer::Later(Box::pin(run(&self.plan, call)))
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let session = self.store.session(key, by).await?;
            let plan = Arc::clone(&self.plan);
            Ok(Box::new(FaultySession { session, plan }) as Box<dyn Session>)
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

struct FaultySession {
    session: Box<dyn Session>,
    plan: Arc<Mutex<Plan>>,
}

impl Session for FaultySession {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let FaultySession { session, plan } = self;
        let call = Box::pin(async move { session.call(cmd, by).await });
        Answer::Later(Box::pin(run(plan, call)))
    }

    /// Never fails: nothing has happened yet.
    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()> {
        self.session.queue(cmds, by)
    }

    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>> {
        let FaultySession { session, plan } = self;
        let call = Box::pin(async move { session.exec(by).await });
        Answer::Later(Box::pin(run(plan, call)))
    }
}
