//! Documents as their modules read them. The writer keeps what it read beside the text, so that the
//! changes of a batch read it once at most, and write its text once.

use std::any::Any;
use std::sync::Arc;

use super::Decision;
use super::change::{Ruling, Seen};
use crate::fault::Fault;

/// What a text says, whatever type its module gives it.
pub(super) type Value = Arc<dyn Any + Send + Sync>;

/// A stored document as its module reads it.
pub trait Document: Sized + Send + Sync + 'static {
    /// Reads the text of a key. The fault is [`Fault::Corrupt`].
    fn read(key: &[u8], text: &[u8]) -> Result<Self, Fault>;

    /// The text to be stored. What differs from `before` is put into its text; a new document has none.
    fn text(&self, before: Option<(&Self, &[u8])>) -> Result<Vec<u8>, Fault>;
}

/// Writes a document from what it was before.
type Write = fn(&Value, Option<&Value>, Option<&[u8]>) -> Result<Vec<u8>, Fault>;

/// What a document becomes, and how that is written.
pub(super) struct Becomes {
    pub(super) value: Value,
    text: Write,
}

impl Becomes {
    fn new<D: Document>(value: D) -> Self {
        let text = |value: &Value, before: Option<&Value>, text: Option<&[u8]>| {
            let document = typed::<D>(value).expect("what was made of a document is one");
            document.text(before.and_then(typed::<D>).zip(text))
        };
        Becomes { value: Arc::new(value), text }
    }

    /// The text to be stored, from what the document was before.
    pub(super) fn text(&self, was: Option<&Value>, text: Option<&[u8]>) -> Result<Vec<u8>, Fault> {
        (self.text)(&self.value, was, text)
    }
}

fn typed<D: Document>(value: &Value) -> Option<&D> {
    value.downcast_ref()
}

/// Applies a rule to the document, which is read where nobody has read it yet.
pub(super) fn ruling<D: Document, T>(
    key: &[u8],
    seen: Seen<'_>,
    rule: &mut impl FnMut(Option<&D>) -> (Decision<T>, Option<D>),
) -> Ruling<T> {
    let mut read = None;
    let current = match (seen.value.and_then(typed::<D>), seen.text) {
        (Some(current), _) => Some(current),
        (None, None) => None,
        (None, Some(text)) => match D::read(key, text) {
            Ok(document) => read.insert(Arc::new(document) as Value).downcast_ref(),
            Err(fault) => return Ruling { decision: Err(fault), read: None, becomes: None },
        },
    };
    let (decision, becomes) = rule(current);
    Ruling { decision: Ok(decision), read, becomes: becomes.map(Becomes::new) }
}
