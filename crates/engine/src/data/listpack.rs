//! The byte encoding of a listpack's elements: numbers in one to nine bytes, strings with their length, each
//! followed by its own size so that it can be walked backwards. Streams keep their nodes in it, and `DUMP`
//! writes small collections in it. Reading is checked: any bytes may come in through `RESTORE`.

use super::num::parse_i64;

/// Bytes before the first element of a whole listpack: its size and its number of elements.
pub const HEADER: usize = 6;
/// The byte after the last element.
pub const END: u8 = 0xff;

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    Int(i64),
    Bytes(&'a [u8]),
}

impl Item<'_> {
    /// The element as a string.
    pub fn text<'b>(&'b self, digits: &'b mut itoa::Buffer) -> &'b [u8] {
        match self {
            Self::Int(number) => digits.format(*number).as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The element as a string of its own.
    pub fn to_vec(self) -> Vec<u8> {
        self.text(&mut itoa::Buffer::new()).to_vec()
    }

    /// The element as a number, if it is stored as one.
    pub fn int(self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }
}

/// Appends a number.
pub fn put_int(out: &mut Vec<u8>, number: i64) {
    let start = out.len();
    let bytes = number.to_le_bytes();
    match number {
        0..=127 => out.push(bytes[0]),
        -4096..=4095 => {
            let bits = number as u16 & 0x1fff;
            out.extend_from_slice(&[0xc0 | (bits >> 8) as u8, bits as u8]);
        }
        -0x8000..=0x7fff => put_tagged(out, 0xf1, &bytes[..2]),
        -0x80_0000..=0x7f_ffff => put_tagged(out, 0xf2, &bytes[..3]),
        -0x8000_0000..=0x7fff_ffff => put_tagged(out, 0xf3, &bytes[..4]),
        _ => put_tagged(out, 0xf4, &bytes),
    }
    put_back_len(out, out.len() - start);
}

fn put_tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

/// Appends a string; the plain spelling of a number is kept as that number.
pub fn put(out: &mut Vec<u8>, text: &[u8]) {
    if text.len() <= 20
        && let Some(number) = parse_i64(text)
    {
        return put_int(out, number);
    }
    let start = out.len();
    match text.len() {
        len @ 0..=63 => out.push(0x80 | len as u8),
        len @ 64..=4095 => out.extend_from_slice(&[0xe0 | (len >> 8) as u8, len as u8]),
        len => put_tagged(out, 0xf0, &(len as u32).to_le_bytes()),
    }
    out.extend_from_slice(text);
    put_back_len(out, out.len() - start);
}

/// Bytes that the number takes.
pub fn int_size(number: i64) -> usize {
    match number {
        0..=127 => 2,
        -4096..=4095 => 3,
        -0x8000..=0x7fff => 4,
        -0x80_0000..=0x7f_ffff => 5,
        -0x8000_0000..=0x7fff_ffff => 6,
        _ => 10,
    }
}

/// Bytes that an element's size takes behind it.
fn back_len_size(len: usize) -> usize {
    match len {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}

fn put_back_len(out: &mut Vec<u8>, len: usize) {
    let size = back_len_size(len);
    for part in (0..size).rev() {
        let bits = (len >> (7 * part)) as u8 & 0x7f;
        out.push(if part + 1 == size { bits } else { bits | 0x80 });
    }
}

/// The element at `at` and where the next one begins. `None` for bytes that are no element.
#[inline]
pub fn get(bytes: &[u8], at: usize) -> Option<(Item<'_>, usize)> {
    let tag = *bytes.get(at)?;
    let string = |head: usize, len: usize| {
        let start = at + head;
        let item = bytes.get(start..start.checked_add(len)?)?;
        Some((Item::Bytes(item), head + len))
    };
    let number = |width: usize| {
        let raw = bytes.get(at + 1..=at + width)?;
        let mut wide = [if raw[width - 1] & 0x80 != 0 { 0xff } else { 0 }; 8];
        wide[..width].copy_from_slice(raw);
        Some((Item::Int(i64::from_le_bytes(wide)), 1 + width))
    };
    let (item, size) = match tag {
        0..=0x7f => (Item::Int(i64::from(tag)), 1),
        0x80..=0xbf => string(1, usize::from(tag & 0x3f))?,
        0xc0..=0xdf => {
            let bits = i64::from(tag & 0x1f) << 8 | i64::from(*bytes.get(at + 1)?);
            (Item::Int(if bits >= 4096 { bits - 8192 } else { bits }), 2)
        }
        0xe0..=0xef => string(2, usize::from(tag & 0x0f) << 8 | usize::from(*bytes.get(at + 1)?))?,
        0xf0 => {
            let len = bytes.get(at + 1..at + 5)?.try_into().expect("four bytes");
            string(5, u32::from_le_bytes(len) as usize)?
        }
        0xf1 => number(2)?,
        0xf2 => number(3)?,
        0xf3 => number(4)?,
        0xf4 => number(8)?,
        _ => return None,
    };
    let next = at + size + back_len_size(size);
    (next <= bytes.len()).then_some((item, next))
}

/// The offset of the element after the next `count` ones.
pub fn skip(bytes: &[u8], mut at: usize, count: usize) -> Option<usize> {
    for _ in 0..count {
        at = get(bytes, at)?.1;
    }
    Some(at)
}

/// Wraps elements into a whole listpack.
pub fn wrap(elements: &[u8], count: usize) -> Vec<u8> {
    let total = HEADER + elements.len() + 1;
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&(total as u32).to_le_bytes());
    out.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(elements);
    out.push(END);
    out
}

/// The elements of a whole listpack, as bytes. `None` if its size or end is wrong.
pub fn unwrap(pack: &[u8]) -> Option<&[u8]> {
    let total = u32::from_le_bytes(pack.get(..4)?.try_into().ok()?) as usize;
    if total != pack.len() || total <= HEADER || pack[total - 1] != END {
        return None;
    }
    Some(&pack[HEADER..total - 1])
}

/// All elements of a whole listpack; `None` if any of it is damaged.
pub fn items(pack: &[u8]) -> Option<Vec<Item<'_>>> {
    let elements = unwrap(pack)?;
    let mut items = Vec::new();
    let mut at = 0;
    while at < elements.len() {
        let (item, next) = get(elements, at)?;
        items.push(item);
        at = next;
    }
    let told = u16::from_le_bytes([pack[4], pack[5]]);
    (told == u16::MAX || usize::from(told) == items.len()).then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_read_back(
            texts in proptest::collection::vec(
                prop_oneof![
                    any::<i64>().prop_map(|n| n.to_string().into_bytes()),
                    (-40_000i64..40_000).prop_map(|n| n.to_string().into_bytes()),
                    proptest::collection::vec(any::<u8>(), 0..200),
                    proptest::collection::vec(any::<u8>(), 4090..4100),
                ],
                0..20,
            ),
        ) {
            let mut bytes = Vec::new();
            for text in &texts {
                put(&mut bytes, text);
            }
            let pack = wrap(&bytes, texts.len());
            let items: Vec<Vec<u8>> =
                items(&pack).unwrap().into_iter().map(Item::to_vec).collect();
            prop_assert_eq!(items, texts);
        }

        #[test]
        fn a_number_takes_the_size_told(number in any::<i64>(), shift in 0..64u32) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            put_int(&mut bytes, number);
            prop_assert_eq!(bytes.len(), int_size(number));
            prop_assert_eq!(get(&bytes, 0), Some((Item::Int(number), bytes.len())));
        }

        #[test]
        fn damaged_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = items(&bytes);
            let _ = items(&wrap(&bytes, 3));
        }
    }
}
