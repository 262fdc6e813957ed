//! Stores and faults for tests, a dev-dependency of all: [`on_every_store!`] runs a body on the embedded
//! engine and on real servers that never outlive their test, [`Cluster`] is one of real nodes, [`Recorder`]
//! shows the wire, [`Faulty`] fails on demand, [`Proxy`] spoils a network, [`wait_until`] waits and says for what,
//! `picture` holds who may use whom, `unused` that nothing is declared without need, `script_headers`
//! that scripts tell the truth about themselves, and `update`
//! changes a document as other programs do.

mod certificates;
mod cluster;
mod faulty;
pub mod picture;
mod postgres;
mod printed;
mod proxy;
mod record;
pub mod script_headers;
mod sentinel;
mod server;
mod stores;
pub mod unused;
pub mod update;
mod wait;
mod watchdog;

pub use certificates::Certificates;
pub use cluster::{Cluster, LentCluster};
pub use faulty::{Faulty, How, Network, Plan, Sent, Weather};
pub use kernel::{FakeClock, Store};
pub use postgres::{LentDatabase, Postgres};
pub use printed::{as_default, call_as_default};
pub use proxy::{Mode, Proxy};
pub use record::{Recorder, ScriptCall};
pub use sentinel::Sentinel;
pub use server::{Program, Server, Setup, ask, free_port};
pub use stores::{Lent, On, on_cluster, on_every, on_every_address, open, programs, wanted};
pub use wait::{PATIENCE, eventually, eventually_in, timed, wait_until, within};
