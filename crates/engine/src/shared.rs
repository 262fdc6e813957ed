//! The one lock, and the thread that lets time pass: it ends waits and lives that are due.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::Options;
use crate::core::Core;
use crate::core::client::{Client, Seat};
use crate::core::config::Config;
use crate::doors::conn::Socket;
use crate::doors::event_loop::Door;
use crate::doors::lock::{EngineLock, WaitQueue};
use crate::doors::wake::Wake;
use crate::exec::LockedEngine;
use crate::log::{self, Log, OpenError, Opened};
use crate::lua::host::LuaHost;
use crate::lua::watch::Watch;

/// The state that all doors share.
pub(crate) struct SharedEngine {
    inner: Mutex<LockedEngine>,
    /// How many threads wait for the lock.
    waiting: AtomicUsize,
    /// Tasks that wait for it.
    pub(crate) line: WaitQueue,
    /// The present holder has kept the lock for longer than a moment: no task waits another one for it.
    kept_long: AtomicBool,
    /// Clients that left while somebody else held the lock.
    leaving: Mutex<Vec<Seat>>,
    any_leaving: AtomicBool,
    condition: Condition,
    ticker: Arc<Ticker>,
    /// The running script, to be seen and stopped without the lock.
    pub(crate) watch: Arc<Watch>,
    /// Nobody has to log in; looked at anew with every tick.
    open_to_all: AtomicBool,
    /// Runtimes of the in-memory doors. A worker that runs a script may be the one that looks for input;
    /// another must then be woken to do so.
    runtimes: Mutex<Vec<tokio::runtime::Handle>>,
    /// Listening doors, whose loop may run a script.
    listening: Mutex<Vec<Weak<Door>>>,
    /// The last rewrite of the log that was begun.
    pub(crate) rewriter: Mutex<Option<JoinHandle<()>>>,
}

/// How the data is kept, by the settings of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// Whether an append-only log is written.
    pub log: bool,
    /// `appendfsync`: when the log is forced to the disk.
    pub fsync: String,
    /// `maxmemory-policy`.
    pub eviction: String,
}

impl Keeping {
    fn of(config: &Config) -> Self {
        let text = |name| String::from_utf8_lossy(config.text(name)).into_owned();
        let log = config.text("appendonly") == b"yes";
        Keeping { log, fsync: text("appendfsync"), eviction: text("maxmemory-policy") }
    }

    /// Takes the settings over where they changed.
    fn look(&mut self, config: &Config) {
        let same = |name, known: &str| config.text(name) == known.as_bytes();
        if !same("appendfsync", &self.fsync)
            || !same("maxmemory-policy", &self.eviction)
            || (config.text("appendonly") == b"yes") != self.log
        {
            *self = Keeping::of(config);
        }
    }
}

/// How the engine is, to be seen without the lock. The ticking thread keeps it.
struct Condition {
    epoch: Instant,
    /// Milliseconds since `epoch` at which the ticking thread began to wait for the lock; 0 when it has it.
    waits_since: AtomicU64,
    /// Why writes are refused.
    refusal: Mutex<Option<String>>,
    /// How the data is kept.
    keeping: Mutex<Keeping>,
}

impl Condition {
    fn new(config: &Config) -> Self {
        Condition {
            epoch: Instant::now(),
            waits_since: AtomicU64::new(0),
            refusal: Mutex::default(),
            keeping: Mutex::new(Keeping::of(config)),
        }
    }
}

