//! The small form of a sorted set: pairs of score and member, packed in order in one run of bytes.

use super::super::packed;
use super::{Outcome, compare};

/// The pairs of a packed set, in order.
pub(super) struct Pairs<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let score = self.bytes[self.at..].first_chunk()?;
        let (member, at) = packed::get_bytes(self.bytes, self.at + 8);
        self.at = at;
        Some((member, f64::from_le_bytes(*score)))
    }
}

/// The start and the end of a member's pair, and its score.
pub(super) fn locate(bytes: &[u8], member: &[u8]) -> Option<(usize, usize, f64)> {
    let mut pairs = Pairs { bytes, at: 0 };
    loop {
        let start = pairs.at;
        let (name, score) = pairs.next()?;
        if packed::is(name, member) {
            return Some((start, pairs.at, score));
        }
    }
}

/// Puts a pair in its place, after taking out what `found` names.
pub(super) fn insert_packed(
    bytes: &mut Vec<u8>,
    found: Option<(usize, usize, f64)>,
    member: &[u8],
    score: f64,
) -> Outcome {
    let mut outcome = Outcome::Added;
    if let Some((start, end, old)) = found {
        if old == score {
            return Outcome::Same;
        }
        bytes.drain(start..end);
        outcome = Outcome::Updated;
    }
    // The small form of Redis holds whole numbers as integers, which loses the sign of -0.
    let score = score + 0.0;
    let mut pairs = Pairs { bytes, at: 0 };
    let start = loop {
        let at = pairs.at;
        match pairs.next() {
            Some((name, held)) if compare(held, name, score, member).is_lt() => {}
            _ => break at,
        }
    };
    let mut pair = Vec::with_capacity(8 + packed::width(member.len()) + member.len());
    pair.extend_from_slice(&score.to_le_bytes());
    packed::put_bytes(&mut pair, member);
    packed::reserve_lean(bytes, pair.len());
    bytes.splice(start..start, pair);
    outcome
}
