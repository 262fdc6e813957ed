//! A `redis-server` for the time of a measurement: on loopback, on a free port, without a disk. It ends with it.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kernel::Store;

/// A server that ends when this is dropped.
pub(crate) struct OwnRedis {
    child: Child,
    url: String,
}

impl OwnRedis {
    /// Starts it; `None` when there is no such program.
    pub(crate) fn start() -> Option<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        let port = listener.local_addr().ok()?.port();
        drop(listener);
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"])
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        Some(OwnRedis { child, url: format!("redis://127.0.0.1:{port}") })
    }

    /// The address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A store on it, as soon as it answers.
    pub(crate) async fn open(&self) -> Option<Arc<dyn Store>> {
        for _ in 0..100 {
            if let Ok(store) = link::open(&self.url, link::Options::default()).await {
                return Some(store);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
