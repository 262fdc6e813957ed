//! Keys that look wrong: each is looked at a second time, reported, and put right where its
//! relation says how. A repair watches the keys it judges by, judges once more and changes them in
//! one step, or leaves them alone.

use std::borrow::Cow;

use redis::{Cmd, Value};

use super::Run;
use super::batch::command;
use super::report::{Finding, Trouble};
use super::words;
use crate::fault::Fault;
use crate::keyspace::{At, Held, Index, Key, KeyDef, Layout, Type, slot};
use crate::reply;
use crate::said::Said;
use crate::store::{Deadline, Kind, Session, Store};

/// An entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// The id it holds.
    pub(super) name: Vec<u8>,
    /// The field, where the id is its value.
    pub(super) field: Option<Vec<u8>>,
}

impl IndexEntry {
    pub(super) fn plain(name: Vec<u8>) -> IndexEntry {
        IndexEntry { name, field: None }
    }
}

/// The way in which a key looks wrong.
pub(super) enum Case {
    /// The key has another type than its definition.
    WrongType { is: String },
    /// The text cannot be read.
    BadValue { detail: String },
    /// The key's life is not that of its holder.
    Life { holder: Key },
    /// The key never ends and should.
    Endless,
    /// The key (an index) holds an entry that names nothing.
    Dangling { entry: IndexEntry },
    /// The key (a list of free ids) holds one that is in use.
    InUse { entry: IndexEntry },
    /// The key (a list of free ids) holds one twice.
    Twice { entry: IndexEntry },
    /// The key (an index) holds an entry that belongs into another one.
    Misplaced { entry: IndexEntry, belongs: Key },
    /// The key is not in its index.
    Missing { index: &'static KeyDef, place: Key, entry: Vec<u8> },
    /// The key is nothing without its target, which is gone.
    Orphan,
    /// The key says a word that none of these confirms.
    Unlisted { word: &'static str, places: Vec<(&'static KeyDef, Key)>, entry: Vec<u8> },
}

