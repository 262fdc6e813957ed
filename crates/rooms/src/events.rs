//! Facts for operators on `wk:rooms:events`: ids, counts and versions. Never a name, an avatar, a key, a device,
//! or a true sender. In the step when the keys are plain; right after it when they are tagged, because the
//! stream is not in the room's slot.

use kernel::Event;
use kernel::numbers::Dialect;
use serde_json::Value;

/// One fact; its id is the room's code.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) kind: &'static str,
    pub(crate) at_ms: u64,
    pub(crate) code: String,
    pub(crate) body: Value,
}

impl Fact {
    pub(crate) fn body_text(&self) -> String {
        self.body.to_string()
    }

    /// As the kernel appends it.
    pub(crate) fn event(&self) -> Event {
        Event::new(self.kind, self.at_ms, self.code.as_str(), &self.body, Dialect::JavaScript)
            .expect("a fact is plain data")
    }
}
