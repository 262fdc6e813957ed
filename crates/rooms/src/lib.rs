//! Rooms: a party game played on phones (seed 003).
//!
//! Always true: one device holds one player and one player one device; an item's vote closes once; every key
//! of a room ends with its `meta`, and nothing extends it; every command is one atomic step, which also tells
//! the room's sockets; the true senders and the device ids leave the store only to whom they are due.

mod command;
mod document;
mod error;
mod events;
pub mod ids;
pub mod keys;
pub mod model;
pub mod push;
pub mod scripts;
mod seen;
mod setup;
mod step;
mod store;
mod view;

pub use command::{Ask, Command, RoundItem, Wish};
pub use error::{Family, REFUSALS, Refused, Result, RoomError, WORDS, Word, word};
pub use push::{Audience, Reply};
pub use setup::{ItemSetup, LIFE_S, RoundSetup, RulesSetup, SenderSetup, Setup, Sizes};
pub use store::{
    Caller, Closed, Created, Done, Entered, LEASE_MS, Listed, MASTER, PATIENCE, Photo, Presence,
    Proof, Rooms, Seat, with_links,
};
