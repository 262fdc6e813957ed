//! Random elements of a collection, as `SRANDMEMBER`, `HRANDFIELD` and `ZRANDMEMBER` choose them.

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
