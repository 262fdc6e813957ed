//! A stream: entries in order of their ids, in nodes of about a hundred, and the groups that read them.
//! A node holds its entries as listpack elements: ids as differences from the node's first, field names only
//! where they differ from those of the node's first entry. Deleted entries stay as marks until their node goes.
//! Invariants: nodes are in order and none is without a living entry; `len` is the number of living entries;
//! `first_id` is the id of the first of them, or zero.

pub mod groups;
mod node;
mod range;

use std::collections::VecDeque;

use super::Limits;
use super::listpack;
use groups::Groups;
pub use node::StreamEntry;
use node::{DELETED, Node, WHOLE, read_node};
pub use range::{Range, RangeBack};

/// Largest sum of an entry's strings, and largest node.
pub const NODE_BYTES_MAX: usize = 1 << 30;
/// The name of an entry: milliseconds, and a number within them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub ms: u64,
    pub seq: u64,
}

impl Id {
    pub const ZERO: Self = Self { ms: 0, seq: 0 };
    pub const MAX: Self = Self { ms: u64::MAX, seq: u64::MAX };

    pub fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// The id after this one; none after the last.
    pub fn next(self) -> Option<Self> {
        match (self.seq.checked_add(1), self.ms.checked_add(1)) {
            (Some(seq), _) => Some(Self { ms: self.ms, seq }),
            (None, Some(ms)) => Some(Self { ms, seq: 0 }),
            (None, None) => None,
        }
    }

    /// The id before this one; none before the first.
    pub fn prev(self) -> Option<Self> {
        match (self.seq.checked_sub(1), self.ms.checked_sub(1)) {
            (Some(seq), _) => Some(Self { ms: self.ms, seq }),
            (None, Some(ms)) => Some(Self { ms, seq: u64::MAX }),
            (None, None) => None,
        }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

/// The value of a key.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub entries: Entries,
    pub groups: Groups,
}

impl Stream {
    /// Bytes held on the heap.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.entries.memory_bytes() + self.groups.memory_bytes()
    }
}

/// The entries, and what is known about those that were.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    nodes: VecDeque<Node>,
    len: usize,
    first_id: Id,
    pub last_id: Id,
    pub max_deleted_id: Id,
    pub added: u64,
}

/// How much a stream is cut at its front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    MaxLen(usize),
    MinId(Id),
}

impl Entries {
    /// Number of living entries.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Id of the first living entry, or zero.
    pub fn first_id(&self) -> Id {
        self.first_id
    }

    /// Id of the last living entry.
    pub fn last_live(&self) -> Option<Id> {
        self.range_back(Id::ZERO, Id::MAX).next().map(|entry| entry.id)
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Adds an entry with an id above all others; `pairs` are field, value, field, value, …
    pub fn append(&mut self, id: Id, pairs: &[&[u8]], limits: &Limits) {
        debug_assert!(id > self.last_id, "ids only grow");
        let size: usize = pairs.iter().map(|part| part.len()).sum();
        let max_bytes = match limits.stream_node_max_bytes {
            0 => NODE_BYTES_MAX,
            max => max.min(NODE_BYTES_MAX),
        };
        let max_entries = limits.stream_node_max_entries;
        let full = self.nodes.back().is_none_or(|node| {
            let count = (node.live + node.deleted) as usize;
            node.listpack_size() + size >= max_bytes || max_entries != 0 && count >= max_entries
        });
        if full {
            if let Some(node) = self.nodes.back_mut() {
                node.bytes.shrink_to_fit();
            }
            self.nodes.push_back(Node::new(id, pairs));
        }
        let node = self.nodes.back_mut().expect("there is one now");
        let same = full || node.has_fields_of(pairs);
        node.append(id, pairs, same);
        self.len += 1;
        self.added += 1;
        self.last_id = id;
        if self.len == 1 {
            self.first_id = id;
        }
    }

    /// Deletes an entry; remembers it as deleted.
    pub fn delete(&mut self, id: Id) -> bool {
        let index = self.nodes.partition_point(|node| node.first <= id);
        let Some(index) = index.checked_sub(1) else { return false };
        let node = &mut self.nodes[index];
        let found = node.heads().find(|(_, head)| head.id >= id);
        let Some((at, head)) = found else { return false };
        if head.id != id || head.flags & DELETED != 0 {
            return false;
        }
        node.kill(at);
        if node.live == 0 {
            self.nodes.remove(index);
        }
        self.len -= 1;
        self.max_deleted_id = self.max_deleted_id.max(id);
        if id == self.first_id {
            self.find_first();
        }
        true
    }

    fn find_first(&mut self) {
        self.first_id = self.range(Id::ZERO, Id::MAX).next().map_or(Id::ZERO, |entry| entry.id);
    }

    /// Cuts the front; gives the number of entries gone. `rough` takes whole nodes only and stops before
    /// more than `limit` entries are gone (0: no limit).
    pub fn trim(&mut self, to: Trim, rough: bool, limit: usize) -> usize {
        let mut gone = 0;
        while let Some(node) = self.nodes.front_mut() {
            let live = node.live as usize;
            if matches!(to, Trim::MaxLen(max) if self.len <= max) {
                break;
            }
            if limit != 0 && gone + live > limit {
                break;
            }
            let whole = match to {
                Trim::MaxLen(max) => self.len - live >= max,
                Trim::MinId(min) => node.last < min,
            };
            if whole {
                self.nodes.pop_front();
                self.len -= live;
                gone += live;
                continue;
            }
            if rough {
                break;
            }
            let mut keep = self.len;
            let mut doomed = Vec::new();
            for (at, head) in node.heads() {
                let stop = match to {
                    Trim::MaxLen(max) => keep <= max,
                    Trim::MinId(min) => head.id >= min,
                };
                if stop {
                    break;
                }
                if head.flags & DELETED == 0 {
                    doomed.push(at);
                    keep -= 1;
                }
            }
            for at in &doomed {
                node.kill(*at);
            }
            if node.live == 0 {
                self.nodes.pop_front();
            }
            self.len = keep;
            gone += doomed.len();
            break;
        }
        if gone > 0 {
            self.find_first();
        }
        gone
    }

    /// A living entry by its id.
    pub fn get(&self, id: Id) -> Option<StreamEntry<'_>> {
        self.range(id, id).next()
    }

