//! Wake-ups: the core tells a door that something waits for one of its clients. Ringing is cheap
//! and never blocks, since it happens with the engine's lock held. A ring is never lost; several
//! may become one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The means to wake a door that has nothing to read.
#[derive(Debug, Clone)]
pub(crate) enum Wake {
    /// A task of its own serves the client.
    Task(Arc<Notify>),
    /// One loop serves many clients.
    Loop(Arc<Ring>),
}

impl Wake {
    pub(crate) fn task() -> Self {
        Wake::Task(Arc::new(Notify::new()))
    }

    pub(crate) fn ring(&self) {
        match self {
            Wake::Task(notify) => notify.notify_one(),
            Wake::Loop(ring) => ring.ring(),
        }
    }

    /// Bytes that a loop has for the client and that the client has not taken.
    pub(crate) fn owed(&self) -> usize {
        match self {
            Wake::Task(_) => 0,
            Wake::Loop(ring) => ring.owed.load(Ordering::Relaxed),
        }
    }

    /// The `Notify` that a task sleeps on; `None` for a client of a loop.
    pub(crate) fn notify(&self) -> Option<Arc<Notify>> {
        match self {
            Wake::Task(notify) => Some(Arc::clone(notify)),
            Wake::Loop(_) => None,
        }
    }
}

/// One connection's pull on the bell of its loop.
#[derive(Debug)]
pub(crate) struct Ring {
    bell: Arc<Bell>,
    slot: usize,
    /// In the list already.
    rung: AtomicBool,
    /// Bytes of replies that the connection has and that the peer has not taken.
    owed: AtomicUsize,
}

impl Ring {
    pub(crate) fn new(bell: &Arc<Bell>, slot: usize) -> Self {
        Ring {
            bell: Arc::clone(bell),
            slot,
            rung: AtomicBool::new(false),
            owed: AtomicUsize::new(0),
        }
    }

    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.bell.ring(self.slot);
        }
    }

    pub(crate) fn owes(&self, bytes: usize) {
        self.owed.store(bytes, Ordering::Relaxed);
    }

    /// The loop is about to look: what happens from now on rings again.
    pub(crate) fn heard(&self) {
        self.rung.store(false, Ordering::Release);
    }
}

/// Calls a loop that may sleep in the system's poll.
#[derive(Debug)]
pub(crate) struct Bell {
    state: Mutex<BellState>,
    waker: mio::Waker,
}

#[derive(Debug, Default)]
struct BellState {
    rung: Vec<usize>,
    /// The system must be asked to end the loop's sleep.
    asleep: bool,
}

impl Bell {
    pub(crate) fn new(waker: mio::Waker) -> Self {
        Bell { state: Mutex::default(), waker }
    }

    fn ring(&self, slot: usize) {
        let asleep = {
            let mut state = self.state.lock();
            state.rung.push(slot);
            std::mem::take(&mut state.asleep)
        };
        if asleep {
            self.call();
        }
    }

    /// Ends the loop's sleep, or its next one.
    pub(crate) fn call(&self) {
        // Fails only when the loop is gone.
        let _ = self.waker.wake();
    }

    /// Whether the loop may sleep: nobody rang, and whoever rings from now on calls it.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.state.lock();
        state.asleep = state.rung.is_empty();
        state.asleep
    }

    /// The loop is awake and takes who rang.
    pub(crate) fn take(&self, into: &mut Vec<usize>) {
        let mut state = self.state.lock();
        state.asleep = false;
        into.append(&mut state.rung);
    }
}
