//! The direct door: a command runs on the caller's thread and its reply is there when the call returns.
//! Each [`Connection`] is a session of its own (`WATCH`, `SELECT`, name); a clone is a new one.
//!
//! A caller on a runtime takes a [`Turn`] by [`Connection::try_turn`], which holds its thread for a moment at most, and
//! otherwise waits in the [`Connection::line`]. [`Connection::turn`] and what stands on it block the thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use smallvec::SmallVec;

use crate::core::client::Seat;
use crate::doors::lock::{EngineLock, WaitTicket};
use crate::doors::reply;
use crate::doors::unit::Unit;
use crate::shared::{Hold, SharedEngine};

/// A session by direct call.
pub struct Connection {
    shared: Hold,
    /// Taken with the first turn where the engine was busy at the beginning.
    seat: OnceLock<Seat>,
    /// The database of the last command.
    db: AtomicUsize,
    /// Of the program around the engine, which needs no login.
    owner: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.seat.get().map(|seat| seat.id);
        f.debug_struct("Connection").field("id", &id).finish_non_exhaustive()
    }
}

impl Clone for Connection {
    fn clone(&self) -> Self {
        Self::new(&self.shared, self.owner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.get() {
            self.shared.unseat(*seat);
        }
    }
}

impl Connection {
    pub(crate) fn new(shared: &Hold, owner: bool) -> Self {
        let (seat, db) = (OnceLock::new(), AtomicUsize::new(0));
        let connection = Connection { shared: shared.clone(), seat, db, owner };
        let _ = connection.try_turn();
        connection
    }

    /// The engine to oneself. Blocks the thread until whoever has it is done.
    pub fn turn(&self) -> Turn<'_> {
        self.begin(self.shared.lock())
    }

    /// The same, or nothing when somebody keeps the engine for longer than a moment, such as a long script. Then wait
    /// in the [`Connection::line`].
    pub fn try_turn(&self) -> Option<Turn<'_>> {
        Some(self.begin(self.shared.lock_soon()?))
    }

    /// A place among those who wait for the engine. Take it before the next try: then no call is missed.
    pub fn line(&self) -> WaitTicket<'_> {
        self.shared.line.stand()
    }

    fn begin<'a>(&'a self, mut inner: EngineLock<'a>) -> Turn<'a> {
        let seat = *self.seat.get_or_init(|| SharedEngine::seat(&mut inner, self.owner));
        Turn { connection: self, inner, seat }
    }

    /// Waits for the engine without holding a thread, then does `work` on it.
    async fn when_free<T>(&self, work: impl FnOnce(Turn<'_>) -> T) -> T {
        let line = self.line();
        loop {
            if let Some(turn) = self.try_turn() {
                return work(turn);
            }
            line.called().await;
        }
    }

    /// One command in a turn of its own, see [`Turn::call`]. Blocks the thread while somebody else has the engine.
    pub fn call(&self, cmd: &Cmd) -> Option<Value> {
        self.turn().call(cmd)
    }

    /// Commands in one turn, see [`Turn::call_all`]. Blocks the thread while somebody else has the engine.
    pub fn call_all<'a>(&self, cmds: impl Iterator<Item = &'a Cmd>) -> Option<Vec<Value>> {
        self.turn().call_all(cmds)
    }

    /// The reply of a command that blocked.
    pub async fn wait(&self) -> Value {
        loop {
            let look = |mut turn: Turn<'_>| match turn.take_reply() {
                Some(value) => Err(value),
                None => Ok(turn.wake()),
            };
            match self.when_free(look).await {
                Ok(Some(wake)) => wake.notified().await,
                Ok(None) => return Value::Nil,
                Err(value) => return value,
            }
        }
    }
}

/// The engine in one caller's hands: nothing else runs until this is dropped.
pub struct Turn<'a> {
    connection: &'a Connection,
    inner: EngineLock<'a>,
    seat: Seat,
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("id", &self.seat.id).finish_non_exhaustive()
    }
}

