//! The galaxy over HTTP and sockets.

mod accounts;
mod liveness;
mod pilot;
mod reads;
mod servers;
mod sockets;
mod world;
