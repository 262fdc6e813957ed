//! The relations of a batch: from a key to the indexes that must list it, from an index to the keys it names,
//! from a key to its other half, from a state to the list that confirms it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use redis::{Cmd, Value};

use super::Run;
use super::batch::{CheckedKey, VALUES, command};
use super::report::{Finding, Trouble};
use super::suspect::{Case, IndexEntry, RelatedKey, Suspect, contains, is_in, place, source};
use crate::fault::Fault;
use crate::keyspace::{Held, Index, Key, KeyDef, Named, Type};
use crate::reply;

/// Beyond so many entries a list is not remembered; each question about it goes to the server.
const REMEMBERED: usize = 4_000_000;

impl Run<'_> {
    pub(super) async fn relations(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        self.listed(seen).await?;
        self.halves(seen).await?;
        self.placed(seen).await?;
        for one in seen {
            if let Some(index) = one.found.def.index {
                self.entries(one, index).await?;
            }
        }
        Ok(())
    }

    /// Every key is in the indexes that must list it.
    async fn listed(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        let mut wanted = Vec::new();
        for one in seen {
            for (def, index) in self.complete_indexes(one.found.def) {
                let Some(entry) = one.found.param(index.fills) else { continue };
                wanted.push((one, target(one), def, index, entry));
            }
        }
        let mut asked = Vec::new();
        for chunk in wanted.chunks(VALUES) {
            let sources = chunk.iter().map(|(_, target, _, index, _)| source(&target.key, *index));
            let answers = self.some(sources).await?;
            for ((one, target, def, index, entry), answer) in chunk.iter().zip(answers) {
                let layout = one.layout(self.options.layout);
                match place(target, def, *index, &answer, layout) {
                    Ok(Some(place)) => asked.push((one, target, def, place, entry.as_bytes())),
                    Ok(None) => {}
                    Err(said) => {
                        let bad = Finding::of(Trouble::BadValue, one.found.def, one.key, said);
                        self.report(bad);
                    }
                }
            }
        }
        let cmds: Vec<Cmd> = asked
            .iter()
            .map(|(_, _, def, place, entry)| contains(def, place.as_bytes(), entry))
            .collect();
        let answers = self.all(&cmds).await?;
        for ((one, target, def, place, entry), answer) in asked.into_iter().zip(&answers) {
            if !is_in(answer) {
                let case = Case::Missing { index: def, place, entry: entry.to_vec() };
                let layout = one.layout(self.options.layout);
                self.suspect(Suspect {
                    target: Some(target.clone()),
                    ..Suspect::new(case, one.found.def, one.key.to_vec(), layout)
                })
                .await?;
            }
        }
        Ok(())
    }

    /// Answers to those commands that there are; nil for the rest.
    async fn some(&self, cmds: impl Iterator<Item = Option<Cmd>>) -> Result<Vec<Value>, Fault> {
        let cmds: Vec<Option<Cmd>> = cmds.collect();
        let given: Vec<Cmd> = cmds.iter().flatten().cloned().collect();
        let mut answers = self.all(&given).await?.into_iter();
        let next = |cmd: &Option<Cmd>| cmd.as_ref().and_then(|_| answers.next());
        Ok(cmds.iter().map(next).map(|answer| answer.unwrap_or(Value::Nil)).collect())
    }

    /// Indexes that must list every key of this definition.
    fn complete_indexes(&self, def: &KeyDef) -> Vec<(&'static KeyDef, Index)> {
        let table =
            self.options.classifier.tables().iter().find(|table| table.module == def.module);
        let keys = table.map_or(&[][..], |table| table.keys);
        keys.iter()
            .filter_map(|index| Some((*index, index.index?)))
            .filter(|(_, index)| index.names == def.name && index.complete.is_some())
            .collect()
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
        for one in seen {
            let Some(text) = &one.text else { continue };
            let says =
                |placed: &&crate::keyspace::Placed| placed.word.as_bytes() == text.as_slice();
            let Some(placed) = one.found.def.placed.iter().find(says) else { continue };
            let Some(entry) = one.found.param(placed.entry) else { continue };
            let places: Vec<_> =
                placed.in_any.iter().filter_map(|name| self.neighbour(one, name, &[])).collect();
            let mut found = false;
            for (def, place) in &places {
                found = found || self.holds(def, place.as_bytes(), entry.as_bytes()).await?;
            }
            if !found {
                let case = Case::Unlisted { word: placed.word, places, entry: entry.into() };
                let layout = one.layout(self.options.layout);
                let suspect = Suspect::new(case, one.found.def, one.key.to_vec(), layout);
                self.suspect(suspect).await?;
            }
        }
        Ok(())
    }

    /// Whether a list or set holds an entry; long lists are read once.
    async fn holds(&mut self, def: &KeyDef, key: &[u8], entry: &[u8]) -> Result<bool, Fault> {
        if def.type_ != Type::List {
            return Ok(is_in(&self.one(&contains(def, key, entry)).await.unwrap_or(Value::Nil)));
        }
        if !self.lists.contains_key(key) {
            let list = self.remember(key).await?;
            self.lists.insert(key.to_vec(), list);
        }
        Ok(self.lists[key].contains(&hash(entry)))
    }

    async fn remember(&self, key: &[u8]) -> Result<HashSet<u64>, Fault> {
        let mut list = HashSet::new();
        let mut from = 0;
        while from < REMEMBERED {
            let page = self.page_of_list(key, from).await?;
            list.extend(page.iter().map(|entry| hash(entry)));
            from += page.len();
            if page.len() < self.options.batch {
                break;
            }
        }
        Ok(list)
    }

    async fn page_of_list(&self, key: &[u8], from: usize) -> Result<Vec<Vec<u8>>, Fault> {
        let mut cmd = command("LRANGE", key);
        cmd.arg(from).arg(from + self.options.batch - 1);
        let answer = self.all(&[cmd]).await?;
        let items = reply::list(&answer[0]).unwrap_or_default();
        Ok(items.iter().filter_map(reply::bytes).map(<[u8]>::to_vec).collect())
    }

    /// Every entry of an index names a key that is there and belongs into this index.
    pub(super) async fn entries(
        &mut self,
        one: &CheckedKey<'_>,
        index: Index,
    ) -> Result<(), Fault> {
        if index.named == Named::Any {
            return Ok(());
        }
        let def = one.found.def;
        if def.type_ == Type::List {
            let mut from = 0;
            let mut before = HashSet::new();
            loop {
                let page = self.page_of_list(one.key, from).await?;
                let entries: Vec<_> = page.iter().cloned().map(IndexEntry::plain).collect();
                if index.named == Named::Free && before.len() < REMEMBERED {
                    self.twice(one, &entries, &mut before).await?;
                }
                self.page(one, index, entries).await?;
                from += page.len();
                if page.len() < self.options.batch {
                    return Ok(());
                }
            }
        }
        let name = match def.type_ {
            Type::Set => "SSCAN",
            Type::Zset => "ZSCAN",
            _ => "HSCAN",
        };
        let mut cursor = b"0".to_vec();
        loop {
            let mut cmd = command(name, one.key);
            cmd.arg(&cursor).arg("COUNT").arg(self.options.batch);
            let answer = self.all(&[cmd]).await?;
            let Some([next, items]) = reply::list(&answer[0]) else { return Ok(()) };
            let entries = read(def.type_, index.held, items);
            cursor = reply::bytes(next).unwrap_or(b"0").to_vec();
            // A packed set or hash comes whole, whatever the count.
            for chunk in entries.chunks(self.options.batch.max(1)) {
                self.page(one, index, chunk.to_vec()).await?;
            }
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    async fn page(
        &mut self,
        one: &CheckedKey<'_>,
        index: Index,
        entries: Vec<IndexEntry>,
    ) -> Result<(), Fault> {
        let layout = one.layout(self.options.layout);
        let mut named = Vec::with_capacity(entries.len());
        for entry in entries {
            let id = std::str::from_utf8(&entry.name).ok();
            let target = id.and_then(|id| {
                let (_, key) = self.neighbour(one, index.names, &[(index.fills, id)])?;
                let mut params = owned(one);
                params.retain(|(name, _)| *name != index.fills);
                params.push((index.fills, id.to_owned()));
                Some(RelatedKey { key, params })
            });
            match target {
                Some(target) => named.push((entry, target)),
                // No key can have such a name.
                None => self.dangling(one, entry, None).await?,
            }
        }
        let cmds: Vec<Cmd> =
            named.iter().map(|(_, target)| command("EXISTS", target.key.as_bytes())).collect();
        let answers = self.all(&cmds).await?;
        let placed = index.complete.is_some_and(|places| !places.is_empty());
        let mut living = Vec::new();
        for ((entry, target), answer) in named.into_iter().zip(&answers) {
            let there = reply::int(answer) != Some(0);
            if index.named == Named::Free {
                if there {
                    let base = Suspect::new(
                        Case::InUse { entry },
                        one.found.def,
                        one.key.to_vec(),
                        layout,
                    );
                    self.suspect(Suspect { target: Some(target), ..base }).await?;
                }
            } else if !there {
                self.dangling(one, entry, Some(target)).await?;
            } else if placed {
                living.push((entry, target));
            }
        }
        for chunk in living.chunks(VALUES) {
            let sources = chunk.iter().map(|(_, target)| source(&target.key, index));
            let answers = self.some(sources).await?;
            for ((entry, target), answer) in chunk.iter().zip(answers) {
                let place = place(target, one.found.def, index, &answer, layout);
                let Ok(Some(belongs)) = place else { continue };
                if belongs.as_bytes() != one.key {
                    let case = Case::Misplaced { entry: entry.clone(), belongs };
                    self.suspect(Suspect {
                        target: Some(target.clone()),
                        ..Suspect::new(case, one.found.def, one.key.to_vec(), layout)
                    })
                    .await?;
                }
            }
        }
        Ok(())
    }

    /// No free id is offered twice.
    async fn twice(
        &mut self,
        one: &CheckedKey<'_>,
        entries: &[IndexEntry],
        before: &mut HashSet<u64>,
    ) -> Result<(), Fault> {
        for entry in entries {
            if !before.insert(hash(&entry.name)) {
                let layout = one.layout(self.options.layout);
                let case = Case::Twice { entry: entry.clone() };
                let suspect = Suspect::new(case, one.found.def, one.key.to_vec(), layout);
                self.suspect(suspect).await?;
            }
        }
        Ok(())
    }

    async fn dangling(
        &mut self,
        one: &CheckedKey<'_>,
        entry: IndexEntry,
        target: Option<RelatedKey>,
    ) -> Result<(), Fault> {
        let layout = one.layout(self.options.layout);
        let case = Case::Dangling { entry };
        let base = Suspect::new(case, one.found.def, one.key.to_vec(), layout);
        self.suspect(Suspect { target, ..base }).await
    }
}

/// A key as the other end of a relation.
fn target(one: &CheckedKey<'_>) -> RelatedKey {
    let key = Key::trusted(String::from_utf8_lossy(one.key).into_owned());
    RelatedKey { key, params: owned(one) }
}

fn owned(one: &CheckedKey<'_>) -> Vec<(&'static str, String)> {
    one.found.params.iter().map(|&(name, value)| (name, value.to_owned())).collect()
}

/// The entries of one page of SSCAN, ZSCAN or HSCAN.
fn read(type_: Type, held: Held, items: &Value) -> Vec<IndexEntry> {
    let bytes = |value: &Value| reply::bytes(value).map(<[u8]>::to_vec);
    if type_ == Type::Set {
        let items = reply::list(items).unwrap_or_default();
        return items.iter().filter_map(bytes).map(IndexEntry::plain).collect();
    }
    let pairs = reply::pairs(items).unwrap_or_default();
    pairs
        .into_iter()
        .filter_map(|(name, value)| match held {
            Held::Values => Some(IndexEntry { name: bytes(value)?, field: Some(bytes(name)?) }),
            Held::Members | Held::Fields => bytes(name).map(IndexEntry::plain),
        })
        .collect()
}

fn hash(entry: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.hash(&mut hasher);
    hasher.finish()
}
