//! The watch over a running script, which others look at and by which they stop it. It lives
//! outside the engine's lock, so another caller can learn that a script is slow and ask for its end
//! while the script holds the lock. Every loop of ours that a script can make long asks
//! [`Watch::check`] now and then.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use mlua::Error;
use parking_lot::Mutex;

use super::raise;

/// Milliseconds since the watch was made; 0 is kept for "nothing runs".
type Millis = u64;

/// A script runs, and nobody has looked at the clock for it yet.
const NOT_LOOKED: Millis = Millis::MAX;

/// The running script, if any, and the limits it runs under.
#[derive(Debug)]
pub(crate) struct Watch {
    epoch: Instant,
    /// When the running script began, or 0.
    since: AtomicU64,
    /// Asked to stop: by `SCRIPT KILL`, by its own time limit, or by the end of the engine.
    stop: AtomicBool,
    /// Has changed data, so it may not be stopped half-way.
    wrote: AtomicBool,
    /// `EVAL` rather than a function.
    eval: AtomicBool,
    /// Loading a library: its own, short time limit.
    loading: AtomicBool,
    /// After this many milliseconds others are told `BUSY` (0: never).
    slow_after: AtomicU64,
    /// After this many milliseconds a script that wrote nothing is ended (0: never).
    end_after: AtomicU64,
    /// Bytes the Lua state may take.
    memory: AtomicUsize,
    /// Name and call of the running function, for `FUNCTION STATS`.
    running: Mutex<Running>,
}

/// The call that started the running script.
#[derive(Debug, Default, Clone)]
pub(crate) struct Running {
    pub(crate) name: Vec<u8>,
    pub(crate) command: Vec<Vec<u8>>,
    /// Libraries and functions there are.
    pub(crate) counts: (usize, usize),
}

/// The outcome of `SCRIPT KILL` or `FUNCTION KILL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kill {
    Done,
    NothingRuns,
    Wrote,
    /// An `EVAL` runs and a function was to be killed, or the other way round.
    OtherKind,
}

/// The default memory limit of a Lua state.
pub(crate) const MEMORY: usize = 256 << 20;
const SLOW_AFTER_MS: u64 = 5000; // Redis's busy-reply-threshold
const LOAD_MS: u64 = 500; // Redis's limit for FUNCTION LOAD

impl Default for Watch {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            since: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            wrote: AtomicBool::new(false),
            eval: AtomicBool::new(false),
            loading: AtomicBool::new(false),
            slow_after: AtomicU64::new(SLOW_AFTER_MS),
            end_after: AtomicU64::new(0),
            memory: AtomicUsize::new(MEMORY),
            running: Mutex::default(),
        }
    }
}

