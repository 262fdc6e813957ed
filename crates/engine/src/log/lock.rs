//! A directory has one owner: whoever holds the lock on a file in it.

use std::fs::File;
use std::path::Path;

use crate::log::OpenError;

/// A directory's owner, for as long as this lives.
pub(crate) struct DirLock(File);

impl Drop for DirLock {
    fn drop(&mut self) {
        // Said aloud: a process being started at this moment holds a copy of the file until it has its own program.
        let _ = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::Unlock);
    }
}

pub(crate) fn lock(dir: &Path) -> Result<DirLock, OpenError> {
    let path = dir.join("worldkeep.lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| OpenError::Directory { path: dir.to_path_buf(), error })?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(DirLock(file)),
        Err(_) => Err(OpenError::Locked(dir.to_path_buf())),
    }
}
