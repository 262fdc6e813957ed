//! The stride: how many values one pipeline reads. Documents have a few hundred bytes as a rule, and some have
//! megabytes: many small ones share a trip, and a few large ones fill one.

use redis::Value;

const FIRST: usize = 32;
const MOST: usize = 256;
const FEWEST: usize = 4;
/// Bytes of one pipeline below which the next one reads more.
const SMALL: usize = 256 * 1024;
/// Bytes of one pipeline above which the next one reads less.
const LARGE: usize = 1024 * 1024;

/// How many values the next pipeline reads.
#[derive(Debug)]
pub(super) struct Stride(usize);

impl Default for Stride {
    fn default() -> Self {
        Stride(FIRST)
    }
}

impl Stride {
    pub(super) fn len(&self) -> usize {
        self.0
    }

    /// Learns from the values that one pipeline brought.
    pub(super) fn learn(&mut self, values: &[Value]) {
        match values.iter().map(size).sum::<usize>() {
            ..SMALL => self.0 = (self.0 * 2).min(MOST),
            SMALL..LARGE => {}
            _ => self.0 = (self.0 / 2).max(FEWEST),
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::BulkString(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_share_a_trip_and_large_ones_fill_it() {
        let mut stride = Stride::default();
        let small = vec![Value::BulkString(vec![0; 100]); 32];
        (0..10).for_each(|_| stride.learn(&small));
        assert_eq!(stride.len(), MOST);
        let large = vec![Value::Array(vec![Value::BulkString(vec![0; LARGE])])];
        (0..20).for_each(|_| stride.learn(&large));
        assert_eq!(stride.len(), FEWEST);
    }
}
