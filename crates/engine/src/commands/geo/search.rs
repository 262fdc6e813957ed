//! Members of a sorted set inside a circle or a box on earth: which cells of the map can hold them, which of those
//! are inside, and in what order they are told. Members at the same distance come in the order of Redis, whose sorting
//! is followed where only the nearest are wanted.

use std::cmp::Ordering;

use crate::data::Zset;
use crate::data::geohash::{Cell, EARTH_RADIUS, GeoPoint, STEP_MAX, to_degrees, to_radians};
use crate::data::zset::ScoreBound;

/// The form of the searched area, in the caller's unit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Circle { radius: f64 },
    Box { width: f64, height: f64 },
}

/// The searched area: its form around a centre.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) center: GeoPoint,
    pub(crate) form: Form,
    /// Metres in the caller's unit.
    pub(crate) unit: f64,
}

/// A member inside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit<'z> {
    pub(crate) member: &'z [u8],
    pub(crate) score: f64,
    pub(crate) place: GeoPoint,
    /// Metres from the centre.
    pub(crate) distance: f64,
}

impl Shape {
    /// The distance of a place inside.
    fn distance_inside(&self, place: GeoPoint) -> Option<f64> {
        let center = self.center;
        // A distance that is no number counts as inside.
        let outside = match self.form {
            Form::Circle { radius } => center.distance(place) > radius * self.unit,
            Form::Box { width, height } => {
                let level = GeoPoint { latitude: place.latitude, ..center };
                place.latitude_distance(center) > height * self.unit / 2.0
                    || place.distance(level) > width * self.unit / 2.0
            }
        };
        (!outside).then(|| center.distance(place))
    }

    /// Lowest and highest longitude and latitude of what is searched.
    fn bounds(&self) -> ((f64, f64), (f64, f64)) {
        let (width, height) = match self.form {
            Form::Circle { radius } => (self.unit * radius, self.unit * radius),
            Form::Box { width, height } => (self.unit * (width / 2.0), self.unit * (height / 2.0)),
        };
        let GeoPoint { longitude, latitude } = self.center;
        let north = to_degrees(height / EARTH_RADIUS);
        // The side nearer to the pole is the one that needs more degrees.
        let wide_at = if latitude < 0.0 { latitude - north } else { latitude + north };
        let east = to_degrees(width / EARTH_RADIUS / to_radians(wide_at).cos());
        ((longitude - east, longitude + east), (latitude - north, latitude + north))
    }

    /// The size of cells of which nine cover the shape, mostly.
    fn step(&self) -> u32 {
        const MAP_HALF: f64 = 20_037_726.37;
        let reach = match self.form {
            Form::Circle { radius } => radius,
            Form::Box { width, height } => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
        };
        let mut reach = reach * self.unit;
        if reach == 0.0 {
            return STEP_MAX;
        }
        let mut step = -1i32;
        while reach < MAP_HALF {
            reach *= 2.0;
            step += 1;
        }
        // Meridians are close to each other near the poles.
        let north = self.center.latitude.abs();
        step -= i32::from(north > 66.0) + i32::from(north > 80.0);
        step.clamp(1, STEP_MAX as i32) as u32
    }

    /// The cells that can hold members inside, in the order in which they are searched.
    fn cells(&self) -> [Option<Cell>; 9] {
        let (longitudes, latitudes) = self.bounds();
        let mut step = self.step();
        let mut cell = Cell::around(self.center, step);
        let short = cell.moved(0, 1).area().latitude.1 < latitudes.1
            || cell.moved(0, -1).area().latitude.0 > latitudes.0
            || cell.moved(1, 0).area().longitude.1 < longitudes.1
            || cell.moved(-1, 0).area().longitude.0 > longitudes.0;
        if step > 1 && short {
            step -= 1;
            cell = Cell::around(self.center, step);
        }
        let area = cell.area();
        let useless = |east: i8, north: i8| {
            step >= 2
                && ((north < 0 && area.latitude.0 < latitudes.0)
                    || (north > 0 && area.latitude.1 > latitudes.1)
                    || (east < 0 && area.longitude.0 < longitudes.0)
                    || (east > 0 && area.longitude.1 > longitudes.1))
        };
        [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)]
            .map(|(east, north)| (!useless(east, north)).then(|| cell.moved(east, north)))
    }

    /// The members inside, cell by cell; at most `limit`, if any.
    pub(crate) fn find<'z>(&self, zset: &'z Zset, limit: Option<usize>) -> Vec<Hit<'z>> {
        let full = |hits: &Vec<Hit<'_>>| limit.is_some_and(|limit| hits.len() >= limit);
        let mut hits = Vec::new();
        let mut last = None;
        for (at, cell) in self.cells().into_iter().enumerate() {
            let Some(cell) = cell else { continue };
            // With few cells on the map neighbours are the same.
            if last == Some(cell) {
                continue;
            }
            // The middle cell is never taken for its neighbour.
            last = (at > 0).then_some(cell);
            let (min, max) = cell.scores();
            let ranks = zset.score_range(
                ScoreBound { value: min, exclusive: false },
                ScoreBound { value: max, exclusive: true },
            );
            for (member, score) in zset.range(ranks) {
                if full(&hits) {
                    return hits;
                }
                let place = GeoPoint::from_score(score);
                if let Some(distance) = self.distance_inside(place) {
                    hits.push(Hit { member, score, place, distance });
                }
            }
        }
        hits
    }
}

