//! Memory comes back: after each attack the process is as small as before, within 64 MB. `make torture` attacks longer.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{Served, serve};

/// What may be left: the issue's own figure.
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

/// Attacks, then waits until the memory is back.
fn survives(name: &str, attack: impl Fn(SocketAddr)) -> String {
    let served = serve(&["--no-demo"]);
    // Everything that is made once is made.
    for _ in 0..3 {
        assert_eq!(served.get("/metrics").0, 200);
    }
    let before = resident(&served);
    attack(served.addr);
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
        let silent: Vec<TcpStream> = (0..times(20))
            .map(|_| {
                let mut stream = connect(addr);
                let _ = stream.write_all(page.as_bytes());
                stream
            })
            .collect();
        drop(silent);
    });
}
