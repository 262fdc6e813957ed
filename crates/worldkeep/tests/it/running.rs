//! Starting and stopping.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use crate::support::{serve, serve_in};

#[test]
fn first_page_comes_without_a_flag_and_a_signal_ends_it_with_zero() {
    let mut served = serve(&[]);
    let (status, page) = served.get("/");
    assert_eq!(status, 200);
    assert!(page.to_lowercase().contains("<!doctype html>"));
    testkit::timed("first page", served.started.elapsed(), Duration::from_secs(5));
    let has = |word: &str| served.lines.iter().any(|line| line.starts_with(word));
    assert!(has("Store") && has("Dashboard") && has("API") && has("Stop"), "{:?}", served.lines);
    assert_eq!(served.get("/readyz").0, 200);
    assert_eq!(served.get("/api/overview").0, 200);
    served.signal("TERM");
    let (code, _, log) = served.ended(testkit::PATIENCE);
    assert_eq!(code, 0, "{log}");
    for line in log.lines() {
        let entry: serde_json::Value =
            serde_json::from_str(line).expect("off a terminal logs are JSON");
        assert!(entry["level"].is_string());
    }
}

#[test]
fn second_signal_ends_it_at_once() {
    let mut served = serve(&[]);
    // A request that never ends keeps the first signal waiting.
    let mut stuck = std::net::TcpStream::connect(served.addr).unwrap();
    let head = format!(
        "POST /api/tokens HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{",
        served.addr
    );
    stuck.write_all(head.as_bytes()).unwrap();
    assert_eq!(served.get("/healthz").0, 200);
    served.signal("INT");
    // Not listening any more is the sign that the first one was heard.
    testkit::wait_until("nobody listens any more", || {
        std::net::TcpStream::connect(served.addr).is_err()
    });
    assert!(served.child.try_wait().unwrap().is_none(), "it waits for the request");
    served.signal("INT");
    let (code, _, _) = served.ended(testkit::PATIENCE);
    assert_eq!(code, 130, "the request is not waited for");
}

#[test]
fn data_directory_keeps_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let args = ["--data", &data, "--resp", "127.0.0.1:0"];
    let mut served = serve_in(dir, &args);
    let place = served.lines.iter().find(|line| line.starts_with("Store")).unwrap();
    assert!(place.contains(&data), "the directory is told: {place}");
    let mut resp = resp_of(&served.lines);
    resp.write_all(b"SET kept yes\r\n").unwrap();
    assert_eq!(read(&mut resp), "+OK\r\n");
    served.signal("TERM");
    assert_eq!(served.ended(Duration::from_secs(10)).0, 0);
    let dir = std::mem::replace(&mut served.dir, tempfile::tempdir().unwrap());
    let served = serve_in(dir, &args);
    let mut resp = resp_of(&served.lines);
    resp.write_all(b"GET kept\r\n").unwrap();
    assert_eq!(read(&mut resp), "$3\r\nyes\r\n");
}

#[test]
fn engine_alone_speaks_resp_and_no_http() {
    let mut served = serve_alone();
    assert!(!served.lines.iter().any(|line| line.starts_with("Dashboard")), "{:?}", served.lines);
    let mut resp = resp_of(&served.lines);
    resp.write_all(b"PING\r\n").unwrap();
    assert_eq!(read(&mut resp), "+PONG\r\n");
    served.signal("TERM");
    assert_eq!(served.ended(Duration::from_secs(10)).0, 0);
}

