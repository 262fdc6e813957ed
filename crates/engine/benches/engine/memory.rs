//! Resident memory of the same data in both servers.

use crate::beside::{Peer, line, pour};

pub(crate) fn run() {
    let keys = || {
        (0..1_000_000).map(|i| vec!["SET".into(), format!("key:{i:06}"), format!("value{i:05}")])
    };
    compare("memory, 1 000 000 small keys", 1e6, keys, "<= 0.9 (0.75)");
    let hashes = || {
        (0..100_000).map(|i| {
            let mut call = vec!["HSET".to_owned(), format!("hash:{i:06}")];
            for field in 0..20 {
                call.push(format!("field{field:03}"));
                call.push(format!("value{field:05}"));
            }
            call
        })
    };
    compare("memory, 100 000 hashes of 20", 1e5, hashes, "<= 1.15");
}

fn compare<I>(name: &str, count: f64, calls: impl Fn() -> I, bar: &str)
where
    I: Iterator<Item = Vec<String>>,
{
    let scratch = tempfile::tempdir().unwrap();
    let (ours, _) = Peer::engine(None);
    let theirs = Peer::redis(&[], scratch.path());
    let grown = |peer: &Peer| {
        let before = peer.resident();
        pour(peer.port, calls());
        (peer.resident() - before) as f64 / count
    };
    let (a, b) = (grown(&ours), grown(&theirs));
    line(name, "B", a, b, a / b, bar);
}
