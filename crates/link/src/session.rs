//! A connection that belongs to one caller: for `WATCH` and for blocking calls. One that timed out, was
//! dropped in the middle of an answer, or changed its state in ways we cannot undo is closed and never
//! lent again; any other goes back to its node, and keys left watched are let go before its next command.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kernel::{Answer, Cmd, Deadline, Fault, Packed, Session, Value};
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use crate::command_class::{CommandClass, command_class};
use crate::error::ConnectError;
use crate::node::LentConnection;
use crate::reply;

/// A source of connections for sessions and subscriptions.
pub(crate) trait ConnectionSource: Send + Sync + 'static {
    /// A connection to the server that owns `key`; `idle`: one that was used before will do.
    fn hold<'a>(
        &'a self,
        key: &'a [u8],
        idle: bool,
        by: Deadline,
    ) -> BoxFuture<'a, Result<LentConnection, Fault>>;

    /// The server says it cannot serve us now: look for a better one. True when asking again may help.
    fn turned_away(&self, held: &LentConnection, error: &redis::ServerError) -> bool;
}

/// Codes that mean: nothing was done, because this server does not serve this key or does not serve now.
pub(crate) fn is_passing(code: &str) -> bool {
    matches!(
        code,
        "LOADING" | "MASTERDOWN" | "READONLY" | "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN"
    )
}

/// The outcome of `MULTI`, commands and `EXEC` from all their replies. When a command was not queued the
/// reason is in its own reply; `EXEC` only says that there was one.
pub(crate) fn executed(mut values: Vec<Value>) -> Result<Option<Vec<Value>>, Fault> {
    match values.pop() {
        Some(Value::Nil) => Ok(None),
        Some(Value::Array(values)) => Ok(Some(values)),
        Some(Value::ServerError(error)) => {
            let first = values.iter().find_map(|value| match value {
                Value::ServerError(error) => Some(error),
                _ => None,
            });
            Err(reply::refused(first.unwrap_or(&error)))
        }
        _ => Err(Fault::Unknown("EXEC gave no list of replies".to_owned())),
    }
}

/// Why a transaction was turned away for a reason that may pass; nothing of it was done.
fn first_passing(values: &[Value]) -> Option<redis::ServerError> {
    let Some(Value::ServerError(_)) = values.last() else { return None };
    values.iter().find_map(|value| match value {
        Value::ServerError(error) if is_passing(error.code()) => Some(error.clone()),
        _ => None,
    })
}

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";
const UNWATCH: &[u8] = b"*1\r\n$7\r\nUNWATCH\r\n";

pub(crate) struct OwnConnection {
    source: Arc<dyn ConnectionSource>,
    key: Vec<u8>,
    held: Option<LentConnection>,
    /// An answer is outstanding: whoever drops us now leaves the connection out of step.
    busy: bool,
    /// A transaction waits for `EXEC`: replies that come before it, commands in it.
    queued: Option<(usize, usize)>,
    watching: bool,
    spoiled: bool,
}

impl OwnConnection {
    pub(crate) fn new(source: Arc<dyn ConnectionSource>, key: &[u8], held: LentConnection) -> Self {
        let key = key.to_vec();
        let held = Some(held);
        OwnConnection {
            source,
            key,
            held,
            busy: false,
            queued: None,
            watching: false,
            spoiled: false,
        }
    }

    // One command with one reply. Turned away before anything was watched, it moves to another server.
    async fn run(&mut self, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
        let command_class = command_class(cmd);
        let bytes = cmd.get_packed_command();
        self.spoiled |= command_class == CommandClass::Stateful;
        loop {
            let asked = self.ask(&[&bytes], 1, false, by).await;
            if asked.is_err()
                && command_class == CommandClass::Watch
                && self.held.is_none()
                && !self.watching
            {
                // An idle connection died before it was noticed. Watching changes nothing, so that the
                // first watch of a session may be asked for again.
                self.held = Some(self.source.hold(&self.key, false, by).await?);
                self.busy = false;
                continue;
            }
            let value = asked?.pop().expect("one reply was asked for");
            let Value::ServerError(error) = value else {
                match command_class {
                    CommandClass::Watch => self.watching = true,
                    CommandClass::Unwatch => self.watching = false,
                    _ => {}
                }
                return Ok(value);
            };
            if !is_passing(error.code()) {
                return Err(reply::refused(&error));
            }
            self.move_on(&error, by).await?;
        }
    }

    // A server does nothing of what is queued, and forgets it when we go.
    async fn queue_all(&mut self, parts: &[&Packed], by: Deadline) -> Result<(), Fault> {
        let mut bytes = vec![MULTI];
        bytes.extend(parts.iter().map(|part| part.bytes()).filter(|bytes| !bytes.is_empty()));
        let before = self.say(&bytes, by).await.map_err(|fault| match fault {
            Fault::Unknown(why) => Fault::Unavailable(why),
            other => other,
        })?;
        self.queued = Some((before, parts.iter().map(|part| part.len()).sum()));
        Ok(())
    }

