//! Reads the files of a log back. Three ends are told apart: the file is whole; its tail is torn (the process
//! or the machine died while writing: cut and reported); it is damaged (a checksum or the grammar says so: refused,
//! with the place).

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr;

use crate::core::client::Client;
use crate::doors::resp::{self, Argv, Bounds, Parsed};
use crate::exec::LockedEngine;
use crate::log::file::{CLAIM, MARK, read_claim, read_mark};

mod unsynced;

const READ: usize = 1 << 20;
/// An annotation longer than this is no annotation.
const LINE_MAX: usize = 4096;

/// The reason why a log cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A checksum or the grammar does not fit.
    #[error("the log is damaged: {} at byte {offset}: {why}; `worldkeep log repair --data {}` keeps what stands before it and puts the rest aside", file.display(), data_dir(file))]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The offset at which the good part ends.
        offset: u64,
        /// The part that does not fit.
        why: String,
    },
    /// The end of the last file is spoiled, and none of it was ever synced: opening cuts it.
    #[error("the log lost its unsynced end: {} from byte {offset}: {why}", file.display())]
    Unsynced {
        /// The file.
        file: PathBuf,
        /// The offset at which the good part ends.
        offset: u64,
        /// The part that does not fit.
        why: String,
    },
    /// The list of files, or a file it names.
    #[error("{0}")]
    Files(String),
}

/// The directory that an operator named, from a file of its log.
fn data_dir(file: &Path) -> std::path::Display<'_> {
    file.parent().and_then(Path::parent).unwrap_or(file).display()
}

/// The result of loading one file.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) commands: u64,
    /// Replies that were errors; Redis goes on as well.
    pub(crate) errors: u64,
    /// Length of the good part; the rest is torn.
    pub(crate) good: u64,
    pub(crate) len: u64,
    /// The offset of the first byte not covered by a checksum.
    pub(crate) uncovered_from: u64,
    /// The checksum of what is not covered.
    pub(crate) uncovered_crc: u32,
    /// How much of the file is known to be on the disk, if it carries such claims.
    pub(crate) claimed: Option<u64>,
}

struct LogReader<'a> {
    path: &'a Path,
    file: File,
    len: u64,
    buf: Vec<u8>,
    /// Offset in the file of the first byte in `buf`.
    start: u64,
    /// First byte of `buf` not yet understood.
    at: usize,
    batch_start: u64,
    crc: crc32fast::Hasher,
    marked: bool,
    /// The offset at which the open transaction began.
    multi_at: Option<u64>,
    /// The offset at which the last whole command or transaction ends.
    whole: u64,
    loaded: Loaded,
}

/// Runs every command of a file. A torn tail is allowed only in the last file.
pub(crate) fn load(
    inner: &mut LockedEngine,
    client: &mut Client,
    path: &Path,
    last: bool,
) -> Result<Loaded, LoadError> {
    let open = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (real_len, mut file) = open.map_err(|error| {
        LoadError::Files(format!("the log names {}, which cannot be read: {error}", path.display()))
    })?;
    // A machine that died may leave zeros where bytes were on their way.
    let len = if last { len_without_zeros(&mut file, real_len) } else { Ok(real_len) };
    let len = len.map_err(|error| unreadable(path, &error))?;
    client.db = 0;
    client.multi = None;
    let mut reader = LogReader {
        path,
        file,
        len,
        buf: Vec::with_capacity(READ),
        start: 0,
        at: 0,
        batch_start: 0,
        crc: fresh(0),
        marked: false,
        multi_at: None,
        whole: 0,
        loaded: Loaded { len: real_len, ..Loaded::default() },
    };
    let torn = match reader.walk(inner, client) {
        Err(damage) if last => return Err(reader.unless_unsynced(damage)),
        torn => torn?,
    };
    // A length that was changed can make the rest of a whole file look like one torn command.
    if torn && reader.ends_in_mark()? {
        let damage = reader.damaged("a command that swallows the checksum lines after it");
        return Err(if last { reader.unless_unsynced(damage) } else { damage });
    }
    reader.finish(client, last)
}

fn fresh(offset: u64) -> crc32fast::Hasher {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&offset.to_le_bytes());
    crc
}

