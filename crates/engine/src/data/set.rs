//! A set: sorted integers while all members are integers and few, a table otherwise.
//! Members are byte strings to the outside; `7` and `07` are different members.

use super::num::parse_i64;
use super::table::below;
use super::{Limits, Table, Text};
use rand::Rng;
use std::ops::Deref;

/// The members of one key.
#[derive(Clone)]
pub struct Set(Form);

#[derive(Clone)]
enum Form {
    Small(Ints),
    Table(Box<Table<()>>),
}

/// Sorted integers in the narrowest width that holds them all.
#[derive(Clone)]
enum Ints {
    Two(Vec<i16>),
    Four(Vec<i32>),
    Eight(Vec<i64>),
}

/// One member, spelled out if it is held as an integer.
#[derive(Clone, Debug)]
pub enum Member<'a> {
    /// Held as bytes.
    Bytes(&'a [u8]),
    /// Held as an integer: its digits.
    Digits(Text),
}

impl Deref for Member<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Digits(text) => text,
        }
    }
}

impl Member<'_> {
    /// A copy of its own.
    pub fn to_text(&self) -> Text {
        Text::new(self)
    }
}

impl Default for Set {
    fn default() -> Self {
        Self::new()
    }
}

impl Set {
    /// An empty set; allocates nothing.
    pub fn new() -> Self {
        Self(Form::Small(Ints::Two(Vec::new())))
    }

    /// How many members.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Small(ints) => ints.len(),
            Form::Table(table) => table.len(),
        }
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether members are held as integers.
    pub fn is_ints(&self) -> bool {
        matches!(self.0, Form::Small(_))
    }

    /// Whether `member` is there.
    pub fn contains(&self, member: &[u8]) -> bool {
        match &self.0 {
            Form::Small(ints) => parse_i64(member).is_some_and(|number| ints.find(number).is_ok()),
            Form::Table(table) => table.contains(member),
        }
    }

    /// Adds `member`; says whether it is new.
    pub fn add(&mut self, member: &[u8], limits: &Limits) -> bool {
        if let Form::Small(ints) = &mut self.0 {
            if let Some(number) = parse_i64(member) {
                let is_new = ints.add(number);
                if is_new && ints.len() > limits.set_max_intset_entries {
                    self.spread();
                }
                return is_new;
            }
            self.spread();
        }
        match &mut self.0 {
            Form::Table(table) => table.insert(member, ()).is_none(),
            Form::Small(_) => unreachable!("spread above"),
        }
    }

    fn spread(&mut self) {
        let mut table = Table::new();
        for member in self.iter() {
            table.insert(&member, ());
        }
        self.0 = Form::Table(Box::new(table));
    }

    /// Removes `member`; says whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match &mut self.0 {
            Form::Small(ints) => parse_i64(member).is_some_and(|number| ints.remove(number)),
            Form::Table(table) => table.remove(member).is_some(),
        }
    }

    /// All members, in no promised order; integers ascending.
    pub fn iter(&self) -> SetIter<'_> {
        SetIter(match &self.0 {
            Form::Small(ints) => Walk::Small(ints, 0),
            Form::Table(table) => Walk::Table(Box::new(table.iter().map(|(member, ())| member))),
        })
    }

    /// Visits some members from the cursor on; gives the next cursor, 0 at the end.
    pub fn scan(&self, cursor: u64, count: usize, visit: &mut dyn FnMut(&[u8])) -> u64 {
        match &self.0 {
            Form::Small(_) => {
                self.iter().for_each(|member| visit(&member));
                0
            }
            Form::Table(table) => table.scan(cursor, count, &mut |member, ()| visit(member)),
        }
    }

    /// Some member, each with the same chance.
    pub fn random<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<Member<'_>> {
        match &self.0 {
            Form::Small(ints) if ints.len() == 0 => None,
            Form::Small(ints) => {
                let at = below(rng, ints.len() as u64) as usize;
                Some(Member::Digits(Text::from_i64(ints.get(at))))
            }
            Form::Table(table) => table.random(rng).map(|(member, ())| Member::Bytes(member)),
        }
    }

    /// Removes some member and gives it.
    pub fn pop<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Option<Text> {
        let member = self.random(rng)?.to_text();
        self.remove(&member);
        Some(member)
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let held = match &self.0 {
            Form::Small(Ints::Two(ints)) => ints.capacity() * 2,
            Form::Small(Ints::Four(ints)) => ints.capacity() * 4,
            Form::Small(Ints::Eight(ints)) => ints.capacity() * 8,
            Form::Table(table) => table.memory_bytes(),
        };
        size_of::<Self>() + held
    }
}

impl Ints {
    fn len(&self) -> usize {
        match self {
            Self::Two(ints) => ints.len(),
            Self::Four(ints) => ints.len(),
            Self::Eight(ints) => ints.len(),
        }
    }

