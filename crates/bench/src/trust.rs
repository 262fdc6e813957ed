//! `worldkeep-bench trust`: a stop with nothing to do, and a server whose engine is kept by a script without an end.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;

use super::own_server::{OwnServer, free_port, request};
use super::stats::{median, percentile};
use super::{Figure, Tell};

/// How long the script has run before anything is asked.
const BUSY: Duration = Duration::from_millis(500);
/// How long a server is left alone after its start, until its first writes are done.
const SETTLES: Duration = Duration::from_secs(1);

pub(crate) async fn run(rounds: usize, requests: usize, tell: &mut Tell<'_>) -> io::Result<()> {
    let mut stops = Vec::new();
    for _ in 0..rounds {
        let server = OwnServer::start("all", None).await?;
        idle(&server).await?;
        stops.push(server.stopped().await?.as_secs_f64() * 1000.0);
    }
    tell(Figure::at_most("idle SIGTERM until the end", median(stops), "ms", 100.0));
    let port = free_port()?;
    let door = format!("127.0.0.1:{port}");
    let settings = [("RESP", door.as_str())];
    let server = OwnServer::start_in(tempfile::tempdir()?, "all", None, &settings).await?;
    idle(&server).await?;
    let mut looping = tokio::net::TcpStream::connect(&door).await?;
    looping.write_all(b"EVAL \"while true do end\" 0\r\n").await?;
    tokio::time::sleep(BUSY).await;
    let mut took = Vec::with_capacity(requests);
    for _ in 0..requests {
        let asked = Instant::now();
        request(server.at, "GET", "/healthz", "").await?;
        took.push(asked.elapsed().as_secs_f64() * 1000.0);
    }
    let name = "/healthz during a script without an end, p99";
    tell(Figure::at_most(name, percentile(took, 0.99), "ms", 50.0));
    Ok(())
}

/// The server answers, its RESP door is open, and it has nothing to do.
async fn idle(server: &OwnServer) -> io::Result<()> {
    request(server.at, "GET", "/readyz", "").await?;
    tokio::time::sleep(SETTLES).await;
    Ok(())
}
