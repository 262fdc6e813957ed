//! The store inside the process. A call runs on the caller's thread and its answer is ready at once; only
//! blocking commands and subscriptions wait. No network, so nothing is ever unavailable or unknown.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Engine, Fsync};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use kernel::{
    Answer, Calls, Cmd, Deadline, Fault, Here, Kind, Message, Next, Packed, Script, Session,
    Status, Store, Topic, Value, Words,
};
use tokio::time::timeout_at;

use crate::OpenError;
use crate::manner::{Manner, manner};
use crate::node::Held;
use crate::remote::stateful;
use crate::reply;
use crate::session::Source;
use crate::wire::Wire;

/// The engine of this process, opened; clones share the data.
#[derive(Debug, Clone)]
pub struct Embedded {
    engine: Engine,
    place: String,
    since_ms: u64,
    persistence: &'static str,
    warnings: Vec<String>,
}

impl Embedded {
    /// Nothing on disk.
    pub fn memory() -> Self {
        let warning = "the data is in memory only and ends with the process: name a directory";
        Embedded {
            engine: Engine::memory(),
            place: "memory".to_owned(),
            since_ms: crate::wall_ms(),
            persistence: "none",
            warnings: vec![warning.to_owned()],
        }
    }

    /// Durable in a directory, which has one owner at a time; the log is synced every second.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(dir, Fsync::EverySecond)
    }

    /// The same with a choice of when the log is forced to the disk.
    pub fn open_with(dir: &Path, fsync: Fsync) -> Result<Self, OpenError> {
        let options = engine::Options { dir: Some(dir.to_owned()), fsync, ..Default::default() };
        let (engine, opened) = Engine::open(options).map_err(|error| explain(dir, &error))?;
        let mut warnings = Vec::new();
        if let Some((file, bytes)) = opened.cut {
            let file = file.display();
            warnings.push(format!("a write torn by a crash was cut from {file}: {bytes} bytes"));
        }
        if opened.errors > 0 {
            let count = opened.errors;
            warnings
                .push(format!("{count} commands of the log answered with an error when loaded"));
        }
        let persistence = match fsync {
            Fsync::Always => "append-only log, synced at every write",
            Fsync::EverySecond => "append-only log, synced every second",
            Fsync::No => "append-only log, synced when the system likes",
        };
        let place = dir.display().to_string();
        Ok(Embedded { engine, place, since_ms: crate::wall_ms(), persistence, warnings })
    }

    /// As a store.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(Direct { shared: self.engine.connect(), embedded: self.clone() })
    }

    /// Lets other programs in: RESP on a TCP address, for as long as the listener is kept.
    pub fn listen(&self, addr: SocketAddr) -> std::io::Result<engine::Listener> {
        self.engine.listen(addr)
    }

    /// The engine itself.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// Reads every file of a directory's log and says what is wrong. Changes nothing.
pub fn check_log(dir: &Path) -> Result<engine::LogReport, OpenError> {
    engine::check_log(dir).map_err(|error| explain(dir, &error))
}

/// Cuts a damaged log where its good part ends; what is cut out stays beside it.
pub fn repair_log(dir: &Path) -> Result<engine::Repaired, OpenError> {
    engine::repair_log(dir).map_err(|error| explain(dir, &error))
}

fn explain(dir: &Path, error: &engine::OpenError) -> OpenError {
    let path = dir.display().to_string();
    match error {
        engine::OpenError::Locked(_) => OpenError::Directory {
            path,
            reason: "another process uses it; stop that one or name another with --data".to_owned(),
        },
        engine::OpenError::Directory { error, .. } => OpenError::Directory {
            path,
            reason: format!(
                "{}; name one that can be written with --data",
                crate::error::plain(error)
            ),
        },
        other => OpenError::Damaged { path, reason: other.to_string() },
    }
}

struct Direct {
    /// For all plain calls: they leave no state behind.
    shared: Connection,
    embedded: Embedded,
}

fn late() -> Fault {
    Fault::Unavailable("the deadline had passed already".to_owned())
}

impl Direct {
    fn run(&self, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
        if by.left().is_zero() {
            return Err(late());
        }
        match self.shared.call(cmd) {
            Some(value) => reply::outcome(value),
            None => Err(stateful()),
        }
    }

    fn alone(&self) -> Alone {
        Alone { connection: Some(self.embedded.engine.connect()) }
    }
}

