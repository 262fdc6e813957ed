//! The scripts of the module, one per file. All other changes are steps of the kernel.

use kernel::Script;

/// Makes a reactor.
pub(crate) static CREATE: Script = Script::new("create", include_str!("../scripts/create.lua"));
/// Gives up claims of a field whose reactor is gone.
pub(crate) static FORGET: Script = Script::new("forget", include_str!("../scripts/forget.lua"));

/// All of them.
pub const SCRIPTS: &[&Script] = &[&CREATE, &FORGET];

#[cfg(test)]
mod tests {
    kernel::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
