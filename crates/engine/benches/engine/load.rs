//! Loading a log, an empty start, and latency while the log is rewritten.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::beside::{Peer, ask, line, median, pour};

/// Seconds that `redis-server` says it took for the directory's log.
fn redis_load(dir: &Path) -> f64 {
    let started = Instant::now();
    let args = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let server = Peer::redis(&args, dir);
    while ask(server.port, &["DBSIZE"]).is_none_or(|reply| reply != ":1000000\r\n") {
        assert!(started.elapsed() < Duration::from_mins(2), "redis-server loads the log");
        std::thread::sleep(Duration::from_millis(5));
    }
    let log = std::fs::read_to_string(dir.join("redis.log")).unwrap();
    let said = log.lines().rev().find(|line| line.contains("DB loaded from append only file"));
    let text = said.expect("redis-server says how long loading took").rsplit(": ").next().unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

pub(crate) fn run() {
    let dir = tempfile::tempdir().unwrap();
    {
        let (writer, _) = Peer::engine(Some(dir.path()));
        pour(
            writer.port,
            (0..1_000_000)
                .map(|i| vec!["SET".into(), format!("key:{i:06}"), format!("value{i:05}")]),
        );
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(Peer::engine(Some(dir.path())).1.as_secs_f64());
        theirs.push(redis_load(dir.path()));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    line("log load, 1 000 000 SET", "s", ours, theirs, theirs / ours, ">= 1.0 (2)");
    let mut empty = Vec::new();
    for _ in 0..7 {
        let dir = tempfile::tempdir().unwrap();
        empty.push(Peer::engine(Some(dir.path())).1.as_secs_f64() * 1e3);
    }
    println!("{:34} {:>9.3} ms {:>24}  <= 5 ms", "empty start", median(empty), "");
}

/// The 99th percentile of single SETs in microseconds.
fn p99(peer: &Peer, calls: usize) -> f64 {
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/", peer.port)).unwrap();
    let mut connection = client.get_connection().unwrap();
    let mut took: Vec<f64> = (0..calls)
        .map(|i| {
            let started = Instant::now();
            let _: () = redis::cmd("SET")
                .arg(format!("p{}", i % 1000))
                .arg("x")
                .query(&mut connection)
                .unwrap();
            started.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[took.len() * 99 / 100]
}

pub(crate) fn rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let (peer, _) = Peer::engine(Some(dir.path()));
    pour(
        peer.port,
        (0..1_000_000).map(|i| vec!["SET".into(), format!("key:{i:06}"), format!("value{i:05}")]),
    );
    let (mut calm, mut busy) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        calm.push(p99(&peer, 5_000));
        ask(peer.port, &["BGREWRITEAOF"]);
        busy.push(p99(&peer, 5_000));
        std::thread::sleep(Duration::from_secs(2));
    }
    let (calm, busy) = (median(calm), median(busy));
    line("p99 SET, rewrite running / not", "us", busy, calm, busy / calm, "<= 5 (3)");
}
