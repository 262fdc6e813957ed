//! The monsters module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `monsters` crate; its verbs are not served yet.

use monsters::keys::{TABLE, def};

use crate::modules::{Module, Streams};

/// What monsters adds to the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Tenants { scopes: &def::scopes, stream: &def::events },
    ..Module::named("monsters", "monsters of a map: hp, damage, control, effects, drops", &TABLE)
};
