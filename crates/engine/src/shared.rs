//! The one lock, and the thread that lets time pass: it ends waits and lives that are due.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::Options;
use crate::acl::User;
use crate::client::{Client, Seat};
use crate::config::Config;
use crate::core::Core;
use crate::exec::Inner;
use crate::lua_stub::LuaHost;

/// What all doors share.
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    ticker: Ticker,
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
    pub(crate) fn start(options: Options) -> Arc<Self> {
        let config =
            Config { databases: options.databases, cluster: options.cluster, ..Config::default() };
        let core = Core::new(options.clock, config);
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner::new(core, LuaHost)),
            ticker: Ticker::default(),
        });
        let weak = Arc::downgrade(&shared);
        std::thread::Builder::new()
            .name("engine-tick".into())
            .spawn(move || {
                let mut wait = TICK;
                while let Some(shared) = weak.upgrade() {
                    if !shared.ticker.sleep(wait) {
                        break;
                    }
                    wait = shared.tick();
                }
            })
            .expect("a thread can be started");
        shared
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Seats a new client.
    pub(crate) fn seat(&self, addr: String) -> Seat {
        let mut inner = self.lock();
        let core = inner.core();
        let id = core.clients.next_id();
        core.stats.connections += 1;
        let now = core.clock.now_ms();
        core.clients.add(Box::new(Client::new(id, addr, User::unrestricted(), now)))
    }

    /// A connection ended: nothing of it stays.
    pub(crate) fn unseat(&self, seat: Seat) {
        let mut inner = self.lock();
        let core = inner.core();
        let Some(mut client) = core.clients.remove(seat) else { return };
        core.unwatch(&mut client);
        core.pubsub.forget(&client);
        if let Some(blocked) = client.blocked.take() {
            core.forget_waiter(client.id, &blocked);
        }
        core.monitors -= usize::from(client.monitor);
    }

    /// After a batch, before its replies leave: what changed goes to the log; a new wait is timed.
    pub(crate) fn settle(&self, inner: &mut Inner, seat: Seat) {
        let core = inner.core();
        core.pending.ready.clear();
        if core.blocked_clients > 0
            && core.clients.get(seat.id).is_some_and(|client| client.blocked.is_some())
        {
            self.ticker.sooner();
        }
    }

    /// Ends what is due; gives how long to sleep until the next.
    pub(crate) fn tick(&self) -> Duration {
        let mut inner = self.lock();
        inner.tick();
        let core = inner.core();
        core.pending.ready.clear();
        if core.blocked_clients == 0 {
            return TICK;
        }
        let now = core.clock.now_ms();
        let next = core.clients.iter().filter_map(|c| c.blocked.as_ref()?.until_ms).min();
        let wait = next.map_or(100, |at| u64::try_from(at - now).unwrap_or(0).clamp(1, 100));
        Duration::from_millis(wait)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.ticker.state.lock().stop = true;
        self.ticker.changed.notify_all();
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
