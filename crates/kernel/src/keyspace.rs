//! The keyspace is data. Each module declares its keys once with [`keyspace!`](crate::keyspace!); builders,
//! documents, ACL rules, SCAN globs, the check and the slot proof are loops over these tables.
//!
//! True of every table: a name and a pattern occur once; classifying a built key gives back its definition
//! and its parts, in both layouts; no value of a placeholder turns one key into another.

mod acl;
mod classify;
mod docs;
mod ids;
mod layout;
mod macros;
pub mod own;
mod pattern;

use std::borrow::Borrow;
use std::fmt;

pub use acl::{Acl, Profile, Role, acl};
pub use classify::{Classified, Classifier, classify, scan_glob};
pub use docs::{KeyRow, ParamRow, markdown, rows};
pub use ids::{Arg, BadId, Flaw, Kind, check_namespaces};
pub use layout::{Layout, SLOTS, UnknownLayout, slot};
pub use pattern::{Param, Pattern};
pub use uuid::Uuid;

/// A key as it goes to the store. Only builders make one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    pub(crate) fn trusted(text: String) -> Key {
        Key(text)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The key's Cluster slot.
    pub fn slot(&self) -> u16 {
        slot(self.as_bytes())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        key.0
    }
}

impl redis::ToRedisArgs for Key {
    fn write_redis_args<W: ?Sized + redis::RedisWrite>(&self, out: &mut W) {
        out.write_arg(self.as_bytes());
    }
}

impl redis::ToSingleRedisArg for Key {}

/// The Redis type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// A string of bytes or a bare word.
    String,
    /// A string that holds JSON.
    Json,
    /// A string that holds a whole number.
    Int,
    /// A hash.
    Hash,
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set.
    Zset,
    /// A stream.
    Stream,
    /// No key at all: a channel of publish and subscribe.
    Channel,
}

impl Type {
    /// The word that `TYPE` answers for such a key.
    pub const fn redis(self) -> &'static str {
        match self {
            Type::String | Type::Json | Type::Int => "string",
            Type::Hash => "hash",
            Type::List => "list",
            Type::Set => "set",
            Type::Zset => "zset",
            Type::Stream => "stream",
            Type::Channel => "none",
        }
    }

    /// As the seeds write it.
    pub const fn shown(self) -> &'static str {
        match self {
            Type::String => "String",
            Type::Json => "String (JSON)",
            Type::Int => "String (integer)",
            Type::Hash => "Hash",
            Type::List => "List",
            Type::Set => "Set",
            Type::Zset => "Sorted set",
            Type::Stream => "Stream",
            Type::Channel => "Channel (no key)",
        }
    }
}

/// How long a key lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "lowercase")]
pub enum Life {
    /// It never expires.
    None,
    /// It expires; never more than so many seconds are left.
    Secs(u64),
    /// It expires together with the named key of the same scope.
    Inherited(&'static str),
    /// It expires; the sentence says after what time.
    Computed(&'static str),
    /// It may expire; the sentence says when it does.
    Sometimes(&'static str),
}

/// The readers who may see a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Secrecy {
    /// Whoever may see the key.
    Open,
    /// Readers who also have the right `payloads`.
    Payloads,
    /// Nobody: the value is never shown.
    Secret,
}

/// Whether a key comes from a seed or is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The seed promises the key's bytes.
    Seed,
    /// We added it; losing it costs a helper, never a seed's state.
    Own,
}

/// The part of an index that holds the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// Members of a set or sorted set, elements of a list.
    Members,
    /// Fields of a hash.
    Fields,
    /// Values of a hash.
    Values,
}

/// The rule for the keys that an index names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Named {
    /// The named keys exist.
    Live,
    /// The named keys may be gone.
    Any,
    /// The named keys do not exist, and none is named twice: ids to use again.
    Free,
}

/// The place in a named key's value that says into which index the key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// A JSON pointer into its value.
    Json(&'static str),
    /// A field of its hash, and what its absence means.
    Field(&'static str, &'static str),
}

