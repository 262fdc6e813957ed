//! The real program: started, asked, misused, stopped.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod backups;
mod bad_input;
mod enduring;
mod galaxy;
mod galaxy_kills;
mod homes;
mod idle;
mod jobs;
mod kills;
mod memory;
mod monsters;
mod party;
mod printed;
mod reactors;
mod readme;
mod rooms;
mod running;
mod support;
mod tls;
mod verbs;
