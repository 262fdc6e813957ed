//! Sources of the state that the changes of one key are decided on: the text of a document, or
//! several values that a module reads together.

use std::future::Future;

use parking_lot::Mutex;

use super::memory::Memory;
use crate::fault::Fault;
use crate::reply;
use crate::step::{Refused, Step};
use crate::store::{Deadline, Store};

/// Reads what changes are decided on, and foresees what a step makes of it.
pub trait Source: Send + Sync + 'static {
    /// The state on which the rules decide.
    type State: Send + Sync + 'static;
    /// The part of the state that one change wants to know.
    type Need: Clone + Send + Sync + 'static;

    /// Whether a state is a good guess after its batch. If not, every batch begins with a look.
    const REMEMBERS: bool = false;
    /// Whether all guards of a step compare what the look brought. Then a guard that fails is a conflict
    /// like any other, and one on a value that an earlier change of the batch writes holds as foreseen.
    /// If not, this is so of the document's own guard only; the others are their change's business.
    const GUARDS_ALL: bool = true;

    /// How many guards compare the state itself: the document's own, and those that `guard` puts behind it.
    const OWN_GUARDS: usize = 1;

    /// Reads the state, all that these changes need, of one moment.
    fn look(
        &self,
        store: &dyn Store,
        key: &[u8],
        needs: &[Self::Need],
        by: Deadline,
    ) -> impl Future<Output = Result<Self::State, Fault>> + Send;

    /// The first step of a batch, with the guards of the state itself.
    fn guard(&self, _state: &Self::State, step: Step) -> Step {
        step
    }

    /// The state after a step. `None`: only a look can tell, so the batch ends with this step.
    fn foresee(&self, key: &[u8], state: &Self::State, step: &Step) -> Option<Self::State>;

    /// The step of a whole batch right before it is sent, with what is written once for all its changes.
    fn seal(
        &self,
        _before: &Self::State,
        _after: &mut Self::State,
        step: Step,
    ) -> Result<Step, Fault> {
        Ok(step)
    }

    /// The state that a step brought back which was decided on `was` and refused by a guard of the state.
    fn found(&self, _was: &Self::State, _refused: Refused) -> Option<Self::State> {
        None
    }

    /// Takes what is remembered of a key that nobody changes just now.
    fn recall(&self, _key: &[u8]) -> Option<Self::State> {
        None
    }

    /// Remembers a state that nobody changes just now.
    fn keep(&self, _key: &[u8], _state: Self::State) {}
}

/// The usual source: the key is a document, and the state its text.
pub struct Texts(Mutex<Memory<Vec<u8>>>);

impl Texts {
    /// Remembers at most so many texts.
    pub(super) fn remembering(most: usize) -> Self {
        Texts(Mutex::new(Memory::new(most)))
    }
}

impl Source for Texts {
    type State = Option<Vec<u8>>;
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
        text_of(store, key, by).await
    }

    fn guard(&self, state: &Self::State, step: Step) -> Step {
        match state {
            Some(text) => step.expect(text),
            None => step.absent(),
        }
    }

    fn foresee(&self, _: &[u8], state: &Self::State, step: &Step) -> Option<Self::State> {
        Some(match step.document_write() {
            Some(write) => write.args().first().cloned(),
            None => state.clone(),
        })
    }

    /// A step that does not say what it found is followed by a read.
    fn found(&self, _: &Self::State, refused: Refused) -> Option<Self::State> {
        (refused.found.is_some() || refused.missing).then_some(refused.found)
    }

    fn recall(&self, key: &[u8]) -> Option<Self::State> {
        self.0.lock().take(key).map(Some)
    }

    fn keep(&self, key: &[u8], state: Self::State) {
        if let Some(text) = state {
            self.0.lock().keep(key.to_vec(), text.len(), text);
        }
    }
}

/// The text of a document; `None` where there is none.
pub(super) async fn text_of(
    store: &dyn Store,
    key: &[u8],
    by: Deadline,
) -> Result<Option<Vec<u8>>, Fault> {
    let mut get = redis::cmd("GET");
    get.arg(key);
    text_in(key, store.call(&get, by).await)
}

/// The text that a `GET` brought.
pub(super) fn text_in(
    key: &[u8],
    got: Result<redis::Value, Fault>,
) -> Result<Option<Vec<u8>>, Fault> {
    match got {
        Ok(redis::Value::Nil) => Ok(None),
        Ok(redis::Value::BulkString(text)) => Ok(Some(text)),
        Ok(other) => Err(reply::unexpected(key, "text", &other)),
        Err(fault) => Err(of_wrong_type(key, "holds no text", fault)),
    }
}

/// The fault of a key whose value is of another type.
pub(super) fn of_wrong_type(key: &[u8], detail: &str, fault: Fault) -> Fault {
    match fault {
        Fault::Refused { code, .. } if code == "WRONGTYPE" => {
            let key = String::from_utf8_lossy(key).into_owned();
            Fault::Corrupt { key, detail: detail.to_owned() }
        }
        fault => fault,
    }
}
