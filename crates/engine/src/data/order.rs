//! The order of a large sorted set: sorted chunks of (score, slot), the last item of each chunk side
//! by side for the first search, and running counts of chunk lengths for ranks.
//! Chunks are never empty, `lasts` and `counts` always describe them.

/// Most items of a chunk; a full one is split.
const FULL: usize = 512;

/// A member's score and the slot of its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) score: f64,
    pub(super) slot: u32,
}

/// A place in the order; the end is behind the last item of the last chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OrderPosition {
    chunk: usize,
    at: usize,
}

#[derive(Clone, Default)]
pub(super) struct Order {
    chunks: Vec<Vec<Item>>,
    lasts: Vec<Item>,
    /// Fenwick tree of chunk lengths, one based.
    counts: Vec<u32>,
    len: usize,
}

impl Order {
    /// Takes items that are sorted already.
    pub(super) fn from_sorted(items: &[Item]) -> Self {
        let chunks: Vec<Vec<Item>> = items.chunks(FULL / 2).map(<[Item]>::to_vec).collect();
        let lasts = chunks.iter().map(|chunk| chunk[chunk.len() - 1]).collect();
        let mut order = Self { chunks, lasts, counts: Vec::new(), len: items.len() };
        order.recount();
        order
    }

    /// The first place whose item `before` does not hold for.
    #[inline]
    pub(super) fn seek(&self, before: impl Fn(&Item) -> bool) -> OrderPosition {
        let chunk = self.lasts.partition_point(&before);
        match self.chunks.get(chunk) {
            Some(items) => OrderPosition { chunk, at: items.partition_point(before) },
            None => self.end(),
        }
    }

    fn end(&self) -> OrderPosition {
        let chunk = self.chunks.len().saturating_sub(1);
        OrderPosition { chunk, at: self.chunks.last().map_or(0, Vec::len) }
    }

    /// The place of a rank.
    pub(super) fn place(&self, rank: usize) -> OrderPosition {
        if rank >= self.len {
            return self.end();
        }
        let (mut chunk, mut left) = (0, rank);
        let mut step = (self.counts.len() - 1).next_power_of_two();
        while step > 0 {
            if let Some(&count) = self.counts.get(chunk + step)
                && count as usize <= left
            {
                chunk += step;
                left -= count as usize;
            }
            step /= 2;
        }
        OrderPosition { chunk, at: left }
    }

    /// How many items come before a place.
    pub(super) fn rank(&self, place: OrderPosition) -> usize {
        let (mut node, mut sum) = (place.chunk, place.at);
        while node > 0 {
            sum += self.counts[node] as usize;
            node &= node - 1;
        }
        sum
    }

    pub(super) fn item(&self, place: OrderPosition) -> Option<Item> {
        self.chunks.get(place.chunk)?.get(place.at).copied()
    }

    /// The place after this one, if this one has an item.
    pub(super) fn next(&self, place: OrderPosition) -> OrderPosition {
        let at = place.at + 1;
        if at < self.chunks[place.chunk].len() || place.chunk + 1 == self.chunks.len() {
            return OrderPosition { chunk: place.chunk, at };
        }
        OrderPosition { chunk: place.chunk + 1, at: 0 }
    }

    /// The place before this one.
    pub(super) fn previous(&self, place: OrderPosition) -> Option<OrderPosition> {
        if place.at > 0 {
            return Some(OrderPosition { chunk: place.chunk, at: place.at - 1 });
        }
        let chunk = place.chunk.checked_sub(1)?;
        Some(OrderPosition { chunk, at: self.chunks[chunk].len() - 1 })
    }

    pub(super) fn insert(&mut self, place: OrderPosition, item: Item) {
        self.len += 1;
        let OrderPosition { chunk, at } = place;
        let Some(items) = self.chunks.get_mut(chunk) else {
            self.chunks.push(vec![item]);
            self.lasts.push(item);
            self.recount();
            return;
        };
        items.insert(at, item);
        self.lasts[chunk] = items[items.len() - 1];
        if items.len() < FULL {
            self.count(chunk, 1);
            return;
        }
        // Ascending loads fill the last chunk and leave it nearly full behind them.
        let ascending = at + 1 == items.len() && chunk + 1 == self.chunks.len();
        let cut = if ascending { FULL - FULL / 16 } else { FULL / 2 };
        let items = &mut self.chunks[chunk];
        let upper = items.split_off(cut);
        let last = items[cut - 1];
        self.lasts.insert(chunk, last);
        self.chunks.insert(chunk + 1, upper);
        self.recount();
    }

    pub(super) fn remove(&mut self, place: OrderPosition) -> Item {
        self.len -= 1;
        let OrderPosition { chunk, at } = place;
        let items = &mut self.chunks[chunk];
        let gone = items.remove(at);
        if let Some(&last) = items.last() {
            self.lasts[chunk] = last;
            if items.len() >= FULL / 8 || !self.merge(chunk) {
                self.count(chunk, -1);
            }
            return gone;
        }
        self.chunks.remove(chunk);
        self.lasts.remove(chunk);
        self.recount();
        gone
    }

    /// Joins a small chunk with its right neighbour, or the left one, if there is room.
    fn merge(&mut self, chunk: usize) -> bool {
        let left = if chunk + 1 < self.chunks.len() { chunk } else { chunk.saturating_sub(1) };
        let Some(right) = self.chunks.get(left + 1) else { return false };
        if self.chunks[left].len() + right.len() > FULL / 2 {
            return false;
        }
        let upper = self.chunks.remove(left + 1);
        self.chunks[left].extend_from_slice(&upper);
        self.lasts.remove(left);
        self.recount();
        true
    }

    /// Gives the item at `place` another score, if it keeps its place among its neighbours.
    pub(super) fn set_in_place(
        &mut self,
        place: OrderPosition,
        score: f64,
        fits: impl Fn(Option<&Item>, Option<&Item>) -> bool,
    ) -> bool {
        let items = &mut self.chunks[place.chunk];
        let at = place.at;
        if at == 0 || at + 1 >= items.len() || !fits(items.get(at - 1), items.get(at + 1)) {
            return false;
        }
        items[at].score = score;
        true
    }

    /// Tells the item at `place` its member's new slot.
    pub(super) fn set_slot(&mut self, place: OrderPosition, slot: u32) {
        let items = &mut self.chunks[place.chunk];
        items[place.at].slot = slot;
        self.lasts[place.chunk] = items[items.len() - 1];
    }

    fn count(&mut self, chunk: usize, change: i32) {
        let mut node = chunk + 1;
        while let Some(count) = self.counts.get_mut(node) {
            *count = count.wrapping_add_signed(change);
            node += node & node.wrapping_neg();
        }
    }

    fn recount(&mut self) {
        let len = self.chunks.len();
        self.counts.clear();
        self.counts.resize(len + 1, 0);
        for node in 1..=len {
            self.counts[node] += self.chunks[node - 1].len() as u32;
            let parent = node + (node & node.wrapping_neg());
            if parent <= len {
                self.counts[parent] += self.counts[node];
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let items: usize = self.chunks.iter().map(Vec::capacity).sum();
        items * size_of::<Item>() + self.chunks.capacity() * (24 + size_of::<Item>() + 4)
    }
}
