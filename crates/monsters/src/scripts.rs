//! The module's scripts, one constant each.

use kernel::Script;

/// Monsters come into a field.
pub(crate) static SPAWN: Script = Script::new("spawn", include_str!("../scripts/spawn.lua"));
/// A character comes into a field.
pub(crate) static ENTER: Script = Script::new("enter", include_str!("../scripts/enter.lua"));

/// All of them, for the header test, the ACL rules and preloading.
pub const SCRIPTS: &[&Script] = &[&SPAWN, &ENTER];

#[cfg(test)]
mod tests {
    testkit::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