    fn get(&self, at: usize) -> i64 {
        match self {
            Self::Two(ints) => i64::from(ints[at]),
            Self::Four(ints) => i64::from(ints[at]),
            Self::Eight(ints) => ints[at],
        }
    }

    fn find(&self, number: i64) -> Result<usize, usize> {
        match self {
            Self::Two(ints) => ints.binary_search_by(|&held| i64::from(held).cmp(&number)),
            Self::Four(ints) => ints.binary_search_by(|&held| i64::from(held).cmp(&number)),
            Self::Eight(ints) => ints.binary_search(&number),
        }
    }

    fn add(&mut self, number: i64) -> bool {
        let Err(at) = self.find(number) else { return false };
        self.widen_for(number);
        match self {
            Self::Two(ints) => insert_lean(ints, at, number as i16),
            Self::Four(ints) => insert_lean(ints, at, number as i32),
            Self::Eight(ints) => insert_lean(ints, at, number),
        }
        true
    }

    fn widen_for(&mut self, number: i64) {
        if let Self::Two(ints) = self
            && i16::try_from(number).is_err()
        {
            *self = Self::Four(ints.iter().map(|&held| i32::from(held)).collect());
        }
        if let Self::Four(ints) = self
            && i32::try_from(number).is_err()
        {
            *self = Self::Eight(ints.iter().map(|&held| i64::from(held)).collect());
        }
    }

    fn remove(&mut self, number: i64) -> bool {
        let Ok(at) = self.find(number) else { return false };
        match self {
            Self::Two(ints) => drop(ints.remove(at)),
            Self::Four(ints) => drop(ints.remove(at)),
            Self::Eight(ints) => drop(ints.remove(at)),
        }
        true
    }
}

fn insert_lean<T>(ints: &mut Vec<T>, at: usize, number: T) {
    if ints.len() == ints.capacity() {
        ints.reserve_exact(ints.len() / 4 + 4);
    }
    ints.insert(at, number);
}

/// Walks the members of a set.
pub struct SetIter<'a>(Walk<'a>);

enum Walk<'a> {
    Small(&'a Ints, usize),
    Table(Box<dyn Iterator<Item = &'a [u8]> + 'a>),
}

impl<'a> Iterator for SetIter<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Walk::Small(ints, at) => {
                let number = (*at < ints.len()).then(|| ints.get(*at))?;
                *at += 1;
                Some(Member::Digits(Text::from_i64(number)))
            }
            Walk::Table(members) => members.next().map(Member::Bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use std::collections::BTreeSet;

    fn member() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            12 => (-20i64..20).prop_map(|number| number.to_string().into_bytes()),
            4 => any::<i32>().prop_map(|number| number.to_string().into_bytes()),
            4 => any::<i64>().prop_map(|number| number.to_string().into_bytes()),
            1 => prop::collection::vec(any::<u8>(), 0..40),
            1 => Just(b"007".to_vec()),
        ]
    }

    proptest! {
        #[test]
        fn both_forms_behave_as_a_set(
            steps in prop::collection::vec((0..4u8, member()), 0..100),
            entries in prop_oneof![Just(512usize), 0..30usize],
        ) {
            let limits = Limits { set_max_intset_entries: entries, ..Limits::default() };
            let mut rng = StdRng::seed_from_u64(7);
            let mut set = Set::new();
            let mut model = BTreeSet::new();
            for (what, member) in steps {
                match what {
                    0 => prop_assert_eq!(set.remove(&member), model.remove(&member)),
                    1 if model.len() > 20 => {
                        let gone = set.pop(&mut rng).unwrap();
                        prop_assert!(model.remove(gone.as_bytes()));
                    }
                    _ => prop_assert_eq!(set.add(&member, &limits), model.insert(member.clone())),
                }
                prop_assert_eq!(set.contains(&member), model.contains(&member));
                prop_assert_eq!(set.len(), model.len());
                prop_assert!(!set.is_ints() || set.len() <= entries);
            }
            let seen: BTreeSet<Vec<u8>> = set.iter().map(|member| member.to_vec()).collect();
            prop_assert_eq!(&seen, &model);
            let mut scanned = BTreeSet::new();
            let mut cursor = 0;
            loop {
                cursor = set.scan(cursor, 3, &mut |member| {
                    scanned.insert(member.to_vec());
                });
                if cursor == 0 {
                    break;
                }
            }
            prop_assert_eq!(&scanned, &model);
        }
    }

    #[test]
    fn integers_take_two_bytes_while_they_fit() {
        let mut set = Set::new();
        for number in 0..500 {
            set.add(number.to_string().as_bytes(), &Limits::default());
        }
        assert!(set.is_ints());
        assert!(set.memory_bytes() < 1400, "{}", set.memory_bytes());
        set.add(b"x", &Limits::default());
        assert!(!set.is_ints());
        assert_eq!(set.len(), 501);
    }
}
