//! The same lines to the engine and to real servers, and the same bytes back. Lines come from `lines/*.txt`, their
//! arguments from a seeded generator: `SIM_SEED=42` repeats a run. `~` marks a line whose reply has no order, `!` one
//! that Valkey answers otherwise. Against Redis 7.0 every byte counts; Valkey 9 has other words for some errors, so there
//! an error counts by its code.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use engine::Engine;
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use testkit::{Program, Server, Setup, programs};

/// Lines of one group sent in a run.
const LINES: usize = 3000;

struct Peer {
    name: &'static str,
    stream: TcpStream,
    buf: Vec<u8>,
}

impl Peer {
    fn connect(name: &'static str, addr: std::net::SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).expect("the server listens");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        Peer { name, stream, buf: Vec::new() }
    }

    fn ask(&mut self, argv: &[Vec<u8>]) -> Vec<u8> {
        let mut call = format!("*{}\r\n", argv.len()).into_bytes();
        for arg in argv {
            call.extend(format!("${}\r\n", arg.len()).into_bytes());
            call.extend(arg);
            call.extend(b"\r\n");
        }
        self.stream.write_all(&call).unwrap();
        loop {
            if let Some(len) = reply_len(&self.buf) {
                return self.buf.drain(..len).collect();
            }
            let mut more = [0; 16 * 1024];
            let n = self
                .stream
                .read(&mut more)
                .unwrap_or_else(|e| panic!("{} did not answer {argv:?}: {e}", self.name));
            assert!(n > 0, "{} closed the connection after {argv:?}", self.name);
            self.buf.extend_from_slice(&more[..n]);
        }
    }
}

/// Length of the whole reply at the front, if it is there.
fn reply_len(buf: &[u8]) -> Option<usize> {
    let line = buf.windows(2).position(|two| two == b"\r\n")?;
    let number = || std::str::from_utf8(&buf[1..line]).unwrap().parse::<i64>().unwrap();
    match buf[0] {
        b'$' | b'=' => {
            let Ok(len) = usize::try_from(number()) else { return Some(line + 2) };
            (buf.len() >= line + 4 + len).then_some(line + 4 + len)
        }
        b'*' | b'~' | b'%' | b'>' => {
            let count = usize::try_from(number()).unwrap_or(0) * if buf[0] == b'%' { 2 } else { 1 };
            let mut at = line + 2;
            for _ in 0..count {
                at += reply_len(&buf[at..])?;
            }
            Some(at)
        }
        _ => Some(line + 2),
    }
}

/// Elements of a flat or paired array in a fixed order, for replies whose order is nobody's promise.
fn sorted(reply: &[u8], width: usize) -> Vec<u8> {
    let Some(line) = reply.windows(2).position(|two| two == b"\r\n") else { return reply.to_vec() };
    if !matches!(reply[0], b'*' | b'~' | b'%') {
        return reply.to_vec();
    }
    let mut items: Vec<Vec<u8>> = Vec::new();
    let mut at = line + 2;
    while at < reply.len() {
        let len = reply_len(&reply[at..]).expect("a whole reply");
        items.push(reply[at..at + len].to_vec());
        at += len;
    }
    let mut groups: Vec<Vec<u8>> = items.chunks(width).map(<[Vec<u8>]>::concat).collect();
    groups.sort();
    [&reply[..line + 2], &groups.concat()].concat()
}

/// An error by its code alone.
fn code_only(reply: &[u8]) -> Vec<u8> {
    if reply.first() != Some(&b'-') {
        return reply.to_vec();
    }
    let end = reply.iter().position(|b| *b == b' ' || *b == b'\r').unwrap_or(reply.len());
    reply[..end].to_vec()
}

