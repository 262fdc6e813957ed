//! The fixtures themselves, and what holds for the whole workspace: crate picture, file headers, documents.

mod house;
mod picture;
mod server;
mod tidy;
mod wrappers;
