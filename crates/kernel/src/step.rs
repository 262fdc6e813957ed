//! One atomic step on a stored document: compare the old text, write the new one, keep the indexes, append
//! the events, in one round trip (`scripts/swap.lua`, or `step_here.rs` without a script). A step never recreates a key that is gone unless it
//! says [`Step::absent`], and either all of it happens or nothing.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::effects::{Effects, Op};
use crate::fault::Fault;
use crate::reply;
use crate::script::Script;
use crate::store::{Deadline, Store};

/// The script behind every step.
pub(crate) static SWAP: Script = Script::new("swap", include_str!("../scripts/swap.lua"));

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// All of it happened.
    Swapped,
    /// Something it was based on is different now; nothing was written. Read again and decide anew.
    Changed,
    /// The document does not exist; nothing was written.
    Gone,
}

impl Swap {
    /// The word the script answered.
    pub fn word(self) -> &'static str {
        match self {
            Swap::Swapped => "swapped",
            Swap::Changed => "changed",
            Swap::Gone => "gone",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Guard {
    Text(usize, Vec<u8>),
    Absent(usize),
    Exists(usize),
    Field(usize, Vec<u8>, Vec<u8>),
    NoField(usize, Vec<u8>),
    Pending(usize, Vec<u8>, Vec<u8>),
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
/// # async fn f(store: &dyn kernel::Store, by: kernel::Deadline) -> Result<(), kernel::Fault> {
/// use kernel::{Effects as _, Step, Swap};
/// let done = Step::new("reactor:7").expect(r#"{"state":0}"#).write(r#"{"state":1}"#)
///     .sadd("reactors:map:1", "7")
///     .run(store, by).await?;
/// assert_eq!(done, Swap::Swapped);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a step does nothing until it is run"]
pub struct Step {
    /// The document first.
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) guard: Guard,
    pub(crate) others: Vec<Guard>,
    pub(crate) document: Option<Op>,
    pub(crate) ops: Vec<Op>,
}

impl Step {
    /// A step on this document, which must exist unless something else is said.
    pub fn new(document: impl AsRef<[u8]>) -> Self {
        Step {
            keys: vec![document.as_ref().to_vec()],
            guard: Guard::Exists(1),
            others: Vec::new(),
            document: None,
            ops: Vec::new(),
        }
    }

    /// The document must hold exactly this text.
    pub fn expect(mut self, old: impl AsRef<[u8]>) -> Self {
        self.guard = Guard::Text(1, old.as_ref().to_vec());
        self
    }

    /// The document must not exist: this step creates it.
    pub fn absent(mut self) -> Self {
        self.guard = Guard::Absent(1);
        self
    }

    /// The new text; the document keeps its remaining life.
    pub fn write(mut self, new: impl AsRef<[u8]>) -> Self {
        let op = Op::on("SET", &self.keys[0], &[new.as_ref(), b"KEEPTTL"]);
        self.document = Some(op);
        self
    }

    /// The new text, with a life of its own from now on.
    pub fn write_for(mut self, new: impl AsRef<[u8]>, life_ms: u64) -> Self {
        let life = life_ms.max(1).to_string();
        let op = Op::on("SET", &self.keys[0], &[new.as_ref(), b"PX", life.as_bytes()]);
        self.document = Some(op);
        self
    }

    /// The document goes away. Of many who try, one gets [`Swap::Swapped`].
    pub fn delete(mut self) -> Self {
        self.document = Some(Op::on("DEL", &self.keys[0], &[]));
        self
    }

    /// Another key must hold this text too.
    pub fn while_text(mut self, key: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> Self {
        let n = self.number(key.as_ref());
        self.others.push(Guard::Text(n, text.as_ref().to_vec()));
        self
    }

    /// Another key must not exist.
    pub fn while_absent(mut self, key: impl AsRef<[u8]>) -> Self {
        let n = self.number(key.as_ref());
        self.others.push(Guard::Absent(n));
        self
    }

    /// Another key must exist.
    pub fn while_exists(mut self, key: impl AsRef<[u8]>) -> Self {
        let n = self.number(key.as_ref());
        self.others.push(Guard::Exists(n));
        self
    }

    /// A field of a hash must hold this text.
    pub fn while_field(
        mut self,
        key: impl AsRef<[u8]>,
        field: impl AsRef<[u8]>,
        text: impl AsRef<[u8]>,
    ) -> Self {
        let n = self.number(key.as_ref());
        self.others.push(Guard::Field(n, field.as_ref().to_vec(), text.as_ref().to_vec()));
        self
    }

    /// A field of a hash must not exist.
    pub fn while_no_field(mut self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>) -> Self {
        let n = self.number(key.as_ref());
        self.others.push(Guard::NoField(n, field.as_ref().to_vec()));
        self
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

    /// This step is the answer to a command: it acknowledges it, and ends as [`Swap::Changed`] when the command
    /// is answered already, by another server that took this one for dead.
    pub fn answers(mut self, command: &Pending) -> Self {
        let n = self.number(command.stream.as_bytes());
        self.others.push(Guard::Pending(
            n,
            command.group.clone().into(),
            command.entry.clone().into(),
        ));
        self.xack(&command.stream, &command.group, &command.entry)
    }

    /// Runs it: one round trip. After [`Fault::Unknown`] look before repeating; a repeated step with the same
    /// `expect` is safe, because it finds the document changed.
    pub async fn run(&self, store: &dyn Store, by: Deadline) -> Result<Swap, Fault> {
        if let Some(done) = store.here().and_then(|here| self.run_here(here, by)) {
            return done;
        }
        let (keys, args) = self.wire();
        let args: Vec<&[u8]> = args.iter().map(AsRef::as_ref).collect();
        let answer = store.script(&SWAP, &keys, &args, by).await?;
        match reply::bytes(&answer) {
            Some(b"swapped") => Ok(Swap::Swapped),
            Some(b"changed") => Ok(Swap::Changed),
            Some(b"gone") => Ok(Swap::Gone),
            _ => Err(reply::unexpected(keys[0], "swapped, changed or gone", &answer)),
        }
    }

    /// Keys and arguments as the script takes them.
    fn wire(&self) -> (Vec<&[u8]>, Vec<Cow<'_, [u8]>>) {
        let mut keys: Vec<&[u8]> = self.keys.iter().map(Vec::as_slice).collect();
        let mut args: Vec<Cow<'_, [u8]>> = Vec::with_capacity(8 + 12 * self.ops.len());
        args.push(digits(1 + self.others.len()));
        for guard in std::iter::once(&self.guard).chain(&self.others) {
            push_guard(&mut args, guard);
        }
        for op in self.document.iter().chain(&self.ops) {
            args.push(digits(op.args.len()));
            args.push(Cow::Borrowed(op.name.as_bytes()));
            let number = match &op.key {
                Some(key) => number_of(&keys, key).unwrap_or_else(|| {
                    keys.push(key);
                    keys.len()
                }),
                None => 0,
            };
            args.push(digits(number));
            args.extend(op.args.iter().map(|arg| Cow::Borrowed(arg.as_slice())));
        }
        (keys, args)
    }

    fn number(&mut self, key: &[u8]) -> usize {
        number_of(&self.keys, key).unwrap_or_else(|| {
            self.keys.push(key.to_vec());
            self.keys.len()
        })
    }
}

impl Effects for Step {
    fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }
}

/// Keys count from 1, as in Lua.
fn number_of<K: AsRef<[u8]>>(keys: &[K], key: &[u8]) -> Option<usize> {
    keys.iter().position(|known| known.as_ref() == key).map(|at| at + 1)
}

fn push_guard<'a>(args: &mut Vec<Cow<'a, [u8]>>, guard: &'a Guard) {
    let (word, number, rest): (&str, usize, [Option<&[u8]>; 2]) = match guard {
        Guard::Text(n, text) => ("text", *n, [Some(text), None]),
        Guard::Absent(n) => ("absent", *n, [Some(b""), None]),
        Guard::Exists(n) => ("exists", *n, [Some(b""), None]),
        Guard::Field(n, field, text) => ("field", *n, [Some(field), Some(text)]),
        Guard::NoField(n, field) => ("nofield", *n, [Some(field), None]),
        Guard::Pending(n, group, entry) => ("pending", *n, [Some(group), Some(entry)]),
    };
    args.push(Cow::Borrowed(word.as_bytes()));
    args.push(digits(number));
    args.extend(rest.into_iter().flatten().map(Cow::Borrowed));
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
