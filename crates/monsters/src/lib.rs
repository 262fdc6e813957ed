//! Monsters of a map: hp, damage, control, effects, skills, drops (seed 001).
//!
//! Always true: hp and mp are within their maximum; each live monster is in exactly one field's set; no free
//! id is live, none is free twice; one `KILLED` or `DESTROYED` per `CREATED`.

pub mod keys;
