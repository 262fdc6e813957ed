//! The rooms over real sockets: whole games, bad input, several servers, presence, limits, HTTP.

mod along;
mod game;
mod http;
mod input;
pub(crate) mod phone;
mod servers;
