//! The loop of a listening door, on one thread: wait, read from all that are ready, run their calls under one taking of the
//! lock, write the log once for all of them, then send the replies. While this thread runs a slow script, the ticking
//! thread stands in: it answers `BUSY` and lets the script be ended.
//!
//! Order of locks: the engine's, then the hub's, then the bell's. Nobody waits for the engine's with the hub's in hand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::doors::conn::Conn;
use crate::doors::hub::{Hub, TURN};
use crate::doors::wake::Bell;
use crate::shared::{SharedEngine, disown};

/// A listening door.
pub(crate) struct Door {
    hub: Mutex<Hub>,
    bell: Arc<Bell>,
    stop: AtomicBool,
}

impl Door {
    pub(crate) fn new(hub: Hub) -> Self {
        let bell = hub.bell();
        Door { hub: Mutex::new(hub), bell, stop: AtomicBool::new(false) }
    }

    /// Ends the loop.
    pub(crate) fn close(&self) {
        self.stop.store(true, Ordering::Release);
        self.bell.call();
    }

    /// Serves until the door is closed.
    pub(crate) fn serve(&self, shared: &SharedEngine) {
        let mut turn = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            self.hub.lock().gather(shared, true);
            self.run(shared, &mut turn);
            for mut conn in turn.drain(..) {
                conn.send();
                self.hub.lock().put_back(conn);
            }
        }
        let mut inner = shared.lock();
        self.hub.lock().close(&mut inner);
    }

    /// Runs the calls of those that are ready and writes the log.
    #[allow(clippy::vec_box)] // they go in and out of the hub every turn, and are large
    fn run(&self, shared: &SharedEngine, turn: &mut Vec<Box<Conn>>) {
        let Some(mut conn) = self.hub.lock().next() else { return };
        let Some(mut inner) = shared.lock_unless_busy() else {
            let mut hub = self.hub.lock();
            hub.run_later(conn);
            return hub.answer_busy(shared);
        };
        loop {
            let ran = catch_unwind(AssertUnwindSafe(|| conn.run(&mut inner)));
            if ran.is_err() {
                conn.broken(&mut inner);
            }
            turn.push(conn);
            // Callers of other doors wait no longer than for one connection's calls. They get the lock when the replies
            // have been taken: whoever is next may keep it for long.
            if turn.len() == TURN || shared.is_awaited() {
                break;
            }
            conn = match self.hub.lock().next() {
                Some(conn) => conn,
                None => break,
            };
        }
        if turn.iter().any(|conn| conn.is_unsettled())
            && let Err(error) = inner.write_log()
        {
            disown(inner.core(), None, &error);
        }
        let mut waits = false;
        for conn in turn {
            waits |= conn.settled(shared, &mut inner);
        }
        inner.unlock_fair();
        if waits {
            shared.time_waits();
        }
    }

    /// For the ticking thread, while the loop's own runs a slow script or waits for one.
    pub(crate) fn stand_in(&self, shared: &SharedEngine) {
        // When it cannot be had, the loop is awake and answers itself.
        if let Some(mut hub) = self.hub.try_lock() {
            hub.gather(shared, false);
            hub.answer_busy(shared);
        }
    }
}
