//! Documents as their modules read them. The parsed document is kept beside its text, so that the
//! changes of a batch parse it once at most and write its text once.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::memory::Memory;
use super::source::text_of;
use super::{Decision, Source, Writer, WriterLimits, Written};
use crate::fault::Fault;
use crate::step::{Refused, Step};
use crate::store::{Deadline, Store};

/// A stored document as its module reads it.
pub trait Document: Sized + Send + Sync + 'static {
    /// Reads the text of a key. The fault is [`Fault::Corrupt`].
    fn read(key: &[u8], text: &[u8]) -> Result<Self, Fault>;

    /// The text to be stored. Members that differ from `before` are put into its text; a new
    /// document has none before it.
    fn text(&self, before: Option<(&Self, &[u8])>) -> Result<Vec<u8>, Fault>;
}

/// The value stored under a key.
pub struct Stored<D> {
    /// `None`: there is nothing, or its text is not written yet.
    text: Option<Vec<u8>>,
    /// The parsed text, once somebody has asked for it.
    document: OnceLock<Result<Arc<D>, Fault>>,
}

impl<D: Document> Stored<D> {
    fn of(text: Option<Vec<u8>>) -> Self {
        Stored { text, document: OnceLock::new() }
    }

    /// Reads it, once.
    fn document(&self, key: &[u8]) -> Result<Option<&Arc<D>>, Fault> {
        let Some(text) = &self.text else { return self.known().transpose() };
        let read = || D::read(key, text).map(Arc::new);
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
    type Need = ();

    const REMEMBERS: bool = true;
    const GUARDS_ALL: bool = false;

    async fn look(
        &self,
        store: &dyn Store,
        key: &[u8],
        _: &[()],
        by: Deadline,
    ) -> Result<Self::State, Fault> {
        text_of(store, key, by).await.map(Stored::of)
    }

    fn guard(&self, state: &Self::State, step: Step) -> Step {
        match &state.text {
            Some(text) => step.expect(text),
            None => step.absent(),
        }
    }

    fn foresee(&self, _: &[u8], state: &Self::State, step: &Step) -> Option<Self::State> {
        if step.document_write().is_some() {
            // A rule writes no text itself: this deletes it.
            return Some(Stored::of(None));
        }
        let (text, document) = match step.becomes() {
            Some(document) => (None, Arc::downcast(document).ok()),
            None => (state.text.clone(), state.known().and_then(Result::ok).cloned()),
        };
        let foreseen = Stored::of(text);
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

    /// A step that does not say what it found is followed by a read.
    fn found(&self, Refused { found, missing, .. }: Refused) -> Option<Self::State> {
        (found.is_some() || missing).then(|| Stored::of(found))
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
        match self.change(key, (), by, decide).await? {
            Written::Answer(answer) => answer.map(Written::Answer),
            Written::Guarded(guard) => Ok(Written::Guarded(guard)),
        }
    }

    /// Remembers a document that somebody has just written in another way, which saves the first change
    /// its reading.
    pub fn remember(&self, key: impl AsRef<[u8]>, text: Vec<u8>, document: D) {
        let (key, stored) = (key.as_ref(), Stored::of(Some(text)));
        let _ = stored.document.set(Ok(Arc::new(document)));
        if !self.0.queues.lock().by_key.contains_key(key) {
            self.0.source.keep(key, stored);
        }
    }
}