    async fn execute(&mut self, by: Deadline) -> Result<Option<Vec<Value>>, Fault> {
        let (Some((before, cmds)), Some(_)) = (self.queued.take(), &self.held) else {
            return Err(Fault::Unavailable("nothing was queued in this session".to_owned()));
        };
        self.say_more(&[EXEC], by).await?;
        let values = self.hear(before, cmds + 2, true, by).await?;
        let Some(error) = first_passing(&values) else {
            self.watching = false;
            return executed(values);
        };
        self.move_on(&error, by).await?;
        Err(Fault::Unavailable(format!("{} turned it away", error.code())))
    }

    // Nothing was done. A watch on this connection does not hold on another one, so then the caller
    // starts over.
    async fn move_on(&mut self, error: &redis::ServerError, by: Deadline) -> Result<(), Fault> {
        let held = self.held.take().expect("an answer came from it");
        let again = self.source.turned_away(&held, error);
        drop(held);
        let pause = std::time::Duration::from_millis(20);
        if !again {
            return Err(reply::refused(error));
        }
        if self.watching || by.left() <= pause {
            let why = format!("{} {}", error.code(), error.details().unwrap_or_default());
            return Err(Fault::Unavailable(why));
        }
        tokio::time::sleep(pause).await;
        self.held = Some(self.source.hold(&self.key, false, by).await?);
        Ok(())
    }

    // The replies; of commands that were queued only those that were not.
    async fn ask(
        &mut self,
        bytes: &[&[u8]],
        count: usize,
        queued: bool,
        by: Deadline,
    ) -> Result<Vec<Value>, Fault> {
        let before = self.say(bytes, by).await?;
        self.hear(before, count, queued, by).await
    }

    // Sends; says how many replies come before the first that was asked for.
    async fn say(&mut self, bytes: &[&[u8]], by: Deadline) -> Result<usize, Fault> {
        if by.left().is_zero() {
            return Err(Fault::Unavailable("the deadline had passed already".to_owned()));
        }
        let usable = self.held.as_mut().filter(|_| !self.busy);
        let Some(held) = usable else {
            return Err(Fault::Unavailable("this session lost an answer: open another".to_owned()));
        };
        let before = usize::from(std::mem::take(&mut held.watching));
        self.busy = true;
        if before == 1 {
            self.say_more(&[UNWATCH], by).await?;
        }
        self.say_more(bytes, by).await?;
        Ok(before)
    }

    async fn say_more(&mut self, bytes: &[&[u8]], by: Deadline) -> Result<(), Fault> {
        let connection = &mut self.held.as_mut().expect("it is in use").connection;
        let said = timeout_at(by.instant().into(), connection.write_parts(bytes)).await;
        self.in_time(said)
    }

    async fn hear(
        &mut self,
        before: usize,
        count: usize,
        queued: bool,
        by: Deadline,
    ) -> Result<Vec<Value>, Fault> {
        let connection = &mut self.held.as_mut().expect("it is in use").connection;
        let heard =
            timeout_at(by.instant().into(), connection.replies(before + count, queued)).await;
        let mut values = self.in_time(heard)?;
        self.busy = false;
        values.drain(..before);
        if let Some(node) = self.held.as_ref().and_then(|held| held.node.as_ref()) {
            node.look(&values);
        }
        Ok(values)
    }

    fn in_time<T>(&mut self, done: Result<Result<T, ConnectError>, Elapsed>) -> Result<T, Fault> {
        match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(trouble)) => Err(self.lost(&trouble)),
            Err(_) => {
                // Closed at once, so that the server stops waiting on our behalf.
                self.held = None;
                Err(Fault::Unknown("no answer before the deadline".to_owned()))
            }
        }
    }

    fn lost(&mut self, trouble: &ConnectError) -> Fault {
        self.held = None;
        Fault::Unknown(trouble.reason().to_owned())
    }
}

impl Session for OwnConnection {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        Answer::Later(Box::pin(self.run(cmd, by)))
    }

    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()> {
        Answer::Later(Box::pin(self.queue_all(cmds, by)))
    }

    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>> {
        Answer::Later(Box::pin(self.execute(by)))
    }
}

impl Drop for OwnConnection {
    fn drop(&mut self) {
        if let Some(held) = self.held.take()
            && !self.busy
            && !self.spoiled
        {
            let LentConnection { connection, generation, watching, node } = held;
            if let Some(node) = node {
                node.give_back(connection, generation, watching || self.watching);
            }
        }
    }
}
