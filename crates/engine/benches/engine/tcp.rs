//! The TCP door under `redis-benchmark`, 50 clients, with and without pipelining. Equal durability: both keep a log and
//! sync it every second.

use std::process::Command;

use crate::beside::{Peer, ask, line, median};

const ROUNDS: usize = 7;

/// Requests per second and server CPU in microseconds per request.
fn measure(peer: &Peer, pipeline: &str, requests: u32, test: &[&str]) -> (f64, f64) {
    let before = peer.cpu();
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &peer.port.to_string(), "-c", "50", "-q", "--csv", "-P", pipeline]);
    command.args(["-n", &requests.to_string(), "-r", "100000"]).args(test);
    let out = command.output().expect("redis-benchmark is installed");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let row = text.lines().last().unwrap_or_default();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let rate = row.split(',').nth(1).unwrap_or("0").trim_matches('"').parse().unwrap_or(0.0);
    let cpu = peer.cpu().saturating_sub(before).as_secs_f64() * 1e6 / f64::from(requests);
    (rate, cpu)
}

pub(crate) fn run() {
    let (ours_dir, theirs_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (ours, _) = Peer::engine(Some(ours_dir.path()));
    let theirs = Peer::redis(&["--appendonly", "yes"], theirs_dir.path());
    let script = "return redis.call('incr', KEYS[1])";
    for peer in [&ours, &theirs] {
        ask(peer.port, &["SCRIPT", "LOAD", script]);
    }
    let reply = ask(theirs.port, &["SCRIPT", "LOAD", script]).unwrap_or_default();
    let sha = reply.lines().nth(1).unwrap_or_default().to_owned();
    let evalsha = ["EVALSHA", &sha, "1", "counter:__rand_int__"];
    let tests: [(&str, Vec<&str>); 6] = [
        ("SET", vec!["-t", "set"]),
        ("GET", vec!["-t", "get"]),
        ("HSET", vec!["-t", "hset"]),
        ("LPUSH", vec!["-t", "lpush"]),
        ("ZADD", vec!["-t", "zadd"]),
        ("EVALSHA", evalsha.to_vec()),
    ];
    for (pipeline, requests) in [("16", 400_000), ("1", 60_000)] {
        for (name, test) in &tests {
            let (mut a, mut b, mut cpu_a, mut cpu_b) = (vec![], vec![], vec![], vec![]);
            for _ in 0..ROUNDS {
                let (rate, cpu) = measure(&ours, pipeline, requests, test);
                a.push(rate / 1000.0);
                cpu_a.push(cpu);
                let (rate, cpu) = measure(&theirs, pipeline, requests, test);
                b.push(rate / 1000.0);
                cpu_b.push(cpu);
            }
            let (a, b, cpu_a, cpu_b) = (median(a), median(b), median(cpu_a), median(cpu_b));
            let bar = match (pipeline, *name) {
                ("16", "EVALSHA") => ">= 0.8 (1.0)",
                ("16", _) => ">= 1.0 (1.3)",
                _ => ">= 0.8 (1.0)",
            };
            line(&format!("tcp {name}, pipeline {pipeline}"), "k", a, b, a / b, bar);
            if pipeline == "1" {
                line(&format!("  cpu per {name}"), "us", cpu_a, cpu_b, cpu_a / cpu_b, "<= 1.1");
            }
        }
    }
}
