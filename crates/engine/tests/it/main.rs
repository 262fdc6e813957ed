//! The engine from outside, through its doors.

#![allow(clippy::unwrap_used)] // a test that cannot go on fails

mod acl;
mod config;
mod connection;
mod differential;
mod doors;
mod durable;
mod info;
mod scripts;
mod streams;
mod talk;
