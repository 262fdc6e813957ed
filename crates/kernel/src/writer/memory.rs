//! The last known states of documents that nobody changes just now. A cache of two generations: when the
//! younger one is full it becomes the older one, and the older one is forgotten as a whole.

use std::collections::HashMap;

/// Longer texts are not remembered: few documents would take all the memory. Reading one again is cheap
/// beside sending it.
const LONGEST: usize = 16 * 1_024;

pub(super) struct Memory<T> {
    younger: HashMap<Vec<u8>, T>,
    older: HashMap<Vec<u8>, T>,
    generation: usize,
}

impl<T> Memory<T> {
    /// A memory of at most this many texts.
    pub(super) fn new(most: usize) -> Self {
        Memory { younger: HashMap::new(), older: HashMap::new(), generation: most / 2 }
    }

    /// Remembers a state, whose text is so long, until it is taken.
    pub(super) fn keep(&mut self, document: Vec<u8>, length: usize, state: T) {
        if self.generation == 0 || length > LONGEST {
            return;
        }
        if self.younger.len() >= self.generation {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(document, state);
    }

    /// The state, which is not remembered any more: whoever takes it puts back what the document became.
    pub(super) fn take(&mut self, document: &[u8]) -> Option<T> {
        self.younger.remove(document).or_else(|| self.older.remove(document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_texts_are_forgotten_and_the_bound_holds() {
        let mut memory = Memory::new(8);
        for n in 0..100_u8 {
            memory.keep(vec![n], 1, vec![n]);
            assert!(memory.younger.len() + memory.older.len() <= 8);
        }
        assert_eq!(memory.take(&[99]), Some(vec![99]));
        assert_eq!(memory.take(&[99]), None, "a text is taken once");
        assert_eq!(memory.take(&[0]), None);
    }

    #[test]
    fn a_text_that_is_used_outlives_its_generation() {
        let mut memory = Memory::new(4);
        for n in 0..50_u8 {
            memory.keep(vec![n], 1, vec![n]);
            let used = memory.take(&[0]).expect("it was used a moment ago");
            memory.keep(vec![0], 1, used);
        }
    }

    #[test]
    fn a_very_long_text_is_not_remembered() {
        let mut memory = Memory::new(4);
        memory.keep(vec![1], LONGEST + 1, ());
        assert_eq!(memory.take(&[1]), None);
    }
}
