//! The job queue on every store, a file per concern.
#![allow(clippy::unwrap_used, clippy::needless_raw_string_hashes)] // tests may; as expect-test records

extern crate worldkeep_jobs as jobs; // as the rest of the workspace calls it

mod act;
mod ahead;
mod away;
mod claim;
mod definitions;
mod doctor;
mod edges;
mod fair;
mod flows;
mod groups;
mod handlers;
mod hands;
mod interop;
mod lead;
mod life;
mod limits;
mod newest;
mod own_vectors;
mod packages;
mod passed;
mod poison;
mod produce;
mod read;
mod recover;
mod refuse;
mod restarts;
mod rotate;
mod routes;
mod running;
mod scheduling;
mod seed;
mod sequence;
mod set_limits;
mod support;
mod takeover;
mod torture;
mod vector_cases;
mod vector_chores;
mod vectors;
