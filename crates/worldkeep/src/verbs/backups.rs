//! Backups by setting, while `serve` runs: one server of those that share the store holds the lease and makes them, at once
//! when none was made yet, then each `backup.every_s`. The newest `backup.keep` files stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kernel::{Clock as _, Deadline, Kind, Lease, Store, SystemClock};
use serde_json::Value;
use server::App;
use server::backups::{self, BackupState, MadeBackup, Maker};
use server::settings::Settings;

use super::backup;
use crate::archive::BackupKey;
use crate::cli::Global;
use crate::config::plain;
use crate::exit::Failure;
use crate::scratch::ScratchDir;

/// A server that dies is succeeded after this.
const LEASE: Duration = Duration::from_secs(30);
/// After a failure the next try comes this soon, or when the next backup is due.
const AGAIN: Duration = Duration::from_mins(5);
const WAIT: Duration = Duration::from_secs(5);

/// Backups that the settings ask for.
pub(super) struct BackupPlan {
    directory: PathBuf,
    every: Duration,
    keep: usize,
    key: Option<String>,
    /// The store, as `worldkeep backup` names it.
    global: Global,
}

/// The backups that the settings ask for, refused before the server starts when it cannot work.
pub(super) fn plan(
    global: &Global,
    settings: &Settings,
    store: &dyn Store,
) -> Result<Option<BackupPlan>, Failure> {
    let wanted = &settings.backup;
    if wanted.every_s == 0 {
        return Ok(None);
    }
    let Some(directory) = wanted.directory.as_deref().map(PathBuf::from) else {
        return Err(Failure::usage("backup.every_s needs backup.directory: where backups go"));
    };
    let Some(global) = source(global, settings, store) else {
        return Err(Failure::usage(
            "backup.every_s needs a store on disk: name one with --data DIR",
        ));
    };
    if let Some(key) = &wanted.key {
        BackupKey::new(key).map_err(|why| Failure::usage(format!("backup.key: {why}")))?;
    }
    fs::create_dir_all(&directory).map_err(|error| {
        let why = plain(&error);
        Failure::usage(format!("backup.directory: cannot make {}: {why}", directory.display()))
    })?;
    let every = Duration::from_secs(wanted.every_s);
    Ok(Some(BackupPlan { directory, every, keep: wanted.keep, key: wanted.key.clone(), global }))
}

/// The store of a server as `worldkeep backup` names it; none where it is in memory.
fn source(global: &Global, settings: &Settings, store: &dyn Store) -> Option<Global> {
    let status = store.status();
    let embedded = status.kind == Kind::Embedded;
    let data = settings.server.data.as_deref().map(PathBuf::from);
    let data = if embedded { Some(PathBuf::from(&status.address)) } else { data };
    if embedded && !data.as_deref().is_some_and(Path::is_dir) {
        return None;
    }
    let redis = settings.server.redis.clone().filter(|_| !embedded);
    let config = global.config.clone();
    Some(Global { config, redis, data, quiet: true, ..Global::default() })
}

/// How the server makes backups for those who ask: beside the scheduled ones, else in the directory for temporary files.
pub(super) fn maker(global: &Global, settings: &Settings, store: &dyn Store) -> Option<Maker> {
    let global = source(global, settings, store)?;
    let key = settings.backup.key.clone();
    let place = settings.backup.directory.as_deref().map(PathBuf::from);
    let place = place.unwrap_or_else(std::env::temp_dir);
    Some(Box::new(move || {
        let (global, key, place) = (global.clone(), key.clone(), place.clone());
        Box::pin(async move {
            fs::create_dir_all(&place).map_err(|error| plain(&error))?;
            let scratch = ScratchDir::make(&place, "sent").map_err(|error| plain(&error))?;
            let to = scratch.path().join("made");
            write(global, to.clone(), key).await?;
            let file = fs::File::open(&to).map_err(|error| plain(&error))?;
            let bytes = file.metadata().map_err(|error| plain(&error))?.len();
            Ok(MadeBackup { file, bytes })
        })
    }))
}

