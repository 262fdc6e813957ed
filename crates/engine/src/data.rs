//! The data structures under the commands: strings, numbers, tables and the five collections.
//! Pure: no I/O, no clock, no lock. Nothing here knows a command or a client.

// Slots, lengths and ranks fit their types by construction; floats are compared as Redis does.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::iter_without_into_iter,
    unreachable_pub
)]

mod chunk;
mod counting;
pub mod geohash;
pub mod glob;
pub mod hash;
pub mod hll;
pub mod keyspace;
pub mod list;
pub mod listpack;
pub mod num;
mod order;
mod packed;
pub mod rdb;
pub mod set;
mod slab;
pub mod slot;
pub mod stream;
pub mod table;
pub mod text;
pub mod value;
mod wide;
pub mod zset;

pub use counting::Counting;
pub use hash::Hash;
pub use keyspace::Keyspace;
pub use list::List;
pub use set::Set;
pub use stream::Stream;
pub use table::Table;
pub use text::Text;
pub use value::Value;
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
    /// Most bytes of one node of a stream.
    pub stream_node_max_bytes: usize,
    /// Most entries of one node of a stream.
    pub stream_node_max_entries: usize,
}

impl Default for Limits {
    /// The limits of `redis-server` 7.0 without a configuration file.
    fn default() -> Self {
        Self {
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            set_max_intset_entries: 512,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            stream_node_max_bytes: 4096,
            stream_node_max_entries: 100,
        }
    }
}
