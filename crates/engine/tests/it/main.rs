//! The engine from outside, through its doors.

#![allow(clippy::unwrap_used)] // a test that cannot go on fails

mod differential;
mod doors;
mod durable;
mod scripts;
mod streams;
