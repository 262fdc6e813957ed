//! One database: keys, values, and when keys are due to go.
//! A key has a deadline exactly if its entry carries the mark, the side table has its slot, and the
//! order of deadlines has the pair. Nothing here looks at a clock: due keys are shown until removed.

use super::slab::SlabEntry;
use super::{Counting, Table, Text, Value};
use hashbrown::HashMap;
use rand::Rng;
use std::collections::BTreeSet;

/// Mark in an entry's meta word: the key has a deadline.
const TTL: u32 = 1 << 31;
/// The low bits of an entry's meta word: when the key was last used.
const STAMP: u32 = (1 << 24) - 1;
/// Bits between the two: the round of copying that last saw the key.
const ROUND: u32 = !(TTL | STAMP);
const ROUND_ONE: u32 = STAMP + 1;
/// How often a key with a deadline is looked for among all keys.
const TRIES: usize = 32;

/// The keys of one database.
#[derive(Clone, Default)]
pub struct Keyspace {
    table: Table<Value>,
    deadlines: Deadlines,
    stamp: u32,
    /// Uses are counted rather than dated.
    counting: Option<Counting>,
    /// The present round of copying, in place within `ROUND`. New keys belong to it.
    round: u32,
    /// Slots below this one are still to be copied.
    to_copy: u32,
}

#[derive(Clone, Default)]
struct Deadlines {
    by_slot: HashMap<u32, i64>,
    order: BTreeSet<(i64, u32)>,
    sum: i128,
}

impl Deadlines {
    fn set(&mut self, slot: u32, at_ms: i64) {
        self.clear(slot);
        self.by_slot.insert(slot, at_ms);
        self.order.insert((at_ms, slot));
        self.sum += i128::from(at_ms);
    }

    fn clear(&mut self, slot: u32) -> Option<i64> {
        let at_ms = self.by_slot.remove(&slot)?;
        self.order.remove(&(at_ms, slot));
        self.sum -= i128::from(at_ms);
        Some(at_ms)
    }

    fn get(&self, slot: u32) -> Option<i64> {
        self.by_slot.get(&slot).copied()
    }
}

/// Gets a key, its value and its deadline.
pub type Visit<'a> = dyn FnMut(&[u8], &Value, Option<i64>) + 'a;

