//! Events: facts that are written in the same atomic step in which they happen. Each is one stream
//! entry: `XADD <stream> MAXLEN ~ 10000 * type T at <ms> id <entity> body <JSON>`; the entry id is
//! the sequence. Every reader gets the same [`Envelope`]. No secret, token, device id or avatar is
//! ever in an event.

mod place;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use redis::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::effects::{EVENTS_KEPT, Op};
use crate::json;
use crate::numbers::{Dialect, to_json};
use crate::reply;

pub use self::place::{EventBox, EventPlace};
pub use crate::reader::{EventReader, Feed, Gap, Record, StreamEvent};

/// One fact, before it is written.
#[derive(Debug, Clone)]
pub struct Event {
    kind: String,
    at_ms: u64,
    id: String,
    body: Box<RawValue>,
}

impl Event {
    /// `kind` is upstream's word or the past tense in lower case; `id` names the entity.
    pub fn new<T: Serialize + ?Sized>(
        kind: impl Into<String>,
        at_ms: u64,
        id: impl Into<String>,
        body: &T,
        dialect: Dialect,
    ) -> serde_json::Result<Self> {
        let body = RawValue::from_string(to_json(body, dialect)?)?;
        Ok(Event { kind: kind.into(), at_ms, id: id.into(), body })
    }

    /// The same with a body that is JSON text already.
    pub fn raw(
        kind: impl Into<String>,
        at_ms: u64,
        id: impl Into<String>,
        body: Box<RawValue>,
    ) -> Self {
        Event { kind: kind.into(), at_ms, id: id.into(), body }
    }

    /// The write that appends it, for a step or an update.
    pub fn append_to(&self, stream: impl AsRef<[u8]>) -> Op {
        let at = self.at_ms.to_string();
        let words: [&str; 12] = [
            "MAXLEN",
            "~",
            EVENTS_KEPT,
            "*",
            "type",
            &self.kind,
            "at",
            &at,
            "id",
            &self.id,
            "body",
            self.body.get(),
        ];
        Op::on("XADD", stream, &words.map(str::as_bytes))
    }
}

/// The id of a stream entry: milliseconds and a counter, written `1700000000000-0`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq {
    /// Milliseconds of the server that wrote it.
    pub ms: u64,
    /// Counts entries of one millisecond.
    pub n: u64,
}

impl Seq {
    /// Before every entry.
    pub const START: Seq = Seq { ms: 0, n: 0 };
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.n)
    }
}

/// A sequence that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a sequence: write it as milliseconds-counter, such as 1700000000000-0")]
pub struct BadSeq;

impl FromStr for Seq {
    type Err = BadSeq;

    fn from_str(text: &str) -> Result<Self, BadSeq> {
        if text.contains('+') {
            return Err(BadSeq);
        }
        let (ms, n) = text.split_once('-').unwrap_or((text, "0"));
        Ok(Seq { ms: ms.parse().map_err(|_| BadSeq)?, n: n.parse().map_err(|_| BadSeq)? })
    }
}

impl Serialize for Seq {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seq {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// An event as every reader gets it: on `/ws/events`, in `--json`, in the library.
#[derive(Debug, Clone, Serialize)]
pub struct Envelope {
    /// Which module it comes from.
    pub module: String,
    /// Tenant or namespace; null where the module has none.
    pub scope: Option<String>,
    /// The id of the entry in its stream.
    pub seq: Seq,
    /// Unix milliseconds.
    pub at: u64,
    /// The type of the event, such as `CREATED`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The id of the entity that the event is about.
    pub id: String,
    /// The rest, as the module wrote it.
    pub body: Box<RawValue>,
    /// The place where it happened, once somebody has asked.
    #[serde(skip)]
    pub place: KnownPlace,
}

/// The place of an event, which is read once for all who ask.
#[derive(Debug, Clone, Default)]
pub struct KnownPlace(OnceLock<Option<EventPlace>>);

impl Envelope {
    /// Reads one stream entry. Entries of foreign writers are taken as far as they go: a missing time is that
    /// of the sequence, a body that is not JSON becomes a JSON string.
    pub fn read(module: &str, scope: Option<&str>, seq: Seq, fields: &Value) -> Self {
        let mut envelope = Envelope {
            module: module.to_owned(),
            scope: scope.map(str::to_owned),
            seq,
            at: seq.ms,
            kind: String::new(),
            id: String::new(),
            body: RawValue::NULL.to_owned(),
            place: KnownPlace::default(),
        };
        for (name, value) in reply::pairs(fields).unwrap_or_default() {
            let Some(bytes) = reply::bytes(value) else { continue };
            let text = String::from_utf8_lossy(bytes).into_owned();
            match reply::text(name) {
                Some("type") => envelope.kind = text,
                Some("at") => envelope.at = text.parse().unwrap_or(seq.ms),
                Some("id") => envelope.id = text,
                Some("body") => {
                    envelope.body = serde_json::from_str(&text).unwrap_or_else(|_| {
                        serde_json::value::to_raw_value(&text).expect("a string is always JSON")
                    });
                }
                _ => {}
            }
        }
        envelope
    }
}

impl Envelope {
    /// The place where it happened; `None` if its body does not tell.
    pub fn place(&self) -> Option<&EventPlace> {
        self.place.0.get_or_init(|| EventPlace::read(self.body.get())).as_ref()
    }
}

/// Which events a reader wants. An empty part means all.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only of these modules.
    pub modules: Vec<String>,
    /// Only of these tenants or namespaces.
    pub scopes: Vec<String>,
    /// Only these types.
    pub types: Vec<String>,
    /// Only those whose body has these members with these values.
    #[serde(rename = "where")]
    pub wanted: BTreeMap<String, serde_json::Value>,
    /// Only those that one of these boxes sees; at most [`EventBox::MOST`].
    pub boxes: Vec<EventBox>,
}

impl Filter {
    /// Whether a stream can hold anything wanted.
    pub fn wants_stream(&self, module: &str, scope: Option<&str>) -> bool {
        let listed = |list: &[String], word: &str| list.iter().any(|known| known == word);
        (self.modules.is_empty() || listed(&self.modules, module))
            && (self.scopes.is_empty() || scope.is_some_and(|scope| listed(&self.scopes, scope)))
    }

