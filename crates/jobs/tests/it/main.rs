//! The job queue on every store, a file per concern.
#![allow(clippy::unwrap_used, clippy::needless_raw_string_hashes)] // tests may; as expect-test records

mod handlers;
mod hands;
mod life;
mod running;
mod scheduling;
mod support;
mod vectors;
