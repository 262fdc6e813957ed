//! The request side of RESP: commands out of a byte buffer, as slices of it. Lengths are only believed as
//! far as bytes have arrived, so a client cannot make the server allocate by announcing.

use memchr::memchr;
use smallvec::SmallVec;

use crate::data::num;

/// The arguments of one call, borrowed from the buffer.
pub(crate) type Argv<'a> = SmallVec<[&'a [u8]; 16]>;

/// The content at the front of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A whole call of that many bytes; its arguments are in the vector given. May be empty.
    Call(usize),
    /// More bytes are needed: at least this many in all, when that is known.
    More(usize),
    /// The client does not speak RESP: answer with this and close.
    Broken(String),
}

/// The limits of what a client may send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) bulk_max: usize,
    pub(crate) args_max: usize,
}

impl Bounds {
    /// Before login a client can say little.
    pub(crate) const STRANGER: Bounds = Bounds { bulk_max: 16 * 1024, args_max: 10 };
    /// Bounds for places where the configuration cannot be looked at.
    pub(crate) const WIDE: Bounds = Bounds { bulk_max: 512 << 20, args_max: 1 << 20 };
}

const INLINE_MAX: usize = 64 * 1024;
/// The bytes of an empty argument. A parser that waits for that many per argument still to come
/// parses a long call a few times, not once per packet.
const LEAST: usize = 6;

/// Parses the call at the front of `buf`.
pub(crate) fn parse<'a>(
    buf: &'a [u8],
    bounds: Bounds,
    inline_space: &'a mut Vec<Vec<u8>>,
    argv: &mut Argv<'a>,
) -> Parsed {
    argv.clear();
    match buf.first() {
        None => Parsed::More(1),
        Some(b'*') => multibulk(buf, bounds, argv),
        Some(_) => inline(buf, inline_space, argv),
    }
}

/// A line ended by CRLF, from `at`; the position after it.
fn line(buf: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let end = at + memchr(b'\r', &buf[at..])?;
    (buf.len() > end + 1).then(|| (&buf[at..end], end + 2))
}

fn multibulk<'a>(buf: &'a [u8], bounds: Bounds, argv: &mut Argv<'a>) -> Parsed {
    let Some((head, mut at)) = line(buf, 1) else {
        return if buf.len() > INLINE_MAX {
            Parsed::Broken("too big mbulk count string".into())
        } else {
            Parsed::More(buf.len() + 1)
        };
    };
    let count = match num::parse_i64(head) {
        Some(n) if n <= i64::from(i32::MAX) => n,
        _ => return Parsed::Broken("invalid multibulk length".into()),
    };
    let Ok(count) = usize::try_from(count) else { return Parsed::Call(at) };
    if count > bounds.args_max {
        let stranger = bounds.args_max <= Bounds::STRANGER.args_max;
        let text =
            if stranger { "unauthenticated multibulk length" } else { "invalid multibulk length" };
        return Parsed::Broken(text.into());
    }
    for left in (0..count).rev() {
        match buf.get(at) {
            None => return Parsed::More(at + LEAST * (left + 1)),
            Some(b'$') => {}
            Some(other) => {
                return Parsed::Broken(format!("expected '$', got '{}'", char::from(*other)));
            }
        }
        let Some((head, start)) = line(buf, at + 1) else {
            return if buf.len() - at > INLINE_MAX {
                Parsed::Broken("too big bulk count string".into())
            } else {
                Parsed::More((at + LEAST * (left + 1)).max(buf.len() + 1))
            };
        };
        let len = match num::parse_i64(head).and_then(|n| usize::try_from(n).ok()) {
            Some(len) if len <= bounds.bulk_max => len,
            Some(_) if bounds.args_max <= Bounds::STRANGER.args_max => {
                return Parsed::Broken("unauthenticated bulk length".into());
            }
            _ => return Parsed::Broken("invalid bulk length".into()),
        };
        if buf.len() < start + len + 2 {
            return Parsed::More(start + len + 2 + left * LEAST);
        }
        argv.push(&buf[start..start + len]);
        at = start + len + 2;
    }
    Parsed::Call(at)
}

fn inline<'a>(buf: &'a [u8], space: &'a mut Vec<Vec<u8>>, argv: &mut Argv<'a>) -> Parsed {
    let Some(end) = memchr(b'\n', buf) else {
        return if buf.len() > INLINE_MAX {
            Parsed::Broken("too big inline request".into())
        } else {
            Parsed::More(buf.len() + 1)
        };
    };
    let text = buf[..end].strip_suffix(b"\r").unwrap_or(&buf[..end]);
    match split_words(text) {
        Some(words) => {
            *space = words;
            argv.extend(space.iter().map(Vec::as_slice));
            Parsed::Call(end + 1)
        }
        None => Parsed::Broken("unbalanced quotes in request".into()),
    }
}

/// Words of a line, with the quoting of `redis-cli`. `None` when quotes do not close.
pub(crate) fn split_words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        while let Some((first, tail)) = rest.split_first()
            && is_space(*first)
        {
            rest = tail;
        }
        if rest.is_empty() {
            return Some(words);
        }
        let (word, tail) = one_word(rest)?;
        words.push(word);
        rest = tail;
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'\x0b' | b'\x0c' | 0)
}

fn one_word(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = double_quoted(text, at + 1, &mut word)?;
                return closed(text, at).map(|rest| (word, rest));
            }
            b'\'' => {
                at = single_quoted(text, at + 1, &mut word)?;
                return closed(text, at).map(|rest| (word, rest));
            }
            byte if is_space(byte) => break,
            byte => word.push(byte),
        }
        at += 1;
    }
    Some((word, &text[at..]))
}

/// After a closing quote only a space or the end may follow.
fn closed(text: &[u8], at: usize) -> Option<&[u8]> {
    match text.get(at) {
        None => Some(&[]),
        Some(byte) if is_space(*byte) => Some(&text[at..]),
        Some(_) => None,
    }
}

fn double_quoted(text: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => {
                let next = *text.get(at + 1)?;
                if next == b'x'
                    && let Some(byte) = hex_pair(text.get(at + 2..at + 4))
                {
                    word.push(byte);
                    at += 4;
                    continue;
                }
                word.push(match next {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => other,
                });
                at += 2;
            }
            byte => {
                word.push(byte);
                at += 1;
            }
        }
    }
}

fn single_quoted(text: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        match *text.get(at)? {
            b'\'' => return Some(at + 1),
            b'\\' if text.get(at + 1) == Some(&b'\'') => {
                word.push(b'\'');
                at += 2;
            }
            byte => {
                word.push(byte);
                at += 1;
            }
        }
    }
}

fn hex_pair(pair: Option<&[u8]>) -> Option<u8> {
    let text = std::str::from_utf8(pair?).ok()?;
    u8::from_str_radix(text, 16).ok()
}
