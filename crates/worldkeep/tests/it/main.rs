//! The real program: started, asked, misused, stopped.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod galaxy;
mod jobs;
mod monsters;
mod reactors;
mod rooms;
mod running;
mod support;
mod verbs;
