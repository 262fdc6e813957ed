//! `worldkeep-bench rooms`: broadcast, latency, connects and memory beside a plain Node `ws` server and Colyseus
//! in the same run, with one driver for all; and votes in a thousand rooms. Rate and socket limits are off.

mod peer;
mod votes;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::crowd::Crowd;
use super::line::Line;
use super::own_redis::OwnRedis;
use super::stats::{median, percentile};
use super::{Figure, Tell};
use peer::{Kind, Peer};

/// Broadcasts under way at once in the throughput run.
const WINDOW: usize = 16;
/// Sockets that are opened at once.
const OPENING: usize = 32;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    /// Sockets of the throughput run.
    pub(crate) sockets: usize,
    /// Sockets of the latency run.
    pub(crate) many: usize,
    /// Seconds of the throughput run.
    pub(crate) seconds: u64,
    /// Sockets that are dropped at once and come back.
    pub(crate) back: usize,
    /// Rooms of eight that vote.
    pub(crate) rooms: usize,
}

/// The figures of one server.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    connects_per_s: f64,
    bytes_per_socket: f64,
    delivered_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    size: usize,
}

/// All of it, driven by one thread: it takes the least from the server beside it, and the same from each.
pub(crate) async fn run(amounts: Amounts, tell: &mut Tell<'_>) -> Result<(), String> {
    let (figures, mut told) = mpsc::unbounded_channel();
    let driver = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(drive(amounts, &mut |figure| drop(figures.send(figure))))
    });
    while let Some(figure) = told.recv().await {
        tell(figure);
    }
    driver.join().map_err(|_| "the driver ended early".to_owned())?
}

/// The peers are measured in turns with our own server, in the same run.
async fn drive(amounts: Amounts, tell: &mut Tell<'_>) -> Result<(), String> {
    let dir = peer::programs()?;
    let said = |error: io::Error| error.to_string();
    let started = async |kind, size| match kind {
        Kind::Worldkeep => Peer::worldkeep(None).await,
        _ => Peer::node(kind, &dir, size),
    };
    let mut took = Vec::new();
    let mut size = 0;
    for kind in [Kind::Worldkeep, Kind::Ws, Kind::Colyseus] {
        let mut peer = started(kind, size).await.map_err(said)?;
        let one = measure(&mut peer, amounts).await.map_err(|e| format!("{}: {e}", kind.name()))?;
        size = one.size;
        report(tell, kind, &one);
        took.push(one);
    }
    let [ours, ws, colyseus] = took[..] else { return Err("three are measured".into()) };
    for figure in [
        Figure::at_least(
            "broadcast delivered, of ws",
            ours.delivered_per_s / ws.delivered_per_s,
            "x",
            1.5,
        ),
        Figure::at_most(
            "broadcast p99 with many sockets, of colyseus",
            ours.p99_ms / colyseus.p99_ms,
            "x",
            0.7,
        ),
        Figure::at_least(
            "connects, of colyseus",
            ours.connects_per_s / colyseus.connects_per_s,
            "x",
            3.0,
        ),
        Figure::at_most(
            "memory per socket, of colyseus",
            ours.bytes_per_socket / colyseus.bytes_per_socket,
            "x",
            0.5,
        ),
    ] {
        tell(figure);
    }
    for figure in returning(amounts.back).await.map_err(said)? {
        tell(figure);
    }
    for figure in votes::run(amounts.rooms, None, "embedded", 20.0).await.map_err(said)? {
        tell(figure);
    }
    let Some(redis) = OwnRedis::start() else { return Ok(()) };
    redis.open().await.ok_or("redis-server does not answer")?;
    for figure in votes::run(amounts.rooms, Some(redis.url()), "redis", 50.0).await.map_err(said)? {
        tell(figure);
    }
    Ok(())
}

fn report(tell: &mut Tell<'_>, kind: Kind, took: &Took) {
    let name = kind.name();
    for figure in [
        Figure::plain(format!("{name}: connects"), took.connects_per_s, "/s"),
        Figure::plain(format!("{name}: memory per socket"), took.bytes_per_socket / 1024.0, "KiB"),
        Figure::plain(format!("{name}: broadcast delivered"), took.delivered_per_s, "messages/s"),
        Figure::plain(format!("{name}: broadcast p50 with many sockets"), took.p50_ms, "ms"),
        Figure::plain(format!("{name}: broadcast p99 with many sockets"), took.p99_ms, "ms"),
    ] {
        tell(figure);
    }
}

