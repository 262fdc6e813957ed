//! Stands in for the Lua host until it is there.

/// The Lua state and its caches.
#[derive(Debug, Default)]
pub(crate) struct LuaHost;
