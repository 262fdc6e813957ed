//! engine

pub mod data;
