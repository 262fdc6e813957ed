//! The store inside the process. A call runs on the caller's thread and its answer is ready at once; blocking commands and
//! subscriptions wait. While a long script has the engine a call waits in line without holding its thread, and is given up
//! at its deadline: nothing of it was done.

mod step;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Connection, Engine, Fsync, Turn};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use kernel::store_words as words;
use kernel::{
    Answer, Cmd, Deadline, Fault, Kind, Message, Packed, Said, Script, Session, Status, Step,
    Stepped, Store, Topic, Value, Words,
};
use parking_lot::Mutex;
use tokio::time::timeout_at;

use crate::OpenError;
use crate::command_class::{CommandClass, command_class};
use crate::connection::RawConnection;
use crate::node::LentConnection;
use crate::probe;
use crate::remote::stateful;
use crate::reply;
use crate::session::ConnectionSource;

/// The engine of this process, opened; clones share the data.
#[derive(Debug, Clone)]
pub struct Embedded {
    engine: Engine,
    address: String,
    health: Arc<Health>,
    warnings: Vec<Said>,
}

/// Since when the engine can be had, or cannot.
#[derive(Debug)]
struct Health(Mutex<(bool, u64)>);

impl Default for Health {
    fn default() -> Self {
        Health(Mutex::new((true, crate::wall_ms())))
    }
}

impl Health {
    fn since(&self, up: bool) -> u64 {
        let mut known = self.0.lock();
        if known.0 != up {
            *known = (up, crate::wall_ms());
        }
        known.1
    }
}

impl Embedded {
    /// Nothing on disk.
    pub fn memory() -> Self {
        Embedded {
            engine: Engine::memory().as_owner(),
            address: "memory".to_owned(),
            health: Arc::default(),
            warnings: vec![words::MEMORY_ONLY.say()],
        }
    }

    /// Durable in a directory, which has one owner at a time; the log is synced every second.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(dir, Fsync::EverySecond)
    }

    /// The same for a directory that holds a store already: where there is none, none is made.
    pub fn open_existing(dir: &Path) -> Result<Self, OpenError> {
        existing(dir)?;
        Self::open(dir)
    }

    /// The same with a choice of when the log is forced to the disk.
    pub fn open_with(dir: &Path, fsync: Fsync) -> Result<Self, OpenError> {
        let options = engine::Options { dir: Some(dir.to_owned()), fsync, ..Default::default() };
        let (engine, opened) = Engine::open(options).map_err(|error| explain(dir, &error))?;
        let mut warnings = Vec::new();
        if let Some((file, bytes)) = opened.cut {
            let file = file.display().to_string();
            warnings.push(words::TORN.say().with("file", file).with("bytes", bytes));
        }
        if opened.errors > 0 {
            warnings.push(words::LOADED_WITH_ERRORS.say().with("n", opened.errors));
        }
        let address = dir.display().to_string();
        let engine = engine.as_owner();
        Ok(Embedded { engine, address, health: Arc::default(), warnings })
    }

    /// As a store.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(Direct { shared: self.engine.connect(), embedded: self.clone() })
    }

    /// Lets other programs in: RESP on a TCP address, for as long as the listener is kept. A client that takes nothing of
    /// what it is owed for as long as `write_stall` is closed.
    pub fn listen(
        &self,
        addr: SocketAddr,
        write_stall: Duration,
    ) -> std::io::Result<engine::Listener> {
        self.engine.with_write_stall(write_stall).listen(addr)
    }

    /// The same over TLS, with the certificate that `config` gives at each handshake.
    pub fn listen_tls(
        &self,
        addr: SocketAddr,
        write_stall: Duration,
        config: impl Fn() -> Arc<rustls::ServerConfig> + Send + Sync + 'static,
    ) -> std::io::Result<engine::Listener> {
        self.engine.with_write_stall(write_stall).listen_tls(addr, config)
    }

    /// The engine itself.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// Reads every file of a directory's log and says what is wrong. Changes nothing.
pub fn check_log(dir: &Path) -> Result<engine::LogReport, OpenError> {
    existing(dir)?;
    engine::check_log(dir).map_err(|error| explain(dir, &error))
}

/// Cuts a damaged log where its good part ends; what is cut out stays beside it.
pub fn repair_log(dir: &Path) -> Result<engine::Repaired, OpenError> {
    existing(dir)?;
    engine::repair_log(dir).map_err(|error| explain(dir, &error))
}

