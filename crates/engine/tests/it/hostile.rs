//! Input from somebody who means harm: each target of `engine::fuzzing` for some seconds on random and spoiled inputs, in
//! a process of its own whose memory is measured; and the limits of the protocol through the TCP door.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Engine, ManualClock, Options, fuzzing};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use testkit::wait_until;

const TASK: &str = "WORLDKEEP_HOSTILE_TASK";
const MEMORY_MAX_KIB: u64 = 64 << 10;

/// What is attacked, and inputs to begin with.
type Target = (fn(&[u8]), Vec<Vec<u8>>);

fn target(name: &str) -> Target {
    let texts = |all: &[&str]| all.iter().map(|text| text.as_bytes().to_vec()).collect();
    match name {
        "resp" => (
            fuzzing::resp,
            texts(&[
                "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n",
                "*-1\r\n*2147483647\r\n$-1\r\n",
                "SET \"a b\\x00\" 'c'\r\n",
                "*1\r\n$536870912\r\nx",
            ]),
        ),
        "commands" => (fuzzing::commands, Vec::new()),
        "lua" => (
            fuzzing::lua,
            texts(&[
                "\u{0}{\"a\":[1,2,{\"b\":null}],\"c\":\"\\u00e9\",\"d\":1e400}",
                "\u{1}[[[[[[[[[[1]]]]]]]]]]",
                "\u{2}\u{0}",
                "\u{4}>i4s8|abcdefghijkl",
                "\u{5}<bBhHlLi8s|17",
                "\u{6}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|(a*)*b",
                "\u{7}%w+|hello world",
                "\u{8}%5.3f %s|1.5",
                "\u{9}set|x",
                "\u{40}local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(i) end",
                "\u{40}while true do pcall(error) end",
                "\u{40}return setmetatable(_G, {__index = redis})",
            ]),
        ),
        "log" => (
            fuzzing::log,
            texts(&[
                "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n",
                "#WK len=0 crc=00000000\r\n",
                "*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nEXEC\r\n#TS:1\r\n",
                "*2000000000\r\n$2000000000\r\n",
            ]),
        ),
        other => panic!("no target {other}"),
    }
}

/// A line of a known command with words that mean something to it.
fn line(names: &[&str], rng: &mut StdRng) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "k",
        "l",
        "h",
        "s",
        "z",
        "x",
        "0",
        "1",
        "-1",
        "2",
        "3.5",
        "nan",
        "inf",
        "-inf",
        "+",
        "-",
        "*",
        "$",
        ">",
        "(1",
        "[a",
        "9223372036854775807",
        "-9223372036854775808",
        "4294967296",
        "536870911",
        "1e308",
        "''",
        "LIMIT",
        "COUNT",
        "MATCH",
        "WITHSCORES",
        "EX",
        "PX",
        "NX",
        "XX",
        "GET",
        "KEEPTTL",
        "BY",
        "STORE",
        "WEIGHTS",
        "AGGREGATE",
        "MAX",
        "LEFT",
        "RIGHT",
        "BEFORE",
        "STREAMS",
        "GROUP",
        "g",
        "CREATE",
        "MKSTREAM",
        "MAXLEN",
        "~",
        "=",
        "FORCE",
        "JUSTID",
        "IDLE",
        "u8",
        "i63",
        "OVERFLOW",
        "SAT",
        "\"\\x00\\xff\"",
        "a*[b-",
        "ASYNC",
        "REV",
        "BYLEX",
        "BYSCORE",
        "ANY",
        "WITHVALUES",
        "REPLACE",
        "return redis.call(ARGV[1],KEYS[1])",
        "0-0",
        "5-*",
        "5-1",
    ];
    let mut text = names[rng.random_range(0..names.len())].replace('|', " ");
    for _ in 0..rng.random_range(0..8) {
        let word = WORDS[rng.random_range(0..WORDS.len())];
        let quote = if word.contains(' ') { "'" } else { "" };
        text.extend([" ", quote, word, quote]);
    }
    text.into_bytes()
}

