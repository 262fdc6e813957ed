//! The kernel's runtime parts against a real server: steps, updates, timers, events, leases.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

extern crate worldkeep_kernel as kernel; // as the rest of the workspace calls it

mod check;
mod cluster;
mod events;
mod faults;
mod lease;
mod network;
mod step;
mod support;
mod timers;
mod update;
mod wire;
mod writer;
mod writer_document;
mod writer_model;
mod writer_source;