    fn sees(&self, envelope: &Envelope) -> bool {
        let seen = |place: &EventPlace| self.boxes.iter().any(|one| one.sees(place));
        self.boxes.is_empty() || envelope.place().is_some_and(seen)
    }

    /// Whether an event that stands in no stream is wanted, if it fits: its type is named, or it belongs to what a
    /// box shows.
    pub fn wants_passing(&self, kind: &str) -> bool {
        match self.types.as_slice() {
            [] => !self.boxes.is_empty(),
            types => types.iter().any(|wanted| wanted == kind),
        }
    }

    /// Whether this event is wanted.
    pub fn wants(&self, envelope: &Envelope) -> bool {
        self.wants_stream(&envelope.module, envelope.scope.as_deref())
            && (self.types.is_empty() || self.types.contains(&envelope.kind))
            && self.sees(envelope)
            && self.wanted.iter().all(|(name, value)| {
                json::get(envelope.body.get(), name)
                    .and_then(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).ok())
                    .is_some_and(|found| found == *value)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn fields(list: &[&str]) -> Value {
        Value::Array(list.iter().map(|text| Value::BulkString(text.as_bytes().into())).collect())
    }

    #[test]
    fn an_envelope_is_written_exactly_so() {
        let fields = fields(&["type", "CREATED", "at", "5", "id", "7", "body", r#"{"x":1.50}"#]);
        let seq = "1700000000000-2".parse().unwrap();
        let envelope = Envelope::read("reactors", Some("t1"), seq, &fields);
        expect![[
            r#"{"module":"reactors","scope":"t1","seq":"1700000000000-2","at":5,"type":"CREATED","id":"7","body":{"x":1.50}}"#
        ]]
        .assert_eq(&serde_json::to_string(&envelope).unwrap());
    }

    #[test]
    fn a_foreign_entry_is_taken_as_far_as_it_goes() {
        let envelope = Envelope::read(
            "rooms",
            None,
            Seq { ms: 9, n: 0 },
            &fields(&["body", "not json", "z", "1"]),
        );
        expect![[
            r#"{"module":"rooms","scope":null,"seq":"9-0","at":9,"type":"","id":"","body":"not json"}"#
        ]]
        .assert_eq(&serde_json::to_string(&envelope).unwrap());
    }

    #[test]
    fn an_event_is_one_bounded_append() {
        let event = Event::new("CREATED", 5, "7", &[1.0], Dialect::Go).unwrap();
        let op = event.append_to("wk:reactors:t1:events");
        let words: Vec<_> = op.args.iter().map(|arg| String::from_utf8_lossy(arg)).collect();
        assert_eq!(op.name, "XADD");
        assert_eq!(words.join(" "), "MAXLEN ~ 10000 * type CREATED at 5 id 7 body [1]");
    }

    #[test]
    fn sequences_order_and_refuse_nonsense() {
        let seq = |text: &str| text.parse::<Seq>();
        assert!(seq("5-10").unwrap() > seq("5-9").unwrap());
        assert_eq!(seq("7").unwrap().to_string(), "7-0");
        for bad in ["", "-", "$", "1-", "-1", "1-2-3", "+1-0", "1-+2", "99999999999999999999-0"] {
            assert_eq!(seq(bad), Err(BadSeq), "{bad}");
        }
    }

    #[test]
    fn a_filter_takes_only_what_it_names() {
        let envelope = Envelope::read(
            "monsters",
            Some("t1"),
            Seq::START,
            &fields(&["type", "KILLED", "body", r#"{"mapId":100000000,"who":"a"}"#]),
        );
        let filter = |text: &str| serde_json::from_str::<Filter>(text).unwrap();
        assert!(filter("{}").wants(&envelope));
        assert!(
            filter(r#"{"modules":["monsters"],"scopes":["t1"],"types":["KILLED"]}"#)
                .wants(&envelope)
        );
        assert!(filter(r#"{"where":{"mapId":100000000,"who":"a"}}"#).wants(&envelope));
        for no in [
            r#"{"modules":["rooms"]}"#,
            r#"{"scopes":["t2"]}"#,
            r#"{"types":["DAMAGED"]}"#,
            r#"{"where":{"mapId":1}}"#,
            r#"{"where":{"absent":null}}"#,
        ] {
            assert!(!filter(no).wants(&envelope), "{no}");
        }
        assert!(serde_json::from_str::<Filter>(r#"{"module":["x"]}"#).is_err());
    }
}
