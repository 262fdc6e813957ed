//! The rooms module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `rooms` crate; its verbs are not served yet.

use rooms::keys::{TABLE, def};

use crate::modules::{Module, Streams};

/// What rooms adds to the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Fixed(&[&def::events]),
    ..Module::named("rooms", "a party game played on phones", &TABLE)
};
