//! Redis inside the process: commands, scripts, expiry, pub/sub, streams and an append-only log that
//! Redis 7 loads. One lock, commands run inline on the caller's thread.
//!
//! The way of one call, from bytes to reply:
//!
//! 1. A door has the call as slices. `doors/direct.rs` takes them from the caller's `Cmd`. `doors/stream.rs` (in
//!    memory) and `doors/event_loop.rs` (TCP and Unix sockets) read bytes, and `doors/resp.rs` finds the calls in them.
//! 2. The door takes the one lock, `shared.rs`. While somebody keeps it for long, a task waits in the line of
//!    `doors/lock.rs`, and `doors/busy.rs` answers `BUSY` to sockets.
//! 3. `exec.rs` runs the call of a seated client. It finds the [`commands::table::Spec`] in the table made of
//!    `commands/commands.tsv` and refuses by arity, login, rights (`acl/`), slots, memory and pause (`exec/guard.rs`).
//! 4. Inside `MULTI` the call is queued. Otherwise its handler runs: `ZADD` is in `commands/zset.rs`, and so on. A
//!    script runs in `lua/` and comes back through the same dispatch for each of its calls.
//! 5. The handler changes values of `data/` through [`core::Core`], which keeps deadlines, watchers, notifications
//!    and tracked keys true. It writes its reply as RESP to `client.out`.
//! 6. A call that must wait (`BLPOP`, a pause) is kept by `exec/wait.rs` and run again from its arguments.
//! 7. `log/pending.rs` gathers the commands that tell what changed; waiting clients are served.
//! 8. The door hands what was gathered to the append-only log (`log.rs`), once for all calls of its turn.
//! 9. Only then the reply leaves: as bytes, or read back to a `Value` by `doors/reply.rs`.

#![allow(
    clippy::unnecessary_wraps,      // all handlers share one signature
    clippy::struct_excessive_bools, // a client has many independent states
    clippy::cast_possible_truncation, // lengths and counts are bounded by the protocol's limits
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

mod acl;
mod clock;
mod commands;
mod core;
mod data;
mod doors;
mod error;
mod exec;
#[doc(hidden)]
pub mod fuzzing;
mod log;
mod lua;
mod shared;

use std::sync::Arc;

pub use clock::{Clock, ManualClock, SystemClock};
pub use doors::direct::{Connection, Turn};
pub use doors::lock::WaitTicket;
pub use doors::tcp::Listener;
pub use doors::unit::Unit;
pub use log::load::LoadError;
pub use log::repair::{Aside, FileReport, LogReport, Repaired, check_log, has_log, repair_log};
pub use log::{Fsync, OpenError, Opened};
pub use shared::Keeping;

use crate::shared::{Hold, SharedEngine};

/// The server whose answers these are.
const REDIS_VERSION: &str = "7.0.15";

/// How to open an engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Number of databases.
    pub databases: usize,
    /// Answer as a Cluster of one node, and refuse calls whose keys are in different slots.
    pub cluster: bool,
    /// The directory of the log; `None` keeps everything in memory only.
    pub dir: Option<std::path::PathBuf>,
    /// When the log is forced to the disk.
    pub fsync: Fsync,
    /// The action of `SHUTDOWN`; without it the command is refused.
    pub on_shutdown: Option<ShutdownHook>,
    /// Whether `DEBUG` may be called. It can stop the whole engine, so Redis too leaves it off.
    pub debug: bool,
    /// Bytes that scripts may take; one that needs more ends in an error. 0 for no limit.
    pub script_memory: usize,
    /// Ends a script that has run this long without writing. Without it only `SCRIPT KILL` does.
    pub script_time: Option<std::time::Duration>,
    /// Closes a client of a listening door that takes nothing of what it is owed for so long.
    pub write_stall: std::time::Duration,
}

/// The action of the program around the engine when a client says `SHUTDOWN`.
#[derive(Clone)]
pub struct ShutdownHook(Arc<dyn Fn() + Send + Sync>);

impl ShutdownHook {
    /// The function is called with the engine's lock held: it must only pass the wish on.
    pub fn new(hook: impl Fn() + Send + Sync + 'static) -> Self {
        ShutdownHook(Arc::new(hook))
    }

    pub(crate) fn call(&self) {
        (self.0)();
    }
}

