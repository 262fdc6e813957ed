//! A map from byte strings, whose scan never misses an entry that is there throughout.
//! Entries sit in numbered slots; a scan walks the slots from the highest down, and entries only
//! ever move to lower slots, so one that was not visited stays in front of the cursor.

use super::Text;
use super::slab::{Slab, SlabEntry};
use hashbrown::hash_table::{self, HashTable};
use rand::Rng;
use std::hash::BuildHasher;

/// From this size on the index is split, so that no single insert moves a whole large index.
const SPLIT_AT: usize = 8192;
const PARTS: usize = 64;

/// A map from byte strings to `V` with cursors and random picks.
#[derive(Clone)]
pub struct Table<V> {
    index: Index,
    pub(super) slab: Slab<V>,
    hasher: hashbrown::DefaultHashBuilder,
    key_heap: usize,
}

#[derive(Clone)]
enum Index {
    One(HashTable<u32>),
    Many(Box<[HashTable<u32>]>),
}

impl Index {
    #[inline]
    fn part(&self, hash: u32) -> &HashTable<u32> {
        match self {
            Self::One(table) => table,
            Self::Many(parts) => &parts[(hash >> 26) as usize],
        }
    }

    #[inline]
    fn part_mut(&mut self, hash: u32) -> &mut HashTable<u32> {
        match self {
            Self::One(table) => table,
            Self::Many(parts) => &mut parts[(hash >> 26) as usize],
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::One(table) => table.allocation_size(),
            Self::Many(parts) => {
                let each = size_of::<HashTable<u32>>();
                parts.iter().map(|part| part.allocation_size() + each).sum()
            }
        }
    }
}

