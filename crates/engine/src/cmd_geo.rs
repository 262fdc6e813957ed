//! Places: `GEOADD`, which is `ZADD` with coordinates as the score. The commands that search by distance are
//! not here yet.

use crate::cmd_zset::zadd;
use crate::command::Run::{self, Plain};
use crate::ctx::{Ctx, float, is};
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[("geoadd", Plain(geoadd))];

const LONGITUDE_MAX: f64 = 180.0;
/// Where the square map of the web ends.
const LATITUDE_MAX: f64 = 85.051_128_78;
/// Bits per coordinate.
const STEPS: u32 = 26;

/// The score of a place: the bits of both coordinates, one by one in turn.
fn score(longitude: f64, latitude: f64) -> u64 {
    let cell = |value: f64, max: f64| {
        let share = (value + max) / (2.0 * max);
        (share * f64::from(1u32 << STEPS)) as u64
    };
    let (x, y) = (cell(longitude, LONGITUDE_MAX), cell(latitude, LATITUDE_MAX));
    (0..32).fold(0, |bits, i| bits | ((y >> i) & 1) << (2 * i) | ((x >> i) & 1) << (2 * i + 1))
}

fn geoadd(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let options = argv[2..].iter().take_while(|arg| ["nx", "xx", "ch"].iter().any(|o| is(arg, o)));
    let first = 2 + options.count();
    let says = |word: &str| argv[2..first].iter().any(|arg| is(arg, word));
    if !(argv.len() - first).is_multiple_of(3) || (says("nx") && says("xx")) {
        return Err(SYNTAX);
    }
    let mut scores = Vec::new();
    for place in argv[first..].chunks(3) {
        let (x, y) = (float(place[0])?, float(place[1])?);
        if x.abs() > LONGITUDE_MAX || y.abs() > LATITUDE_MAX {
            return Err(ReplyError::new(format!(
                "ERR invalid longitude,latitude pair {x:.6},{y:.6}"
            )));
        }
        scores.push(score(x, y).to_string());
    }
    let mut call: Vec<&[u8]> = argv[..first].to_vec();
    for (place, score) in argv[first..].chunks(3).zip(&scores) {
        call.extend([score.as_bytes(), place[2]]);
    }
    zadd(cx, &call)
}

#[cfg(test)]
mod tests {
    #[test]
    fn scores_are_those_of_redis() {
        for (longitude, latitude, score) in [
            (13.361_389, 38.115_556, 3_479_099_956_230_698),
            (15.087_269, 37.502_669, 3_479_447_370_796_909),
            (0.0, 0.0, 3_377_699_720_527_872),
            (-122.33207, 47.60621, 1_558_507_292_839_943),
            (-180.0, -85.05, 83281),
            (180.0, 85.0, 10_508_398_856_570_128),
        ] {
            assert_eq!(super::score(longitude, latitude), score, "{longitude} {latitude}");
        }
    }
}
