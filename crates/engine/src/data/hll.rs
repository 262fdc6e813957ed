//! `HyperLogLog` values: strings that estimate how many different elements were added. The bytes are those of Redis,
//! header, sparse runs and dense registers alike, so a value written by either is read and extended by the other.

const MAGIC: &[u8; 4] = b"HYLL";
const HEADER: usize = 16;
const REGISTERS: usize = 1 << 14;
const DENSE_LEN: usize = HEADER + REGISTERS * 6 / 8;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// The highest register a sparse run can say.
const SPARSE_MAX: u8 = 32;
/// The offset of the last byte of the header's estimate; its highest bit says that the estimate is
/// out of date.
const STALE: usize = 15;

/// The value's runs do not make up its registers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Corrupted;

/// One register for each byte.
pub(crate) type Registers = [u8; REGISTERS];

/// A value to which nothing was added.
pub(crate) fn empty() -> Vec<u8> {
    let mut value = vec![0; HEADER];
    value[..4].copy_from_slice(MAGIC);
    value[4] = SPARSE;
    put_zeros(&mut value, REGISTERS);
    value
}

/// Room for a union.
pub(crate) fn no_registers() -> Box<Registers> {
    Box::new([0; REGISTERS])
}

/// Whether a string can be one of these values.
pub(crate) fn is_valid(value: &[u8]) -> bool {
    value.len() >= HEADER
        && value.starts_with(MAGIC)
        && (value[4] == SPARSE || (value[4] == DENSE && value.len() == DENSE_LEN))
}

pub(crate) fn is_dense(value: &[u8]) -> bool {
    value[4] == DENSE
}

/// The estimate in the header, if nothing changed since.
pub(crate) fn cached(value: &[u8]) -> Option<u64> {
    let bytes = value[8..HEADER].try_into().expect("eight bytes");
    (value[STALE] & 0x80 == 0).then(|| u64::from_le_bytes(bytes))
}

pub(crate) fn set_cached(value: &mut [u8], count: u64) {
    value[8..HEADER].copy_from_slice(&count.to_le_bytes());
}

pub(crate) fn set_stale(value: &mut [u8]) {
    value[STALE] |= 0x80;
}

/// Adds an element; says whether a register rose. A sparse value longer than `sparse_max` becomes dense.
pub(crate) fn add(value: &mut Vec<u8>, item: &[u8], sparse_max: usize) -> Result<bool, Corrupted> {
    let hash = murmur(item);
    let rest = hash >> 14 | 1 << 50;
    let count = rest.trailing_zeros() as u8 + 1;
    raise(value, hash as usize % REGISTERS, count, sparse_max)
}

/// Raises a register to `count`, unless it is as high.
pub(crate) fn raise(
    value: &mut Vec<u8>,
    at: usize,
    count: u8,
    sparse_max: usize,
) -> Result<bool, Corrupted> {
    if is_dense(value) {
        let higher = count > dense_get(value, at);
        if higher {
            dense_set(value, at, count);
        }
        return Ok(higher);
    }
    if count > SPARSE_MAX {
        make_dense(value)?;
        dense_set(value, at, count);
        return Ok(true);
    }
    raise_sparse(value, at, count, sparse_max)
}

/// A run of equal registers and the bytes that say it.
#[derive(Debug, Clone, Copy)]
struct Run {
    value: u8,
    len: usize,
    bytes: usize,
}

fn run_at(value: &[u8], at: usize) -> Run {
    let byte = value[at];
    match byte >> 6 {
        0 => Run { value: 0, len: usize::from(byte & 63) + 1, bytes: 1 },
        1 => {
            // A value cut in the middle of a run ends as if it were followed by zero.
            let low = value.get(at + 1).copied().unwrap_or(0);
            Run { value: 0, len: (usize::from(byte & 63) << 8 | usize::from(low)) + 1, bytes: 2 }
        }
        _ => Run { value: (byte >> 2 & 31) + 1, len: usize::from(byte & 3) + 1, bytes: 1 },
    }
}

/// The runs of a sparse value.
fn runs(value: &[u8]) -> impl Iterator<Item = Run> + '_ {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let run = (at < value.len()).then(|| run_at(value, at))?;
        at += run.bytes;
        Some(run)
    })
}

fn put_zeros(out: &mut Vec<u8>, len: usize) {
    let n = len - 1;
    if len > 64 {
        out.extend([0x40 | (n >> 8) as u8, n as u8]);
    } else {
        out.push(n as u8);
    }
}

fn put_run(out: &mut Vec<u8>, value: u8, len: usize) {
    if len == 0 {
        return;
    }
    if value == 0 {
        put_zeros(out, len);
    } else {
        out.push(0x80 | (value - 1) << 2 | (len - 1) as u8);
    }
}

fn raise_sparse(
    value: &mut Vec<u8>,
    index: usize,
    count: u8,
    sparse_max: usize,
) -> Result<bool, Corrupted> {
    let (mut at, mut before, mut first) = (HEADER, HEADER, 0);
    let run = loop {
        if at >= value.len() {
            return Err(Corrupted);
        }
        let run = run_at(value, at);
        if index < first + run.len {
            break run;
        }
        before = at;
        at += run.bytes;
        first += run.len;
    };
    if run.value >= count {
        return Ok(false);
    }
    let mut new = Vec::with_capacity(5);
    put_run(&mut new, run.value, index - first);
    put_run(&mut new, count, 1);
    put_run(&mut new, run.value, first + run.len - index - 1);
    if new.len() > run.bytes && value.len() + new.len() - run.bytes > sparse_max {
        make_dense(value)?;
        dense_set(value, index, count);
        return Ok(true);
    }
    let end = (at + run.bytes).min(value.len());
    value.splice(at..end, new);
    join(value, before);
    set_stale(value);
    Ok(true)
}

