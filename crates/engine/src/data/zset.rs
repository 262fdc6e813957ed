//! A sorted set: score and member pairs packed in order while small; a table of members and an
//! order of chunks when large, with ranks in logarithmic time.
//! Order is by score, then by bytes; -0 equals 0; callers never pass NaN.

use super::order::{Item, Order, OrderPosition};
use super::packed;
use super::table::below;
use super::{Limits, Table, Text};
use rand::Rng;
use std::cmp::Ordering;
use std::ops::Range;

mod large;
mod small;

use large::Large;
use small::{Pairs, insert_packed, locate};

/// The members of one key, ordered by score.
#[derive(Clone)]
pub struct Zset(Form);

#[derive(Clone)]
enum Form {
    Packed { bytes: Vec<u8>, len: u32 },
    Large(Box<Large>),
}

/// The effect of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The member is new.
    Added,
    /// The member has another score now.
    Updated,
    /// The member had that score.
    Same,
}

/// One end of a range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreBound {
    /// The score.
    pub value: f64,
    /// Whether the score itself is outside.
    pub exclusive: bool,
}

/// One end of a range of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexBound<'a> {
    /// Below every member: `-`.
    Lowest,
    /// Above every member: `+`.
    Highest,
    /// This member is inside: `[`.
    Inclusive(&'a [u8]),
    /// This member is outside: `(`.
    Exclusive(&'a [u8]),
}

impl LexBound<'_> {
    /// Whether a member lies below this lower end.
    fn is_above(&self, member: &[u8]) -> bool {
        match self {
            Self::Lowest => false,
            Self::Highest => true,
            Self::Inclusive(bound) => member < *bound,
            Self::Exclusive(bound) => member <= *bound,
        }
    }

    /// Whether a member lies within this upper end.
    fn admits(&self, member: &[u8]) -> bool {
        match self {
            Self::Lowest => false,
            Self::Highest => true,
            Self::Inclusive(bound) => member <= *bound,
            Self::Exclusive(bound) => member < *bound,
        }
    }
}

/// Orders two pairs.
fn compare(a: f64, a_member: &[u8], b: f64, b_member: &[u8]) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal).then_with(|| a_member.cmp(b_member))
}

impl Default for Zset {
    fn default() -> Self {
        Self::new()
    }
}

impl Zset {
    /// An empty sorted set; allocates nothing.
    pub fn new() -> Self {
        Self(Form::Packed { bytes: Vec::new(), len: 0 })
    }