fn token(kind: u8, rng: &mut StdRng) -> Vec<u8> {
    const VALUES: &[&str] = &[
        "a",
        "b",
        "",
        "10",
        "-7",
        "3.5",
        "hello world",
        "0",
        "12345678901234567890",
        "aXbXc",
        "\u{e9}t\u{e9}",
        "0.1",
        "9223372036854775807",
        "  7",
        "1e3",
    ];
    const MEMBERS: &[&str] = &["a", "b", "c", "dd", "e", "1", "2", "-3", "zz", "member with space"];
    const FLOATS: &[&str] = &[
        "1",
        "2.5",
        "-3.25",
        "0.1",
        "1e10",
        "-0",
        "3.0e3",
        "123456789.123",
        "1.7976931348623157e308",
        "inf",
        "5e-324",
        "0.30000000000000004",
    ];
    const INTS: &[&str] = &[
        "0",
        "1",
        "2",
        "-1",
        "5",
        "100",
        "-9223372036854775808",
        "9223372036854775807",
        "+5",
        "7 ",
        "0x10",
    ];
    let pick =
        |list: &[&str], rng: &mut StdRng| list[rng.random_range(0..list.len())].as_bytes().to_vec();
    match kind {
        b'k' => format!("k{}", rng.random_range(0..5)).into_bytes(),
        b'v' if rng.random_ratio(1, 40) => vec![b'x'; rng.random_range(40..200)],
        b'v' => pick(VALUES, rng),
        b'm' if rng.random_ratio(1, 60) => vec![b'm'; rng.random_range(60..80)],
        b'm' => pick(MEMBERS, rng),
        b'f' => pick(FLOATS, rng),
        b'i' => pick(INTS, rng),
        b'd' => format!("{}-{}", rng.random_range(0..200), rng.random_range(0..3)).into_bytes(),
        b'o' => rng.random_range(-6..8).to_string().into_bytes(),
        b'b' => rng.random_range(0..2).to_string().into_bytes(),
        b'p' => pick(&["*", "k*", "k[0-2]", "?1", "[^k]*", "k\\*"], rng),
        b'n' => format!("n{}", rng.random_range(0..90)).into_bytes(),
        b'x' => degrees(180.0, rng),
        b'y' => degrees(85.051_128_78, rng),
        b'r' => match rng.random_range(0..12) {
            0 => pick(FLOATS, rng),
            1 => b"0".to_vec(),
            _ => format!("{:.3}", 10f64.powf(rng.random_range(-2.0..5.0))).into_bytes(),
        },
        b'u' => pick(&["m", "km", "ft", "mi", "KM"], rng),
        other => panic!("unknown token @{}", char::from(other)),
    }
}

/// A coordinate: anywhere, in one region, on a grid where many share a place, on the edge or beyond it.
fn degrees(max: f64, rng: &mut StdRng) -> Vec<u8> {
    match rng.random_range(0..40) {
        0 => max.to_string(),
        1 => (-max).to_string(),
        2 => (max + 0.5).to_string(),
        3 => "0".to_owned(),
        4..10 => format!("{:.6}", rng.random_range(-max..max)),
        10..25 => format!("{}", 15 + rng.random_range(0..4)),
        _ => format!("{:.4}", rng.random_range(13.0..17.0)),
    }
    .into_bytes()
}

/// The arguments of a line: words by spaces, `""` for an empty one, tokens replaced.
fn fill(line: &str, rng: &mut StdRng) -> Vec<Vec<u8>> {
    line.split(' ')
        .map(|word| match word.as_bytes() {
            b"\"\"" => Vec::new(),
            [b'@', kind] => token(*kind, rng),
            [mark @ (b'(' | b'['), b'@', kind] => [vec![*mark], token(*kind, rng)].concat(),
            word => word.to_vec(),
        })
        .collect()
}

