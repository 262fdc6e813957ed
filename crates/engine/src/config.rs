//! Settings that `CONFIG GET` and `CONFIG SET` know.

use crate::data::Limits;

/// Settings in the form the hot path reads.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) databases: usize,
    pub(crate) limits: Limits,
    /// Bits of `notify::class`.
    pub(crate) notify_flags: u32,
    /// Bytes; 0 for no limit.
    pub(crate) maxmemory: u64,
    pub(crate) proto_max_bulk_len: usize,
    /// One-node Cluster answers and `CROSSSLOT` checks.
    pub(crate) cluster: bool,
    /// Bytes that may wait for a slow subscriber before it is closed.
    pub(crate) pubsub_buffer_max: usize,
    /// `auto-aof-rewrite-min-size`.
    pub(crate) rewrite_min_bytes: u64,
    /// `auto-aof-rewrite-percentage`; 0 for never.
    pub(crate) rewrite_percent: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            databases: 16,
            limits: Limits::default(),
            notify_flags: 0,
            maxmemory: 0,
            proto_max_bulk_len: 512 << 20,
            cluster: false,
            pubsub_buffer_max: 32 << 20,
            rewrite_min_bytes: 64 << 20,
            rewrite_percent: 100,
        }
    }
}

impl Config {
    /// Whether access frequency is counted instead of idle time.
    pub(crate) fn maxmemory_policy_is_lfu(&self) -> bool {
        false
    }
}