impl Condition {
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

/// Wakes the ticking thread early when a nearer deadline appears.
#[derive(Default)]
struct Ticker {
    state: Mutex<TickerState>,
    changed: Condvar,
}

#[derive(Default)]
struct TickerState {
    stop: bool,
    sooner: bool,
}

/// How often lives that are over are looked for.
const TICK: Duration = Duration::from_millis(100);
/// How long a task may hold its thread for the lock. Holders that work in memory are done long before.
const MOMENT: Duration = Duration::from_millis(1);

impl SharedEngine {
    pub(crate) fn start(options: Options) -> Result<(Arc<Self>, Opened), OpenError> {
        let mut config = Config::opened(options.databases, options.cluster);
        config.set_text("enable-debug-command", if options.debug { b"yes" } else { b"no" });
        config.set_text("appendfsync", options.fsync.word().as_bytes());
        config.set_text("appendonly", if options.dir.is_some() { b"yes" } else { b"no" });
        let mut core = Core::new(options.clock, config);
        core.admin.on_shutdown = options.on_shutdown;
        core.admin.debug = options.debug;
        let mut inner = LockedEngine::new(core, LuaHost::default());
        let watch = Arc::clone(&inner.lua.watch);
        let time = options.script_time.map_or(0, |time| time.as_millis());
        watch.set_limits(u64::try_from(time).unwrap_or(u64::MAX), options.script_memory);
        let mut opened = Opened::default();
        if let Some(dir) = &options.dir {
            let (log, found) = Log::open(&mut inner, dir, options.fsync)?;
            inner.log = Some(log);
            inner.core().pending.on = true;
            opened = found;
        }
        let condition = Condition::new(&inner.core().config);
        let shared = Arc::new(SharedEngine {
            inner: Mutex::new(inner),
            waiting: AtomicUsize::new(0),
            line: WaitQueue::default(),
            kept_long: AtomicBool::new(false),
            leaving: Mutex::default(),
            any_leaving: AtomicBool::new(false),
            condition,
            ticker: Arc::default(),
            watch,
            runtimes: Mutex::default(),
            listening: Mutex::default(),
            rewriter: Mutex::default(),
            open_to_all: AtomicBool::new(true),
        });
        let weak = Arc::downgrade(&shared);
        let ticker = Arc::clone(&shared.ticker);
        std::thread::Builder::new()
            .name("engine-tick".into())
            .spawn(move || {
                let mut wait = TICK;
                while ticker.sleep(wait) {
                    let Some(shared) = weak.upgrade() else { break };
                    wait = shared.tick();
                }
            })
            .expect("a thread can be started");
        Ok((shared, opened))
    }

    /// The lock. Blocks the thread until it is there: for threads of the engine's own and callers without a runtime.
    pub(crate) fn lock(&self) -> EngineLock<'_> {
        let guard = self.inner.try_lock();
        self.held(guard.unwrap_or_else(|| self.wait_with(|| self.inner.lock())))
    }

