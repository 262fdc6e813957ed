//! One atomic step on a stored document, a compare-and-write: check the guards, write the new text,
//! keep the indexes, append the events, in one round trip. [`Store::step`] runs it: as
//! `scripts/swap.lua`, or natively on the embedded engine. Either all of it happens or nothing. A step
//! never recreates a key that is gone unless it says [`Step::absent`].

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use redis::Value;

use crate::effects::{Effects, Op};
use crate::fault::Fault;
use crate::reply;
use crate::script::Script;
use crate::store::{Deadline, Store};

/// The script behind every step.
pub(crate) static SWAP: Script = Script::new("swap", include_str!("../scripts/swap.lua"));

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stepped {
    /// All of it happened.
    Done,
    /// A guard did not hold; nothing was written.
    Refused(Refused),
}

impl Stepped {
    /// Whether all of it happened.
    pub fn is_done(&self) -> bool {
        matches!(self, Stepped::Done)
    }
}

/// The first guard that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which guard failed: 0 is the document's own, then the others in the order they were added.
    pub guard: usize,
    /// The document's current text, when its text is the guard that failed; `None` when the
    /// document is gone or the guard is of another kind.
    pub found: Option<Vec<u8>>,
    /// Whether the key of the failed guard does not exist.
    pub missing: bool,
}

impl Refused {
    /// The document itself does not exist, and the step did not mean to create it.
    pub fn is_gone(&self) -> bool {
        self.guard == 0 && self.missing
    }
}

/// A condition on a key that must hold when a step writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The key it looks at.
    pub key: Vec<u8>,
    /// The condition that must hold.
    pub condition: Condition,
}

/// A condition on one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It holds exactly this text.
    Text(Vec<u8>),
    /// It holds a text with this SHA-1, in lower-case hex.
    Sha(String),
    /// It does not exist.
    Absent,
    /// It exists.
    Exists,
    /// A field of the hash holds exactly this text.
    Field(Vec<u8>, Vec<u8>),
    /// The hash has no such field.
    NoField(Vec<u8>),
    /// The hash has exactly this many fields.
    Count(usize),
    /// The entry waits for its answer: group, entry.
    Pending(Vec<u8>, Vec<u8>),
}

/// A command on a stream that waits for its answer: stream, consumer group, entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The stream's key.
    pub stream: String,
    /// The consumer group that read it.
    pub group: String,
    /// The entry's id.
    pub entry: String,
}

/// A step under construction. All its keys share a slot on a Cluster.
///
/// ```no_run
/// # async fn f(store: &dyn worldkeep_kernel::Store, by: worldkeep_kernel::Deadline) -> Result<(), worldkeep_kernel::Fault> {
/// use worldkeep_kernel::{Effects as _, Step, Stepped};
/// let step = Step::new("reactor:7").expect(r#"{"state":0}"#).write(r#"{"state":1}"#)
///     .sadd("reactors:map:1", "7");
/// match store.step(&step, by).await? {
///     Stepped::Done => println!("written"),
///     Stepped::Refused(refused) => println!("it is {:?} now", refused.found),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a step does nothing until a store runs it"]
pub struct Step {
    /// The document's own first.
    guards: Vec<Guard>,
    document: Option<Op>,
    ops: Vec<Op>,
    /// The document as this step leaves it, where the writer is to write its text.
    becomes: Option<Becomes>,
}

/// A document of whatever type its module gives it.
type Becomes = Arc<dyn Any + Send + Sync>;

impl Step {
    /// A step on this document, which must exist unless something else is said.
    pub fn new(document: impl AsRef<[u8]>) -> Self {
        let guard = Guard { key: document.as_ref().to_vec(), condition: Condition::Exists };
        Step { guards: vec![guard], document: None, ops: Vec::new(), becomes: None }
    }

    /// The guards, in the order they are checked: the document's own first.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The writes, in order: the document first.
    pub fn writes(&self) -> impl Iterator<Item = &Op> {
        self.document.iter().chain(&self.ops)
    }

    /// The document's key.
    pub fn document(&self) -> &[u8] {
        &self.guards[0].key
    }

    /// The write to the document, if there is one.
    pub(crate) fn document_write(&self) -> Option<&Op> {
        self.document.as_ref()
    }

    /// Leaves its document like this; the writer writes the text.
    pub(crate) fn becoming(mut self, document: Becomes) -> Self {
        self.becomes = Some(document);
        self
    }

    pub(crate) fn becomes(&self) -> Option<Becomes> {
        self.becomes.clone()
    }

    /// The writes beside the document.
    pub(crate) fn effects(&self) -> &[Op] {
        &self.ops
    }

