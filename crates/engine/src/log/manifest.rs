//! The list of the log's files, in the form Redis 7 reads: `file NAME seq N type b|i|h`, one a line. Replaced
//! by renaming, so that there is one valid list at every moment.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The folder of the files, below the data directory.
pub(crate) const DIRECTORY: &str = "appendonlydir";
const NAME: &str = "appendonly.aof.manifest";
const PREFIX: &str = "appendonly.aof";

/// The files of a log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Manifest {
    pub(crate) base: Option<ManifestEntry>,
    pub(crate) incr: Vec<ManifestEntry>,
    /// No longer part of the log, to be deleted.
    pub(crate) history: Vec<ManifestEntry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestEntry {
    pub(crate) name: String,
    pub(crate) seq: u64,
}

impl Manifest {
    /// Reads the list of a directory; `None` when there is none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, String> {
        let path = dir.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let bad = |why: &str| format!("{} is damaged: {why}", path.display());
        if text.is_empty() {
            return Err(bad("it is empty"));
        }
        if !text.ends_with('\n') {
            return Err(bad("its last line is not whole"));
        }
        let mut manifest = Manifest::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            let ["file", name, "seq", seq, "type", kind] = words[..] else {
                return Err(bad(&format!("cannot read the line '{line}'")));
            };
            let seq = seq.parse().ok().filter(|seq| *seq > 0);
            let seq = seq.ok_or_else(|| bad(&format!("bad number in the line '{line}'")))?;
            if name.contains('/') {
                return Err(bad(&format!("a file of another directory: '{name}'")));
            }
            let entry = ManifestEntry { name: name.to_owned(), seq };
            match kind {
                "b" if manifest.base.is_none() => manifest.base = Some(entry),
                "b" => return Err(bad("it names two base files")),
                "i" if manifest.incr.last().is_some_and(|last| last.seq >= seq) => {
                    return Err(bad("its increments are out of order"));
                }
                "i" => manifest.incr.push(entry),
                "h" => manifest.history.push(entry),
                _ => return Err(bad(&format!("unknown kind of file in the line '{line}'"))),
            }
        }
        Ok(Some(manifest))
    }

    /// Replaces the list of a directory; on the disk when it returns.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let temporary = dir.join(format!("temp-{NAME}"));
        let mut file = File::create(&temporary)?;
        let line = |entry: &ManifestEntry, kind| {
            format!("file {} seq {} type {kind}\n", entry.name, entry.seq)
        };
        let mut text = String::new();
        text.extend(self.base.iter().map(|entry| line(entry, 'b')));
        text.extend(self.history.iter().map(|entry| line(entry, 'h')));
        text.extend(self.incr.iter().map(|entry| line(entry, 'i')));
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, dir.join(NAME))?;
        sync_directory(dir)
    }

    /// The next increment's entry.
    pub(crate) fn next_incr(&self) -> ManifestEntry {
        let seq = self.incr.last().map_or(0, |entry| entry.seq) + 1;
        ManifestEntry { name: format!("{PREFIX}.{seq}.incr.aof"), seq }
    }

    /// The next base's entry.
    pub(crate) fn next_base(&self) -> ManifestEntry {
        let seq = self.base.as_ref().map_or(0, |entry| entry.seq) + 1;
        ManifestEntry { name: format!("{PREFIX}.{seq}.base.aof"), seq }
    }

    /// Everything to load, in order.
    pub(crate) fn files(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.base.iter().chain(&self.incr)
    }
}

/// Makes new names in a directory last.
pub(crate) fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Files of a log whose list is gone. Redis would start empty and write over them; we refuse.
pub(crate) fn orphans(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.len() > 0))
        .map(|entry| entry.path())
        .filter(|path| {
            path.to_string_lossy().ends_with(".aof") || path.to_string_lossy().ends_with(".rdb")
        })
        .collect()
}
