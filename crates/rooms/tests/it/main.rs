//! The rooms on every store: each verb, each race, each byte.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod game;
mod support;