impl LogReader<'_> {
    fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    fn damaged(&self, why: impl Into<String>) -> LoadError {
        LoadError::Damaged {
            file: self.path.to_path_buf(),
            offset: self.batch_start,
            why: why.into(),
        }
    }

    /// The grammar is broken. When no checksum of ours follows, a real server wrote this part, and
    /// every whole command before the broken one is good.
    fn broken(&mut self, why: String) -> LoadError {
        let checked = self.rest_has_mark().unwrap_or(true);
        let offset = if checked { self.batch_start } else { self.whole };
        LoadError::Damaged { file: self.path.to_path_buf(), offset, why }
    }

    fn rest_has_mark(&mut self) -> std::io::Result<bool> {
        let finder = memchr::memmem::Finder::new(b"\n#WK len=");
        let mut from = self.batch_start.saturating_sub(1);
        let mut block = Vec::new();
        loop {
            self.file.seek(SeekFrom::Start(from))?;
            block.clear();
            let read = Read::by_ref(&mut self.file).take(READ as u64).read_to_end(&mut block)?;
            if finder.find(&block).is_some_and(|at| from + at as u64 >= self.batch_start) {
                return Ok(true);
            }
            if read < READ {
                return Ok(false);
            }
            from += (READ - 16) as u64;
        }
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self, wanted: usize) -> Result<bool, LoadError> {
        self.buf.drain(..self.at);
        self.start += self.at as u64;
        self.at = 0;
        let before = self.buf.len();
        // Never more than the file has, whatever a length in it says.
        let left = usize::try_from(self.len - self.start).unwrap_or(usize::MAX) - before;
        let more = wanted.saturating_sub(before).max(READ).min(left);
        self.buf.resize(before + more, 0);
        self.file
            .read_exact(&mut self.buf[before..])
            .map_err(|error| unreadable(self.path, &error))?;
        Ok(more > 0)
    }

    /// Goes through the file; true when it ends inside something.
    fn walk(&mut self, inner: &mut LockedEngine, client: &mut Client) -> Result<bool, LoadError> {
        loop {
            if self.at == self.buf.len() && !self.fill(READ)? {
                return Ok(false);
            }
            let wanted = if self.buf[self.at] == b'#' {
                match self.annotation() {
                    Ok(wanted) => wanted,
                    Err(why) => return Err(self.damaged(why)),
                }
            } else {
                match self.command(inner, client) {
                    Ok(wanted) => wanted,
                    Err(why) => return Err(self.broken(why)),
                }
            };
            if let Some(wanted) = wanted
                && !self.fill(wanted)?
            {
                return Ok(true);
            }
        }
    }

    /// An annotation line. `Some` when more bytes are needed.
    fn annotation(&mut self) -> Result<Option<usize>, String> {
        let rest = &self.buf[self.at..];
        let Some(end) = memchr(b'\n', rest) else {
            return if rest.len() > LINE_MAX {
                Err("an endless annotation".into())
            } else {
                Ok(Some(rest.len() + 1))
            };
        };
        let line = rest[..end].strip_suffix(b"\r");
        let covered = self.offset() - self.batch_start;
        if rest.starts_with(CLAIM) {
            let synced = line.and_then(read_claim).filter(|synced| *synced <= self.offset());
            let synced = synced.ok_or("a claim that cannot be read")?;
            if covered > 0 {
                return Err("a claim inside a batch".into());
            }
            self.loaded.claimed = self.loaded.claimed.max(Some(synced));
            self.at += end + 1;
            self.whole = self.offset();
            self.marked = true;
            self.batch_start = self.offset();
            self.crc = fresh(self.batch_start);
        } else if rest.starts_with(MARK) {
            let (len, crc) =
                line.and_then(read_mark).ok_or("a checksum line that cannot be read")?;
            if len != covered {
                return Err(format!("a batch of {covered} bytes whose checksum line says {len}"));
            }
            if crc != self.crc.clone().finalize() {
                return Err("a batch that does not fit its checksum".into());
            }
            self.at += end + 1;
            self.whole = self.offset();
            self.marked = true;
            self.batch_start = self.offset();
            self.crc = fresh(self.batch_start);
        } else if self.marked && !rest.starts_with(b"#TS:") {
            return Err("an annotation that nobody writes".into());
        } else {
            self.crc.update(&self.buf[self.at..=self.at + end]);
            self.at += end + 1;
        }
        Ok(None)
    }

    /// One command, run. `Some` when more bytes are needed.
    fn command(
        &mut self,
        inner: &mut LockedEngine,
        client: &mut Client,
    ) -> Result<Option<usize>, String> {
        const BOUNDS: Bounds = Bounds { bulk_max: usize::MAX >> 2, args_max: usize::MAX >> 2 };
        if self.buf[self.at] != b'*' {
            let byte = self.buf[self.at];
            return Err(format!("a command starts with '*', here is byte {byte}"));
        }
        let mut space = Vec::new();
        let mut argv = Argv::new();
        let used = match resp::parse(&self.buf[self.at..], BOUNDS, &mut space, &mut argv) {
            Parsed::Call(used) => used,
            Parsed::More(wanted) => return Ok(Some(wanted)),
            Parsed::Broken(why) => return Err(why),
        };
        let offset = self.start + self.at as u64;
        if !ends_are_clean(&self.buf[self.at..self.at + used], &argv) {
            return Err("an argument that does not end where it says".into());
        }
        if argv.first().is_some_and(|name| name.eq_ignore_ascii_case(b"MULTI")) {
            self.multi_at = Some(offset);
        }
        inner.run(client, &argv);
        if client.multi.is_none() {
            self.multi_at = None;
        }
        self.loaded.commands += 1;
        if client.out.buf.starts_with(b"-") {
            self.loaded.errors += 1;
            if client.out.buf.starts_with(b"-ERR unknown command") {
                return Err("an unknown command".into());
            }
        }
        client.out.buf.clear();
        self.crc.update(&self.buf[self.at..self.at + used]);
        self.at += used;
        if self.multi_at.is_none() {
            self.whole = self.offset();
        }
        Ok(None)
    }

    fn finish(mut self, client: &mut Client, last: bool) -> Result<Loaded, LoadError> {
        let good = match self.multi_at {
            Some(multi_at) => multi_at,
            None => self.offset(),
        };
        client.multi = None;
        if good < self.len && !last {
            return Err(self.damaged("it ends inside a command, and it is not the last file"));
        }
        let mut loaded = self.loaded;
        loaded.good = good;
        loaded.uncovered_from = self.batch_start;
        loaded.uncovered_crc = if good == self.start + self.at as u64 {
            self.crc.finalize()
        } else {
            checksum_of(&mut self.file, self.batch_start, good)
                .map_err(|error| unreadable(self.path, &error))?
        };
        Ok(loaded)
    }

    fn ends_in_mark(&mut self) -> Result<bool, LoadError> {
        let mut tail = Vec::new();
        self.file
            .seek(SeekFrom::Start(self.len.saturating_sub(64)))
            .and_then(|_| self.file.read_to_end(&mut tail))
            .map_err(|error| unreadable(self.path, &error))?;
        let Some(tail) = tail.strip_suffix(b"\r\n") else { return Ok(false) };
        let line = tail.rsplit(|b| *b == b'\n').next().unwrap_or_default();
        Ok(read_mark(line).is_some())
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> LoadError {
    LoadError::Files(format!("cannot read {}: {error}", path.display()))
}

fn len_without_zeros(file: &mut File, len: u64) -> std::io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut end = len;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(last) = block.iter().rposition(|byte| *byte != 0) {
            end = start + last as u64 + 1;
            break;
        }
        end = start;
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(end)
}

fn checksum_of(file: &mut File, from: u64, to: u64) -> std::io::Result<u32> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(0)];
    file.read_exact(&mut bytes)?;
    Ok(crate::log::file::checksum(from, &bytes))
}

/// Redis skips the two bytes after an argument unseen; a flipped bit there is damage all the same.
fn ends_are_clean(call: &[u8], argv: &Argv<'_>) -> bool {
    let mut at = 0;
    argv.iter().all(|arg| {
        let begin = arg.as_ptr() as usize - call.as_ptr() as usize;
        let clean =
            begin >= at && call.get(begin + arg.len()..begin + arg.len() + 2) == Some(b"\r\n");
        at = begin + arg.len() + 2;
        clean
    })
}
