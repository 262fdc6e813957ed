//! The jobs module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`).
//! Its keys are in the `jobs` crate; its verbs are not served yet.

use jobs::keys::{TABLE, def};

use crate::modules::{Module, Streams};
use crate::settings::{SettingDef, Shape};

/// What jobs adds to the server.
pub(crate) const MODULE: Module = Module {
    settings: &[SettingDef {
        name: "jobs.namespaces",
        shape: Shape::List,
        default: "bridge",
        says: "namespaces of job queues in this store",
    }],
    streams: Streams::Namespaces(&def::events),
    ..Module::named("jobs", "a job queue with routing, cron, rate limits, recovery", &TABLE)
};
