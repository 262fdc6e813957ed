//! Stores and faults for tests: real servers that never outlive their test, the crate picture, and (on
//! top of `kernel::Store`) a wire recorder and a store that fails on demand. A dev-dependency of all.

pub mod picture;
mod server;
mod watchdog;

pub use server::{Program, Server, Setup, ask, free_port};