impl Watch {
    fn now(&self) -> Millis {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Begins the watch over a script. The script's time begins with its first look at the clock,
    /// see [`Watch::elapsed`].
    pub(crate) fn begin(&self, eval: bool, loading: bool) {
        self.stop.store(false, Relaxed);
        self.wrote.store(false, Relaxed);
        self.eval.store(eval, Relaxed);
        self.loading.store(loading, Relaxed);
        self.since.store(NOT_LOOKED, Relaxed);
    }

    /// Ends the running script whatever it has done.
    pub(crate) fn end_now(&self) {
        self.stop.store(true, Relaxed);
    }

    /// The script is over.
    pub(crate) fn end(&self) {
        self.since.store(0, Relaxed);
        self.stop.store(false, Relaxed);
    }

    /// Notes what runs, for `FUNCTION STATS`.
    pub(crate) fn describe(&self, name: &[u8], command: &[&[u8]], counts: (usize, usize)) {
        let mut running = self.running.lock();
        running.counts = counts;
        running.name.clear();
        running.name.extend_from_slice(name);
        // Every call of a function comes here: the room of the last one is used again.
        running.command.resize_with(command.len(), Vec::new);
        for (kept, arg) in running.command.iter_mut().zip(command) {
            kept.clear();
            kept.extend_from_slice(arg);
            kept.shrink_to(4096);
        }
    }

    /// The running function, its call and how long it has run.
    pub(crate) fn running(&self) -> Option<(Running, u64)> {
        let elapsed = self.elapsed()?;
        Some((self.running.lock().clone(), elapsed))
    }

    /// The running script changed data.
    pub(crate) fn wrote(&self) {
        self.wrote.store(true, Relaxed);
    }

    /// Milliseconds since the script began, while one runs.
    pub(crate) fn elapsed(&self) -> Option<Millis> {
        match self.since.load(Relaxed) {
            0 => None,
            NOT_LOOKED => {
                // Most scripts end before anybody looks, and are spared the clock. One that ends just now keeps
                // its 0.
                let _ = self.since.compare_exchange(NOT_LOOKED, self.now(), Relaxed, Relaxed);
                Some(0)
            }
            since => Some(self.now().saturating_sub(since)),
        }
    }

    /// Whether a script has run so long that others are told so.
    pub(crate) fn busy(&self) -> bool {
        let limit = self.slow_after.load(Relaxed);
        limit > 0 && self.elapsed().is_some_and(|elapsed| elapsed >= limit)
    }

    /// Whether the running script is an `EVAL`.
    pub(crate) fn is_eval(&self) -> bool {
        self.eval.load(Relaxed)
    }

    /// Asks the running script to end, unless it has written.
    pub(crate) fn kill(&self, eval: bool) -> Kill {
        if self.since.load(Relaxed) == 0 {
            return Kill::NothingRuns;
        }
        if self.wrote.load(Relaxed) {
            return Kill::Wrote;
        }
        if self.eval.load(Relaxed) != eval {
            return Kill::OtherKind;
        }
        self.stop.store(true, Relaxed);
        Kill::Done
    }

    /// When others are told `BUSY`; 0 means never.
    pub(crate) fn slow_after(&self, ms: u64) {
        self.slow_after.store(ms, Relaxed);
    }

    /// Milliseconds and bytes that end a script; 0 means no limit.
    pub(crate) fn set_limits(&self, end_after_ms: u64, memory: usize) {
        self.end_after.store(end_after_ms, Relaxed);
        self.memory.store(memory, Relaxed);
    }

    /// Bytes that end a script from now on; 0 means no limit.
    pub(crate) fn set_memory(&self, bytes: usize) {
        self.memory.store(bytes, Relaxed);
    }

    /// Bytes the Lua state may take (0: no limit).
    pub(crate) fn memory(&self) -> usize {
        self.memory.load(Relaxed)
    }

    /// Fails when the script must end now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.stop.load(Relaxed) {
            return Err(self.killed());
        }
        let limit = if self.loading.load(Relaxed) { LOAD_MS } else { self.end_after.load(Relaxed) };
        if limit > 0
            && !self.wrote.load(Relaxed)
            && self.elapsed().is_some_and(|elapsed| elapsed >= limit)
        {
            self.stop.store(true, Relaxed);
            return Err(self.killed());
        }
        Ok(())
    }

    fn killed(&self) -> Error {
        raise::reply(if self.loading.load(Relaxed) {
            "ERR FUNCTION LOAD timeout"
        } else {
            "ERR Script killed by user with SCRIPT KILL..."
        })
    }

    /// Whether the running script has been told to end.
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Fails when a script that others wait for has taken more than a quarter of its memory: one that goes on to take all of
    /// it may need minutes for that.
    pub(crate) fn room_when_slow(&self, used: usize) -> Result<(), Error> {
        let limit = self.memory();
        if limit > 0 && used > limit / 4 && !self.wrote.load(Relaxed) && self.busy() {
            return Err(raise::bare("not enough memory for a script that takes so long"));
        }
        Ok(())
    }

    /// Fails when `bytes` more of our own memory would pass the limit of a script.
    pub(crate) fn room(&self, bytes: usize) -> Result<(), Error> {
        let limit = self.memory();
        if limit > 0 && bytes > limit { Err(raise::bare("not enough memory")) } else { Ok(()) }
    }
}

/// Counts the steps of a loop and looks at the watch every few thousand.
pub(crate) struct Meter<'a> {
    watch: &'a Watch,
    steps: u32,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(watch: &'a Watch) -> Self {
        Self { watch, steps: 0 }
    }

    /// One step; `bytes` is what the loop has built so far.
    #[inline]
    pub(crate) fn step(&mut self, bytes: usize) -> Result<(), Error> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(0x4000) {
            self.watch.check()?;
            self.watch.room(bytes)?;
        }
        Ok(())
    }
}
