//! Places on earth as 52 interleaved bits, the form in which sorted sets keep them: encoding, decoding, neighbouring
//! cells, the base32 form and distances. Every step of the arithmetic is in the order of Redis's, so results are the
//! same to the last bit.

/// Bits of each coordinate in a score.
pub(crate) const STEP_MAX: u32 = 26;
/// Longitudes lie between this and its negative.
pub(crate) const LONGITUDE_MAX: f64 = 180.0;
/// Latitudes lie between this and its negative: the poles cannot be shown on a square map.
pub(crate) const LATITUDE_MAX: f64 = 85.051_128_78;

const RADIAN: f64 = std::f64::consts::PI / 180.0;
pub(crate) const EARTH_RADIUS: f64 = 6_372_797.560_856;
const EVEN: u64 = 0x5555_5555_5555_5555;
const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;

pub(crate) fn to_radians(degrees: f64) -> f64 {
    degrees * RADIAN
}

pub(crate) fn to_degrees(radians: f64) -> f64 {
    radians / RADIAN
}

/// A point in degrees.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct GeoPoint {
    pub(crate) longitude: f64,
    pub(crate) latitude: f64,
}

impl GeoPoint {
    /// Whether scores can hold it.
    pub(crate) fn is_valid(self) -> bool {
        self.longitude.abs() <= LONGITUDE_MAX && self.latitude.abs() <= LATITUDE_MAX
    }

    /// The place that a member's score encodes; any number encodes one.
    pub(crate) fn from_score(score: f64) -> Self {
        let area = Cell { bits: whole_bits(score), step: STEP_MAX }.area();
        let middle = |(low, high): (f64, f64), max: f64| f64::midpoint(low, high).clamp(-max, max);
        GeoPoint {
            longitude: middle(area.longitude, LONGITUDE_MAX),
            latitude: middle(area.latitude, LATITUDE_MAX),
        }
    }

    /// The score of a member at this place.
    pub(crate) fn score_bits(self) -> u64 {
        Cell::around(self, STEP_MAX).bits
    }

    /// The eleven letters of its standard geohash.
    pub(crate) fn text(self) -> [u8; 11] {
        const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        // The standard's latitudes go up to the poles.
        let bits = Cell::within(self, STEP_MAX, 90.0).bits;
        let mut text = [LETTERS[0]; 11];
        // Fifty-two bits fill ten letters; the eleventh is always the first of the alphabet.
        for (letter, shift) in text.iter_mut().zip((2..=47).rev().step_by(5)) {
            *letter = LETTERS[(bits >> shift & 31) as usize];
        }
        text
    }

    /// Metres to another place along the great circle.
    pub(crate) fn distance(self, other: GeoPoint) -> f64 {
        let v = ((to_radians(other.longitude) - to_radians(self.longitude)) / 2.0).sin();
        if v == 0.0 {
            return self.latitude_distance(other);
        }
        let (from, to) = (to_radians(self.latitude), to_radians(other.latitude));
        let u = ((to - from) / 2.0).sin();
        let a = u * u + from.cos() * to.cos() * v * v;
        2.0 * EARTH_RADIUS * a.sqrt().asin()
    }

    /// Metres between the parallels of two places.
    pub(crate) fn latitude_distance(self, other: GeoPoint) -> f64 {
        EARTH_RADIUS * (to_radians(other.latitude) - to_radians(self.latitude)).abs()
    }
}

/// A square of the map: the first `2 * step` of the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) bits: u64,
    pub(crate) step: u32,
}

/// The area of a cell, as lowest and highest degrees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    pub(crate) longitude: (f64, f64),
    pub(crate) latitude: (f64, f64),
}

impl Cell {
    /// The cell of a valid place.
    pub(crate) fn around(place: GeoPoint, step: u32) -> Self {
        Self::within(place, step, LATITUDE_MAX)
    }

    fn within(place: GeoPoint, step: u32, latitude_max: f64) -> Self {
        let part = |value: f64, max: f64| {
            let offset = (value + max) / (max + max);
            spread((offset * (1u64 << step) as f64) as u32)
        };
        let bits = part(place.latitude, latitude_max) | part(place.longitude, LONGITUDE_MAX) << 1;
        Cell { bits, step }
    }

