//! The Lua scripts, one constant per file. Their headers are held to their bodies by a test.

kernel::scripts! {
    /// Reads a room, all of one moment.
    pub LOOK = "look";
    /// Makes a room.
    pub CREATE = "room_create";
    /// A device takes a player.
    pub TAKE = "take";
    /// A vote, and the close of an item.
    pub VOTE = "vote";
    /// Everybody who is online.
    pub PRESENCE = "presence";
    /// One line about a room.
    pub SUMMARY = "summary";
    /// One more guess of an address.
    pub GUESS = "guess";
}
