//! A byte string of 24 bytes: up to 22 bytes live inside it, longer ones on the heap.
//! Equality, order and hash go by the bytes alone, never by how they are held.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Longest byte string held without an allocation.
pub const INLINE_MAX: usize = 22;

const EDITED: u8 = 0x80;

/// A byte string: inline when short, boxed when long, growable once it was appended to.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    /// The length, with a mark on top if the string was edited in place.
    Inline(u8, [u8; INLINE_MAX]),
    Heap(Box<[u8]>),
    // Boxed so that the whole stays 24 bytes; only strings that grow pay the second pointer.
    #[allow(clippy::box_collection)]
    Grow(Box<Vec<u8>>),
}

impl Text {
    /// Copies `bytes`.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() <= INLINE_MAX {
            let mut room = [0; INLINE_MAX];
            room[..bytes.len()].copy_from_slice(bytes);
            return Self(Repr::Inline(bytes.len() as u8, room));
        }
        Self(Repr::Heap(bytes.into()))
    }

    /// The decimal digits of `number`.
    pub fn from_i64(number: i64) -> Self {
        Self::new(itoa::Buffer::new().format(number).as_bytes())
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(len, room) => &room[..usize::from(*len & !EDITED)],
            Repr::Heap(bytes) => bytes,
            Repr::Grow(bytes) => bytes,
        }
    }

    /// How many bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Inline(len, _) => usize::from(*len & !EDITED),
            Repr::Heap(bytes) => bytes.len(),
            Repr::Grow(bytes) => bytes.len(),
        }
    }

    /// Adds `more` at the end; many appends cost time proportional to the bytes appended.
    pub fn append(&mut self, more: &[u8]) {
        let before = self.len();
        if let Repr::Inline(len, room) = &mut self.0
            && before + more.len() <= INLINE_MAX
        {
            room[before..before + more.len()].copy_from_slice(more);
            *len = (before + more.len()) as u8 | EDITED;
            return;
        }
        self.make_mut().extend_from_slice(more);
    }

    /// The bytes as a growable vector, for edits in place.
    pub fn make_mut(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0, Repr::Grow(_)) {
            let bytes = std::mem::take(self).into_vec();
            self.0 = Repr::Grow(Box::new(bytes));
        }
        match &mut self.0 {
            Repr::Grow(bytes) => bytes,
            _ => unreachable!("made growable above"),
        }
    }

    /// The bytes as a vector, without a copy when they were on the heap.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Inline(len, room) => room[..usize::from(len & !EDITED)].to_vec(),
            Repr::Heap(bytes) => bytes.into_vec(),
            Repr::Grow(bytes) => *bytes,
        }
    }

    /// Bytes of heap held, besides the 24 of the value itself.
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Inline(..) => 0,
            Repr::Heap(bytes) => bytes.len(),
            Repr::Grow(bytes) => bytes.capacity() + size_of::<Vec<u8>>(),
        }
    }

    /// Whether the string was ever edited in place, which Redis shows as encoding `raw`.
    pub fn is_edited(&self) -> bool {
        match self.0 {
            Repr::Inline(len, _) => len & EDITED != 0,
            Repr::Heap(_) => false,
            Repr::Grow(_) => true,
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Repr::Inline(0, [0; INLINE_MAX]))
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() <= INLINE_MAX {
            return Self::new(&bytes);
        }
        Self(Repr::Heap(bytes.into_boxed_slice()))
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl Deref for Text {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl PartialEq<[u8]> for Text {
    #[inline]
    fn eq(&self, other: &[u8]) -> bool {
        self.as_bytes() == other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_takes_24_bytes() {
        assert_eq!(size_of::<Text>(), 24);
        assert_eq!(size_of::<Option<Text>>(), 24);
    }

    #[test]
    fn twenty_two_bytes_need_no_heap_and_twenty_three_do() {
        assert_eq!(Text::new(&[7; 22]).heap_size(), 0);
        assert_eq!(Text::new(&[7; 23]).heap_size(), 23);
    }

    #[test]
    fn many_appends_do_not_copy_the_whole_each_time() {
        let mut text = Text::default();
        let mut moves = 0;
        let mut capacity = 0;
        for _ in 0..100_000 {
            text.append(b"x");
            if text.heap_size() != capacity {
                capacity = text.heap_size();
                moves += 1;
            }
        }
        assert_eq!(text.len(), 100_000);
        assert!(moves < 40, "{moves} reallocations");
    }

    proptest! {
        #[test]
        fn every_form_holds_and_compares_its_bytes(a: Vec<u8>, b: Vec<u8>) {
            let mut text = Text::new(&a);
            let boxed = Text::from(a.clone());
            prop_assert_eq!(&text, &boxed);
            prop_assert_eq!(text.cmp(&Text::new(&b)), a.cmp(&b));
            text.append(&b);
            let joined = [a.as_slice(), b.as_slice()].concat();
            prop_assert_eq!(text.as_bytes(), joined.as_slice());
            prop_assert_eq!(text.len(), joined.len());
            text.make_mut().push(1);
            prop_assert_eq!(text.len(), joined.len() + 1);
            prop_assert_eq!(boxed.into_vec(), a);
        }
    }
}