    pub(crate) fn area(self) -> Area {
        let side = |n: u32, max: f64| {
            let edge = |n: u32| -max + (f64::from(n) / (1u64 << self.step) as f64) * (max + max);
            (edge(n), edge(n.wrapping_add(1)))
        };
        Area {
            longitude: side(gather(self.bits >> 1), LONGITUDE_MAX),
            latitude: side(gather(self.bits), LATITUDE_MAX),
        }
    }

    /// The cell so many cells (-1, 0 or 1) to the east and to the north, around the edge of the map if need be.
    pub(crate) fn moved(self, east: i8, north: i8) -> Self {
        let unused = 64 - self.step * 2;
        let (mut x, mut y) = (self.bits & ODD, self.bits & EVEN);
        if east != 0 {
            x = shifted(x, EVEN >> unused, east) & (ODD >> unused);
        }
        if north != 0 {
            y = shifted(y, ODD >> unused, north) & (EVEN >> unused);
        }
        Cell { bits: x | y, step: self.step }
    }

    /// Lowest score in the cell, and the first above it.
    pub(crate) fn scores(self) -> (f64, f64) {
        let align = |bits: u64| (bits << (52 - self.step * 2)) as f64;
        (align(self.bits), align(self.bits + 1))
    }
}

/// One up or down in every second bit; `gaps` are the bits between.
fn shifted(part: u64, gaps: u64, by: i8) -> u64 {
    if by > 0 { part.wrapping_add(gaps + 1) } else { (part | gaps).wrapping_sub(gaps + 1) }
}

/// Moves the bits of a number to the even places.
fn spread(n: u32) -> u64 {
    let mut bits = u64::from(n);
    for (by, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, EVEN),
    ] {
        bits = (bits | bits << by) & mask;
    }
    bits
}

/// The even bits of a number, moved together.
fn gather(bits: u64) -> u32 {
    let mut bits = bits & EVEN;
    for (by, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff),
    ] {
        bits = (bits | bits >> by) & mask;
    }
    bits as u32
}

/// The bits of a score. A number that is no place's score is converted as an x86-64 processor does.
fn whole_bits(score: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    let signed = |value: f64| if (-HALF..HALF).contains(&value) { value as i64 } else { i64::MIN };
    if score >= HALF { signed(score - HALF) as u64 ^ 1 << 63 } else { signed(score) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spread_bits_gather_to_the_same_number(n: u32) {
            prop_assert_eq!(gather(spread(n)), n);
            prop_assert_eq!(gather(spread(n) | ODD), n);
        }

        #[test]
        fn a_place_survives_its_score_within_a_metre(
            longitude in -180.0..180.0f64,
            latitude in -85.0..85.0f64,
        ) {
            let place = GeoPoint { longitude, latitude };
            let back = GeoPoint::from_score(place.score_bits() as f64);
            prop_assert!(place.distance(back) < 1.0);
        }

        #[test]
        fn moving_there_and_back_ends_in_the_same_cell(
            longitude in -180.0..180.0f64,
            latitude in -85.0..85.0f64,
            step in 1..=STEP_MAX,
            east in -1..=1i8,
            north in -1..=1i8,
        ) {
            let cell = Cell::around(GeoPoint { longitude, latitude }, step);
            prop_assert_eq!(cell.moved(east, north).moved(-east, -north), cell);
        }
    }

    #[test]
    fn scores_are_those_of_redis() {
        for (longitude, latitude, score) in [
            (13.361_389, 38.115_556, 3_479_099_956_230_698),
            (15.087_269, 37.502_669, 3_479_447_370_796_909),
            (0.0, 0.0, 3_377_699_720_527_872),
            (-122.332_07, 47.606_21, 1_558_507_292_839_943),
            (-180.0, -85.05, 83_281),
            (180.0, 85.0, 10_508_398_856_570_128),
        ] {
            let place = GeoPoint { longitude, latitude };
            assert_eq!(place.score_bits(), score, "{longitude} {latitude}");
        }
    }

    #[test]
    fn scores_of_no_place_become_bits_as_the_processor_makes_them() {
        assert_eq!(whole_bits(-1.0), u64::MAX);
        assert_eq!(whole_bits(f64::INFINITY), 0);
        assert_eq!(whole_bits(f64::NEG_INFINITY), 1 << 63);
        assert_eq!(whole_bits(1e300), 0);
        assert_eq!(whole_bits(9_223_372_036_854_775_808.0), 1 << 63);
    }
}
