//! Lengths in front of bytes: the little encoding that the packed forms share.
//! Seven bits per byte, lowest first; the mirrored form can be read from its end.

/// Bytes that the length `len` takes.
#[inline]
pub(super) fn width(len: usize) -> usize {
    (usize::BITS - (len | 1).leading_zeros()).div_ceil(7) as usize
}

/// Writes a length at the end of `out`.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut len: usize) {
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}

/// Reads the length at `at`; gives it and where it ends.
#[inline]
pub(super) fn get(bytes: &[u8], at: usize) -> (usize, usize) {
    let first = bytes[at];
    if first < 0x80 {
        return (usize::from(first), at + 1);
    }
    let mut len = usize::from(first & 0x7f);
    let mut shift = 7;
    let mut at = at + 1;
    loop {
        let byte = bytes[at];
        at += 1;
        len |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return (len, at);
        }
        shift += 7;
    }
}

/// Reads the length-prefixed bytes at `at`; gives them and where they end.
#[inline]
pub(super) fn get_bytes(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let (len, start) = get(bytes, at);
    (&bytes[start..start + len], start + len)
}

/// Whether two names are equal. Names side by side often share their length and their start, so the
/// last byte tells most of them apart without a comparison of the whole.
#[inline]
pub(super) fn is(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.last() == b.last() && a == b
}

/// Writes length-prefixed bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Makes room for `more` bytes with little to spare: small collections are many.
pub(super) fn reserve_lean(out: &mut Vec<u8>, more: usize) {
    let need = out.len() + more;
    if need > out.capacity() {
        // The allocator hands out multiples of 16 plus 8; a sixteenth keeps repeated growth cheap.
        let room = (need + need / 16 + 8).next_multiple_of(16) - 8;
        out.reserve_exact(room - out.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_reads_back(len in prop_oneof![0..300usize, any::<usize>()]) {
            let mut out = vec![9];
            put(&mut out, len);
            prop_assert_eq!(out.len() - 1, width(len));
            prop_assert_eq!(get(&out, 1), (len, out.len()));
        }
    }
}
