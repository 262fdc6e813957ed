//! The store on a Cluster. Every command goes to the owner of its slot; redirections are followed, and what
//! the Cluster itself says it did not do (`MOVED`, `TRYAGAIN`, `CLUSTERDOWN`, a replica's `READONLY`) is asked
//! again within the deadline. A lost answer is never repeated, so a failover duplicates nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::BoxStream;
use kernel::keyspace::slot;
use kernel::store_words as words;
use kernel::{
    Answer, Cmd, Deadline, Fault, Kind, Message, Script, Session, Status, Store, Topic, Value,
};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::address::{Endpoint, Servers};
use crate::command_class::{CommandClass, command_class, words};
use crate::connection::Connector;
use crate::error::{ConnectError, OpenError};
use crate::multiplexer::Lost;
use crate::node::{LentConnection, Node};
use crate::remote::{alone, eval, sentence, stateful};
use crate::reply;
use crate::route::{Combine, Destination, combine, join_cursor, split_cursor, target};
use crate::session::{ConnectionSource, OwnConnection, is_passing};
use crate::topology::{Topology, redirection};

const PAUSE: Duration = Duration::from_millis(20);
const CONNECT: Duration = Duration::from_millis(100); // then perhaps another node owns the slot
const REDIRECTIONS: u32 = 4; // then two nodes disagree, and a moment's rest does good
const LOOK_OFTEN: Duration = Duration::from_millis(100); // while something is missing
const LOOK: Duration = Duration::from_secs(5);

/// A Cluster, and the task that keeps its picture current.
pub(crate) struct Cluster {
    nodes: Arc<Nodes>,
    keeper: tokio::task::AbortHandle,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

pub(crate) struct Nodes {
    topology: Topology,
    look: Notify,
    address: String,
    insecure: bool,
}

impl Cluster {
    /// Finds all primaries within the patience of the options.
    pub(crate) async fn open(
        servers: &Servers,
        connector: Connector,
        patience: Duration,
    ) -> Result<Self, OpenError> {
        let address = servers.to_string();
        let by = Deadline::after(patience);
        let topology = Topology::new(connector, servers.addresses.clone());
        loop {
            match topology.refresh().await {
                Ok(()) => break,
                Err(trouble) if !trouble.may_pass() || by.left().is_zero() => {
                    return Err(trouble.at(&address));
                }
                Err(_) => sleep(LOOK_OFTEN).await,
            }
        }
        for node in topology.primaries() {
            if node.facts(Deadline::after(patience)).await.is_none() && node.pipe_now().is_none() {
                let reason = node.down().unwrap_or_default();
                return Err(ConnectError::Gone(reason).at(&address));
            }
        }
        let insecure = servers.access.tls.as_ref().is_some_and(|tls| tls.insecure);
        let nodes = Arc::new(Nodes { topology, look: Notify::new(), address, insecure });
        let keeper = tokio::spawn(keep(Arc::clone(&nodes))).abort_handle();
        Ok(Cluster { nodes, keeper })
    }
}

async fn keep(nodes: Arc<Nodes>) {
    loop {
        let wait = if nodes.topology.is_whole() { LOOK } else { LOOK_OFTEN };
        tokio::select! {
            () = nodes.look.notified() => {}
            () = sleep(wait) => {}
        }
        if let Err(trouble) = nodes.topology.refresh().await {
            tracing::debug!(why = trouble.reason(), "the Cluster's picture could not be renewed");
        }
        // However many ask at once: not more often than that.
        sleep(PAUSE).await;
    }
}

/// Whom a command is for; looked up anew at every try.
#[derive(Clone, Copy)]
enum To {
    Slot(u16),
    /// The primary with the n-th lowest slots.
    Primary(usize),
    Any,
}

/// The node to try next. `asking`: the slot is on its way to that node, so `ASKING` goes first.
struct Next {
    node: Arc<Node>,
    asking: bool,
}

impl Nodes {
    fn any(&self) -> Option<Arc<Node>> {
        let primaries = self.topology.primaries();
        let up = primaries.iter().find(|node| node.pipe_now().is_some());
        up.or(primaries.first()).cloned()
    }

