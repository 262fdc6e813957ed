//! TLS of the real program: redis-cli on the RESP door, with and without a certificate of its own, and verbs that ask a server
//! at https://.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

use testkit::Certificates;

use crate::support::{Served, command, output, run, serve, told};

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The engine alone behind TLS, with these further flags.
fn door(files: &Certificates, more: &[&str]) -> (Served, SocketAddr) {
    let (cert, key) = files.pair("server");
    let (cert, key) = (text(&cert), text(&key));
    let resp = ["--modules", "none", "--resp", "127.0.0.1:0"];
    let pair = ["--resp-tls-cert", &*cert, "--resp-tls-key", &*key];
    let served = serve(&[&resp[..], &pair, more].concat());
    let line = served.lines.iter().find(|line| line.starts_with("RESP")).unwrap();
    let addr = line.split("rediss://").nth(1).unwrap().parse().unwrap();
    (served, addr)
}

/// Debian's client, which is built with TLS.
fn redis_cli(addr: SocketAddr, args: &[&str]) -> Output {
    let mut cli = Command::new("redis-cli");
    cli.args(["-h", "127.0.0.1", "-p", &addr.port().to_string()]).args(args);
    output(&mut cli)
}

#[test]
fn redis_cli_speaks_tls_and_nobody_speaks_without() {
    if !testkit::programs().contains(&testkit::Program::Redis) {
        return;
    }
    let files = Certificates::new();
    let (_served, addr) = door(&files, &[]);
    let ca = text(&files.path("ca.pem"));
    let tls = ["--tls", "--cacert", &*ca];
    let say = |words: &[&str]| told(&redis_cli(addr, &[&tls[..], words].concat()));
    let long = "x".repeat(100_000);
    assert_eq!(say(&["SET", "k", &long]).1.trim(), "OK");
    assert_eq!(say(&["GET", "k"]).1.trim(), long);
    // A reply of many records, larger than any buffer on the way.
    let many = say(&["EVAL", "return string.rep('y', 5000000)", "0"]).1;
    assert_eq!(many.trim().len(), 5_000_000);
    assert!(say(&["CLIENT", "LIST"]).1.contains("addr=127.0.0.1:"), "the client's own address");
    let version = say(&["--tls-ciphersuites", "TLS_AES_128_GCM_SHA256", "PING"]);
    assert_eq!(version.1.trim(), "PONG");

    let other = Certificates::new();
    let ca = text(&other.path("ca.pem"));
    let (code, _, error) = told(&redis_cli(addr, &["--tls", "--cacert", &ca, "PING"]));
    assert!(code != 0 && error.contains("certificate verify failed"), "{error}");
    let (code, out, _) = told(&redis_cli(addr, &["PING"]));
    assert!(code != 0 && !out.contains("PONG"), "plain RESP is not served: {out}");
}

#[test]
fn with_a_client_authority_a_certificate_is_asked_for() {
    if !testkit::programs().contains(&testkit::Program::Redis) {
        return;
    }
    let files = Certificates::new();
    let ca = text(&files.path("ca.pem"));
    let (_served, addr) = door(&files, &["--resp-tls-client-ca", &ca]);
    let (cert, key) = files.pair("client");
    let (cert, key) = (text(&cert), text(&key));
    let own = ["--tls", "--cacert", &*ca, "--cert", &*cert, "--key", &*key, "PING"];
    assert_eq!(told(&redis_cli(addr, &own)).1.trim(), "PONG");
    let (_, out, error) = told(&redis_cli(addr, &["--tls", "--cacert", &ca, "PING"]));
    assert!(!out.contains("PONG"), "{out} {error}");
    let stranger = Certificates::new();
    let (cert, key) = stranger.pair("client");
    let (cert, key) = (text(&cert), text(&key));
    let own = ["--tls", "--cacert", &*ca, "--cert", &*cert, "--key", &*key, "PING"];
    let (_, out, error) = told(&redis_cli(addr, &own));
    assert!(!out.contains("PONG"), "{out} {error}");
}

#[test]
fn a_handshake_on_the_resp_door_has_its_time() {
    let files = Certificates::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("worldkeep.toml"), "[limits]\nwrite_stall_ms = 300\n").unwrap();
    let config = text(&dir.path().join("worldkeep.toml"));
    let (_served, addr) = door(&files, &["--config", &config]);
    for sent in [&b""[..], &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3], b"PING\r\n"] {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(testkit::PATIENCE)).unwrap();
        stream.write_all(sent).unwrap();
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let waited = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!waited, "never closed after {sent:?}");
    }
}

#[test]
fn verbs_ask_a_server_at_https() {
    let files = Certificates::new();
    let (cert, key) = files.pair("server");
    let served = serve(&["--no-demo", "--tls-cert", &text(&cert), "--tls-key", &text(&key)]);
    let server = format!("https://{}", served.addr);
    let ca = text(&files.path("ca.pem"));
    let ask = |args: &[&str]| {
        told(&output(&mut command(&served.dir, &[args, &["token", "ls", "--json"]].concat())))
    };
    let (code, out, error) = ask(&["--server", &server, "--ca", &ca]);
    assert_eq!(code, 0, "{out} {error}");
    let (code, _, error) = ask(&["--server", &server]);
    assert_eq!(code, 6, "{error}");
    assert!(error.contains("not trusted") && error.contains("--ca"), "{error}");
    let (code, _, error) = ask(&["--server", &format!("http://{}", served.addr)]);
    assert!(code != 0 && error.contains("https://"), "{code} {error}");
    let (code, _, error) = ask(&["--server", &server, "--ca", "none.pem"]);
    assert_eq!(code, 2, "{error}");
}

#[test]
fn a_wrong_pair_stops_the_start_with_a_sentence() {
    let files = Certificates::new();
    let (cert, _) = files.pair("server");
    let (_, other) = files.pair("other");
    let (cert, other) = (text(&cert), text(&other));
    let wrong = ["serve", "--data", "memory", "--http", "127.0.0.1:0", "--tls-cert", &cert];
    let (code, _, error) = told(&run(&[&wrong[..], &["--tls-key", &other]].concat()));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("tls_key") && error.contains("not the key of"), "{error}");
    let (code, _, error) = told(&run(&wrong));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("tls_cert needs tls_key"), "{error}");
}