fn seed() -> u64 {
    std::env::var("SIM_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| rand::rng().next_u64() % 1_000_000)
}

fn shown(argv: &[Vec<u8>]) -> String {
    argv.iter()
        .map(|arg| format!("{:?}", String::from_utf8_lossy(arg)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Sends random lines of a group to all, and stops at the first reply that differs.
fn compare(group: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/lines/{group}.txt"));
    let text = std::fs::read_to_string(path).unwrap();
    for program in programs() {
        // Valkey went its own way with groups of streams, with what SORT accepts as a weight, and looks at the
        // arguments of bit commands before the key.
        if program == Program::Valkey && ["streams", "sort", "bits"].contains(&group) {
            continue;
        }
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter(|line| program == Program::Redis || !line.starts_with('!'))
            .collect();
        let seed = seed();
        let server: Server = Setup::new(program).start();
        let engine = Engine::memory();
        let listener = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
        for protocol in ["2", "3"] {
            let mut ours = Peer::connect("engine", listener.addr());
            let mut theirs = Peer::connect("server", server.addr());
            let hello = [b"HELLO".to_vec(), protocol.into()];
            ours.ask(&hello);
            theirs.ask(&hello);
            let mut rng = StdRng::seed_from_u64(seed);
            let mut last: Vec<String> = Vec::new();
            let mut found = std::collections::BTreeMap::new();
            let mut open = false;
            for _ in 0..LINES {
                let line = lines[rng.random_range(0..lines.len())];
                let argv = fill(line.trim_start_matches(['~', '!']), &mut rng);
                if program == Program::Valkey && valkey_differs(line, &argv, &mut open) {
                    continue;
                }
                last.push(shown(&argv));
                let (mut a, mut b) = (ours.ask(&argv), theirs.ask(&argv));
                if line.contains('~') || line.starts_with("KEYS") {
                    let width = if line.contains("HGETALL") { 2 } else { 1 };
                    (a, b) = (sorted(&a, width), sorted(&b, width));
                }
                if program == Program::Valkey {
                    (a, b) = (respelled(&code_only(&a)), respelled(&code_only(&b)));
                }
                if a == b || justified(program, &argv) {
                    continue;
                }
                let pair = format!(
                    "engine {:?}\n  server {:?}",
                    String::from_utf8_lossy(&a),
                    String::from_utf8_lossy(&b)
                );
                // Two errors leave the data alone: go on and gather more.
                let harmless = a.starts_with(b"-") && b.starts_with(b"-");
                let from = if harmless { 1 } else { 12 };
                let history = last[last.len().saturating_sub(from)..].join("\n  ");
                found.insert(line.to_owned(), format!("  {history}\n  {pair}"));
                if !harmless || found.len() > 9 {
                    break;
                }
            }
            assert!(
                found.is_empty(),
                "{group}, RESP{protocol}, {program:?}, SIM_SEED={seed}\n{}",
                found.into_values().collect::<Vec<_>>().join("\n")
            );
        }
    }
}

/// What Valkey 9 does otherwise than Redis 7.0: no hexadecimal numbers, no space after a number, and a nested `MULTI`
/// spoils the transaction.
fn valkey_differs(line: &str, argv: &[Vec<u8>], open: &mut bool) -> bool {
    let nested = line == "MULTI" && *open;
    match line {
        "MULTI" => *open = true,
        "EXEC" | "DISCARD" => *open = false,
        _ => {}
    }
    nested || argv.iter().any(|arg| arg.ends_with(b"0x10") || arg.ends_with(b"7 "))
}

/// Valkey spells doubles as short as they can be: numbers count by their value.
fn respelled(reply: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(reply);
    let line = |line: &str| {
        let (mark, rest) = line.split_at(usize::from(line.starts_with(',')));
        match rest.parse::<f64>() {
            // Zero has no sign here: the two keep it in different forms of a sorted set.
            Ok(number) => format!("{mark}{:?}", number + 0.0),
            Err(_) if line.starts_with('$') => "$".to_owned(),
            Err(_) => line.to_owned(),
        }
    };
    text.split("\r\n").map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

/// Differences that are meant, as `docs/engine.md` lists them.
fn justified(program: Program, argv: &[Vec<u8>]) -> bool {
    let is = |word: &str| argv[0].eq_ignore_ascii_case(word.as_bytes());
    // Valkey has encodings and subcommands of its own.
    program == Program::Valkey && (is("OBJECT") || is("PUBSUB"))
}

macro_rules! groups {
    ($($test:ident $file:literal),* $(,)?) => {$(
        #[test]
        fn $test() {
            compare($file);
        }
    )*};
}

groups! {
    strings_answer_as_redis_does "strings",
    keys_answer_as_redis_does "keys",
    lists_answer_as_redis_does "lists",
    hashes_answer_as_redis_does "hashes",
    sets_answer_as_redis_does "sets",
    zsets_answer_as_redis_does "zsets",
    names_in_order_answer_as_redis_does "lex",
    transactions_answer_as_redis_does "multi",
    streams_answer_as_redis_does "streams",
    bits_answer_as_redis_does "bits",
    sorting_answers_as_redis_does "sort",
    scripts_answer_as_redis_does "scripts",
    places_answer_as_redis_does "geo",
    estimates_answer_as_redis_does "hll",
}