    /// How many members.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Packed { len, .. } => *len as usize,
            Form::Large(large) => large.table.len(),
        }
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the small form is in use.
    pub fn is_packed(&self) -> bool {
        matches!(self.0, Form::Packed { .. })
    }

    /// The score of `member`.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.0 {
            Form::Packed { bytes, .. } => locate(bytes, member).map(|(_, _, score)| score),
            Form::Large(large) => large.table.get(member).copied(),
        }
    }

    /// Whether `member` is there.
    pub fn contains(&self, member: &[u8]) -> bool {
        self.score(member).is_some()
    }

    /// Adds `member` or gives it another score.
    pub fn insert(&mut self, member: &[u8], score: f64, limits: &Limits) -> Outcome {
        debug_assert!(!score.is_nan(), "callers refuse NaN");
        if let Form::Packed { bytes, len } = &mut self.0 {
            let found = locate(bytes, member);
            let too_large = *len as usize >= limits.zset_max_listpack_entries
                || member.len() > limits.zset_max_listpack_value;
            if found.is_some() || !too_large {
                *len += u32::from(found.is_none());
                return insert_packed(bytes, found, member, score);
            }
            self.spread();
        }
        match &mut self.0 {
            Form::Large(large) => large.insert(member, score),
            Form::Packed { .. } => unreachable!("spread above"),
        }
    }

    /// The same in the small form, if it fits.
    pub fn shrunk(self, limits: &Limits) -> Self {
        let short = |(member, _): (&[u8], f64)| member.len() <= limits.zset_max_listpack_value;
        if self.len() > limits.zset_max_listpack_entries || !self.iter().all(short) {
            return self;
        }
        let mut small = Zset::new();
        for (member, score) in self.iter() {
            small.insert(member, score, limits);
        }
        small
    }

    fn spread(&mut self) {
        let Form::Packed { bytes, .. } = &self.0 else { return };
        let mut table = Table::new();
        let mut items = Vec::new();
        for (member, score) in (Pairs { bytes, at: 0 }) {
            let slot = table.slot_or_insert(member, || score);
            items.push(Item { score, slot });
        }
        self.0 = Form::Large(Box::new(Large { table, order: Order::from_sorted(&items) }));
    }

    /// Removes `member`; gives its score.
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        match &mut self.0 {
            Form::Packed { bytes, len } => {
                let (start, end, score) = locate(bytes, member)?;
                bytes.drain(start..end);
                *len -= 1;
                Some(score)
            }
            Form::Large(large) => large.remove(member),
        }
    }

    /// How many members come before `member`.
    pub fn rank(&self, member: &[u8]) -> Option<usize> {
        match &self.0 {
            Form::Packed { bytes, .. } => {
                Pairs { bytes, at: 0 }.position(|(name, _)| packed::is(name, member))
            }
            Form::Large(large) => {
                let score = *large.table.get(member)?;
                Some(large.order.rank(large.seek(score, member)))
            }
        }
    }

    /// How many members come after `member`.
    pub fn rank_rev(&self, member: &[u8]) -> Option<usize> {
        self.rank(member).map(|rank| self.len() - 1 - rank)
    }

    /// The member of a rank.
    pub fn at(&self, rank: usize) -> Option<(&[u8], f64)> {
        self.range(rank..rank.saturating_add(1)).next()
    }

    /// Members by rank, ascending.
    pub fn range(&self, ranks: Range<usize>) -> ZsetIter<'_> {
        let left = ranks.end.min(self.len()).saturating_sub(ranks.start);
        ZsetIter {
            left,
            walk: match &self.0 {
                Form::Packed { bytes, .. } => {
                    let mut pairs = Pairs { bytes, at: 0 };
                    if left > 0 && ranks.start > 0 {
                        pairs.nth(ranks.start - 1);
                    }
                    Walk::Packed(pairs)
                }
                Form::Large(large) => Walk::Up(large, large.order.place(ranks.start)),
            },
        }
    }

    /// Members by rank, descending: the one at `ranks.end - 1` first.
    pub fn range_rev(&self, ranks: Range<usize>) -> ZsetIter<'_> {
        let end = ranks.end.min(self.len());
        let left = end.saturating_sub(ranks.start);
        let walk = match &self.0 {
            Form::Packed { .. } => {
                Walk::Listed(self.range(ranks.start..end).collect::<Vec<_>>().into_iter())
            }
            Form::Large(large) => Walk::Down(large, large.order.place(end)),
        };
        ZsetIter { left, walk }
    }

    /// All members, ascending.
    pub fn iter(&self) -> ZsetIter<'_> {
        self.range(0..self.len())
    }

    /// The ranks of the members within two scores; empty if there are none.
    pub fn score_range(&self, min: ScoreBound, max: ScoreBound) -> Range<usize> {
        let start =
            self.count_scores(
                |score| {
                    if min.exclusive { score <= min.value } else { score < min.value }
                },
            );
        let end =
            self.count_scores(
                |score| {
                    if max.exclusive { score < max.value } else { score <= max.value }
                },
            );
        start..end.max(start)
    }

    fn count_scores(&self, before: impl Fn(f64) -> bool) -> usize {
        match &self.0 {
            Form::Packed { bytes, .. } => {
                Pairs { bytes, at: 0 }.take_while(|&(_, score)| before(score)).count()
            }
            Form::Large(large) => large.order.rank(large.order.seek(|item| before(item.score))),
        }
    }

    /// The ranks of the members within two names; meant for members of one score.
    pub fn lex_range(&self, min: LexBound<'_>, max: LexBound<'_>) -> Range<usize> {
        let start = self.count_members(|member| min.is_above(member));
        let end = self.count_members(|member| max.admits(member));
        start..end.max(start)
    }

    fn count_members(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        match &self.0 {
            Form::Packed { bytes, .. } => {
                Pairs { bytes, at: 0 }.take_while(|(member, _)| before(member)).count()
            }
            Form::Large(large) => {
                let place = large.order.seek(|item| before(large.member(item.slot)));
                large.order.rank(place)
            }
        }
    }

    /// Removes the members of these ranks; says how many.
    pub fn remove_range(&mut self, ranks: Range<usize>) -> usize {
        let gone: Vec<Text> = self.range(ranks).map(|(member, _)| Text::new(member)).collect();
        for member in &gone {
            self.remove(member);
        }
        gone.len()
    }

    /// Removes the first member and gives it.
    pub fn pop_min(&mut self) -> Option<(Text, f64)> {
        self.pop_at(0)
    }

    /// Removes the last member and gives it.
    pub fn pop_max(&mut self) -> Option<(Text, f64)> {
        self.pop_at(self.len().checked_sub(1)?)
    }

    fn pop_at(&mut self, rank: usize) -> Option<(Text, f64)> {
        let (member, score) = self.at(rank)?;
        let member = Text::new(member);
        self.remove(&member);
        Some((member, score))
    }

    /// Visits some members from the cursor on; gives the next cursor, 0 at the end.
    pub fn scan(&self, cursor: u64, count: usize, visit: &mut dyn FnMut(&[u8], f64)) -> u64 {
        match &self.0 {
            Form::Packed { .. } => {
                self.iter().for_each(|(member, score)| visit(member, score));
                0
            }
            Form::Large(large) => {
                large.table.scan(cursor, count, &mut |member, score| visit(member, *score))
            }
        }
    }

    /// Some member, each with the same chance.
    pub fn random<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<(&[u8], f64)> {
        match &self.0 {
            Form::Packed { len: 0, .. } => None,
            Form::Packed { len, .. } => self.at(below(rng, u64::from(*len)) as usize),
            Form::Large(large) => large.table.random(rng).map(|(member, score)| (member, *score)),
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let held = match &self.0 {
            Form::Packed { bytes, .. } => bytes.capacity(),
            Form::Large(large) => large.table.memory_bytes() + large.order.memory_bytes(),
        };
        size_of::<Self>() + held
    }
}

/// Walks members in order.
pub struct ZsetIter<'a> {
    left: usize,
    walk: Walk<'a>,
}

enum Walk<'a> {
    Packed(Pairs<'a>),
    Listed(std::vec::IntoIter<(&'a [u8], f64)>),
    Up(&'a Large, OrderPosition),
    Down(&'a Large, OrderPosition),
}

impl<'a> Iterator for ZsetIter<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.walk {
            Walk::Packed(pairs) => pairs.next(),
            Walk::Listed(pairs) => pairs.next_back(),
            Walk::Up(large, place) => {
                let item = large.order.item(*place)?;
                *place = large.order.next(*place);
                Some((large.member(item.slot), item.score))
            }
            Walk::Down(large, place) => {
                *place = large.order.previous(*place)?;
                let item = large.order.item(*place)?;
                Some((large.member(item.slot), item.score))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for ZsetIter<'_> {}

#[cfg(test)]
mod tests;
