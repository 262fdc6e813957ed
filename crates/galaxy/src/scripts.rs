//! The Lua scripts, one constant per file. Their headers are held to their bodies by a test.

use kernel::Script;

/// How many sockets a player has on one server.
pub(crate) static SOCKETS: Script =
    Script::new("online_sockets", include_str!("../scripts/online_sockets.lua"));
/// Takes back the sockets of a server that is gone.
pub(crate) static REAP: Script =
    Script::new("online_reap", include_str!("../scripts/online_reap.lua"));
/// Removes leftovers when no server lives.
pub(crate) static START: Script =
    Script::new("online_start", include_str!("../scripts/online_start.lua"));
/// Counts everybody's sockets anew.
pub(crate) static RECOUNT: Script =
    Script::new("online_recount", include_str!("../scripts/online_recount.lua"));

/// All of them.
#[cfg(test)]
const SCRIPTS: &[&Script] = &[&SOCKETS, &REAP, &START, &RECOUNT];

#[cfg(test)]
mod tests {
    kernel::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
