//! What a server sends to its store when nothing happens: what the table in `docs/operating.md` says, and nothing else.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use testkit::{Lent, Program, programs};

use crate::support::serve;

/// Long enough for every loop to find out that nobody needs it.
const SETTLES: Duration = Duration::from_secs(12);
/// Long enough for every row of the table to have its turn.
const LISTENS: Duration = Duration::from_secs(11);

/// The commands of the table, such as `EXISTS bridge:jobs:waiting`, and how many are sent in ten seconds at most.
fn table() -> Vec<(String, usize)> {
    let guide = testkit::picture::workspace().join("docs/operating.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let rows = guide.split("## What an idle server sends").nth(1).expect("the guide has the table");
    let rows = rows.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| "));
    let mut told = Vec::new();
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let most = cells[3].parse().unwrap_or_else(|_| panic!("no number in {row}"));
        let commands = cells[2].split('`').skip(1).step_by(2);
        told.extend(commands.map(|command| (command.to_owned(), most)));
    }
    told
}

/// Commands of a Redis as `MONITOR` shows them: the name and the first key; what scripts call is theirs.
fn heard(addr: std::net::SocketAddr) -> BTreeMap<String, usize> {
    let mut stream = std::net::TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.write_all(b"MONITOR\r\n").unwrap();
    let (mut lines, mut seen) = (BufReader::new(stream), BTreeMap::new());
    let until = Instant::now() + LISTENS;
    let mut line = String::new();
    while Instant::now() < until {
        line.clear();
        // Nothing for a second is what we hope for.
        if lines.read_line(&mut line).is_err() || line.starts_with("+OK") || line.contains(" lua]")
        {
            continue;
        }
        let words: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let key = match words[0].to_ascii_uppercase().as_str() {
            "EVALSHA" | "EVAL" => words.get(3),
            "XREAD" | "SUBSCRIBE" | "PSUBSCRIBE" => None,
            _ => words.get(1),
        };
        let told = key.map_or_else(|| words[0].to_owned(), |key| format!("{} {key}", words[0]));
        *seen.entry(told).or_default() += 1;
    }
    seen
}

#[test]
fn an_idle_server_sends_what_the_table_says() {
    // What is sent does not depend on the program; one shows it.
    for program in programs().into_iter().filter(|program| *program == Program::Redis) {
        let redis = Lent::take(program);
        let url = redis.server().url();
        let _served = serve(&["--redis", &url, "--no-demo"]);
        std::thread::sleep(SETTLES);
        let table = table();
        let heard = heard(redis.server().addr());
        for (command, count) in &heard {
            let row = table.iter().find(|(told, _)| told == command);
            let Some((_, most)) = row else {
                panic!("{command}, {count} times, is not in the table; heard {heard:?}")
            };
            // A slow machine bunches them; twice as many is a loop that does not rest.
            assert!(
                *count <= most * 2 + 2,
                "{command} {count} times, the table says {most} in ten seconds"
            );
        }
    }
}
