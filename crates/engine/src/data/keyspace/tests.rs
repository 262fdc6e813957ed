//! The keyspace against a plain map with deadlines, under random steps.

use super::super::slab::Slab;
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet as Set};

#[derive(Clone, Debug)]
enum Step {
    Insert(u8, i64),
    Replace(u8, i64),
    Remove(u8),
    Expire(u8, i64),
    Persist(u8),
    Touch(u8, u32),
    TakeDue(i64, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..80u8;
    let step = prop_oneof![
        4 => (key.clone(), any::<i64>()).prop_map(|(k, v)| Step::Insert(k, v)),
        2 => (key.clone(), any::<i64>()).prop_map(|(k, v)| Step::Replace(k, v)),
        5 => key.clone().prop_map(Step::Remove),
        5 => (key.clone(), 0..60i64).prop_map(|(k, at)| Step::Expire(k, at)),
        1 => key.clone().prop_map(Step::Persist),
        1 => (key, any::<u32>()).prop_map(|(k, stamp)| Step::Touch(k, stamp)),
        1 => (0..60i64, 1..5usize).prop_map(|(now, max)| Step::TakeDue(now, max)),
    ];
    prop::collection::vec(step, 0..400)
}

fn name(key: u8) -> Vec<u8> {
    format!("k{key}").into_bytes()
}

fn number(value: Option<&Value>) -> Option<i64> {
    match value {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    }
}

proptest! {
    #[test]
    fn keys_and_deadlines_follow_a_simple_model(start in 0..80u8, steps in steps()) {
        let mut keys = Keyspace::new();
        let mut model: BTreeMap<Vec<u8>, (i64, Option<i64>)> = BTreeMap::new();
        for key in 0..start {
            keys.insert(&name(key), Value::Int(0));
            model.insert(name(key), (0, None));
        }
        for step in steps {
            match step {
                Step::Insert(key, value) => {
                    let old = keys.insert(&name(key), Value::Int(value));
                    let expected = model.insert(name(key), (value, None)).map(|(value, _)| value);
                    prop_assert_eq!(number(old.as_ref()), expected);
                }
                Step::Replace(key, value) => {
                    keys.replace_value(&name(key), Value::Int(value));
                    model.entry(name(key)).or_default().0 = value;
                }
                Step::Remove(key) => {
                    let old = keys.remove(&name(key));
                    let expected = model.remove(&name(key)).map(|(value, _)| value);
                    prop_assert_eq!(number(old.as_ref()), expected);
                }
                Step::Expire(key, at) => {
                    let held = model.get_mut(&name(key));
                    prop_assert_eq!(keys.set_expire(&name(key), at), held.is_some());
                    if let Some(held) = held {
                        held.1 = Some(at);
                    }
                }
                Step::Persist(key) => {
                    let had = model.get_mut(&name(key)).and_then(|held| held.1.take());
                    prop_assert_eq!(keys.persist(&name(key)), had.is_some());
                }
                Step::Touch(key, stamp) => {
                    keys.note_uses_at(stamp);
                    if keys.get_touched(&name(key)).is_some() {
                        prop_assert_eq!(keys.stamp(&name(key)), Some(stamp & STAMP));
                    }
                }
                Step::TakeDue(now, max) => {
                    let due: Set<Vec<u8>> = model
                        .iter()
                        .filter(|(_, held)| held.1.is_some_and(|at| at <= now))
                        .map(|(key, _)| key.clone())
                        .collect();
                    let taken = keys.next_due(now, max);
                    prop_assert_eq!(taken.len(), due.len().min(max));
                    for key in taken {
                        prop_assert!(due.contains(key.as_bytes()));
                        keys.remove(&key);
                        model.remove(key.as_bytes());
                    }
                }
            }
        }
        let seen: BTreeMap<Vec<u8>, (i64, Option<i64>)> = keys
            .iter_with_expiry()
            .map(|(key, value, at)| (key.to_vec(), (number(Some(value)).unwrap(), at)))
            .collect();
        prop_assert_eq!(&seen, &model);
        for (key, (_, at)) in &model {
            prop_assert_eq!(keys.expire_at(key), *at);
        }
        let mut deadlines: Vec<i64> = model.values().filter_map(|held| held.1).collect();
        deadlines.sort_unstable();
        prop_assert_eq!(keys.expires_len(), deadlines.len());
        prop_assert_eq!(keys.next_deadline(), deadlines.first().copied());
        prop_assert_eq!(keys.deadlines.order.len(), deadlines.len());
        let mean = deadlines.iter().sum::<i64>() / (deadlines.len() as i64).max(1);
        prop_assert_eq!(keys.avg_ttl(0), mean);
    }
}

#[test]
fn an_entry_takes_56_bytes() {
    assert_eq!(size_of::<SlabEntry<Value>>(), 56);
    let mut slab: Slab<Value> = Slab::new();
    let entry = SlabEntry { key: Text::default(), value: Value::Int(1), hash: 0, meta: 0 };
    slab.put(entry);
    assert!(slab.memory_bytes() <= 4 * 56 + 4 * 24);
}

#[test]
fn every_use_is_noted_and_no_deadline_lost_by_it() {
    let mut keys = Keyspace::new();
    keys.note_uses_at(7);
    keys.insert(b"a", Value::Int(1));
    assert_eq!(keys.stamp(b"a"), Some(7));
    assert!(keys.set_expire(b"a", 100));
    keys.note_uses_at(8);
    assert_eq!(keys.stamp(b"a"), Some(7));
    keys.get(b"a");
    assert_eq!(keys.stamp(b"a"), Some(7), "a look from aside is no use");
    keys.get_touched(b"a");
    assert_eq!(keys.stamp(b"a"), Some(8));
    keys.note_uses_at(u32::MAX);
    keys.replace_value(b"a", Value::Int(2));
    assert_eq!(keys.stamp(b"a"), Some(STAMP));
    assert_eq!(keys.expire_at(b"a"), Some(100));
}

#[test]
fn extreme_deadlines_do_not_overflow() {
    let mut keys = Keyspace::new();
    for (key, at) in [(b"a", i64::MAX), (b"b", i64::MAX), (b"c", i64::MIN)] {
        keys.insert(key, Value::Int(1));
        keys.set_expire(key, at);
    }
    assert!(keys.avg_ttl(i64::MIN) > 0);
    assert_eq!(keys.next_due(i64::MIN, 9).len(), 1);
    assert_eq!(keys.next_due(i64::MAX, 9).len(), 3);
}
