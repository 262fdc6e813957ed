//! The galaxy over HTTP and sockets.

mod reads;
mod world;
