//! The galaxy over HTTP and sockets.

mod accounts;
mod automation;
mod foreign;
mod liveness;
mod pilot;
mod reads;
mod servers;
mod slow;
mod sockets;
mod world;
