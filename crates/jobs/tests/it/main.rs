//! The job queue on every store, a file per concern.
#![allow(clippy::unwrap_used)] // tests may

mod vectors;
