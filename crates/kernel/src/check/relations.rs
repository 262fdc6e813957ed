//! The relations of a batch: from a key to the indexes that must list it, from a key to its other half, from a
//! state to the list that confirms it. `entries.rs` goes from an index to the keys it names.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use redis::Cmd;

use super::Run;
use super::batch::{CheckedKey, command};
use super::report::{Finding, Trouble};
use super::suspect::{
    Case, Place, RelatedKey, Suspect, contains, is_in, place, reads_text, source,
};
use crate::fault::Fault;
use crate::keyspace::{Key, KeyDef, Placed, Type};
use crate::reply;

/// Beyond so many entries a list is not remembered.
pub(super) const REMEMBERED: usize = 4_000_000;
/// Entries of a list that are remembered with one trip.
const LONG_PAGE: usize = 10_000;

/// A state with the lists of which one confirms it.
struct StateClaim<'s> {
    one: &'s CheckedKey<'s>,
    placed: &'static Placed,
    places: Vec<(&'static KeyDef, Key)>,
    entry: &'s str,
}

impl Run<'_> {
    pub(super) async fn relations(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        self.listed(seen).await?;
        self.halves(seen).await?;
        self.placed(seen).await?;
        self.entries(seen).await
    }

    /// Every key is in the indexes that must list it.
    async fn listed(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        let mut asked = Vec::new();
        for (one, def, place) in self.wanted_places(seen).await? {
            let index = def.index.expect("a place is an index");
            match (place, one.found.param(index.fills)) {
                (Ok(Some(place)), Some(entry)) => asked.push((one, def, place, entry.as_bytes())),
                (Err(said), Some(_)) => {
                    self.report(Finding::of(Trouble::BadValue, one.found.def, one.key, said));
                }
                _ => {}
            }
        }
        let cmds: Vec<Cmd> = asked
            .iter()
            .map(|(_, def, place, entry)| contains(def, place.as_bytes(), entry))
            .collect();
        let answers = self.all(&cmds).await?;
        for ((one, def, place, entry), answer) in asked.into_iter().zip(&answers) {
            if !is_in(answer) {
                let case = Case::Missing { index: def, place, entry: entry.to_vec() };
                let layout = one.layout(self.options.layout);
                self.suspect(Suspect {
                    target: Some(target(one)),
                    ..Suspect::new(case, one.found.def, one.key.to_vec(), layout)
                })
                .await?;
            }
        }
        Ok(())
    }

    /// The index that must list each key: by its text, which was read, by its fields, or by its name alone.
    async fn wanted_places<'s>(
        &self,
        seen: &'s [CheckedKey<'s>],
    ) -> Result<Vec<(&'s CheckedKey<'s>, &'static KeyDef, Place)>, Fault> {
        let (mut wanted, mut by_fields) = (Vec::new(), Vec::new());
        for one in seen {
            wanted.extend(one.places.iter().map(|(def, place)| (one, *def, place.clone())));
            let def = one.found.def;
            for (index_def, index) in
                self.complete.get(&(def.module, def.name)).into_iter().flatten()
            {
                if !reads_text(*index) {
                    by_fields.push((one, *index_def, *index));
                }
            }
        }
        let cmds: Vec<Cmd> =
            by_fields.iter().filter_map(|(one, _, index)| source(one.key, *index)).collect();
        let mut answers = self.all(&cmds).await?.into_iter();
        for (one, def, index) in by_fields {
            let answer = source(one.key, index).and_then(|_| answers.next());
            let answer = answer.unwrap_or(redis::Value::Nil);
            let layout = one.layout(self.options.layout);
            let params = one.found.params.iter().copied();
            wanted.push((one, def, place(params, def, index, &answer, layout)));
        }
        Ok(wanted)
    }

    /// Every key that is nothing without another has it.
    async fn halves(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        let mut asked = Vec::new();
        for one in seen {
            let Some(belongs) = one.found.def.belongs else { continue };
            let renamed: Vec<_> = belongs
                .with
                .iter()
                .filter_map(|(there, here)| Some((*there, one.found.param(here)?)))
                .collect();
            if let Some((_, key)) = self.neighbour(one, belongs.to, &renamed) {
                asked.push((one, key));
            }
        }
        let cmds: Vec<Cmd> =
            asked.iter().map(|(_, key)| command("EXISTS", key.as_bytes())).collect();
        let answers = self.all(&cmds).await?;
        for ((one, key), answer) in asked.into_iter().zip(&answers) {
            if reply::int(answer) == Some(0) {
                let layout = one.layout(self.options.layout);
                self.suspect(Suspect {
                    target: Some(RelatedKey { key, params: Vec::new() }),
                    ..Suspect::new(Case::Orphan, one.found.def, one.key.to_vec(), layout)
                })
                .await?;
            }
        }
        Ok(())
    }

    /// Every state is confirmed by one of the lists it names.
    async fn placed(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        let claims: Vec<StateClaim<'_>> = seen.iter().filter_map(|one| self.claim(one)).collect();
        let mut unconfirmed = Vec::with_capacity(claims.len());
        for claim in claims {
            if !self.in_a_list(&claim).await? {
                unconfirmed.push(claim);
            }
        }
        let others = |claim: &StateClaim<'_>| {
            let sets = claim.places.iter().filter(|(def, _)| def.type_ != Type::List);
            let ask = |(def, key): &(&'static KeyDef, Key)| {
                contains(def, key.as_bytes(), claim.entry.as_bytes())
            };
            sets.map(ask).collect::<Vec<Cmd>>()
        };
        let cmds: Vec<Vec<Cmd>> = unconfirmed.iter().map(others).collect();
        let mut answers = self.all(&cmds.concat()).await?.into_iter();
        for (claim, cmds) in unconfirmed.into_iter().zip(cmds) {
            let confirmed = answers.by_ref().take(cmds.len()).filter(is_in).count() > 0;
            if !confirmed {
                let StateClaim { one, placed, places, entry } = claim;
                let case = Case::Unlisted { word: placed.word, places, entry: entry.into() };
                let layout = one.layout(self.options.layout);
                let suspect = Suspect::new(case, one.found.def, one.key.to_vec(), layout);
                self.suspect(suspect).await?;
            }
        }
        Ok(())
    }

    /// The claim of a state that says a list has it.
    fn claim<'s>(&self, one: &'s CheckedKey<'s>) -> Option<StateClaim<'s>> {
        let text = one.text.as_ref()?;
        let says = |placed: &&Placed| placed.word.as_bytes() == text.as_slice();
        let placed = one.found.def.placed.iter().find(says)?;
        let entry = one.found.param(placed.entry)?;
        let places = placed.in_any.iter().filter_map(|name| self.neighbour(one, name, &[]));
        Some(StateClaim { one, placed, places: places.collect(), entry })
    }

    /// Whether one of the claim's lists had it when it was first asked about; each is read once.
    async fn in_a_list(&mut self, claim: &StateClaim<'_>) -> Result<bool, Fault> {
        for (_, place) in claim.places.iter().filter(|(def, _)| def.type_ == Type::List) {
            if !self.lists.contains_key(place.as_bytes()) {
                let list = self.remember(place.as_bytes()).await?;
                self.lists.insert(place.as_bytes().to_vec(), list);
            }
            if self.lists[place.as_bytes()].contains(&hash(claim.entry.as_bytes())) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn remember(&self, key: &[u8]) -> Result<HashSet<u64>, Fault> {
        let mut list = HashSet::new();
        let mut from = 0;
        while from < REMEMBERED {
            let mut cmd = command("LRANGE", key);
            cmd.arg(from).arg(from + LONG_PAGE - 1);
            let answer = self.all(&[cmd]).await?;
            let page = reply::list(&answer[0]).unwrap_or_default();
            list.extend(page.iter().filter_map(reply::bytes).map(hash));
            from += page.len();
            if page.len() < LONG_PAGE {
                break;
            }
        }
        Ok(list)
    }
}

/// A key as the other end of a relation.
fn target(one: &CheckedKey<'_>) -> RelatedKey {
    let key = Key::trusted(String::from_utf8_lossy(one.key).into_owned());
    RelatedKey { key, params: owned(one) }
}

pub(super) fn owned(one: &CheckedKey<'_>) -> Vec<(&'static str, String)> {
    one.found.params.iter().map(|&(name, value)| (name, value.to_owned())).collect()
}

pub(super) fn hash(entry: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.hash(&mut hasher);
    hasher.finish()
}