fn make(name: &str, seeds: &[Vec<u8>], names: &[&str], rng: &mut StdRng) -> Vec<u8> {
    let mut data = match rng.random_range(0..10) {
        0 => (0..rng.random_range(0..300)).map(|_| rng.random()).collect(),
        1 => vec![rng.random(); rng.random_range(0..200_000)],
        _ if name == "commands" => {
            let lines: Vec<Vec<u8>> = (0..20).map(|_| line(names, rng)).collect();
            lines.join(&b'\n')
        }
        _ => {
            let picks = rng.random_range(1..4);
            (0..picks).flat_map(|_| seeds[rng.random_range(0..seeds.len())].clone()).collect()
        }
    };
    for _ in 0..rng.random_range(0..4) {
        let at = rng.random_range(0..=data.len());
        match rng.random_range(0..4) {
            0 if at < data.len() => data[at] = rng.random(),
            1 => {
                let more: Vec<u8> = (0..rng.random_range(1..20)).map(|_| rng.random()).collect();
                drop(data.splice(at..at, more));
            }
            2 => data.truncate(at),
            _ => drop(data.splice(at..at, data.clone())),
        }
    }
    data
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The process that is measured: runs a target and prints one line.
fn attack(name: &str, seed: u64, time: Duration) {
    let (run, seeds) = target(name);
    let names = fuzzing::commands_known();
    let mut rng = StdRng::seed_from_u64(seed);
    run(b"");
    let before = peak_kib();
    let (started, mut count, mut slowest) = (Instant::now(), 0u64, Duration::ZERO);
    while started.elapsed() < time {
        let data = make(name, &seeds, &names, &mut rng);
        let timed = |data: &[u8]| {
            let begun = Instant::now();
            run(data);
            begun.elapsed()
        };
        let mut took = timed(&data);
        if took > Duration::from_secs(1) {
            // Perhaps the machine was busy; a real hang comes again.
            took = took.min(timed(&data));
        }
        assert!(
            took < Duration::from_secs(1),
            "{name} took {took:?} for {:?}",
            String::from_utf8_lossy(&data[..data.len().min(2000)])
        );
        slowest = slowest.max(took);
        let grown = peak_kib() - before;
        assert!(
            grown < MEMORY_MAX_KIB,
            "{name} took {grown} KiB, the last input {:?}",
            String::from_utf8_lossy(&data[..data.len().min(2000)])
        );
        count += 1;
    }
    let grown = peak_kib() - before;
    println!(
        "PASS hostile {name}: seed {seed}, {count} inputs, slowest {slowest:?}, {grown} KiB more"
    );
}

fn survives(name: &str) {
    let seed = std::env::var("SIM_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(42);
    let seconds = if crate::common::long() { 60 } else { 3 };
    let test = format!("hostile::{name}_survives_hostile_input");
    if std::env::var(TASK).is_ok() {
        return attack(name, seed, Duration::from_secs(seconds));
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&test, "--exact", "--nocapture"])
        .env(TASK, name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find_map(|line| line.find("PASS").map(|at| &line[at..]));
    println!("{}", line.expect("the process tells its figures"));
}

#[test]
fn resp_survives_hostile_input() {
    survives("resp");
}

#[test]
fn commands_survives_hostile_input() {
    survives("commands");
}

#[test]
fn lua_survives_hostile_input() {
    survives("lua");
}

#[test]
fn log_survives_hostile_input() {
    survives("log");
}

struct Door {
    engine: Engine,
    listener: engine::Listener,
}

impl Door {
    fn open() -> Self {
        let engine = Engine::memory();
        let listener = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
        Door { engine, listener }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.listener.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes; everything that comes until the door closes.
    fn last_words(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut reply = Vec::new();
        // A reset after the reply is an end too.
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }
}

fn read(stream: &mut TcpStream, len: usize) -> Vec<u8> {
    let mut reply = vec![0; len];
    stream.read_exact(&mut reply).unwrap();
    reply
}

#[test]
fn what_breaks_the_protocol_is_told_and_closed() {
    let door = Door::open();
    for (bytes, reply) in [
        ("*2147483648\r\n", "invalid multibulk length"),
        ("*abc\r\n", "invalid multibulk length"),
        ("*1\r\n$-2\r\n", "invalid bulk length"),
        ("*1\r\n$536870913\r\n", "invalid bulk length"),
        ("*1\r\n:5\r\n", "expected '$', got ':'"),
        ("SET \"a\r\n", "unbalanced quotes in request"),
    ] {
        assert_eq!(door.last_words(bytes.as_bytes()), format!("-ERR Protocol error: {reply}\r\n"));
    }
    let long = "x".repeat(70_000);
    assert_eq!(door.last_words(long.as_bytes()), "-ERR Protocol error: too big inline request\r\n");
    // Nothing and less than nothing are no calls, and do no harm.
    let mut stream = door.connect();
    stream.write_all(b"*0\r\n*-5\r\n\r\n\r\nPING\r\n").unwrap();
    assert_eq!(read(&mut stream, 7), b"+PONG\r\n");
}

#[test]
fn announced_lengths_that_never_come_cost_nothing() {
    let door = Door::open();
    let before = peak_kib();
    let streams: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = door.connect();
            stream.write_all(b"*1000000\r\n$3\r\nSET\r\n$536870912\r\nabc").unwrap();
            stream
        })
        .collect();
    let mut other = door.connect();
    other.write_all(b"PING\r\n").unwrap();
    assert_eq!(read(&mut other, 7), b"+PONG\r\n", "others are served");
    let connection = door.engine.connect();
    let clients = || {
        let list = connection.call(redis::cmd("CLIENT").arg("LIST")).unwrap();
        redis::from_redis_value::<String>(list).unwrap().lines().count()
    };
    testkit::wait_until("all clients are connected", || clients() >= 100);
    // Other tests may run in this process, so the bound is generous: 100 × 512 MiB were announced.
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 256 << 10, "{grown} KiB");
    drop(streams);
}

