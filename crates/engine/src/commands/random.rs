//! Random elements of a collection, as `SRANDMEMBER`, `HRANDFIELD` and `ZRANDMEMBER` choose them.

use crate::commands::ctx::int;
use crate::doors::out::Out;
use crate::error::{OUT_OF_RANGE_VALUE, ReplyError};
use rand::rngs::SmallRng;
use rand::seq::{IteratorRandom as _, SliceRandom as _};

/// `count` elements: distinct ones (at most all) when positive, with repetition when negative.
pub(crate) fn choose<'a, T, I>(
    len: usize,
    count: i64,
    rng: &mut SmallRng,
    all: impl Fn() -> I,
    one: impl Fn(&mut SmallRng) -> Option<T>,
) -> Vec<T>
where
    T: 'a,
    I: Iterator<Item = T>,
{
    if count < 0 {
        let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        return std::iter::from_fn(|| one(rng)).take(wanted).collect();
    }
    let wanted = usize::try_from(count).unwrap_or(usize::MAX);
    if wanted >= len {
        return all().collect();
    }
    let mut chosen = all().sample(rng, wanted);
    chosen.shuffle(rng);
    chosen
}

/// The answer of the three commands for a key that does not exist.
pub(crate) fn none(out: &mut Out, count: Option<i64>) {
    match count {
        Some(_) => out.array(0),
        None => out.null(),
    }
}

/// How many elements with repetition one call may ask for. Redis would try to answer any number.
const REPEATED_MAX: i64 = 100_000_000;

/// The count of `SRANDMEMBER`, `HRANDFIELD` or `ZRANDMEMBER`.
pub(crate) fn count(arg: &[u8], pairs: bool) -> Result<i64, ReplyError> {
    let count = int(arg)?;
    let most = if pairs { i64::MAX / 2 } else { i64::MAX };
    if count < -REPEATED_MAX || count > most { Err(OUT_OF_RANGE_VALUE) } else { Ok(count) }
}
