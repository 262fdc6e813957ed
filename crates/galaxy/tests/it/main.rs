//! The galaxy from outside: physics against reference values.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod accuracy;
mod attitude;
mod burns;
mod engine;
mod fleet;
mod truth;
mod world;