#[test]
fn a_call_in_single_bytes_and_a_large_key_work() {
    let door = Door::open();
    let mut stream = door.connect();
    stream.set_nodelay(true).unwrap();
    for byte in b"*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(read(&mut stream, 11), b"$5\r\nhello\r\n");
    let key = vec![b'k'; 10 << 20];
    for (command, rest, reply) in [
        ("*3\r\n$3\r\nSET\r\n", "$1\r\nv\r\n", "+OK\r\n"),
        ("*2\r\n$3\r\nGET\r\n", "", "$1\r\nv\r\n"),
        ("*2\r\n$3\r\nDEL\r\n", "", ":1\r\n"),
    ] {
        let mut call = command.as_bytes().to_vec();
        call.extend(format!("${}\r\n", key.len()).as_bytes());
        call.extend(&key);
        call.extend(b"\r\n");
        call.extend(rest.as_bytes());
        stream.write_all(&call).unwrap();
        assert_eq!(read(&mut stream, reply.len()), reply.as_bytes());
    }
}

#[test]
fn a_call_of_very_many_arguments_stalls_nobody() {
    // Looked at anew with each packet, this call would cost the others seconds.
    const COUNT: usize = 300_000;
    let door = Door::open();
    let mut call = format!("*{}\r\n$4\r\nMSET\r\n", COUNT * 2 + 1).into_bytes();
    for n in 0..COUNT {
        call.extend(format!("$7\r\nk{n:06}\r\n$1\r\nv\r\n").as_bytes());
    }
    let mut stream = door.connect();
    let mut other = door.connect();
    for packet in call.chunks(8 << 10) {
        stream.write_all(packet).unwrap();
        other.write_all(b"PING\r\n").unwrap();
        assert_eq!(read(&mut other, 7), b"+PONG\r\n");
    }
    assert_eq!(read(&mut stream, 5), b"+OK\r\n");
}

#[test]
fn before_login_little_can_be_said() {
    let door = Door::open();
    let set = redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("secret").to_owned();
    assert!(door.engine.connect().call(&set).is_some());
    assert_eq!(
        door.last_words(b"*11\r\n"),
        "-ERR Protocol error: unauthenticated multibulk length\r\n"
    );
    assert_eq!(
        door.last_words(b"*2\r\n$4\r\nAUTH\r\n$16385\r\n"),
        "-ERR Protocol error: unauthenticated bulk length\r\n"
    );
    let mut stream = door.connect();
    stream.write_all(b"GET a\r\nAUTH secret\r\nGET a\r\n").unwrap();
    let expected = b"-NOAUTH Authentication required.\r\n+OK\r\n$-1\r\n";
    assert_eq!(read(&mut stream, expected.len()), expected);
}

#[test]
fn an_http_request_is_closed_and_its_body_is_not_run() {
    // A page in a browser can have such a request sent to any port of the reader's machine.
    let door = Door::open();
    let body = "SET wk:tokens mine\r\n";
    for request in [
        format!("POST / HTTP/1.1\r\nHost: localhost:6380\r\n\r\n{body}"),
        format!("post / HTTP/1.1\r\n{body}"),
        format!("GET / HTTP/1.1\r\nHost: localhost:6380\r\n\r\n{body}"),
        format!("PING\r\nhOsT: localhost\r\n{body}"),
        format!("*1\r\n$4\r\nPOST\r\n{body}"),
        format!("MULTI\r\nPOST / HTTP/1.1\r\n{body}EXEC\r\n"),
    ] {
        assert_eq!(door.last_words(request.as_bytes()), "", "{request}");
    }
    let exists = door.engine.connect().call(redis::cmd("EXISTS").arg("wk:tokens"));
    assert_eq!(exists, Some(redis::Value::Int(0)));
}

