//! The direct door: a command runs on the caller's thread and its reply is there when the call returns.
//! Each [`Connection`] is a session of its own (`WATCH`, `SELECT`, name); a clone is a new one.

use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use smallvec::SmallVec;

use crate::client::Seat;
use crate::exec::Inner;
use crate::reply;
use crate::shared::Hold;
use crate::unit::{Next, Unit};

/// A session by direct call.
pub struct Connection {
    shared: Hold,
    seat: Seat,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("id", &self.seat.id).finish_non_exhaustive()
    }
}

impl Clone for Connection {
    fn clone(&self) -> Self {
        Self::new(&self.shared)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.unseat(self.seat);
    }
}

impl Connection {
    pub(crate) fn new(shared: &Hold) -> Self {
        let seat = shared.seat("in-process:0".into());
        Connection { shared: shared.clone(), seat }
    }

    /// Runs a command now. `None` when it blocks (`BLPOP` on an empty list): await [`Connection::wait`].
    /// An error reply is a [`Value::ServerError`].
    pub fn call(&self, cmd: &Cmd) -> Option<Value> {
        let mut inner = self.shared.lock();
        inner.run_seated(self.seat, &words(cmd));
        let value = take_reply(&mut inner, self.seat);
        match self.shared.settle(&mut inner, self.seat) {
            Ok(()) => value,
            Err(error) => Some(not_logged(&error)),
        }
    }

    /// Runs commands one after the other, with nothing between them. `None` when one blocks.
    pub fn call_all<'a>(&self, cmds: impl Iterator<Item = &'a Cmd>) -> Option<Vec<Value>> {
        self.call_words(cmds.map(words))
    }

    /// The same for commands that are lists of words already.
    pub fn call_words<'a, W: AsRef<[&'a [u8]]>>(
        &self,
        cmds: impl Iterator<Item = W>,
    ) -> Option<Vec<Value>> {
        let mut inner = self.shared.lock();
        let mut values = Vec::new();
        for cmd in cmds {
            inner.run_seated(self.seat, cmd.as_ref());
            values.push(take_reply(&mut inner, self.seat)?);
        }
        if let Err(error) = self.shared.settle(&mut inner, self.seat) {
            let count = values.len();
            values = vec![not_logged(&error); count];
        }
        Some(values)
    }

    /// Runs commands as one unit, with nothing between them: all of it is in the log, or nothing. `look` sees the
    /// number and the reply of each, as RESP, and says what follows. `None`, and nothing was done, where a command could be
    /// refused after another one wrote (a memory limit, a full disk, a pause): use a script. An error is the log's.
    pub fn unit(
        &self,
        cmds: &[&[&[u8]]],
        look: &mut dyn FnMut(usize, &[u8]) -> Next,
    ) -> Option<Result<(), Value>> {
        self.alone(&mut |unit| unit.each(cmds, look))
    }

    /// The same for commands that are made as it goes: `work` runs them one by one, and nothing runs between.
    pub fn alone(&self, work: &mut dyn FnMut(&mut Unit<'_>)) -> Option<Result<(), Value>> {
        let mut inner = self.shared.lock();
        if !inner.run_unit(self.seat, work) {
            return None;
        }
        Some(self.shared.settle(&mut inner, self.seat).map_err(|error| not_logged(&error)))
    }

    /// The reply of a command that blocked.
    pub async fn wait(&self) -> Value {
        loop {
            let wake = {
                let mut inner = self.shared.lock();
                if let Some(value) = take_reply(&mut inner, self.seat) {
                    return value;
                }
                match inner.core().clients.get(self.seat.id).and_then(|c| c.wake.notify()) {
                    Some(notify) => notify,
                    None => return Value::Nil,
                }
            };
            wake.notified().await;
        }
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

fn take_reply(inner: &mut Inner, seat: Seat) -> Option<Value> {
    let client = inner.core().clients.at(seat)?;
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
        match self.call(cmd) {
            Some(value) => Box::pin(std::future::ready(as_result(value))),
            None => Box::pin(async { as_result(self.wait().await) }),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        // An atomic pipeline asks for the last of MULTI + commands + EXEC: one reply, after all others.
        let commands = pipeline.cmd_iter().count();
        let atomic = count == 1 && offset == commands + 1;
        let (multi, exec) = (redis::cmd("MULTI"), redis::cmd("EXEC"));
        let values = if atomic {
            self.call_all(std::iter::once(&multi).chain(pipeline.cmd_iter()).chain([&exec]))
        } else {
            self.call_all(pipeline.cmd_iter())
        };
        let values = values.ok_or_else(|| {
            RedisError::from((ErrorKind::Client, "a blocking command cannot be part of a pipeline"))
        });
        Box::pin(std::future::ready(
            values.map(|values| values.into_iter().skip(offset).take(count).collect()),
        ))
    }

    fn get_db(&self) -> i64 {
        let mut inner = self.shared.lock();
        let db = inner.core().clients.get(self.seat.id).map_or(0, |client| client.db);
        i64::try_from(db).unwrap_or(0)
    }
}
