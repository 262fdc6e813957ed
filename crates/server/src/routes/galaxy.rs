//! The galaxy module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `galaxy` crate; its verbs are not served yet.

use galaxy::keys::{TABLE, def};

use crate::modules::{Module, Streams};

/// What galaxy adds to the server.
pub(crate) const MODULE: Module = Module {
    plain_on_cluster: |_| true,
    streams: Streams::Fixed(&[
        &def::ships_events,
        &def::jumpgates_events,
        &def::tick_events,
        &def::admin_events,
    ]),
    ..Module::named("galaxy", "ships, bodies and stations of a star system", &TABLE)
};