/// An index: each entry names a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Index {
    /// The key each entry names.
    pub names: &'static str,
    /// The placeholder of that key which the entry fills. Others have the index's value of that name.
    pub fills: &'static str,
    /// The part of the index that holds the entries.
    pub held: Held,
    /// Whether the keys named must exist; an entry that breaks the rule is reported, and repair removes it.
    pub named: Named,
    /// `Some`: every such key must be in its index, and these placeholders of the index are found there
    /// (the rest have the key's own values). `None`: some keys are in no index of this kind.
    pub complete: Option<&'static [(&'static str, At)]>,
}

/// A key that has no meaning without another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Belongs {
    /// The key it needs.
    pub to: &'static str,
    /// Placeholders of that key under another name here: `(there, here)`.
    pub with: &'static [(&'static str, &'static str)],
    /// Whether repair removes it when that key is gone; if not, it is only reported.
    pub drop: bool,
}

/// A word stored under a key, and the indexes of which one must then hold its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Placed {
    /// The value.
    pub word: &'static str,
    /// One of these must hold the entry.
    pub in_any: &'static [&'static str],
    /// The placeholder here whose value is the entry there.
    pub entry: &'static str,
}

/// Reads a stored text as its module does; the sentence says why it cannot.
pub type Decoder = fn(&[u8]) -> Result<(), String>;

/// All that is declared about a key, as the macro gathers it.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The module.
    pub module: &'static str,
    /// The builder's name.
    pub name: &'static str,
    /// The plain pattern.
    pub pattern: &'static str,
    /// The pattern in the tagged layout, where it is not the plain one with the scope in braces.
    pub tagged: Option<&'static str>,
    /// The placeholders.
    pub params: &'static [Param],
    /// The placeholder that gets the hash tag.
    pub scope: Option<&'static str>,
    /// The type of the value.
    pub type_: Type,
    /// The life of the key.
    pub life: Life,
    /// Seed or ours.
    pub origin: Origin,
    /// Roles that write it; empty: the module itself.
    pub writers: &'static [&'static str],
    /// Roles that read it.
    pub readers: &'static [&'static str],
    /// Roles that may write some fields only, in the compatible profile: role and fields.
    pub partly: &'static [(&'static str, &'static str)],
    /// The readers who may see the value.
    pub secrecy: Secrecy,
    /// Words that a placeholder refuses because a neighbouring key spells them.
    pub reserved: &'static [(&'static str, &'static [&'static str])],
    /// The keys that the entries name, when the key is an index.
    pub index: Option<Index>,
    /// The key without which this one has no meaning.
    pub belongs: Option<Belongs>,
    /// The words of the value that say in which index the key is listed.
    pub placed: &'static [Placed],
    /// How its module reads the text: what that refuses is a bad value, though it may be good JSON.
    pub decoder: Option<Decoder>,
    /// Whether repair removes a value that cannot be read, with all that indexes say of it.
    pub drop_unreadable: bool,
    /// Whether repair removes one that never ends and should.
    pub drop_endless: bool,
    /// The command that removes one, with placeholders as the parameters are named: `verb {unique_id}`.
    pub remedy: Option<&'static str>,
    /// One sentence.
    pub doc: &'static str,
}

impl Spec {
    /// The defaults of a declaration.
    pub const BASE: Spec = Spec {
        module: "",
        name: "",
        pattern: "",
        tagged: None,
        params: &[],
        scope: None,
        type_: Type::String,
        life: Life::None,
        origin: Origin::Seed,
        writers: &[],
        readers: &[],
        partly: &[],
        secrecy: Secrecy::Open,
        reserved: &[],
        index: None,
        belongs: None,
        placed: &[],
        decoder: None,
        drop_unreadable: false,
        drop_endless: false,
        remedy: None,
        doc: "",
    };
}

/// The definition of a key.
#[derive(Debug, Clone, Copy)]
pub struct KeyDef {
    spec: Spec,
    plain: Pattern,
    tagged: Pattern,
}

impl KeyDef {
    /// Compiles a declaration; a wrong one does not build.
    pub const fn new(spec: Spec) -> KeyDef {
        let plain = Pattern::parse(spec.pattern, spec.params, None);
        let tagged = match spec.tagged {
            Some(text) => Pattern::parse(text, spec.params, spec.scope),
            None => Pattern::parse(spec.pattern, spec.params, spec.scope),
        };
        KeyDef { spec, plain, tagged }
    }

