//! Streams against a plain list of entries.

use super::super::Limits;
use super::groups::{Group, Pending};
use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64, Vec<(u8, Vec<u8>)>),
    Delete(usize),
    MaxLen(usize, bool, usize),
    MinId(u64, bool),
    Reload,
}

fn step() -> impl Strategy<Value = Step> {
    let value = prop_oneof![
        (-70_000i64..70_000).prop_map(|n| n.to_string().into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let pairs = proptest::collection::vec((0u8..3, value), 1..4);
    prop_oneof![
        20 => (0u64..3, 0u64..5, pairs).prop_map(|(ms, seq, pairs)| Step::Add(ms, seq, pairs)),
        6 => any::<usize>().prop_map(Step::Delete),
        2 => (0usize..40, any::<bool>(), 0usize..20).prop_map(|(n, r, l)| Step::MaxLen(n, r, l)),
        2 => (0u64..60, any::<bool>()).prop_map(|(ms, rough)| Step::MinId(ms, rough)),
        1 => Just(Step::Reload),
    ]
}

fn read(entry: &StreamEntry<'_>) -> (Id, Vec<Vec<u8>>) {
    (entry.id, entry.to_vec())
}

fn check(entries: &Entries, model: &[(Id, Vec<Vec<u8>>)]) {
    assert_eq!(entries.len(), model.len());
    assert_eq!(entries.first_id(), model.first().map_or(Id::ZERO, |(id, _)| *id));
    assert_eq!(entries.last_live(), model.last().map(|(id, _)| *id));
    let all: Vec<_> = entries.range(Id::ZERO, Id::MAX).map(|entry| read(&entry)).collect();
    assert_eq!(all, model);
    let mut back: Vec<_> =
        entries.range_back(Id::ZERO, Id::MAX).map(|entry| read(&entry)).collect();
    back.reverse();
    assert_eq!(back, model);
    for (from, to) in [(Id::new(3, 1), Id::new(9, 0)), (Id::new(20, 0), Id::new(20, u64::MAX))] {
        let inside: Vec<Id> =
            model.iter().map(|(id, _)| *id).filter(|id| (from..=to).contains(id)).collect();
        assert_eq!(entries.range(from, to).map(|entry| entry.id).collect::<Vec<_>>(), inside);
        let mut back: Vec<Id> = entries.range_back(from, to).map(|entry| entry.id).collect();
        back.reverse();
        assert_eq!(back, inside);
    }
}

fn reload(entries: &Entries) -> Entries {
    let mut again = Entries {
        last_id: entries.last_id,
        max_deleted_id: entries.max_deleted_id,
        added: entries.added,
        ..Entries::default()
    };
    for (first, pack) in entries.export() {
        assert!(again.import(first, &pack));
    }
    again
}

proptest! {
    #[test]
    fn a_stream_is_a_list_of_entries(steps in proptest::collection::vec(step(), 0..120)) {
        let limits =
            Limits { stream_node_max_entries: 7, stream_node_max_bytes: 300, ..Limits::default() };
        let mut entries = Entries::default();
        let mut model: Vec<(Id, Vec<Vec<u8>>)> = Vec::new();
        for step in steps {
            match step {
                Step::Add(ms, seq, pairs) => {
                    let last = entries.last_id;
                    let id = match ms {
                        0 => Id::new(last.ms, last.seq + 1 + seq),
                        ms => Id::new(last.ms + ms, seq),
                    };
                    let parts: Vec<Vec<u8>> =
                        pairs.into_iter().flat_map(|(f, v)| [vec![b'f', b'0' + f], v]).collect();
                    let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                    entries.append(id, &slices, &limits);
                    model.push((id, parts));
                }
                Step::Delete(at) if !model.is_empty() => {
                    let (id, _) = model.remove(at % model.len());
                    prop_assert!(entries.delete(id));
                    prop_assert!(!entries.delete(id));
                    prop_assert!(entries.max_deleted_id >= id);
                }
                Step::Delete(_) => prop_assert!(!entries.delete(Id::new(1, 1))),
                Step::MaxLen(max, rough, limit) => {
                    let limit = if rough { limit } else { 0 };
                    let gone = entries.trim(Trim::MaxLen(max), rough, limit);
                    prop_assert!(limit == 0 || gone <= limit);
                    if !rough {
                        prop_assert_eq!(gone, model.len().saturating_sub(max));
                    }
                    prop_assert!(gone == 0 || model.len() - gone >= max);
                    model.drain(..gone);
                }
                Step::MinId(ms, rough) => {
                    let min = Id::new(ms, 0);
                    let below = model.iter().filter(|(id, _)| *id < min).count();
                    let gone = entries.trim(Trim::MinId(min), rough, 0);
                    prop_assert!(gone == below || rough && gone < below);
                    model.drain(..gone);
                }
                Step::Reload => entries = reload(&entries),
            }
            check(&entries, &model);
        }
    }

    #[test]
    fn a_damaged_node_is_refused_or_read_but_never_panics(
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut entries = Entries::default();
        for n in 1..9u64 {
            entries.append(Id::new(n, n), &[b"field", b"value", b"n", b"12345"], &Limits::default());
        }
        let (first, mut pack) = entries.export().next().unwrap();
        for (at, byte) in flips {
            let at = at % pack.len();
            pack[at] = byte;
        }
        let mut again = Entries::default();
        if again.import(first, &pack) {
            again.range(Id::ZERO, Id::MAX).for_each(|entry| drop(entry.to_vec()));
        }
    }
}

#[test]
fn a_thousand_small_entries_take_little_room() {
    let mut entries = Entries::default();
    for n in 0..1000u64 {
        let text = n.to_string();
        let pairs: [&[u8]; 4] = [b"name", text.as_bytes(), b"kind", b"move"];
        entries.append(Id::new(1_700_000_000_000 + n, 0), &pairs, &Limits::default());
    }
    assert!(entries.memory_bytes() < 25_000, "{}", entries.memory_bytes());
    assert_eq!(entries.node_count(), 10);
}

#[test]
fn pending_entries_stand_in_group_and_consumer() {
    let mut group = Group::new(Id::ZERO, Some(0));
    let (ann, made) = group.see(b"ann", 5);
    assert!(made);
    let (bob, _) = group.see(b"bob", 6);
    let held = |consumer: &std::sync::Arc<[u8]>| Pending {
        consumer: consumer.clone(),
        delivered_ms: 7,
        deliveries: 1,
    };
    for n in 1..=3 {
        group.assign(Id::new(n, 0), held(&ann));
    }
    group.assign(Id::new(2, 0), held(&bob));
    assert_eq!(group.consumers[&ann].pending.len(), 2);
    assert_eq!(group.consumers[&bob].pending.len(), 1);
    assert!(group.acknowledge(Id::new(2, 0)));
    assert!(!group.acknowledge(Id::new(2, 0)));
    assert_eq!(group.consumers[&bob].pending.len(), 0);
    assert_eq!(group.remove(b"ann"), Some(2));
    assert!(group.pending.is_empty());
}

#[test]
fn radix_tree_nodes_are_counted_as_redis_has_them() {
    let mut entries = Entries::default();
    let limits = Limits { stream_node_max_entries: 1, ..Limits::default() };
    assert_eq!(entries.radix_tree_nodes(), 1);
    // Measured with XINFO STREAM on Redis 7.0.15.
    for (n, nodes) in [(1, 2), (2, 6), (3, 8)] {
        entries.append(Id::new(n, 0), &[b"f", b"v"], &limits);
        assert_eq!(entries.radix_tree_nodes(), nodes, "with {n} entries");
    }
}
