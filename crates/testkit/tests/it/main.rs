//! The fixtures themselves, and what holds for the whole workspace: crate picture, file headers, documents.

extern crate worldkeep_testkit as testkit; // as the rest of the workspace calls it

mod house;
mod picture;
mod server;
mod tidy;
mod wrappers;
