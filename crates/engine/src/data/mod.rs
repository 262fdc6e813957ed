//! The data structures under the commands: strings, numbers, tables and the five collections.
//! Pure: no I/O, no clock, no lock. Nothing here knows a command or a client.

// Slots, lengths and ranks fit their types by construction; floats are compared as Redis does.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp
)]

pub mod glob;
pub mod num;
mod slab;
pub mod table;
pub mod text;
mod wide;

pub use table::Table;
pub use text::Text;
