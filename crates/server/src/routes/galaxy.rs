//! The galaxy module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `galaxy` crate; its verbs are not served yet.

use crate::modules::Module;

/// What galaxy adds to the server.
pub(crate) const MODULE: Module = Module {
    plain_on_cluster: true,
    ..Module::named("galaxy", "ships, bodies and stations of a star system", &galaxy::keys::TABLE)
};
