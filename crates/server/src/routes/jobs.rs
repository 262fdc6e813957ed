//! The jobs module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `jobs` crate; its verbs are not served yet.

use crate::modules::Module;
use crate::settings::{SettingDef, Shape};

/// What jobs adds to the server.
pub(crate) const MODULE: Module = Module {
    settings: &[SettingDef {
        name: "jobs.namespaces",
        shape: Shape::List,
        default: "bridge",
        says: "namespaces of job queues in this store",
    }],
    ..Module::named(
        "jobs",
        "a job queue with routing, cron, rate limits, recovery",
        &jobs::keys::TABLE,
    )
};
