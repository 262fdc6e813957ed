//! The large form of a sorted set: a table of members and an order of chunks that holds their slots. Both name the same
//! members at all times.

use super::super::Table;
use super::super::order::{Item, Order, OrderPosition};
use super::{Outcome, compare};

#[derive(Clone, Default)]
pub(super) struct Large {
    pub(super) table: Table<f64>,
    pub(super) order: Order,
}

impl Large {
    pub(super) fn member(&self, slot: u32) -> &[u8] {
        &self.table.slab.at(slot).key
    }

    /// The place of a pair, or where it would be.
    pub(super) fn seek(&self, score: f64, member: &[u8]) -> OrderPosition {
        self.order.seek(|item| {
            item.score < score || (item.score == score && self.member(item.slot) < member)
        })
    }

    pub(super) fn insert(&mut self, member: &[u8], score: f64) -> Outcome {
        let before = self.table.len();
        let slot = self.table.slot_or_insert(member, || score);
        if self.table.len() > before {
            let place = self.seek(score, member);
            self.order.insert(place, Item { score, slot });
            return Outcome::Added;
        }
        let old = self.table.slab.at(slot).value;
        if old == score {
            return Outcome::Same;
        }
        let place = self.seek(old, member);
        self.table.slab.at_mut(slot).value = score;
        let table = &self.table;
        let name = |item: &Item| table.slab.at(item.slot).key.as_bytes();
        let stays = self.order.set_in_place(place, score, |left, right| {
            left.is_some_and(|left| compare(left.score, name(left), score, member).is_lt())
                && right
                    .is_some_and(|right| compare(right.score, name(right), score, member).is_gt())
        });
        if !stays {
            self.order.remove(place);
            let place = self.seek(score, member);
            self.order.insert(place, Item { score, slot });
        }
        Outcome::Updated
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let score = *self.table.get(member)?;
        let place = self.seek(score, member);
        self.order.remove(place);
        // The table moves at most two entries per removal; their items must learn the new slots.
        let mut moves = [(u32::MAX, u32::MAX); 2];
        let mut count = 0;
        self.table.remove_entry(member, &mut |from, to, _| {
            moves[count] = (from, to);
            count += 1;
        });
        let moves = &moves[..count];
        let current = |slot: u32| {
            moves.iter().fold(slot, |slot, &(from, to)| if slot == from { to } else { slot })
        };
        for &(_, to) in moves {
            let slot = current(to);
            let entry = self.table.slab.at(slot);
            let (score, member) = (entry.value, entry.key.as_bytes());
            let place = self.order.seek(|item| {
                item.score < score
                    || (item.score == score && self.member(current(item.slot)) < member)
            });
            self.order.set_slot(place, slot);
        }
        Some(score)
    }
}
