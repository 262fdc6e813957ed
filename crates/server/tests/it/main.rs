//! The server over real sockets, on every store.

#![allow(clippy::unwrap_used)]

extern crate worldkeep_server as server; // as the rest of the workspace calls it

mod access;
mod away;
mod cluster;
mod docs;
mod errors;
mod events;
mod galaxy;
mod jobs;
mod keys;
mod matrix;
mod monsters;
mod pages;
mod party;
mod reactors;
mod rooms;
mod sessions;
mod stalls;
mod stopping;
mod support;
mod tls;
mod wire;