    /// The lock, unless its holder keeps it for longer than a moment: then a task waits in the line.
    pub(crate) fn lock_soon(&self) -> Option<EngineLock<'_>> {
        if let Some(guard) = self.inner.try_lock() {
            return Some(self.held(guard));
        }
        if self.kept_long.load(Ordering::Relaxed) {
            return None;
        }
        let guard = self.wait_with(|| self.inner.try_lock_for(MOMENT));
        if guard.is_none() {
            self.kept_long.store(true, Ordering::Relaxed);
        }
        guard.map(|guard| self.held(guard))
    }

    fn held<'a>(&'a self, guard: MutexGuard<'a, LockedEngine>) -> EngineLock<'a> {
        if self.kept_long.load(Ordering::Relaxed) {
            self.kept_long.store(false, Ordering::Relaxed);
        }
        let mut held = EngineLock::new(guard, &self.line);
        if self.any_leaving.load(Ordering::Acquire) {
            self.see_off(&mut held);
        }
        held
    }

    #[cold]
    fn see_off(&self, inner: &mut LockedEngine) {
        self.any_leaving.store(false, Ordering::Release);
        for seat in std::mem::take(&mut *self.leaving.lock()) {
            Self::unseat_in(inner, seat);
        }
    }

    fn wait_with<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let got = wait();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        got
    }

    /// Whether somebody waits for the lock that the caller holds.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// A door runs on this runtime.
    pub(crate) fn door_on(&self, runtime: tokio::runtime::Handle) {
        self.runtimes.lock().push(runtime);
    }

    /// A door listens.
    pub(crate) fn listens(&self, door: &Arc<Door>) {
        let mut doors = self.listening.lock();
        doors.retain(|door| door.strong_count() > 0);
        doors.push(Arc::downgrade(door));
    }

    /// The lock for the ticking thread, which sees to the doors while it has to wait.
    fn lock_and_attend(&self) -> EngineLock<'_> {
        const BUSY: Duration = Duration::from_millis(10);
        self.condition.waits_since.store(self.condition.now(), Ordering::Relaxed);
        loop {
            let busy = self.watch.busy();
            let wait = if busy { BUSY } else { TICK };
            if let Some(inner) = self.wait_with(|| self.inner.try_lock_for(wait)) {
                self.condition.waits_since.store(0, Ordering::Relaxed);
                return self.held(inner);
            }
            self.line.wake_all();
            for runtime in self.runtimes.lock().iter() {
                runtime.spawn(async {});
            }
            if self.watch.busy() {
                let doors: Vec<_> =
                    self.listening.lock().iter().filter_map(Weak::upgrade).collect();
                for door in doors {
                    door.stand_in(self);
                }
            }
        }
    }

    /// How long the lock has been held by somebody who keeps it, a script or a long command; none when it can be had.
    pub(crate) fn busy_for(&self) -> Option<Duration> {
        let since = self.condition.waits_since.load(Ordering::Relaxed);
        let waited = if since == 0 { 0 } else { self.condition.now().saturating_sub(since) };
        (waited > 0).then(|| Duration::from_millis(waited))
    }

    /// Why writes are refused, as of the last tick.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.condition.refusal.lock().clone()
    }

    /// How the data is kept, as of the last tick.
    pub(crate) fn keeping(&self) -> Keeping {
        self.condition.keeping.lock().clone()
    }

    /// The lock, or nothing while a slow script holds it.
    pub(crate) fn lock_unless_busy(&self) -> Option<EngineLock<'_>> {
        const LOOK: Duration = Duration::from_millis(1);
        if let Some(inner) = self.inner.try_lock() {
            return Some(self.held(inner));
        }
        self.wait_with(|| {
            while !self.watch.busy() {
                if let Some(inner) = self.inner.try_lock_for(LOOK) {
                    return Some(self.held(inner));
                }
            }
            None
        })
    }

    /// Seats a client of this process.
    pub(crate) fn seat(inner: &mut LockedEngine, owner: bool) -> Seat {
        Self::seat_in(inner, "in-process:0".into(), owner)
    }

    fn seat_in(inner: &mut LockedEngine, addr: String, owner: bool) -> Seat {
        let core = inner.core();
        let id = core.clients.next_id();
        core.stats.connections += 1;
        let now = core.clock.now_ms();
        let users = &core.admin.users;
        let user = Arc::clone(if owner { users.owner() } else { users.default_user() });
        let mut client = Client::new(id, addr, user, now);
        (client.in_process, client.owner) = (true, owner);
        core.clients.add(Box::new(client))
    }

    /// Seats a client that came over a socket, or says why it is not let in.
    pub(crate) fn seat_socket(
        inner: &mut LockedEngine,
        socket: &Socket,
        wake: Wake,
    ) -> Result<Seat, &'static str> {
        if let Some(why) = inner.core().turns_away(socket) {
            inner.core().stats.rejected_connections += 1;
            return Err(why);
        }
        let seat = Self::seat_in(inner, socket.addr.clone(), false);
        if let Some(client) = inner.core().clients.at(seat) {
            client.laddr.clone_from(&socket.laddr);
            (client.fd, client.in_process, client.wake) = (socket.fd, false, wake);
        }
        Ok(seat)
    }

    /// Whether a client that has not logged in may do something.
    pub(crate) fn open_to_all(&self) -> bool {
        self.open_to_all.load(Ordering::Relaxed)
    }

    /// A connection ended: nothing of it stays. Never waits; whoever holds the lock, the next one sees it off.
    pub(crate) fn unseat(&self, seat: Seat) {
        if let Some(guard) = self.inner.try_lock() {
            return Self::unseat_in(&mut self.held(guard), seat);
        }
        self.leaving.lock().push(seat);
        self.any_leaving.store(true, Ordering::Release);
    }

    pub(crate) fn unseat_in(inner: &mut LockedEngine, seat: Seat) {
        let core = inner.core();
        let Some(mut client) = core.clients.remove(seat) else { return };
        core.detach(&mut client);
    }

    /// After a batch, before its replies leave: what changed goes to the log; a new wait is timed. An error
    /// means that the batch must not be acknowledged.
    pub(crate) fn settle(&self, inner: &mut LockedEngine, seat: Seat) -> std::io::Result<()> {
        let written = inner.write_log();
        let core = inner.core();
        if let Err(error) = &written {
            disown(core, Some(seat), error);
        }
        if core.blocked_clients > 0
            && core.clients.get(seat.id).is_some_and(|client| client.blocked.is_some())
        {
            self.time_waits();
        }
        written
    }

    /// A client waits from now on: the ticking thread looks when it must end.
    pub(crate) fn time_waits(&self) {
        self.ticker.sooner();
    }

    /// Ends what is due; gives how long to sleep until the next.
    pub(crate) fn tick(self: &Arc<Self>) -> Duration {
        let mut inner = self.lock_and_attend();
        inner.tick();
        let open = inner.core().admin.users.default_user().needs_no_password();
        self.open_to_all.store(open, Ordering::Relaxed);
        if let Err(error) = inner.write_log() {
            disown(inner.core(), None, &error);
        }
        self.look_after_log(&mut inner);
        let core = inner.core();
        let refusal = core.write_refusal.as_ref().map(log::reason);
        let mut told = self.condition.refusal.lock();
        if *told != refusal {
            *told = refusal;
        }
        drop(told);
        self.condition.keeping.lock().look(&core.config);
        if core.blocked_clients == 0 {
            return core.config.tick;
        }
        let now = core.clock.now_ms();
        let next = core.clients.iter().filter_map(|c| c.blocked.as_ref()?.until_ms).min();
        let wait = next.map_or(100, |at| u64::try_from(at - now).unwrap_or(0).clamp(10, 100));
        Duration::from_millis(wait)
    }

    /// Tries again what the disk refused; starts a rewrite when one is due.
    fn look_after_log(self: &Arc<Self>, inner: &mut LockedEngine) {
        let LockedEngine { core: Some(core), log: Some(log), .. } = &mut *inner else { return };
        log.heal(core);
        log.claim();
        let wanted = std::mem::take(&mut core.admin.rewrite_wanted);
        let config = &core.config;
        let due = log.needs_new_files()
            || log.is_overgrown(config.rewrite_min_bytes, config.rewrite_percent);
        if wanted || (due && log.may_rewrite()) {
            self.rewrite_in_background(inner);
        }
    }
}

