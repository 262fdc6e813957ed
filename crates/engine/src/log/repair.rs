//! Looks at a log without opening it for writing, and cuts out what is damaged. Nothing is ever deleted: bytes that a
//! repair takes out stay beside the log in files named `*.damaged-<unix ms>`.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::acl::User;
use crate::clock::{Clock as _, SystemClock};
use crate::core::Core;
use crate::core::client::Client;
use crate::core::config::Config;
use crate::exec::LockedEngine;
use crate::log::load::{self, LoadError};
use crate::log::lock::{self, DirLock};
use crate::log::manifest::{DIRECTORY, Manifest, sync_directory};
use crate::log::{self, OpenError};
use crate::lua::host::LuaHost;

/// The state of a log.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LogReport {
    /// The files that could be read, in the order they are loaded.
    pub files: Vec<FileReport>,
    /// A tail that opening would cut: file and number of bytes.
    pub torn: Option<(PathBuf, u64)>,
    /// The damage; the files after it were not looked at.
    pub damage: Option<LoadError>,
}

/// One file of a log.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// The length of the file.
    pub bytes: u64,
    /// Commands in it.
    pub commands: u64,
}

/// The result of a repair.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// The damage and its place, one entry a cut.
    pub damage: Vec<LoadError>,
    /// The bytes that were put aside.
    pub aside: Vec<Aside>,
    /// Commands that the log still has.
    pub commands: u64,
}

/// Bytes that are no longer part of the log.
#[derive(Debug)]
#[non_exhaustive]
pub struct Aside {
    /// The file they come from.
    pub from: PathBuf,
    /// From this byte on; 0 for the whole file.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The file that holds them now.
    pub kept_in: PathBuf,
}

/// Reads every file of a log as opening would, and says what is wrong. Changes nothing.
pub fn check_log(dir: &Path) -> Result<LogReport, OpenError> {
    let (files, _lock) = take(dir)?;
    look(&files)
}

/// Cuts a damaged file where its good part ends, and puts the rest and all later files aside.
pub fn repair_log(dir: &Path) -> Result<Repaired, OpenError> {
    let (files, _lock) = take(dir)?;
    let mut repaired = Repaired::default();
    loop {
        let report = look(&files)?;
        let Some(damage) = report.damage else {
            repaired.commands = report.files.iter().map(|file| file.commands).sum();
            return Ok(repaired);
        };
        let LoadError::Damaged { file, offset, .. } = &damage else {
            // A file that is not there cannot be mended; the sentence says which.
            return Err(damage.into());
        };
        let aside = cut(&files, file, *offset)
            .map_err(|error| OpenError::Directory { path: dir.to_path_buf(), error })?;
        repaired.aside.extend(aside);
        repaired.damage.push(damage);
    }
}

/// Whether a directory holds a log, be it an empty one. Changes nothing.
pub fn has_log(dir: &Path) -> bool {
    dir.join(DIRECTORY).is_dir()
}

/// The directory of the files, locked against engines and other repairs.
fn take(dir: &Path) -> Result<(PathBuf, DirLock), OpenError> {
    let files = dir.join(DIRECTORY);
    if !has_log(dir) {
        let why = format!("{} has no log: there is no directory {DIRECTORY} in it", dir.display());
        return Err(LoadError::Files(why).into());
    }
    Ok((files, lock::lock(dir)?))
}

fn look(files: &Path) -> Result<LogReport, OpenError> {
    let Some(manifest) = Manifest::read(files).map_err(LoadError::Files)? else {
        log::fresh_manifest(files)?;
        return Ok(LogReport::default());
    };
    let mut inner =
        LockedEngine::new(Core::new(Arc::new(SystemClock), Config::default()), LuaHost::default());
    inner.core().loading = true;
    let mut client = Client::new(0, "log:0".into(), User::unrestricted(), 0);
    let mut report = LogReport::default();
    for entry in manifest.files() {
        let path = files.join(&entry.name);
        log::refuse_rdb(&path)?;
        let last = manifest.incr.last() == Some(entry);
        match load::load(&mut inner, &mut client, &path, last) {
            Ok(loaded) => {
                if loaded.good < loaded.len {
                    report.torn = Some((path.clone(), loaded.len - loaded.good));
                }
                let (bytes, commands) = (loaded.len, loaded.commands);
                report.files.push(FileReport { path, bytes, commands });
            }
            Err(LoadError::Unsynced { file, offset, .. }) => {
                let bytes = log::file_len(&file).saturating_sub(offset);
                report.torn = Some((file, bytes));
                break;
            }
            Err(damage) => {
                report.damage = Some(damage);
                break;
            }
        }
    }
    Ok(report)
}

/// Cuts the last file and keeps what was cut; gives how much that is.
pub(crate) fn cut_tail(files: &Path, file: &Path, offset: u64) -> io::Result<u64> {
    Ok(cut(files, file, offset)?.iter().map(|aside| aside.bytes).sum())
}

/// First everything is copied or renamed, last the file is cut: a repair that is interrupted can be run again.
fn cut(files: &Path, damaged: &Path, offset: u64) -> io::Result<Vec<Aside>> {
    let now = SystemClock.now_ms();
    let mut manifest = Manifest::read(files).map_err(io::Error::other)?.unwrap_or_default();
    let all: Vec<PathBuf> = manifest.files().map(|entry| files.join(&entry.name)).collect();
    let place = all.iter().position(|path| path == damaged).unwrap_or(all.len());
    let later = all.get(place + 1..).unwrap_or_default();

    let mut aside = Vec::new();
    let kept_in = side_file(damaged, now);
    let mut source = File::options().read(true).write(true).open(damaged)?;
    source.seek(SeekFrom::Start(offset))?;
    let mut side = File::options().write(true).create_new(true).open(&kept_in)?;
    let bytes = io::copy(&mut source, &mut side)?;
    side.sync_all()?;
    aside.push(Aside { from: damaged.to_path_buf(), offset, bytes, kept_in });

    manifest.incr.retain(|entry| !later.contains(&files.join(&entry.name)));
    manifest.write(files)?;
    for path in later {
        let kept_in = side_file(path, now);
        let bytes = log::file_len(path);
        fs::rename(path, &kept_in)?;
        aside.push(Aside { from: path.clone(), offset: 0, bytes, kept_in });
    }
    sync_directory(files)?;
    source.set_len(offset)?;
    source.sync_all()?;
    Ok(aside)
}

/// A name that is not taken.
fn side_file(path: &Path, now: i64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut ms = now;
    loop {
        let side = path.with_file_name(format!("{name}.damaged-{ms}"));
        if !side.exists() {
            return side;
        }
        ms += 1;
    }
}
