//! The store on one server: standalone, or the primary that Sentinel names. All plain calls share one
//! connection; sessions, blocking calls and subscriptions have their own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use kernel::store_words as words;
use kernel::{
    Answer, Cmd, Deadline, Fault, Kind, Message, Script, Session, Status, Store, Topic, Value,
};
use tokio::time::sleep;

use crate::command_class::{CommandClass, command_class};
use crate::node::{LentConnection, Node};
use crate::reply;
use crate::session::{ConnectionSource, OwnConnection, is_passing};

const PAUSE: Duration = Duration::from_millis(20);

/// One server behind a connection that heals.
pub(crate) struct Remote(Arc<Primary>);

pub(crate) struct Primary {
    node: Arc<Node>,
    kind: Kind,
    address: String,
    insecure: bool,
}

impl Remote {
    pub(crate) fn new(node: Arc<Node>, kind: Kind, address: String, insecure: bool) -> Self {
        Remote(Arc::new(Primary { node, kind, address, insecure }))
    }
}

impl Primary {
    // Repeats only what the server itself says it has not done.
    async fn ask(&self, bytes: Bytes, replies: usize, by: Deadline) -> Result<Vec<Value>, Fault> {
        let mut tries = 0;
        loop {
            let values = self.node.ask(&bytes, replies, by).await?;
            let Some(error) = all_turned_away(&values) else {
                let old = |value| reply::code(value) == Some("READONLY");
                if self.kind == Kind::Sentinel && values.iter().any(old) {
                    self.node.kick("the server became a replica");
                }
                return Ok(values);
            };
            if !self.may_pass(error, tries) {
                return Ok(values);
            }
            if by.left() <= PAUSE {
                return Err(Fault::Unavailable(sentence(error)));
            }
            tries += 1;
            sleep(PAUSE).await;
        }
    }

    // A replica behind a plain address stays one, unless the name moved meanwhile: one new connection
    // finds out. Behind Sentinel a replica is a primary that was, and the new one is soon known.
    fn may_pass(&self, error: &redis::ServerError, tries: u32) -> bool {
        match error.code() {
            "LOADING" | "MASTERDOWN" => true,
            "READONLY" if self.kind == Kind::Sentinel || tries == 0 => {
                self.node.kick("the server became a replica");
                true
            }
            _ => false,
        }
    }

    async fn call(&self, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
        let mut values = self.ask(cmd.get_packed_command().into(), 1, by).await?;
        reply::outcome(values.pop().expect("one reply was asked for"))
    }

    async fn script(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        by: Deadline,
    ) -> Result<Value, Fault> {
        let known = eval("EVALSHA", script.sha(), keys, args);
        let mut values = self.ask(known.into(), 1, by).await?;
        let mut value = values.pop().expect("one reply was asked for");
        if reply::code(&value) == Some("NOSCRIPT") {
            let whole = eval("EVAL", script.source(), keys, args);
            value = self.ask(whole.into(), 1, by).await?.pop().expect("one reply was asked for");
        }
        reply::outcome(value)
    }
}

/// `EVALSHA` or `EVAL`, packed.
pub(crate) fn eval(name: &str, text: &str, keys: &[&[u8]], args: &[&[u8]]) -> Vec<u8> {
    let count = keys.len().to_string();
    let head = [name.as_bytes(), text.as_bytes(), count.as_bytes()];
    let words = || head.iter().chain(keys).chain(args);
    let mut packed = kernel::Packed::default();
    packed.reserve(words().map(|word| word.len() + 16).sum::<usize>() + 16);
    let mut command = packed.command(words().count());
    for word in words() {
        command.word(word);
    }
    drop(command);
    packed.into_bytes()
}

/// The first error, when the server turned away every command for a reason that may pass.
fn all_turned_away(values: &[Value]) -> Option<&redis::ServerError> {
    let all = values.iter().all(|value| reply::code(value).is_some_and(is_passing));
    match values.first() {
        Some(Value::ServerError(error)) if all => Some(error),
        _ => None,
    }
}

pub(crate) fn sentence(error: &redis::ServerError) -> String {
    format!("{} {}", error.code(), error.details().unwrap_or_default())
}

/// The refusal of a command that a shared connection cannot run.
pub(crate) fn stateful() -> Fault {
    Fault::Refused {
        code: "ERR".to_owned(),
        detail: "this command changes its connection: use a session".to_owned(),
    }
}

impl ConnectionSource for Primary {
    fn hold<'a>(
        &'a self,
        _key: &'a [u8],
        idle: bool,
        by: Deadline,
    ) -> BoxFuture<'a, Result<LentConnection, Fault>> {
        Box::pin(self.node.hold(idle, by))
    }

    fn turned_away(&self, _held: &LentConnection, error: &redis::ServerError) -> bool {
        match error.code() {
            "READONLY" if self.kind == Kind::Sentinel => {
                self.node.kick("the server became a replica");
                true
            }
            code => matches!(code, "LOADING" | "MASTERDOWN"),
        }
    }
}

/// Opens a session for one blocking call that came by the wrong door.
pub(crate) async fn alone(
    source: Arc<dyn ConnectionSource>,
    key: &[u8],
    cmd: &Cmd,
    by: Deadline,
) -> Result<Value, Fault> {
    let held = source.hold(key, true, by).await?;
    OwnConnection::new(source, key, held).call(cmd, by).await
}

impl Store for Remote {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        match command_class(cmd) {
            CommandClass::Plain => Answer::Later(Box::pin(self.0.call(cmd, by))),
            CommandClass::Blocking => Answer::Later(Box::pin(alone(self.0.clone(), b"", cmd, by))),
            _ => Answer::ready(Err(stateful())),
        }
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        if cmds.is_empty() {
            return Answer::ready(Ok(Vec::new()));
        }
        if cmds.iter().any(|cmd| command_class(cmd) != CommandClass::Plain) {
            return Answer::ready(Err(stateful()));
        }
        Answer::Later(Box::pin(async move {
            let mut bytes = Vec::new();
            for cmd in cmds {
                cmd.write_packed_command(&mut bytes);
            }
            let values = self.0.ask(bytes.into(), cmds.len(), by).await?;
            Ok(values.into_iter().map(reply::outcome).collect())
        }))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        Answer::Later(Box::pin(self.0.script(script, keys, args, by)))
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let held = self.0.hold(key, true, by).await?;
            Ok(Box::new(OwnConnection::new(self.0.clone(), key, held)) as Box<dyn Session>)
        }))
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        let source: Arc<dyn ConnectionSource> = self.0.clone();
        Answer::Later(Box::pin(crate::subscription::subscribe(source, topics.to_vec(), by)))
    }

    fn status(&self) -> Status {
        let health = self.0.node.health();
        let mut warnings = Vec::new();
        if self.0.insecure {
            warnings.push(words::INSECURE.say());
        }
        let unknown = || "unknown".to_owned();
        let facts = health.facts;
        warnings.extend(facts.iter().flat_map(|facts| facts.warnings.iter().cloned()));
        Status {
            kind: self.0.kind,
            address: self.0.address.clone(),
            server: facts.as_ref().map_or_else(unknown, |facts| facts.server.clone()),
            up: health.up,
            since_ms: health.since_ms,
            reason: health.reason,
            refuses_writes: health.refuses_writes,
            reconnects: health.reconnects,
            persistence: facts
                .as_ref()
                .map_or_else(|| words::KEPT_UNKNOWN.say(), |facts| facts.persistence.clone()),
            eviction: facts.as_ref().map_or_else(unknown, |facts| facts.eviction.clone()),
            warnings,
        }
    }
}