    /// The key's pattern in a layout.
    pub const fn pattern(&self, layout: Layout) -> &Pattern {
        match layout {
            Layout::Plain => &self.plain,
            Layout::Tagged => &self.tagged,
        }
    }

    /// Whether both layouts spell it the same.
    pub fn same_in_both(&self) -> bool {
        self.plain == self.tagged
    }

    /// The sentence of the declaration.
    pub fn sentence(&self) -> &'static str {
        self.spec.doc.trim()
    }

    /// Roles that write it; the first is its owner.
    pub const fn writers(&self) -> &[&'static str] {
        if self.spec.writers.is_empty() {
            std::slice::from_ref(&self.spec.module)
        } else {
            self.spec.writers
        }
    }

    /// Whether it is a key at all.
    pub fn is_key(&self) -> bool {
        self.spec.type_ != Type::Channel
    }

    /// Why a stored text cannot be read: as its module says, or, without a word of it, as its type says.
    pub fn unreadable(&self, text: &[u8]) -> Option<String> {
        if let Some(decoder) = self.spec.decoder {
            return decoder(text).err();
        }
        match self.spec.type_ {
            Type::Json => serde_json::from_slice::<serde::de::IgnoredAny>(text)
                .err()
                .map(|error| format!("is no JSON: {error}")),
            Type::Int => {
                let number =
                    std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
                number.is_none().then(|| "is no whole number".to_owned())
            }
            _ => None,
        }
    }

    /// The key for arguments in the order of the parameters.
    pub fn build(&self, layout: Layout, args: &[Arg<'_>]) -> Result<Key, BadId> {
        self.pattern(layout).write(self.spec.name, self.spec.reserved, |n| args.get(n).copied())
    }

    /// The key for arguments by name; those that its pattern does not need may be left out.
    pub fn render(&self, layout: Layout, values: &[(&str, &str)]) -> Result<Key, BadId> {
        self.pattern(layout).write(self.spec.name, self.spec.reserved, |n| {
            let wanted = self.spec.params[n].name;
            values.iter().find(|(name, _)| *name == wanted).map(|&(_, text)| Arg::Text(text))
        })
    }
}

impl std::ops::Deref for KeyDef {
    type Target = Spec;

    fn deref(&self) -> &Spec {
        &self.spec
    }
}

impl PartialEq for KeyDef {
    fn eq(&self, other: &KeyDef) -> bool {
        (self.module, self.name) == (other.module, other.name)
    }
}

impl Eq for KeyDef {}

/// The keys of one module.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The module's name.
    pub module: &'static str,
    /// The seed its bytes come from.
    pub seed: Option<&'static str>,
    /// The state that the module keeps, in a sentence.
    pub about: &'static str,
    /// Beginnings that belong to the module: what starts so and has no definition is a fault.
    pub prefixes: &'static [&'static str],
    /// The roles that write and read, beside the module itself.
    pub roles: &'static [Role],
    /// The definitions, in the order of the documents.
    pub keys: &'static [&'static KeyDef],
}

impl Table {
    /// The defaults of a declaration.
    pub const BASE: Table =
        Table { module: "", seed: None, about: "", prefixes: &[], roles: &[], keys: &[] };

    /// The definition of that name.
    pub fn def(&self, name: &str) -> Option<&'static KeyDef> {
        self.keys.iter().copied().find(|def| def.name == name)
    }

    /// Whether a role may read (or write) a key, by the ownership that the ACL rules enforce. The module's
    /// own name may do all of it.
    pub fn may(&self, role: &str, def: &KeyDef, write: bool) -> bool {
        let known = self.roles.iter().find(|known| known.name == role);
        let one = [role];
        let names = match known {
            Some(known) if !known.acts_as.is_empty() => known.acts_as,
            _ => &one[..],
        };
        let among = |roles: &[&str]| roles.iter().any(|role| names.contains(role));
        let whole = self.roles.is_empty() && role == self.module;
        let reads = || among(def.readers) || known.is_some_and(|known| known.reads_all);
        whole || among(def.writers()) || (!write && reads())
    }
}
