//! The Lua scripts, one constant per file. Their headers are held to their bodies by a test.

kernel::scripts! {
    /// How many sockets a player has on one server.
    pub SOCKETS = "online_sockets";
    /// Takes back the sockets of a server that is gone.
    pub REAP = "online_reap";
    /// Removes leftovers when no server lives.
    pub START = "online_start";
    /// Counts everybody's sockets anew.
    pub RECOUNT = "online_recount";
}
