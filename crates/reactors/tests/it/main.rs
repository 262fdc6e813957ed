//! Reactors on every store with plain keys, and on a Cluster with tagged ones.

#![allow(clippy::unwrap_used)]

extern crate worldkeep_reactors as reactors; // as the rest of the workspace calls it

mod bytes;
mod create;
mod drops;
mod fields;
mod hits;
mod hostile;
mod shared;
mod storm;
mod support;
mod timers;