/// By distance; what is no number comes first.
fn nearer(a: &Hit<'_>, b: &Hit<'_>) -> Ordering {
    let by_nan = || b.distance.is_nan().cmp(&a.distance.is_nan());
    a.distance.partial_cmp(&b.distance).unwrap_or_else(by_nan)
}

/// Puts the first `wanted` in order of distance.
pub(crate) fn sort(hits: &mut [Hit<'_>], far_first: bool, wanted: usize) {
    let order = |a: &Hit<'_>, b: &Hit<'_>| if far_first { nearer(b, a) } else { nearer(a, b) };
    if wanted == hits.len() {
        hits.sort_by(order);
    } else {
        sort_first(hits, wanted, order);
    }
}

/// Quicksort of the first `wanted` items alone. The order of equal items, and hence which of them
/// are among the first, follows from the pivots, which are those of Redis.
fn sort_first<T>(items: &mut [T], wanted: usize, order: impl Fn(&T, &T) -> Ordering) {
    let mut todo = vec![(0, items.len())];
    while let Some((start, end)) = todo.pop() {
        let part = &mut items[start..end];
        if part.len() < 7 {
            for end in 1..part.len() {
                let mut at = end;
                while at > 0 && order(&part[at - 1], &part[at]).is_gt() {
                    part.swap(at - 1, at);
                    at -= 1;
                }
            }
            continue;
        }
        let len = part.len();
        let (low, high) = split(part, &order);
        for (from, to) in [(0, low), (len - high, len)] {
            if to - from > 1 && start + from < wanted {
                todo.push((start + from, start + to));
            }
        }
    }
}

/// Parts items into lower, equal and higher than one of them; says how many are lower and how many higher.
fn split<T>(items: &mut [T], order: &impl Fn(&T, &T) -> Ordering) -> (usize, usize) {
    let len = items.len();
    items.swap(0, pivot(items, order));
    // Equals gather at both ends: `..low` and `high + 1..`.
    let (mut low, mut left) = (1, 1);
    let (mut right, mut high) = (len - 1, len - 1);
    loop {
        while left <= right {
            match order(&items[left], &items[0]) {
                Ordering::Greater => break,
                Ordering::Equal => {
                    items.swap(low, left);
                    low += 1;
                }
                Ordering::Less => {}
            }
            left += 1;
        }
        while left <= right {
            match order(&items[right], &items[0]) {
                Ordering::Less => break,
                Ordering::Equal => {
                    items.swap(right, high);
                    high -= 1;
                }
                Ordering::Greater => {}
            }
            right -= 1;
        }
        if left > right {
            break;
        }
        items.swap(left, right);
        left += 1;
        right -= 1;
    }
    let (lower, higher) = (left - low, high - right);
    let count = low.min(lower);
    for at in 0..count {
        items.swap(at, left - count + at);
    }
    let count = higher.min(len - high - 1);
    for at in 0..count {
        items.swap(left + at, len - count + at);
    }
    (lower, higher)
}

/// The middle one, of three or of nine when there are many.
fn pivot<T>(items: &[T], order: &impl Fn(&T, &T) -> Ordering) -> usize {
    let median = |a: usize, b: usize, c: usize| {
        let before = |x: usize, y: usize| order(&items[x], &items[y]).is_lt();
        if before(a, b) {
            match () {
                () if before(b, c) => b,
                () if before(a, c) => c,
                () => a,
            }
        } else {
            match () {
                () if order(&items[b], &items[c]).is_gt() => b,
                () if before(a, c) => a,
                () => c,
            }
        }
    };
    let (len, middle) = (items.len(), items.len() / 2);
    let end = len - 1;
    if len == 7 {
        return middle;
    }
    if len <= 40 {
        return median(0, middle, end);
    }
    let d = len / 8;
    median(
        median(0, d, 2 * d),
        median(middle - d, middle, middle + d),
        median(end - 2 * d, end - d, end),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_of_a_partial_sort_are_the_lowest_in_order(
            items in prop::collection::vec(0..50u32, 1..200),
            wanted in 0..200usize,
        ) {
            let wanted = wanted.min(items.len());
            let (mut whole, mut first) = (items.clone(), items);
            whole.sort_unstable();
            sort_first(&mut first, wanted, u32::cmp);
            prop_assert_eq!(&first[..wanted], &whole[..wanted]);
            first.sort_unstable();
            prop_assert_eq!(first, whole);
        }
    }
}