/// Others whose replies wait for the log, or whom this batch served (a waiting `BLPOP`), must not take it for done
/// either.
#[cold]
pub(crate) fn disown(core: &mut Core, seat: Option<Seat>, error: &std::io::Error) {
    for client in core.clients.iter_mut() {
        if seat.is_some_and(|seat| client.id == seat.id) || client.out.buf.is_empty() {
            continue;
        }
        client.out.buf.clear();
        if client.in_process {
            client.out.error(&format!(
                "MISCONF Errors writing to the AOF file: {error}; outcome unknown"
            ));
        } else {
            client.closing = true;
        }
        client.wake.ring();
    }
}

impl SharedEngine {
    /// Nobody uses the engine any more: the log is closed and its directory free before this returns.
    fn close(&self) {
        self.ticker.state.lock().stop = true;
        self.ticker.changed.notify_all();
        self.end_rewriting();
        let mut inner = self.lock();
        // A door that was closed at once may have left something.
        let _ = inner.write_log();
        let log = inner.log.take();
        drop(inner);
        drop(log);
    }
}

/// A handle of the doors and of the engine's owner. The last one to be dropped closes the engine;
/// background threads do not count, so an engine that was dropped has let go of its directory.
#[derive(Clone)]
pub(crate) struct Hold(Arc<Holder>);

struct Holder(Arc<SharedEngine>);

impl Hold {
    pub(crate) fn new(shared: Arc<SharedEngine>) -> Self {
        Hold(Arc::new(Holder(shared)))
    }

    pub(crate) fn shared(&self) -> &Arc<SharedEngine> {
        &self.0.0
    }
}

impl std::ops::Deref for Hold {
    type Target = SharedEngine;

    fn deref(&self) -> &SharedEngine {
        &self.0.0
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Ticker {
    /// False when the engine is gone.
    fn sleep(&self, wait: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.sooner && !state.stop {
            self.changed.wait_for(&mut state, wait);
        }
        state.sooner = false;
        !state.stop
    }

    fn sooner(&self) {
        self.state.lock().sooner = true;
        self.changed.notify_all();
    }
}
