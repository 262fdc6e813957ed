//! `worldkeep backup` and `worldkeep restore`: a store and the galaxy's database in one file, and back.
//!
//! The file has its name only when it is whole and was read again. A restored directory is made beside the old one and takes
//! its place in one step; the old one is kept.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use galaxy::{Database, DatabaseAddress};
use indicatif::ProgressBar;
use kernel::{Clock as _, Store, SystemClock};
use serde_json::{Value, json};
use server::settings::{Settings, Source as From, names};

use crate::archive::{self, BackupKey, Record, Writer};
use crate::cli::{Backup, Global, Restore};
use crate::client::Client;
use crate::config::plain;
use crate::copy::{self, Source};
use crate::exit::Failure;
use crate::scratch::ScratchDir;
use crate::{config, open, print, snapshot};

/// Bytes of the database in one record.
const PART: usize = 1 << 20;
/// Keys that are written at once.
const BATCH: usize = 1000;

pub(super) fn backup(global: &Global, flags: &Backup) -> Result<(), Failure> {
    if flags.file.exists() && !global.yes {
        return Err(Failure::conflict(format!(
            "{} exists; add --yes to replace it, or choose another name",
            flags.file.display()
        )));
    }
    let key = key(global, flags.key_file.as_deref())?;
    let told = super::wait(async {
        if global.redis.is_none() && global.data.is_none() {
            return download(global, &flags.file, key.as_ref()).await;
        }
        make(global, &flags.file, key.as_ref()).await
    })?;
    if global.json {
        print::json(&told);
    } else if !global.quiet {
        print::line(format!(
            "{}: {} keys, {} bytes, {}; {}; SHA-256 {}",
            flags.file.display(),
            told["keys"],
            told["bytes"],
            if told["encrypted"] == true { "encrypted" } else { "not encrypted" },
            told["database"].as_str().unwrap_or_default(),
            told["sha256"].as_str().unwrap_or_default(),
        ));
    }
    Ok(())
}

/// The key from `--key-file`, else from the setting `backup.key`, which is `WORLDKEEP_BACKUP_KEY` in the environment.
fn key(global: &Global, file: Option<&Path>) -> Result<Option<BackupKey>, Failure> {
    let text = match file {
        Some(file) => Some(fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("--key-file: cannot read {}: {}", file.display(), plain(&error)))
        })?),
        None => settings(global)?.backup.key,
    };
    text.map(|text| BackupKey::new(&text).map_err(Failure::usage)).transpose()
}

fn needs_store(global: &Global) -> Result<(), Failure> {
    if global.redis.is_none() && global.data.is_none() {
        return Err(Failure::usage(
            "name the store: --data DIR for an embedded one, --redis URL for Redis or Valkey",
        ));
    }
    Ok(())
}

pub(super) fn settings(global: &Global) -> Result<Settings, Failure> {
    let mut settings = config::load(global.config.as_deref(), std::env::vars(), &[])?;
    if let Some(dir) = &global.data {
        settings.set(names::data, &dir.display().to_string(), From::Flag("--data".into()))?;
    }
    Ok(settings)
}

pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{what} {}: {}", path.display(), plain(error)))
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Asks the running server for a backup. Where it is encrypted by a key that is not here, only its sum is compared.
async fn download(global: &Global, file: &Path, key: Option<&BackupKey>) -> Result<Value, Failure> {
    let cannot = |error: io::Error| failed("cannot write", file, &error);
    let client = Client::new(global)?;
    let scratch = ScratchDir::make(parent(file), "backup").map_err(cannot)?;
    let made = scratch.path().join("backup");
    let mut to = File::create(&made).map_err(cannot)?;
    let bar = super::bytes_bar(global);
    client.fetch("/api/backup", &mut to, |came| bar.set_position(came)).await?;
    to.sync_all().map_err(cannot)?;
    bar.finish_and_clear();
    let bytes = to.metadata().map_err(cannot)?.len();
    let (encrypted, sha256) = archive::look(&made)
        .map_err(|error| failed("what came is not a whole backup:", &made, &error))?;
    let counts = if encrypted && key.is_none() { None } else { Some(measure(&made, key)?) };
    fs::rename(&made, file).map_err(cannot)?;
    File::open(parent(file)).and_then(|dir| dir.sync_all()).map_err(cannot)?;
    Ok(json!({
        "file": file, "bytes": bytes, "keys": counts.map(|counts| counts.0),
        "database_bytes": counts.map(|counts| counts.1),
        "database": format!("made by the server at {}", global.server),
        "encrypted": encrypted, "sha256": sha256,
    }))
}