fn existing(dir: &Path) -> Result<(), OpenError> {
    if engine::has_log(dir) {
        return Ok(());
    }
    let path = dir.display().to_string();
    let reason = format!(
        "there is no store in it; correct the directory, or make one with `worldkeep serve --data {path}`"
    );
    Err(OpenError::Directory { path, reason })
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

/// How long the engine may be kept by one caller before the store counts as busy.
const BUSY_AFTER: Duration = Duration::from_secs(1);

/// The reason why everybody else waits, in words.
fn keeps_waiting(held: Duration) -> String {
    format!(
        "{} a script or a long command has kept the engine for {:.1} s; SCRIPT KILL ends a script that wrote \
         nothing, and a restart any: nothing of it is stored",
        Fault::BUSY,
        held.as_secs_f64()
    )
}

fn busy(engine: &Engine) -> Fault {
    Fault::Unavailable(keeps_waiting(engine.busy_for().unwrap_or_default()))
}

/// Does `work` in a turn of its own: at once, or as soon as the engine is free.
fn in_turn<'a, T: Unpin + Send + 'a>(
    engine: &'a Engine,
    connection: &'a Connection,
    by: Deadline,
    work: impl FnOnce(Turn<'_>) -> Result<T, Fault> + Send + 'a,
) -> Answer<'a, T> {
    if by.left().is_zero() {
        return Answer::ready(Err(late()));
    }
    match connection.try_turn() {
        Some(turn) => Answer::ready(work(turn)),
        None => Answer::Later(Box::pin(when_free(engine, connection, by, work))),
    }
}

async fn when_free<T>(
    engine: &Engine,
    connection: &Connection,
    by: Deadline,
    work: impl FnOnce(Turn<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let line = connection.line();
    loop {
        if let Some(turn) = connection.try_turn() {
            return work(turn);
        }
        if timeout_at(by.instant().into(), line.called()).await.is_err() {
            return Err(busy(engine));
        }
    }
}

fn run(turn: &mut Turn<'_>, cmd: &Cmd) -> Result<Value, Fault> {
    turn.call(cmd).map_or_else(|| Err(stateful()), reply::outcome)
}

impl Direct {
    fn in_turn<'a, T: Unpin + Send + 'a>(
        &'a self,
        by: Deadline,
        work: impl FnOnce(Turn<'_>) -> Result<T, Fault> + Send + 'a,
    ) -> Answer<'a, T> {
        in_turn(&self.embedded.engine, &self.shared, by, work)
    }

    fn alone(&self) -> Alone {
        let engine = self.embedded.engine.clone();
        Alone { connection: Some(engine.connect()), engine, refused: None }
    }
}

impl Store for Direct {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        match command_class(cmd) {
            CommandClass::Plain => self.in_turn(by, |mut turn| run(&mut turn, cmd)),
            CommandClass::Blocking => {
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
        if cmds.iter().any(|cmd| command_class(cmd) != CommandClass::Plain) {
            return Answer::ready(Err(stateful()));
        }
        self.in_turn(by, |mut turn| {
            let values = turn.call_all(cmds.iter()).ok_or_else(stateful)?;
            Ok(values.into_iter().map(reply::outcome).collect())
        })
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        let eval = move |name: &str, text: &str| {
            let size = keys.iter().chain(args).map(|word| word.len()).sum::<usize>() + text.len();
            let mut cmd = Cmd::with_capacity(keys.len() + args.len() + 3, size + 16);
            cmd.arg(name).arg(text).arg(keys.len());
            for word in keys.iter().chain(args) {
                cmd.arg(*word);
            }
            cmd
        };
        self.in_turn(by, move |mut turn| match run(&mut turn, &eval("EVALSHA", script.sha())) {
            Err(Fault::Refused { code, .. }) if code == "NOSCRIPT" => {
                run(&mut turn, &eval("EVAL", script.source()))
            }
            outcome => outcome,
        })
    }

    fn step<'a>(&'a self, step: &'a Step, by: Deadline) -> Answer<'a, Stepped> {
        match self.in_turn(by, |mut turn| Ok(step::run(&mut turn, step))) {
            Answer::Ready(Some(Ok(Some(stepped)))) => Answer::ready(stepped),
            native => Answer::Later(Box::pin(async move {
                match native.await? {
                    Some(stepped) => stepped,
                    None => step.run_script(self, by).await,
                }
            })),
        }
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
        Answer::Later(Box::pin(crate::subscription::subscribe(source, topics.to_vec(), by)))
    }

    fn status(&self) -> Status {
        let engine = &self.embedded.engine;
        let kept = engine.busy_for().filter(|held| *held >= BUSY_AFTER);
        let up = kept.is_none();
        let kept_by = engine.keeping();
        Status {
            kind: Kind::Embedded,
            address: self.embedded.address.clone(),
            server: format!("worldkeep engine {}", env!("CARGO_PKG_VERSION")),
            up,
            since_ms: self.embedded.health.since(up),
            reason: kept.map(keeps_waiting),
            refuses_writes: engine.refusal(),
            reconnects: 0,
            persistence: probe::persistence(kept_by.log, Some(kept_by.fsync.as_str()), Some("")),
            warnings: warnings(&self.embedded.warnings, &kept_by.eviction),
            eviction: kept_by.eviction,
        }
    }
}

/// The warnings of the start, and what the settings of now add.
fn warnings(of_start: &[Said], eviction: &str) -> Vec<Said> {
    let evicts = || words::EVICTS.say().with("policy", eviction);
    of_start.iter().cloned().chain((eviction != "noeviction").then(evicts)).collect()
}

/// Byte pipes into the engine, for subscriptions.
struct Pipes(Engine);

impl ConnectionSource for Pipes {
    fn hold<'a>(
        &'a self,
        _key: &'a [u8],
        _idle: bool,
        _by: Deadline,
    ) -> BoxFuture<'a, Result<LentConnection, Fault>> {
        let connection = RawConnection::new(Box::new(self.0.duplex()));
        let held = LentConnection { connection, generation: 0, watching: false, node: None };
        Box::pin(std::future::ready(Ok(held)))
    }

    fn turned_away(&self, _held: &LentConnection, _error: &redis::ServerError) -> bool {
        false
    }
}

/// A session; without a connection once a blocking call was given up.
struct Alone {
    engine: Engine,
    connection: Option<Connection>,
    /// Why a command was not queued.
    refused: Option<Value>,
}

impl Session for Alone {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let Some(connection) = &self.connection else {
            return Answer::ready(Err(gone()));
        };
        if by.left().is_zero() {
            return Answer::ready(Err(late()));
        }
        let ran = connection.try_turn().map(|mut turn| turn.call(cmd));
        if let Some(Some(value)) = ran {
            return Answer::ready(reply::outcome(value));
        }
        // Whoever drops the answer gives the call up, and the connection with it.
        let connection = self.connection.take().expect("it was just used");
        Answer::Later(Box::pin(async move {
            let ran = match ran {
                Some(replied) => Ok(replied),
                None => {
                    when_free(&self.engine, &connection, by, |mut turn| Ok(turn.call(cmd))).await
                }
            };
            let replied = match ran {
                Ok(replied) => replied,
                Err(fault) => {
                    // Nothing was done: the session is as it was.
                    self.connection = Some(connection);
                    return Err(fault);
                }
            };
            let value = match replied {
                Some(value) => Ok(value),
                None => timeout_at(by.instant().into(), connection.wait()).await,
            };
            match value {
                Ok(value) => {
                    self.connection = Some(connection);
                    reply::outcome(value)
                }
                Err(_) => Err(Fault::Unknown("no answer before the deadline".to_owned())),
            }
        }))
    }

    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()> {
        let Alone { engine, connection, refused } = self;
        let Some(connection) = connection else { return Answer::ready(Err(gone())) };
        in_turn(engine, connection, by, move |mut turn| {
            let multi = std::iter::once(Words::from_slice(&[b"MULTI"]));
            let all = multi.chain(cmds.iter().flat_map(|part| part.words()));
            let values = turn.call_words(all).ok_or_else(stateful)?;
            *refused = values.into_iter().find(|value| matches!(value, Value::ServerError(_)));
            Ok(())
        })
    }

    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>> {
        let Alone { engine, connection, refused } = self;
        let Some(connection) = connection else { return Answer::ready(Err(gone())) };
        in_turn(engine, connection, by, move |mut turn| {
            let exec = turn.call(&redis::cmd("EXEC")).ok_or_else(stateful)?;
            crate::session::executed(refused.take().into_iter().chain([exec]).collect())
        })
    }
}

fn gone() -> Fault {
    Fault::Unavailable("this session lost an answer: open another".to_owned())
}