impl std::fmt::Debug for ShutdownHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShutdownHook")
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            clock: Arc::new(SystemClock),
            databases: 16,
            cluster: false,
            dir: None,
            fsync: Fsync::default(),
            on_shutdown: None,
            debug: false,
            script_memory: lua::watch::MEMORY,
            script_time: None,
            write_stall: std::time::Duration::from_secs(10),
        }
    }
}

/// An embedded Redis. Clones share the data.
#[derive(Clone)]
pub struct Engine {
    shared: Hold,
    owner: bool,
    write_stall: std::time::Duration,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine that keeps its data in memory only.
    pub fn memory() -> Self {
        Self::open(Options::default()).expect("without a directory nothing can fail").0
    }

    /// An engine with options; loads what its directory has.
    pub fn open(options: Options) -> Result<(Self, Opened), OpenError> {
        let write_stall = options.write_stall;
        let (shared, opened) = SharedEngine::start(options)?;
        Ok((Engine { shared: Hold::new(shared), owner: false, write_stall }, opened))
    }

    /// The same engine for the program around it: connections made from this one need no login and no rule of users
    /// binds them, whatever `requirepass` and `ACL SETUSER` say. Sockets are not made from here, and log in.
    #[must_use]
    pub fn as_owner(&self) -> Self {
        Engine { owner: true, ..self.clone() }
    }

    /// The same engine, whose doors opened from this one give clients another [`Options::write_stall`].
    #[must_use]
    pub fn with_write_stall(&self, write_stall: std::time::Duration) -> Self {
        Engine { write_stall, ..self.clone() }
    }

    /// Starts writing the log anew, in the background. False when that is under way or there is no log.
    pub fn rewrite(&self) -> bool {
        let mut inner = self.shared.lock();
        self.shared.shared().rewrite_in_background(&mut inner)
    }

    /// Whether a rewrite of the log is under way.
    pub fn is_rewriting(&self) -> bool {
        self.shared.lock().log.as_ref().is_some_and(|log| log.rewriting)
    }

    /// Forces the log to the disk.
    pub fn sync(&self) -> std::io::Result<()> {
        self.shared.lock().log.as_ref().map_or(Ok(()), log::Log::sync)
    }

    /// Changes how much memory scripts may take from now on, see [`Options::script_memory`].
    pub fn set_script_memory(&self, bytes: usize) {
        self.shared.watch.set_memory(bytes);
    }

    /// How long somebody has kept the engine to himself, such as a script without an end; none while it can be had. Does not
    /// wait for the engine.
    pub fn busy_for(&self) -> Option<std::time::Duration> {
        self.shared.busy_for()
    }

    /// Why writes are refused, such as a full disk; none while they are taken. Does not wait for the engine, and is at most
    /// a tenth of a second old.
    pub fn refusal(&self) -> Option<String> {
        self.shared.refusal()
    }

    /// How the data is kept, by the settings of now. Does not wait for the engine, and is at most a tenth of a second old.
    pub fn keeping(&self) -> Keeping {
        self.shared.keeping()
    }

    /// A new connection by direct call: a session of its own.
    pub fn connect(&self) -> Connection {
        Connection::new(&self.shared, self.owner)
    }

    /// A new connection as a byte stream in memory, speaking RESP. Needs a tokio runtime.
    pub fn duplex(&self) -> tokio::io::DuplexStream {
        doors::stream::duplex(&self.shared, self.owner)
    }

    /// Listens for RESP clients on a TCP address, on a thread of the engine's own.
    pub fn listen(&self, addr: std::net::SocketAddr) -> std::io::Result<Listener> {
        Listener::tcp(&self.shared, addr, self.write_stall, None)
    }

    /// The same over TLS. Each handshake uses what `config` gives then, so that certificates can be renewed.
    pub fn listen_tls(
        &self,
        addr: std::net::SocketAddr,
        config: impl Fn() -> std::sync::Arc<rustls::ServerConfig> + Send + Sync + 'static,
    ) -> std::io::Result<Listener> {
        Listener::tcp(&self.shared, addr, self.write_stall, Some(std::sync::Arc::new(config)))
    }

    /// Listens for RESP clients on a Unix socket, which must not be there yet and goes with the [`Listener`].
    pub fn listen_unix(&self, path: &std::path::Path) -> std::io::Result<Listener> {
        Listener::unix(&self.shared, path, self.write_stall)
    }

    /// Ends what is due now. The engine does this by itself; a test with a [`ManualClock`] calls it after
    /// moving time.
    pub fn tick(&self) {
        self.shared.shared().tick();
    }
}