/// The key at the other end of a relation.
#[derive(Debug, Clone)]
pub(super) struct RelatedKey {
    pub(super) key: Key,
    pub(super) params: Vec<(&'static str, String)>,
}

impl RelatedKey {
    /// The values of its placeholders.
    pub(super) fn params(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.params.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// A key that looks wrong.
pub(super) struct Suspect {
    pub(super) case: Case,
    pub(super) def: &'static KeyDef,
    pub(super) key: Vec<u8>,
    pub(super) layout: Layout,
    pub(super) target: Option<RelatedKey>,
    /// The command that removes it.
    pub(super) remedy: Option<String>,
}

impl Suspect {
    pub(super) fn new(case: Case, def: &'static KeyDef, key: Vec<u8>, layout: Layout) -> Suspect {
        Suspect { case, def, key, layout, target: None, remedy: None }
    }

    fn finding(&self) -> Finding {
        let target = self.target.as_ref().map(|target| target.key.as_str()).unwrap_or_default();
        let (trouble, entry, said) = match &self.case {
            Case::WrongType { is } => {
                let said = words::WRONG_TYPE.say().with("is", is.as_str());
                (Trouble::WrongType, None, said.with("right", self.def.type_.redis()))
            }
            Case::BadValue { detail } => {
                (Trouble::BadValue, None, words::BAD_VALUE.say().with("why", detail.as_str()))
            }
            Case::Life { holder } => {
                let said = words::OTHER_END.say().with("holder", holder.as_str());
                (Trouble::WrongLife, None, said)
            }
            Case::Endless => (Trouble::WrongLife, None, words::ENDLESS.say()),
            Case::Dangling { entry } if target.is_empty() => {
                (Trouble::Dangling, Some(&entry.name), words::NO_ID.say())
            }
            Case::Dangling { entry } => {
                let said = words::DANGLING.say().with("target", target);
                (Trouble::Dangling, Some(&entry.name), said)
            }
            Case::InUse { entry } => {
                (Trouble::InUse, Some(&entry.name), words::IN_USE.say().with("target", target))
            }
            Case::Twice { entry } => (Trouble::Twice, Some(&entry.name), words::TWICE.say()),
            Case::Misplaced { entry, belongs } => {
                let said = words::MISPLACED.say().with("belongs", belongs.as_str());
                (Trouble::Misplaced, Some(&entry.name), said)
            }
            Case::Missing { place, entry, .. } => {
                let said = words::MISSING.say().with("place", place.as_str());
                (Trouble::Missing, Some(entry), said)
            }
            Case::Orphan => (Trouble::Orphan, None, words::ORPHAN.say().with("target", target)),
            Case::Unlisted { word, places, .. } => {
                let places: Vec<_> = places.iter().map(|(_, key)| key.as_str()).collect();
                let said = words::UNLISTED.say().with("word", *word);
                (Trouble::Unlisted, None, said.with("places", places.join(", ")))
            }
        };
        let entry = entry.map(|entry| String::from_utf8_lossy(entry).into_owned());
        let remedy = self.remedy.clone();
        Finding { entry, remedy, ..Finding::of(trouble, self.def, &self.key, said) }
    }

    /// Keys by which it is judged and which a repair changes.
    fn keys(&self) -> Vec<&[u8]> {
        let mut keys = vec![self.key.as_slice()];
        keys.extend(self.target.iter().map(|target| target.key.as_bytes()));
        match &self.case {
            Case::Life { holder } => keys.push(holder.as_bytes()),
            Case::Missing { place, .. } => keys.push(place.as_bytes()),
            _ => {}
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether it is still wrong.
    async fn stands(&self, eye: &mut Eye<'_>) -> Result<bool, Fault> {
        let gone = match &self.target {
            Some(target) => {
                let there = eye.ask(&command("EXISTS", target.key.as_bytes())).await?;
                reply::int(&there) == Some(0)
            }
            None => true,
        };
        match &self.case {
            Case::WrongType { .. } => {
                let is = eye.ask(&command("TYPE", &self.key)).await?;
                let right = ["none", self.def.type_.redis()];
                Ok(reply::text(&is).is_some_and(|is| !right.contains(&is)))
            }
            Case::BadValue { .. } => {
                let text = eye.ask(&command("GET", &self.key)).await?;
                Ok(reply::bytes(&text).is_some_and(|text| self.def.unreadable(text).is_some()))
            }
            Case::Life { holder } => {
                let own = reply::int(&eye.ask(&command("PTTL", &self.key)).await?).unwrap_or(-2);
                let theirs = eye.ask(&command("PTTL", holder.as_bytes())).await?;
                let theirs = reply::int(&theirs).unwrap_or(-2);
                Ok(own == -1 || (own >= 0 && theirs >= 0 && (own - theirs).abs() > 1_000))
            }
            Case::Endless => {
                Ok(reply::int(&eye.ask(&command("PTTL", &self.key)).await?) == Some(-1))
            }
            Case::Dangling { entry } => Ok(gone && self.still_in(eye, entry).await?),
            Case::InUse { entry } => Ok(!gone && self.still_in(eye, entry).await?),
            Case::Twice { entry } => {
                let mut cmd = command("LPOS", &self.key);
                cmd.arg(&entry.name).arg("COUNT").arg(2);
                let places = eye.ask(&cmd).await?;
                Ok(reply::list(&places).is_some_and(|places| places.len() == 2))
            }
            Case::Misplaced { entry, belongs } => {
                let there = self.belongs_into(eye, self.def, belongs).await?;
                Ok(!gone && there && self.still_in(eye, entry).await?)
            }
            Case::Missing { index, place, entry } => {
                let there = self.belongs_into(eye, index, place).await?;
                let listed = eye.ask(&contains(index, place.as_bytes(), entry)).await?;
                Ok(!gone && there && !is_in(&listed))
            }
            Case::Orphan => {
                let own = eye.ask(&command("EXISTS", &self.key)).await?;
                Ok(gone && reply::int(&own) == Some(1))
            }
            Case::Unlisted { word, places, entry } => {
                let says = eye.ask(&command("GET", &self.key)).await?;
                if reply::text(&says) != Some(word) {
                    return Ok(false);
                }
                for (def, place) in places {
                    if is_in(&eye.ask(&contains(def, place.as_bytes(), entry)).await?) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether the target still says that this index lists it.
    async fn belongs_into(
        &self,
        eye: &mut Eye<'_>,
        index_def: &KeyDef,
        wanted: &Key,
    ) -> Result<bool, Fault> {
        let (Some(target), Some(index)) = (&self.target, index_def.index) else {
            return Ok(false);
        };
        let answer = match source(target.key.as_bytes(), index) {
            Some(cmd) => eye.ask(&cmd).await?,
            None => Value::Nil,
        };
        let place = place(target.params(), index_def, index, &answer, self.layout);
        Ok(matches!(place, Ok(Some(place)) if place == *wanted))
    }

    async fn still_in(&self, eye: &mut Eye<'_>, entry: &IndexEntry) -> Result<bool, Fault> {
        match &entry.field {
            None => Ok(is_in(&eye.ask(&contains(self.def, &self.key, &entry.name)).await?)),
            Some(field) => {
                let mut cmd = command("HGET", &self.key);
                cmd.arg(field);
                Ok(reply::bytes(&eye.ask(&cmd).await?) == Some(&entry.name))
            }
        }
    }

    /// The command that puts the key right, when its relation says how.
    async fn cure(&self, eye: &mut Eye<'_>) -> Result<Option<Cmd>, Fault> {
        Ok(match &self.case {
            Case::Twice { entry } => {
                let mut cmd = command("LREM", &self.key);
                cmd.arg(1).arg(&entry.name);
                Some(cmd)
            }
            Case::Dangling { entry } | Case::InUse { entry } | Case::Misplaced { entry, .. } => {
                Some(remove(self.def, &self.key, entry))
            }
            // A score or a place in a list cannot be guessed.
            Case::Missing { index, place, entry } if index.type_ == Type::Set => {
                let mut cmd = command("SADD", place.as_bytes());
                cmd.arg(entry);
                Some(cmd)
            }
            Case::WrongType { .. } | Case::BadValue { .. } if self.def.drop_unreadable => {
                Some(command("DEL", &self.key))
            }
            Case::Endless => Some(command("DEL", &self.key)),
            Case::Orphan if self.def.belongs.is_some_and(|belongs| belongs.drop) => {
                Some(command("DEL", &self.key))
            }
            Case::Life { holder } => {
                let left = eye.ask(&command("PTTL", holder.as_bytes())).await?;
                reply::int(&left).filter(|left| *left > 0).map(|left| {
                    let mut cmd = command("PEXPIRE", &self.key);
                    cmd.arg(left);
                    cmd
                })
            }
            _ => None,
        })
    }

    /// The opposite of the cure, for a Cluster where two slots cannot be watched together.
    fn undo(&self) -> Option<Cmd> {
        match &self.case {
            Case::Dangling { entry } if self.def.type_ == Type::Set => {
                let mut cmd = command("SADD", &self.key);
                cmd.arg(&entry.name);
                Some(cmd)
            }
            Case::Missing { index, place, entry } => {
                Some(remove(index, place.as_bytes(), &IndexEntry::plain(entry.clone())))
            }
            _ => None,
        }
    }
}

/// The source of answers: the store, or the session whose `WATCH` makes them binding.
pub(super) enum Eye<'a> {
    Store(&'a dyn Store, Deadline),
    Session(&'a mut dyn Session, Deadline),
}

impl Eye<'_> {
    /// One answer. A refusal (the type changed meanwhile) is nil.
    pub(super) async fn ask(&mut self, cmd: &Cmd) -> Result<Value, Fault> {
        let answer = match self {
            Eye::Store(store, by) => store.call(cmd, *by).await,
            Eye::Session(session, by) => session.call(cmd, *by).await,
        };
        match answer {
            Err(Fault::Refused { code, .. }) if code != "NOPERM" => Ok(Value::Nil),
            other => other,
        }
    }
}

impl Run<'_> {
    pub(super) fn eye(&self) -> Eye<'_> {
        Eye::Store(self.store, self.by())
    }

    /// Reports what is wrong at a second look, and repairs it when asked to.
    pub(super) async fn suspect(&mut self, suspect: Suspect) -> Result<(), Fault> {
        if !suspect.stands(&mut self.eye()).await? {
            return Ok(());
        }
        let mut finding = suspect.finding();
        if self.options.repair {
            finding.repaired = self.repair(&suspect).await?;
        }
        let unreadable = matches!(suspect.case, Case::WrongType { .. } | Case::BadValue { .. });
        self.dropped |= unreadable && finding.repaired;
        self.report(finding);
        Ok(())
    }

    async fn repair(&self, suspect: &Suspect) -> Result<bool, Fault> {
        let keys = suspect.keys();
        let one_slot = keys.iter().all(|key| slot(key) == slot(keys[0]));
        if self.store.status().kind == Kind::Cluster && !one_slot {
            return self.repair_across(suspect).await;
        }
        let by = self.by();
        let mut session = self.store.session(&suspect.key, by).await?;
        let mut watch = redis::cmd("WATCH");
        watch.arg(&keys);
        session.call(&watch, by).await?;
        let mut eye = Eye::Session(session.as_mut(), by);
        let cure =
            if suspect.stands(&mut eye).await? { suspect.cure(&mut eye).await? } else { None };
        let Some(cure) = cure else {
            session.call(&redis::cmd("UNWATCH"), by).await?;
            return Ok(false);
        };
        session.queue(&[&std::iter::once(&cure).collect()], by).await?;
        match session.exec(by).await {
            Ok(Some(answers)) => {
                Ok(!answers.iter().any(|answer| matches!(answer, Value::ServerError(_))))
            }
            Ok(None) | Err(Fault::Refused { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Without a common slot: change, look once more, and take it back if the other end moved meanwhile.
    async fn repair_across(&self, suspect: &Suspect) -> Result<bool, Fault> {
        let mut eye = self.eye();
        if !suspect.stands(&mut eye).await? {
            return Ok(false);
        }
        let Some(cure) = suspect.cure(&mut eye).await? else { return Ok(false) };
        self.one(&cure).await?;
        let Some(target) = &suspect.target else { return Ok(true) };
        let there = eye.ask(&command("EXISTS", target.key.as_bytes())).await?;
        let there = reply::int(&there) == Some(1);
        let moved = match suspect.case {
            Case::Dangling { .. } => there,
            Case::Missing { .. } => !there,
            _ => false,
        };
        if moved && let Some(undo) = suspect.undo() {
            self.one(&undo).await?;
            return Ok(false);
        }
        Ok(true)
    }
}

/// The command that reads which index must list a key; `None` when the key's name says enough.
pub(super) fn source(key: &[u8], index: Index) -> Option<Cmd> {
    let places = index.complete.unwrap_or_default();
    let fields: Vec<&str> = places
        .iter()
        .filter_map(|(_, at)| match at {
            At::Field(field, _) => Some(*field),
            At::Json(_) => None,
        })
        .collect();
    match (places.is_empty(), fields.is_empty()) {
        (true, _) => None,
        (false, true) => Some(command("GET", key)),
        (false, false) => {
            let mut cmd = command("HMGET", key);
            cmd.arg(fields);
            Some(cmd)
        }
    }
}

/// The index that must list a key. `Ok(None)`: the key is gone or is no JSON, which others report. `Err`: it does
/// not say.
pub(super) type Place = Result<Option<Key>, Said>;

/// Whether the text of a key says which index must list it, so that [`source`] is its `GET`.
pub(super) fn reads_text(index: Index) -> bool {
    let places = index.complete.unwrap_or_default();
    !places.is_empty() && places.iter().all(|(_, at)| matches!(at, At::Json(_)))
}

/// The index that must list the key with these parameters, from the answer to [`source`].
pub(super) fn place<'p>(
    params: impl Iterator<Item = (&'static str, &'p str)>,
    index_def: &KeyDef,
    index: Index,
    answer: &Value,
    layout: Layout,
) -> Place {
    let places = index.complete.unwrap_or_default();
    let json = reply::bytes(answer).and_then(|text| serde_json::from_slice(text).ok());
    let json: serde_json::Value = json.unwrap_or_default();
    let fields = reply::list(answer).unwrap_or_default();
    let mut fields = fields.iter();
    let mut values: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for (param, at) in places {
        let said = match at {
            At::Json(_) if json.is_null() => return Ok(None),
            At::Json(pointer) => match json.pointer(pointer) {
                Some(serde_json::Value::String(text)) => Cow::Borrowed(text.as_str()),
                Some(serde_json::Value::Number(number)) => Cow::Owned(number.to_string()),
                _ => return Err(words::SAYS_NOT.say().with("member", *pointer)),
            },
            At::Field(_, default) => {
                Cow::Borrowed(fields.next().and_then(reply::text).unwrap_or(default))
            }
        };
        values.push((param, said));
    }
    values.extend(params.map(|(name, value)| (name, Cow::Borrowed(value))));
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_ref())).collect();
    let no_key =
        |bad: crate::keyspace::BadId| words::SAYS_NO_KEY.say().with("why", bad.to_string());
    index_def.render(layout, &values).map(Some).map_err(no_key)
}

/// Whether an index holds an entry, as a command; [`is_in`] reads the answer.
pub(super) fn contains(def: &KeyDef, key: &[u8], entry: &[u8]) -> Cmd {
    let mut cmd = command(
        match def.type_ {
            Type::Set => "SISMEMBER",
            Type::Zset => "ZSCORE",
            Type::List => "LPOS",
            _ => "HEXISTS",
        },
        key,
    );
    cmd.arg(entry);
    if def.type_ == Type::List {
        // A position may be 0; a list of them is empty exactly when there is none.
        cmd.arg("COUNT").arg(1);
    }
    cmd
}

/// Whether the answer to [`contains`] means yes.
pub(super) fn is_in(answer: &Value) -> bool {
    match answer {
        Value::Int(count) => *count > 0,
        Value::Boolean(yes) => *yes,
        Value::Array(positions) => !positions.is_empty(),
        Value::Nil => false,
        _ => true,
    }
}

fn remove(def: &KeyDef, key: &[u8], entry: &IndexEntry) -> Cmd {
    let name = match def.type_ {
        Type::Set => "SREM",
        Type::Zset => "ZREM",
        Type::List => "LREM",
        _ => "HDEL",
    };
    let mut cmd = command(name, key);
    if def.type_ == Type::List {
        cmd.arg(0);
    }
    let held = def.index.map(|index| index.held);
    match (&entry.field, held) {
        (Some(field), Some(Held::Values)) => cmd.arg(field),
        _ => cmd.arg(&entry.name),
    };
    cmd
}
