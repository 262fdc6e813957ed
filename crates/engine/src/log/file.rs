//! One file of the log. Each batch of commands is closed by a line that Redis skips as an annotation,
//! `#WK len=<bytes> crc=<hex>`, where the checksum covers the batch's place in the file and its bytes: a flipped bit, a
//! lost, repeated or moved block is found on load. A line `#WK synced=<bytes> crc=<hex>` between batches claims that so
//! much of the file is on the disk; a file that has one at its head has them throughout.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use crate::log::sync::Extent;

/// Starts every checksum line of ours.
pub(crate) const MARK: &[u8] = b"#WK ";
/// Starts a claim.
pub(crate) const CLAIM: &[u8] = b"#WK synced=";

/// The operations that an append needs of a file; tests give one that fails.
pub(crate) trait Disk: Send + Sync + std::fmt::Debug {
    /// Writes all of it at the end of the file.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the file that long.
    fn cut(&self, len: u64) -> io::Result<()>;
    /// Returns once everything is on the disk.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn cut(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file that is being appended to.
#[derive(Debug)]
pub(crate) struct LogFile {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) len: u64,
    pub(crate) extent: Arc<Extent>,
    /// The last claim; none in a file that carries no claims.
    pub(crate) claimed: Option<u64>,
    batch: Vec<u8>,
    /// Half a batch may stand behind `len`: cut it before the next one.
    torn: bool,
}

impl LogFile {
    /// Opens a file to append to; made when there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        let len = file.metadata()?.len();
        Ok(Self::on(Arc::new(file), len))
    }

    pub(crate) fn on(disk: Arc<dyn Disk>, len: u64) -> Self {
        let extent = Arc::new(Extent::default());
        extent.wrote(len);
        LogFile { disk, len, extent, claimed: None, batch: Vec::new(), torn: false }
    }

    /// Appends whole commands and their checksum, all or nothing.
    pub(crate) fn append(&mut self, commands: &[u8]) -> io::Result<()> {
        self.batch.clear();
        self.batch.extend_from_slice(commands);
        write_mark(&mut self.batch, self.len, commands);
        self.append_batch()
    }

    fn append_batch(&mut self) -> io::Result<()> {
        if self.torn {
            self.disk.cut(self.len)?;
            self.torn = false;
        }
        if let Err(error) = self.disk.append(&self.batch) {
            // The part that was written must go, or the next batch would follow half a command.
            self.torn = self.disk.cut(self.len).is_err();
            return Err(error);
        }
        self.len += self.batch.len() as u64;
        self.extent.wrote(self.len);
        if self.batch.capacity() > 1 << 20 {
            self.batch = Vec::new();
        }
        Ok(())
    }

    /// Everything written so far is on the disk when this returns.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.extent.sync(&*self.disk)
    }

    /// A file that is empty will carry claims: the first one is on the disk before any batch.
    pub(crate) fn begin_claims(&mut self) -> io::Result<()> {
        if self.len == 0 {
            self.batch.clear();
            self.batch.extend_from_slice(claim_line(0).as_bytes());
            self.append_batch()?;
        }
        self.sync()?;
        self.claimed.get_or_insert(0);
        Ok(())
    }

    /// Claims what has been synced since the last claim.
    pub(crate) fn claim(&mut self) -> io::Result<()> {
        let synced = self.extent.synced();
        if self.claimed.is_some_and(|claimed| claimed < synced) {
            self.batch.clear();
            self.batch.extend_from_slice(claim_line(synced).as_bytes());
            self.append_batch()?;
            self.claimed = Some(synced);
        }
        Ok(())
    }
}

/// The line that claims that so many bytes of the file are on the disk.
pub(crate) fn claim_line(synced: u64) -> String {
    format!("#WK synced={synced} crc={:08x}\r\n", checksum(synced, CLAIM))
}

/// Bytes claimed by a line of ours, without its line end.
pub(crate) fn read_claim(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line.strip_prefix(CLAIM)?).ok()?;
    let synced = text.split(' ').next()?.parse().ok()?;
    claim_line(synced).strip_suffix("\r\n").is_some_and(|l| l.as_bytes() == line).then_some(synced)
}

/// The checksum of a batch at a place in its file.
pub(crate) fn checksum(offset: u64, batch: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&offset.to_le_bytes());
    crc.update(batch);
    crc.finalize()
}

fn write_mark(buf: &mut Vec<u8>, offset: u64, batch: &[u8]) {
    let crc = checksum(offset, batch);
    write!(buf, "#WK len={} crc={crc:08x}\r\n", batch.len()).expect("a vector takes all");
}

/// Length and checksum told by a line of ours, without its line end.
pub(crate) fn read_mark(line: &[u8]) -> Option<(u64, u32)> {
    let text = std::str::from_utf8(line).ok()?.strip_prefix("#WK len=")?;
    let (len, crc) = text.split_once(" crc=")?;
    let exact =
        crc.len() == 8 && crc.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    exact.then_some(())?;
    Some((len.parse().ok()?, u32::from_str_radix(crc, 16).ok()?))
}
