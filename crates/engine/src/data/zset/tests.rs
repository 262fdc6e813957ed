//! Sorted sets against a plain sorted list, under random steps.

use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

/// The plain definition: a map, sorted when asked.
#[derive(Default)]
struct Model(BTreeMap<Vec<u8>, f64>);

impl Model {
    fn sorted(&self) -> Vec<(Vec<u8>, f64)> {
        let mut all: Vec<_> = self.0.iter().map(|(m, s)| (m.clone(), *s)).collect();
        all.sort_by(|a, b| compare(a.1, &a.0, b.1, &b.0));
        all
    }
}

fn listed(pairs: ZsetIter<'_>) -> Vec<(Vec<u8>, f64)> {
    pairs.map(|(member, score)| (member.to_vec(), score)).collect()
}

fn agree(zset: &Zset, model: &Model) {
    let sorted = model.sorted();
    assert_eq!(listed(zset.iter()), sorted);
    let mut down = listed(zset.range_rev(0..zset.len()));
    down.reverse();
    assert_eq!(down, sorted);
    assert_eq!(zset.len(), sorted.len());
    for (rank, (member, score)) in sorted.iter().enumerate() {
        assert_eq!(zset.rank(member), Some(rank));
        assert_eq!(zset.rank_rev(member), Some(sorted.len() - 1 - rank));
        assert_eq!(zset.score(member), Some(*score));
    }
    let (low, high) = (sorted.len() / 3, sorted.len() * 2 / 3);
    assert_eq!(listed(zset.range(low..high)), sorted[low..high]);
    let mut down = listed(zset.range_rev(low..high));
    down.reverse();
    assert_eq!(down, sorted[low..high]);
}

#[test]
fn a_large_sorted_set_agrees_with_a_full_sort() {
    let limits = Limits::default();
    for (seed, scores) in [(1, 1_000_000), (2, 3), (3, 1)] {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut zset, mut model) = (Zset::new(), Model::default());
        for round in 0..16_000u64 {
            let member = format!("m{}", below(&mut rng, 5_000)).into_bytes();
            // Grows first, shrinks later, so that chunks split, merge and vanish.
            if below(&mut rng, 10) < if round < 9_000 { 9 } else { 2 } {
                let score = below(&mut rng, scores) as f64;
                let expected = match model.0.insert(member.clone(), score) {
                    None => Outcome::Added,
                    Some(old) if old == score => Outcome::Same,
                    Some(_) => Outcome::Updated,
                };
                assert_eq!(zset.insert(&member, score, &limits), expected);
            } else {
                assert_eq!(zset.remove(&member), model.0.remove(&member));
            }
            if round % 3_999 == 0 {
                agree(&zset, &model);
            }
        }
        agree(&zset, &model);
        while let Some((member, score)) = zset.pop_min() {
            assert_eq!(model.0.remove(member.as_bytes()), Some(score));
            if let Some((member, score)) = zset.pop_max() {
                assert_eq!(model.0.remove(member.as_bytes()), Some(score));
            }
        }
        assert!(model.0.is_empty());
    }
}

#[test]
fn ascending_loads_leave_full_chunks() {
    let mut zset = Zset::new();
    for number in 0..20_000 {
        zset.insert(format!("{number:08}").as_bytes(), f64::from(number), &Limits::default());
    }
    assert_eq!(zset.rank(b"00012345"), Some(12_345));
    assert!(zset.memory_bytes() < 20_000 * 80, "{}", zset.memory_bytes());
}

#[test]
fn minus_zero_is_zero() {
    for entries in [0, 128] {
        let limits = Limits { zset_max_listpack_entries: entries, ..Limits::default() };
        let mut zset = Zset::new();
        zset.insert(b"b", 0.0, &limits);
        zset.insert(b"a", -0.0, &limits);
        zset.insert(b"c", -0.0, &limits);
        let members: Vec<_> = zset.iter().map(|(member, _)| member).collect();
        assert_eq!(members, [b"a", b"b", b"c"]);
        assert_eq!(zset.insert(b"b", -0.0, &limits), Outcome::Same);
        // As in Redis, only the large form shows the sign.
        let sign = zset.score(b"a").map(f64::is_sign_negative);
        assert_eq!(sign, Some(entries == 0));
    }
}

