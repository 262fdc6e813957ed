//! A copy of an embedded directory, also while a server uses it. The log is written from front to back, so every beginning of
//! it is the store at one moment: the files that the list names are copied as far as they reach, and the copy is opened. The
//! directory itself is only read.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::config::plain;
use crate::exit::Failure;

/// As the engine and Redis 7 name them.
const FOLDER: &str = "appendonlydir";
const LIST: &str = "appendonly.aof.manifest";
/// A list that changes this often while it is read is not read.
const TRIES: usize = 20;

/// Copies the log of `dir` into `to`.
pub(crate) fn copy(dir: &Path, to: &Path) -> Result<(), Failure> {
    let cannot = |error: &io::Error| {
        Failure::failed(format!("cannot copy the log of {}: {}", dir.display(), plain(error)))
    };
    let (from, to) = (dir.join(FOLDER), to.join(FOLDER));
    if !from.join(LIST).is_file() {
        return Err(Failure::usage(format!("there is no store in {}", dir.display())));
    }
    fs::create_dir_all(&to).map_err(|error| cannot(&error))?;
    for _ in 0..TRIES {
        match copy_listed(&from, &to) {
            Ok(true) => return Ok(()),
            // The server replaced its files meanwhile: the new ones are there now.
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(&error)),
        }
    }
    Err(Failure::conflict(format!("{} changes all the time; try again", from.display())))
}

/// Copies the files of the list; false when there is another list afterwards.
fn copy_listed(from: &Path, to: &Path) -> io::Result<bool> {
    let list = fs::read_to_string(from.join(LIST))?;
    let names = list.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["file", name, "seq", _, "type", "b" | "i"] => Some(name.to_owned()),
            _ => None,
        }
    });
    // Opened files stay readable when the server deletes them.
    let mut files = Vec::new();
    for name in names {
        files.push((File::open(from.join(&name))?, name));
    }
    if fs::read_to_string(from.join(LIST))? != list {
        return Ok(false);
    }
    for (mut file, name) in files {
        io::copy(&mut file, &mut File::create(to.join(name))?)?;
    }
    fs::write(to.join(LIST), list)?;
    Ok(true)
}

/// Makes every file below a directory, and the names in it, last.
pub(crate) fn sync_tree(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(dir)?.sync_all()
}
