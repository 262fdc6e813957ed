//! From an index to the keys it names: each entry names a key that is there, and that belongs into this index. All
//! indexes of a batch are read page by page together, so that a thousand small ones cost a few trips.

use std::collections::HashSet;

use redis::{Cmd, Value};

use super::Run;
use super::batch::{CheckedKey, command};
use super::relations::{REMEMBERED, hash, owned};
use super::suspect::{Case, IndexEntry, RelatedKey, Suspect, place, reads_text, source};
use crate::fault::Fault;
use crate::keyspace::{Held, Index, Named, Type};
use crate::reply;

/// An index that is being read.
struct Pages<'s> {
    one: &'s CheckedKey<'s>,
    index: Index,
    /// The beginning of the next page: a place of a list, else a cursor.
    from: usize,
    cursor: Vec<u8>,
    done: bool,
    /// Free ids that were offered on the pages before, as hashes.
    before: HashSet<u64>,
}

/// An entry with the key that it names.
struct NamedKey<'s> {
    one: &'s CheckedKey<'s>,
    index: Index,
    entry: IndexEntry,
    target: RelatedKey,
}

impl<'s> Pages<'s> {
    fn of(one: &'s CheckedKey<'s>) -> Option<Pages<'s>> {
        let index = one.found.def.index.filter(|index| index.named != Named::Any)?;
        let (cursor, before) = (b"0".to_vec(), HashSet::new());
        Some(Pages { one, index, from: 0, cursor, done: false, before })
    }

    fn is_list(&self) -> bool {
        self.one.found.def.type_ == Type::List
    }

    /// The command that reads the next page.
    fn next(&self, count: usize) -> Cmd {
        let name = match self.one.found.def.type_ {
            Type::List => "LRANGE",
            Type::Set => "SSCAN",
            Type::Zset => "ZSCAN",
            _ => "HSCAN",
        };
        let mut cmd = command(name, self.one.key);
        if self.is_list() {
            cmd.arg(self.from).arg(self.from + count - 1);
        } else {
            cmd.arg(&self.cursor).arg("COUNT").arg(count);
        }
        cmd
    }

    /// The entries of the page that came.
    fn take(&mut self, answer: &Value, count: usize) -> Vec<IndexEntry> {
        let def = self.one.found.def;
        if self.is_list() {
            let items = reply::list(answer).unwrap_or_default();
            self.from += items.len();
            self.done = items.len() < count;
            return members(items);
        }
        let Some([next, items]) = reply::list(answer) else {
            self.done = true;
            return Vec::new();
        };
        self.cursor = reply::bytes(next).unwrap_or(b"0").to_vec();
        self.done = self.cursor == b"0";
        read(def.type_, self.index.held, items)
    }
}

