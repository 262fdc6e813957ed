//! Rooms: a party game played on phones (seed 003).
//!
//! Always true: one device holds one player and one player one device; an item's vote closes once; every key
//! of a room ends with its `meta`, and nothing extends it.

pub mod keys;
