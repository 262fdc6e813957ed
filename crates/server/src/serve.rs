//! Listening and stopping. Connections are counted per address, have to send their head in time and to take what they are
//! sent (`socket/stream.rs`); a stop says goodbye to sockets, lets requests under way end, and never waits longer than the setting allows.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::app::{App, router};
use crate::caller::{Listener, Peer};
use crate::history;
use crate::limits::{self, Counts};
use crate::presence;
use crate::socket::PeerStream;
use crate::tls::Identity;

/// 16 KiB of head and 64 headers: far more than a browser sends.
const HEAD_BYTES: usize = 16 * 1024;
const HEADERS: usize = 64;

/// A bound address, and the certificate to show there.
#[derive(Debug)]
pub struct Bound {
    /// The address that clients connect to.
    pub tcp: TcpListener,
    /// Without one, plain HTTP.
    pub tls: Option<Arc<Identity>>,
}

impl From<TcpListener> for Bound {
    fn from(tcp: TcpListener) -> Self {
        Bound { tcp, tls: None }
    }
}

/// Runs until `stop` is cancelled, then drains. The listener is bound by the caller, so that a port in use
/// is its sentence.
pub async fn serve(
    app: Arc<App>,
    listener: impl Into<Bound>,
    stop: CancellationToken,
) -> io::Result<()> {
    serve_with_party(app, listener, None, stop).await
}

/// The same with a second listener, which serves the party game alone (`party.rs`).
pub async fn serve_with_party(
    app: Arc<App>,
    listener: impl Into<Bound>,
    party: Option<TcpListener>,
    stop: CancellationToken,
) -> io::Result<()> {
    let entrance = Arc::new(Entrance {
        connections: TaskTracker::new(),
        by_address: Counts::new(app.settings.limits.connections_per_address),
        service: router(&app),
        app: Arc::clone(&app),
    });
    let loops = start_loops(&app);
    let guests = party.map(|party| {
        let (entrance, stop) = (Arc::clone(&entrance), stop.clone());
        tokio::spawn(async move { entrance.accept(party.into(), Listener::Party, stop).await })
    });
    entrance.accept(listener.into(), Listener::Main, stop).await;
    if let Some(guests) = guests {
        let _ = guests.await;
    }
    app.stopping.cancel();
    entrance.connections.close();
    app.tasks.close();
    let wait = Duration::from_secs(app.settings.server.stop_wait_s);
    let drained = tokio::time::timeout(wait, async {
        entrance.connections.wait().await;
        app.tasks.wait().await;
    });
    if drained.await.is_err() {
        tracing::warn!("stopped with requests still under way");
    }
    for task in loops {
        task.abort();
    }
    if !app.modules.is_empty() {
        match presence::leave(&app).await {
            Ok(last) => app.was_last.store(last, Ordering::Relaxed),
            Err(fault) => tracing::debug!(%fault, "leaving the list of servers"),
        }
    }
    Ok(())
}

/// The connections of all listeners: counted together, served by one router.
struct Entrance {
    app: Arc<App>,
    service: axum::Router,
    connections: TaskTracker,
    by_address: Counts<IpAddr>,
}

impl Entrance {
    /// Takes connections until the stop.
    async fn accept(
        self: &Arc<Self>,
        Bound { tcp, tls }: Bound,
        listener: Listener,
        stop: CancellationToken,
    ) {
        let told = kernel::LogOnce::new();
        loop {
            let (stream, remote) = tokio::select! {
                () = stop.cancelled() => return,
                accepted = tcp.accept() => match accepted {
                    Ok(pair) => {
                        told.well("accept");
                        pair
                    }
                    Err(error) => {
                        // Out of descriptors, or the other end left already: not a reason to end.
                        if told.is_news("accept", &error) {
                            tracing::warn!(%error, "cannot accept a connection");
                        }
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    }
                },
            };
            self.let_in(stream, remote, listener, tls.clone());
        }
    }

    fn let_in(
        self: &Arc<Self>,
        stream: TcpStream,
        remote: SocketAddr,
        listener: Listener,
        tls: Option<Arc<Identity>>,
    ) {
        let most = self.app.settings.limits.connections;
        let full = most != 0 && self.connections.len() >= most;
        match self.by_address.take(limits::counted(remote.ip())) {
            Some(place) if !full => {
                let (app, service) = (Arc::clone(&self.app), self.service.clone());
                let local = stream.local_addr();
                let local_loopback = local.is_ok_and(|at| at.ip().to_canonical().is_loopback());
                let peer = Peer { remote, local_loopback, tls: tls.is_some(), listener };
                self.connections.spawn(async move {
                    connection(&app, service, stream, peer, tls).await;
                    drop(place);
                });
            }
            _ => refuse(stream, tls.is_some()),
        }
    }
}

fn start_loops(app: &Arc<App>) -> Vec<tokio::task::JoinHandle<()>> {
    for module in &app.modules {
        for one in module.loops {
            let run = (one.run)(Arc::clone(app), app.stopping.child_token());
            app.tasks.spawn(run);
        }
    }
    // Without modules nothing is written, not even this.
    if !app.modules.is_empty() {
        app.tasks.spawn(presence::keep(Arc::clone(app)));
    }
    app.tasks.spawn(history::keep(Arc::clone(app)));
    let metrics = app.metrics.clone();
    // Samples of histograms wait to be counted: without this it piles up until somebody asks for /metrics.
    let count = async move {
        let mut every = tokio::time::interval(Duration::from_secs(5));
        loop {
            every.tick().await;
            metrics.run_upkeep();
        }
    };
    vec![tokio::spawn(count)]
}

async fn connection(
    app: &App,
    service: axum::Router,
    stream: TcpStream,
    peer: Peer,
    tls: Option<Arc<Identity>>,
) {
    let _ = stream.set_nodelay(true);
    let service = service.map_request(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(peer);
        request
    });
    let stall = Duration::from_millis(app.settings.limits.write_stall_ms);
    let head = Duration::from_millis(app.settings.limits.header_read_ms);
    let stream = match tls {
        None => PeerStream::new(stream, stall),
        Some(identity) => {
            let handshake = PeerStream::tls(stream, stall, identity.config());
            match tokio::time::timeout(head, handshake).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return tracing::debug!(%error, "no handshake"),
                Err(_) => return tracing::debug!("no handshake in time"),
            }
        }
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(HEADERS)
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    tokio::pin!(served);
    tokio::select! {
        ended = served.as_mut() => log_end(ended),
        () = app.stopping.cancelled() => {
            served.as_mut().graceful_shutdown();
            log_end(served.await);
        }
    }
}

fn log_end(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

/// Says why in the shortest way; somebody over the cap gets no more of our time, and no handshake.
fn refuse(mut stream: TcpStream, tls: bool) {
    metrics::counter!("worldkeep_connections_refused_total").increment(1);
    if tls {
        return;
    }
    tokio::spawn(async move {
        const ANSWER: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\n\
            content-length: 0\r\nconnection: close\r\n\r\n";
        let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(ANSWER)).await;
    });
}