    fn pick(&self, to: To) -> Option<Arc<Node>> {
        match to {
            To::Slot(slot) => self.topology.owner(slot),
            To::Primary(at) => self.topology.primaries().get(at).cloned(),
            To::Any => self.any(),
        }
    }

    // One command, one reply, to whoever it is for, wherever that is until the deadline.
    async fn ask(&self, to: To, bytes: Bytes, by: Deadline) -> Result<Value, Fault> {
        let mut next = None;
        let mut redirections = 0;
        let mut why = "the slot has no owner".to_owned();
        loop {
            if by.left().is_zero() {
                return Err(Fault::Unavailable(why));
            }
            let found = next.take();
            let found = found.or_else(|| self.pick(to).map(|node| Next { node, asking: false }));
            let Some(Next { node, asking }) = found else {
                self.pause(by).await;
                continue;
            };
            match self.ask_node(&node, &bytes, asking, by).await {
                Ok((Value::ServerError(error), from)) if is_passing(error.code()) => {
                    why = sentence(&error);
                    next = self.redirected(&error, &from);
                    redirections += 1;
                    if next.is_none() || redirections % REDIRECTIONS == 0 {
                        self.pause(by).await;
                    }
                }
                Ok((value, _)) => return Ok(value),
                Err(Lost::Unknown(why)) => {
                    self.look.notify_one();
                    return Err(Fault::Unknown(why));
                }
                Err(Lost::NotSent(reason)) => {
                    why = reason;
                    self.pause(by).await;
                }
            }
        }
    }

    async fn ask_node(
        &self,
        node: &Node,
        bytes: &Bytes,
        asking: bool,
        by: Deadline,
    ) -> Result<(Value, Endpoint), Lost> {
        let patience = Deadline::after(CONNECT).min(by);
        let multiplexer = node.multiplexer(patience).await.map_err(|fault| match fault {
            Fault::Unavailable(why) => Lost::NotSent(why),
            other => Lost::NotSent(other.to_string()),
        })?;
        let (bytes, replies) = if asking {
            let mut all = redis::cmd("ASKING").get_packed_command();
            all.extend_from_slice(bytes);
            (all.into(), 2)
        } else {
            (bytes.clone(), 1)
        };
        let mut values = multiplexer.ask(bytes, replies, by).await?;
        Ok((values.pop().expect("replies were asked for"), multiplexer.address().clone()))
    }

    // `MOVED` and `ASK` name the address; the other codes only say: not here, not now.
    fn redirected(&self, error: &redis::ServerError, from: &Endpoint) -> Option<Next> {
        if error.code() != "ASK" {
            self.look.notify_one();
        }
        let (slot, address) = redirection(error.details()?, from)?;
        match error.code() {
            "MOVED" => Some(Next { node: self.topology.learn(slot, address), asking: false }),
            "ASK" => Some(Next { node: self.topology.node(address), asking: true }),
            _ => None,
        }
    }

    async fn pause(&self, by: Deadline) {
        self.look.notify_one();
        sleep(PAUSE.min(by.left())).await;
    }

    async fn call(&self, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
        let bytes = || Bytes::from(cmd.get_packed_command());
        match target(cmd) {
            Destination::Slot(slot) => reply::outcome(self.ask(To::Slot(slot), bytes(), by).await?),
            Destination::Any => reply::outcome(self.ask(To::Any, bytes(), by).await?),
            Destination::All(how) => self.call_all(bytes(), how, by).await,
            Destination::Scan => self.scan(cmd, by).await,
        }
    }

    async fn call_all(&self, bytes: Bytes, how: Combine, by: Deadline) -> Result<Value, Fault> {
        let count = self.topology.primaries().len();
        let asked = (0..count).map(|at| self.ask(To::Primary(at), bytes.clone(), by));
        let mut values = Vec::with_capacity(count);
        for answer in join_all(asked).await {
            values.push(reply::outcome(answer?)?);
        }
        Ok(combine(how, values))
    }

