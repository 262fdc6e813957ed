//! One batch to the store: `MULTI … EXEC` on one server, in order on a Cluster.
//!
//! Always true: a tick makes no key. The name of the store is watched, so a store that is emptied
//! or exchanged takes nothing; everything else that is written to is asked for right before `EXEC`.
//! A key that is deleted between that question and `EXEC` shows in the answers, and is deleted
//! again at once.

use std::sync::Arc;

use kernel::{Cmd, Deadline, Fault, Kind, Packed, Session, Store, Value, reply};
use tokio::sync::oneshot;
use tokio::time::timeout_at;

use super::PATIENCE;
use super::examine::exists;
use super::keep;
use crate::keys::Keys;
use crate::store::batch::Batch;
use crate::store::cmd;

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landed {
    Stored,
    /// Nothing was written, because something that it writes to is not there.
    Gone,
}

/// The session for the next batch, and what became of this one.
pub(super) type Arrived = (Option<Box<dyn Session>>, Result<Landed, Fault>);

/// Sends batches.
pub(super) struct Sender {
    pub(super) store: Arc<dyn Store>,
    pub(super) keys: Keys,
    /// The store that may be written to.
    pub(super) identity: Option<String>,
}

impl Sender {
    /// Writes a batch, when there is a gate only once it opens; gives the session back for the next.
    pub(super) async fn send(
        &self,
        session: Option<Box<dyn Session>>,
        extra: &[Cmd],
        batch: &Batch,
        gate: Option<oneshot::Receiver<()>>,
    ) -> Arrived {
        if self.store.status().kind == Kind::Cluster {
            let open = match gate {
                Some(gate) => once_open(gate).await.is_some(),
                None => true,
            };
            return (None, if open { self.send_apart(extra, batch).await } else { Err(off()) });
        }
        // The batch before it has as much time again.
        let by = Deadline::after(if gate.is_some() { PATIENCE * 2 } else { PATIENCE });
        let mut session = match self.ready(session, by).await {
            Ok(Some(session)) => session,
            Ok(None) => return (None, Ok(Landed::Gone)),
            Err(fault) => return (None, Err(fault)),
        };
        let all: Packed = extra.iter().collect();
        let mut parts = vec![&all];
        parts.extend(&batch.entities);
        parts.push(&batch.last);
        // The server has the commands while the batch before it still happens.
        if let Err(fault) = session.queue(&parts, by).await {
            return (None, Err(fault));
        }
        let by = match gate {
            Some(gate) => match timeout_at(by.instant().into(), once_open(gate)).await {
                Ok(Some(by)) => by,
                _ => return (None, Err(off())),
            },
            None => by,
        };
        match self.is_whole(batch, by).await {
            Ok(true) => {}
            Ok(false) => return (None, Ok(Landed::Gone)),
            Err(fault) => return (None, Err(fault)),
        }
        match session.exec(by).await {
            Ok(Some(values)) => {
                let made = made(batch, &values[extra.len().min(values.len())..]);
                (Some(session), self.unmake(made).await)
            }
            // The name of the store was touched.
            Ok(None) => (Some(session), Ok(Landed::Gone)),
            Err(fault) => (Some(session), Err(fault)),
        }
    }

    /// A session that notices when the store is emptied or exchanged; `None` when it is not the one that is known.
    async fn ready(
        &self,
        session: Option<Box<dyn Session>>,
        by: Deadline,
    ) -> Result<Option<Box<dyn Session>>, Fault> {
        let mut session = if let Some(session) = session {
            session
        } else {
            let session = self.store.session(self.keys.tick().as_bytes(), by).await?;
            if !self.is_known().await? {
                return Ok(None);
            }
            session
        };
        if self.identity.is_some() {
            session.call(&cmd(&["WATCH", self.keys.store().as_str()]), by).await?;
        }
        Ok(Some(session))
    }

