//! The ships nearest to a place, of all there are: every socket asks in every tick. Coordinates stand side by side, what is
//! looked through is the thread's own room, and how far the socket looked the last time leaves few to compare.

use std::cell::RefCell;

use galaxy::physics::Vec3;

/// Positions of things.
#[derive(Default)]
pub(crate) struct Places {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

/// How far somebody looks who wants to see so many; a guess that only saves time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach(u64);

impl Default for Reach {
    fn default() -> Self {
        Reach(u64::MAX)
    }
}

/// Ships drift apart from one tick to the next, but not by as much: squares of distances.
const FARTHER: f64 = 1.2;

/// Room of a thread.
#[derive(Default)]
struct Room {
    /// How far each is, as bits: of numbers that are not negative, the bits are in order too.
    far: Vec<u64>,
    /// Numbers of those that may be wanted, at the beginning of it.
    some: Vec<u32>,
    /// How far those are.
    near: Vec<u64>,
}

impl FromIterator<Vec3> for Places {
    fn from_iter<I: IntoIterator<Item = Vec3>>(all: I) -> Self {
        let mut places = Places::default();
        for Vec3 { x, y, z } in all {
            places.x.push(x);
            places.y.push(y);
            places.z.push(z);
        }
        places
    }
}

impl Places {
    pub(crate) fn len(&self) -> usize {
        self.x.len()
    }

    /// Gives the numbers of the nearest, in order, one by one; of those that are equally far, the first.
    pub(crate) fn nearest(
        &self,
        from: Vec3,
        most: usize,
        reach: &mut Reach,
        each: impl FnMut(usize),
    ) {
        thread_local!(static ROOM: RefCell<Room> = RefCell::default());
        if most >= self.len() {
            return (0..self.len()).for_each(each);
        }
        if most == 0 {
            return;
        }
        ROOM.with_borrow_mut(|room| {
            self.measure(from, &mut room.far);
            room.choose(most, reach).iter().map(|at| *at as usize).for_each(each);
        });
    }

    fn measure(&self, from: Vec3, far: &mut Vec<u64>) {
        far.clear();
        far.extend(self.x.iter().zip(&self.y).zip(&self.z).map(|((x, y), z)| {
            let (x, y, z) = (x - from.x, y - from.y, z - from.z);
            (x * x + y * y + z * z).to_bits()
        }));
    }
}

impl Room {
    /// The first of them, in order.
    fn choose(&mut self, most: usize, reach: &mut Reach) -> &[u32] {
        let Room { far, some, near } = self;
        let mut count = within(far, some, reach.0);
        if count < most {
            count = within(far, some, u64::MAX);
        }
        near.clear();
        near.extend(some[..count].iter().map(|at| far[*at as usize]));
        let limit = *near.select_nth_unstable(most - 1).1;
        *reach = Reach((f64::from_bits(limit) * FARTHER).to_bits());
        // Many may be exactly as far as the last one, in one dock for instance: the first of them are taken.
        let mut equal = most - near[..most].iter().filter(|far| **far < limit).count();
        let mut kept = 0;
        for n in 0..count {
            let (at, far) = (some[n], far[some[n] as usize]);
            some[kept] = at;
            let one = usize::from(far == limit && equal > 0);
            equal -= one;
            kept += usize::from(far < limit) + one;
        }
        &some[..most]
    }
}

/// Writes the numbers of those that are within the limit to the beginning of `some`, and says how many that are. Without
/// a branch: which they are cannot be foreseen.
fn within(far: &[u64], some: &mut Vec<u32>, limit: u64) -> usize {
    if some.len() < far.len() {
        some.resize(far.len(), 0);
    }
    let (some, mut count) = (&mut some[..far.len()], 0);
    for (at, far) in (0_u32..).zip(far) {
        some[count] = at;
        count += usize::from(*far <= limit);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(all: &[Vec3], from: Vec3, most: usize) -> Vec<usize> {
        let far = |at: usize| (all[at] - from).length_squared();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| far(*a).total_cmp(&far(*b)).then(a.cmp(b)));
        order.truncate(most);
        order.sort_unstable();
        order
    }

    #[test]
    fn the_nearest_are_those_that_sorting_finds_however_far_was_looked_before() {
        let mut seed = 7_u64;
        let mut dice = |sides: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % sides
        };
        let mut reach = Reach::default();
        for round in 0..300_u64 {
            // Few different places make many that are equally far.
            let sides = [3, 10, 1_000_000][(round % 3) as usize];
            #[allow(clippy::cast_precision_loss)]
            let mut some = || dice(sides) as f64 * 1e3;
            let count = [0, 1, 5, 40, 250][(round % 5) as usize];
            let all: Vec<Vec3> = (0..count).map(|_| Vec3::new(some(), some(), some())).collect();
            let from = Vec3::new(some(), some(), some());
            let places: Places = all.iter().copied().collect();
            for most in [0, 1, 4, 39, 200, 300] {
                let mut found = Vec::new();
                places.nearest(from, most, &mut reach, |at| found.push(at));
                assert_eq!(found, plainly(&all, from, most), "{most} of {count} in round {round}");
            }
        }
    }
}
