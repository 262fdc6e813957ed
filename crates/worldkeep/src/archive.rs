//! The file of a backup: a head, chunks, and the SHA-256 of all of it. With a key every chunk is encrypted by
//! ChaCha20-Poly1305 under a key derived from it and from the file's salt; its number and whether it is the last are part of
//! the nonce, so that chunks can be neither exchanged nor left out.
//!
//! Inside the chunks stand records: what the backup is, the keys, the galaxy's database, and how many there were.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{Context, SHA256};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::copy::Entry;

const MAGIC: &[u8; 19] = b"worldkeep backup 1\n";
const HEAD: usize = MAGIC.len() + 1 + 16;
/// Bytes of a chunk before it is encrypted.
const CHUNK: usize = 256 * 1024;
/// Marks the last chunk in its length.
const LAST: u32 = 1 << 31;
const SUM: usize = 32;
/// A key shorter than this can be guessed.
const KEY_MIN: usize = 32;

/// A part of a backup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A description of the backup, as JSON; the first record.
    About(String),
    /// A key.
    Key(Entry),
    /// The next bytes of the galaxy's SQLite file.
    Database(Vec<u8>),
    /// The counts of keys and of bytes of the database; the last record.
    End {
        /// Keys.
        keys: u64,
        /// Bytes of the database.
        database: u64,
    },
}

/// The key of an encrypted backup.
pub(crate) struct BackupKey(Vec<u8>);

impl BackupKey {
    /// From its text; a short one is refused.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < KEY_MIN {
            return Err(format!(
                "the key has {} characters and needs {KEY_MIN}; make one with `openssl rand -hex 32`",
                text.len()
            ));
        }
        Ok(BackupKey(text.as_bytes().to_vec()))
    }

    fn seal(&self, salt: &[u8]) -> LessSafeKey {
        let secret = Salt::new(HKDF_SHA256, salt).extract(&self.0);
        let okm = secret.expand(&[b"worldkeep backup"], &CHACHA20_POLY1305);
        let okm = okm.expect("a key of this length can be derived");
        LessSafeKey::new(UnboundKey::from(okm))
    }
}

fn nonce(number: u64, last: bool) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[11] = u8::from(last);
    Nonce::assume_unique_for_key(bytes)
}

