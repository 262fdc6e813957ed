//! The data structures under the commands: strings, numbers, tables and the five collections.
//! Pure: no I/O, no clock, no lock. Nothing here knows a command or a client.

// Slots, lengths and ranks fit their types by construction; floats are compared as Redis does.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    unreachable_pub
)]

pub mod glob;
pub mod hash;
pub mod num;
mod order;
mod packed;
pub mod set;
mod slab;
mod stub;
pub mod table;
pub mod text;
mod wide;
pub mod zset;

pub use hash::Hash;
pub use set::Set;
pub use stub::*;
pub use table::Table;
pub use text::Text;
pub use zset::Zset;

/// Up to where collections keep their small forms. CONFIG SET changes them; a collection that left
/// its small form does not go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most fields of a packed hash.
    pub hash_max_listpack_entries: usize,
    /// Longest field or value in a packed hash.
    pub hash_max_listpack_value: usize,
    /// Most members of a set of integers.
    pub set_max_intset_entries: usize,
    /// Most members of a packed sorted set.
    pub zset_max_listpack_entries: usize,
    /// Longest member of a packed sorted set.
    pub zset_max_listpack_value: usize,
    /// Size of a list's chunks: bytes if negative (-1 is 4 KB, -5 is 64 KB), else elements.
    pub list_max_listpack_size: i64,
    /// Most bytes of one node of a stream.
    pub stream_node_max_bytes: usize,
    /// Most entries of one node of a stream.
    pub stream_node_max_entries: usize,
}

impl Default for Limits {
    /// What `redis-server` 7.0 starts with when no configuration file says otherwise.
    fn default() -> Self {
        Self {
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            set_max_intset_entries: 512,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            list_max_listpack_size: -2,
            stream_node_max_bytes: 4096,
            stream_node_max_entries: 100,
        }
    }
}