pub(super) async fn make(
    global: &Global,
    file: &Path,
    key: Option<&BackupKey>,
) -> Result<Value, Failure> {
    let settings = settings(global)?;
    let cannot = |error: io::Error| failed("cannot write", file, &error);
    // Beside the file: it is renamed at the end, and what is not is removed.
    let scratch = ScratchDir::make(parent(file), "backup").map_err(cannot)?;
    let store = source(global, scratch.path()).await?;
    let mut status = store.status();
    if let (Some(dir), None) = (&global.data, &global.redis) {
        status.address = dir.display().to_string();
    }
    let made = scratch.path().join("backup");
    let mut writer = Writer::new(File::create(&made).map_err(cannot)?, key).map_err(cannot)?;
    let about = json!({
        "made_at": SystemClock::new().now_ms(), "kind": status.kind, "server": status.server,
        "program": concat!("worldkeep ", env!("CARGO_PKG_VERSION")),
    });
    writer.write(&Record::About(about.to_string())).map_err(cannot)?;
    let bar = super::keys_bar(global, copy::count(&*store).await);
    let mut keys = 0;
    let mut from = Source::open(&*store).await?;
    while let Some(entries) = from.next().await? {
        keys += entries.len() as u64;
        bar.set_position(keys);
        for entry in entries {
            writer.write(&Record::Key(entry)).map_err(cannot)?;
        }
    }
    let place = server::database_place(&settings, &status);
    let (database, told) = add_database(&mut writer, &place, scratch.path()).await?;
    writer.write(&Record::End { keys, database }).map_err(cannot)?;
    let (done, sha256) = writer.finish().map_err(cannot)?;
    done.sync_all().map_err(cannot)?;
    let bytes = done.metadata().map_err(cannot)?.len();
    verify(&made, key, (keys, database), &bar)?;
    bar.finish_and_clear();
    fs::rename(&made, file).map_err(cannot)?;
    File::open(parent(file)).and_then(|dir| dir.sync_all()).map_err(cannot)?;
    Ok(json!({
        "file": file, "bytes": bytes, "keys": keys, "database_bytes": database, "database": told,
        "encrypted": key.is_some(), "sha256": sha256,
    }))
}

/// The store to read: a server, or a copy of the directory as it is at this moment.
async fn source(global: &Global, scratch: &Path) -> Result<Arc<dyn Store>, Failure> {
    match (&global.redis, &global.data) {
        (Some(url), _) => Ok(open::store(Some(url), None, open::Absent::Refuse).await?.store),
        (None, dir) => {
            let (dir, to) = (dir.clone().unwrap_or_default(), scratch.join("store"));
            snapshot::copy(&dir, &to)?;
            Ok(open::store(None, Some(to), open::Absent::Refuse).await?.store)
        }
    }
}

/// Adds the galaxy's database; gives its size and a sentence about it.
async fn add_database(
    writer: &mut Writer<File>,
    place: &DatabaseAddress,
    scratch: &Path,
) -> Result<(u64, String), Failure> {
    let file = match place {
        DatabaseAddress::File(file) if file.is_file() => file,
        DatabaseAddress::Postgres(_) => {
            return Ok((0, format!("the database at {place} is not included: use pg_dump")));
        }
        _ => return Ok((0, "the galaxy has no database here".into())),
    };
    let copy = scratch.join("galaxy.db");
    let database = Database::open(place.clone()).await.map_err(broken)?;
    let copied = database.copy_to(&copy).await;
    database.close().await;
    copied.map_err(broken)?;
    let cannot = |error: io::Error| failed("cannot read", file, &error);
    let mut copy = File::open(&copy).map_err(cannot)?;
    let mut size = 0;
    loop {
        let mut part = Vec::new();
        (&mut copy).take(PART as u64).read_to_end(&mut part).map_err(cannot)?;
        if part.is_empty() {
            return Ok((size, format!("with the database {}", file.display())));
        }
        size += part.len() as u64;
        writer.write(&Record::Database(part)).map_err(cannot)?;
    }
}

