//! The table against a plain map; a scan misses nothing that stayed, however the table grows and shrinks.

use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::{HashMap, HashSet};

fn key(number: u64) -> Vec<u8> {
    format!("key:{number}:{}", "x".repeat((number % 30) as usize)).into_bytes()
}

#[test]
fn a_table_behaves_as_a_map_through_growth_and_shrinking() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut table = Table::new();
    let mut model = HashMap::new();
    for round in 0..60_000u64 {
        // Grows past the split of the index, then shrinks to almost nothing.
        let grow = round < 30_000;
        let number = below(&mut rng, 20_000);
        if below(&mut rng, 10) < if grow { 8 } else { 1 } {
            assert_eq!(table.insert(&key(number), round), model.insert(key(number), round));
        } else {
            assert_eq!(table.remove(&key(number)), model.remove(&key(number)));
        }
        if round % 10_000 == 9_999 {
            let seen: HashMap<Vec<u8>, u64> = table.iter().map(|(k, v)| (k.to_vec(), *v)).collect();
            assert_eq!(seen, model);
        }
    }
    assert_eq!(table.len(), model.len());
    for (key, value) in &model {
        assert_eq!(table.get(key), Some(value));
    }
    for key in model.keys() {
        assert!(table.remove(key).is_some());
    }
    assert!(table.is_empty());
    assert_eq!(table.slab.high(), 0, "an empty table has no slots");
}

#[test]
fn slots_stay_at_least_half_used_while_entries_go() {
    let mut table = Table::new();
    for number in 0..5_000 {
        table.insert(&key(number), ());
    }
    let mut rng = StdRng::seed_from_u64(2);
    let mut left: Vec<u64> = (0..5_000).collect();
    while left.len() > 1 {
        let gone = left.swap_remove(below(&mut rng, left.len() as u64) as usize);
        table.remove(&key(gone));
        assert!(table.slab.high() as usize <= 2 * table.len() + 70, "{}", table.len());
    }
    assert!(table.memory_bytes() < 8_000, "{}", table.memory_bytes());
}

#[test]
fn a_small_table_is_small() {
    let mut table = Table::new();
    table.insert(b"a", ());
    assert!(table.memory_bytes() < 400, "{}", table.memory_bytes());
}

#[test]
fn random_picks_reach_every_entry_evenly() {
    let mut table = Table::new();
    for number in 0..100 {
        table.insert(&key(number), number);
    }
    for number in 0..80 {
        table.remove(&key(number));
    }
    let mut rng = StdRng::seed_from_u64(3);
    let mut seen: HashMap<u64, u32> = HashMap::new();
    for _ in 0..20_000 {
        *seen.entry(*table.random(&mut rng).unwrap().1).or_default() += 1;
    }
    assert_eq!(seen.len(), 20);
    assert!(seen.values().all(|&times| (800..1200).contains(&times)), "{seen:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Remove(u64),
    Scan(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0..200u64).prop_map(Step::Insert),
        3 => (0..200u64).prop_map(Step::Remove),
        1 => (1..9usize).prop_map(Step::Scan),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    #[test]
    fn a_scan_misses_no_entry_that_stays(start in 0..200u64, steps in steps()) {
        let mut table = Table::new();
        for number in 0..start {
            table.insert(&key(number), number);
        }
        let mut stayed: HashSet<Vec<u8>> = table.iter().map(|(key, _)| key.to_vec()).collect();
        let mut seen = HashSet::new();
        let mut cursor = None;
        for step in steps {
            match step {
                Step::Insert(number) => drop(table.insert(&key(number), number)),
                Step::Remove(number) => {
                    table.remove(&key(number));
                    stayed.remove(&key(number));
                }
                Step::Scan(count) if cursor != Some(0) => {
                    let next = table.scan(cursor.unwrap_or(0), count, &mut |key, _| {
                        seen.insert(key.to_vec());
                    });
                    cursor = Some(next);
                }
                Step::Scan(_) => {}
            }
        }
        while cursor != Some(0) {
            cursor = Some(table.scan(cursor.unwrap_or(0), 3, &mut |key, _| {
                seen.insert(key.to_vec());
            }));
        }
        prop_assert!(stayed.is_subset(&seen));
    }

    #[test]
    fn any_cursor_is_harmless(cursor: u64, count: usize) {
        let mut table = Table::new();
        table.insert(b"a", ());
        let next = table.scan(cursor, count, &mut |_, ()| {});
        prop_assert_eq!(next, 0);
    }
}
