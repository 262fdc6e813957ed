//! The galaxy from outside: physics against reference values.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

extern crate worldkeep_galaxy as galaxy; // as the rest of the workspace calls it

mod accounts;
mod accuracy;
mod attitude;
mod automation;
mod burns;
mod cadence;
mod checks;
mod engine;
mod fleet;
mod fleets;
mod foreign;
mod late;
mod loss;
mod maneuvers;
mod online;
mod ownership;
mod replay;
mod rules;
mod snapshots;
mod ticking;
mod truth;
mod world;
