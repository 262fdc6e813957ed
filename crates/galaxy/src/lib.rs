//! Galaxy: ships, bodies and stations of a star system, and the tick that moves them (seed 002).
//!
//! Always true: one engine ticks a world; `game:tick` is written last of each tick; an entity is in the index
//! of the system its hash names exactly while the hash exists.

pub mod accounts;
pub mod batch;
pub mod check;
pub mod database;
pub mod engine;
pub mod keys;
pub mod load;
pub mod maneuver;
pub mod model;
pub mod online;
pub mod orders;
pub mod pace;
pub mod physics;
pub mod rules;
pub mod scripts;
pub mod snapshot;
pub mod text;
pub mod tokens;
pub mod world;
