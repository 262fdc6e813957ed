//! Groups of consumers that share a stream: what was delivered last, what was delivered and not yet
//! acknowledged, and to whom. Each pending entry stands in its group and in its consumer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Entries, Id};

/// The groups of a stream, by name.
#[derive(Clone, Debug, Default)]
pub struct Groups(pub BTreeMap<Box<[u8]>, Group>);

/// One group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub last_id: Id,
    /// Entries read since the stream's first, if that can be known.
    pub entries_read: Option<i64>,
    pub pending: BTreeMap<Id, Pending>,
    pub consumers: BTreeMap<Arc<[u8]>, Consumer>,
}

/// An entry that was delivered and not yet acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub consumer: Arc<[u8]>,
    /// Unix milliseconds.
    pub delivered_ms: i64,
    pub deliveries: i64,
}

/// A reader of a group.
#[derive(Clone, Debug, Default)]
pub struct Consumer {
    pub seen_ms: i64,
    pub pending: BTreeSet<Id>,
}

impl Groups {
    pub fn get(&self, name: &[u8]) -> Option<&Group> {
        self.0.get(name)
    }

    pub fn get_mut(&mut self, name: &[u8]) -> Option<&mut Group> {
        self.0.get_mut(name)
    }

    /// Bytes held on the heap, roughly: tree nodes are about two thirds full.
    pub fn memory_bytes(&self) -> usize {
        let group = |name: &[u8], group: &Group| {
            let consumers = group.consumers.iter().map(|(name, consumer)| {
                name.len() + 80 + consumer.pending.len() * size_of::<Id>() * 3 / 2
            });
            let pending = group.pending.len() * (size_of::<Id>() + size_of::<Pending>()) * 3 / 2;
            name.len() + size_of::<Group>() * 3 / 2 + pending + consumers.sum::<usize>()
        };
        self.0.iter().map(|(name, it)| group(name, it)).sum()
    }
}

impl Group {
    pub fn new(last_id: Id, entries_read: Option<i64>) -> Self {
        Self { last_id, entries_read, ..Self::default() }
    }

    /// The consumer of that name, seen now; whether it was made for it.
    pub fn see(&mut self, name: &[u8], now_ms: i64) -> (Arc<[u8]>, bool) {
        if let Some((known, _)) = self.consumers.get_key_value(name) {
            let known = known.clone();
            self.consumers.get_mut(name).expect("just found").seen_ms = now_ms;
            return (known, false);
        }
        (self.create(name, now_ms).expect("just looked"), true)
    }

    /// A new consumer; none if there is one of that name.
    pub fn create(&mut self, name: &[u8], now_ms: i64) -> Option<Arc<[u8]>> {
        if self.consumers.contains_key(name) {
            return None;
        }
        let name: Arc<[u8]> = Arc::from(name);
        self.consumers.insert(name.clone(), Consumer { seen_ms: now_ms, ..Consumer::default() });
        Some(name)
    }

    /// Removes a consumer and what is pending with it; gives the number of those.
    pub fn remove(&mut self, name: &[u8]) -> Option<usize> {
        let consumer = self.consumers.remove(name)?;
        for id in &consumer.pending {
            self.pending.remove(id);
        }
        Some(consumer.pending.len())
    }

    /// Puts a pending entry with a consumer of this group, taking it from another if need be.
    pub fn assign(&mut self, id: Id, pending: Pending) {
        if let Some(old) = self.pending.get(&id)
            && old.consumer != pending.consumer
            && let Some(consumer) = self.consumers.get_mut(&old.consumer)
        {
            consumer.pending.remove(&id);
        }
        let consumer =
            self.consumers.get_mut(&pending.consumer).expect("an entry has its consumer");
        consumer.pending.insert(id);
        self.pending.insert(id, pending);
    }

    /// Takes an entry off the pending ones.
    pub fn acknowledge(&mut self, id: Id) -> bool {
        let Some(pending) = self.pending.remove(&id) else { return false };
        if let Some(consumer) = self.consumers.get_mut(&pending.consumer) {
            consumer.pending.remove(&id);
        }
        true
    }

    /// Notes that `id` is being delivered to the group.
    pub fn advance(&mut self, entries: &Entries, id: Id) {
        if id <= self.last_id {
            return;
        }
        self.entries_read = match self.entries_read {
            Some(read) if !entries.has_gap_from(id) => Some(read + 1),
            read if entries.added == 0 => read,
            _ => entries.distance(id),
        };
        self.last_id = id;
    }

    /// Entries still to be delivered, if that can be known.
    pub fn lag(&self, entries: &Entries) -> Option<i64> {
        if entries.added == 0 {
            return Some(0);
        }
        let read = match self.entries_read {
            Some(read) if !entries.has_gap_from(self.last_id) => read,
            _ => entries.distance(self.last_id)?,
        };
        Some(entries.added as i64 - read)
    }
}

impl Entries {
    /// Whether an entry at or after `start` was deleted, as far as the stream remembers.
    pub fn has_gap_from(&self, start: Id) -> bool {
        !self.is_empty()
            && self.max_deleted_id != Id::ZERO
            && self.first_id() <= self.max_deleted_id
            && start <= self.max_deleted_id
    }

    /// Number of entries ever added up to `id`, if that can be known.
    pub fn distance(&self, id: Id) -> Option<i64> {
        if self.added == 0 {
            return Some(0);
        }
        let added = self.added as i64;
        if self.is_empty() && id <= self.last_id || id == self.last_id {
            return Some(added);
        }
        if id > self.last_id {
            return None;
        }
        let gap = self.max_deleted_id != Id::ZERO && self.max_deleted_id >= self.first_id();
        match id.cmp(&self.first_id()) {
            std::cmp::Ordering::Less if !gap => Some(added - self.len() as i64),
            std::cmp::Ordering::Equal if !gap => Some(added - self.len() as i64 + 1),
            _ => None,
        }
    }
}
