//! A new base while commands go on. From the moment it begins, changes go to a new increment; every key is
//! copied to the new base as it was at that moment: in turn, a little at a time, or just before something changes it.
//!
//! Order on the disk, one valid list of files at each moment: new increment, list naming it, new base, list with
//! new base and new increment only, old files deleted.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::core::Core;
use crate::exec::LockedEngine;
use crate::log::dump::dump;
use crate::log::file::LogFile;
use crate::log::manifest::{Manifest, ManifestEntry, sync_directory};
use crate::log::pending::encode;
use crate::log::{Fsync, Log, file_len};
use crate::shared::{SharedEngine, disown};

/// How long the lock is held for one slice.
const SLICE: Duration = Duration::from_micros(100);
/// Slots between two looks at the clock.
const SLOTS: u32 = 16;
const TEMPORARY: &str = "temp-rewrite.aof";

/// A copy under way.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    buf: Vec<u8>,
    selected: Option<usize>,
    /// The database whose turn it is.
    db: usize,
}

impl Copy {
    fn select(&mut self, db: usize) {
        if self.selected != Some(db) {
            encode(&mut self.buf, &[b"SELECT", itoa::Buffer::new().format(db).as_bytes()]);
            self.selected = Some(db);
        }
    }
}

impl Core {
    /// Copies `key` if a copy is under way and has not seen it: it is about to change.
    #[inline]
    pub(crate) fn preserve(&mut self, key: &[u8]) {
        if self.copy.is_some() {
            self.preserve_now(key);
        }
    }

    #[cold]
    fn preserve_now(&mut self, key: &[u8]) {
        let db = &mut self.dbs[self.db];
        if !db.keys.is_uncopied(key) {
            return;
        }
        let Some(copy) = &mut self.copy else { return };
        copy.select(db.copied_as);
        if let Some(value) = db.keys.get(key) {
            dump(&mut copy.buf, key, value, db.keys.expire_at(key));
        }
        db.keys.mark_copied(key);
    }

    /// Databases changed places: a running copy looks at all of them again.
    pub(crate) fn copy_from_start(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.db = 0;
        }
    }

    fn begin_copy(&mut self) {
        for (index, db) in self.dbs.iter_mut().enumerate() {
            db.copied_as = index;
            db.keys.begin_copy();
        }
        self.copy = Some(Box::default());
    }

    /// Copies for a slice of time; false when everything is copied.
    fn copy_slice(&mut self) -> bool {
        let Some(mut copy) = self.copy.take() else { return false };
        let started = Instant::now();
        let mut more = true;
        while more && started.elapsed() < SLICE {
            let Some(db) = self.dbs.get_mut(copy.db) else {
                more = false;
                break;
            };
            let home = db.copied_as;
            let left = db.keys.copy_next(SLOTS, &mut |key, value, deadline| {
                copy.select(home);
                dump(&mut copy.buf, key, value, deadline);
            });
            copy.db += usize::from(!left);
        }
        self.copy = Some(copy);
        more
    }

    fn take_copied(&mut self) -> Vec<u8> {
        self.copy.as_mut().map(|copy| std::mem::take(&mut copy.buf)).unwrap_or_default()
    }
}

impl SharedEngine {
    /// Starts a rewrite in a thread of its own. False when one is under way or there is no log.
    pub(crate) fn rewrite_in_background(self: &Arc<Self>, inner: &mut LockedEngine) -> bool {
        let Some(log) = &mut inner.log else { return false };
        if log.rewriting || log.closing {
            return false;
        }
        log.rewriting = true;
        inner.core().admin.rewriting = true;
        let shared = Arc::clone(self);
        let spawned = std::thread::Builder::new().name("engine-rewrite".into()).spawn(move || {
            let result = shared.rewrite();
            let mut inner = shared.lock();
            if let Err(error) = &result
                && !inner.log.as_ref().is_some_and(Log::abandons_rewrite)
            {
                tracing::warn!(%error, "the log could not be rewritten");
            }
            let core = inner.core();
            core.copy = None;
            (core.admin.rewriting, core.admin.rewrite_failed) = (false, result.is_err());
            if let Some(log) = &mut inner.log {
                if result.is_err() {
                    // A full disk needs the room.
                    let _ = fs::remove_file(log.dir.join(TEMPORARY));
                }
                log.rewritten(result.is_ok());
            }
        });
        if let Ok(thread) = spawned {
            *self.rewriter.lock() = Some(thread);
        } else {
            inner.core().admin.rewriting = false;
            if let Some(log) = &mut inner.log {
                log.rewritten(false);
            }
        }
        true
    }