    async fn scan(&self, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
        let refused = |detail: &str| Fault::Refused { code: "ERR".into(), detail: detail.into() };
        let cursor =
            words(cmd).nth(1).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        let (own, at) = split_cursor(cursor.ok_or_else(|| refused("invalid cursor"))?);
        let count = self.topology.primaries().len();
        if at >= count {
            // Fewer primaries than when the walk began: it has seen what there is.
            let end = vec![Value::BulkString(b"0".to_vec()), Value::Array(Vec::new())];
            return Ok(Value::Array(end));
        }
        let mut here = redis::cmd("SCAN");
        here.arg(own);
        words(cmd).skip(2).for_each(|word| {
            here.arg(word);
        });
        let value = self.ask(To::Primary(at), here.get_packed_command().into(), by).await?;
        let value = reply::outcome(value)?;
        let Value::Array(mut parts) = value else { return Ok(value) };
        let next: Option<u64> = parts.first().and_then(reply::text).and_then(|t| t.parse().ok());
        let joined = next.and_then(|own| join_cursor(own, at, count));
        let joined =
            joined.ok_or_else(|| refused("the cursor of a node is too large to carry on"))?;
        parts[0] = Value::BulkString(joined.to_string().into_bytes());
        Ok(Value::Array(parts))
    }

    async fn script(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        by: Deadline,
    ) -> Result<Value, Fault> {
        let at = keys.first().map_or(To::Any, |key| To::Slot(slot(key)));
        let known = eval("EVALSHA", script.sha(), keys, args);
        let mut value = self.ask(at, known.into(), by).await?;
        if reply::code(&value) == Some("NOSCRIPT") {
            value = self.ask(at, eval("EVAL", script.source(), keys, args).into(), by).await?;
        }
        reply::outcome(value)
    }

    // One write per node; whoever is turned away goes alone.
    async fn pipeline(&self, cmds: &[Cmd], by: Deadline) -> Vec<Result<Value, Fault>> {
        let mut groups: Vec<(Arc<Node>, Vec<usize>)> = Vec::new();
        let mut alone = Vec::new();
        for (at, cmd) in cmds.iter().enumerate() {
            let owner = match target(cmd) {
                Destination::Slot(slot) => self.topology.owner(slot),
                _ => None,
            };
            match owner {
                None => alone.push(at),
                Some(node) => {
                    match groups.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &node)) {
                        Some((_, members)) => members.push(at),
                        None => groups.push((node, vec![at])),
                    }
                }
            }
        }
        let mut results: Vec<Option<Result<Value, Fault>>> = vec![None; cmds.len()];
        let asked = groups.iter().map(|(node, members)| self.ask_group(node, members, cmds, by));
        for ((_, members), answer) in groups.iter().zip(join_all(asked).await) {
            for (at, result) in members.iter().zip(answer) {
                match result {
                    Some(result) => results[*at] = Some(result),
                    None => alone.push(*at),
                }
            }
        }
        alone.sort_unstable();
        let answers = join_all(alone.iter().map(|at| self.call(&cmds[*at], by))).await;
        for (at, answer) in alone.iter().zip(answers) {
            results[*at] = Some(answer);
        }
        results.into_iter().map(|result| result.expect("every command was asked")).collect()
    }

    // `None` for a command that was not done here and may be asked elsewhere.
    async fn ask_group(
        &self,
        node: &Node,
        members: &[usize],
        cmds: &[Cmd],
        by: Deadline,
    ) -> Vec<Option<Result<Value, Fault>>> {
        let mut bytes = Vec::new();
        for at in members {
            cmds[*at].write_packed_command(&mut bytes);
        }
        let Some(multiplexer) = node.pipe_now() else { return vec![None; members.len()] };
        match multiplexer.ask(bytes.into(), members.len(), by).await {
            Ok(values) => values
                .into_iter()
                .map(|value| {
                    let turned = reply::code(&value).is_some_and(is_passing);
                    (!turned).then(|| reply::outcome(value))
                })
                .collect(),
            Err(Lost::NotSent(_)) => vec![None; members.len()],
            Err(Lost::Unknown(why)) => {
                self.look.notify_one();
                vec![Some(Err(Fault::Unknown(why))); members.len()]
            }
        }
    }
}