impl Run<'_> {
    /// Every entry of the indexes among these keys.
    pub(super) async fn entries(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        let count = self.options.batch.max(1);
        let mut open: Vec<Pages<'_>> = seen.iter().filter_map(Pages::of).collect();
        let mut named = Vec::new();
        while !open.is_empty() {
            let mut left = open.as_mut_slice();
            while !left.is_empty() {
                let (chunk, rest) = left.split_at_mut(self.stride.len().min(left.len()));
                left = rest;
                let cmds: Vec<Cmd> = chunk.iter().map(|pages| pages.next(count)).collect();
                let answers = self.all(&cmds).await?;
                self.stride.learn(&answers);
                for (pages, answer) in chunk.iter_mut().zip(answers) {
                    let entries = pages.take(&answer, count);
                    self.twice(pages, &entries).await?;
                    self.name(pages, entries, &mut named).await?;
                    if named.len() >= count {
                        self.follow(std::mem::take(&mut named)).await?;
                    }
                }
            }
            open.retain(|pages| !pages.done);
        }
        self.follow(named).await
    }

    /// The keys that these entries name; an entry that can be no id is told at once.
    async fn name<'s>(
        &mut self,
        pages: &Pages<'s>,
        entries: Vec<IndexEntry>,
        named: &mut Vec<NamedKey<'s>>,
    ) -> Result<(), Fault> {
        let (one, index) = (pages.one, pages.index);
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
                Some(target) => named.push(NamedKey { one, index, entry, target }),
                None => self.dangling(one, entry, None).await?,
            }
        }
        Ok(())
    }

    /// Looks at the named keys: at their text where that says which index they belong into.
    async fn follow(&mut self, named: Vec<NamedKey<'_>>) -> Result<(), Fault> {
        let by_text = |key: &NamedKey<'_>| key.index.named != Named::Free && reads_text(key.index);
        let (mut texts, others): (Vec<_>, Vec<_>) = named.into_iter().partition(by_text);
        while !texts.is_empty() {
            let rest = texts.split_off(self.stride.len().min(texts.len()));
            let cmds: Vec<Cmd> =
                texts.iter().map(|key| command("GET", key.target.key.as_bytes())).collect();
            let answers = self.all(&cmds).await?;
            self.stride.learn(&answers);
            for (key, answer) in texts.into_iter().zip(&answers) {
                self.judge(key, *answer != Value::Nil, Some(answer)).await?;
            }
            texts = rest;
        }
        let cmds: Vec<Cmd> = others
            .iter()
            .flat_map(|key| {
                let there = command("EXISTS", key.target.key.as_bytes());
                std::iter::once(there).chain(source(key.target.key.as_bytes(), key.index))
            })
            .collect();
        let mut answers = self.all(&cmds).await?.into_iter();
        for key in others {
            let there = answers.next().as_ref().and_then(reply::int) != Some(0);
            let fields = source(key.target.key.as_bytes(), key.index).and_then(|_| answers.next());
            self.judge(key, there, fields.as_ref()).await?;
        }
        Ok(())
    }

    /// One entry, whose key is there or not and says by `answer` where it belongs.
    async fn judge(
        &mut self,
        key: NamedKey<'_>,
        there: bool,
        answer: Option<&Value>,
    ) -> Result<(), Fault> {
        let NamedKey { one, index, entry, target } = key;
        let layout = one.layout(self.options.layout);
        let case = match (index.named == Named::Free, there) {
            (true, false) => return Ok(()),
            (true, true) => Case::InUse { entry },
            (false, false) => Case::Dangling { entry },
            (false, true) => {
                let Some(answer) = answer else { return Ok(()) };
                match place(target.params(), one.found.def, index, answer, layout) {
                    Ok(Some(belongs)) if belongs.as_bytes() != one.key => {
                        Case::Misplaced { entry, belongs }
                    }
                    _ => return Ok(()),
                }
            }
        };
        let base = Suspect::new(case, one.found.def, one.key.to_vec(), layout);
        self.suspect(Suspect { target: Some(target), ..base }).await
    }

    /// No free id is offered twice.
    async fn twice(&mut self, pages: &mut Pages<'_>, entries: &[IndexEntry]) -> Result<(), Fault> {
        if pages.index.named != Named::Free || pages.before.len() >= REMEMBERED {
            return Ok(());
        }
        let one = pages.one;
        for entry in entries {
            if !pages.before.insert(hash(&entry.name)) {
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

fn members(items: &[Value]) -> Vec<IndexEntry> {
    items.iter().filter_map(reply::bytes).map(<[u8]>::to_vec).map(IndexEntry::plain).collect()
}

/// The entries of one page of SSCAN, ZSCAN or HSCAN.
fn read(type_: Type, held: Held, items: &Value) -> Vec<IndexEntry> {
    if type_ == Type::Set {
        return members(reply::list(items).unwrap_or_default());
    }
    let bytes = |value: &Value| reply::bytes(value).map(<[u8]>::to_vec);
    let pairs = reply::pairs(items).unwrap_or_default();
    pairs
        .into_iter()
        .filter_map(|(name, value)| match held {
            Held::Values => Some(IndexEntry { name: bytes(value)?, field: Some(bytes(name)?) }),
            Held::Members | Held::Fields => bytes(name).map(IndexEntry::plain),
        })
        .collect()
}
