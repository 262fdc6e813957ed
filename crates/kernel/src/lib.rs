//! What every module stands on: the keyspace tables, the [`Store`], scripts, clock, timers, events, faults.

mod effects;
pub mod events;
mod fault;
pub mod json;
pub mod keyspace;
pub mod numbers;
pub mod reply;
mod script;
mod step;
mod store;
mod update;

pub use effects::{EVENTS_KEPT, Effects, Op};
pub use events::{Envelope, Event};
pub use fault::Fault;
pub use redis::{Cmd, Value};
pub use script::Script;
pub use step::{SWAP, Step, Swap};
pub use store::{Answer, Deadline, Kind, Message, Session, Status, Store, Topic};
pub use update::{Change, Tries, Updated, update, update_with};
