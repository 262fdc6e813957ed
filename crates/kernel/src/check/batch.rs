//! One batch of keys: what each is, its type, its life, its value; then its relations.

use redis::{Cmd, Value};

use super::Run;
use super::report::{Finding, Trouble};
use super::suspect::{Case, Place, Suspect, place, reads_text};
use super::words;
use crate::fault::Fault;
use crate::keyspace::{Classified, Key, KeyDef, Layout, Life, Type};
use crate::reply;
use crate::said::Said;

/// How far two lives of one room may be apart.
const SLACK_MS: i64 = 1_000;

/// A key of ours that is there and has the right type.
pub(super) struct CheckedKey<'k> {
    pub(super) key: &'k [u8],
    pub(super) found: Classified<'k>,
    pub(super) pttl: i64,
    /// Of strings whose text matters.
    pub(super) text: Option<Vec<u8>>,
    /// The indexes that must list it by what its text says.
    pub(super) places: Vec<(&'static KeyDef, Place)>,
}

impl CheckedKey<'_> {
    /// The layout in which to spell its neighbours.
    pub(super) fn layout(&self, in_use: Layout) -> Layout {
        self.found.layout.unwrap_or(in_use)
    }
}

impl Run<'_> {
    pub(super) async fn batch(&mut self, keys: &[Vec<u8>]) -> Result<(), Fault> {
        self.report.scanned += keys.len() as u64;
        let mut ours = Vec::new();
        for key in keys {
            match self.options.classifier.classify(key) {
                Some(found) => ours.push((key.as_slice(), found)),
                None => self.stranger(key),
            }
        }
        let mut seen = self.present(ours).await?;
        self.lives(&seen).await?;
        self.values(&mut seen).await?;
        self.relations(&seen).await
    }

    /// The indexes among these keys, entry by entry.
    pub(super) async fn index_batch(&mut self, keys: &[Vec<u8>]) -> Result<(), Fault> {
        let options = self.options;
        let known = keys.iter().filter_map(|key| {
            let found = options.classifier.classify(key)?;
            Some(CheckedKey { key, found, pttl: -1, text: None, places: Vec::new() })
        });
        let indexes: Vec<_> = known.filter(|one| one.found.def.index.is_some()).collect();
        self.entries(&indexes).await
    }

    fn stranger(&mut self, key: &[u8]) {
        let Some(module) = self.options.classifier.owner_of_prefix(key) else {
            self.report.foreign += 1;
            return;
        };
        let said = words::STRANGER.say().with("module", module);
        self.report(Finding {
            trouble: Trouble::Unknown,
            key: String::from_utf8_lossy(key).into_owned(),
            module,
            name: None,
            entry: None,
            detail: said.sentence(),
            said,
            repaired: false,
            remedy: None,
        });
    }

    /// The keys of `ours` that still exist, with the type of their definition.
    async fn present<'k>(
        &mut self,
        ours: Vec<(&'k [u8], Classified<'k>)>,
    ) -> Result<Vec<CheckedKey<'k>>, Fault> {
        let cmds: Vec<Cmd> = ours
            .iter()
            .flat_map(|(key, _)| ["TYPE", "PTTL"].map(|name| command(name, key)))
            .collect();
        let answers = self.all(&cmds).await?;
        let mut seen = Vec::with_capacity(ours.len());
        for ((key, found), answer) in ours.into_iter().zip(answers.chunks_exact(2)) {
            let type_ = reply::text(&answer[0]).unwrap_or("none");
            let def = found.def;
            if type_ == "none" {
                continue;
            }
            *self.report.known.entry(def.module).or_default().entry(def.name).or_default() += 1;
            if found.layout.is_some_and(|layout| layout != self.options.layout) {
                let layout = self.options.layout.to_string();
                let said = words::OTHER_LAYOUT.say().with("layout", layout);
                self.report(Finding::of(Trouble::OtherLayout, def, key, said));
            }
            if type_ == def.type_.redis() {
                let pttl = reply::int(&answer[1]).unwrap_or(-2);
                seen.push(CheckedKey { key, found, pttl, text: None, places: Vec::new() });
            } else {
                let case = Case::WrongType { is: type_.to_owned() };
                let layout = found.layout.unwrap_or(self.options.layout);
                let remedy = remedy(&found);
                let suspect = Suspect::new(case, def, key.to_vec(), layout);
                self.suspect(Suspect { remedy, ..suspect }).await?;
            }
        }
        Ok(seen)
    }

    async fn lives(&mut self, seen: &[CheckedKey<'_>]) -> Result<(), Fault> {
        let mut inherited = Vec::new();
        for one in seen {
            if one.pttl == -2 {
                continue; // it ended between two answers
            }
            if let Life::Inherited(name) = one.found.def.life {
                if let Some((_, holder)) = self.neighbour(one, name, &[]) {
                    inherited.push((one, holder));
                }
            } else if one.pttl == -1 && one.found.def.drop_endless {
                let (def, layout) = (one.found.def, one.layout(self.options.layout));
                let mut suspect = Suspect::new(Case::Endless, def, one.key.to_vec(), layout);
                suspect.remedy = Some("worldkeep check --repair".to_owned());
                self.suspect(suspect).await?;
            } else if let Some(said) = flaw(one.found.def.life, one.pttl) {
                let finding = Finding::of(Trouble::WrongLife, one.found.def, one.key, said);
                let verb = if one.found.def.life == Life::None { "PERSIST" } else { "DEL" };
                let remedy = Some(format!("redis-cli {verb} '{}'", finding.key));
                self.report(Finding { remedy, ..finding });
            }
        }
        let cmds: Vec<Cmd> =
            inherited.iter().map(|(_, holder)| command("PTTL", holder.as_bytes())).collect();
        let answers = self.all(&cmds).await?;
        for ((one, holder), answer) in inherited.into_iter().zip(&answers) {
            let theirs = reply::int(answer).unwrap_or(-2);
            let apart = (one.pttl - theirs).abs() > SLACK_MS;
            if one.pttl == -1 || (theirs >= 0 && apart) {
                self.suspect(Suspect::new(
                    Case::Life { holder },
                    one.found.def,
                    one.key.to_vec(),
                    one.layout(self.options.layout),
                ))
                .await?;
            }
        }
        Ok(())
    }

    /// Reads what must be parsed, and says what cannot be.
    async fn values(&mut self, seen: &mut [CheckedKey<'_>]) -> Result<(), Fault> {
        let mut wanted: Vec<&mut CheckedKey<'_>> =
            seen.iter_mut().filter(|one| is_read(one.found.def)).collect();
        let mut left = wanted.as_mut_slice();
        while !left.is_empty() {
            let (chunk, rest) = left.split_at_mut(self.stride.len().min(left.len()));
            left = rest;
            let cmds: Vec<Cmd> = chunk.iter().map(|one| command("GET", one.key)).collect();
            let answers = self.all(&cmds).await?;
            self.stride.learn(&answers);
            for (one, answer) in chunk.iter_mut().zip(answers) {
                self.value(one, answer).await?;
            }
        }
        Ok(())
    }

    /// Judges one text, and keeps what others ask of it: texts of JSON would add up.
    async fn value(&mut self, one: &mut CheckedKey<'_>, answer: Value) -> Result<(), Fault> {
        let def = one.found.def;
        let layout = one.layout(self.options.layout);
        for (index_def, index) in self.complete.get(&(def.module, def.name)).into_iter().flatten() {
            if reads_text(*index) {
                let params = one.found.params.iter().copied();
                one.places.push((*index_def, place(params, index_def, *index, &answer, layout)));
            }
        }
        let Value::BulkString(text) = answer else { return Ok(()) };
        if let Some(detail) = def.unreadable(&text) {
            let remedy = remedy(&one.found);
            let suspect = Suspect::new(Case::BadValue { detail }, def, one.key.to_vec(), layout);
            self.suspect(Suspect { remedy, ..suspect }).await?;
        }
        one.text = (def.type_ == Type::String).then_some(text);
        Ok(())
    }

    /// A neighbour: the key of that name with this key's placeholders, and others in their place.
    pub(super) fn neighbour(
        &self,
        one: &CheckedKey<'_>,
        name: &str,
        others: &[(&str, &str)],
    ) -> Option<(&'static KeyDef, Key)> {
        let def = self.def(one.found.def, name)?;
        let mut values = others.to_vec();
        values.extend(one.found.params.iter().map(|&(name, value)| (name, value)));
        def.render(one.layout(self.options.layout), &values).ok().map(|key| (def, key))
    }
}

fn is_read(def: &KeyDef) -> bool {
    matches!(def.type_, Type::Json | Type::Int) || !def.placed.is_empty() || def.decoder.is_some()
}

/// The flaw of a life that depends on no other key, as a sentence.
fn flaw(life: Life, pttl: i64) -> Option<Said> {
    match (life, pttl) {
        (Life::None, 0..) => Some(words::ENDS.say().with("left_ms", pttl)),
        (Life::Secs(_) | Life::Computed(_), -1) => Some(words::ENDLESS.say()),
        (Life::Secs(secs), left) if u64::try_from(left).is_ok_and(|left| left > secs * 1_000) => {
            Some(words::ENDS_LATE.say().with("left_ms", left).with("most_ms", secs * 1_000))
        }
        _ => None,
    }
}

/// The command that removes a value that cannot be read: this check, or a verb with the values of
/// the key. `None` when the key does not hold all of them.
fn remedy(found: &Classified<'_>) -> Option<String> {
    let Some(remedy) = found.def.remedy else {
        return found.def.drop_unreadable.then(|| "worldkeep check --repair".to_owned());
    };
    let mut text = remedy.to_owned();
    for (name, value) in &found.params {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    (!text.contains('{')).then_some(text)
}

/// A command on one key.
pub(super) fn command(name: &str, key: &[u8]) -> Cmd {
    let mut cmd = redis::cmd(name);
    cmd.arg(key);
    cmd
}