/// Joins equal runs that stand side by side, in the five steps from `at` on.
fn join(value: &mut Vec<u8>, mut at: usize) {
    for _ in 0..5 {
        if at >= value.len() {
            return;
        }
        let run = run_at(value, at);
        if run.value > 0 && at + 1 < value.len() {
            let next = run_at(value, at + 1);
            if next.value == run.value && run.len + next.len <= 4 {
                value.remove(at);
                value[at] = 0x80 | (run.value - 1) << 2 | (run.len + next.len - 1) as u8;
                continue;
            }
        }
        at += run.bytes;
    }
}

fn dense_get(value: &[u8], at: usize) -> u8 {
    let (byte, shift) = (HEADER + at * 6 / 8, at * 6 % 8);
    let high = value.get(byte + 1).copied().unwrap_or(0);
    (u16::from_le_bytes([value[byte], high]) >> shift & 63) as u8
}

fn dense_set(value: &mut [u8], at: usize, count: u8) {
    let (byte, shift) = (HEADER + at * 6 / 8, at * 6 % 8);
    let high = value.get(byte + 1).copied().unwrap_or(0);
    let pair = u16::from_le_bytes([value[byte], high]);
    let pair = (pair & !(63 << shift) | u16::from(count) << shift).to_le_bytes();
    value[byte] = pair[0];
    if let Some(high) = value.get_mut(byte + 1) {
        *high = pair[1];
    }
}

/// Turns a value into the dense form.
pub(crate) fn make_dense(value: &mut Vec<u8>) -> Result<(), Corrupted> {
    if is_dense(value) {
        return Ok(());
    }
    let mut registers = no_registers();
    merge(&mut registers, value)?;
    let mut dense = vec![0; DENSE_LEN];
    dense[..HEADER].copy_from_slice(&value[..HEADER]);
    dense[4] = DENSE;
    for (at, count) in registers.iter().enumerate() {
        dense_set(&mut dense, at, *count);
    }
    *value = dense;
    Ok(())
}

/// Raises registers to those of a value.
pub(crate) fn merge(registers: &mut Registers, value: &[u8]) -> Result<(), Corrupted> {
    if is_dense(value) {
        for (at, register) in registers.iter_mut().enumerate() {
            *register = (*register).max(dense_get(value, at));
        }
        return Ok(());
    }
    let mut at = 0;
    for run in runs(value) {
        if run.value > 0 {
            let covered = registers.get_mut(at..at + run.len).ok_or(Corrupted)?;
            for register in covered {
                *register = (*register).max(run.value);
            }
        }
        at += run.len;
    }
    if at == REGISTERS { Ok(()) } else { Err(Corrupted) }
}

/// How many different elements were added, roughly: the estimator of O. Ertl, arXiv:1702.01284.
pub(crate) fn estimate(registers: &Registers) -> u64 {
    /// Half of one over the logarithm of two.
    const ALPHA: f64 = 0.721_347_520_444_481_7;
    const M: f64 = REGISTERS as f64;
    let mut having = [0u32; 64];
    for register in registers {
        having[usize::from(*register & 63)] += 1;
    }
    let mut z = M * tau((M - f64::from(having[51])) / M);
    for n in having[1..=50].iter().rev() {
        z += f64::from(*n);
        z *= 0.5;
    }
    z += M * sigma(f64::from(having[0]) / M);
    (ALPHA * M * M / z).round() as u64
}

#[allow(clippy::float_cmp)] // the sum is done when a step no longer changes it
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let old = z;
        z += x * y;
        y += y;
        if old == z {
            return z;
        }
    }
}

#[allow(clippy::float_cmp)] // the sum is done when a step no longer changes it
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let old = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if old == z {
            return z / 3.0;
        }
    }
}

/// `MurmurHash64A` with the seed of Redis.
fn murmur(item: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut h = 0xadc8_3b19 ^ (item.len() as u64).wrapping_mul(M);
    let (words, tail) = item.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 47;
        h = (h ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte));
        h = (h ^ last).wrapping_mul(M);
    }
    h = (h ^ h >> 47).wrapping_mul(M);
    h ^ h >> 47
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_the_same_registers() {
        let (mut sparse, mut dense) = (empty(), empty());
        make_dense(&mut dense).unwrap();
        for n in 0..700u32 {
            let item = n.to_string();
            let rose = add(&mut sparse, item.as_bytes(), usize::MAX).unwrap();
            assert_eq!(rose, add(&mut dense, item.as_bytes(), 0).unwrap());
        }
        assert!(!is_dense(&sparse) && is_dense(&dense));
        let (mut a, mut b) = (no_registers(), no_registers());
        merge(&mut a, &sparse).unwrap();
        merge(&mut b, &dense).unwrap();
        assert_eq!(a, b);
        assert!((650..750).contains(&estimate(&a)));
    }

    #[test]
    fn runs_that_cover_too_much_or_too_little_are_corrupted() {
        let mut value = empty();
        value.push(0);
        assert_eq!(merge(&mut no_registers(), &value), Err(Corrupted));
        value.truncate(HEADER + 1);
        assert_eq!(add(&mut value, b"x", 3000), Err(Corrupted));
    }
}
