//! The ways in: by direct call, as a byte stream in memory, and over TCP or a Unix socket. All share one session and
//! one form of reply.

pub(crate) mod busy;
pub(crate) mod conn;
pub(crate) mod direct;
pub(crate) mod event_loop;
pub(crate) mod hub;
pub(crate) mod lock;
pub(crate) mod out;
pub(crate) mod reply;
pub(crate) mod resp;
pub(crate) mod session;
pub(crate) mod stream;
pub(crate) mod tcp;
pub(crate) mod tls;
pub(crate) mod unit;
pub(crate) mod wake;
