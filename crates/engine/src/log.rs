//! The append-only log of an engine with a directory: opened, appended to before replies leave, synced as
//! configured. When it cannot be written, writes are refused and reads go on; it is tried again by itself.
//!
//! Layout and grammar are Redis 7's (`appendonlydir`, manifest, base, increments), so a real server started on the same
//! directory has the same data.

pub(crate) mod dump;
pub(crate) mod dump_stream;
pub(crate) mod file;
pub(crate) mod load;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod pending;
pub(crate) mod repair;
pub(crate) mod rewrite;
pub(crate) mod sync;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::acl::User;
use crate::core::Core;
use crate::core::client::Client;
use crate::error::ReplyError;
use crate::exec::LockedEngine;
use crate::log::file::LogFile;
use crate::log::load::{LoadError, Loaded};
use crate::log::lock::{DirLock, lock};
use crate::log::manifest::{DIRECTORY, Manifest, orphans, sync_directory};
use crate::log::sync::Syncer;

/// When what was written is forced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// Before the reply leaves: nothing acknowledged is ever lost.
    Always,
    /// Once a second: a killed process loses nothing, a dead machine at most the last second.
    #[default]
    EverySecond,
    /// When the system likes.
    No,
}

impl Fsync {
    /// As `appendfsync` spells it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Fsync::Always => "always",
            Fsync::EverySecond => "everysec",
            Fsync::No => "no",
        }
    }
}

/// Why an engine could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the directory.
    #[error("{} is in use by another process; stop it, or choose another directory", .0.display())]
    Locked(PathBuf),
    /// The directory cannot be used.
    #[error("cannot use {}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The log cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// The numbers found on opening.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Opened {
    /// Commands that were run.
    pub commands: u64,
    /// Commands that answered with an error; as in Redis, loading goes on.
    pub errors: u64,
    /// A tail that was cut, torn or lost before it was synced: file and number of bytes.
    pub cut: Option<(PathBuf, u64)>,
}

/// The log of an open engine.
pub(crate) struct Log {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
    /// The list on the disk names the present increment. A new one is empty until then, so that starting needs no
    /// sync and nothing is lost by a list that did not reach the disk.
    listed: bool,
    pub(crate) file: LogFile,
    pub(crate) fsync: Fsync,
    pub(crate) syncer: Arc<Syncer>,
    /// Written to memory and not to the disk: the disk refused. A rewrite that succeeds holds all of it.
    backlog: Vec<u8>,
    /// A sync failed, and no rewrite has succeeded since: what the old files hold is unknown.
    untrusted: bool,
    /// When a rewrite may be tried again, and how long the last pause was.
    retry: Option<(Instant, Duration)>,
    /// Length of all files when the base was last written.
    pub(crate) base_len: u64,
    pub(crate) rewriting: bool,
    /// The engine is going: no rewrite begins, and a running one need not come to its end.
    pub(crate) closing: bool,
    /// Bytes in increments before the present one.
    pub(crate) earlier_len: u64,
    _lock: DirLock,
}

impl Log {
    /// Opens a directory, loads what it has into `inner`, and leaves the log ready to append.
    pub(crate) fn open(
        inner: &mut LockedEngine,
        dir: &Path,
        fsync: Fsync,
    ) -> Result<(Self, Opened), OpenError> {
        let unusable = |error| OpenError::Directory { path: dir.to_path_buf(), error };
        let files = dir.join(DIRECTORY);
        fs::create_dir_all(&files).map_err(unusable)?;
        let lock = lock(dir)?;
        let mut opened = Opened::default();
        let mut manifest = match Manifest::read(&files).map_err(LoadError::Files)? {
            Some(manifest) => manifest,
            None => fresh_manifest(&files)?,
        };
        let last = match load_all(inner, &files, &manifest, &mut opened) {
            Err(OpenError::Load(LoadError::Unsynced { file, offset, why })) => {
                // The machine died: what is spoiled was never promised, and stays beside the log.
                let bytes = repair::cut_tail(&files, &file, offset).map_err(unusable)?;
                tracing::warn!(file = %file.display(), offset, bytes, why, "an unsynced tail is cut");
                forget_all(inner);
                opened = Opened { cut: Some((file, bytes)), ..Opened::default() };
                load_all(inner, &files, &manifest, &mut opened)?
            }
            loaded => loaded?,
        };
        let listed = !manifest.incr.is_empty();
        if !listed {
            manifest.incr.push(manifest.next_incr());
            File::create(files.join(&manifest.incr[0].name)).map_err(unusable)?;
        }
        let name = &manifest.incr.last().expect("just made sure").name;
        let mut file = LogFile::open(&files.join(name)).map_err(unusable)?;
        if let Some((path, loaded)) = last {
            mend(&mut file, &loaded).map_err(unusable)?;
            if loaded.good < loaded.len {
                opened.cut = Some((path, loaded.len - loaded.good));
            }
        }
        let total = total_len(&files, &manifest);
        let base_len = manifest.base.as_ref().map_or(0, |base| file_len(&files.join(&base.name)));
        let syncer = Syncer::start(&file, fsync);
        let earlier_len = total - base_len - file.len;
        let log = Log {
            dir: files,
            manifest,
            listed,
            file,
            fsync,
            syncer,
            backlog: Vec::new(),
            untrusted: false,
            retry: None,
            base_len,
            rewriting: false,
            closing: false,
            earlier_len,
            _lock: lock,
        };
        Ok((log, opened))
    }

