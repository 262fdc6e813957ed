//! Commands packed as the bytes in which they travel, for writes of thousands. A number is spelled
//! straight into the buffer that is sent, with no list of words between.
//!
//! Always true: the bytes are whole RESP commands, and their number is the one counted.

use redis::Cmd;
use smallvec::SmallVec;

/// The words of one command.
pub type Words<'a> = SmallVec<[&'a [u8]; 16]>;

/// Commands, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    bytes: Vec<u8>,
    count: usize,
}

impl Packed {
    /// How many commands there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes that are sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same, for good.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Forgets the commands and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Makes room for so many bytes more.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Adds a command.
    pub fn push(&mut self, cmd: &Cmd) {
        cmd.write_packed_command(&mut self.bytes);
        self.count += 1;
    }

    /// Begins a command of exactly so many words.
    pub fn command(&mut self, words: usize) -> Command<'_> {
        head(&mut self.bytes, b'*', words);
        self.count += 1;
        Command { bytes: &mut self.bytes, left: words }
    }

    /// The words of each command.
    pub fn words(&self) -> impl Iterator<Item = Words<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let count = if rest.is_empty() { return None } else { number(&mut rest) };
            let word = |_| {
                let length = number(&mut rest);
                let (word, after) = rest.split_at(length);
                rest = &after[2..];
                word
            };
            Some((0..count).map(word).collect())
        })
    }

    /// The same as commands.
    pub fn cmds(&self) -> Vec<Cmd> {
        let cmd = |words: Words<'_>| {
            let size = words.iter().map(|word| word.len()).sum();
            let mut cmd = Cmd::with_capacity(words.len(), size);
            for word in words {
                cmd.arg(word);
            }
            cmd
        };
        self.words().map(cmd).collect()
    }
}

impl<'a> FromIterator<&'a Cmd> for Packed {
    fn from_iter<I: IntoIterator<Item = &'a Cmd>>(cmds: I) -> Self {
        let mut packed = Packed::default();
        cmds.into_iter().for_each(|cmd| packed.push(cmd));
        packed
    }
}

/// A command in the making; it must get every word that was announced.
pub struct Command<'a> {
    bytes: &'a mut Vec<u8>,
    left: usize,
}

impl Command<'_> {
    /// The next word.
    pub fn word(&mut self, word: impl AsRef<[u8]>) -> &mut Self {
        let word = word.as_ref();
        self.left = self.left.checked_sub(1).expect("no more words than were announced");
        head(self.bytes, b'$', word.len());
        self.bytes.extend_from_slice(word);
        self.bytes.extend_from_slice(b"\r\n");
        self
    }
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.left, 0, "as many words as were announced");
        }
    }
}

fn head(bytes: &mut Vec<u8>, mark: u8, number: usize) {
    let mut text = [0; 24];
    let mut at = text.len() - 2;
    text[at..].copy_from_slice(b"\r\n");
    let mut rest = number;
    loop {
        at -= 1;
        #[expect(clippy::cast_possible_truncation, reason = "one digit")]
        let digit = (rest % 10) as u8;
        text[at] = b'0' + digit;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    at -= 1;
    text[at] = mark;
    bytes.extend_from_slice(&text[at..]);
}

/// Reads `*12\r\n` or `$12\r\n` from the front of what was written here.
fn number(rest: &mut &[u8]) -> usize {
    let end = rest.iter().position(|byte| *byte == b'\r').expect("whole commands");
    let value = rest[1..end].iter().fold(0, |value, digit| value * 10 + usize::from(digit - b'0'));
    *rest = &rest[end + 2..];
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_bytes_that_the_client_would_send() {
        let mut set = Cmd::new();
        set.arg("SET").arg("key").arg(&b"\r\n\0"[..]);
        let mut long = Cmd::new();
        long.arg("RPUSH").arg("").arg("x".repeat(1_234));
        for n in 0..20 {
            long.arg(n);
        }
        let mut packed: Packed = [&set, &long].into_iter().collect();
        packed.command(3).word("SET").word("key").word(b"\r\n\0");
        assert_eq!(packed.len(), 3);
        let mut bytes = set.get_packed_command();
        bytes.extend(long.get_packed_command());
        bytes.extend(set.get_packed_command());
        assert_eq!(packed.bytes(), bytes);
        let again: Vec<_> = packed.cmds().iter().map(Cmd::get_packed_command).collect();
        assert_eq!(again.concat(), bytes);
        assert_eq!(again.len(), 3);
        packed.clear();
        assert!(packed.is_empty() && packed.words().next().is_none());
    }

    #[test]
    #[should_panic(expected = "as many words as were announced")]
    fn a_command_without_all_its_words_is_a_bug() {
        Packed::default().command(3).word("GET").word("key");
    }
}
