//! Documents as their modules read them. The parsed document is kept beside its text, so that the
//! changes of a batch parse it once at most and write its text once. A document has a [`Mark`] beside it,
//! which tells it from an earlier document under the same key; every step compares both.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::memory::Memory;
use super::source::{of_wrong_type, text_in};
use super::{Decision, Source, Writer, WriterLimits, Written};
use crate::fault::Fault;
use crate::reply;
use crate::step::{Condition, Refused, Step};
use crate::store::{Deadline, Store};

/// A field of a hash that belongs to a document. Whoever makes the document anew changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The key of the hash.
    pub hash: Vec<u8>,
    /// The field.
    pub field: Vec<u8>,
}

/// A stored document as its module reads it.
pub trait Document: Sized + Send + Sync + 'static {
    /// Reads the text of a key and the value of its mark. The fault is [`Fault::Corrupt`].
    fn read(key: &[u8], text: &[u8], mark: Option<&[u8]>) -> Result<Self, Fault>;

    /// The text to be stored. Members that differ from `before` are put into its text; a new
    /// document has none before it.
    fn text(&self, before: Option<(&Self, &[u8])>) -> Result<Vec<u8>, Fault>;
}

/// The value stored under a key.
pub struct Stored<D> {
    /// `None`: there is nothing, or its text is not written yet.
    text: Option<Vec<u8>>,
    mark: Mark,
    /// The value of the mark.
    marked: Option<Vec<u8>>,
    /// The parsed text, once somebody has asked for it.
    document: OnceLock<Result<Arc<D>, Fault>>,
}

impl<D: Document> Stored<D> {
    fn of(text: Option<Vec<u8>>, mark: Mark, marked: Option<Vec<u8>>) -> Self {
        Stored { text, mark, marked, document: OnceLock::new() }
    }

    /// Another text under the same mark.
    fn with(&self, text: Option<Vec<u8>>) -> Self {
        Stored::of(text, self.mark.clone(), self.marked.clone())
    }

    /// Reads it, once.
    fn document(&self, key: &[u8]) -> Result<Option<&Arc<D>>, Fault> {
        let Some(text) = &self.text else { return self.known().transpose() };
        let read = || D::read(key, text, self.marked.as_deref()).map(Arc::new);
        self.document.get_or_init(read).as_ref().map(Some).map_err(Fault::clone)
    }

    fn known(&self) -> Option<Result<&Arc<D>, Fault>> {
        self.document.get().map(|read| read.as_ref().map_err(Fault::clone))
    }
}

/// The source of documents that are read as `D`.
pub struct Documents<D>(Mutex<Memory<Stored<D>>>);

impl<D: Document> Source for Documents<D> {
    type State = Stored<D>;
    type Need = Mark;

    const REMEMBERS: bool = true;
    const GUARDS_ALL: bool = false;
    const OWN_GUARDS: usize = 2;

