//! The listening door: RESP clients of any language over TCP or a Unix socket, on a thread of the engine's own, so that a
//! busy door does not starve the caller's tasks.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

use crate::doors::event_loop::Door;
use crate::doors::hub::{Hub, Listening};
use crate::doors::tls::Configs;
use crate::shared::Hold;

/// A listening door. Dropping it closes the door and its connections.
pub struct Listener {
    addr: SocketAddr,
    door: Arc<Door>,
    thread: ThreadId,
    ended: mpsc::Receiver<()>,
}

impl Listener {
    /// With `tls`, clients are served over TLS and not without.
    pub(crate) fn tcp(
        shared: &Hold,
        addr: SocketAddr,
        stall: Duration,
        tls: Option<Configs>,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let listener = mio::net::TcpListener::from_std(listener);
        let listening = match tls {
            None => Listening::Tcp(listener),
            Some(configs) => Listening::Tls(listener, configs),
        };
        let started = Self::start(shared, listening, addr, stall)?;
        shared.lock().core().door_opened(addr);
        Ok(started)
    }

    pub(crate) fn unix(shared: &Hold, path: &Path, stall: Duration) -> io::Result<Self> {
        let listener = mio::net::UnixListener::bind(path)?;
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Self::start(shared, Listening::Unix(listener, path.to_owned()), nowhere, stall)
    }

    fn start(
        shared: &Hold,
        listening: Listening,
        addr: SocketAddr,
        stall: Duration,
    ) -> io::Result<Self> {
        let door = Arc::new(Door::new(Hub::new(listening, stall)?));
        shared.listens(&door);
        let (end, ended) = mpsc::channel();
        let (shared, served) = (shared.clone(), Arc::clone(&door));
        let thread = std::thread::Builder::new().name("engine-resp".into()).spawn(move || {
            served.serve(&shared);
            // A caller that sees the door closed may open the directory again.
            drop(shared);
            drop(end);
        })?;
        Ok(Listener { addr, door, thread: thread.thread().id(), ended })
    }

    /// The address it listens on; the port chosen by the system when 0 was asked for. A Unix socket
    /// has none: port 0.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A script may run for ever; then the thread is left behind.
        const PATIENCE: Duration = Duration::from_secs(1);
        self.door.close();
        if std::thread::current().id() != self.thread {
            let _ = self.ended.recv_timeout(PATIENCE);
        }
    }
}