impl ConnectionSource for Nodes {
    fn hold<'a>(
        &'a self,
        key: &'a [u8],
        idle: bool,
        by: Deadline,
    ) -> BoxFuture<'a, Result<LentConnection, Fault>> {
        Box::pin(async move {
            let at = if key.is_empty() { To::Any } else { To::Slot(slot(key)) };
            loop {
                let held = match self.pick(at) {
                    Some(node) => node.hold(idle, Deadline::after(CONNECT * 3).min(by)).await,
                    None => Err(Fault::Unavailable("the slot has no owner".to_owned())),
                };
                match held {
                    Err(fault) if by.left().is_zero() => return Err(fault),
                    Err(_) => self.pause(by).await,
                    held => return held,
                }
            }
        })
    }

    fn turned_away(&self, held: &LentConnection, error: &redis::ServerError) -> bool {
        let from = held.node.as_ref().and_then(|node| node.pipe_now());
        match from {
            Some(multiplexer) if error.code() == "MOVED" => {
                self.redirected(error, multiplexer.address());
            }
            _ => self.look.notify_one(),
        }
        true
    }
}

impl Store for Cluster {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        match command_class(cmd) {
            CommandClass::Plain => Answer::Later(Box::pin(self.nodes.call(cmd, by))),
            CommandClass::Blocking => Answer::Later(Box::pin(async move {
                let key = match target(cmd) {
                    Destination::Slot(at) => words(cmd).find(|word| slot(word) == at),
                    _ => None,
                };
                alone(self.nodes.clone(), key.unwrap_or_default(), cmd, by).await
            })),
            _ => Answer::ready(Err(stateful())),
        }
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        if cmds.iter().any(|cmd| command_class(cmd) != CommandClass::Plain) {
            return Answer::ready(Err(stateful()));
        }
        Answer::Later(Box::pin(async move { Ok(self.nodes.pipeline(cmds, by).await) }))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        Answer::Later(Box::pin(self.nodes.script(script, keys, args, by)))
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let held = self.nodes.hold(key, true, by).await?;
            Ok(Box::new(OwnConnection::new(self.nodes.clone(), key, held)) as Box<dyn Session>)
        }))
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        let source: Arc<dyn ConnectionSource> = self.nodes.clone();
        Answer::Later(Box::pin(crate::subscription::subscribe(source, topics.to_vec(), by)))
    }

    fn status(&self) -> Status {
        let primaries = self.nodes.topology.primaries();
        let health: Vec<_> = primaries.iter().map(|node| node.health()).collect();
        let down = health.iter().find(|one| !one.up);
        let facts: Vec<_> = health.iter().filter_map(|one| one.facts.as_ref()).collect();
        let mut warnings = Vec::new();
        if self.nodes.insecure {
            warnings.push(words::INSECURE.say());
        }
        for warning in facts.iter().flat_map(|facts| &facts.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let first = |pick: fn(&crate::probe::ServerFacts) -> &String| {
            facts.first().map_or_else(|| "unknown".to_owned(), |facts| pick(facts).clone())
        };
        let uncovered = !primaries.is_empty() && !self.nodes.topology.is_whole();
        Status {
            kind: Kind::Cluster,
            address: self.nodes.address.clone(),
            server: first(|facts| &facts.server),
            up: !primaries.is_empty() && !uncovered,
            since_ms: health.iter().map(|one| one.since_ms).max().unwrap_or_default(),
            reason: down
                .and_then(|one| one.reason.clone())
                .or_else(|| uncovered.then(|| "some slots have no owner".to_owned())),
            refuses_writes: health.iter().find_map(|one| one.refuses_writes.clone()),
            reconnects: health.iter().map(|one| one.reconnects).sum(),
            persistence: facts
                .first()
                .map_or_else(|| words::KEPT_UNKNOWN.say(), |facts| facts.persistence.clone()),
            eviction: first(|facts| &facts.eviction),
            warnings,
        }
    }
}
