//! The base of every module: the keyspace tables, the [`Store`], scripts, clock, timers, events,
//! faults.

mod bounds;
pub mod check;
mod clock;
mod effects;
pub mod events;
mod fault;
pub mod json;
pub mod keyspace;
mod lease;
mod log_once;
pub mod numbers;
mod packed;
mod reader;
mod refusal;
pub mod reply;
pub mod said;
mod scopes;
mod script;
pub mod script_headers;
mod step;
mod store;
pub mod store_words;
pub mod timers;
mod writer;

pub use bounds::Bounds;
pub use check::Nodes as Scan;
pub use clock::{Clock, FakeClock, ServerClock, SystemClock};
pub use effects::{EVENTS_KEPT, Effects, Op};
pub use events::{Envelope, Event, EventReader};
pub use fault::Fault;
pub use lease::{Lease, Term};
pub use log_once::LogOnce;
pub use packed::{Command, Packed, Words};
pub use redis::{Cmd, Value};
pub use refusal::{Params, RefusalDef, RefusalKind, Refuses};
pub use said::{Param, Said, Wording};
pub use scopes::ScopeSet;
pub use script::{Part, Script, sha1_hex};
pub use step::{Condition, Guard, Pending, Refused, Step, Stepped};
pub use store::{Answer, Deadline, Kind, Message, Session, Status, Store, Topic};
pub use timers::{Timer, TimerKeys, Timers, Verdict};
pub use writer::{
    Call, Decision, Document, Documents, Mark, Source, Texts, Writer, WriterLimits, Written,
};

/// The scripts of the kernel itself.
pub const SCRIPTS: &[&Script] =
    &[&step::SWAP, &lease::TAKE, &lease::RENEW, &lease::DROP, &timers::LEASE, &timers::DONE];