    /// Adds the guards and the writes of a further step on the same document. The document's own guard
    /// stays as it is.
    pub(crate) fn join(mut self, further: Step) -> Self {
        self.guards.extend(further.guards.into_iter().skip(1));
        self.document = match (self.document, further.document) {
            (Some(earlier), Some(later)) => Some(later.following(earlier)),
            (earlier, later) => later.or(earlier),
        };
        self.ops.extend(further.ops);
        self
    }

    /// Drops those of its guards, but for the document's own, that hold anyway.
    pub(crate) fn drop_guards(&mut self, mut holds: impl FnMut(&Guard) -> bool) {
        let mut is_own = true;
        self.guards.retain(|guard| std::mem::take(&mut is_own) || !holds(guard));
    }

    /// Adds a guard right behind the document's own, before those of its changes.
    pub(crate) fn guard_first(mut self, key: &[u8], condition: Condition) -> Self {
        self.guards.insert(1, Guard { key: key.to_vec(), condition });
        self
    }

    fn guard(mut self, key: impl AsRef<[u8]>, condition: Condition) -> Self {
        self.guards.push(Guard { key: key.as_ref().to_vec(), condition });
        self
    }

    /// The document must hold exactly this text.
    pub fn expect(mut self, old: impl AsRef<[u8]>) -> Self {
        self.guards[0].condition = Condition::Text(old.as_ref().to_vec());
        self
    }

    /// The document must not exist: this step creates it.
    pub fn absent(mut self) -> Self {
        self.guards[0].condition = Condition::Absent;
        self
    }

    /// The new text; the document keeps its remaining life.
    pub fn write(mut self, new: impl AsRef<[u8]>) -> Self {
        self.document = Some(Op::on("SET", self.document(), &[new.as_ref(), b"KEEPTTL"]));
        self
    }

    /// The new text, with a life of its own from now on.
    pub fn write_for(mut self, new: impl AsRef<[u8]>, life_ms: u64) -> Self {
        let life = life_ms.max(1).to_string();
        let op = Op::on("SET", self.document(), &[new.as_ref(), b"PX", life.as_bytes()]);
        self.document = Some(op);
        self
    }

    /// The document goes away. Of many who try, one gets [`Stepped::Done`].
    pub fn delete(mut self) -> Self {
        self.document = Some(Op::on("DEL", self.document(), &[]));
        self
    }

