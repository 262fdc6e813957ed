//! The Lua scripts, one constant per file. Their headers are held to their bodies by a test.

kernel::scripts! {
    /// How many sockets a player has on one server.
    pub(crate) SOCKETS = "online_sockets";
    /// Takes back the sockets of a server that is gone.
    pub(crate) REAP = "online_reap";
    /// Removes leftovers when no server lives.
    pub(crate) START = "online_start";
    /// Counts everybody's sockets anew.
    pub(crate) RECOUNT = "online_recount";
}
