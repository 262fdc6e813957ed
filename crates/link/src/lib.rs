//! Opens a [`Store`]: the engine inside the process, one Redis or Valkey server, the primary that
//! Sentinel names, or a Cluster. Only this crate knows which Redis we talk to.
//!
//! Always true, for every kind of store: no call outlives its deadline; a request is repeated only
//! while nothing of it was sent or the server itself says that nothing was done; a lost answer is
//! [`Fault::Unknown`]; a lost connection heals by itself within 250 ms of the server's return and
//! never gives up; a connection that may be out of step is closed, never reused; no password is
//! ever printed.
//!
//! [`Fault::Unknown`]: kernel::Fault::Unknown

mod address;
mod cluster;
mod command_class;
mod connection;
mod embedded;
mod error;
mod multiplexer;
mod node;
mod probe;
mod remote;
mod reply;
mod route;
mod sentinel;
mod session;
mod subscription;
mod tls;
mod topology;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use kernel::{Deadline, Kind, Store};

pub use address::{Access, Address, Deployment, Endpoint, Login, Servers, Tls};
pub use embedded::{Embedded, check_log, repair_log};
pub use engine::Fsync;
pub use engine::Listener as RespListener;
pub use error::OpenError;

use crate::cluster::Cluster;
use crate::connection::Connector;
use crate::node::{Discovery, Node};
use crate::remote::Remote;
use crate::sentinel::Sentinels;

/// How to open a store. The defaults are the measured ones.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long opening waits for a server that is not there yet.
    pub patience: Duration,
    /// For the socket of one attempt.
    pub connect: Duration,
    /// For TLS and login of one attempt.
    pub handshake: Duration,
    /// Whether a directory without a store gets one; otherwise it is refused.
    pub make: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            patience: Duration::from_secs(2),
            connect: Duration::from_millis(300),
            handshake: Duration::from_secs(1),
            make: true,
        }
    }
}

/// Opens the store at `address` (a URL, `memory`, or `embedded:DIR`). Needs a running tokio runtime.
pub async fn open(address: &str, options: Options) -> Result<Arc<dyn Store>, OpenError> {
    open_address(&Address::parse(address)?, options).await
}

/// The same for an address that was read before.
pub async fn open_address(
    address: &Address,
    options: Options,
) -> Result<Arc<dyn Store>, OpenError> {
    match address {
        Address::Memory => Ok(Embedded::memory().store()),
        Address::Directory(dir) => {
            // A long log takes its time to load.
            let dir = dir.clone();
            let open = if options.make { Embedded::open } else { Embedded::open_existing };
            let opened = tokio::task::spawn_blocking(move || open(&dir)).await;
            Ok(opened.expect("opening does not panic")?.store())
        }
        Address::Servers(servers) => open_servers(servers, options).await,
    }
}

async fn open_servers(servers: &Servers, options: Options) -> Result<Arc<dyn Store>, OpenError> {
    let address = servers.to_string();
    let insecure = servers.access.tls.as_ref().is_some_and(|tls| tls.insecure);
    let connector =
        Connector::new(&servers.access, &options).map_err(|trouble| trouble.at(&address))?;
    let (route, connector, kind) = match &servers.role {
        Deployment::Server => {
            (Discovery::Fixed(servers.addresses[0].clone()), connector, Kind::Standalone)
        }
        Deployment::Sentinel { primary, login } => {
            let asking = Connector { login: login.clone(), db: 0, ..connector.clone() };
            let sentinels = Sentinels::new(primary.clone(), servers.addresses.clone(), asking);
            (
                Discovery::Sentinel(sentinels),
                Connector { primary_only: true, ..connector },
                Kind::Sentinel,
            )
        }
        Deployment::Cluster => {
            return Ok(Arc::new(Cluster::open(servers, connector, options.patience).await?));
        }
    };
    let opened = Node::open(route, connector.clone(), options.patience).await;
    let node = opened.map_err(|trouble| trouble.at(&address))?;
    let facts = node.facts(Deadline::after(options.handshake)).await;
    if kind == Kind::Standalone && facts.is_some_and(|facts| facts.cluster) {
        // One node of a Cluster was named; it knows the others.
        let servers = Servers { role: Deployment::Cluster, ..servers.clone() };
        return Ok(Arc::new(Cluster::open(&servers, connector, options.patience).await?));
    }
    Ok(Arc::new(Remote::new(node, kind, address, insecure)))
}

/// Whether steps must keep to one slot: a module whose steps span slots refuses the plain layout there.
pub fn is_cluster(store: &dyn Store) -> bool {
    store.status().kind == Kind::Cluster
}

/// Unix milliseconds, for people to read in a status; nothing is decided by it.
fn wall_ms() -> u64 {
    kernel::Clock::now_ms(&kernel::SystemClock::new())
}
