//! A stream. Only the name stands here yet; no command makes one.

/// The entries and groups of one key.
#[derive(Clone, Debug, Default)]
pub struct Stream {}