pub(super) fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::failed(error.to_string())
}

/// Reads a finished file from begin to end.
fn verify(
    file: &Path,
    key: Option<&BackupKey>,
    expected: (u64, u64),
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let cannot = |error: io::Error| failed("the backup cannot be read again", file, &error);
    let mut reader = archive::open(file, key).map_err(cannot)?;
    let mut found = (0, 0);
    bar.set_message("reading again");
    loop {
        match reader.next().map_err(cannot)? {
            Record::About(_) => {}
            Record::Key(_) => found.0 += 1,
            Record::Database(part) => found.1 += part.len() as u64,
            Record::End { keys, database } if (keys, database) == found && found == expected => {
                return Ok(());
            }
            Record::End { .. } => {
                return Err(Failure::failed("the backup does not hold what was written to it"));
            }
        }
    }
}

pub(super) fn restore(global: &Global, flags: &Restore) -> Result<(), Failure> {
    needs_store(global)?;
    let key = key(global, flags.key_file.as_deref())?;
    if flags.replace {
        open::confirm(global, "put the backup in the place of what the store holds")?;
    }
    let told = super::wait(async {
        // Everything that can be wrong with the file is found before anything is changed.
        let (keys, database) = measure(&flags.file, key.as_ref())?;
        let bar = super::keys_bar(global, keys);
        let work = Restoring { global, flags, key: key.as_ref(), bar: &bar };
        let told = match (&global.redis, &global.data) {
            (None, Some(dir)) => work.fill_directory(dir).await,
            _ => work.fill_store(database > 0).await,
        };
        bar.finish_and_clear();
        told
    })?;
    if global.json {
        print::json(&told);
    } else if !global.quiet {
        print::line(format!("{} keys restored, {} were over", told["keys"], told["over"]));
        if let Some(kept) = told["kept"].as_str() {
            print::line(format!("what was there before is kept in {kept}"));
        }
    }
    Ok(())
}

/// Keys and bytes of the database in a whole and good file.
fn measure(file: &Path, key: Option<&BackupKey>) -> Result<(u64, u64), Failure> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(format!("there is no {}", file.display())),
        _ => failed("cannot restore", file, &error),
    };
    let mut reader = archive::open(file, key).map_err(cannot)?;
    loop {
        if let Record::End { keys, database } = reader.next().map_err(cannot)? {
            return Ok((keys, database));
        }
    }
}

/// A restore under way.
struct Restoring<'a> {
    global: &'a Global,
    flags: &'a Restore,
    key: Option<&'a BackupKey>,
    bar: &'a ProgressBar,
}

