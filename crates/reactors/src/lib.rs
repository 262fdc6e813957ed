//! reactors
