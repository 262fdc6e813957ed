//! The part of a log file that is on the disk for certain. Syncs happen once a second in a thread
//! of their own, or with every batch. Their reach is written into the file as a claim (`file`), so
//! that a start after a loss of power can tell bytes that were never promised from bytes that must
//! not be damaged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::log::Fsync;
use crate::log::file::{Disk, LogFile};

/// How many bytes of a file are written, and how many of them synced.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    written: AtomicU64,
    synced: AtomicU64,
}

impl Extent {
    pub(crate) fn wrote(&self, len: u64) {
        self.written.store(len, Ordering::Release);
    }

    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Syncs, and notes how far that reached.
    pub(crate) fn sync(&self, disk: &dyn Disk) -> std::io::Result<()> {
        // Bytes that are written during the sync may be on the disk afterwards or not.
        let len = self.written.load(Ordering::Acquire);
        disk.sync()?;
        self.synced.fetch_max(len, Ordering::AcqRel);
        Ok(())
    }
}

/// Syncs once a second in a thread of its own.
pub(crate) struct Syncer {
    file: Mutex<(Arc<dyn Disk>, Arc<Extent>)>,
    pub(crate) dirty: AtomicBool,
    pub(crate) failed: AtomicBool,
    stop: Mutex<bool>,
    stopped: Condvar,
    /// The thread runs.
    running: AtomicBool,
}

impl Syncer {
    pub(crate) fn start(file: &LogFile, fsync: Fsync) -> Arc<Self> {
        let syncer = Arc::new(Syncer {
            file: Mutex::new((Arc::clone(&file.disk), Arc::clone(&file.extent))),
            dirty: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            stop: Mutex::new(false),
            stopped: Condvar::new(),
            running: AtomicBool::new(false),
        });
        syncer.keep(fsync);
        syncer
    }

    /// Starts the thread where the log is synced every second and there is none yet.
    pub(crate) fn keep(self: &Arc<Self>, fsync: Fsync) {
        if fsync == Fsync::EverySecond && !self.running.swap(true, Ordering::AcqRel) {
            let syncer = Arc::clone(self);
            std::thread::Builder::new()
                .name("engine-sync".into())
                .spawn(move || syncer.run())
                .expect("a thread can be started");
        }
    }

    fn run(&self) {
        let mut stop = self.stop.lock();
        while !*stop {
            self.stopped.wait_for(&mut stop, Duration::from_millis(900));
            if self.dirty.swap(false, Ordering::AcqRel) {
                let (disk, extent) = self.file.lock().clone();
                if extent.sync(&*disk).is_err() {
                    self.failed.store(true, Ordering::Release);
                }
            }
        }
    }

    /// From now on this file is synced.
    pub(crate) fn follow(&self, file: &LogFile) {
        *self.file.lock() = (Arc::clone(&file.disk), Arc::clone(&file.extent));
    }

    pub(crate) fn stop(&self) {
        *self.stop.lock() = true;
        self.stopped.notify_all();
    }
}
