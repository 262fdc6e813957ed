//! The reactors module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `reactors` crate; its verbs are not served yet.

use reactors::keys::{TABLE, def};

use crate::modules::{Module, Streams};

/// What reactors adds to the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Tenants { scopes: &def::scopes, stream: &def::events },
    ..Module::named("reactors", "breakable, timed, item-triggered objects of a map", &TABLE)
};
