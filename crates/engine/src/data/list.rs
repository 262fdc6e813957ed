//! A list: elements packed into chunks of a few kilobytes, chunks in a double-ended queue.
//! Both ends are quick, the middle costs a walk over the chunks. No chunk is empty.

use super::Text;
use super::chunk::Chunk;
use std::collections::VecDeque;
use std::ops::Range;

/// The elements of one key.
#[derive(Clone, Default)]
pub struct List {
    chunks: VecDeque<Chunk>,
    len: usize,
}

impl List {
    /// An empty list; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an element at the end.
    pub fn push_back(&mut self, element: &[u8]) {
        self.len += 1;
        if let Some(last) = self.chunks.back_mut() {
            if last.has_room(element) {
                return last.push_back(element);
            }
            last.pack();
        }
        self.add_chunk(self.chunks.len(), Chunk::of(element));
    }

    /// Adds an element at the front.
    pub fn push_front(&mut self, element: &[u8]) {
        self.len += 1;
        if let Some(first) = self.chunks.front_mut() {
            if first.has_room(element) {
                return first.push_front(element);
            }
            first.pack();
        }
        self.add_chunk(0, Chunk::of(element));
    }

    fn add_chunk(&mut self, at: usize, chunk: Chunk) {
        if self.chunks.capacity() == 0 {
            // Most lists need one chunk; the queue would start with four.
            self.chunks.reserve_exact(1);
        }
        self.chunks.insert(at, chunk);
    }

    /// Takes the first element.
    pub fn pop_front(&mut self) -> Option<Text> {
        let chunk = self.chunks.front_mut()?;
        let element = Text::new(chunk.element(chunk.first()).0);
        chunk.drop_front(1);
        self.after_pop(0);
        Some(element)
    }

    /// Takes the last element.
    pub fn pop_back(&mut self) -> Option<Text> {
        let chunk = self.chunks.back_mut()?;
        let element = Text::new(chunk.element_before(chunk.end()).0);
        chunk.drop_back(1);
        self.after_pop(self.chunks.len() - 1);
        Some(element)
    }

    fn after_pop(&mut self, chunk: usize) {
        self.len -= 1;
        if self.chunks[chunk].len() == 0 {
            self.chunks.remove(chunk);
        }
    }

