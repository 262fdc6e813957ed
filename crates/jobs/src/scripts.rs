//! The scripts, one constant per Lua file. Each takes `waiting` as its first key and has the names of the
//! namespace's other keys from it, which share its slot.

use kernel::Script;

/// All of them.
pub const SCRIPTS: &[&Script] = &[];