impl Store for Direct {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        match manner(cmd) {
            Manner::Plain => Answer::ready(self.run(cmd, by)),
            Manner::Blocking => {
                let mut session = self.alone();
                Answer::Later(Box::pin(async move { session.call(cmd, by).await }))
            }
            _ => Answer::ready(Err(stateful())),
        }
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        if cmds.iter().any(|cmd| manner(cmd) != Manner::Plain) {
            return Answer::ready(Err(stateful()));
        }
        if by.left().is_zero() {
            return Answer::ready(Err(late()));
        }
        let values = self.shared.call_all(cmds.iter()).ok_or_else(stateful);
        Answer::ready(values.map(|values| values.into_iter().map(reply::outcome).collect()))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        let eval = |name: &str, text: &str| {
            let size = keys.iter().chain(args).map(|word| word.len()).sum::<usize>() + text.len();
            let mut cmd = Cmd::with_capacity(keys.len() + args.len() + 3, size + 16);
            cmd.arg(name).arg(text).arg(keys.len());
            for word in keys.iter().chain(args) {
                cmd.arg(*word);
            }
            self.run(&cmd, by)
        };
        Answer::ready(match eval("EVALSHA", script.sha()) {
            Err(Fault::Refused { code, .. }) if code == "NOSCRIPT" => eval("EVAL", script.source()),
            outcome => outcome,
        })
    }

    fn session<'a>(&'a self, _key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        if by.left().is_zero() {
            return Answer::ready(Err(late()));
        }
        Answer::ready(Ok(Box::new(self.alone())))
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        let source = Arc::new(Pipes(self.embedded.engine.clone()));
        Answer::Later(Box::pin(crate::listen::subscribe(source, topics.to_vec(), by)))
    }

    fn status(&self) -> Status {
        Status {
            kind: Kind::Embedded,
            place: self.embedded.place.clone(),
            server: format!("worldkeep engine {}", env!("CARGO_PKG_VERSION")),
            up: true,
            since_ms: self.embedded.since_ms,
            reason: None,
            reconnects: 0,
            persistence: self.embedded.persistence.to_owned(),
            eviction: "noeviction".to_owned(),
            warnings: self.embedded.warnings.clone(),
        }
    }

    fn here(&self) -> Option<&dyn Here> {
        Some(self)
    }
}

/// A unit of the engine, as modules see it.
struct Unit<'a, 'b>(&'a mut engine::Unit<'b>);

impl Calls for Unit<'_, '_> {
    fn call(&mut self, argv: &[&[u8]]) -> &[u8] {
        self.0.call(argv)
    }
}

impl Here for Direct {
    fn alone(
        &self,
        work: &mut dyn FnMut(&mut dyn Calls),
        by: Deadline,
    ) -> Option<Result<(), Fault>> {
        if by.left().is_zero() {
            return Some(Err(late()));
        }
        let ran = self.shared.alone(&mut |unit| work(&mut Unit(unit)))?;
        Some(ran.or_else(|error| reply::outcome(error).map(|_| ())))
    }

    fn at_once(
        &self,
        cmds: &[&[&[u8]]],
        look: &mut dyn FnMut(usize, &[u8]) -> Next,
        by: Deadline,
    ) -> Option<Result<(), Fault>> {
        if by.left().is_zero() {
            return Some(Err(late()));
        }
        let mut look = |at: usize, reply: &[u8]| match look(at, reply) {
            Next::Go => engine::Next::Go,
            Next::Skip => engine::Next::Skip,
            Next::Stop => engine::Next::Stop,
        };
        let ran = self.shared.unit(cmds, &mut look)?;
        Some(ran.or_else(|error| reply::outcome(error).map(|_| ())))
    }
}

/// Byte pipes into the engine, for subscriptions.
struct Pipes(Engine);

impl Source for Pipes {
    fn hold<'a>(
        &'a self,
        _key: &'a [u8],
        _idle: bool,
        _by: Deadline,
    ) -> BoxFuture<'a, Result<Held, Fault>> {
        let wire = Wire::new(Box::new(self.0.duplex()));
        let held = Held { wire, generation: 0, watching: false, node: None };
        Box::pin(std::future::ready(Ok(held)))
    }

    fn turned_away(&self, _held: &Held, _error: &redis::ServerError) -> bool {
        false
    }
}

/// A session; without a connection once a blocking call was given up.
struct Alone {
    connection: Option<Connection>,
}

impl Session for Alone {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let Some(connection) = &self.connection else {
            return Answer::ready(Err(gone()));
        };
        if by.left().is_zero() {
            return Answer::ready(Err(late()));
        }
        if let Some(value) = connection.call(cmd) {
            return Answer::ready(reply::outcome(value));
        }
        // Whoever drops the answer gives the call up, and the connection with it.
        let connection = self.connection.take().expect("it was just used");
        Answer::Later(Box::pin(async move {
            match timeout_at(by.instant().into(), connection.wait()).await {
                Ok(value) => {
                    self.connection = Some(connection);
                    reply::outcome(value)
                }
                Err(_) => Err(Fault::Unknown("no answer before the deadline".to_owned())),
            }
        }))
    }

    fn exec<'a>(&'a mut self, cmds: &'a [Cmd], by: Deadline) -> Answer<'a, Option<Vec<Value>>> {
        let Some(connection) = &self.connection else {
            return Answer::ready(Err(gone()));
        };
        if by.left().is_zero() {
            return Answer::ready(Err(late()));
        }
        let (multi, exec) = (redis::cmd("MULTI"), redis::cmd("EXEC"));
        let all = std::iter::once(&multi).chain(cmds).chain([&exec]);
        Answer::ready(match connection.call_all(all) {
            Some(values) => crate::session::executed(values),
            None => Err(stateful()),
        })
    }

    fn exec_packed<'a>(
        &'a mut self,
        parts: &'a [&'a Packed],
        by: Deadline,
    ) -> Answer<'a, Option<Vec<Value>>> {
        let Some(connection) = &self.connection else {
            return Answer::ready(Err(gone()));
        };
        if by.left().is_zero() {
            return Answer::ready(Err(late()));
        }
        let one = |word: &'static [u8]| std::iter::once(Words::from_slice(&[word]));
        let all =
            one(b"MULTI").chain(parts.iter().flat_map(|part| part.words())).chain(one(b"EXEC"));
        Answer::ready(match connection.call_words(all) {
            Some(values) => crate::session::executed(values),
            None => Err(stateful()),
        })
    }
}

fn gone() -> Fault {
    Fault::Unavailable("this session lost an answer: open another".to_owned())
}