#[test]
fn an_http_request_is_closed_while_a_script_is_busy_too() {
    let door = Door::open();
    let set = |name: &str, value: u32| {
        door.engine.connect().call(redis::cmd("CONFIG").arg("SET").arg(name).arg(value))
    };
    assert!(set("busy-reply-threshold", 10).is_some());
    let mut slow = door.connect();
    slow.write_all(b"EVAL 'while true do end' 0\r\n").unwrap();
    let mut killer = door.connect();
    let mut ask = |line: &str| {
        killer.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let mut answer = read(&mut killer, 1);
        while !answer.ends_with(b"\n") {
            answer.extend(read(&mut killer, 1));
        }
        String::from_utf8(answer).unwrap()
    };
    wait_until("the script is busy", || ask("PING").starts_with("-BUSY "));
    let request = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET wk:tokens mine\r\n";
    assert_eq!(door.last_words(request), "");
    assert_eq!(ask("SCRIPT KILL"), "+OK\r\n");
    wait_until("the script has ended", || !ask("PING").starts_with("-BUSY "));
    assert_eq!(ask("EXISTS wk:tokens"), ":0\r\n");
}

#[test]
fn more_than_the_query_buffer_may_hold_closes_the_connection() {
    let door = Door::open();
    let connection = door.engine.connect();
    let set = |value: &str| {
        connection.call(redis::cmd("CONFIG").arg("SET").arg("client-query-buffer-limit").arg(value))
    };
    assert_eq!(set("1mb"), Some(redis::Value::Okay));
    let call = |len: usize| {
        let mut call = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${len}\r\n").into_bytes();
        call.resize(call.len() + len, b'x');
        call.extend_from_slice(b"\r\n");
        call
    };
    let mut stream = door.connect();
    // The end comes while it is still sending.
    let _ = stream.write_all(&call(20 << 20));
    assert_eq!(stream.read(&mut [0; 64]).unwrap_or(0), 0, "it is closed");
    assert_eq!(connection.call(redis::cmd("EXISTS").arg("k")), Some(redis::Value::Int(0)));
    // Calls that are smaller than the limit may be many.
    let mut stream = door.connect();
    let mut replies = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| stream.write_all(&call(500_000).repeat(20)).unwrap());
        assert_eq!(read(&mut replies, 100), b"+OK\r\n".repeat(20));
    });
    assert_eq!(set("64mb"), Some(redis::Value::Okay));
    stream.write_all(&call(20 << 20)).unwrap();
    assert_eq!(read(&mut stream, 5), b"+OK\r\n");
}

#[test]
fn failed_logins_are_held_back_longer_each_time_and_hold_up_nobody_else() {
    let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
    let options = Options { clock: clock.clone(), ..Options::default() };
    let (engine, _) = Engine::open(options).unwrap();
    let listener = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
    let door = Door { engine, listener };
    let owner = door.engine.as_owner().connect();
    assert_eq!(
        owner.call(redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("secret")),
        Some(redis::Value::Okay)
    );
    let blocked = |count: usize| {
        let wanted = format!("blocked_clients:{count}\r\n");
        wait_until(&wanted, || {
            let info = owner.call(redis::cmd("INFO").arg("clients")).unwrap();
            redis::from_redis_value::<String>(info).unwrap().contains(&wanted)
        });
    };
    let mut known = door.connect();
    known.write_all(b"AUTH secret\r\n").unwrap();
    assert_eq!(read(&mut known, 5), b"+OK\r\n");
    let wrong = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    let mut guesser = door.connect();
    guesser.write_all(&b"AUTH guess\r\n".repeat(12)).unwrap();
    assert_eq!(read(&mut guesser, wrong.len() * 10), wrong.repeat(10));
    blocked(1);
    // Whoever is logged in goes on, from the same address too.
    known.write_all(b"PING\r\n").unwrap();
    assert_eq!(read(&mut known, 7), b"+PONG\r\n");
    // A transaction is no way around it.
    known.write_all(b"MULTI\r\nAUTH guess\r\nEXEC\r\n").unwrap();
    let refused = b"+OK\r\n+QUEUED\r\n*1\r\n-ERR too many failed logins from this address; \
        log in outside of a transaction\r\n";
    let refused: Vec<u8> = refused.to_vec();
    assert_eq!(
        String::from_utf8(read(&mut known, refused.len())).unwrap(),
        String::from_utf8(refused).unwrap()
    );
    // A second connection is held back with the first, and looked at when its time has come.
    let mut late = door.connect();
    late.write_all(b"HELLO 3 AUTH default secret\r\n").unwrap();
    blocked(2);
    for wait_ms in [100, 200] {
        clock.advance_ms(wait_ms);
        door.engine.tick();
        assert_eq!(read(&mut guesser, wrong.len()), wrong);
    }
    assert_eq!(read(&mut late, 4), b"%7\r\n");
    blocked(0);
}
