//! Optimistic update, as programs beside ours change a document: `WATCH`, read, decide, `MULTI … EXEC` on a connection of its own, a bounded number of
//! times. The decision is a plain function and may run several times, so it must be pure. A key that is gone
//! is never recreated unless the change says [`Change::create`]. An `EXEC` without an answer is reported as
//! unknown and not repeated.

use std::ops::RangeInclusive;
use std::time::Duration;

use kernel::{Deadline, Effects, Fault, Op, Packed, Session, Store, reply};
use rand::RngExt as _;
use redis::{Cmd, Value};

/// The change that a decision wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a change does nothing until it is returned to the update"]
pub struct Change {
    document: Document,
    ops: Vec<Op>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Document {
    Leave,
    Write(Vec<u8>),
    WriteFor(Vec<u8>, u64),
    Create(Vec<u8>, Option<u64>),
    Delete,
}

impl Change {
    /// Nothing is to be done. (The caller's closure remembers why.)
    pub fn leave() -> Self {
        Change { document: Document::Leave, ops: Vec::new() }
    }

    /// The new text; the document keeps its remaining life.
    pub fn write(new: impl Into<Vec<u8>>) -> Self {
        Change { document: Document::Write(new.into()), ops: Vec::new() }
    }

    /// The new text, with a life of its own from now on.
    pub fn write_for(new: impl Into<Vec<u8>>, life_ms: u64) -> Self {
        Change { document: Document::WriteFor(new.into(), life_ms.max(1)), ops: Vec::new() }
    }

    /// The document is made, where there was none.
    pub fn create(new: impl Into<Vec<u8>>, life_ms: Option<u64>) -> Self {
        Change { document: Document::Create(new.into(), life_ms), ops: Vec::new() }
    }

    /// The document goes away.
    pub fn delete() -> Self {
        Change { document: Document::Delete, ops: Vec::new() }
    }

    fn commands(&self, key: &[u8]) -> Vec<Cmd> {
        let document = match &self.document {
            Document::Leave => None,
            Document::Write(new) => Some(Op::on("SET", key, &[new, b"XX", b"KEEPTTL"])),
            Document::WriteFor(new, life_ms) => {
                Some(Op::on("SET", key, &[new, b"XX", b"PX", life_ms.to_string().as_bytes()]))
            }
            Document::Create(new, None) => Some(Op::on("SET", key, &[new, b"NX"])),
            Document::Create(new, Some(life_ms)) => {
                Some(Op::on("SET", key, &[new, b"NX", b"PX", life_ms.to_string().as_bytes()]))
            }
            Document::Delete => Some(Op::on("DEL", key, &[])),
        };
        document.iter().chain(&self.ops).map(Op::cmd).collect()
    }
}

impl Effects for Change {
    fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }
}

/// How an update ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Updated {
    /// All of the change happened.
    Done,
    /// The decision was to leave everything as it is.
    Left,
    /// The document does not exist, and the change was not to create it; nothing was written.
    Gone,
    /// The document exists, and the change was to create it; nothing was written.
    Exists,
}

/// How often to try, and how long to wait between tries.
#[derive(Debug, Clone)]
pub struct Tries {
    /// At most so many attempts.
    pub attempts: u32,
    /// Milliseconds to wait after a lost attempt, drawn at random.
    pub pause_ms: RangeInclusive<u64>,
}

impl Default for Tries {
    /// Ten, as seed 001 says, without a pause.
    fn default() -> Self {
        Tries { attempts: 10, pause_ms: 0..=0 }
    }
}

/// Updates one document, in at most ten attempts.
pub async fn update<F>(
    store: &dyn Store,
    key: impl AsRef<[u8]>,
    by: Deadline,
    decide: F,
) -> Result<Updated, Fault>
where
    F: FnMut(Option<&[u8]>) -> Change,
{
    update_with(store, key, &Tries::default(), by, decide).await
}

/// Updates one document. `decide` gets its text, or `None` when there is none.
pub async fn update_with<F>(
    store: &dyn Store,
    key: impl AsRef<[u8]>,
    tries: &Tries,
    by: Deadline,
    mut decide: F,
) -> Result<Updated, Fault>
where
    F: FnMut(Option<&[u8]>) -> Change,
{
    let key = key.as_ref();
    let mut session = store.session(key, by).await?;
    for attempt in 1..=tries.attempts {
        let text = watch(&mut *session, key, by).await?;
        let change = decide(text.as_deref());
        let ended = match (&change.document, text.is_some()) {
            (Document::Leave, _) if change.ops.is_empty() => Some(Updated::Left),
            (Document::Create(..), true) => Some(Updated::Exists),
            (Document::Create(..), false) | (_, true) => None,
            (_, false) => Some(Updated::Gone),
        };
        if let Some(ended) = ended {
            // The session may be used again by others: let go of the key.
            read_only(session.call(&redis::cmd("UNWATCH"), by).await)?;
            return Ok(ended);
        }
        let commands: Packed = change.commands(key).iter().collect();
        session.queue(&[&commands], by).await?;
        if let Some(answers) = session.exec(by).await? {
            return half_done(&change, key, &answers).map_or(Ok(Updated::Done), Err);
        }
        if attempt < tries.attempts && *tries.pause_ms.end() > 0 {
            let pause = rand::rng().random_range(tries.pause_ms.clone());
            tokio::time::sleep(Duration::from_millis(pause).min(by.left())).await;
        }
    }
    Err(Fault::Contended {
        key: String::from_utf8_lossy(key).into_owned(),
        attempts: tries.attempts,
    })
}

async fn watch(
    session: &mut dyn Session,
    key: &[u8],
    by: Deadline,
) -> Result<Option<Vec<u8>>, Fault> {
    read_only(session.call(redis::cmd("WATCH").arg(key), by).await)?;
    match read_only(session.call(redis::cmd("GET").arg(key), by).await)? {
        Value::Nil => Ok(None),
        Value::BulkString(text) => Ok(Some(text)),
        other => Err(reply::unexpected(key, "text", &other)),
    }
}

/// Before `EXEC` nothing is written: a lost answer is no doubt about the outcome.
fn read_only<T>(result: Result<T, Fault>) -> Result<T, Fault> {
    result.map_err(|fault| match fault {
        Fault::Unknown(why) => Fault::Unavailable(why),
        other => other,
    })
}

/// `MULTI` does not undo: when an index holds the wrong type, its own write failed and the others happened.
fn half_done(change: &Change, key: &[u8], answers: &[Value]) -> Option<Fault> {
    let (at, error) = answers.iter().enumerate().find_map(|(at, answer)| match answer {
        Value::ServerError(error) => Some((at, error)),
        _ => None,
    })?;
    let with_document = usize::from(change.document != Document::Leave);
    let broken = at.checked_sub(with_document).and_then(|at| change.ops.get(at)?.key());
    Some(Fault::Corrupt {
        key: String::from_utf8_lossy(broken.unwrap_or(key)).into_owned(),
        detail: format!("the rest of the change was written: {error:?}"),
    })
}