impl Turn<'_> {
    /// Runs a command now. `None` when it blocks (`BLPOP` on an empty list): await [`Connection::wait`].
    /// An error reply is a [`Value::ServerError`].
    pub fn call(&mut self, cmd: &Cmd) -> Option<Value> {
        self.inner.run_seated(self.seat, &words(cmd));
        let value = self.take_reply();
        match self.settle() {
            Ok(()) => value,
            Err(error) => Some(not_logged(&error)),
        }
    }

    /// Runs commands one after the other, with nothing between them. `None` when one blocks.
    pub fn call_all<'c>(&mut self, cmds: impl Iterator<Item = &'c Cmd>) -> Option<Vec<Value>> {
        self.call_words(cmds.map(words))
    }

    /// The same for commands that are lists of words already.
    pub fn call_words<'c, W: AsRef<[&'c [u8]]>>(
        &mut self,
        cmds: impl Iterator<Item = W>,
    ) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        for cmd in cmds {
            self.inner.run_seated(self.seat, cmd.as_ref());
            values.push(self.take_reply()?);
        }
        if let Err(error) = self.settle() {
            let count = values.len();
            values = vec![not_logged(&error); count];
        }
        Some(values)
    }

    /// Runs commands as one unit: `work` sees each reply before the next command, nothing else runs between, and the
    /// log has all of them or none. `None`, and nothing was done, where a command could be refused after another one
    /// wrote (a memory limit, a full disk, a pause): use a script. An error is the log's.
    pub fn alone(&mut self, work: &mut dyn FnMut(&mut Unit<'_>)) -> Option<Result<(), Value>> {
        if !self.inner.run_unit(self.seat, work) {
            return None;
        }
        Some(self.settle().map_err(|error| not_logged(&error)))
    }

    fn settle(&mut self) -> std::io::Result<()> {
        self.connection.shared.settle(&mut self.inner, self.seat)
    }

    /// The bell that the end of a blocking command rings.
    fn wake(&mut self) -> Option<std::sync::Arc<tokio::sync::Notify>> {
        self.inner.core().clients.get(self.seat.id)?.wake.notify()
    }

    fn take_reply(&mut self) -> Option<Value> {
        let client = self.inner.core().clients.at(self.seat)?;
        self.connection.db.store(client.db, Ordering::Relaxed);
        if client.out.buf.is_empty() {
            return client.blocked.is_none().then_some(Value::Nil);
        }
        let (value, used) = reply::value(&client.out.buf).expect("handlers write whole replies");
        if used == client.out.buf.len() {
            client.out.buf.clear();
        } else {
            client.out.buf.drain(..used);
        }
        Some(value)
    }
}

/// Arguments of a command without copying; a cursor is its number.
fn words(cmd: &Cmd) -> SmallVec<[&[u8]; 16]> {
    let word = |arg| match arg {
        Arg::Simple(bytes) => bytes,
        _ => b"0".as_slice(),
    };
    cmd.args_iter().map(word).collect()
}

/// The change is in memory and not in the log: whoever asked must not take it for done.
fn not_logged(error: &std::io::Error) -> Value {
    let text = format!("-MISCONF Errors writing to the AOF file: {error}; outcome unknown\r\n");
    redis::parse_redis_value(text.as_bytes()).unwrap_or(Value::Nil)
}

fn as_result(value: Value) -> RedisResult<Value> {
    match value {
        Value::ServerError(error) => Err(error.into()),
        other => Ok(other),
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        let ran = self.try_turn().map(|mut turn| turn.call(cmd));
        if let Some(Some(value)) = ran {
            return Box::pin(std::future::ready(as_result(value)));
        }
        Box::pin(async move {
            let replied = match ran {
                Some(replied) => replied,
                None => self.when_free(|mut turn| turn.call(cmd)).await,
            };
            as_result(match replied {
                Some(value) => value,
                None => self.wait().await,
            })
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let run = move |mut turn: Turn<'_>| {
            // An atomic pipeline asks for the last of MULTI + commands + EXEC: one reply, after all others.
            let commands = pipeline.cmd_iter().count();
            let atomic = count == 1 && offset == commands + 1;
            let (multi, exec) = (redis::cmd("MULTI"), redis::cmd("EXEC"));
            let values = if atomic {
                turn.call_all(std::iter::once(&multi).chain(pipeline.cmd_iter()).chain([&exec]))
            } else {
                turn.call_all(pipeline.cmd_iter())
            };
            let values = values.ok_or_else(|| {
                RedisError::from((
                    ErrorKind::Client,
                    "a blocking command cannot be part of a pipeline",
                ))
            });
            values.map(|values| values.into_iter().skip(offset).take(count).collect())
        };
        match self.try_turn() {
            Some(turn) => Box::pin(std::future::ready(run(turn))),
            None => Box::pin(self.when_free(run)),
        }
    }

    fn get_db(&self) -> i64 {
        i64::try_from(self.db.load(Ordering::Relaxed)).unwrap_or(0)
    }
}
