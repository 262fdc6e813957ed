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
use crate::caller::Peer;
use crate::limits::{self, Counts};
use crate::presence;
use crate::socket::PeerStream;

/// 16 KiB of head and 64 headers: far more than a browser sends.
const HEAD_BYTES: usize = 16 * 1024;
const HEADERS: usize = 64;

/// Runs until `stop` is cancelled, then drains. The listener is bound by the caller, so that a port in use
/// is its sentence.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    stop: CancellationToken,
) -> io::Result<()> {
    let connections = TaskTracker::new();
    let by_address: Counts<IpAddr> = Counts::new(app.settings.limits.connections_per_address);
    let most = app.settings.limits.connections;
    let service = router(&app);
    let loops = start_loops(&app);
    let told = kernel::LogOnce::new();
    loop {
        let (stream, remote) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
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
        let full = most != 0 && connections.len() >= most;
        match by_address.take(limits::counted(remote.ip())) {
            Some(place) if !full => {
                let (app, service) = (Arc::clone(&app), service.clone());
                connections.spawn(async move {
                    connection(&app, service, stream, remote).await;
                    drop(place);
                });
            }
            _ => refuse(stream),
        }
    }
    drop(listener);
    app.stopping.cancel();
    connections.close();
    app.tasks.close();
    let wait = Duration::from_secs(app.settings.server.stop_wait_s);
    let drained = tokio::time::timeout(wait, async {
        connections.wait().await;
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

async fn connection(app: &App, service: axum::Router, stream: TcpStream, remote: SocketAddr) {
    let _ = stream.set_nodelay(true);
    let local_loopback = stream.local_addr().is_ok_and(|at| at.ip().to_canonical().is_loopback());
    let peer = Peer { remote, local_loopback };
    let service = service.map_request(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(peer);
        request
    });
    let stream = PeerStream::new(stream, Duration::from_millis(app.settings.limits.write_stall_ms));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(app.settings.limits.header_read_ms))
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

/// Says why in the shortest way; somebody over the cap gets no more of our time.
fn refuse(mut stream: TcpStream) {
    metrics::counter!("worldkeep_connections_refused_total").increment(1);
    tokio::spawn(async move {
        const ANSWER: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\n\
            content-length: 0\r\nconnection: close\r\n\r\n";
        let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(ANSWER)).await;
    });
}
