//! Which node of a Cluster owns which slot. Learnt from `CLUSTER SLOTS` of any node that answers, corrected
//! by every `MOVED`, and looked at again while a primary is away. A node that left is let go.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::SLOTS;
use kernel::{Deadline, Value};
use parking_lot::{Mutex, RwLock};

use crate::address::Endpoint;
use crate::connection::Connector;
use crate::error::ConnectError;
use crate::node::{Discovery, Node};
use crate::reply;

const ANSWER: Duration = Duration::from_millis(500);

/// Slots and their owners.
pub(crate) struct Topology {
    connector: Connector,
    /// Addresses to ask when no known node answers: those of the URL, and replicas we heard of.
    others: Mutex<Vec<Endpoint>>,
    owners: RwLock<Vec<Option<Arc<Node>>>>,
    nodes: Mutex<HashMap<Endpoint, Arc<Node>>>,
}

impl Topology {
    pub(crate) fn new(connector: Connector, seeds: Vec<Endpoint>) -> Self {
        Topology {
            connector,
            others: Mutex::new(seeds),
            owners: RwLock::new(vec![None; usize::from(SLOTS)]),
            nodes: Mutex::default(),
        }
    }

    pub(crate) fn owner(&self, slot: u16) -> Option<Arc<Node>> {
        self.owners.read()[usize::from(slot)].clone()
    }

    /// Every primary with slots, in the order of their first slots.
    pub(crate) fn primaries(&self) -> Vec<Arc<Node>> {
        let owners = self.owners.read();
        let mut found: Vec<Arc<Node>> = Vec::new();
        for node in owners.iter().flatten() {
            let last = found.last().is_some_and(|last| Arc::ptr_eq(last, node));
            if !last && !found.iter().any(|known| Arc::ptr_eq(known, node)) {
                found.push(Arc::clone(node));
            }
        }
        found
    }

    /// Whether every slot has an owner that is connected.
    pub(crate) fn is_whole(&self) -> bool {
        let all = self.owners.read().iter().all(Option::is_some);
        all && self.primaries().iter().all(|node| node.pipe_now().is_some())
    }

    /// A server told us who owns a slot now.
    pub(crate) fn learn(&self, slot: u16, address: Endpoint) -> Arc<Node> {
        let node = self.node(address);
        if let Some(owner) = self.owners.write().get_mut(usize::from(slot)) {
            *owner = Some(Arc::clone(&node));
        }
        node
    }

    /// The node at this address, connected from now on.
    pub(crate) fn node(&self, address: Endpoint) -> Arc<Node> {
        let mut nodes = self.nodes.lock();
        let route = Discovery::Fixed(address.clone());
        let node =
            nodes.entry(address).or_insert_with(|| Node::start(route, self.connector.clone()));
        Arc::clone(node)
    }

    /// Asks for the whole picture: primaries that are connected first, then everybody else we heard of.
    pub(crate) async fn refresh(&self) -> Result<(), ConnectError> {
        let mut last = ConnectError::Gone("no node of the Cluster is known".to_owned());
        // Owners first: a former primary that just came back may still believe in its own past.
        let mut known = self.primaries();
        known.extend(self.nodes.lock().values().cloned());
        let connected: Vec<_> = known.iter().filter_map(|node| node.pipe_now()).collect();
        for multiplexer in connected {
            let bytes = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
            if let Ok(mut values) = multiplexer.ask(bytes.into(), 1, Deadline::after(ANSWER)).await
            {
                match self
                    .take(&values.pop().expect("one reply was asked for"), multiplexer.address())
                {
                    Ok(()) => return Ok(()),
                    Err(trouble) => last = trouble,
                }
            }
        }
        let others = self.others.lock().clone();
        for address in others {
            match self.ask_stranger(&address).await {
                Ok(()) => return Ok(()),
                // An error that waiting cannot mend tells more than a refused connection.
                Err(trouble) if !trouble.may_pass() || last.may_pass() => last = trouble,
                Err(_) => {}
            }
        }
        Err(last)
    }

