//! Memory comes back: after each attack the process is as small as before, within 64 MB. `make torture` attacks longer.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::running::{read, resp_of};
use crate::support::{Served, serve};

/// What may be left of an attack.
const LEFT: u64 = 64 << 20;
/// How long memory may take to come back.
const PATIENCE: Duration = Duration::from_secs(30);

fn times(short: usize) -> usize {
    if std::env::var_os("WORLDKEEP_TORTURE").is_some() { short * 20 } else { short }
}

/// Resident memory of the process, in bytes.
fn resident(served: &Served) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Attacks, then waits until the memory is back. What the attack holds on to is held until then.
fn survives<T>(name: &str, attack: impl Fn(SocketAddr) -> T) -> String {
    survives_as(name, &["--no-demo"], |served| attack(served.addr))
}

fn survives_as<T>(name: &str, args: &[&str], attack: impl Fn(&Served) -> T) -> String {
    let served = serve(args);
    // Everything that is made once is made.
    for _ in 0..3 {
        assert_eq!(served.get("/metrics").0, 200);
    }
    let before = resident(&served);
    let held = attack(&served);
    let began = Instant::now();
    loop {
        let now = resident(&served);
        if now <= before + LEFT {
            println!("{name}: {} MB before, {} MB after", before >> 20, now >> 20);
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{name}: {} MB before, {} MB after",
            before >> 20,
            now >> 20
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(held);
    assert_eq!(served.get("/healthz").0, 200);
    let metrics = served.get("/metrics").1;
    assert!(metrics.len() < 256 << 10, "{name}: /metrics has grown");
    metrics
}

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends a request and reads its answer to the end.
fn say(addr: SocketAddr, head: &str, body: &[u8]) {
    let mut stream = connect(addr);
    let length = body.len();
    let head = format!(
        "{head} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    // A server that refuses early closes early.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn made_up_methods_leave_nothing() {
    let metrics = survives("made-up methods", |addr| {
        let most = times(4_000);
        for batch in 0..most / 200 {
            let mut stream = connect(addr);
            let mut all = String::new();
            for n in 0..200 {
                let request =
                    format!("MADEUP{batch}X{n} /healthz HTTP/1.1\r\nHost: {addr}\r\n\r\n");
                all.push_str(&request);
            }
            stream.write_all(all.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    assert!(metrics.contains("method=\"other\"") && !metrics.contains("MADEUP"), "{metrics}");
}

#[test]
fn wrong_logins_leave_nothing() {
    survives("wrong logins", |addr| {
        let body = br#"{"username":"nobody","password":"not the right one"}"#;
        std::thread::scope(|scope| {
            for _ in 0..times(16) {
                scope.spawn(|| say(addr, "POST /api/auth/login", body));
            }
        });
    });
}

#[test]
fn big_bodies_leave_nothing() {
    survives("big bodies", |addr| {
        let body = vec![b' '; 1 << 20];
        for _ in 0..times(64) / 8 {
            std::thread::scope(|scope| {
                for path in ["POST /api/jobs", "POST /api/rooms"].into_iter().cycle().take(8) {
                    scope.spawn(|| say(addr, path, &body));
                }
            });
        }
    });
}

#[test]
fn clients_that_never_read_leave_nothing() {
    survives("clients that never read", |addr| {
        let page = format!("GET /openapi.json HTTP/1.1\r\nHost: {addr}\r\n\r\n").repeat(200);
        let silent = || {
            let mut stream = connect(addr);
            let _ = stream.write_all(page.as_bytes());
            stream
        };
        (0..times(40)).map(|_| silent()).collect::<Vec<TcpStream>>()
    });
}

#[test]
fn a_script_that_takes_all_memory_leaves_nothing() {
    // It stalled everybody for 41 s, and what it had taken was kept.
    let args = ["--no-demo", "--resp", "127.0.0.1:0"];
    survives_as("memory bomb", &args, |served| {
        for _ in 0..times(1) {
            let mut resp = resp_of(&served.lines);
            let bomb = "EVAL \"local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 1e6) .. i end\" 0\r\n";
            resp.write_all(bomb.as_bytes()).unwrap();
            let error = read(&mut resp);
            assert!(error.starts_with('-') && error.contains("scripts may take"), "{error}");
        }
    });
}
