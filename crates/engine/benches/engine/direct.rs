//! A direct call against one caller of the `redis` crate over loopback, both on the same core.

use std::time::Instant;

use redis::{Cmd, ConnectionLike as _, cmd};
use worldkeep_engine::Engine;

use crate::beside::{Peer, line, median, pin};

const ROUNDS: usize = 7;
const DIRECT: u32 = 100_000;
const LOOPBACK: u32 = 3_000;

const ONE: &str = "return redis.call('incr', KEYS[1])";
const FIVE: &str = "redis.call('set', KEYS[1], ARGV[1]) redis.call('get', KEYS[1]) \
    redis.call('incr', KEYS[2]) redis.call('hset', KEYS[3], 'f', ARGV[1]) return redis.call('hget', KEYS[3], 'f')";

fn script(sha: &str) -> Cmd {
    let mut call = cmd("EVALSHA");
    call.arg(sha).arg(3).arg("k1").arg("k2").arg("k3").arg("value");
    call
}

pub(crate) fn run() {
    let scratch = tempfile::tempdir().unwrap();
    let redis = Peer::redis(&[], scratch.path());
    redis.pin(0);
    pin(std::process::id(), 0);
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/", redis.port)).unwrap();
    let mut far = client.get_connection().unwrap();
    let engine = Engine::memory();
    let near = engine.connect();
    let mut load = |source: &str| -> String {
        let mut call = cmd("SCRIPT");
        call.arg("LOAD").arg(source);
        near.call(&call);
        call.query(&mut far).unwrap()
    };
    let (one, five) = (load(ONE), load(FIVE));
    let mut set = cmd("SET");
    set.arg("key").arg("value");
    let mut get = cmd("GET");
    get.arg("key");
    let mut hset = cmd("HSET");
    hset.arg("hash").arg("field").arg("value");
    let figures = [
        ("direct SET", set, ">= 40 (80)"),
        ("direct GET", get, ">= 40 (80)"),
        ("direct HSET", hset, ">= 40 (80)"),
        ("direct EVALSHA, 1 command", script(&one), ">= 15 (25)"),
        ("direct EVALSHA, 5 commands", script(&five), ">= 8 (12)"),
    ];
    for (name, call, bar) in figures {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let started = Instant::now();
            for _ in 0..DIRECT {
                std::hint::black_box(near.call(&call));
            }
            ours.push(started.elapsed().as_secs_f64() * 1e6 / f64::from(DIRECT));
            let started = Instant::now();
            for _ in 0..LOOPBACK {
                std::hint::black_box(far.req_command(&call).unwrap());
            }
            theirs.push(started.elapsed().as_secs_f64() * 1e6 / f64::from(LOOPBACK));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        line(name, "us", ours, theirs, theirs / ours, bar);
    }
    pin_anywhere();
}

fn pin_anywhere() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let all = format!("0-{}", cores - 1);
    let _ = std::process::Command::new("taskset")
        .args(["-acp", &all, &std::process::id().to_string()])
        .stdout(std::process::Stdio::null())
        .status();
}
