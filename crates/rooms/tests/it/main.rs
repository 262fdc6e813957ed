//! The rooms on every store: each verb, each race, each byte.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

extern crate worldkeep_rooms as rooms; // as the rest of the workspace calls it

mod close;
mod cluster;
mod foreign;
mod game;
mod late;
mod lobby;
mod machine;
mod next;
mod races;
mod restart;
mod support;
mod vote;
mod wire;