    /// Another key must hold this text too.
    pub fn while_text(self, key: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> Self {
        self.guard(key, Condition::Text(text.as_ref().to_vec()))
    }

    /// Another key must hold a text with this SHA-1 ([`crate::sha1_hex`]). A long text does not travel
    /// then, neither there nor back.
    pub fn while_sha(self, key: impl AsRef<[u8]>, sha: impl Into<String>) -> Self {
        self.guard(key, Condition::Sha(sha.into()))
    }

    /// Another key must not exist.
    pub fn while_absent(self, key: impl AsRef<[u8]>) -> Self {
        self.guard(key, Condition::Absent)
    }

    /// Another key must exist.
    pub fn while_exists(self, key: impl AsRef<[u8]>) -> Self {
        self.guard(key, Condition::Exists)
    }

    /// A field of a hash must hold this text.
    pub fn while_field(
        self,
        key: impl AsRef<[u8]>,
        field: impl AsRef<[u8]>,
        text: impl AsRef<[u8]>,
    ) -> Self {
        self.guard(key, Condition::Field(field.as_ref().to_vec(), text.as_ref().to_vec()))
    }

    /// A field of a hash must not exist.
    pub fn while_no_field(self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>) -> Self {
        self.guard(key, Condition::NoField(field.as_ref().to_vec()))
    }

    /// A hash must have exactly this many fields.
    pub fn while_count(self, key: impl AsRef<[u8]>, fields: usize) -> Self {
        self.guard(key, Condition::Count(fields))
    }

    /// Lets go of a claim in a hash, if the field still holds this text.
    pub fn release(
        self,
        key: impl AsRef<[u8]>,
        field: impl AsRef<[u8]>,
        text: impl AsRef<[u8]>,
    ) -> Self {
        self.op(Op::on("RELEASE", key, &[field.as_ref(), text.as_ref()]))
    }

    /// Bytes of a text become others, so that a long text does not travel for a short change. The key
    /// keeps its life. A guard must hold the text that the bytes are counted in.
    pub fn splice(
        self,
        key: impl AsRef<[u8]>,
        bytes: std::ops::Range<usize>,
        text: impl AsRef<[u8]>,
    ) -> Self {
        let (from, to) = (bytes.start.to_string(), bytes.end.to_string());
        self.op(Op::on("SPLICE", key, &[from.as_bytes(), to.as_bytes(), text.as_ref()]))
    }

    /// A document without a life gets one until then, in Unix milliseconds. Each of these keys that
    /// has none gets the rest of the document's. Say this after the writes that make them.
    pub fn life<K: AsRef<[u8]>>(self, until_ms: u64, keys: impl IntoIterator<Item = K>) -> Self {
        let until = Op::on("LIFE", self.document(), &[until_ms.to_string().as_bytes()]);
        let step = self.op(until);
        keys.into_iter().fold(step, |step, key| step.op(Op::on("LIFE", key, &[])))
    }

    /// This step is the answer to a command. It acknowledges the command and takes it off the stream, and is
    /// refused when another server, which took this one for dead, has answered it already.
    pub fn answers(self, command: &Pending) -> Self {
        let Pending { stream, group, entry } = command;
        self.guard(stream, Condition::Pending(group.clone().into(), entry.clone().into()))
            .xack(stream, group, entry)
            .op(Op::on("XDEL", stream, &[entry.as_bytes()]))
    }

    /// Runs it as `swap.lua`. This is for stores: everybody else calls [`Store::step`].
    pub async fn run_script<S>(&self, store: &S, by: Deadline) -> Result<Stepped, Fault>
    where
        S: Store + ?Sized,
    {
        let (keys, args) = self.wire();
        let args: Vec<&[u8]> = args.iter().map(AsRef::as_ref).collect();
        let answer = store.script(&SWAP, &keys, &args, by).await?;
        ended(&answer).ok_or_else(|| reply::unexpected(keys[0], "done or refused", &answer))
    }

    /// Keys and arguments as the script takes them.
    fn wire(&self) -> (Vec<&[u8]>, Vec<Cow<'_, [u8]>>) {
        let mut keys: Vec<&[u8]> = Vec::with_capacity(self.guards.len() + self.ops.len());
        let mut args: Vec<Cow<'_, [u8]>> = Vec::with_capacity(8 + 12 * self.ops.len());
        args.push(digits(self.guards.len()));
        for Guard { key, condition } in &self.guards {
            push_guard(&mut args, number_of(&mut keys, key), condition);
        }
        for op in self.writes() {
            args.push(digits(op.args.len()));
            args.push(Cow::Borrowed(op.name.as_bytes()));
            args.push(op.key.as_ref().map_or(digits(0), |key| number_of(&mut keys, key)));
            args.extend(op.args.iter().map(|arg| Cow::Borrowed(arg.as_slice())));
        }
        (keys, args)
    }
}

impl Effects for Step {
    fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }
}

/// The outcome that the script's answer tells.
fn ended(answer: &Value) -> Option<Stepped> {
    if reply::bytes(answer) == Some(b"done") {
        return Some(Stepped::Done);
    }
    let [word, guard, exists, rest @ ..] = reply::list(answer)? else { return None };
    let guard = usize::try_from(reply::int(guard)?).ok()?;
    let missing = reply::int(exists)? == 0;
    let found = rest.first().and_then(reply::bytes).map(<[u8]>::to_vec);
    (reply::bytes(word)? == b"refused").then_some(Stepped::Refused(Refused {
        guard,
        found,
        missing,
    }))
}

/// The number of a key, which is added where it is new. Keys count from 1, as in Lua.
fn number_of<'a>(keys: &mut Vec<&'a [u8]>, key: &'a [u8]) -> Cow<'static, [u8]> {
    let known = keys.iter().position(|known| *known == key);
    digits(
        1 + known.unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        }),
    )
}

fn push_guard<'a>(args: &mut Vec<Cow<'a, [u8]>>, number: Cow<'a, [u8]>, condition: &'a Condition) {
    let (word, text, more): (&[u8], Cow<'a, [u8]>, Option<&'a [u8]>) = match condition {
        Condition::Text(text) => (b"text", text.into(), None),
        Condition::Sha(sha) => (b"sha", sha.as_bytes().into(), None),
        Condition::Absent => (b"absent", Cow::default(), None),
        Condition::Exists => (b"exists", Cow::default(), None),
        Condition::Field(field, text) => (b"field", field.into(), Some(text)),
        Condition::NoField(field) => (b"nofield", field.into(), None),
        Condition::Count(fields) => (b"count", digits(*fields), None),
        Condition::Pending(group, entry) => (b"pending", group.into(), Some(entry)),
    };
    args.extend([Cow::Borrowed(word), number, text]);
    args.extend(more.map(Cow::Borrowed));
}

/// Small numbers are many and always the same.
fn digits(number: usize) -> Cow<'static, [u8]> {
    static SMALL: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..64).map(|n| n.to_string()).collect());
    match SMALL.get(number) {
        Some(text) => Cow::Borrowed(text.as_bytes()),
        None => Cow::Owned(number.to_string().into_bytes()),
    }
}
