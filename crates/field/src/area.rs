//! Boxes on a map. Coordinates are 16 bits wide, sums of them are not: all arithmetic here is done in 32 bits
//! or more, edges count as inside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place on a map, or an offset from one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// To the right.
    pub x: i16,
    /// Downwards.
    pub y: i16,
}

impl Point {
    /// Short to write.
    pub const fn new(x: i16, y: i16) -> Self {
        Point { x, y }
    }
}

/// A box given by two offsets from something that stands on the map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Area {
    /// Top left.
    pub tl: Point,
    /// Bottom right.
    pub br: Point,
}

impl Area {
    /// Whether `point` lies in the box around `origin`.
    pub fn holds(&self, origin: Point, point: Point) -> bool {
        let inside = |origin: i16, from: i16, to: i16, at: i16| {
            let (origin, at) = (i32::from(origin), i32::from(at));
            origin + i32::from(from) <= at && at <= origin + i32::from(to)
        };
        inside(origin.x, self.tl.x, self.br.x, point.x)
            && inside(origin.y, self.tl.y, self.br.y, point.y)
    }
}

/// A box given by two of its corners, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    least: Point,
    most: Point,
}

impl Rect {
    /// Between two opposite corners.
    pub fn between(one: Point, other: Point) -> Self {
        Rect {
            least: Point::new(one.x.min(other.x), one.y.min(other.y)),
            most: Point::new(one.x.max(other.x), one.y.max(other.y)),
        }
    }

    /// Whether `point` lies in it.
    pub fn holds(&self, point: Point) -> bool {
        (self.least.x..=self.most.x).contains(&point.x)
            && (self.least.y..=self.most.y).contains(&point.y)
    }

    /// Square of the distance from the centre, times four, so that a centre between two points stays whole.
    pub fn distance(&self, point: Point) -> i64 {
        let side = |least: i16, most: i16, at: i16| {
            let off = 2 * i64::from(at) - i64::from(least) - i64::from(most);
            off * off
        };
        side(self.least.x, self.most.x, point.x) + side(self.least.y, self.most.y, point.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_inside_and_nothing_overflows() {
        let area = Area { tl: Point::new(-20, -40), br: Point::new(20, 0) };
        let at = Point::new(100, 100);
        for (x, y, inside) in
            [(80, 60, true), (120, 100, true), (79, 60, false), (120, 101, false), (100, 80, true)]
        {
            assert_eq!(area.holds(at, Point::new(x, y)), inside, "{x} {y}");
        }
        let edge = Point::new(i16::MAX, i16::MAX);
        assert!(area.holds(edge, Point::new(i16::MAX, i16::MAX)));
        assert!(!area.holds(edge, Point::new(i16::MIN, i16::MAX)), "16 bits would wrap to here");
        let all = Area { tl: Point::new(i16::MIN, i16::MIN), br: Point::new(i16::MAX, i16::MAX) };
        assert!(all.holds(Point::new(0, 0), Point::new(i16::MIN, i16::MAX)));
    }

    #[test]
    fn corners_come_in_any_order() {
        let rect = Rect::between(Point::new(10, -5), Point::new(-10, 5));
        assert!(rect.holds(Point::new(-10, 5)) && rect.holds(Point::new(0, 0)));
        assert!(!rect.holds(Point::new(11, 0)));
        assert_eq!(rect.distance(Point::new(0, 0)), 0);
        assert!(rect.distance(Point::new(1, 0)) < rect.distance(Point::new(3, 0)));
        let wide = Rect::between(Point::new(i16::MIN, i16::MIN), Point::new(i16::MAX, i16::MAX));
        assert!(wide.distance(Point::new(i16::MAX, i16::MAX)) > 0);
    }
}
