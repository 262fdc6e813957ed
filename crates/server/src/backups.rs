//! Backups by setting: what all servers that share a store know of them. The program makes the files; the last one and what
//! became of it is in the store, so that a server that takes the lease over goes on where another stopped.
//!
//! Key: `wk:backup`.

use std::fs::File;
use std::sync::OnceLock;

use futures_util::future::BoxFuture;
use kernel::keyspace::{Layout, own};
use kernel::{Cmd, Deadline, Fault, Said, Store, reply};
use serde::Serialize;

use crate::said;
use crate::settings::{Settings, settings};

/// The lease of the one server that makes them.
pub const LEASE: &str = "backup";
/// A backup that is this many times later than it should be deserves a look.
const LATE: u64 = 2;

settings! {
    /// Settings of backups by the server.
    pub struct BackupSettings, names, "backup." {
        every_s: u64 = "0", "seconds from one backup to the next, made by one of the servers that share the store; 0 makes none";
        directory: Option<String> = "", "directory of these backups, which is made where it is missing";
        keep: usize = "14", "backups that are kept in the directory, the newest; 0 keeps all";
        key: Option<String> as Secret = "", "key that encrypts backups, 32 characters or more; empty does not encrypt";
    }
}

/// A whole backup to send. The file has no name any more and goes with its last reader.
pub struct MadeBackup {
    /// At its beginning.
    pub file: File,
    /// The size in bytes.
    pub bytes: u64,
}

/// Makes a backup, or says why not. The program gives it to the server, which knows no files of backups.
pub type Maker = Box<dyn Fn() -> BoxFuture<'static, Result<MadeBackup, String>> + Send + Sync>;

/// How this server makes backups for those who ask.
#[derive(Default)]
pub struct Backups {
    /// Absent where the store is in memory.
    pub maker: OnceLock<Maker>,
    /// Held while one is made: a second one at the same time would only make both slower.
    pub(crate) one: tokio::sync::Mutex<()>,
}

/// The last backup and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BackupState {
    /// Seconds from one to the next.
    pub every_s: u64,
    /// Unix milliseconds of the last try; 0 before the first.
    pub tried_at: u64,
    /// Unix milliseconds of the last that is whole; 0 before the first.
    pub made_at: u64,
    /// The file of that one.
    pub file: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The number of its keys.
    pub keys: u64,
    /// How long it took.
    pub took_ms: u64,
    /// The server that tried last.
    pub server: String,
    /// Why the last try failed; empty when it did not.
    pub error: String,
}

impl BackupState {
    /// The trouble that deserves a look.
    pub fn trouble(&self, now_ms: u64) -> Option<Said> {
        if !self.error.is_empty() {
            return Some(said::BACKUP_FAILED.say().with("why", self.error.as_str()));
        }
        let every_ms = self.every_s.saturating_mul(1_000);
        let since = now_ms.saturating_sub(self.made_at);
        (self.made_at > 0 && since > every_ms.saturating_mul(LATE))
            .then(|| said::BACKUP_LATE.say().with("age_ms", since).with("every_ms", every_ms))
    }
}

/// The state that the store tells; `None` where no backups are asked for.
pub async fn read(
    store: &dyn Store,
    settings: &Settings,
    by: Deadline,
) -> Result<Option<BackupState>, Fault> {
    let every_s = settings.backup.every_s;
    if every_s == 0 {
        return Ok(None);
    }
    let mut cmd = Cmd::new();
    cmd.arg("HGETALL").arg(key());
    let answer = store.call(&cmd, by).await?;
    let mut state = BackupState { every_s, ..BackupState::default() };
    for (name, value) in reply::pairs(&answer).unwrap_or_default() {
        let text = reply::text(value).unwrap_or_default();
        let number = || text.parse().unwrap_or(0);
        match reply::text(name).unwrap_or_default() {
            "tried_at" => state.tried_at = number(),
            "made_at" => state.made_at = number(),
            "file" => text.clone_into(&mut state.file),
            "bytes" => state.bytes = number(),
            "keys" => state.keys = number(),
            "took_ms" => state.took_ms = number(),
            "server" => text.clone_into(&mut state.server),
            "error" => text.clone_into(&mut state.error),
            _ => {}
        }
    }
    Ok(Some(state))
}

/// Keeps what became of a try, for all servers, and counts it.
pub async fn write(store: &dyn Store, state: &BackupState, by: Deadline) -> Result<(), Fault> {
    let ended = if state.error.is_empty() { "done" } else { "failed" };
    metrics::counter!("worldkeep_backups_total", "ended" => ended).increment(1);
    measure(state);
    let mut cmd = Cmd::new();
    cmd.arg("HSET").arg(key());
    cmd.arg("tried_at").arg(state.tried_at).arg("made_at").arg(state.made_at);
    cmd.arg("file").arg(&state.file).arg("bytes").arg(state.bytes).arg("keys").arg(state.keys);
    cmd.arg("took_ms").arg(state.took_ms).arg("server").arg(&state.server);
    cmd.arg("error").arg(&state.error);
    store.call(&cmd, by).await?;
    Ok(())
}

/// Tells `/metrics` when the last good one was made.
#[allow(clippy::cast_precision_loss)] // A gauge is a float by its format.
pub fn measure(state: &BackupState) {
    metrics::gauge!("worldkeep_backup_made_timestamp_seconds").set(state.made_at as f64 / 1_000.0);
}

fn key() -> String {
    own::Keys::new(Layout::Plain).backup().as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_late_backups_deserve_a_look() {
        let good = BackupState { every_s: 10, made_at: 5_000, ..BackupState::default() };
        assert!(good.trouble(25_000).is_none());
        assert!(good.trouble(25_001).unwrap().sentence().contains("old; one is due"));
        let none = BackupState { every_s: 10, ..BackupState::default() };
        assert!(none.trouble(1_000_000).is_none(), "the first one is on its way");
        let failed = BackupState { error: "the disk is full".into(), ..good };
        assert!(failed.trouble(5_001).unwrap().sentence().contains("disk is full"));
    }
}
