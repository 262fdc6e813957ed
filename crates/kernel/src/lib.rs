//! What every module stands on: the keyspace tables, the [`Store`], scripts, clock, timers, events, faults.

mod fault;
mod script;
mod store;

pub use fault::Fault;
pub use script::Script;
pub use store::{Answer, Deadline, Kind, Message, Session, Status, Store, Topic};
pub use redis::{Cmd, Value};
