//! The one lock, and the thread that lets time pass: it ends waits and lives that are due.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::Options;
use crate::aof::{Log, OpenError, Opened};
use crate::client::{Client, Seat};
use crate::config::Config;
use crate::core::Core;
use crate::door_conn::Socket;
use crate::door_loop::Door;
use crate::exec::Inner;
use crate::lua::host::LuaHost;
use crate::lua::watch::Watch;
use crate::wake::Wake;

/// What all doors share.
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// How many wait for the lock.
    waiting: AtomicUsize,
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

impl Shared {
    pub(crate) fn start(options: Options) -> Result<(Arc<Self>, Opened), OpenError> {
        let mut config = Config::opened(options.databases, options.cluster);
        config.set_text("enable-debug-command", if options.debug { b"yes" } else { b"no" });
        config.set_text("appendonly", if options.dir.is_some() { b"yes" } else { b"no" });
        let mut core = Core::new(options.clock, config);
        core.admin.on_shutdown = options.on_shutdown;
        core.admin.debug = options.debug;
        let mut inner = Inner::new(core, LuaHost::default());
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
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            waiting: AtomicUsize::new(0),
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.try_lock().unwrap_or_else(|| self.wait_with(|| self.inner.lock()))
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
    fn lock_and_attend(&self) -> MutexGuard<'_, Inner> {
        const BUSY: Duration = Duration::from_millis(10);
        loop {
            let busy = self.watch.busy();
            let wait = if busy { BUSY } else { TICK };
            if let Some(inner) = self.wait_with(|| self.inner.try_lock_for(wait)) {
                return inner;
            }
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

    /// The lock, or nothing while a slow script holds it.
    pub(crate) fn lock_unless_busy(&self) -> Option<MutexGuard<'_, Inner>> {
        const LOOK: Duration = Duration::from_millis(1);
        if let Some(inner) = self.inner.try_lock() {
            return Some(inner);
        }
        self.wait_with(|| {
            while !self.watch.busy() {
                if let Some(inner) = self.inner.try_lock_for(LOOK) {
                    return Some(inner);
                }
            }
            None
        })
    }

    /// Seats a new client.
    pub(crate) fn seat(&self, addr: String) -> Seat {
        Self::seat_in(&mut self.lock(), addr)
    }

    fn seat_in(inner: &mut Inner, addr: String) -> Seat {
        let core = inner.core();
        let id = core.clients.next_id();
        core.stats.connections += 1;
        let now = core.clock.now_ms();
        let user = Arc::clone(core.admin.users.default_user());
        let mut client = Client::new(id, addr, user, now);
        client.in_process = true;
        core.clients.add(Box::new(client))
    }

    /// Seats a client of an in-memory stream; not while a slow script holds the lock.
    pub(crate) fn seat_stream(&self) -> Option<(Seat, Arc<tokio::sync::Notify>)> {
        let mut inner = self.lock_unless_busy()?;
        let seat = Self::seat_in(&mut inner, "in-process:0".into());
        let client = inner.core().clients.at(seat)?;
        Some((seat, client.wake.notify()?))
    }

    /// Seats a client that came over a socket, unless there are as many as the configuration allows.
    pub(crate) fn seat_socket(inner: &mut Inner, socket: &Socket, wake: Wake) -> Option<Seat> {
        let core = inner.core();
        if core.clients.len() >= core.config.maxclients {
            core.stats.rejected_connections += 1;
            return None;
        }
        let seat = Self::seat_in(inner, socket.addr.clone());
        let client = inner.core().clients.at(seat)?;
        client.laddr.clone_from(&socket.laddr);
        (client.fd, client.in_process, client.wake) = (socket.fd, false, wake);
        Some(seat)
    }

    /// Whether a client that has not logged in may do something.
    pub(crate) fn open_to_all(&self) -> bool {
        self.open_to_all.load(Ordering::Relaxed)
    }

    /// A connection ended: nothing of it stays.
    pub(crate) fn unseat(&self, seat: Seat) {
        Self::unseat_in(&mut self.lock(), seat);
    }

    pub(crate) fn unseat_in(inner: &mut Inner, seat: Seat) {
        let core = inner.core();
        let Some(mut client) = core.clients.remove(seat) else { return };
        core.detach(&mut client);
    }

    /// After a batch, before its replies leave: what changed goes to the log; a new wait is timed. An error
    /// means that the batch must not be acknowledged.
    pub(crate) fn settle(&self, inner: &mut Inner, seat: Seat) -> std::io::Result<()> {
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
        if core.blocked_clients == 0 {
            return TICK;
        }
        let now = core.clock.now_ms();
        let next = core.clients.iter().filter_map(|c| c.blocked.as_ref()?.until_ms).min();
        let wait = next.map_or(100, |at| u64::try_from(at - now).unwrap_or(0).clamp(10, 100));
        Duration::from_millis(wait)
    }

    /// Tries again what the disk refused; starts a rewrite when one is due.
    fn look_after_log(self: &Arc<Self>, inner: &mut Inner) {
        let Inner { core: Some(core), log: Some(log), .. } = &mut *inner else { return };
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

impl Shared {
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

/// What doors and the engine's owner hold. The last one to go closes the engine; background threads do not
/// count, so an engine that was dropped has let go of its directory.
#[derive(Clone)]
pub(crate) struct Hold(Arc<Holder>);

struct Holder(Arc<Shared>);

impl Hold {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Hold(Arc::new(Holder(shared)))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }
}

impl std::ops::Deref for Hold {
    type Target = Shared;

    fn deref(&self) -> &Shared {
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
