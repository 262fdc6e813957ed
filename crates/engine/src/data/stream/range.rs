//! Walks through the living entries of a stream, in both directions.

use std::collections::VecDeque;

use super::Id;
use super::node::{DELETED, Head, Node, StreamEntry};

/// Entries in order.
pub struct Range<'a> {
    pub(super) nodes: &'a VecDeque<Node>,
    pub(super) node: usize,
    pub(super) at: usize,
    pub(super) from: Id,
    pub(super) to: Id,
}

impl<'a> Iterator for Range<'a> {
    type Item = StreamEntry<'a>;

    fn next(&mut self) -> Option<StreamEntry<'a>> {
        loop {
            let node = self.nodes.get(self.node)?;
            if self.at >= node.bytes.len() {
                self.node += 1;
                self.at = self.nodes.get(self.node)?.start as usize;
                continue;
            }
            let head = node.head(self.at);
            if head.id > self.to {
                self.node = self.nodes.len();
                return None;
            }
            self.at = node.after(&head);
            if head.id >= self.from && head.flags & DELETED == 0 {
                return Some(node.entry(&head));
            }
        }
    }
}

/// Entries from the end, a node at a time.
pub struct RangeBack<'a> {
    pub(super) nodes: &'a VecDeque<Node>,
    /// The node before this one is next.
    pub(super) next: usize,
    pub(super) batch: Vec<StreamEntry<'a>>,
    pub(super) from: Id,
    pub(super) to: Id,
}

impl<'a> Iterator for RangeBack<'a> {
    type Item = StreamEntry<'a>;

    fn next(&mut self) -> Option<StreamEntry<'a>> {
        while self.batch.is_empty() {
            self.next = self.next.checked_sub(1)?;
            let node = &self.nodes[self.next];
            let inside =
                |head: &Head| head.flags & DELETED == 0 && (self.from..=self.to).contains(&head.id);
            self.batch.extend(
                node.heads().filter(|(_, head)| inside(head)).map(|(_, head)| node.entry(&head)),
            );
            if node.first < self.from {
                self.next = 0;
            }
        }
        self.batch.pop()
    }
}
