//! Slots in chunks of fixed size: growing never copies what is there, a slot number stays valid
//! until its entry is taken or moved. Entries only ever move to lower slots.

use super::Text;

const CHUNK_BITS: u32 = 10;
const CHUNK: usize = 1 << CHUNK_BITS;
const NONE: u32 = u32::MAX;

/// A key with its value, its hash and a word that belongs to whoever owns the table.
#[derive(Clone)]
pub(super) struct SlabEntry<V> {
    pub(super) key: Text,
    pub(super) value: V,
    pub(super) hash: u32,
    pub(super) meta: u32,
}

/// A free slot is linked both ways, so that the last one can go without a search.
#[derive(Clone)]
enum Slot<V> {
    Used(SlabEntry<V>),
    Free { before: u32, after: u32 },
}

#[derive(Clone)]
pub(super) struct Slab<V> {
    chunks: Vec<Vec<Slot<V>>>,
    /// Slots that exist, used or free.
    high: u32,
    /// First free slot.
    free: u32,
    len: u32,
}

impl<V> Slab<V> {
    pub(super) const fn new() -> Self {
        Self { chunks: Vec::new(), high: 0, free: NONE, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Slots that exist, used or free.
    pub(super) fn high(&self) -> u32 {
        self.high
    }

    #[inline]
    fn slot(&self, slot: u32) -> &Slot<V> {
        &self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize & (CHUNK - 1)]
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut Slot<V> {
        &mut self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize & (CHUNK - 1)]
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&SlabEntry<V>> {
        match self.slot(slot) {
            Slot::Used(entry) => Some(entry),
            Slot::Free { .. } => None,
        }
    }

    #[inline]
    pub(super) fn at(&self, slot: u32) -> &SlabEntry<V> {
        self.get(slot).expect("the index names used slots only")
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut SlabEntry<V> {
        match self.slot_mut(slot) {
            Slot::Used(entry) => entry,
            Slot::Free { .. } => unreachable!("the index names used slots only"),
        }
    }

    /// Puts an entry into the first free slot or a new one.
    pub(super) fn put(&mut self, entry: SlabEntry<V>) -> u32 {
        self.len += 1;
        if self.free != NONE {
            let slot = self.free;
            self.unlink(slot);
            *self.slot_mut(slot) = Slot::Used(entry);
            return slot;
        }
        let slot = self.high;
        assert!(slot < NONE, "a table holds fewer than 2^32 entries");
        if slot as usize & (CHUNK - 1) == 0 {
            // The first chunk grows by doubling, so that small tables stay small.
            let room = if slot == 0 { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room));
        }
        self.chunks[(slot >> CHUNK_BITS) as usize].push(Slot::Used(entry));
        self.high += 1;
        slot
    }

    /// Takes the entry out; its slot becomes free.
    pub(super) fn take(&mut self, slot: u32) -> SlabEntry<V> {
        let after = self.free;
        let taken = std::mem::replace(self.slot_mut(slot), Slot::Free { before: NONE, after });
        self.link_before(after, slot);
        self.free = slot;
        self.len -= 1;
        match taken {
            Slot::Used(entry) => entry,
            Slot::Free { .. } => unreachable!("only used slots are taken"),
        }
    }

    fn link_before(&mut self, slot: u32, to: u32) {
        if slot != NONE
            && let Slot::Free { before, .. } = self.slot_mut(slot)
        {
            *before = to;
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot::Free { before, after } = *self.slot(slot) else {
            unreachable!("only free slots are linked")
        };
        self.link_before(after, before);
        if before == NONE {
            self.free = after;
        } else if let Slot::Free { after: next, .. } = self.slot_mut(before) {
            *next = after;
        }
    }

    /// Drops free slots at the end, a bounded number of them.
    pub(super) fn trim(&mut self) {
        for _ in 0..64 {
            if self.high == 0 || matches!(self.slot(self.high - 1), Slot::Used(_)) {
                break;
            }
            self.unlink(self.high - 1);
            self.high -= 1;
            let last = self.chunks.last_mut().expect("slots below high exist");
            last.pop();
            if last.is_empty() {
                self.chunks.pop();
            }
        }
        if let [only] = self.chunks.as_mut_slice()
            && only.capacity() > 32
            && only.len() * 4 < only.capacity()
        {
            only.shrink_to(only.len() * 2);
        }
    }

    /// Whether so many slots are free that entries should move together.
    pub(super) fn is_sparse(&self) -> bool {
        self.high > 2 * self.len + 4
    }

    /// Moves the last entry into a free slot below it; says from where to where.
    pub(super) fn lower_last(&mut self) -> Option<(u32, u32)> {
        let from = self.high.checked_sub(1)?;
        if self.free == NONE || matches!(self.slot(from), Slot::Free { .. }) {
            return None;
        }
        let to = self.free;
        self.unlink(to);
        self.high -= 1;
        let last = self.chunks.last_mut().expect("slots below high exist");
        let moved = last.pop().expect("the last chunk is not empty");
        if last.is_empty() {
            self.chunks.pop();
        }
        *self.slot_mut(to) = moved;
        Some((from, to))
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &SlabEntry<V>> {
        self.chunks.iter().flatten().filter_map(|slot| match slot {
            Slot::Used(entry) => Some(entry),
            Slot::Free { .. } => None,
        })
    }

    /// Bytes allocated for slots.
    pub(super) fn memory_bytes(&self) -> usize {
        let slots: usize = self.chunks.iter().map(Vec::capacity).sum();
        slots * size_of::<Slot<V>>() + self.chunks.capacity() * size_of::<Vec<Slot<V>>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_no_larger_than_its_entry() {
        assert_eq!(size_of::<Slot<Text>>(), 56);
        assert_eq!(size_of::<Slot<f64>>(), 40);
        assert_eq!(size_of::<Slot<()>>(), 32);
    }
}
