//! Lists against a plain deque, under random steps.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Step {
    PushBack(Vec<u8>),
    PushFront(Vec<u8>),
    PopBack,
    PopFront,
    Set(usize, Vec<u8>),
    Insert(usize, Vec<u8>),
    Remove(usize),
    RemoveValue(Vec<u8>, usize, bool),
    Trim(usize, usize),
    Around(Vec<u8>, Vec<u8>, bool),
}

fn element() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[a-c]{0,2}".prop_map(String::into_bytes),
        2 => (100..400usize).prop_map(|len| vec![b'm'; len]),
        1 => (3000..20_000usize).prop_map(|len| vec![b'l'; len]),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => element().prop_map(Step::PushBack),
        8 => element().prop_map(Step::PushFront),
        2 => Just(Step::PopBack),
        2 => Just(Step::PopFront),
        3 => (any::<usize>(), element()).prop_map(|(at, e)| Step::Set(at, e)),
        5 => (any::<usize>(), element()).prop_map(|(at, e)| Step::Insert(at, e)),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => (element(), 1..5usize, any::<bool>()).prop_map(|(e, n, b)| Step::RemoveValue(e, n, b)),
        1 => (0..4usize, 0..4usize).prop_map(|(a, b)| Step::Trim(a, b)),
        1 => (element(), element(), any::<bool>()).prop_map(|(p, e, b)| Step::Around(p, e, b)),
    ];
    prop::collection::vec(step, 0..150)
}

fn apply(list: &mut List, model: &mut VecDeque<Vec<u8>>, step: Step) {
    let len = model.len();
    match step {
        Step::PushBack(e) => {
            list.push_back(&e);
            model.push_back(e);
        }
        Step::PushFront(e) => {
            list.push_front(&e);
            model.push_front(e);
        }
        Step::PopBack => assert_eq!(list.pop_back().map(Text::into_vec), model.pop_back()),
        Step::PopFront => assert_eq!(list.pop_front().map(Text::into_vec), model.pop_front()),
        Step::Set(at, e) => {
            let at = at % (len + 1);
            assert_eq!(list.set(at, &e), at < len);
            if let Some(held) = model.get_mut(at) {
                *held = e;
            }
        }
        Step::Insert(at, e) => {
            let at = at % (len + 1);
            list.insert(at, &e);
            model.insert(at, e);
        }
        Step::Remove(at) => {
            let at = at % (len + 1);
            assert_eq!(list.remove(at), model.remove(at).is_some());
        }
        Step::RemoveValue(e, max, from_back) => {
            let mut removed = 0;
            while removed < max {
                let found = if from_back {
                    model.iter().rposition(|held| *held == e)
                } else {
                    model.iter().position(|held| *held == e)
                };
                let Some(at) = found else { break };
                model.remove(at);
                removed += 1;
            }
            assert_eq!(list.remove_value(&e, max, from_back), removed);
        }
        Step::Trim(front, back) => {
            let end = len.saturating_sub(back);
            list.trim(front..end);
            *model = model.iter().take(end).skip(front).cloned().collect();
        }
        Step::Around(pivot, e, before) => {
            let found = model.iter().position(|held| *held == pivot);
            let told =
                if before { list.insert_before(&pivot, &e) } else { list.insert_after(&pivot, &e) };
            assert_eq!(told, found.is_some());
            if let Some(at) = found {
                model.insert(at + usize::from(!before), e);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_list_behaves_as_a_queue_of_elements(steps in steps()) {
        let mut list = List::new();
        let mut model = VecDeque::new();
        for step in steps {
            apply(&mut list, &mut model, step);
            prop_assert_eq!(list.len(), model.len());
        }
        let up: VecDeque<Vec<u8>> = list.iter().map(<[u8]>::to_vec).collect();
        prop_assert_eq!(&up, &model);
        let mut down: Vec<Vec<u8>> = list.iter_rev().map(<[u8]>::to_vec).collect();
        down.reverse();
        prop_assert_eq!(VecDeque::from(down), model.clone());
        for at in 0..=model.len() {
            prop_assert_eq!(list.get(at), model.get(at).map(Vec::as_slice));
            prop_assert_eq!(list.range(at..list.len()).next(), model.get(at).map(Vec::as_slice));
            let before = at.checked_sub(1).and_then(|at| model.get(at)).map(Vec::as_slice);
            prop_assert_eq!(list.iter_rev_from(at).next(), before);
        }
        prop_assert!(list.chunks.iter().all(|chunk| chunk.len() > 0));
    }
}

#[test]
fn a_queue_that_turns_over_stays_small() {
    let mut list = List::new();
    for number in 0..100_000 {
        list.push_back(format!("job:{number}").as_bytes());
        if number >= 10 {
            list.pop_front();
        }
    }
    assert_eq!(list.len(), 10);
    assert!(list.memory_bytes() < 1_500, "{}", list.memory_bytes());
    for number in 0..100_000 {
        list.push_front(format!("job:{number}").as_bytes());
        list.pop_back();
    }
    assert!(list.memory_bytes() < 1_500, "{}", list.memory_bytes());
}

#[test]
fn long_lists_cost_little_more_than_their_bytes() {
    for front in [false, true] {
        let mut list = List::new();
        for number in 0..100_000 {
            let element = format!("{number:08}");
            if front {
                list.push_front(element.as_bytes());
            } else {
                list.push_back(element.as_bytes());
            }
        }
        assert!(list.memory_bytes() < 100_000 * 11, "{}", list.memory_bytes());
        assert_eq!(list.get(50_000), Some(if front { &b"00049999"[..] } else { b"00050000" }));
    }
}

#[test]
fn equal_elements_of_a_long_list_go_in_one_pass() {
    let mut list = List::new();
    for number in 0..200_000 {
        list.push_back(if number % 2 == 0 { b"a" } else { b"b" });
    }
    assert_eq!(list.remove_value(b"a", usize::MAX, true), 100_000);
    assert_eq!(list.len(), 100_000);
    assert!(list.iter().all(|element| element == b"b"));
}