/// Writes one, on a thread of its own: files are written and read again.
async fn write(global: Global, to: PathBuf, key: Option<String>) -> Result<Value, String> {
    let runtime = tokio::runtime::Handle::current();
    let made = tokio::task::spawn_blocking(move || {
        let key = key.map(|key| BackupKey::new(&key)).transpose().map_err(Failure::usage)?;
        runtime.block_on(backup::make(&global, &to, key.as_ref()))
    });
    match made.await {
        Ok(made) => made.map_err(|failure| failure.message),
        Err(error) => Err(error.to_string()),
    }
}

impl BackupPlan {
    /// Makes backups until the server stops.
    pub(super) async fn keep(self, app: Arc<App>) {
        let lease = Lease::new(app.shared_store(), app.clock.clone(), backups::LEASE, LEASE);
        lease.lead(|| self.turns(&app), app.stopping.cancelled()).await;
    }

    async fn turns(&self, app: &App) {
        loop {
            let Some(last) = self.last(app).await else {
                app.clock.sleep(WAIT).await;
                continue;
            };
            backups::measure(&last);
            let pause = if last.error.is_empty() { self.every } else { self.every.min(AGAIN) };
            let due = Duration::from_millis(last.tried_at) + pause;
            app.clock.sleep(due.saturating_sub(Duration::from_millis(app.now_ms()))).await;
            let state = self.one(app, last).await;
            if state.error.is_empty() {
                tracing::info!(file = state.file, keys = state.keys, "backup made");
            } else {
                tracing::error!(error = state.error, "backup failed");
            }
            if let Err(fault) = backups::write(app.store(), &state, Deadline::after(WAIT)).await {
                tracing::warn!(%fault, "the store does not take what became of the backup");
                app.clock.sleep(WAIT).await;
            }
        }
    }

    async fn last(&self, app: &App) -> Option<BackupState> {
        backups::read(app.store(), &app.settings, Deadline::after(WAIT)).await.ok().flatten()
    }

    /// One backup.
    async fn one(&self, app: &App, last: BackupState) -> BackupState {
        let started = app.clock.monotonic();
        let file = self.directory.join(format!("worldkeep-{}.backup", stamp()));
        let tried_at = app.now_ms();
        let made = write(self.global.clone(), file.clone(), self.key.clone()).await;
        let took = app.clock.monotonic().saturating_sub(started);
        let server = app.server_id.clone();
        match made {
            Ok(told) => {
                remove_old(&self.directory, self.keep);
                BackupState {
                    tried_at,
                    made_at: tried_at,
                    file: file.display().to_string(),
                    bytes: told["bytes"].as_u64().unwrap_or(0),
                    keys: told["keys"].as_u64().unwrap_or(0),
                    took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                    server,
                    error: String::new(),
                    ..last
                }
            }
            Err(error) => BackupState { tried_at, server, error, ..last },
        }
    }
}

/// The time as the name of a file, such as `20301231T235959.123Z`: names sort by time.
fn stamp() -> String {
    let now = i64::try_from(SystemClock::new().now_ms()).unwrap_or(i64::MAX);
    let now = jiff::Timestamp::from_millisecond(now).unwrap_or(jiff::Timestamp::MAX);
    now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

/// Removes all but the newest files that this loop made; other files stay.
fn remove_old(directory: &Path, keep: usize) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| {
        let name = name.to_string_lossy();
        name.starts_with("worldkeep-") && name.ends_with("Z.backup")
    });
    names.sort_unstable();
    let many = if keep == 0 { 0 } else { names.len().saturating_sub(keep) };
    for name in &names[..many] {
        if let Err(error) = fs::remove_file(directory.join(name)) {
            tracing::warn!(%error, file = %name.display(), "an old backup stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay_and_other_files_too() {
        let dir = tempfile::tempdir().unwrap();
        let names =
            ["worldkeep-20300101T000000.000Z.backup", "worldkeep-20300102T000000.000Z.backup"];
        for name in names.iter().chain(&["worldkeep-by-hand.backup", "other"]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        remove_old(dir.path(), 0);
        assert!(dir.path().join(names[0]).exists(), "0 keeps all");
        remove_old(dir.path(), 1);
        assert!(!dir.path().join(names[0]).exists() && dir.path().join(names[1]).exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