#[test]
fn what_fits_is_small_and_all_else_keeps_its_form() {
    let (limits, large) =
        (Limits::default(), Limits { zset_max_listpack_entries: 0, ..Limits::default() });
    for (other, fits) in [("x".repeat(64), true), ("x".repeat(65), false)] {
        let mut zset = Zset::new();
        zset.insert(b"a", -0.0, &large);
        zset.insert(other.as_bytes(), 1.0, &large);
        let shrunk = zset.shrunk(&limits);
        assert_eq!((shrunk.is_packed(), shrunk.len()), (fits, 2));
        assert_eq!(shrunk.score(b"a").map(f64::is_sign_negative), Some(!fits));
        assert_eq!(shrunk.score(other.as_bytes()), Some(1.0));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>, f64),
    Remove(Vec<u8>),
    RemoveRange(usize, usize),
}

fn member() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[a-d]{1,3}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..80),
    ]
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-5i32..5).prop_map(f64::from),
        any::<f64>().prop_filter("a number", |score| !score.is_nan()),
        Just(f64::INFINITY),
        Just(-0.0),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (member(), score()).prop_map(|(member, score)| Step::Insert(member, score)),
        2 => member().prop_map(Step::Remove),
        1 => (0..40usize, 0..4usize).prop_map(|(start, len)| Step::RemoveRange(start, len)),
    ];
    prop::collection::vec(step, 0..150)
}

proptest! {
    #[test]
    fn both_forms_agree_with_the_plain_definition(
        steps in steps(),
        entries in prop_oneof![Just(128usize), 0..20usize],
        bounds in (score(), any::<bool>(), score(), any::<bool>()),
    ) {
        let limits = Limits { zset_max_listpack_entries: entries, ..Limits::default() };
        let (mut zset, mut model) = (Zset::new(), Model::default());
        for step in steps {
            match step {
                Step::Insert(member, score) => {
                    let outcome = zset.insert(&member, score, &limits);
                    let old = model.0.get(&member).copied();
                    prop_assert_eq!(outcome == Outcome::Added, old.is_none());
                    prop_assert_eq!(outcome == Outcome::Same, old == Some(score));
                    if outcome != Outcome::Same {
                        model.0.insert(member, score);
                    }
                }
                Step::Remove(member) => {
                    prop_assert_eq!(zset.remove(&member), model.0.remove(&member));
                }
                Step::RemoveRange(start, len) => {
                    let gone: Vec<_> =
                        model.sorted().into_iter().skip(start).take(len).map(|(m, _)| m).collect();
                    prop_assert_eq!(zset.remove_range(start..start + len), gone.len());
                    model.0.retain(|member, _| !gone.contains(member));
                }
            }
        }
        agree(&zset, &model);
        let (low, low_out, high, high_out) = bounds;
        let range = zset.score_range(
            ScoreBound { value: low, exclusive: low_out },
            ScoreBound { value: high, exclusive: high_out },
        );
        let expected: Vec<_> = model
            .sorted()
            .into_iter()
            .filter(|(_, s)| if low_out { *s > low } else { *s >= low })
            .filter(|(_, s)| if high_out { *s < high } else { *s <= high })
            .collect();
        prop_assert_eq!(listed(zset.range(range)), expected);
        let mut scanned = BTreeMap::new();
        let mut cursor = 0;
        loop {
            cursor = zset.scan(cursor, 3, &mut |member, score| {
                scanned.insert(member.to_vec(), score);
            });
            if cursor == 0 {
                break;
            }
        }
        prop_assert_eq!(scanned, model.0);
    }

    #[test]
    fn ranges_of_names_hold_what_lies_within(
        members in prop::collection::btree_set("[a-c]{0,3}", 0..30),
        large: bool,
        low in "[a-c]{0,3}",
        high in "[a-c]{0,3}",
        inclusive: bool,
    ) {
        let entries = if large { 0 } else { 128 };
        let limits = Limits { zset_max_listpack_entries: entries, ..Limits::default() };
        let mut zset = Zset::new();
        for member in &members {
            zset.insert(member.as_bytes(), 1.0, &limits);
        }
        let (min, max) = if inclusive {
            (LexBound::Inclusive(low.as_bytes()), LexBound::Inclusive(high.as_bytes()))
        } else {
            (LexBound::Exclusive(low.as_bytes()), LexBound::Exclusive(high.as_bytes()))
        };
        let found: Vec<_> = zset.range(zset.lex_range(min, max)).map(|(m, _)| m.to_vec()).collect();
        let expected: Vec<_> = members
            .iter()
            .filter(|m| if inclusive { **m >= low && **m <= high } else { **m > low && **m < high })
            .map(|m| m.clone().into_bytes())
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(zset.lex_range(LexBound::Lowest, LexBound::Highest), 0..members.len());
        prop_assert!(zset.lex_range(LexBound::Highest, LexBound::Lowest).is_empty());
    }
}
