//! The reactors module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `reactors` crate; its verbs are not served yet.

use crate::modules::Module;

/// What reactors adds to the server.
pub(crate) const MODULE: Module = Module::named(
    "reactors",
    "breakable, timed, item-triggered objects of a map",
    &reactors::keys::TABLE,
);
