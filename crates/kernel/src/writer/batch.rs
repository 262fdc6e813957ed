//! Several changes of one document as one step. All guards of a step are checked before its first write,
//! so a batch holds no change that looks at what an earlier one in it writes: such a change waits.

use std::any::TypeId;
use std::collections::HashMap;

use super::change::{Change, Seen};
use super::document::{Becomes, Value};
use crate::effects::Op;
use crate::fault::Fault;
use crate::step::{Condition, Guard, Step};

/// A text of the document, or its absence.
pub(super) struct Known {
    pub(super) text: Option<Vec<u8>>,
    /// What the text says, where somebody read it.
    pub(super) value: Option<Value>,
    /// The newest change that had arrived when this was asked for. For that one and all before it the
    /// text was read after their call; for later ones it is remembered.
    pub(super) as_of: u64,
}

/// One change of the batch that writes.
struct Member {
    /// Its place among the changes in the worker's hand.
    place: usize,
    /// How many guards it brought.
    guards: usize,
}

/// Changes that leave together.
pub(super) struct Batch {
    /// What they are decided on.
    pub(super) known: Known,
    /// How many changes in hand it decides about, with those that write nothing.
    pub(super) len: usize,
    members: Vec<Member>,
    /// The one step of all of them.
    step: Option<Step>,
    /// The document after all of them, where their rules do not write its text.
    becomes: Option<Becomes>,
    /// The type that the rules of the step read the document as.
    reads: Option<TypeId>,
    writes: Writes,
}

impl Batch {
    /// A batch of nothing yet, on this text.
    pub(super) fn on(known: Known) -> Self {
        let (members, writes) = (Vec::new(), Writes::default());
        Batch { known, len: 0, members, step: None, becomes: None, reads: None, writes }
    }

    /// Whether this change can be decided in this batch: all rules of a step read the document alike.
    pub(super) fn suits(&self, change: &Change) -> bool {
        self.step.is_none() || self.reads == change.reads
    }

    /// The document as the next rule sees it.
    pub(super) fn seen(&self) -> Seen<'_> {
        let becomes = self.becomes.as_ref().map(|becomes| &becomes.value);
        Seen { text: self.text(), value: becomes.or(self.known.value.as_ref()) }
    }

    /// The step of all its changes. `None`: nothing is written.
    pub(super) fn step(&self) -> Option<&Step> {
        self.step.as_ref()
    }

    /// The place in hand of the n-th change that writes.
    pub(super) fn place(&self, member: usize) -> Option<usize> {
        self.members.get(member).map(|member| member.place)
    }

    /// The places in hand of all changes that write.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|member| member.place)
    }

    /// Writes the text of the document, once for all its changes.
    pub(super) fn seal(&mut self) -> Result<(), Fault> {
        let Some(becomes) = &self.becomes else { return Ok(()) };
        // A change that deletes the document is the last one.
        if self.step.as_ref().is_some_and(|step| step.document_write().is_none()) {
            let text = becomes.text(self.known.value.as_ref(), self.known.text.as_deref())?;
            if self.known.text.as_ref() != Some(&text) {
                self.step = self.step.take().map(|step| step.write(text));
            }
        }
        Ok(())
    }

    /// What is known once the step has happened.
    pub(super) fn outcome(self, as_of: u64) -> Known {
        let text = self.text().map(<[u8]>::to_vec);
        let value = match (&text, self.becomes) {
            (None, _) => None,
            (Some(_), Some(becomes)) => Some(becomes.value),
            (Some(text), None) => {
                self.known.value.filter(|_| self.known.text.as_ref() == Some(text))
            }
        };
        Known { text, value, as_of }
    }

    /// The document's text after all its changes, as far as they are written.
    fn text(&self) -> Option<&[u8]> {
        match self.step.as_ref().and_then(Step::document_write) {
            Some(write) => write.args().first().map(Vec::as_slice),
            None => self.known.text.as_deref(),
        }
    }

    /// Whether a further step may be added: it looks at nothing that is written before it.
    pub(super) fn admits(&mut self, step: &Step) -> bool {
        let Some(earlier) = &self.step else { return true };
        self.writes.note(earlier);
        self.writes.admits(step)
    }

    /// Adds the step of the next change in hand.
    pub(super) fn add(&mut self, step: Step, becomes: Option<Becomes>, reads: Option<TypeId>) {
        debug_assert!(
            step.effects().iter().all(|op| op.key() != Some(step.document())),
            "only the document's own write touches the document"
        );
        self.members.push(Member { place: self.len, guards: step.guards().len() - 1 });
        self.becomes = becomes.or(self.becomes.take());
        self.reads = reads;
        self.step = Some(match (self.step.take(), &self.known.text) {
            (Some(earlier), _) => earlier.join(step),
            (None, Some(text)) => step.expect(text),
            (None, None) => step.absent(),
        });
    }

    /// Whose the failed guard is: the number of the change, and of the guard among its own.
    pub(super) fn whose(&self, guard: usize) -> Option<(usize, usize)> {
        let mut left = guard.checked_sub(1)?;
        for (number, member) in self.members.iter().enumerate() {
            if left < member.guards {
                return Some((number, left));
            }
            left -= member.guards;
        }
        None
    }
}