/// The index wants 64 bits with entropy on both ends; entries keep 32.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Table<V> {
    /// An empty table; allocates nothing.
    pub fn new() -> Self {
        Self {
            index: Index::One(HashTable::new()),
            slab: Slab::new(),
            hasher: hashbrown::DefaultHashBuilder::default(),
            key_heap: 0,
        }
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(key);
        (hash >> 32) as u32 ^ hash as u32
    }

    /// The slot of `key`.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hash(key);
        let same = |&slot: &u32| {
            let entry = self.slab.at(slot);
            entry.hash == hash && entry.key == *key
        };
        self.index.part(hash).find(spread(hash), same).copied()
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        self.find(key).map(|slot| &self.slab.at(slot).value)
    }

    /// Sets the value of `key`; gives the value that was there.
    pub fn insert(&mut self, key: &[u8], value: V) -> Option<V> {
        let mut value = Some(value);
        let slot = self.slot_or_insert(key, || value.take().expect("taken once"));
        value.map(|value| std::mem::replace(&mut self.slab.at_mut(slot).value, value))
    }

    pub(super) fn slot_or_insert(&mut self, key: &[u8], make: impl FnOnce() -> V) -> u32 {
        let hash = self.hash(key);
        let slab = &self.slab;
        let same = |&slot: &u32| {
            let entry = slab.at(slot);
            entry.hash == hash && entry.key == *key
        };
        let rehash = |&slot: &u32| spread(slab.at(slot).hash);
        let vacant = match self.index.part_mut(hash).entry(spread(hash), same, rehash) {
            hash_table::Entry::Occupied(found) => return *found.get(),
            hash_table::Entry::Vacant(vacant) => vacant,
        };
        let entry = SlabEntry { key: Text::new(key), value: make(), hash, meta: 0 };
        self.key_heap += entry.key.heap_size();
        let slot = self.slab.put(entry);
        vacant.insert(slot);
        if self.slab.len() == SPLIT_AT {
            self.split();
        }
        slot
    }

    fn split(&mut self) {
        let Index::One(table) = &self.index else { return };
        let room = SPLIT_AT / PARTS * 5 / 4;
        let mut parts: Box<[HashTable<u32>]> =
            (0..PARTS).map(|_| HashTable::with_capacity(room)).collect();
        for &slot in table {
            let hash = self.slab.at(slot).hash;
            let rehash = |&slot: &u32| spread(self.slab.at(slot).hash);
            parts[(hash >> 26) as usize].insert_unique(spread(hash), slot, rehash);
        }
        self.index = Index::Many(parts);
    }

    /// Removes `key`; gives the value that was there.
    pub fn remove(&mut self, key: &[u8]) -> Option<V> {
        self.remove_entry(key, &mut |_, _, _| {}).map(|(_, entry)| entry.value)
    }

    /// Removes `key`; `moved` hears of each entry that changed its slot: from, to, its meta word.
    pub(super) fn remove_entry(
        &mut self,
        key: &[u8],
        moved: &mut dyn FnMut(u32, u32, u32),
    ) -> Option<(u32, SlabEntry<V>)> {
        let hash = self.hash(key);
        let slab = &self.slab;
        let same = |&slot: &u32| {
            let entry = slab.at(slot);
            entry.hash == hash && entry.key == *key
        };
        let part = self.index.part_mut(hash);
        let (slot, _) = part.find_entry(spread(hash), same).ok()?.remove();
        if part.capacity() > 64 && part.len() * 8 < part.capacity() {
            part.shrink_to(part.len() * 2, |&slot| spread(slab.at(slot).hash));
        }
        let entry = self.slab.take(slot);
        self.key_heap -= entry.key.heap_size();
        self.settle(moved);
        Some((slot, entry))
    }

    /// Moves a few entries down when too many slots are free. Twice as many per removal as a
    /// removal frees, so at least about half of the slots stay in use.
    fn settle(&mut self, moved: &mut dyn FnMut(u32, u32, u32)) {
        self.slab.trim();
        for _ in 0..2 {
            if !self.slab.is_sparse() {
                return;
            }
            let Some((from, to)) = self.slab.lower_last() else { return };
            let SlabEntry { hash, meta, .. } = *self.slab.at(to);
            let known = self.index.part_mut(hash).find_mut(spread(hash), |&slot| slot == from);
            *known.expect("each used slot is in the index") = to;
            moved(from, to, meta);
            self.slab.trim();
        }
    }

    /// Visits up to `count` slots below the cursor; gives the next cursor, 0 at the end.
    pub fn scan(&self, cursor: u64, count: usize, visit: &mut dyn FnMut(&[u8], &V)) -> u64 {
        let high = u64::from(self.slab.high());
        let mut left = if cursor == 0 { high } else { cursor.min(high) };
        let stop = left.saturating_sub(count.max(1) as u64);
        while left > stop {
            left -= 1;
            if let Some(entry) = self.slab.get(left as u32) {
                visit(&entry.key, &entry.value);
            }
        }
        left
    }

    /// Some entry, each with the same chance.
    pub fn random<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<(&[u8], &V)> {
        let entry = self.slab.at(self.random_slot(rng)?);
        Some((&entry.key, &entry.value))
    }

    pub(super) fn random_slot<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let high = self.slab.high();
        let mut slot = 0;
        // About every second slot is used, so this ends soon; the walk below is a formality.
        for _ in 0..256 {
            slot = below(rng, u64::from(high)) as u32;
            if self.slab.get(slot).is_some() {
                return Some(slot);
            }
        }
        (slot..high).chain(0..slot).find(|&slot| self.slab.get(slot).is_some())
    }

    /// All entries, in no promised order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &V)> {
        self.slab.iter().map(|entry| (entry.key.as_bytes(), &entry.value))
    }

    /// Bytes allocated, without what the values themselves hold on the heap.
    pub fn live_bytes(&self) -> usize {
        // A slot, and its part of an index that is never quite full.
        self.len() * (size_of::<super::slab::SlabEntry<V>>() + 8) + self.key_heap
    }

    /// The same with the room that is free.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.index.memory_bytes() + self.slab.memory_bytes() + self.key_heap
    }
}

/// A number below `limit`, which is at least one.
pub(super) fn below<R: Rng + ?Sized>(rng: &mut R, limit: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

#[cfg(test)]
mod tests;