fn broken(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Writes a backup.
pub(crate) struct Writer<W: Write> {
    file: BufWriter<W>,
    sum: Context,
    key: Option<LessSafeKey>,
    chunk: Vec<u8>,
    number: u64,
}

impl<W: Write> Writer<W> {
    /// Begins one.
    pub(crate) fn new(file: W, key: Option<&BackupKey>) -> io::Result<Self> {
        let mut salt = [0; 16];
        SystemRandom::new().fill(&mut salt).map_err(|_| io::Error::other("no randomness"))?;
        let head = [&MAGIC[..], &[u8::from(key.is_some())], &salt].concat();
        let key = key.map(|key| key.seal(&salt));
        let (file, sum) = (BufWriter::new(file), Context::new(&SHA256));
        let mut new = Writer { file, sum, key, chunk: Vec::with_capacity(CHUNK), number: 0 };
        new.put(&head)?;
        Ok(new)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.file.write_all(bytes)
    }

    /// Adds a record.
    pub(crate) fn write(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::About(text) => {
                self.take(b"a")?;
                self.sized(text.as_bytes())
            }
            Record::Key(entry) => {
                self.take(b"k")?;
                self.take(&entry.expires_at.to_le_bytes())?;
                self.sized(&entry.key)?;
                self.sized(&entry.payload)
            }
            Record::Database(bytes) => {
                self.take(b"d")?;
                self.sized(bytes)
            }
            Record::End { keys, database } => {
                self.take(b"e")?;
                self.take(&keys.to_le_bytes())?;
                self.take(&database.to_le_bytes())
            }
        }
    }

    fn sized(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = u32::try_from(bytes.len()).map_err(|_| broken("a value is larger than 4 GiB"))?;
        self.take(&len.to_le_bytes())?;
        self.take(bytes)
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.chunk.len() == CHUNK {
                self.flush_chunk(false)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    fn flush_chunk(&mut self, last: bool) -> io::Result<()> {
        let mut chunk = std::mem::take(&mut self.chunk);
        if let Some(key) = &self.key {
            key.seal_in_place_append_tag(nonce(self.number, last), Aad::empty(), &mut chunk)
                .map_err(|_| io::Error::other("cannot encrypt"))?;
        }
        self.number += 1;
        let len = u32::try_from(chunk.len()).expect("a chunk is small");
        self.put(&(if last { len | LAST } else { len }).to_le_bytes())?;
        self.put(&chunk)?;
        chunk.clear();
        self.chunk = chunk;
        Ok(())
    }

    /// Ends it; gives the file and its SHA-256.
    pub(crate) fn finish(mut self) -> io::Result<(W, String)> {
        self.flush_chunk(true)?;
        let sum = self.sum.clone().finish();
        self.file.write_all(sum.as_ref())?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok((file, hex(sum.as_ref())))
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads a backup whose sum was looked at before.
pub(crate) struct Reader<R: Read> {
    file: R,
    key: Option<LessSafeKey>,
    chunk: Vec<u8>,
    at: usize,
    number: u64,
    over: bool,
}

/// Opens a file: its sum is compared first, so that nothing of a damaged one is used.
pub(crate) fn open(path: &Path, key: Option<&BackupKey>) -> io::Result<Reader<impl Read + use<>>> {
    let (file, kept, _) = compared(path)?;
    Reader::new(BufReader::with_capacity(1 << 16, file).take(kept), key)
}

/// Whether a file whose sum is right is encrypted, and that sum.
pub(crate) fn look(path: &Path) -> io::Result<(bool, String)> {
    let (mut file, _, sum) = compared(path)?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head)?;
    Ok((head[MAGIC.len()] == 1, sum))
}

/// The file at its beginning, the bytes before its sum, and the sum, which is right.
fn compared(path: &Path) -> io::Result<(std::fs::File, u64, String)> {
    let file = std::fs::File::open(path)?;
    let len = file.metadata()?.len();
    let kept = len.checked_sub(SUM as u64).filter(|kept| *kept >= HEAD as u64);
    let kept = kept.ok_or_else(|| broken("it is no backup, or its end is missing"))?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let (mut sum, mut space, mut left) = (Context::new(&SHA256), vec![0; 1 << 16], kept);
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(usize::MAX).min(space.len());
        file.read_exact(&mut space[..some])?;
        if left == kept && !space[..some].starts_with(MAGIC) {
            return Err(broken("it is no backup of worldkeep"));
        }
        sum.update(&space[..some]);
        left -= some as u64;
    }
    let mut told = [0; SUM];
    file.read_exact(&mut told)?;
    if sum.finish().as_ref() != told {
        return Err(broken("it is damaged: its checksum is not that of its bytes"));
    }
    let mut file = file.into_inner();
    io::Seek::rewind(&mut file)?;
    Ok((file, kept, hex(&told)))
}

impl<R: Read> Reader<R> {
    fn new(mut file: R, key: Option<&BackupKey>) -> io::Result<Self> {
        let mut head = [0; HEAD];
        file.read_exact(&mut head)?;
        let encrypted = head[MAGIC.len()] == 1;
        let key = match (encrypted, key) {
            (false, _) => None,
            (true, Some(key)) => Some(key.seal(&head[MAGIC.len() + 1..])),
            (true, None) => {
                return Err(broken("it is encrypted: name its key with --key-file FILE"));
            }
        };
        Ok(Reader { file, key, chunk: Vec::new(), at: 0, number: 0, over: false })
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        let mut len = [0; 4];
        self.file.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        let last = len & LAST != 0;
        let len = (len & !LAST) as usize;
        if len > CHUNK + CHACHA20_POLY1305.tag_len() {
            return Err(broken("it is damaged: a part is too long"));
        }
        self.chunk.resize(len, 0);
        self.file.read_exact(&mut self.chunk)?;
        if let Some(key) = &self.key {
            let opened = key.open_in_place(nonce(self.number, last), Aad::empty(), &mut self.chunk);
            let opened = opened.map_err(|_| broken("the key does not open it"))?.len();
            self.chunk.truncate(opened);
        }
        (self.at, self.over) = (0, last);
        self.number += 1;
        Ok(())
    }

    fn give(&mut self, mut count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while count > 0 {
            if self.at == self.chunk.len() {
                if self.over {
                    return Err(broken("it is damaged: it ends within a record"));
                }
                self.next_chunk()?;
                continue;
            }
            let some = count.min(self.chunk.len() - self.at);
            bytes.extend_from_slice(&self.chunk[self.at..self.at + some]);
            self.at += some;
            count -= some;
        }
        Ok(bytes)
    }

    fn number(&mut self) -> io::Result<u64> {
        let bytes = self.give(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn sized(&mut self) -> io::Result<Vec<u8>> {
        let len = u32::from_le_bytes(self.give(4)?.try_into().expect("four bytes"));
        self.give(len as usize)
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> io::Result<Record> {
        match self.give(1)?[0] {
            b'a' => {
                let text = String::from_utf8(self.sized()?);
                text.map(Record::About).map_err(|_| broken("it is damaged: its first record"))
            }
            b'k' => {
                let expires_at = self.number()?;
                let (key, payload) = (self.sized()?, self.sized()?);
                Ok(Record::Key(Entry { key, expires_at, payload }))
            }
            b'd' => self.sized().map(Record::Database),
            b'e' => Ok(Record::End { keys: self.number()?, database: self.number()? }),
            _ => Err(broken("it is damaged, or of a newer version: a record is unknown")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let entry = |key: &str, len: usize| {
            Record::Key(Entry { key: key.into(), expires_at: 7, payload: vec![b'x'; len] })
        };
        vec![
            Record::About("{}".into()),
            entry("a", 0),
            entry("b", 3 * CHUNK + 5),
            Record::Database(vec![1, 2, 3]),
            Record::End { keys: 2, database: 3 },
        ]
    }

    fn written(key: Option<&BackupKey>) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), key).unwrap();
        for record in &records() {
            writer.write(record).unwrap();
        }
        writer.finish().unwrap().0
    }

    fn read(bytes: &[u8], key: Option<&BackupKey>) -> io::Result<Vec<Record>> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), bytes).unwrap();
        let mut reader = open(&dir.path().join("f"), key)?;
        let mut all = Vec::new();
        loop {
            all.push(reader.next()?);
            if matches!(all.last(), Some(Record::End { .. })) {
                return Ok(all);
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let key = BackupKey::new(&"k".repeat(32)).unwrap();
        for key in [None, Some(&key)] {
            assert_eq!(read(&written(key), key).unwrap(), records());
        }
        assert!(BackupKey::new("short").is_err());
    }

    #[test]
    fn damage_and_wrong_keys_are_told() {
        let key = BackupKey::new(&"k".repeat(32)).unwrap();
        let other = BackupKey::new(&"o".repeat(32)).unwrap();
        let sealed = written(Some(&key));
        let told = |bytes: &[u8], key| read(bytes, key).unwrap_err().to_string();
        assert!(told(&sealed, Some(&other)).contains("the key does not open it"));
        assert!(told(&sealed, None).contains("it is encrypted"));
        assert!(told(b"hello", None).contains("no backup"));
        let plain = written(None);
        for at in (0..plain.len()).step_by(plain.len() / 50) {
            let mut bad = plain.clone();
            bad[at] ^= 1;
            let why = told(&bad, None);
            assert!(why.contains("damaged") || why.contains("no backup"), "{at}: {why}");
        }
        for cut in [1, SUM, plain.len() / 2, plain.len() - 1] {
            let why = told(&plain[..plain.len() - cut], None);
            assert!(why.contains("damaged") || why.contains("missing"), "{cut}: {why}");
        }
    }

    #[test]
    fn chunks_cannot_change_places() {
        // With a sum made right again, as somebody would who wants to deceive: only the encryption holds.
        let key = BackupKey::new(&"k".repeat(32)).unwrap();
        let sealed = written(Some(&key));
        let chunk = 4 + CHUNK + CHACHA20_POLY1305.tag_len();
        let mut bad = sealed.clone();
        bad[HEAD..HEAD + 2 * chunk].rotate_left(chunk);
        let end = bad.len() - SUM;
        let sum = ring::digest::digest(&SHA256, &bad[..end]);
        bad[end..].copy_from_slice(sum.as_ref());
        let why = read(&bad, Some(&key)).unwrap_err().to_string();
        assert!(why.contains("the key does not open it"), "{why}");
    }
}
