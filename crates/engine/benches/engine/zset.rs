//! A sorted set of a million members, as each server times its own commands.

use crate::beside::{Peer, ask, line, pour};

const MEMBERS: u64 = 1_000_000;
const CALLS: u64 = 100_000;

/// Microseconds per call of a command, as `INFO commandstats` has it.
fn per_call(port: u16, command: &str) -> f64 {
    let text = ask(port, &["INFO", "commandstats"]).unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:"))).unwrap();
    let field = line.split(',').find_map(|part| part.strip_prefix("usec_per_call=")).unwrap();
    field.parse().unwrap()
}

/// A fixed sequence that looks random.
fn mixed(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn fill(port: u16) {
    let add = |i: u64| {
        vec!["ZADD".into(), "z".into(), (mixed(i) % 1_000_000).to_string(), format!("member:{i}")]
    };
    pour(port, (0..MEMBERS).map(add));
    ask(port, &["CONFIG", "RESETSTAT"]);
    pour(port, (MEMBERS..MEMBERS + CALLS).map(add));
    let rank = |i: u64| vec!["ZRANK".into(), "z".into(), format!("member:{}", mixed(i) % MEMBERS)];
    pour(port, (0..CALLS).map(rank));
    // Counted, not shown: the reply must be one line for `pour`.
    let count = |i: u64| {
        let at = (mixed(i) % 1_000_000).to_string();
        vec!["ZCOUNT".into(), "z".into(), at, "+inf".into()]
    };
    pour(port, (0..CALLS).map(count));
    for i in 0..2000 {
        let at = (mixed(i) % MEMBERS).to_string();
        let to = (mixed(i) % MEMBERS + 9).to_string();
        ask(port, &["ZRANGE", "z", &at, &to]);
    }
}

pub(crate) fn run() {
    let scratch = tempfile::tempdir().unwrap();
    let (ours, _) = Peer::engine(None);
    let theirs = Peer::redis(&[], scratch.path());
    fill(ours.port);
    fill(theirs.port);
    for (name, command) in
        [("ZADD", "zadd"), ("ZRANK", "zrank"), ("ZCOUNT", "zcount"), ("ZRANGE 10", "zrange")]
    {
        let (a, b) = (per_call(ours.port, command), per_call(theirs.port, command));
        line(&format!("zset of 1 M, {name}"), "us", a, b, a / b, "<= 1.0");
    }
}
