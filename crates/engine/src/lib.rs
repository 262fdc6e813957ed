//! Redis inside the process: commands, scripts, expiry, pub/sub, streams and an append-only log that
//! Redis 7 loads. One lock, commands run inline on the caller's thread.
//!
//! How a call goes: a door (`door_direct`, `door_stream`, `door_loop`) has the arguments as slices, takes the lock and
//! calls `exec::Inner::run_seated`; `command::TABLE` finds the [`command::Spec`]; the handler in `cmd_*.rs` works
//! on [`core::Core`] and writes RESP bytes to `client.out`; what changed is gathered in `log::Pending` and handed
//! to the log before the reply leaves.

#![allow(
    clippy::unnecessary_wraps,      // all handlers share one signature
    clippy::struct_excessive_bools, // a client has many independent states
    clippy::cast_possible_truncation, // lengths and counts are bounded by the protocol's limits
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

mod acl;
mod admin;
mod aof;
mod aof_dump;
mod aof_dump_stream;
mod aof_file;
mod aof_load;
mod aof_lock;
mod aof_manifest;
mod aof_repair;
mod aof_rewrite;
mod aof_sync;
mod client;
mod clock;
mod cluster;
mod cmd_acl;
mod cmd_bit;
mod cmd_bitfield;
mod cmd_client;
mod cmd_cluster;
mod cmd_command;
mod cmd_config;
mod cmd_connection;
mod cmd_debug;
mod cmd_dump;
mod cmd_expire;
mod cmd_function;
mod cmd_geo;
mod cmd_hash;
mod cmd_hll;
mod cmd_info;
mod cmd_keys;
mod cmd_latency;
mod cmd_lcs;
mod cmd_list;
mod cmd_list_block;
mod cmd_multi;
mod cmd_pubsub;
mod cmd_scan;
mod cmd_script;
mod cmd_server;
mod cmd_set;
mod cmd_sort;
mod cmd_stream;
mod cmd_stream_claim;
mod cmd_stream_group;
mod cmd_stream_info;
mod cmd_stream_read;
mod cmd_string;
mod cmd_tracking;
mod cmd_zset;
mod cmd_zset_ops;
mod cmd_zset_pop;
mod cmd_zset_range;
mod command;
mod command_keys;
mod config;
mod core;
mod ctx;
mod data;
mod door_busy;
mod door_conn;
mod door_direct;
mod door_hub;
mod door_loop;
mod door_stream;
mod door_tcp;
mod error;
mod evict;
mod exec;
mod exec_wait;
#[doc(hidden)]
pub mod fuzzing;
mod geo_search;
mod geohash;
mod guard;
mod held;
mod help;
mod hll;
mod log;
mod logins;
mod lua;
mod many_pop;
mod notify;
mod out;
mod pubsub;
mod random;
mod rdb;
mod rdb_read;
mod reply;
mod resp;
mod session;
mod settings;
mod shared;
mod stats;
#[cfg(test)]
mod tests_disk;
#[cfg(test)]
mod tests_power;
mod tracking;
mod unit;
mod wake;

use std::sync::Arc;

pub use aof::{Fsync, OpenError, Opened};
pub use aof_load::LoadError;
pub use aof_repair::{Aside, FileReport, LogReport, Repaired, check_log, has_log, repair_log};
pub use clock::{Clock, ManualClock, SystemClock};
pub use door_direct::{Connection, Turn};
pub use door_tcp::Listener;
pub use held::Place;
pub use unit::Unit;

use crate::command::Run;
use crate::shared::{Hold, Shared};

/// The server whose answers these are.
const REDIS_VERSION: &str = "7.0.15";

/// The handlers of all groups.
const HANDLERS: &[&[(&str, Run)]] = &[
    cmd_acl::HANDLERS,
    cmd_client::HANDLERS,
    cmd_cluster::HANDLERS,
    cmd_command::HANDLERS,
    cmd_config::HANDLERS,
    cmd_connection::HANDLERS,
    cmd_debug::HANDLERS,
    cmd_bit::HANDLERS,
    cmd_bitfield::HANDLERS,
    cmd_dump::HANDLERS,
    cmd_expire::HANDLERS,
    cmd_function::HANDLERS,
    cmd_geo::HANDLERS,
    cmd_hash::HANDLERS,
    cmd_hll::HANDLERS,
    cmd_info::HANDLERS,
    cmd_keys::HANDLERS,
    cmd_latency::HANDLERS,
    cmd_list::HANDLERS,
    cmd_list_block::HANDLERS,
    cmd_multi::HANDLERS,
    cmd_pubsub::HANDLERS,
    cmd_scan::HANDLERS,
    cmd_script::HANDLERS,
    cmd_server::HANDLERS,
    cmd_set::HANDLERS,
    cmd_sort::HANDLERS,
    cmd_stream::HANDLERS,
    cmd_stream_claim::HANDLERS,
    cmd_stream_group::HANDLERS,
    cmd_stream_info::HANDLERS,
    cmd_stream_read::HANDLERS,
    cmd_string::HANDLERS,
    cmd_zset::HANDLERS,
    cmd_zset_ops::HANDLERS,
    cmd_zset_pop::HANDLERS,
    cmd_zset_range::HANDLERS,
];

/// How to open an engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Number of databases.
    pub databases: usize,
    /// Answer as a Cluster of one node, and refuse calls whose keys are in different slots.
    pub cluster: bool,
    /// Where the log is kept; none keeps everything in memory only.
    pub dir: Option<std::path::PathBuf>,
    /// When the log is forced to the disk.
    pub fsync: Fsync,
    /// What `SHUTDOWN` does; without it the command is refused.
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

/// What the program around the engine does when a client says `SHUTDOWN`.
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
        let (shared, opened) = Shared::start(options)?;
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
        self.shared.lock().log.as_ref().map_or(Ok(()), aof::Log::sync)
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

    /// A new connection by direct call: a session of its own.
    pub fn connect(&self) -> Connection {
        Connection::new(&self.shared, self.owner)
    }

    /// A new connection as a byte stream in memory, speaking RESP. Needs a tokio runtime.
    pub fn duplex(&self) -> tokio::io::DuplexStream {
        door_stream::duplex(&self.shared, self.owner)
    }

    /// Listens for RESP clients on a TCP address, on a thread of the engine's own.
    pub fn listen(&self, addr: std::net::SocketAddr) -> std::io::Result<Listener> {
        Listener::tcp(&self.shared, addr, self.write_stall)
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
