//! Ticks with their write: on Redis beside the bare bytes and beside Python, and on the embedded engine with its log.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::{Cmd, Store};

use super::super::own_redis::OwnRedis;
use super::super::peers::Python;
use super::super::stats::{Sleeper, median, percentile};
use super::world::{KEYS, Running, fill};
use super::{Amounts, Figure, Tell};

/// Ticks of a second each, a hundred a second: more than the store takes.
const FAST: (f64, f64) = (100.0, 100.0);

/// Ticks of which the slowest but one is a round's p99.
const ROUND: usize = 100;

pub(super) async fn run(
    amounts: Amounts,
    peers: Option<&Python>,
    tell: &mut Tell<'_>,
) -> Result<(), String> {
    match OwnRedis::start() {
        Some(server) => {
            let store =
                server.open().await.ok_or("the redis-server that was started does not answer")?;
            large(&server, &store, amounts, peers, tell).await?;
            timely(&store, amounts, tell).await?;
        }
        None => tell(Figure::plain("no redis-server on this machine: runs left out", 0.0, "")),
    }
    embedded(amounts, tell).await
}

async fn large(
    server: &OwnRedis,
    store: &Arc<dyn Store>,
    amounts: Amounts,
    peers: Option<&Python>,
    tell: &mut Tell<'_>,
) -> Result<(), String> {
    let Amounts { ships, rounds, seconds } = amounts;
    let port = server.url().rsplit(':').next().unwrap_or_default().to_owned();
    let mut world = fill(store, ships, false).await?;
    world.step(1_000_000_000);
    let bytes = packed(&world.batch(KEYS).in_order());
    tell(Figure::plain(format!("{ships} ships: one write"), size(&bytes), "bytes"));
    let (mut bare, mut ours, mut python) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        bare.push(accepts(&port, &bytes.0, bytes.1, seconds)?);
        let engine = Running::start(store, FAST.0, FAST.1).await?;
        engine.rate(0.3).await;
        ours.push(engine.rate(seconds).await);
        engine.end().await;
    }
    if let Some(peers) = peers {
        let (count, time) = (ships.to_string(), seconds.max(2.0).to_string());
        for _ in 0..rounds {
            python.push(peers.run("tick.py", &[&port, &count, &time])?.per_s);
        }
    }
    let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    let (bare, ours, ratio) = (median(bare), median(ours), median(ratios));
    tell(Figure::plain(format!("{ships} ships: Redis takes the bare bytes"), bare, "ticks/s"));
    tell(Figure::plain(format!("{ships} ships: ticks with write, Redis"), ours, "ticks/s"));
    tell(Figure::at_least("tick with write: of what Redis takes", ratio, "x", 0.8));
    if !python.is_empty() {
        let python = median(python);
        tell(Figure::plain(format!("{ships} ships: the Python way"), python, "ticks/s"));
        tell(Figure::at_least("tick with write: times the Python way", ours / python, "x", 6.0));
    }
    Ok(())
}

/// How long a tick takes at the rates that games use.
async fn timely(
    store: &Arc<dyn Store>,
    amounts: Amounts,
    tell: &mut Tell<'_>,
) -> Result<(), String> {
    fill(store, 1_000, true).await?;
    let engine = Running::start(store, 10.0, 1.0).await?;
    let sleeper = Sleeper::start();
    let mut worst = Vec::new();
    for _ in 0..amounts.rounds.max(3) {
        worst.push(percentile(engine.times(ROUND).await, 0.99));
    }
    let late = sleeper.end();
    engine.end().await;
    let name = format!("1000 ships with a rule each, 10 Hz: tick p99, rounds of {ROUND}");
    tell(Figure::at_most(name, median(worst), "ms", 20.0));
    tell(late);
    let engine = Running::start(store, 1.0, 100.0).await?;
    let times = engine.times(5).await;
    engine.end().await;
    tell(Figure::at_most("1000 ships, time scale 100, 1 Hz: tick", median(times), "ms", 300.0));
    fill(store, 10_000, false).await?;
    let engine = Running::start(store, 1.0, 1.0).await?;
    let times = engine.times(5).await;
    engine.end().await;
    tell(Figure::at_most("10000 ships, 1 Hz: tick", median(times), "ms", 400.0));
    Ok(())
}

async fn embedded(amounts: Amounts, tell: &mut Tell<'_>) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
    let place = folder.path().join("store");
    let store = link::open_address(&link::Address::Directory(place), link::Options::default())
        .await
        .map_err(|error| error.to_string())?;
    fill(&store, amounts.ships, false).await?;
    let engine = Running::start(&store, FAST.0, FAST.1).await?;
    engine.rate(0.3).await;
    let mut rates = Vec::new();
    for _ in 0..amounts.rounds {
        rates.push(engine.rate(amounts.seconds).await);
    }
    engine.end().await;
    let name = format!("{} ships: ticks with write, embedded, log everysec", amounts.ships);
    tell(Figure::at_least(name, median(rates), "ticks/s", 20.0));
    Ok(())
}

/// The bytes of `MULTI`, the commands and `EXEC`, and how many commands they are.
fn packed(cmds: &[Cmd]) -> (Vec<u8>, usize) {
    let mut bytes = b"*1\r\n$5\r\nMULTI\r\n".to_vec();
    for cmd in cmds {
        cmd.write_packed_command(&mut bytes);
    }
    bytes.extend_from_slice(b"*1\r\n$4\r\nEXEC\r\n");
    (bytes, cmds.len())
}

#[allow(clippy::cast_precision_loss)] // a figure for people
fn size((bytes, _): &(Vec<u8>, usize)) -> f64 {
    bytes.len() as f64
}

/// How often a second a server takes these bytes and answers them.
fn accepts(port: &str, bytes: &[u8], count: usize, seconds: f64) -> Result<f64, String> {
    let gone = |error: std::io::Error| format!("the redis-server is gone: {error}");
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).map_err(gone)?;
    stream.set_nodelay(true).map_err(gone)?;
    let mut reader = stream.try_clone().map_err(gone)?;
    // `+OK`, a `+QUEUED` for each, then the list of their answers: as many lines as are counted here.
    let lines = 1 + count + 1 + count;
    let (start, mut done) = (Instant::now(), 0.0);
    let mut buffer = vec![0; 1 << 16];
    while start.elapsed() < Duration::from_secs_f64(seconds) {
        std::thread::scope(|scope| {
            let write = scope.spawn(|| stream.write_all(bytes));
            let mut seen = 0;
            while seen < lines {
                let read = reader.read(&mut buffer).map_err(gone)?;
                if read == 0 {
                    return Err("the redis-server hung up".to_owned());
                }
                seen += buffer[..read].split(|byte| *byte == b'\n').count() - 1;
            }
            write.join().map_err(|_| "the writer ended".to_owned())?.map_err(gone)
        })?;
        done += 1.0;
    }
    Ok(done / start.elapsed().as_secs_f64())
}
