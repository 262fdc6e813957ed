//! The TCP door: RESP clients of any language, on a small runtime of the engine's own, so that a busy door
//! does not starve the caller's tasks.

use std::io;
use std::net::SocketAddr;

use tokio::runtime::Runtime;

use crate::door_stream::{self, Socket};
use crate::shared::Hold;

/// A listening door. Dropping it closes the door and its connections.
#[derive(Debug)]
pub struct Listener {
    addr: SocketAddr,
    runtime: Option<Runtime>,
}

impl Listener {
    pub(crate) fn tcp(shared: &Hold, addr: SocketAddr) -> io::Result<Self> {
        // Two threads, so that a connection can be answered while another's script runs.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("engine-resp")
            .enable_io()
            .enable_time()
            .build()?;
        let listener = std::net::TcpListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        shared.lock().core().door_opened(addr);
        shared.door_on(runtime.handle().clone());
        let shared = shared.clone();
        runtime.spawn(async move {
            while let Ok((stream, peer)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let shared = shared.clone();
                tokio::spawn(async move {
                    let fd = i64::from(std::os::fd::AsRawFd::as_raw_fd(&stream));
                    let laddr =
                        stream.local_addr().map(|addr| addr.to_string()).unwrap_or_default();
                    let socket = Socket { addr: peer.to_string(), laddr, fd };
                    let _ = door_stream::welcome(&shared, Some(&socket), stream).await;
                });
            }
        });
        Ok(Listener { addr, runtime: Some(runtime) })
    }

    /// Where it listens; the port chosen by the system when 0 was asked for.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
