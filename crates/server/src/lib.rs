//! HTTP, WebSocket, pages and background loops. The only crate that knows HTTP: modules below it are plain
//! libraries, and everything they add here goes through one contract, [`modules::Module`].
//!
//! Invariants: every route has a row in the access table; every error speaks the dialect of its
//! path from one file; no secret is stored, logged or answered; a stop loses nothing acknowledged.

pub mod access;
pub mod app;
mod authorise;
pub mod backups;
pub mod caller;
pub mod checks;
pub mod extract;
mod galaxy;
pub mod guard;
mod gzip;
mod history;
pub mod hub;
pub mod inside;
mod jobs;
pub mod keyspace;
pub mod keyview;
pub mod limits;
pub mod measure;
pub mod modules;
mod monsters;
pub mod orphans;
pub mod overview;
mod pages;
pub mod party;
pub mod presence;
mod reactors;
pub mod reply;
mod rooms;
mod routes;
pub mod said;
mod scrapers;
mod search;
pub mod serve;
pub mod sessions;
pub mod settings;
mod socket;
pub mod tls;
pub mod token_scopes;
pub mod tokens;
mod wire;
pub mod worlds;

pub use app::App;
pub use galaxy::database_place;
pub use serve::{Bound, serve, serve_with_party};
