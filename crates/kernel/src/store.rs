//! The one way to the data. A [`Store`] is object-safe and held as `Arc<dyn Store>`, so modules carry no
//! type parameter; dispatch costs nothing measurable beside building the command. Implementations live in
//! `link` (embedded, standalone, Sentinel, Cluster) and `testkit` (recorder, faults).
//!
//! Every call has a [`Deadline`] and never outlives it. A call on the embedded engine is ready at once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use redis::{Cmd, Value};

use crate::fault::Fault;
use crate::packed::Packed;
use crate::said::Said;
use crate::script::Script;
use crate::step::{Step, Stepped};
use crate::store_words;

/// The result of a store call: ready already, or to be awaited.
#[must_use = "a store call does nothing until it is awaited"]
pub enum Answer<'a, T> {
    /// The embedded engine answers at once. Taken when polled.
    Ready(Option<Result<T, Fault>>),
    /// A network answers later.
    Later(BoxFuture<'a, Result<T, Fault>>),
}

impl<T> Answer<'_, T> {
    /// An answer that is here already.
    pub fn ready(result: Result<T, Fault>) -> Self {
        Answer::Ready(Some(result))
    }
}

impl<T: Unpin> Future for Answer<'_, T> {
    type Output = Result<T, Fault>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Answer::Ready(result) => Poll::Ready(result.take().expect("an answer is polled once")),
            Answer::Later(future) => future.as_mut().poll(cx),
        }
    }
}

/// The instant after which a caller no longer waits. Monotonic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline that is `wait` from now.
    pub fn after(wait: Duration) -> Self {
        Deadline(Instant::now() + wait)
    }

    /// The time left; zero once the deadline has passed.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The instant itself.
    pub fn instant(self) -> Instant {
        self.0
    }
}

/// A channel or pattern to listen to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// `SUBSCRIBE`.
    Channel(String),
    /// `PSUBSCRIBE`.
    Pattern(String),
}

/// An item that a subscription yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A published payload.
    Payload {
        /// The channel it was published on.
        channel: String,
        /// The bytes of the payload.
        payload: Vec<u8>,
    },
    /// The connection was lost and is back: what was published between is gone, look again.
    Resumed,
}

/// Reads and writes the data. All methods are safe to call from many tasks at once.
pub trait Store: Send + Sync + 'static {
    /// One command. An error reply is [`Fault::Refused`].
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value>;

    /// Many commands in one round trip, not atomic; each has its own result.
    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>>;

    /// One script by its SHA, loaded when the server does not know it. All keys share a slot.
    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value>;

    /// One compare-and-write. After [`Fault::Unknown`] look before repeating. A repeated step that expects
    /// the same text is safe, because it finds the document changed.
    fn step<'a>(&'a self, step: &'a Step, by: Deadline) -> Answer<'a, Stepped> {
        Answer::Later(Box::pin(step.run_script(self, by)))
    }

    /// A connection of one's own, for `WATCH` and for blocking calls. `key` names the Cluster node.
    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>>;

    /// Listens; the stream heals by itself and says [`Message::Resumed`] after a gap.
    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>>;

    /// The facts found at the other end, and the state of the connection.
    fn status(&self) -> Status;
}

/// A connection that belongs to one caller, in order.
pub trait Session: Send {
    /// One command; a blocking one (`BLPOP`, `XREAD BLOCK`) may use all of the deadline.
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value>;

    /// Sends `MULTI` and these commands, which wait at the server: nothing happens before
    /// [`Session::exec`], which is the next call, and nothing at all when the session is dropped
    /// instead.
    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()>;

    /// `EXEC`: what was queued happens. `None` when a watched key changed.
    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>>;
}

/// The kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The engine inside the process.
    Embedded,
    /// One Redis or Valkey server.
    Standalone,
    /// A primary found through Sentinel.
    Sentinel,
    /// Redis or Valkey Cluster.
    Cluster,
}

/// A store as `/readyz`, metrics and the dashboard show it. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Status {
    /// Embedded, standalone, Sentinel or Cluster.
    pub kind: Kind,
    /// The address without its password: a directory, `memory`, or host and port.
    pub address: String,
    /// Program and version, such as `redis 7.0.15`.
    pub server: String,
    /// Whether the last try to reach it worked.
    pub up: bool,
    /// Unix milliseconds of the last change of `up`.
    pub since_ms: u64,
    /// Why it is down, when it is.
    pub reason: Option<String>,
    /// Why it answers and refuses every write, such as a full disk; none while it takes them.
    pub refuses_writes: Option<String>,
    /// How often a connection was opened anew.
    pub reconnects: u64,
    /// How it keeps the data: `append-only log, synced every second`, `none`.
    pub persistence: Said,
    /// `maxmemory-policy`.
    pub eviction: String,
    /// Settings that will hurt, each with what to do about it.
    pub warnings: Vec<Said>,
}

impl Status {
    /// The reason why requests cannot be done, as a sentence without its full stop; `None` while
    /// everything works. It names no address.
    pub fn trouble(&self) -> Option<Said> {
        if !self.up {
            let busy = self.reason.as_deref().and_then(|why| why.strip_prefix(Fault::BUSY));
            return Some(match busy {
                Some(why) => store_words::BUSY.say().with("why", why.trim_start()),
                None => store_words::AWAY.say(),
            });
        }
        let why = self.refuses_writes.as_deref()?;
        Some(store_words::REFUSES.say().with("why", why))
    }
}