impl Keyspace {
    /// An empty database; allocates nothing.
    #[cfg(test)]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many keys, due ones included.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.table.contains(key)
    }

    /// The value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<&Value> {
        self.table.get(key)
    }

    /// The value of `key`, to change it; notes the use.
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut Value> {
        let slot = self.table.find(key)?;
        Some(&mut self.use_slot(slot).value)
    }

    /// From now on uses are noted with the low 24 bits of `stamp`.
    pub fn note_uses_at(&mut self, stamp: u32) {
        self.stamp = stamp & STAMP;
    }

    /// Uses are counted from now on (or dated again); stamps are then minutes, see [`Counting::stamp`].
    pub fn count_uses(&mut self, counting: Option<Counting>) {
        self.counting = counting;
    }

    fn use_slot(&mut self, slot: u32) -> &mut SlabEntry<Value> {
        let entry = self.table.slab.at_mut(slot);
        let stamp = match self.counting {
            None => self.stamp,
            Some(counting) => counting.used(entry.meta & STAMP, self.stamp, &mut rand::rng()),
        };
        entry.meta = entry.meta & !STAMP | stamp;
        entry
    }

    /// Some key and when it was last used; with `volatile`, one that has a deadline.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R, volatile: bool) -> Option<(&Text, u32)> {
        let of = |slot: u32| {
            let entry = self.table.slab.at(slot);
            (&entry.key, entry.meta & STAMP)
        };
        if !volatile {
            return self.table.random_slot(rng).map(of);
        }
        let (first, last) = (self.deadlines.order.first()?.0, self.deadlines.order.last()?.0);
        for _ in 0..TRIES {
            let slot = self.table.random_slot(rng)?;
            if self.table.slab.at(slot).meta & TTL != 0 {
                return Some(of(slot));
            }
        }
        // Few have one: any of those, at some point of the time they cover.
        let span = last.abs_diff(first).saturating_add(1);
        let from = first.saturating_add_unsigned(super::table::below(rng, span));
        self.deadlines.order.range((from, 0)..).next().map(|&(_, slot)| of(slot))
    }

    /// The key with the next deadline of all.
    pub fn nearest(&self) -> Option<(i64, &Text)> {
        let &(at_ms, slot) = self.deadlines.order.first()?;
        Some((at_ms, &self.table.slab.at(slot).key))
    }

    /// The value of `key`; notes the use.
    pub fn get_touched(&mut self, key: &[u8]) -> Option<&Value> {
        self.get_mut(key).map(|value| &*value)
    }

    /// Sets the value of `key`, without a deadline; gives the value that was there.
    pub fn insert(&mut self, key: &[u8], value: Value) -> Option<Value> {
        let (slot, old) = self.put(key, value);
        if old.is_some() {
            self.clear_deadline(slot);
        }
        old
    }

    /// Sets the value of `key` and keeps its deadline; gives the value that was there.
    pub fn replace_value(&mut self, key: &[u8], value: Value) -> Option<Value> {
        self.put(key, value).1
    }

    fn put(&mut self, key: &[u8], value: Value) -> (u32, Option<Value>) {
        let mut value = Some(value);
        let slot = self.table.slot_or_insert(key, || value.take().expect("taken once"));
        let (round, counts, stamp) = (self.round, self.counting.is_some(), self.stamp);
        let entry = self.use_slot(slot);
        let Some(value) = value else {
            entry.meta = entry.meta & !ROUND | round;
            if counts {
                entry.meta = entry.meta & !STAMP | Counting::fresh(stamp);
            }
            return (slot, None);
        };
        (slot, Some(std::mem::replace(&mut entry.value, value)))
    }

    /// Removes `key`; gives the value that was there.
    pub fn remove(&mut self, key: &[u8]) -> Option<Value> {
        let deadlines = &mut self.deadlines;
        let mut moved = Vec::new();
        let (slot, entry) = self.table.remove_entry(key, &mut |from, to, meta| {
            if meta & TTL != 0 {
                moved.push((from, to));
            }
        })?;
        // The removed key's own deadline goes first: its slot may have a new tenant already.
        if entry.meta & TTL != 0 {
            deadlines.clear(slot);
        }
        for (from, to) in moved {
            if let Some(at_ms) = deadlines.clear(from) {
                deadlines.set(to, at_ms);
            }
        }
        Some(entry.value)
    }

    /// When `key` is due, in milliseconds; nothing if it stays or is not there.
    pub fn expire_at(&self, key: &[u8]) -> Option<i64> {
        if self.deadlines.by_slot.is_empty() {
            return None;
        }
        let slot = self.table.find(key)?;
        if self.table.slab.at(slot).meta & TTL == 0 {
            return None;
        }
        self.deadlines.get(slot)
    }

    /// Gives `key` a deadline; says whether the key is there.
    pub fn set_expire(&mut self, key: &[u8], at_ms: i64) -> bool {
        let Some(slot) = self.table.find(key) else { return false };
        self.table.slab.at_mut(slot).meta |= TTL;
        self.deadlines.set(slot, at_ms);
        true
    }

    /// Takes the deadline of `key` away; says whether it had one.
    pub fn persist(&mut self, key: &[u8]) -> bool {
        self.table.find(key).is_some_and(|slot| self.clear_deadline(slot))
    }

    fn clear_deadline(&mut self, slot: u32) -> bool {
        let entry: &mut SlabEntry<Value> = self.table.slab.at_mut(slot);
        let had = entry.meta & TTL != 0;
        if had {
            entry.meta &= !TTL;
            self.deadlines.clear(slot);
        }
        had
    }

    /// How many keys have a deadline.
    pub fn expires_len(&self) -> usize {
        self.deadlines.by_slot.len()
    }

    /// Up to `max` keys whose deadline is not after `now_ms`, the oldest first.
    pub fn next_due(&self, now_ms: i64, max: usize) -> Vec<Text> {
        let due = self.deadlines.order.range(..=(now_ms, u32::MAX)).take(max);
        due.map(|&(_, slot)| self.table.slab.at(slot).key.clone()).collect()
    }

    /// The next deadline of all.
    #[cfg(test)]
    pub fn next_deadline(&self) -> Option<i64> {
        self.deadlines.order.first().map(|&(at_ms, _)| at_ms)
    }

    /// Mean time to live of the keys that have a deadline, 0 if there are none.
    pub fn avg_ttl(&self, now_ms: i64) -> i64 {
        let count = self.deadlines.by_slot.len() as i128;
        if count == 0 {
            return 0;
        }
        let mean = self.deadlines.sum / count - i128::from(now_ms);
        i64::try_from(mean.max(0)).unwrap_or(i64::MAX)
    }

    /// When `key` was last used.
    pub fn stamp(&self, key: &[u8]) -> Option<u32> {
        self.table.find(key).map(|slot| self.table.slab.at(slot).meta & STAMP)
    }

    /// Visits some keys from the cursor on; gives the next cursor, 0 at the end.
    pub fn scan(&self, cursor: u64, count: usize, visit: &mut dyn FnMut(&[u8], &Value)) -> u64 {
        self.table.scan(cursor, count, visit)
    }

    /// Some key, each with the same chance.
    pub fn random<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<(&[u8], &Value)> {
        self.table.random(rng)
    }

    /// All keys, in no promised order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &Value)> {
        self.table.iter()
    }

    /// All keys with their deadlines, in no promised order.
    #[cfg(test)]
    pub fn iter_with_expiry(&self) -> impl Iterator<Item = (&[u8], &Value, Option<i64>)> {
        (0..self.table.slab.high()).filter_map(|slot| {
            let entry = self.table.slab.get(slot)?;
            let at_ms = if entry.meta & TTL == 0 { None } else { self.deadlines.get(slot) };
            Some((entry.key.as_bytes(), &entry.value, at_ms))
        })
    }

    /// Starts a round of copying: every key of this moment is to be seen once, as it is now. A
    /// caller that changes a key that [`Keyspace::is_uncopied`] copies it first and says so.
    pub fn begin_copy(&mut self) {
        self.round = self.round.wrapping_add(ROUND_ONE) & ROUND;
        self.to_copy = self.table.slab.high();
        // A round that was given up leaves keys of older rounds; after a turn of the counter one of
        // them would look copied. Setting all of them to the round before is cheap and rare.
        if self.round == 0 {
            let before = ROUND;
            for slot in 0..self.to_copy {
                if self.table.slab.get(slot).is_some() {
                    let meta = &mut self.table.slab.at_mut(slot).meta;
                    *meta = *meta & !ROUND | before;
                }
            }
        }
    }

    /// Whether the running round has yet to see `key`.
    pub fn is_uncopied(&self, key: &[u8]) -> bool {
        self.table.find(key).is_some_and(|slot| self.table.slab.at(slot).meta & ROUND != self.round)
    }

    /// `key` was copied out of turn.
    pub fn mark_copied(&mut self, key: &[u8]) {
        if let Some(slot) = self.table.find(key) {
            let meta = &mut self.table.slab.at_mut(slot).meta;
            *meta = *meta & !ROUND | self.round;
        }
    }

    /// Visits the uncopied keys of the next slots; false when none is left.
    pub fn copy_next(&mut self, slots: u32, visit: &mut Visit<'_>) -> bool {
        self.to_copy = self.to_copy.min(self.table.slab.high());
        let stop = self.to_copy.saturating_sub(slots);
        while self.to_copy > stop {
            self.to_copy -= 1;
            let slot = self.to_copy;
            let uncopied = |entry: &SlabEntry<Value>| entry.meta & ROUND != self.round;
            if !self.table.slab.get(slot).is_some_and(uncopied) {
                continue;
            }
            let entry = self.table.slab.at_mut(slot);
            entry.meta = entry.meta & !ROUND | self.round;
            let at_ms = if entry.meta & TTL == 0 { None } else { self.deadlines.get(slot) };
            visit(&entry.key, &entry.value, at_ms);
        }
        self.to_copy > 0
    }

    /// Bytes that the keys of now need, without what values hold on the heap and without spare room.
    pub fn live_bytes(&self) -> usize {
        self.table.live_bytes() + self.deadlines.by_slot.len() * 48
    }

    /// Bytes allocated for keys, slots and deadlines, without what values hold on the heap.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.deadlines.by_slot.len() * 48
    }
}

#[cfg(test)]
mod tests;
