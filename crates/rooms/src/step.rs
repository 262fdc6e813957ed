//! One atomic change of a room: a [`kernel::Step`] on `meta` together with what it tells. The step
//! checks what the change was decided by, so a decision that is out of date changes nothing and is made
//! anew. Every key of the room that a step touches lives as long as the room.

use kernel::keyspace::Key;
use kernel::{Effects as _, Op, Step};

use crate::document::Splice;
use crate::events::Fact;
use crate::push::PushedTexts;

/// A step under construction. The document is `meta`, whose text is always a guard.
#[derive(Debug)]
#[must_use = "a step does nothing until it is run"]
pub(crate) struct RoomStep {
    step: Step,
    expires_at: u64,
    /// The room's own keys in this step.
    own: Vec<Key>,
    pub(crate) told: PushedTexts,
    pub(crate) fact: Fact,
}

impl RoomStep {
    pub(crate) fn new(meta: &Key, meta_text: &str, expires_at: u64, fact: Fact) -> Self {
        let step = Step::new(meta).expect(meta_text);
        RoomStep { step, expires_at, own: Vec::new(), told: PushedTexts::default(), fact }
    }

    fn with(mut self, key: &Key, add: impl FnOnce(Step) -> Step) -> Self {
        if !self.is_document(key) && !self.own.contains(key) {
            self.own.push(key.clone());
        }
        self.step = add(self.step);
        self
    }

    /// The key still holds this text.
    pub(crate) fn while_text(self, key: &Key, text: &str) -> Self {
        self.with(key, |step| step.while_text(key, text))
    }

    /// The key still holds a text with this hash.
    pub(crate) fn while_sha(self, key: &Key, sha: &str) -> Self {
        self.with(key, |step| step.while_sha(key, sha))
    }

    /// The key still does not exist.
    pub(crate) fn while_absent(self, key: &Key) -> Self {
        self.with(key, |step| step.while_absent(key))
    }

    /// A field still holds this.
    pub(crate) fn while_field(self, key: &Key, field: &str, text: &str) -> Self {
        self.with(key, |step| step.while_field(key, field, text))
    }

    /// A field still does not exist.
    pub(crate) fn while_no_field(self, key: &Key, field: &str) -> Self {
        self.with(key, |step| step.while_no_field(key, field))
    }

    /// The hash still is exactly this.
    pub(crate) fn while_hash<'a>(
        self,
        key: &Key,
        fields: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let count = fields.len();
        let step = self.with(key, |step| step.while_count(key, count));
        fields.fold(step, |step, (field, text)| step.while_field(key, field, text))
    }

    fn is_document(&self, key: &Key) -> bool {
        key.as_bytes() == self.step.document()
    }

    /// The new text of a document, which keeps its life.
    pub(crate) fn set(self, key: &Key, text: &str) -> Self {
        let is_document = self.is_document(key);
        self.with(key, |step| if is_document { step.write(text) } else { step.rewrite(key, text) })
    }

    /// Some bytes of a document become others.
    pub(crate) fn splice(self, key: &Key, splice: &Splice) -> Self {
        self.with(key, |step| step.splice(key, splice.from..splice.to, &splice.text))
    }

    pub(crate) fn del(self, key: &Key) -> Self {
        let is_document = self.is_document(key);
        self.with(key, |step| if is_document { step.delete() } else { step.del(key) })
    }

    pub(crate) fn hset(self, key: &Key, field: &str, value: &str) -> Self {
        self.with(key, |step| step.hset(key, field, value))
    }

    pub(crate) fn hdel(self, key: &Key, field: &str) -> Self {
        self.with(key, |step| step.hdel(key, field))
    }

    /// Writes to keys that are not the room's own, such as the set of timers.
    pub(crate) fn beside(mut self, ops: impl IntoIterator<Item = Op>) -> Self {
        self.step = self.step.ops(ops);
        self
    }

    /// The step itself. With a stream the fact is part of it; else it comes back to be told afterwards.
    pub(crate) fn finish(self, channel: &Key, events: Option<&Key>) -> (Step, Option<Fact>) {
        let mut step = self.step.life(self.expires_at, &self.own);
        if let Some(events) = events {
            step = step.event(events, &self.fact.event());
        }
        if !self.told.text().is_empty() {
            step = step.publish(channel, self.told.text());
        }
        (step, events.is_none().then_some(self.fact))
    }
}
