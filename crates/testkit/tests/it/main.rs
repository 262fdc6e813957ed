//! The fixtures themselves, and what holds for the whole workspace: crate picture and file headers.

mod picture;
mod server;
mod tidy;
mod wrappers;
