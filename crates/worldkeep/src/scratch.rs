//! Directories for work under way, beside what it will make: a rename at the end gives the work its name. One goes with its
//! work; what a killed program left goes with the next work of its kind in the same place.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use kernel::{Clock as _, SystemClock};
use tempfile::TempDir;

/// The file that a program holds locked as long as it lives.
const LOCK: &str = "lock";
/// A directory without that file is being made, or is as old as an earlier version of this program.
const NEW: Duration = Duration::from_mins(1);

/// A directory for work under way.
pub(crate) struct ScratchDir {
    dir: TempDir,
    _lock: File,
}

impl ScratchDir {
    /// Makes one in `parent` for this kind of work, and removes those whose programs are gone.
    pub(crate) fn make(parent: &Path, work: &str) -> io::Result<ScratchDir> {
        let prefix = format!(".worldkeep-{work}-");
        remove_left(parent, &prefix);
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?;
        let lock = File::create(dir.path().join(LOCK))?;
        lock.try_lock()?;
        Ok(ScratchDir { dir, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes what nobody holds. A directory that cannot be removed is left: the work at hand needs it not.
fn remove_left(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(prefix) && is_left(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_left(dir: &Path) -> bool {
    match File::open(dir.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = fs::metadata(dir).and_then(|found| found.modified()).ok();
            let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
            let now = Duration::from_millis(SystemClock::new().now_ms());
            made.is_some_and(|made| now.saturating_sub(made) > NEW)
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_program_left_goes_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().unwrap();
        let in_use = ScratchDir::make(parent.path(), "backup").unwrap();
        let left = parent.path().join(".worldkeep-backup-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let begun = parent.path().join(".worldkeep-backup-begun");
        let other = parent.path().join(".worldkeep-restore-other");
        fs::create_dir(&begun).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join(LOCK), "").unwrap();
        let next = ScratchDir::make(parent.path(), "backup").unwrap();
        assert!(!left.exists() && in_use.path().exists() && begun.exists() && other.exists());
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists(), "a directory goes with its work");
    }
}
