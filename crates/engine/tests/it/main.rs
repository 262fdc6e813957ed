//! The engine from outside, through its doors.

#![allow(clippy::unwrap_used)] // a test that cannot go on fails
#![allow(clippy::print_stdout)] // figures of a run, told in one line

extern crate worldkeep_engine as engine; // as the rest of the workspace calls it

mod acl;
mod clients;
mod common;
mod config;
mod connection;
mod crash;
mod differential;
mod document;
mod doors;
mod durable;
mod evict;
mod exchange;
mod hostile;
mod info;
mod listening;
mod repair;
mod scripts;
mod settings;
mod streams;
mod talk;
mod unsynced;
