//! Asks the Sentinels for the primary. Any of them may answer. When one does not, the next one is
//! asked; the one that answered is asked first the next time, unless the primary it named was of no
//! use. The named server must still say itself that it is a primary (`Connector::primary_only`).
//! While we are connected the majority is asked now and then, because an old primary that is cut
//! off from them may not know that it is one.

use std::time::Duration;

use futures_util::future::join_all;
use kernel::Value;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::address::Endpoint;
use crate::connection::Connector;
use crate::error::ConnectError;
use crate::reply;

const ANSWER: Duration = Duration::from_millis(500);

/// The Sentinels of one primary.
pub(crate) struct Sentinels {
    name: String,
    addresses: Mutex<Vec<Endpoint>>,
    connector: Connector,
}

impl Sentinels {
    pub(crate) fn new(name: String, addresses: Vec<Endpoint>, connector: Connector) -> Self {
        Sentinels { name, addresses: Mutex::new(addresses), connector }
    }

    /// The primary's address, from the first Sentinel that knows it.
    pub(crate) async fn primary(&self) -> Result<Endpoint, ConnectError> {
        let all = self.addresses.lock().clone();
        let mut last = ConnectError::Gone("no Sentinel was named".to_owned());
        for (at, address) in all.iter().enumerate() {
            match timeout(self.connector.connect + ANSWER, self.ask(address)).await {
                Ok(Ok(primary)) => {
                    self.addresses.lock().swap(0, at);
                    return Ok(primary);
                }
                Ok(Err(trouble)) => last = at_sentinel(address, &trouble),
                Err(_) => last = ConnectError::Gone(format!("Sentinel {address} does not answer")),
            }
        }
        Err(last)
    }

    /// Moves the first Sentinel to the end, because the primary it named was of no use.
    pub(crate) fn doubt(&self) {
        self.addresses.lock().rotate_left(1);
    }

    /// The primary that more than half of all Sentinels name, if there is one.
    pub(crate) async fn agreed(&self) -> Option<Endpoint> {
        let all = self.addresses.lock().clone();
        let ask = |address| async move {
            timeout(self.connector.connect + ANSWER, self.ask(address)).await.ok()?.ok()
        };
        let named: Vec<Endpoint> =
            join_all(all.iter().map(ask)).await.into_iter().flatten().collect();
        let votes = |one: &Endpoint| named.iter().filter(|other| *other == one).count();
        named.iter().find(|one| votes(one) * 2 > all.len()).cloned()
    }

    async fn ask(&self, address: &Endpoint) -> Result<Endpoint, ConnectError> {
        let mut connection = self.connector.open(address).await?;
        let mut cmd = redis::cmd("SENTINEL");
        cmd.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        connection.write(&cmd.get_packed_command()).await?;
        match connection.read().await? {
            Value::Array(parts) => {
                let host = parts.first().and_then(reply::text);
                let port = parts.get(1).and_then(reply::text).and_then(|port| port.parse().ok());
                match (host, port) {
                    (Some(host), Some(port)) => Ok(Endpoint::Tcp(host.into_owned(), port)),
                    _ => Err(ConnectError::ProtocolError("it gave no address".to_owned())),
                }
            }
            Value::Nil => {
                Err(ConnectError::ProtocolError(format!("it knows no primary named {}", self.name)))
            }
            Value::ServerError(error) => Err(match error.code() {
                "NOPERM" => ConnectError::NotAllowed("it does not let this user ask".to_owned()),
                "NOAUTH" => ConnectError::Login("it wants a password".to_owned()),
                _ => ConnectError::ProtocolError("it is no Sentinel; check the port".to_owned()),
            }),
            _ => Err(ConnectError::ProtocolError("it is no Sentinel; check the port".to_owned())),
        }
    }
}

fn at_sentinel(address: &Endpoint, trouble: &ConnectError) -> ConnectError {
    let text = format!("Sentinel {address}: {}", trouble.reason());
    match trouble {
        ConnectError::Gone(_) | ConnectError::NotYet(_) => ConnectError::Gone(text),
        ConnectError::Login(_) => ConnectError::Login(text),
        ConnectError::NotAllowed(_) => ConnectError::NotAllowed(text),
        ConnectError::Tls(_) => ConnectError::Tls(text),
        ConnectError::ProtocolError(_) => ConnectError::ProtocolError(text),
    }
}