/// Pages of the program's file are left out: they are shared, given back when needed, and grow with a debug build.
#[test]
fn idle_server_stays_small() {
    let served = serve(&[]);
    assert_eq!(served.get("/").0, 200);
    let health: serde_json::Value = serde_json::from_str(&served.get("/api/health").1).unwrap();
    assert!(health["resident_bytes"].as_u64().unwrap_or(0) > 0, "{health}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes: u64 = own.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kilobytes < 24 * 1024, "{kilobytes} kB of its own");
}

fn serve_alone() -> crate::support::Served {
    // No --http here: that is what makes it the engine alone.
    crate::support::serve_raw(&[
        "serve",
        "--modules",
        "none",
        "--resp",
        "127.0.0.1:0",
        "--data",
        "memory",
    ])
}

pub(crate) fn resp_of(lines: &[String]) -> std::net::TcpStream {
    let line = lines.iter().find(|line| line.starts_with("RESP")).unwrap();
    let stream = std::net::TcpStream::connect(line.split("redis://").nth(1).unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

pub(crate) fn read(stream: &mut std::net::TcpStream) -> String {
    let mut buffer = [0; 256];
    let len = stream.read(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..len]).into_owned()
}

#[test]
fn no_secret_is_logged_at_any_level() {
    let token = format!("wk_{}", "s3cr3t".repeat(8));
    let mut served = serve(&["--log", "trace"]);
    let mut stream = std::net::TcpStream::connect(served.addr).unwrap();
    let head = format!(
        "GET /ws/events?ticket={token} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nCookie: wk_session={token}\r\nX-Request-Id: a\u{7f}b\r\nConnection: close\r\n\r\n",
        served.addr
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let body = format!("{{\"token\":\"{token}\"}}");
    let post = format!(
        "POST /api/session HTTP/1.1\r\nHost: {0}\r\nContent-Type: application/json\r\nContent-Length: {1}\r\nConnection: close\r\n\r\n{body}",
        served.addr,
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(served.addr).unwrap();
    stream.write_all(post.as_bytes()).unwrap();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.contains("s3cr3t"), "{answer}");
    served.signal("TERM");
    let (code, _, log) = served.ended(Duration::from_secs(10));
    assert_eq!(code, 0);
    assert!(log.contains("/api/session"), "requests are logged at this level");
    assert!(!log.contains("s3cr3t"), "a secret is in the log");
}

#[test]
fn systemd_is_told_when_it_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut child = crate::support::command(
        &dir,
        &["serve", "--data", "memory", "--http", "127.0.0.1:0", "--quiet"],
    )
    .env("NOTIFY_SOCKET", &path)
    .stderr(std::process::Stdio::null())
    .spawn()
    .unwrap();
    let mut buffer = [0; 64];
    let told =
        socket.recv(&mut buffer).map(|len| String::from_utf8_lossy(&buffer[..len]).into_owned());
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(told.unwrap(), "READY=1");
}

/// A server with these lines in its configuration file.
fn serve_with(config: &str, args: &[&str]) -> crate::support::Served {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("worldkeep.toml"), config).unwrap();
    serve_in(dir, args)
}

/// Lines to the RESP door, each with the beginning of its answer.
fn talk(resp: &mut std::net::TcpStream, lines: &[(&str, &str)]) {
    for (line, answer) in lines {
        resp.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let got = read(resp);
        assert!(got.starts_with(answer), "{line}: {got}");
    }
}

#[test]
fn resp_asks_for_its_password_and_the_server_goes_on() {
    let served = serve_with("resp_password = \"s3cret\"\n", &["--resp", "127.0.0.1:0"]);
    let mut resp = resp_of(&served.lines);
    talk(&mut resp, &[("GET a", "-NOAUTH "), ("AUTH s3cret", "+OK"), ("GET a", "$-1")]);
    let (status, ready) = served.get("/readyz");
    assert_eq!(status, 200, "{ready}");
}

#[test]
fn resp_lets_named_users_in_and_nobody_else() {
    let users = "# readers\nuser ann on >pw ~room:* +@read\n\n";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("users.acl"), users).unwrap();
    std::fs::write(dir.path().join("worldkeep.toml"), "resp_users = \"users.acl\"\n").unwrap();
    // Beyond loopback too: nobody gets in without login.
    let served = serve_in(dir, &["--resp", "0.0.0.0:0"]);
    let mut resp = resp_of(&served.lines);
    talk(
        &mut resp,
        &[
            ("GET room:a", "-NOAUTH "),
            ("AUTH default x", "-WRONGPASS "),
            ("AUTH ann pw", "+OK"),
            ("GET room:a", "$-1"),
            ("SET room:a 1", "-NOPERM "),
            ("GET wk:tokens", "-NOPERM "),
        ],
    );
}

#[test]
fn users_that_let_everybody_in_or_make_no_sense_are_refused() {
    for (users, says) in [
        ("user default on nopass ~* +@all\n", "the user default must be off or have a password"),
        ("user ann on +nosuch\n", "users.acl, line 1"),
        ("ann on >pw\n", "users.acl, line 1: write it like `user NAME"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("users.acl"), users).unwrap();
        let config = "resp_users = \"users.acl\"\nresp = \"0.0.0.0:0\"\n";
        std::fs::write(dir.path().join("worldkeep.toml"), config).unwrap();
        let args = ["serve", "--http", "127.0.0.1:0", "--data", "memory"];
        let output = crate::support::output(&mut crate::support::command(&dir, &args));
        let (code, _, err) = crate::support::told(&output);
        assert_eq!(code, 2, "{users}: {err}");
        assert!(err.contains(says), "{users}: {err}");
    }
}