    /// The mark is read first: where the document is made anew in between, the step is refused.
    async fn look(
        &self,
        store: &dyn Store,
        key: &[u8],
        needs: &[Mark],
        by: Deadline,
    ) -> Result<Self::State, Fault> {
        let mark = needs.first().expect("a look has a change that needs it").clone();
        let (mut marked, mut get) = (redis::cmd("HGET"), redis::cmd("GET"));
        marked.arg(&mark.hash).arg(&mark.field);
        get.arg(key);
        let mut answers = store.pipeline(&[marked, get], by).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Ok(redis::Value::Nil));
        let marked = next().map_err(|fault| of_wrong_type(&mark.hash, "holds no hash", fault))?;
        let text = text_in(key, next())?;
        Ok(Stored::of(text, mark, reply::bytes(&marked).map(<[u8]>::to_vec)))
    }

    fn guard(&self, state: &Self::State, step: Step) -> Step {
        let Mark { hash, field } = &state.mark;
        let condition = match &state.marked {
            Some(marked) => Condition::Field(field.clone(), marked.clone()),
            None => Condition::NoField(field.clone()),
        };
        let step = step.guard_first(hash, condition);
        match &state.text {
            Some(text) => step.expect(text),
            None => step.absent(),
        }
    }

    fn foresee(&self, _: &[u8], state: &Self::State, step: &Step) -> Option<Self::State> {
        if step.document_write().is_some() {
            // A rule writes no text itself: this deletes it.
            return Some(state.with(None));
        }
        let (text, document) = match step.becomes() {
            Some(document) => (None, Arc::downcast(document).ok()),
            None => (state.text.clone(), state.known().and_then(Result::ok).cloned()),
        };
        let foreseen = state.with(text);
        if let Some(document) = document {
            let _ = foreseen.document.set(Ok(document));
        }
        Some(foreseen)
    }

    fn seal(&self, was: &Self::State, is: &mut Self::State, step: Step) -> Result<Step, Fault> {
        let (None, Some(Ok(document))) = (&is.text, is.known()) else { return Ok(step) };
        let before = was.known().and_then(Result::ok).map(|document| &**document);
        let text = document.text(before.zip(was.text.as_deref()))?;
        let is_same = was.text.as_ref() == Some(&text);
        let step = if is_same { step } else { step.write(&text) };
        is.text = Some(text);
        Ok(step)
    }

    /// A step that does not say what it found is followed by a read. The mark is most likely the same.
    fn found(&self, was: &Self::State, refused: Refused) -> Option<Self::State> {
        let tells = refused.guard == 0 && (refused.found.is_some() || refused.missing);
        tells.then(|| was.with(refused.found))
    }

    fn recall(&self, key: &[u8]) -> Option<Self::State> {
        self.0.lock().take(key)
    }

    fn keep(&self, key: &[u8], state: Self::State) {
        if let Some(length) = state.text.as_ref().map(Vec::len) {
            self.0.lock().keep(key.to_vec(), length, state);
        }
    }
}

impl<D: Document> Writer<Documents<D>> {
    /// A writer of documents that are read as `D`, with the usual limits.
    pub fn of_documents(store: Arc<dyn Store>) -> Self {
        let limits = WriterLimits::default();
        Writer::over(store, Documents(Mutex::new(Memory::new(limits.documents))), limits)
    }

    /// Applies one change to a document, as [`Writer::write`] does to a text. The rule gives the document
    /// as it becomes along with its step; a step that deletes the document, or leaves it, comes without.
    /// A text that cannot be read is [`Fault::Corrupt`], and nothing is written.
    pub async fn apply<T, R>(
        &self,
        key: impl AsRef<[u8]>,
        mark: Mark,
        by: Deadline,
        mut rule: R,
    ) -> Result<Written<T>, Fault>
    where
        T: Send + 'static,
        R: FnMut(Option<&D>) -> (Decision<T>, Option<D>) + Send + 'static,
    {
        let name = key.as_ref().to_vec();
        let decide = move |stored: &Stored<D>| {
            let current = match stored.document(&name) {
                Ok(current) => current,
                Err(fault) => return Decision::Leave(Err(fault)),
            };
            match rule(current.map(|document| &**document)) {
                (Decision::Write(step, answer), Some(becomes)) => {
                    Decision::Write(step.becoming(Arc::new(becomes)), Ok(answer))
                }
                (decision, _) => decision.map(Ok),
            }
        };
        match self.change(key, mark, by, decide).await? {
            Written::Answer(answer) => answer.map(Written::Answer),
            Written::Guarded(guard) => Ok(Written::Guarded(guard)),
        }
    }

    /// Remembers a document that somebody has just written in another way, which saves the first change
    /// its reading.
    pub fn remember(
        &self,
        key: impl AsRef<[u8]>,
        text: Vec<u8>,
        (mark, marked): (Mark, Option<Vec<u8>>),
        document: D,
    ) {
        let (key, stored) = (key.as_ref(), Stored::of(Some(text), mark, marked));
        let _ = stored.document.set(Ok(Arc::new(document)));
        if !self.0.queues.lock().by_key.contains_key(key) {
            self.0.source.keep(key, stored);
        }
    }
}
