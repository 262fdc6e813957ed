//! A node of a stream: its entries as listpack elements, ids as differences from the node's first, field names only
//! where they differ from those of the node's first entry. A deleted entry stays as a mark.

use super::Id;
use crate::data::listpack::{self, Item};
use crate::data::packed;

pub(super) const DELETED: u8 = 1;
pub(super) const SAME_FIELDS: u8 = 2;

pub(super) const WHOLE: &str = "a node holds whole elements";

/// Entries that follow one another.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) first: Id,
    pub(super) last: Id,
    pub(super) live: u32,
    pub(super) deleted: u32,
    /// The offset of the first entry, behind the field names of the node's first entry.
    pub(super) start: u32,
    pub(super) bytes: Vec<u8>,
}

/// One living entry.
#[derive(Clone, Copy)]
pub struct StreamEntry<'a> {
    pub id: Id,
    node: &'a Node,
    same: bool,
    /// The offset of the entry's fields and values.
    at: usize,
    pairs: usize,
}

/// The head of an entry of either kind.
pub(super) struct Head {
    pub(super) id: Id,
    pub(super) flags: u8,
    at: usize,
    pairs: usize,
}

impl StreamEntry<'_> {
    /// Number of fields.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// Calls `each` with field, value, field, value, …
    pub fn each(&self, mut each: impl FnMut(&[u8])) {
        let bytes = &self.node.bytes;
        let mut digits = itoa::Buffer::new();
        let mut master = if self.same { self.node.fields_at() } else { 0 };
        let mut at = self.at;
        for _ in 0..self.pairs {
            let from = if self.same { &mut master } else { &mut at };
            let (field, next) = listpack::get(bytes, *from).expect(WHOLE);
            *from = next;
            each(field.text(&mut digits));
            let (value, next) = listpack::get(bytes, at).expect(WHOLE);
            at = next;
            each(value.text(&mut digits));
        }
    }

    /// Fields and values.
    pub fn to_vec(self) -> Vec<Vec<u8>> {
        let mut all = Vec::with_capacity(self.pairs * 2);
        self.each(|part| all.push(part.to_vec()));
        all
    }
}

impl Node {
    pub(super) fn new(id: Id, pairs: &[&[u8]]) -> Self {
        let mut bytes = Vec::new();
        listpack::put_int(&mut bytes, (pairs.len() / 2) as i64);
        for field in pairs.iter().step_by(2) {
            listpack::put(&mut bytes, field);
        }
        listpack::put_int(&mut bytes, 0);
        Self { first: id, last: id, live: 0, deleted: 0, start: bytes.len() as u32, bytes }
    }

    /// Size as a whole listpack, which is what the limits are about.
    pub(super) fn listpack_size(&self) -> usize {
        listpack::HEADER
            + listpack::int_size(i64::from(self.live))
            + listpack::int_size(i64::from(self.deleted))
            + self.bytes.len()
            + 1
    }

    pub(super) fn master_pairs(&self) -> usize {
        int(&self.bytes, 0).0 as usize
    }

    fn fields_at(&self) -> usize {
        int(&self.bytes, 0).1
    }

    pub(super) fn has_fields_of(&self, pairs: &[&[u8]]) -> bool {
        if self.master_pairs() != pairs.len() / 2 {
            return false;
        }
        let mut at = self.fields_at();
        let mut digits = itoa::Buffer::new();
        pairs.iter().step_by(2).all(|field| {
            let (known, next) = listpack::get(&self.bytes, at).expect(WHOLE);
            at = next;
            packed::is(known.text(&mut digits), field)
        })
    }

    pub(super) fn append(&mut self, id: Id, pairs: &[&[u8]], same: bool) {
        let count = pairs.len() / 2;
        let size = pairs.iter().map(|part| part.len() + 4).sum::<usize>() + 24;
        packed::reserve_lean(&mut self.bytes, size);
        let bytes = &mut self.bytes;
        listpack::put_int(bytes, i64::from(if same { SAME_FIELDS } else { 0 }));
        listpack::put_int(bytes, id.ms.wrapping_sub(self.first.ms) as i64);
        listpack::put_int(bytes, id.seq.wrapping_sub(self.first.seq) as i64);
        if !same {
            listpack::put_int(bytes, count as i64);
        }
        for (index, part) in pairs.iter().enumerate() {
            if !same || index % 2 == 1 {
                listpack::put(bytes, part);
            }
        }
        listpack::put_int(bytes, (3 + if same { count } else { 2 * count + 1 }) as i64);
        self.live += 1;
        self.last = id;
    }