impl Restoring<'_> {
    /// Makes the directory beside the old one and lets it take its place.
    async fn fill_directory(&self, dir: &Path) -> Result<Value, Failure> {
        let cannot = |error: io::Error| failed("cannot restore into", dir, &error);
        let occupied = fs::read_dir(dir).is_ok_and(|mut all| all.next().is_some());
        if occupied && !self.flags.replace {
            return Err(Failure::conflict(format!(
                "{} is not empty; add --replace to put the backup in its place (what is there is kept beside it)",
                dir.display()
            )));
        }
        if occupied && dir.join("appendonlydir").is_dir() {
            // Refused while a server uses it.
            drop(link::Embedded::open_existing(dir)?);
        }
        fs::create_dir_all(parent(dir)).map_err(cannot)?;
        let scratch = ScratchDir::make(parent(dir), "restore").map_err(cannot)?;
        let made = scratch.path().join("data");
        let store = open::store(None, Some(made.clone()), open::Absent::Make).await?.store;
        let counts = self.fill(&*store, Some(&made.join("galaxy.db"))).await?;
        drop(store);
        snapshot::sync_tree(&made).map_err(cannot)?;
        let kept = if occupied {
            let kept = aside(dir);
            exchange(&made, dir).map_err(cannot)?;
            fs::rename(&made, &kept).map_err(cannot)?;
            Some(kept)
        } else {
            fs::rename(&made, dir).map_err(cannot)?;
            None
        };
        File::open(parent(dir)).and_then(|dir| dir.sync_all()).map_err(cannot)?;
        Ok(json!({ "keys": counts.0, "over": counts.1, "kept": kept }))
    }

    /// Writes the keys to a server, over those of the same name.
    async fn fill_store(&self, has_database: bool) -> Result<Value, Failure> {
        let url = self.global.redis.as_deref();
        let store = open::store(url, None, open::Absent::Refuse).await?.store;
        if !self.flags.replace && !copy::is_empty(&*store).await? {
            return Err(Failure::conflict(
                "the store is not empty; add --replace to write over keys of the same name (others stay)",
            ));
        }
        let place = server::database_place(&settings(self.global)?, &store.status());
        let DatabaseAddress::File(file) = place else {
            let counts = self.fill(&*store, None).await?;
            return Ok(json!({ "keys": counts.0, "over": counts.1, "database": false }));
        };
        if has_database && file.exists() && !self.flags.replace {
            let file = file.display();
            return Err(Failure::conflict(format!(
                "there is a database in {file}; add --replace to put it aside"
            )));
        }
        let cannot = |error: io::Error| failed("cannot write", &file, &error);
        fs::create_dir_all(parent(&file)).map_err(cannot)?;
        let made = file.with_extension("restoring");
        let counts = self.fill(&*store, Some(&made)).await?;
        let mut kept = None;
        if has_database {
            kept = put_database_aside(&file).map_err(cannot)?;
            fs::rename(&made, &file).map_err(cannot)?;
        }
        Ok(json!({
            "keys": counts.0, "over": counts.1, "database": has_database, "kept": kept,
        }))
    }

    /// Writes all records; gives how many keys were written, and how many had ended.
    async fn fill(
        &self,
        store: &dyn Store,
        database: Option<&Path>,
    ) -> Result<(u64, u64), Failure> {
        let file = &self.flags.file;
        let cannot = |error: io::Error| failed("cannot restore", file, &error);
        let mut reader = archive::open(file, self.key).map_err(cannot)?;
        let clock = SystemClock::new();
        let (mut written, mut over, mut batch, mut out) = (0, 0, Vec::new(), None);
        loop {
            let record = reader.next().map_err(cannot)?;
            let end = matches!(record, Record::End { .. });
            match record {
                Record::Key(entry) if entry.is_over(clock.now_ms()) => over += 1,
                Record::Key(entry) => batch.push(entry),
                Record::Database(part) => {
                    let Some(path) = database else { continue };
                    let cannot = |error: io::Error| failed("cannot write", path, &error);
                    let file = match out.take() {
                        Some(file) => file,
                        None => File::create(path).map_err(cannot)?,
                    };
                    let file: &mut File = out.insert(file);
                    file.write_all(&part).map_err(cannot)?;
                }
                Record::About(_) | Record::End { .. } => {}
            }
            if batch.len() >= BATCH || end {
                copy::write(store, &batch).await?;
                written += batch.len() as u64;
                batch.clear();
                self.bar.set_position(written);
            }
            if end {
                if let Some(out) = out {
                    out.sync_all().map_err(cannot)?;
                }
                return Ok((written, over));
            }
        }
    }
}

/// Puts an older database aside, with what SQLite keeps beside it.
pub(super) fn put_database_aside(file: &Path) -> io::Result<Option<PathBuf>> {
    if !file.exists() {
        return Ok(None);
    }
    let kept = aside(file);
    for end in ["", "-wal", "-shm"] {
        let with = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
        match fs::rename(with(file), with(&kept)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(Some(kept))
}

/// A name beside a path that nothing has.
fn aside(path: &Path) -> PathBuf {
    let name = |n: u64| PathBuf::from(format!("{}.before-{n}", path.display()));
    let mut now = SystemClock::new().now_ms();
    while name(now).exists() {
        now += 1;
    }
    name(now)
}

/// Lets two directories change places in one step.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    Ok(rustix::fs::renameat_with(here, new, here, old, rustix::fs::RenameFlags::EXCHANGE)?)
}