/// What the earlier changes of a batch write.
#[derive(Default)]
struct Writes {
    keys: HashMap<Vec<u8>, Touched>,
    /// The number of writes that are in `keys`.
    noted: usize,
    deleted: bool,
}

/// What is written under one key.
#[derive(Default)]
struct Touched {
    /// The type that the writes need, where they need one.
    kind: Option<&'static str>,
    /// Whether more than single fields or entries are written.
    whole: bool,
    /// Fields of a hash, entries of a stream.
    parts: Vec<Vec<u8>>,
}

impl Writes {
    /// Notes the writes that were added since the last time.
    fn note(&mut self, step: &Step) {
        let added = &step.effects()[self.noted..];
        self.noted = step.effects().len();
        for op in step.document_write().into_iter().chain(added) {
            let Some(key) = op.key() else { continue };
            let touched = self.keys.entry(key.to_vec()).or_default();
            touched.kind = op.kind();
            match op.part() {
                Some(part) => touched.parts.push(part.to_vec()),
                None => touched.whole = true,
            }
        }
        self.deleted = step.document_write().is_some_and(|op| op.name() == "DEL");
    }

    fn admits(&self, step: &Step) -> bool {
        // A document that was deleted begins anew, without the life it had: in the next batch.
        !self.deleted
            && step.guards()[1..].iter().all(|guard| !self.touches(&guard.key, part(guard)))
            && step.effects().iter().all(|op| self.admits_write(op))
    }

    /// The types of all keys, and the numbers that are counted up, are checked before the first write
    /// too.
    fn admits_write(&self, op: &Op) -> bool {
        let Some(key) = op.key() else { return true };
        match self.keys.get(key) {
            None => true,
            Some(_) if matches!(op.name(), "HINCRBY" | "INCRBY" | "SPLICE") => {
                !self.touches(key, op.part())
            }
            Some(touched) => touched.kind.is_some() && touched.kind == op.kind(),
        }
    }

    fn touches(&self, key: &[u8], part: Option<&[u8]>) -> bool {
        self.keys.get(key).is_some_and(|touched| match part {
            Some(part) => touched.whole || touched.parts.iter().any(|written| written == part),
            None => true,
        })
    }
}

/// The field or the stream entry that a guard looks at, where it is not the whole key.
fn part(guard: &Guard) -> Option<&[u8]> {
    match &guard.condition {
        Condition::Field(part, _) | Condition::NoField(part) | Condition::Pending(_, part) => {
            Some(part)
        }
        Condition::Text(_)
        | Condition::Sha(_)
        | Condition::Absent
        | Condition::Exists
        | Condition::Count(_) => None,
    }
}
