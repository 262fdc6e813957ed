//! A small TCP proxy on loopback that spoils a connection on demand, because the kernel under a test often
//! has no way to lose packets. The test switches its mode while connections are open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The treatment of bytes that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All goes through.
    Pass,
    /// Open connections are closed, new ones too, at once.
    Cut,
    /// Connections stay open and bytes vanish, both ways; nobody is told, and those that lost some stay so.
    HalfOpen,
    /// Each chunk of a reply waits that long.
    Delay(Duration),
    /// Replies come one byte per second.
    Trickle,
    /// Replies are replaced by bytes that are no reply.
    Garbage,
    /// A reply is cut in half and the connection reset.
    ResetMidReply,
}

/// The proxy; gone with its last handle, and all its connections with it.
pub struct Proxy {
    addr: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    task: AbortHandle,
}

impl Proxy {
    /// Listens on a free port and forwards to `target`. Needs a running tokio runtime.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let addr = listener.local_addr().expect("a bound socket has an address");
        let mode = Arc::new(watch::Sender::new(Mode::Pass));
        let task = tokio::spawn(serve(listener, target, Arc::clone(&mode))).abort_handle();
        Proxy { addr, mode, task }
    }

    /// The address where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `redis://` to it.
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// From now on.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.mode.send_replace(Mode::Cut);
    }
}

async fn serve(listener: TcpListener, target: SocketAddr, mode: Arc<watch::Sender<Mode>>) {
    while let Ok((client, _)) = listener.accept().await {
        if *mode.borrow() == Mode::Cut {
            continue;
        }
        tokio::spawn(carry(client, target, mode.subscribe()));
    }
}

async fn carry(client: TcpStream, target: SocketAddr, mode: watch::Receiver<Mode>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut cut = mode.clone();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = requests(from_client, to_server, mode.clone()) => {}
        () = replies(from_server, to_client, mode) => {}
        _ = cut.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mode: watch::Receiver<Mode>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(count) = from.read(&mut buffer).await {
        if *mode.borrow() == Mode::HalfOpen {
            // A stream that lost bytes never goes on as if nothing had happened.
            return std::future::pending().await;
        }
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

async fn replies(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, modes: watch::Receiver<Mode>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(count) = from.read(&mut buffer).await {
        let mode = *modes.borrow();
        if count == 0 && mode != Mode::HalfOpen {
            return;
        }
        let bytes = &buffer[..count];
        let sent = match mode {
            Mode::Pass | Mode::Cut => to.write_all(bytes).await,
            Mode::HalfOpen => std::future::pending().await,
            Mode::Delay(wait) => {
                tokio::time::sleep(wait).await;
                to.write_all(bytes).await
            }
            Mode::Trickle => trickle(&mut to, bytes, modes.clone()).await,
            Mode::Garbage => to.write_all(b"\0\xff not a reply \r\n").await,
            Mode::ResetMidReply => {
                let _ = to.write_all(&bytes[..count / 2]).await;
                // Lingering for no time at all makes the close a reset.
                let _ = rustix::net::sockopt::set_socket_linger(to.as_ref(), Some(Duration::ZERO));
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

// Once the mode changes, what is left of the chunk goes at once.
async fn trickle(
    to: &mut OwnedWriteHalf,
    bytes: &[u8],
    mut modes: watch::Receiver<Mode>,
) -> std::io::Result<()> {
    for (at, byte) in bytes.iter().enumerate() {
        to.write_all(&[*byte]).await?;
        let other = modes.wait_for(|mode| *mode != Mode::Trickle);
        if tokio::time::timeout(Duration::from_secs(1), other).await.is_ok() {
            return to.write_all(&bytes[at + 1..]).await;
        }
    }
    Ok(())
}