    async fn ask_stranger(&self, address: &Endpoint) -> Result<(), ConnectError> {
        let mut connection = self.connector.open(address).await?;
        connection.write(&redis::cmd("CLUSTER").arg("SLOTS").get_packed_command()).await?;
        let late = |_| ConnectError::Gone(format!("{address} does not answer"));
        let value = tokio::time::timeout(ANSWER, connection.read()).await.map_err(late)??;
        self.take(&value, address)
    }

    fn take(&self, value: &Value, from: &Endpoint) -> Result<(), ConnectError> {
        if let Value::ServerError(error) = value {
            let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
            return Err(match error.code() {
                "NOPERM" => ConnectError::NotAllowed(text),
                "ERR" if text.contains("disabled") => ConnectError::ProtocolError(format!(
                    "{from} is no node of a Cluster; for a single server write redis://"
                )),
                _ => ConnectError::NotYet(text),
            });
        }
        let ranges = read(value, from);
        if ranges.is_empty() {
            return Err(ConnectError::NotYet("the Cluster has no slots yet".to_owned()));
        }
        let mut owners: Vec<Option<Arc<Node>>> = vec![None; usize::from(SLOTS)];
        let mut heard = Vec::new();
        for range in ranges {
            let node = self.node(range.primary.clone());
            for slot in range.from..=range.to.min(SLOTS - 1) {
                owners[usize::from(slot)] = Some(Arc::clone(&node));
            }
            heard.push(range.primary);
            heard.extend(range.replicas);
        }
        self.remember(&heard);
        *self.owners.write() = owners;
        // Whoever owns nothing and is not spoken of has left.
        self.nodes.lock().retain(|address, _| heard.contains(address));
        Ok(())
    }

    fn remember(&self, heard: &[Endpoint]) {
        let mut others = self.others.lock();
        for address in heard {
            if !others.contains(address) {
                others.push(address.clone());
            }
        }
        // Seeds stay first; a Cluster that changes for months does not grow the list without end.
        others.truncate(256);
    }
}

struct Range {
    from: u16,
    to: u16,
    primary: Endpoint,
    replicas: Vec<Endpoint>,
}

fn read(value: &Value, from: &Endpoint) -> Vec<Range> {
    let Value::Array(ranges) = value else { return Vec::new() };
    let one = |value: &Value| {
        let Value::Array(parts) = value else { return None };
        let [Value::Int(first), Value::Int(last), nodes @ ..] = &**parts else { return None };
        let mut nodes = nodes.iter().filter_map(|node| node_address(node, from));
        Some(Range {
            from: u16::try_from(*first).ok()?,
            to: u16::try_from(*last).ok()?,
            primary: nodes.next()?,
            replicas: nodes.collect(),
        })
    };
    ranges.iter().filter_map(one).collect()
}

fn node_address(value: &Value, from: &Endpoint) -> Option<Endpoint> {
    let Value::Array(parts) = value else { return None };
    let host = parts.first().and_then(reply::text).unwrap_or_default();
    let Some(Value::Int(port)) = parts.get(1) else { return None };
    Some(beside(&host, u16::try_from(*port).ok()?, from))
}

/// A node that does not know its own name is at the host we asked.
fn beside(host: &str, port: u16, from: &Endpoint) -> Endpoint {
    match (host, from) {
        ("" | "?", Endpoint::Tcp(asked, _)) => Endpoint::Tcp(asked.clone(), port),
        _ => Endpoint::Tcp(host.to_owned(), port),
    }
}

/// Slot and address of `MOVED` or `ASK`.
pub(crate) fn redirection(detail: &str, from: &Endpoint) -> Option<(u16, Endpoint)> {
    let (slot, address) = detail.trim().split_once(' ')?;
    let (host, port) = address.rsplit_once(':')?;
    Some((slot.parse().ok()?, beside(host, port.parse().ok()?, from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_are_read() {
        let from = Endpoint::Tcp("asked".into(), 1);
        let to = |detail| redirection(detail, &from);
        assert_eq!(
            to("3999 127.0.0.1:6381"),
            Some((3999, Endpoint::Tcp("127.0.0.1".into(), 6381)))
        );
        assert_eq!(to("1 ::1:7"), Some((1, Endpoint::Tcp("::1".into(), 7))));
        assert_eq!(to("1 :7"), Some((1, Endpoint::Tcp("asked".into(), 7))));
        assert_eq!(to("x"), None);
    }
}
