//! Scripts: Lua 5.1 with the libraries, sandbox and budgets that Redis 7.0 gives its scripts.
//! Scripts never see a Rust error, never leave the sandbox and can always be stopped.

pub(crate) mod api;
pub(crate) mod bit;
mod bytecode;
pub(crate) mod cjson;
pub(crate) mod cmsgpack;
pub(crate) mod flags;
pub(crate) mod host;
pub(crate) mod library;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod payload;
pub(crate) mod raise;
mod raw;
pub(crate) mod sandbox;
pub(crate) mod stage;
pub(crate) mod strings;
pub(crate) mod structs;
pub(crate) mod watch;

#[cfg(test)]
mod tests;