    pub(super) fn head(&self, at: usize) -> Head {
        let flags = self.bytes[at];
        let (ms, at) = int(&self.bytes, at + 2);
        let (seq, at) = int(&self.bytes, at);
        let id = Id {
            ms: self.first.ms.wrapping_add(ms as u64),
            seq: self.first.seq.wrapping_add(seq as u64),
        };
        let (pairs, at) = if flags & SAME_FIELDS != 0 {
            (self.master_pairs(), at)
        } else {
            let (pairs, at) = int(&self.bytes, at);
            (pairs as usize, at)
        };
        Head { id, flags, at, pairs }
    }

    /// The offset of the entry after `head`.
    pub(super) fn after(&self, head: &Head) -> usize {
        let parts = if head.flags & SAME_FIELDS != 0 { head.pairs } else { 2 * head.pairs };
        listpack::skip(&self.bytes, head.at, parts + 1).expect(WHOLE)
    }

    pub(super) fn entry(&self, head: &Head) -> StreamEntry<'_> {
        let same = head.flags & SAME_FIELDS != 0;
        StreamEntry { id: head.id, node: self, same, at: head.at, pairs: head.pairs }
    }

    /// The offset and the head of each entry, deleted ones included.
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, Head)> {
        let mut at = self.start as usize;
        std::iter::from_fn(move || {
            (at < self.bytes.len()).then(|| {
                let head = self.head(at);
                let place = at;
                at = self.after(&head);
                (place, head)
            })
        })
    }

    pub(super) fn kill(&mut self, at: usize) {
        self.bytes[at] |= DELETED;
        self.live -= 1;
        self.deleted += 1;
    }
}

fn int(bytes: &[u8], at: usize) -> (i64, usize) {
    match listpack::get(bytes, at) {
        Some((Item::Int(number), next)) => (number, next),
        _ => unreachable!("{WHOLE}"),
    }
}

/// A node from a whole listpack, walked from end to end.
pub(super) fn read_node(first: Id, pack: &[u8]) -> Option<Node> {
    let elements = listpack::unwrap(pack)?;
    let number =
        |at| listpack::get(elements, at).and_then(|(item, next)| Some((item.int()?, next)));
    let (live, at) = number(0)?;
    let (deleted, body) = number(at)?;
    let (master, at) = number(body)?;
    let at = listpack::skip(elements, at, usize::try_from(master).ok()?)?;
    let (zero, start) = number(at)?;
    let mut node = Node {
        first,
        last: first,
        live: u32::try_from(live).ok().filter(|live| *live > 0)?,
        deleted: u32::try_from(deleted).ok()?,
        start: u32::try_from(start - body).ok()?,
        bytes: elements[body..].to_vec(),
    };
    let (mut alive, mut dead, mut at) = (0, 0, start);
    let mut last = None;
    while at < elements.len() {
        let (flags, next) = number(at)?;
        // A mark is set in place, so it must be one byte.
        if !(0..=3).contains(&flags) || next != at + 2 {
            return None;
        }
        let (_, next) = number(next)?;
        let (_, mut next) = number(next)?;
        let mut pairs = master;
        if flags as u8 & SAME_FIELDS == 0 {
            (pairs, next) = number(next)?;
        }
        let head = node.head(at - body);
        if last.is_some_and(|last| head.id <= last) || head.id < first {
            return None;
        }
        last = Some(head.id);
        let width = if flags as u8 & SAME_FIELDS == 0 { 2 } else { 1 };
        let parts = usize::try_from(pairs).ok()?.checked_mul(width)?;
        next = listpack::skip(elements, next, parts)?;
        at = number(next)?.1;
        if flags as u8 & DELETED == 0 { alive += 1 } else { dead += 1 }
    }
    node.last = last?;
    (zero == 0 && alive == node.live && dead == node.deleted).then_some(node)
}
