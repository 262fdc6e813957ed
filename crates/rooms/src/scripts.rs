//! The Lua scripts, one constant per file. Their headers are held to their bodies by a test.

use kernel::Script;

/// Reads a room, all of one moment.
pub static LOOK: Script = Script::new("look", include_str!("../scripts/look.lua"));
/// Makes a room.
pub static CREATE: Script = Script::new("room_create", include_str!("../scripts/room_create.lua"));
/// A device takes a player.
pub static TAKE: Script = Script::new("take", include_str!("../scripts/take.lua"));
/// A vote, and the close of an item.
pub static VOTE: Script = Script::new("vote", include_str!("../scripts/vote.lua"));
/// Who is online.
pub static PRESENCE: Script = Script::new("presence", include_str!("../scripts/presence.lua"));
/// One line about a room.
pub static SUMMARY: Script = Script::new("summary", include_str!("../scripts/summary.lua"));
/// One more guess of an address.
pub static GUESS: Script = Script::new("guess", include_str!("../scripts/guess.lua"));

/// All of them.
pub const SCRIPTS: &[&Script] = &[&LOOK, &CREATE, &TAKE, &VOTE, &PRESENCE, &SUMMARY, &GUESS];

#[cfg(test)]
mod tests {
    kernel::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
