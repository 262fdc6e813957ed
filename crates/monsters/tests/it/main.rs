//! Monsters on every store: bytes, damage, control, effects, skills, drops, ends, storms.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

extern crate worldkeep_monsters as monsters; // as the rest of the workspace calls it

mod beside;
mod bulk;
mod bytes;
mod cluster;
mod commands;
mod control;
mod damage;
mod drops;
mod killed;
mod later;
mod lives;
mod remove;
mod skills;
mod spawn;
mod status;
mod storm;
mod support;
mod tenants;
mod timers;
mod wire;
