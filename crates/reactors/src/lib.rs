//! Reactors: breakable, timed, item-triggered objects of a map (seed 000).
//!
//! Always true: each live id is in `reactors:all` and in exactly one field's set; a set's name matches the
//! values of its members; with the guard on, a spot has at most one live reactor; one `DESTROYED` per `CREATED`.

pub mod keys;