    async fn is_known(&self) -> Result<bool, Fault> {
        let Some(identity) = &self.identity else { return Ok(true) };
        Ok(keep::identity(&*self.store, self.keys).await?.as_ref() == Some(identity))
    }

    /// Whether the store is the one that is known, and has everything that the batch writes to.
    async fn is_whole(&self, batch: &Batch, by: Deadline) -> Result<bool, Fault> {
        let mut asks = batch.guard.cmds();
        let keys: usize = batch.guard.words().map(|words| words.len() - 1).sum();
        if self.identity.is_some() {
            asks.push(cmd(&["HGET", self.keys.store().as_str(), "id"]));
        }
        let mut answers = self.store.pipeline(&asks, by).await?.into_iter();
        let Some(found) = answers.next() else { return Ok(true) };
        let found = reply::int(&found?).and_then(|count| usize::try_from(count).ok());
        let named = answers.next().transpose()?;
        let named = named.as_ref().and_then(reply::text);
        Ok(found == Some(keys) && named == self.identity.as_deref())
    }

    /// On a Cluster: entities first, then the tick. Between the question and the write there is a moment.
    async fn send_apart(&self, extra: &[Cmd], batch: &Batch) -> Result<Landed, Fault> {
        let by = Deadline::after(PATIENCE);
        if !self.is_known().await? {
            return Ok(Landed::Gone);
        }
        let guard: Vec<Cmd> = batch
            .guard
            .words()
            .flat_map(|words| words[1..].iter().map(|key| exists(key)).collect::<Vec<_>>())
            .collect();
        for answer in self.store.pipeline(&guard, by).await? {
            if reply::int(&answer?) != Some(1) {
                return Ok(Landed::Gone);
            }
        }
        let entities: Vec<Cmd> = batch.entities.iter().flat_map(Packed::cmds).collect();
        self.pipeline(extra).await?;
        let values = self.pipeline(&entities).await?;
        if self.unmake(made(batch, &values)).await? == Landed::Gone {
            return Ok(Landed::Gone);
        }
        self.pipeline(&batch.last.cmds()).await?;
        Ok(Landed::Stored)
    }

    async fn pipeline(&self, cmds: &[Cmd]) -> Result<Vec<Value>, Fault> {
        if cmds.is_empty() {
            return Ok(Vec::new());
        }
        self.store.pipeline(cmds, Deadline::after(PATIENCE)).await?.into_iter().collect()
    }

    /// Deletes what was deleted in the very moment of the write, and came back by it.
    async fn unmake(&self, made: Vec<Cmd>) -> Result<Landed, Fault> {
        if made.is_empty() {
            return Ok(Landed::Stored);
        }
        self.pipeline(&made).await?;
        Ok(Landed::Gone)
    }
}

/// The removal of every hash that a batch made, of all those that it only changes. A hash is new when all of its fields
/// are; a maneuver's may be.
fn made(batch: &Batch, values: &[Value]) -> Vec<Cmd> {
    let new = |value: &Value| reply::int(value).is_some_and(|fields| fields >= 2);
    if !values.iter().any(new) {
        return Vec::new();
    }
    let guarded: std::collections::HashSet<&[u8]> = batch.guard.words().flatten().collect();
    let words = batch.entities.iter().flat_map(Packed::words);
    let made = words.zip(values).filter(|(words, value)| {
        let fields = i64::try_from(words.len() / 2 - 1).ok();
        words[0] == b"HSET" && guarded.contains(words[1]) && reply::int(value) == fields
    });
    made.map(|(words, _)| {
        let mut del = Cmd::new();
        del.arg("DEL").arg(words[1]);
        del
    })
    .collect()
}

fn off() -> Fault {
    Fault::Unavailable("it was called off".to_owned())
}

/// Until when the batch may happen; never, when nobody opens the gate any more.
async fn once_open(gate: oneshot::Receiver<()>) -> Option<Deadline> {
    gate.await.is_ok().then(|| Deadline::after(PATIENCE))
}