    /// Writes what a batch changed. An error means: not on the disk, do not acknowledge.
    pub(crate) fn write(&mut self, core: &mut Core) -> io::Result<()> {
        if core.pending.ready.is_empty() {
            return Ok(());
        }
        if self.fsync != core.config.fsync {
            self.fsync = core.config.fsync;
            self.syncer.keep(self.fsync);
        }
        if !self.backlog.is_empty() {
            // Writes are refused already; these are only keys whose life is over.
            self.backlog.append(&mut core.pending.take_ready());
            return Ok(());
        }
        let result = if self.untrusted || self.syncer.failed.load(Ordering::Acquire) {
            Err(io::Error::other("the disk failed to sync"))
        } else {
            self.append(&core.pending.ready)
        };
        if let Err(error) = &result {
            self.backlog = core.pending.take_ready();
            refuse(core, error);
        }
        core.pending.written();
        result
    }

    /// Makes the list on the disk name the present increment.
    pub(crate) fn list(&mut self) -> io::Result<()> {
        if !self.listed {
            if self.fsync != Fsync::No {
                self.file.begin_claims()?;
            }
            self.manifest.write(&self.dir)?;
            if let Some(parent) = self.dir.parent() {
                sync_directory(parent)?;
            }
            self.listed = true;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.list()?;
        self.file.append(bytes)?;
        match self.fsync {
            Fsync::Always => {
                if let Err(error) = self.file.sync() {
                    // The state of the disk after a failed sync is unknown; only new files can be
                    // trusted.
                    self.syncer.failed.store(true, Ordering::Release);
                    return Err(error);
                }
            }
            Fsync::EverySecond => self.syncer.dirty.store(true, Ordering::Release),
            Fsync::No => {}
        }
        Ok(())
    }

    /// Tries again what the disk refused. Called about ten times a second.
    pub(crate) fn heal(&mut self, core: &mut Core) {
        if self.untrusted || self.syncer.failed.load(Ordering::Acquire) {
            if core.write_refusal.is_none() {
                refuse(core, &io::Error::other("the disk failed to sync"));
            }
            return;
        }
        // While a rewrite runs it must stay out of the new increment: the new base has it already.
        if self.backlog.is_empty() || self.rewriting {
            return;
        }
        let backlog = std::mem::take(&mut self.backlog);
        match self.append(&backlog) {
            Ok(()) => core.write_refusal = None,
            Err(error) => {
                self.backlog = backlog;
                refuse(core, &error);
            }
        }
    }

    /// Whether only a rewrite into new files can bring the log back.
    pub(crate) fn needs_new_files(&self) -> bool {
        (self.untrusted || self.syncer.failed.load(Ordering::Acquire)) && !self.rewriting
    }

    /// Whether a rewrite that nobody asked for may begin: after a failure it waits, longer each time.
    pub(crate) fn may_rewrite(&self) -> bool {
        self.retry.is_none_or(|(at, _)| Instant::now() >= at)
    }

    /// Notes that a rewrite begins to write to new files. Earlier failures concern the old ones.
    pub(crate) fn leave_old_files(&mut self) {
        self.untrusted |= self.syncer.failed.swap(false, Ordering::AcqRel);
    }

    /// The old increment could not be closed properly.
    pub(crate) fn distrust(&mut self) {
        self.untrusted = true;
    }

    /// New files hold everything: what failed before does not matter any more.
    pub(crate) fn forget_failure(&mut self, core: &mut Core) {
        self.untrusted = false;
        self.backlog.clear();
        if !self.syncer.failed.load(Ordering::Acquire) {
            core.write_refusal = None;
        }
    }

    /// Whether a running rewrite is to stop. Not one that saves what the old files may have lost.
    pub(crate) fn abandons_rewrite(&self) -> bool {
        self.closing && !self.untrusted
    }

    /// A rewrite ended.
    pub(crate) fn rewritten(&mut self, ok: bool) {
        self.rewriting = false;
        let pause = self.retry.map_or(Duration::from_millis(250), |(_, pause)| {
            (pause * 2).min(Duration::from_secs(4))
        });
        self.retry = (!ok).then(|| (Instant::now() + pause, pause));
    }

    /// Whether the increments have outgrown the base.
    pub(crate) fn is_overgrown(&self, min_len: u64, percent: u64) -> bool {
        let grown = self.earlier_len + self.file.len;
        percent > 0
            && !self.rewriting
            && self.base_len + grown >= min_len
            && grown * 100 >= self.base_len * percent
    }

    /// Everything on the disk now.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Writes down how far the file is known to be on the disk. Called about ten times a second.
    pub(crate) fn claim(&mut self) {
        if self.backlog.is_empty() && !self.untrusted {
            // Not needed for anything that is promised: the next call tries again.
            let _ = self.file.claim();
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.syncer.stop();
        if self.file.sync().is_ok() && !self.syncer.failed.load(Ordering::Acquire) {
            self.claim();
        }
    }
}

/// Starts the reply to a write that the disk refuses.
const REFUSED: &str = "MISCONF Errors writing to the AOF file: ";

fn refuse(core: &mut Core, error: &io::Error) {
    core.write_refusal = Some(ReplyError::new(format!("{REFUSED}{error}")));
}

/// Why writes are refused, without the reply's own words.
pub(crate) fn reason(refusal: &ReplyError) -> String {
    let text = String::from_utf8_lossy(&refusal.0);
    text.strip_prefix(REFUSED).unwrap_or(&text).to_owned()
}

pub(crate) fn fresh_manifest(files: &Path) -> Result<Manifest, OpenError> {
    let orphans = orphans(files);
    if let Some(first) = orphans.first() {
        return Err(LoadError::Files(format!(
            "{} has files of a log ({}) and no list of them (appendonly.aof.manifest); put the list back, or move the files away to start empty",
            files.display(),
            first.file_name().unwrap_or_default().to_string_lossy()
        ))
        .into());
    }
    Ok(Manifest::default())
}

/// Loads all files; gives the last one, whose tail may need mending.
fn load_all(
    inner: &mut LockedEngine,
    files: &Path,
    manifest: &Manifest,
    opened: &mut Opened,
) -> Result<Option<(PathBuf, Loaded)>, OpenError> {
    let now = inner.core().clock.now_ms();
    let mut client = Client::new(0, "log:0".into(), User::unrestricted(), now);
    inner.core().loading = true;
    let mut last = None;
    let count = manifest.files().count();
    for (index, entry) in manifest.files().enumerate() {
        let path = files.join(&entry.name);
        refuse_rdb(&path)?;
        let is_last = index + 1 == count && manifest.incr.last() == Some(entry);
        let loaded = load::load(inner, &mut client, &path, is_last)?;
        opened.commands += loaded.commands;
        opened.errors += loaded.errors;
        if is_last {
            last = Some((path, loaded));
        }
    }
    inner.core().loading = false;
    inner.core().dirty = 0;
    Ok(last)
}

pub(crate) fn refuse_rdb(path: &Path) -> Result<(), LoadError> {
    let mut head = [0; 5];
    let read = File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
    if path.extension().is_some_and(|ext| ext == "rdb") || (read.is_ok() && head == *b"REDIS") {
        return Err(LoadError::Files(format!(
            "{} is in RDB format, which is not read here; on the server that wrote it run CONFIG SET aof-use-rdb-preamble no, then BGREWRITEAOF, and stop it",
            path.display()
        )));
    }
    Ok(())
}

/// Back to an engine that has loaded nothing.
fn forget_all(inner: &mut LockedEngine) {
    let mut client = Client::new(0, "log:0".into(), User::unrestricted(), 0);
    inner.core().loading = true;
    inner.run(&mut client, &[b"FLUSHALL"]);
    inner.run(&mut client, &[b"FUNCTION", b"FLUSH"]);
}

/// Cuts a torn tail, and covers with a checksum what has none yet.
fn mend(file: &mut LogFile, loaded: &Loaded) -> io::Result<()> {
    file.claimed = loaded.claimed;
    if loaded.good < loaded.len {
        file.disk.cut(loaded.good)?;
        file.len = loaded.good;
    }
    let uncovered = loaded.good - loaded.uncovered_from;
    if uncovered > 0 {
        let mark = format!("#WK len={uncovered} crc={:08x}\r\n", loaded.uncovered_crc);
        file.disk.append(mark.as_bytes())?;
        file.len += mark.len() as u64;
    }
    file.extent.wrote(file.len);
    if uncovered > 0 && file.claimed.is_some() {
        // A real server wrote it, and may have promised it.
        file.sync()?;
        file.claim()?;
    }
    Ok(())
}

pub(crate) fn file_len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

fn total_len(files: &Path, manifest: &Manifest) -> u64 {
    manifest.files().map(|entry| file_len(&files.join(&entry.name))).sum()
}