    /// No rewrite runs after this, and none begins: a directory that is let go of has no second writer.
    pub(crate) fn end_rewriting(&self) {
        if let Some(log) = &mut self.lock().log {
            log.closing = true;
        }
        let thread = self.rewriter.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// Writes a new base and switches to it.
    fn rewrite(&self) -> io::Result<()> {
        let (dir, with_next, next, claims) = {
            let mut inner = self.lock();
            let log = inner.log.as_mut().ok_or_else(|| io::Error::other("there is no log"))?;
            // From here on only this thread writes the list.
            log.list()?;
            let mut manifest = log.manifest.clone();
            let next = manifest.next_incr();
            manifest.incr.push(next.clone());
            (log.dir.clone(), manifest, next, log.fsync != Fsync::No)
        };
        let mut file = LogFile::open(&dir.join(&next.name))?;
        // Left by an attempt that failed; the list may name it, so it is emptied and not deleted.
        file.disk.cut(0)?;
        file.len = 0;
        if claims {
            file.begin_claims()?;
        } else {
            file.sync()?;
        }
        sync_directory(&dir)?;
        with_next.write(&dir)?;

        let head = self.switch(with_next, file)?;
        let base = self.copy_all(&dir, &head)?;
        self.finish(&dir, base, &next)
    }

    /// From here on changes go to the new increment, and the copy is of this moment.
    fn switch(&self, manifest: Manifest, file: LogFile) -> io::Result<Vec<u8>> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let head = inner.function_dump();
        let core = inner.core.as_mut().expect("the core is home when no script runs");
        let log = inner.log.as_mut().ok_or_else(|| io::Error::other("the log was closed"))?;
        // Changes made before this moment belong to the old increment: the copy has them too.
        if let Err(error) = log.write(core) {
            disown(core, None, &error);
        }
        log.earlier_len += log.file.len;
        log.manifest = manifest;
        log.syncer.follow(&file);
        log.leave_old_files();
        let old = std::mem::replace(&mut log.file, file);
        core.pending.forget_selected();
        core.begin_copy();
        drop(guard);
        // The old increment is closed for good: what it has must be on the disk before the new one counts.
        match old.sync() {
            Ok(()) => Ok(head),
            // The new base will hold all of it; until then nothing more is acknowledged.
            Err(error) => {
                tracing::warn!(%error, "the old increment could not be synced");
                if let Some(log) = &mut self.lock().log {
                    log.distrust();
                }
                Ok(head)
            }
        }
    }

    fn copy_all(&self, dir: &Path, head: &[u8]) -> io::Result<ManifestEntry> {
        let path = dir.join(TEMPORARY);
        let _ = fs::remove_file(&path);
        let mut file = LogFile::open(&path)?;
        if !head.is_empty() {
            file.append(head)?;
        }
        let mut gathered = Vec::new();
        loop {
            let mut inner = self.lock();
            if inner.log.as_ref().is_some_and(Log::abandons_rewrite) {
                return Err(io::Error::other("the engine is closed"));
            }
            let more = inner.core().copy_slice();
            let mut copied = inner.core().take_copied();
            if !more {
                inner.core().copy = None;
            }
            // Others get their turn before the next slice, and time for what they do with the answer.
            let awaited = self.is_awaited();
            inner.unlock_fair();
            gathered.append(&mut copied);
            if gathered.len() > 256 << 10 || (!more && !gathered.is_empty()) {
                file.append(&gathered)?;
                gathered.clear();
            }
            if !more {
                break;
            }
            if awaited {
                std::thread::sleep(SLICE);
            } else {
                std::thread::yield_now();
            }
        }
        file.sync()?;
        let base = self
            .lock()
            .log
            .as_ref()
            .map(|log| log.manifest.next_base())
            .ok_or_else(|| io::Error::other("the log was closed"))?;
        fs::rename(&path, dir.join(&base.name))?;
        sync_directory(dir)?;
        Ok(base)
    }

    fn finish(&self, dir: &Path, base: ManifestEntry, next: &ManifestEntry) -> io::Result<()> {
        let (old, manifest) = {
            let inner = self.lock();
            let log = inner.log.as_ref().ok_or_else(|| io::Error::other("the log was closed"))?;
            let old: Vec<ManifestEntry> =
                log.manifest.files().filter(|entry| *entry != next).cloned().collect();
            let manifest =
                Manifest { base: Some(base), incr: vec![next.clone()], history: Vec::new() };
            (old, manifest)
        };
        manifest.write(dir)?;
        let mut guard = self.lock();
        let inner = &mut *guard;
        let core = inner.core.as_mut().expect("the core is home when no script runs");
        if let Some(log) = &mut inner.log {
            log.base_len = manifest.base.as_ref().map_or(0, |base| file_len(&dir.join(&base.name)));
            log.earlier_len = 0;
            log.manifest = manifest;
            log.forget_failure(core);
        }
        drop(guard);
        for entry in old {
            let _ = fs::remove_file(dir.join(entry.name));
        }
        Ok(())
    }
}
