//! Several changes of one key as one step. All guards of a step are checked before its first write, so a
//! batch holds no change that guards what an earlier one in it writes, unless the source has foreseen it:
//! such a change waits.

use std::collections::HashMap;

use super::Source;
use crate::effects::Op;
use crate::fault::Fault;
use crate::step::{Condition, Guard, Step};

/// A state, and how new it is.
pub(super) struct Known<S: Source> {
    pub(super) state: S::State,
    /// The newest change that had arrived when this was asked for. For that one and all before it the
    /// state was read after their call; for later ones it is remembered.
    pub(super) as_of: u64,
}

/// One change of the batch that writes.
struct Member {
    /// The change's place among those in the worker's hand.
    place: usize,
    /// How many guards it brought.
    guards: usize,
}

/// Changes that leave together.
pub(super) struct Batch<S: Source> {
    /// The state on which the first change is decided.
    pub(super) known: Known<S>,
    /// The state after the changes, when something is written.
    after: Option<S::State>,
    /// Whether a further change may be added: not behind one whose result nobody can foresee.
    pub(super) is_open: bool,
    /// How many changes in hand it decides about, with those that write nothing.
    pub(super) len: usize,
    members: Vec<Member>,
    /// Whether some of them are calls. Then nobody writes a step.
    pub(super) has_calls: bool,
    /// The one step of all of them.
    step: Option<Step>,
    writes: Writes,
}

impl<S: Source> Batch<S> {
    /// A batch of nothing yet, on this state.
    pub(super) fn on(known: Known<S>) -> Self {
        let (members, writes) = (Vec::new(), Writes::new(S::GUARDS_ALL));
        let (after, step, is_open, has_calls) = (None, None, true, false);
        Batch { known, after, is_open, len: 0, members, has_calls, step, writes }
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

    /// The state after all its changes.
    pub(super) fn state(&self) -> &S::State {
        self.after.as_ref().unwrap_or(&self.known.state)
    }

    /// The state after all its changes, where it can be foreseen.
    pub(super) fn into_state(self) -> Option<S::State> {
        self.is_open.then_some(self.after.unwrap_or(self.known.state))
    }

    /// Whether a further step may be added: it looks at nothing that is written before it.
    pub(super) fn admits(&mut self, step: &Step) -> bool {
        if self.has_calls {
            return false;
        }
        let Some(earlier) = &self.step else { return true };
        self.writes.note(earlier);
        self.writes.admits(step)
    }

    /// Adds the step of the next change in hand.
    pub(super) fn add(&mut self, source: &S, key: &[u8], mut step: Step) {
        debug_assert!(
            step.effects().iter().all(|op| op.key() != Some(step.document()) || op.is_life()),
            "only the document's own write touches the document"
        );
        match source.foresee(key, self.state(), &step) {
            Some(after) => self.after = Some(after),
            None => self.is_open = false,
        }
        step.drop_guards(|guard| self.writes.foresaw(guard));
        self.members.push(Member { place: self.len, guards: step.guards().len() - 1 });
        self.step = Some(match self.step.take() {
            Some(earlier) => earlier.join(step),
            None => source.guard(&self.known.state, step),
        });
    }

    /// Adds what is written once for all its changes.
    pub(super) fn seal(&mut self, source: &S) -> Result<(), Fault> {
        if let Some(after) = &mut self.after
            && let Some(step) = self.step.take()
        {
            self.step = Some(source.seal(&self.known.state, after, step)?);
        }
        Ok(())
    }

    /// Whose the failed guard is: the number of the change, and of the guard among its own.
    pub(super) fn whose(&self, guard: usize) -> Option<(usize, usize)> {
        let mut left = guard.checked_sub(S::OWN_GUARDS)?;
        for (number, member) in self.members.iter().enumerate() {
            if left < member.guards {
                return Some((number, left));
            }
            left -= member.guards;
        }
        None
    }
}

/// The writes of the earlier changes of a batch.
struct Writes {
    /// Whether guards on what was written before hold as foreseen.
    foreseen: bool,
    keys: HashMap<Vec<u8>, Touched>,
    /// The number of writes that are in `keys`.
    noted: usize,
    deleted: bool,
}

/// The writes under one key.
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
    fn new(foreseen: bool) -> Self {
        Writes { foreseen, keys: HashMap::new(), noted: 0, deleted: false }
    }

    /// Notes the writes that were added since the last time.
    fn note(&mut self, step: &Step) {
        let added = &step.effects()[self.noted..];
        self.noted = step.effects().len();
        for op in step.document_write().into_iter().chain(added) {
            let Some(key) = op.key().filter(|_| !op.is_life()) else { continue };
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
            && step.guards()[1..]
                .iter()
                .all(|guard| self.foresaw(guard) || !self.touches(&guard.key, part(guard)))
            && step.effects().iter().all(|op| self.admits_write(op))
    }

    /// The types of all keys, and the numbers that are counted up, are checked before the first write
    /// too.
    fn admits_write(&self, op: &Op) -> bool {
        let Some(key) = op.key() else { return true };
        match self.keys.get(key) {
            None => true,
            Some(_) if op.is_life() => true,
            Some(_) if matches!(op.name(), "HINCRBY" | "INCRBY") => !self.touches(key, op.part()),
            Some(_) if op.name() == "SPLICE" && !self.foreseen => false,
            Some(touched) => touched.kind.is_some() && touched.kind == op.kind(),
        }
    }

    /// Whether the guard is on a value that was written before, so that its change was decided on what
    /// the source had foreseen.
    fn foresaw(&self, guard: &Guard) -> bool {
        let written = |touched: &Touched| {
            touched.whole || part(guard).is_some_and(|part| touched.parts.iter().any(|p| p == part))
        };
        self.foreseen && self.keys.get(&guard.key).is_some_and(written)
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