    /// Living entries between two ids, both included, in order.
    pub fn range(&self, from: Id, to: Id) -> Range<'_> {
        let node = self.nodes.partition_point(|node| node.first <= from).saturating_sub(1);
        let at = self.nodes.get(node).map_or(0, |node| node.start as usize);
        Range { nodes: &self.nodes, node, at, from, to }
    }

    /// The same from the end.
    pub fn range_back(&self, from: Id, to: Id) -> RangeBack<'_> {
        let next = self.nodes.partition_point(|node| node.first <= to);
        RangeBack { nodes: &self.nodes, next, batch: Vec::new(), from, to }
    }

    fn memory_bytes(&self) -> usize {
        let nodes = self.nodes.iter().map(|node| node.bytes.capacity()).sum::<usize>();
        self.nodes.capacity() * size_of::<Node>() + nodes
    }

    /// First id, elements and number of elements of each node, as Redis serializes it.
    pub fn export(&self) -> impl Iterator<Item = (Id, Vec<u8>)> {
        self.nodes.iter().map(|node| {
            let mut elements = Vec::with_capacity(node.bytes.len() + 8);
            listpack::put_int(&mut elements, i64::from(node.live));
            listpack::put_int(&mut elements, i64::from(node.deleted));
            elements.extend_from_slice(&node.bytes);
            let (mut count, mut at) = (0, 0);
            while at < elements.len() {
                at = listpack::skip(&elements, at, 1).expect(WHOLE);
                count += 1;
            }
            (node.first, listpack::wrap(&elements, count))
        })
    }

    /// Takes in a node that [`Entries::export`] or Redis wrote. False for one that is damaged or out of order.
    pub fn import(&mut self, first: Id, pack: &[u8]) -> bool {
        let Some(node) = read_node(first, pack) else { return false };
        if self.nodes.back().is_some_and(|last| last.last >= first) {
            return false;
        }
        if self.nodes.is_empty() {
            self.first_id = first;
        }
        self.len += node.live as usize;
        self.nodes.push_back(node);
        if self.nodes.len() == 1 {
            self.find_first();
        }
        true
    }

    /// Nodes of the radix tree that Redis would index these nodes with.
    pub fn radix_tree_nodes(&self) -> usize {
        let keys: Vec<[u8; 16]> = self
            .nodes
            .iter()
            .map(|node| {
                (u128::from(node.first.ms) << 64 | u128::from(node.first.seq)).to_be_bytes()
            })
            .collect();
        radix_nodes(&keys, 0)
    }
}

/// Nodes of a radix tree over sorted keys that agree before `depth`: one for a run of bytes that all share,
/// one for each fork, one for each key.
fn radix_nodes(keys: &[[u8; 16]], depth: usize) -> usize {
    let [first, .., last] = keys else {
        // Nothing but the root, or the rest of one key and its end.
        return 1 + usize::from(!keys.is_empty() && depth < 16);
    };
    let shared = (depth..16).take_while(|at| first[*at] == last[*at]).count();
    let fork = depth + shared;
    let below: usize =
        keys.chunk_by(|a, b| a[fork] == b[fork]).map(|branch| radix_nodes(branch, fork + 1)).sum();
    usize::from(shared > 0) + 1 + below
}

#[cfg(test)]
mod tests;