#[allow(clippy::cast_precision_loss)] // figures for people
async fn measure(peer: &mut Peer, amounts: Amounts) -> io::Result<Took> {
    let mut host = peer.host().await?;
    host.shout().await?;
    let size = host.hear().await?;
    let before = peer.memory();
    let started = Instant::now();
    let lines = open(peer, 0..amounts.sockets).await?;
    let connects_per_s = amounts.sockets as f64 / started.elapsed().as_secs_f64();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let bytes_per_socket = peer.memory().saturating_sub(before) as f64 / amounts.sockets as f64;
    let (delivered_per_s, mut lines) =
        throughput(peer.kind, &mut host, lines, amounts.seconds).await?;
    lines.extend(open(peer, amounts.sockets..amounts.many).await?);
    let runs = latency(peer.kind, &mut host, lines).await?;
    let at = |part: f64| median(runs.iter().map(|took| percentile(took.iter().copied(), part)));
    let (p50_ms, p99_ms) = (at(0.5), at(0.99));
    Ok(Took { connects_per_s, bytes_per_socket, delivered_per_s, p50_ms, p99_ms, size })
}

/// Every socket is dropped at once; how long until all are back in the room, and what stays once they are gone.
#[allow(clippy::cast_precision_loss)] // figures for people
async fn returning(count: usize) -> io::Result<Vec<Figure>> {
    let mut peer = Peer::worldkeep(None).await?;
    let _host = peer.host().await?;
    let before = peer.files();
    drop(open(&peer, 0..count).await?);
    let started = Instant::now();
    let lines = open(&peer, 0..count).await?;
    let took = started.elapsed().as_secs_f64();
    let full = peer.memory();
    drop(lines);
    let mut left = peer.files().saturating_sub(before);
    for _ in 0..200 {
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        left = peer.files().saturating_sub(before);
    }
    // The memory of the first two times is reused the third time, or something leaks.
    let _lines = open(&peer, 0..count).await?;
    let again = peer.memory() as f64 / full.max(1) as f64;
    Ok(vec![
        Figure::at_most(format!("{count} sockets dropped and back"), took, "s", 30.0),
        Figure::at_most("files still open once all sockets are gone", left as f64, "", 0.0),
        Figure::at_most("memory when they come once more, of before", again, "x", 1.1),
    ])
}

/// Opens sockets, some at once.
async fn open(peer: &Peer, numbers: std::ops::Range<usize>) -> io::Result<Vec<Line>> {
    use futures_util::{StreamExt as _, TryStreamExt as _};
    let opening = futures_util::stream::iter(numbers.map(|number| peer.enter(number)));
    opening.buffer_unordered(OPENING).try_collect().await
}

/// As many broadcasts as it can take, a window of them under way at once.
#[allow(clippy::cast_precision_loss)] // figures for people
async fn throughput(
    kind: Kind,
    host: &mut peer::Host,
    lines: Vec<Line>,
    seconds: u64,
) -> io::Result<(f64, Vec<Line>)> {
    let delivered = Arc::new(AtomicU64::new(0));
    let stop = tokio_util::sync::CancellationToken::new();
    let mut listeners = JoinSet::new();
    for mut line in lines {
        let (delivered, stop) = (Arc::clone(&delivered), stop.clone());
        listeners.spawn(async move {
            let stopped = stop.cancelled_owned();
            tokio::pin!(stopped);
            loop {
                tokio::select! {
                    biased;
                    heard = line.next(|message| kind.is_broadcast(message)) => match heard {
                        Ok(true) => { delivered.fetch_add(1, Ordering::Relaxed); }
                        Ok(false) => {}
                        Err(error) => return Err(error),
                    },
                    () = &mut stopped => return Ok(line),
                }
            }
        });
    }
    for _ in 0..WINDOW {
        host.shout().await?;
    }
    let (started, from) = (Instant::now(), delivered.load(Ordering::Relaxed));
    while started.elapsed() < Duration::from_secs(seconds) {
        host.hear().await?;
        host.shout().await?;
    }
    let per_s = (delivered.load(Ordering::Relaxed) - from) as f64 / started.elapsed().as_secs_f64();
    for _ in 0..WINDOW {
        host.hear().await?;
    }
    // Whatever is still on its way is heard before the next run counts.
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.cancel();
    let mut lines = Vec::new();
    while let Some(line) = listeners.join_next().await {
        lines.push(line.map_err(io::Error::other)??);
    }
    Ok((per_s, lines))
}

/// One broadcast after the other; milliseconds from its cause to each socket, in some runs of which the median counts:
/// one moment in which the machine did something else would be the p99 of all.
#[allow(clippy::cast_precision_loss)] // figures for people
async fn latency(kind: Kind, host: &mut peer::Host, lines: Vec<Line>) -> io::Result<Vec<Vec<f64>>> {
    const RUNS: usize = 5;
    const BROADCASTS: usize = 20;
    /// New sockets are slow once, whoever serves them.
    const WARMING: usize = 3;
    let mut runs = vec![Vec::new(); RUNS];
    let mut crowd = Crowd::new(lines, 1 << 16)?;
    for round in 0..WARMING + RUNS * BROADCASTS {
        let sent = Instant::now();
        host.shout().await?;
        let all = crowd.hear(|message| kind.is_broadcast(message).then_some(0), sent)?;
        if let Some(at) = round.checked_sub(WARMING) {
            runs[at / BROADCASTS].extend(all.into_iter().map(|us| us as f64 / 1000.0));
        }
        host.hear().await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(runs)
}
