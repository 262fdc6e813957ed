//! A run of list elements in one byte string, readable from both ends.
//! Each element is its length, its bytes, and its length mirrored; `start` skips room at the front.

use super::packed;

/// Most bytes of a chunk; an element larger than that has a chunk to itself.
pub(super) const CHUNK_MAX: usize = 8 * 1024;

#[derive(Clone, Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    start: u32,
    len: u32,
}

/// Bytes that an element takes.
fn size_of_element(element: &[u8]) -> usize {
    element.len() + 2 * packed::width(element.len())
}

fn write(out: &mut Vec<u8>, element: &[u8]) {
    packed::put_bytes(out, element);
    let from = out.len();
    packed::put(out, element.len());
    out[from..].reverse();
}

impl Chunk {
    pub(super) fn of(element: &[u8]) -> Self {
        let mut chunk = Self::default();
        chunk.push_back(element);
        chunk
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn first(&self) -> usize {
        self.start as usize
    }

    pub(super) fn end(&self) -> usize {
        self.bytes.len()
    }

    fn live(&self) -> usize {
        self.end() - self.first()
    }

    pub(super) fn has_room(&self, element: &[u8]) -> bool {
        self.len == 0 || self.live() + size_of_element(element) <= CHUNK_MAX
    }

    /// Whether both together are small enough to be one.
    pub(super) fn fits_with(&self, other: &Self) -> bool {
        self.live() + other.live() <= CHUNK_MAX / 2
    }

    /// The element at a byte offset, and the offset of the next.
    #[inline]
    pub(super) fn element(&self, at: usize) -> (&[u8], usize) {
        let (element, end) = packed::get_bytes(&self.bytes, at);
        (element, end + packed::width(element.len()))
    }

    /// The element that ends at a byte offset, and where it starts.
    pub(super) fn element_before(&self, end: usize) -> (&[u8], usize) {
        let (mut len, mut shift, mut at) = (0, 0, end);
        loop {
            at -= 1;
            let byte = self.bytes[at];
            len |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        (&self.bytes[at - len..at], at - len - packed::width(len))
    }

    /// The byte offset of an element; the end for one past the last.
    pub(super) fn offset(&self, index: usize) -> usize {
        if index <= self.len() / 2 {
            (0..index).fold(self.first(), |at, _| self.element(at).1)
        } else {
            (index..self.len()).fold(self.end(), |at, _| self.element_before(at).1)
        }
    }

    pub(super) fn push_back(&mut self, element: &[u8]) {
        let size = size_of_element(element);
        if self.end() + size > self.bytes.capacity() {
            if self.first() > self.live() / 2 {
                self.close_gap();
            }
            let live = self.end();
            if live + size > self.bytes.capacity() {
                self.bytes.reserve_exact((live / 2).max(size).max(16));
            }
        }
        write(&mut self.bytes, element);
        self.len += 1;
    }

    pub(super) fn push_front(&mut self, element: &[u8]) {
        let size = size_of_element(element);
        if self.first() < size {
            // Room for half as much again, so that many pushes copy each byte a few times at most.
            let gap = size.max((self.live() / 2).min(CHUNK_MAX / 2));
            let mut bytes = Vec::with_capacity(gap + self.live());
            bytes.resize(gap, 0);
            bytes.extend_from_slice(&self.bytes[self.first()..]);
            self.bytes = bytes;
            self.start = gap as u32;
        }
        let at = self.first() - size;
        self.put_at(at, element);
        self.start = at as u32;
        self.len += 1;
    }

    /// Spells an element over bytes that are there.
    fn put_at(&mut self, at: usize, element: &[u8]) {
        let mut len = element.len();
        let width = packed::width(len);
        let end = at + 2 * width + len - 1;
        for step in 0..width {
            let more = if step + 1 < width { 0x80 } else { 0 };
            self.bytes[at + step] = (len & 0x7f) as u8 | more;
            self.bytes[end - step] = (len & 0x7f) as u8 | more;
            len >>= 7;
        }
        self.bytes[at + width..at + width + element.len()].copy_from_slice(element);
    }

    fn close_gap(&mut self) {
        self.bytes.drain(..self.first());
        self.start = 0;
    }

    /// Gives back unused room; called when pushes go on in another chunk.
    pub(super) fn pack(&mut self) {
        self.close_gap();
        self.bytes.shrink_to_fit();
    }

    /// Removes the first `count` elements.
    pub(super) fn drop_front(&mut self, count: usize) {
        self.start = self.offset(count) as u32;
        self.len -= count as u32;
    }

    /// Removes the last `count` elements.
    pub(super) fn drop_back(&mut self, count: usize) {
        let end = self.offset(self.len() - count);
        self.bytes.truncate(end);
        self.len -= count as u32;
    }

    pub(super) fn insert(&mut self, index: usize, element: &[u8]) {
        let at = self.offset(index);
        let mut spelled = Vec::with_capacity(size_of_element(element));
        write(&mut spelled, element);
        self.bytes.splice(at..at, spelled);
        self.len += 1;
    }

    /// Overwrites an element, unless the chunk would grow too large.
    pub(super) fn set(&mut self, index: usize, element: &[u8]) -> bool {
        let at = self.offset(index);
        let (old, end) = self.element(at);
        if old.len() == element.len() {
            self.put_at(at, element);
            return true;
        }
        if self.len > 1 && self.live() - (end - at) + size_of_element(element) > CHUNK_MAX {
            return false;
        }
        let mut spelled = Vec::with_capacity(size_of_element(element));
        write(&mut spelled, element);
        self.bytes.splice(at..end, spelled);
        true
    }

    pub(super) fn remove(&mut self, index: usize) {
        let at = self.offset(index);
        let end = self.element(at).1;
        self.bytes.drain(at..end);
        self.len -= 1;
    }

    /// Cuts the elements from `index` on off into a chunk of their own.
    pub(super) fn split(&mut self, index: usize) -> Self {
        let at = self.offset(index);
        let len = self.len - index as u32;
        self.len = index as u32;
        Self { bytes: self.bytes.split_off(at), start: 0, len }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes[other.first()..]);
        self.len += other.len;
    }

    pub(super) fn count(&self, value: &[u8]) -> usize {
        let mut at = self.first();
        let mut found = 0;
        while at < self.end() {
            let (element, next) = self.element(at);
            found += usize::from(element == value);
            at = next;
        }
        found
    }

    /// Removes the elements equal to `value`, but for the first `skip`, at most `max`.
    pub(super) fn remove_equal(&mut self, value: &[u8], skip: usize, max: usize) {
        let mut kept = Vec::with_capacity(self.live());
        let (mut at, mut seen) = (self.first(), 0);
        let mut gone = 0;
        while at < self.end() {
            let (element, next) = self.element(at);
            let is_equal = element == value;
            if is_equal && seen >= skip && gone < max {
                gone += 1;
            } else {
                kept.extend_from_slice(&self.bytes[at..next]);
            }
            seen += usize::from(is_equal);
            at = next;
        }
        *self = Self { bytes: kept, start: 0, len: self.len - gone as u32 };
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
