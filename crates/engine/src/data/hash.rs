//! A hash: field and value pairs packed in one byte string while small, a table when large.
//! Both forms answer alike; only OBJECT ENCODING and the order tell them apart.

use super::packed;
use super::table::below;
use super::{Limits, Table, Text};
use rand::Rng;

/// The fields of one key.
#[derive(Clone)]
pub struct Hash(Form);

#[derive(Clone)]
enum Form {
    Packed { bytes: Vec<u8>, len: u32 },
    Table(Box<Table<Text>>),
}

impl Default for Hash {
    fn default() -> Self {
        Self::new()
    }
}

impl Hash {
    /// An empty hash; allocates nothing.
    pub fn new() -> Self {
        Self(Form::Packed { bytes: Vec::new(), len: 0 })
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Packed { len, .. } => *len as usize,
            Form::Table(table) => table.len(),
        }
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the small form is in use.
    pub fn is_packed(&self) -> bool {
        matches!(self.0, Form::Packed { .. })
    }

    /// The value of `field`.
    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match &self.0 {
            Form::Packed { bytes, .. } => {
                let (_, value_at, _) = locate(bytes, field)?;
                Some(packed::get_bytes(bytes, value_at).0)
            }
            Form::Table(table) => table.get(field).map(Text::as_bytes),
        }
    }

    /// Whether `field` is there.
    pub fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets `field`; says whether it is new.
    pub fn set(&mut self, field: &[u8], value: &[u8], limits: &Limits) -> bool {
        let long = field.len().max(value.len()) > limits.hash_max_listpack_value;
        if long || self.len() > limits.hash_max_listpack_entries {
            self.spread();
        }
        let is_new = match &mut self.0 {
            Form::Packed { bytes, len } => {
                let is_new = set_packed(bytes, field, value);
                *len += u32::from(is_new);
                is_new
            }
            Form::Table(table) => table.insert(field, Text::new(value)).is_none(),
        };
        if self.is_packed() && self.len() > limits.hash_max_listpack_entries {
            self.spread();
        }
        is_new
    }

    /// Switches to the large form.
    fn spread(&mut self) {
        let Form::Packed { bytes, .. } = &self.0 else { return };
        let mut table = Table::new();
        for (field, value) in (Pairs { bytes, at: 0 }) {
            table.insert(field, Text::new(value));
        }
        self.0 = Form::Table(Box::new(table));
    }

    /// Removes `field`; says whether it was there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match &mut self.0 {
            Form::Packed { bytes, len } => {
                let Some((start, _, end)) = locate(bytes, field) else { return false };
                bytes.drain(start..end);
                *len -= 1;
                if bytes.capacity() > 64 && bytes.len() * 2 < bytes.capacity() {
                    bytes.shrink_to_fit();
                }
                true
            }
            Form::Table(table) => table.remove(field).is_some(),
        }
    }

    /// All pairs, in no promised order.
    pub fn iter(&self) -> HashIter<'_> {
        match &self.0 {
            Form::Packed { bytes, .. } => HashIter(Walk::Packed(Pairs { bytes, at: 0 })),
            Form::Table(table) => {
                let pairs = table.iter().map(|(field, value)| (field, value.as_bytes()));
                HashIter(Walk::Table(Box::new(pairs)))
            }
        }
    }

    /// Visits some pairs from the cursor on; gives the next cursor, 0 at the end.
    pub fn scan(&self, cursor: u64, count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> u64 {
        match &self.0 {
            Form::Packed { .. } => {
                self.iter().for_each(|(field, value)| visit(field, value));
                0
            }
            Form::Table(table) => {
                table.scan(cursor, count, &mut |field, value| visit(field, value))
            }
        }
    }

    /// Some pair, each with the same chance.
    pub fn random<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<(&[u8], &[u8])> {
        match &self.0 {
            Form::Packed { len: 0, .. } => None,
            Form::Packed { bytes, len } => {
                let skip = below(rng, u64::from(*len)) as usize;
                Pairs { bytes, at: 0 }.nth(skip)
            }
            Form::Table(table) => table.random(rng).map(|(field, value)| (field, &**value)),
        }
    }

    /// Bytes held, estimated from a few values in the large form.
    pub fn memory_bytes(&self) -> usize {
        let held = match &self.0 {
            Form::Packed { bytes, .. } => bytes.capacity(),
            Form::Table(table) => {
                let sampled: usize =
                    table.iter().take(16).map(|(_, value)| value.heap_size()).sum();
                table.memory_bytes() + sampled * table.len() / table.len().clamp(1, 16)
            }
        };
        size_of::<Self>() + held
    }
}