    /// The chunk of an element and its index there.
    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        if index >= self.len {
            return None;
        }
        if index <= self.len / 2 {
            let mut left = index;
            for (at, chunk) in self.chunks.iter().enumerate() {
                if left < chunk.len() {
                    return Some((at, left));
                }
                left -= chunk.len();
            }
        } else {
            let mut left = self.len - index;
            for (at, chunk) in self.chunks.iter().enumerate().rev() {
                if left <= chunk.len() {
                    return Some((at, chunk.len() - left));
                }
                left -= chunk.len();
            }
        }
        None
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (at, inner) = self.locate(index)?;
        let chunk = &self.chunks[at];
        Some(chunk.element(chunk.offset(inner)).0)
    }

    /// Replaces the element at `index`; says whether there is one.
    pub fn set(&mut self, index: usize, element: &[u8]) -> bool {
        let Some((at, inner)) = self.locate(index) else { return false };
        if !self.chunks[at].set(inner, element) {
            self.remove(index);
            self.insert(index, element);
        }
        true
    }

    /// Inserts an element before the one at `index`; at the end if there is none.
    pub fn insert(&mut self, index: usize, element: &[u8]) {
        if index == 0 {
            return self.push_front(element);
        }
        let Some((at, inner)) = self.locate(index) else { return self.push_back(element) };
        self.len += 1;
        let chunk = &mut self.chunks[at];
        if chunk.has_room(element) {
            return chunk.insert(inner, element);
        }
        if inner > 0 {
            let upper = chunk.split(inner);
            self.add_chunk(at + 1, upper);
        }
        // The gap lies before chunk `gap` now; use the room on either side of it.
        let gap = at + usize::from(inner > 0);
        if gap > 0 && self.chunks[gap - 1].has_room(element) {
            self.chunks[gap - 1].push_back(element);
        } else if self.chunks[gap].has_room(element) {
            self.chunks[gap].push_front(element);
        } else {
            self.add_chunk(gap, Chunk::of(element));
        }
    }

    /// Inserts before the first element equal to `pivot`; says whether there is one.
    pub fn insert_before(&mut self, pivot: &[u8], element: &[u8]) -> bool {
        let found = self.iter().position(|held| held == pivot);
        found.inspect(|&index| self.insert(index, element)).is_some()
    }

    /// Inserts after the first element equal to `pivot`; says whether there is one.
    pub fn insert_after(&mut self, pivot: &[u8], element: &[u8]) -> bool {
        let found = self.iter().position(|held| held == pivot);
        found.inspect(|&index| self.insert(index + 1, element)).is_some()
    }

    /// Removes the element at `index`; says whether there is one.
    pub fn remove(&mut self, index: usize) -> bool {
        let Some((at, inner)) = self.locate(index) else { return false };
        self.chunks[at].remove(inner);
        self.len -= 1;
        self.tidy(at);
        true
    }

    /// Drops a chunk that became empty, joins it with a neighbour if both are small.
    fn tidy(&mut self, at: usize) {
        if self.chunks[at].len() == 0 {
            self.chunks.remove(at);
            return;
        }
        let left = if at + 1 < self.chunks.len() { at } else { at.saturating_sub(1) };
        if left + 1 < self.chunks.len()
            && self.chunks[left].fits_with(&self.chunks[left + 1])
            && let Some(upper) = self.chunks.remove(left + 1)
        {
            self.chunks[left].join(&upper);
        }
    }

    /// Removes up to `max` elements equal to `value`, from either end; says how many.
    pub fn remove_value(&mut self, value: &[u8], max: usize, from_back: bool) -> usize {
        let mut left = max;
        let count = self.chunks.len();
        for step in 0..count {
            // Walking down, removals happen behind or at the walk, so plain indices stay right.
            let at = if from_back { count - 1 - step } else { step };
            let found = self.chunks[at].count(value);
            let gone = found.min(left);
            if gone > 0 {
                let skip = if from_back { found - gone } else { 0 };
                self.chunks[at].remove_equal(value, skip, gone);
                left -= gone;
            }
            if left == 0 {
                break;
            }
        }
        let removed = max - left;
        self.len -= removed;
        if removed > 0 {
            self.chunks.retain(|chunk| chunk.len() > 0);
            self.join_small();
        }
        removed
    }

    fn join_small(&mut self) {
        let mut joined: VecDeque<Chunk> = VecDeque::with_capacity(self.chunks.len());
        for chunk in self.chunks.drain(..) {
            match joined.back_mut() {
                Some(last) if last.fits_with(&chunk) => last.join(&chunk),
                _ => joined.push_back(chunk),
            }
        }
        self.chunks = joined;
    }

    /// Keeps the elements of `range` only.
    pub fn trim(&mut self, range: Range<usize>) {
        let end = range.end.min(self.len);
        if range.start >= end {
            *self = Self::new();
            return;
        }
        self.drop_back(self.len - end);
        self.drop_front(range.start);
    }

    fn drop_front(&mut self, mut count: usize) {
        self.len -= count;
        while let Some(first) = self.chunks.front_mut()
            && count > 0
        {
            if first.len() > count {
                return first.drop_front(count);
            }
            count -= first.len();
            self.chunks.pop_front();
        }
    }

    fn drop_back(&mut self, mut count: usize) {
        self.len -= count;
        while let Some(last) = self.chunks.back_mut()
            && count > 0
        {
            if last.len() > count {
                return last.drop_back(count);
            }
            count -= last.len();
            self.chunks.pop_back();
        }
    }

    /// All elements from the front.
    pub fn iter(&self) -> ListIter<'_> {
        self.range(0..self.len)
    }

    /// The elements of a range, from its front.
    pub fn range(&self, range: Range<usize>) -> ListIter<'_> {
        let left = range.end.min(self.len).saturating_sub(range.start);
        let (chunk, inner) = self.locate(range.start).unwrap_or_default();
        let at = self.chunks.get(chunk).map_or(0, |chunk| chunk.offset(inner));
        ListIter { list: self, chunk, at, left }
    }

    /// All elements from the back.
    pub fn iter_rev(&self) -> ListRevIter<'_> {
        self.iter_rev_from(self.len)
    }

    /// The elements before `end`, the last of them first.
    pub fn iter_rev_from(&self, end: usize) -> ListRevIter<'_> {
        let left = end.min(self.len);
        let (chunk, at) = match left.checked_sub(1).and_then(|last| self.locate(last)) {
            Some((chunk, inner)) => (chunk, self.chunks[chunk].offset(inner + 1)),
            None => (0, 0),
        };
        ListRevIter { list: self, chunk, at, left }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(Chunk::memory_bytes).sum();
        size_of::<Self>() + self.chunks.capacity() * size_of::<Chunk>() + chunks
    }
}

/// Walks a list from the front.
pub struct ListIter<'a> {
    list: &'a List,
    chunk: usize,
    at: usize,
    left: usize,
}

impl<'a> Iterator for ListIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let mut chunk = &self.list.chunks[self.chunk];
        if self.at == chunk.end() {
            self.chunk += 1;
            chunk = &self.list.chunks[self.chunk];
            self.at = chunk.first();
        }
        let (element, next) = chunk.element(self.at);
        self.at = next;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for ListIter<'_> {}

/// Walks a list from the back.
pub struct ListRevIter<'a> {
    list: &'a List,
    chunk: usize,
    at: usize,
    left: usize,
}

impl<'a> Iterator for ListRevIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let mut chunk = &self.list.chunks[self.chunk];
        if self.at == chunk.first() {
            self.chunk -= 1;
            chunk = &self.list.chunks[self.chunk];
            self.at = chunk.end();
        }
        let (element, next) = chunk.element_before(self.at);
        self.at = next;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for ListRevIter<'_> {}

#[cfg(test)]
mod tests;
