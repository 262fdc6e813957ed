//! One atomic change of a room: what it was decided by, what it writes, what it tells. The script looks at the
//! guards again, so a decision that is out of date changes nothing and is made anew.

use kernel::keyspace::Key;
use kernel::{Deadline, Fault, Store, reply};

use crate::document::Splice;
use crate::events::Fact;
use crate::push::Told;
use crate::scripts::STEP;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Changed,
    Gone,
}

/// A step under construction. The first key is `meta`, whose text is always a guard.
#[derive(Debug)]
#[must_use = "a step does nothing until it is run"]
pub(crate) struct Step {
    expires_at: u64,
    keys: Vec<Key>,
    /// Keys from here on are not the room's own: they keep no life of its.
    foreign: Vec<Key>,
    guards: Vec<Vec<Vec<u8>>>,
    writes: Vec<(Where, Vec<Vec<u8>>)>,
    pub(crate) told: Told,
    pub(crate) fact: Fact,
}

#[derive(Debug, Clone, Copy)]
enum Where {
    Own(usize),
    Foreign(usize),
}

impl Step {
    pub(crate) fn new(meta: Key, meta_text: &str, expires_at: u64, fact: Fact) -> Self {
        let guard = vec![b"text".to_vec(), b"1".to_vec(), meta_text.as_bytes().to_vec()];
        Step {
            expires_at,
            keys: vec![meta],
            foreign: Vec::new(),
            guards: vec![guard],
            writes: Vec::new(),
            told: Told::default(),
            fact,
        }
    }

    fn number(&mut self, key: &Key) -> usize {
        let known = self.keys.iter().position(|known| known == key);
        known.unwrap_or_else(|| {
            self.keys.push(key.clone());
            self.keys.len() - 1
        }) + 1
    }

    fn guard(mut self, word: &str, key: &Key, rest: &[&[u8]]) -> Self {
        let number = self.number(key).to_string();
        let mut guard = vec![word.as_bytes().to_vec(), number.into_bytes()];
        guard.extend(rest.iter().map(|part| part.to_vec()));
        self.guards.push(guard);
        self
    }

    /// The key still holds this text.
    pub(crate) fn while_text(self, key: &Key, text: &str) -> Self {
        self.guard("text", key, &[text.as_bytes()])
    }

    /// The key still holds a text with this hash.
    pub(crate) fn while_sha(self, key: &Key, sha: &str) -> Self {
        self.guard("sha", key, &[sha.as_bytes()])
    }

    /// The key still does not exist.
    pub(crate) fn while_absent(self, key: &Key) -> Self {
        self.guard("absent", key, &[b""])
    }

    /// A field still holds this.
    pub(crate) fn while_field(self, key: &Key, field: &str, text: &str) -> Self {
        self.guard("field", key, &[field.as_bytes(), text.as_bytes()])
    }

    /// A field still does not exist.
    pub(crate) fn while_no_field(self, key: &Key, field: &str) -> Self {
        self.guard("nofield", key, &[field.as_bytes()])
    }

    /// The hash still is exactly this.
    pub(crate) fn while_hash<'a>(
        self,
        key: &Key,
        fields: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let step = self.guard("count", key, &[fields.len().to_string().as_bytes()]);
        fields.fold(step, |step, (field, text)| step.while_field(key, field, text))
    }

    fn write(mut self, name: &str, key: &Key, args: &[&[u8]]) -> Self {
        let number = self.number(key);
        self.writes.push((Where::Own(number), words(name, args)));
        self
    }

    /// The new text of a document, which keeps its life.
    pub(crate) fn set(self, key: &Key, text: &str) -> Self {
        self.write("SET", key, &[text.as_bytes(), b"KEEPTTL"])
    }

    /// Some bytes of a document become others.
    pub(crate) fn splice(self, key: &Key, splice: &Splice) -> Self {
        let (from, to) = (splice.from.to_string(), splice.to.to_string());
        self.write("SPLICE", key, &[from.as_bytes(), to.as_bytes(), splice.text.as_bytes()])
    }

    pub(crate) fn del(self, key: &Key) -> Self {
        self.write("DEL", key, &[])
    }

    pub(crate) fn hset(self, key: &Key, field: &str, value: &str) -> Self {
        self.write("HSET", key, &[field.as_bytes(), value.as_bytes()])
    }

    pub(crate) fn hdel(self, key: &Key, field: &str) -> Self {
        self.write("HDEL", key, &[field.as_bytes()])
    }

    /// A write to a key that is not the room's own, such as the set of timers.
    pub(crate) fn beside(mut self, name: &str, key: &Key, args: &[&[u8]]) -> Self {
        let at = self.foreign.iter().position(|known| known == key).unwrap_or_else(|| {
            self.foreign.push(key.clone());
            self.foreign.len() - 1
        });
        self.writes.push((Where::Foreign(at), words(name, args)));
        self
    }

    /// Runs it: one round trip. With a stream the fact is part of it.
    pub(crate) async fn run(
        mut self,
        store: &dyn Store,
        channel: &Key,
        events: Option<&Key>,
        by: Deadline,
    ) -> Result<(Ended, Fact), Fault> {
        if let Some(events) = events {
            let (at, body) = (self.fact.at_ms.to_string(), self.fact.body_text());
            let (kind, code) = (self.fact.kind, self.fact.code.clone());
            let args = [
                "MAXLEN",
                "~",
                kernel::EVENTS_KEPT,
                "*",
                "type",
                kind,
                "at",
                &at,
                "id",
                &code,
                "body",
                &body,
            ];
            self = self.beside("XADD", events, &args.map(str::as_bytes));
        }
        let own = self.keys.len();
        let mut args: Vec<Vec<u8>> = vec![
            self.expires_at.to_string().into_bytes(),
            channel.as_bytes().to_vec(),
            self.told.text().as_bytes().to_vec(),
            own.to_string().into_bytes(),
            self.guards.len().to_string().into_bytes(),
        ];
        args.extend(self.guards.into_iter().flatten());
        for (place, write) in self.writes {
            let number = match place {
                Where::Own(number) => number,
                Where::Foreign(at) => own + at + 1,
            };
            let mut write = write.into_iter();
            let name = write.next().expect("a write has a name");
            args.push(write.len().to_string().into_bytes());
            args.push(name);
            args.push(number.to_string().into_bytes());
            args.extend(write);
        }
        let keys: Vec<&[u8]> = self.keys.iter().chain(&self.foreign).map(Key::as_bytes).collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let answer = store.script(&STEP, &keys, &args, by).await?;
        let ended = match reply::bytes(&answer) {
            Some(b"done") => Ended::Done,
            Some(b"changed") => Ended::Changed,
            Some(b"gone") => Ended::Gone,
            _ => return Err(reply::unexpected(keys[0], "done, changed or gone", &answer)),
        };
        Ok((ended, self.fact))
    }
}

fn words(name: &str, args: &[&[u8]]) -> Vec<Vec<u8>> {
    std::iter::once(name.as_bytes()).chain(args.iter().copied()).map(<[u8]>::to_vec).collect()
}