/// The offsets of a field's pair: the start of the pair, the start of its value's length, the end
/// of the pair.
fn locate(bytes: &[u8], field: &[u8]) -> Option<(usize, usize, usize)> {
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let (len, name_at) = packed::get(bytes, at);
        let value_at = name_at + len;
        let (value_len, value_start) = packed::get(bytes, value_at);
        at = value_start + value_len;
        if packed::is(&bytes[name_at..value_at], field) {
            return Some((start, value_at, at));
        }
    }
    None
}

fn set_packed(bytes: &mut Vec<u8>, field: &[u8], value: &[u8]) -> bool {
    let Some((_, value_at, end)) = locate(bytes, field) else {
        let more = packed::width(field.len()) + field.len() + packed::width(value.len());
        packed::reserve_lean(bytes, more + value.len());
        packed::put_bytes(bytes, field);
        packed::put_bytes(bytes, value);
        return true;
    };
    let size = packed::width(value.len()) + value.len();
    if size == end - value_at {
        bytes[end - value.len()..end].copy_from_slice(value);
        return false;
    }
    let mut spelled = Vec::with_capacity(size);
    packed::put_bytes(&mut spelled, value);
    packed::reserve_lean(bytes, size.saturating_sub(end - value_at));
    bytes.splice(value_at..end, spelled);
    false
}

struct Pairs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let (field, at) = packed::get_bytes(self.bytes, self.at);
        let (value, at) = packed::get_bytes(self.bytes, at);
        self.at = at;
        Some((field, value))
    }
}

/// Walks the pairs of a hash.
pub struct HashIter<'a>(Walk<'a>);

enum Walk<'a> {
    Packed(Pairs<'a>),
    Table(Box<dyn Iterator<Item = (&'a [u8], &'a [u8])> + 'a>),
}

impl<'a> Iterator for HashIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Walk::Packed(pairs) => pairs.next(),
            Walk::Table(pairs) => pairs.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => "[a-e]{1,2}".prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 0..90),
        ]
    }

    proptest! {
        #[test]
        fn both_forms_behave_as_a_map(
            steps in prop::collection::vec((any::<bool>(), bytes(), bytes()), 0..120),
            entries in 0..40usize,
            value in prop_oneof![Just(64usize), Just(1000)],
        ) {
            let limits = Limits {
                hash_max_listpack_entries: entries,
                hash_max_listpack_value: value,
                ..Limits::default()
            };
            let mut hash = Hash::new();
            let mut model = BTreeMap::new();
            for (set, field, value) in steps {
                if set {
                    let is_new = model.insert(field.clone(), value.clone()).is_none();
                    prop_assert_eq!(hash.set(&field, &value, &limits), is_new);
                } else {
                    prop_assert_eq!(hash.remove(&field), model.remove(&field).is_some());
                }
                prop_assert_eq!(hash.get(&field), model.get(&field).map(Vec::as_slice));
                prop_assert_eq!(hash.len(), model.len());
                prop_assert!(!hash.is_packed() || hash.len() <= entries);
            }
            let seen: BTreeMap<_, _> =
                hash.iter().map(|(field, value)| (field.to_vec(), value.to_vec())).collect();
            prop_assert_eq!(&seen, &model);
            let mut scanned = BTreeMap::new();
            let mut cursor = 0;
            loop {
                cursor = hash.scan(cursor, 3, &mut |field, value| {
                    scanned.insert(field.to_vec(), value.to_vec());
                });
                if cursor == 0 {
                    break;
                }
            }
            prop_assert_eq!(&scanned, &model);
        }
    }

    #[test]
    fn twenty_short_fields_take_little_more_than_their_bytes() {
        let mut hash = Hash::new();
        for number in 0..20 {
            hash.set(format!("field{number:03}").as_bytes(), b"value12345", &Limits::default());
        }
        assert!(hash.memory_bytes() <= 400 + 64, "{}", hash.memory_bytes());
        assert_eq!(size_of::<Hash>(), 32);
    }

    #[test]
    fn a_long_value_or_one_field_too_many_leaves_the_packed_form() {
        let limits = Limits::default();
        let mut hash = Hash::new();
        hash.set(b"a", &[0; 64], &limits);
        assert!(hash.is_packed());
        hash.set(b"a", &[0; 65], &limits);
        assert!(!hash.is_packed());
        let mut hash = Hash::new();
        for number in 0..limits.hash_max_listpack_entries {
            hash.set(number.to_string().as_bytes(), b"", &limits);
        }
        assert!(hash.is_packed());
        hash.set(b"more", b"", &limits);
        assert!(!hash.is_packed());
    }
}
