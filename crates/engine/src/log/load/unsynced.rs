//! Tells an end of the log that was never synced, which a loss of power may spoil, from damage in
//! the part that was promised to be on the disk.

use std::io::{Read, Seek as _, SeekFrom};

use memchr::memchr;

use super::{LoadError, LogReader, READ};
use crate::log::file::{CLAIM, claim_line, read_claim};

impl LogReader<'_> {
    /// Damage that lies wholly behind what was ever synced is the work of a machine that died.
    pub(super) fn unless_unsynced(&mut self, damage: LoadError) -> LoadError {
        match damage {
            LoadError::Damaged { file, why, .. }
                if self.loaded.claimed.is_some() && self.is_unsynced().unwrap_or(false) =>
            {
                LoadError::Unsynced { file, offset: self.batch_start, why }
            }
            other => other,
        }
    }

    /// Whether nothing from the batch that is read now was synced, as far as any claim behind it tells.
    fn is_unsynced(&mut self) -> std::io::Result<bool> {
        const LONGEST: usize = 64;
        if self.whole > self.batch_start && !self.rest_has_mark()? {
            // Commands that no checksum follows: a real server may have written and synced them.
            return Ok(false);
        }
        let own = claim_line(self.batch_start);
        let finder = memchr::memmem::Finder::new(CLAIM);
        let mut from = self.batch_start;
        let mut block = Vec::new();
        loop {
            self.file.seek(SeekFrom::Start(from))?;
            block.clear();
            let read = Read::by_ref(&mut self.file).take(READ as u64).read_to_end(&mut block)?;
            if from == self.batch_start && read == own.len() && nearly(&block, own.as_bytes()) {
                // The claim of a log that was closed properly, itself damaged.
                return Ok(false);
            }
            for at in finder.find_iter(&block) {
                let rest = &block[at..block.len().min(at + LONGEST)];
                let line = memchr(b'\r', rest).map_or(rest, |end| &rest[..end]);
                if read_claim(line).is_some_and(|synced| synced > self.batch_start) {
                    return Ok(false);
                }
            }
            if read < READ {
                return Ok(true);
            }
            from += (READ - LONGEST) as u64;
        }
    }
}

/// The same but for a few bytes.
fn nearly(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).filter(|(a, b)| a != b).count() <= 4
}
