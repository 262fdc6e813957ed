//! The engine's lock in hand, and the line of tasks that wait for it. A task holds its thread no longer than a moment: then
//! it stands in line, and whoever gives the lock back wakes the first of the line.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::MutexGuard;
use tokio::sync::Notify;

use crate::exec::LockedEngine;

/// The lock; giving it back wakes a task that waits for it.
pub(crate) struct EngineLock<'a> {
    // Dropped in this order: the lock is free before anybody is woken.
    guard: MutexGuard<'a, LockedEngine>,
    wake: WakeNext<'a>,
}

struct WakeNext<'a>(&'a WaitQueue);

impl Drop for WakeNext<'_> {
    fn drop(&mut self) {
        if self.0.waiting.load(Ordering::Relaxed) > 0 {
            self.0.free.notify_one();
        }
    }
}

impl<'a> EngineLock<'a> {
    pub(crate) fn new(guard: MutexGuard<'a, LockedEngine>, line: &'a WaitQueue) -> Self {
        EngineLock { guard, wake: WakeNext(line) }
    }

    /// Gives the lock to whoever has waited longest.
    pub(crate) fn unlock_fair(self) {
        let EngineLock { guard, wake } = self;
        MutexGuard::unlock_fair(guard);
        drop(wake);
    }
}

impl Deref for EngineLock<'_> {
    type Target = LockedEngine;

    fn deref(&self) -> &LockedEngine {
        &self.guard
    }
}

impl DerefMut for EngineLock<'_> {
    fn deref_mut(&mut self) -> &mut LockedEngine {
        &mut self.guard
    }
}

/// Tasks that wait for the lock.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue {
    waiting: AtomicUsize,
    free: Notify,
}

impl WaitQueue {
    /// A place in the line. It is taken before the lock is tried, so that its release is not missed.
    pub(crate) fn stand(&self) -> WaitTicket<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        WaitTicket(self)
    }

    /// Everybody looks again.
    pub(crate) fn wake_all(&self) {
        self.free.notify_waiters();
    }
}

/// A task's place in the line of those that wait for the engine; leaving it gives the place up.
#[derive(Debug)]
pub struct WaitTicket<'a>(&'a WaitQueue);

impl WaitTicket<'_> {
    /// Returns when it is worth to try again: the lock was given back, or some time has passed.
    pub async fn called(&self) {
        self.0.free.notified().await;
    }
}

impl Drop for WaitTicket<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
