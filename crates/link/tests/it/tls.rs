//! TLS: verified against a named authority, refused otherwise, and each mistake has its sentence.

use std::path::Path;

use kernel::Value;
use link::Options;
use testkit::{Certificates, Program, Server, Setup, open, programs};

use crate::{cmd, soon};

/// A server that shows this certificate.
fn serve(files: &Certificates, program: Program) -> Server {
    let (cert, key) = files.pair_for("server", &["localhost"]);
    Setup::new(program).tls(&cert, &key, &files.path("ca.pem")).start()
}

/// The Valkey of the Python wheel is built without TLS; Debian's Redis has it.
fn with_tls() -> Vec<Program> {
    programs().into_iter().filter(|program| *program == Program::Redis).collect()
}

async fn failure(url: &str) -> String {
    match link::open(url, Options::default()).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => {
            assert_eq!(error.exit_code(), 6, "{error}");
            error.to_string()
        }
    }
}

fn trusting(url: &str, ca: &Path) -> String {
    format!("{url}?ca={}", ca.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_server_is_used_and_heals() {
    for program in with_tls() {
        let files = Certificates::new();
        let mut server = serve(&files, program);
        let store = open(&trusting(&server.url(), &files.path("ca.pem"))).await;
        assert_eq!(store.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
        let mut session = store.session(b"a", soon()).await.expect("a session");
        assert_eq!(session.call(&cmd("INCR a"), soon()).await, Ok(Value::Int(2)));
        let large = "x".repeat(3_000_000);
        store.call(&cmd(&format!("SET large {large}")), soon()).await.expect("written");
        let got = store.call(&cmd("GET large"), soon()).await;
        assert_eq!(got, Ok(Value::BulkString(large.into_bytes())));
        server.kill();
        server.restart();
        assert!(store.call(&cmd("PING"), soon()).await.is_ok());
        assert!(store.status().warnings.iter().all(|warning| !warning.sentence().contains("TLS")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_authority_and_a_wrong_name_are_refused() {
    for program in with_tls() {
        let files = Certificates::new();
        let server = serve(&files, program);
        let stranger = failure(&server.url()).await;
        assert!(stranger.contains("the certificate is not trusted"), "{stranger}");
        let address = server.url().replace("localhost", "127.0.0.1");
        let other = failure(&trusting(&address, &files.path("ca.pem"))).await;
        assert!(other.contains("the certificate is not trusted"), "{other}");
        let missing = failure(&trusting(&server.url(), &files.path("none.pem"))).await;
        assert!(missing.contains("cannot read the authorities"), "{missing}");
        let store = open(&format!("{}?insecure=true", server.url())).await;
        assert!(store.call(&cmd("PING"), soon()).await.is_ok());
        assert!(store.status().warnings[0].sentence().contains("not verified"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_scheme_is_told_both_ways() {
    for program in with_tls() {
        let files = Certificates::new();
        let secure = serve(&files, program);
        let plain = Server::start(program);
        let told = failure(&secure.url().replace("rediss", "redis")).await;
        assert!(told.contains("rediss://"), "{told}");
        let url = plain.url().replace("redis", "rediss").replace("127.0.0.1", "localhost");
        let told = failure(&trusting(&url, &files.path("ca.pem"))).await;
        assert!(told.contains("for a plain port write redis://"), "{told}");
    }
}
