//! TLS: verified against a named authority, refused otherwise, and each mistake has its sentence.

use std::path::{Path, PathBuf};

use kernel::Value;
use link::Options;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use testkit::{Program, Server, Setup, open, programs};

use crate::{cmd, soon};

struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    fn make() -> Self {
        let dir = tempfile::tempdir().expect("scratch");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"))
            .expect("signed");
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned()];
        let params = CertificateParams::new(names).expect("a name");
        let certificate = params.signed_by(&key, &authority).expect("signed");
        std::fs::write(dir.path().join("ca.pem"), authority.pem()).expect("written");
        std::fs::write(dir.path().join("cert.pem"), certificate.pem()).expect("written");
        std::fs::write(dir.path().join("key.pem"), key.serialize_pem()).expect("written");
        Files { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn serve(&self, program: Program) -> Server {
        let (cert, key, ca) = (self.path("cert.pem"), self.path("key.pem"), self.path("ca.pem"));
        Setup::new(program).tls(&cert, &key, &ca).start()
    }
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
        let files = Files::make();
        let mut server = files.serve(program);
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
        assert!(store.status().warnings.iter().all(|warning| !warning.contains("TLS")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_authority_and_a_wrong_name_are_refused() {
    for program in with_tls() {
        let files = Files::make();
        let server = files.serve(program);
        let stranger = failure(&server.url()).await;
        assert!(stranger.contains("the certificate is not trusted"), "{stranger}");
        let address = server.url().replace("localhost", "127.0.0.1");
        let other = failure(&trusting(&address, &files.path("ca.pem"))).await;
        assert!(other.contains("the certificate is not trusted"), "{other}");
        let missing = failure(&trusting(&server.url(), &files.path("none.pem"))).await;
        assert!(missing.contains("cannot read the authorities"), "{missing}");
        let store = open(&format!("{}?insecure=true", server.url())).await;
        assert!(store.call(&cmd("PING"), soon()).await.is_ok());
        assert!(store.status().warnings[0].contains("not verified"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_scheme_is_told_both_ways() {
    for program in with_tls() {
        let files = Files::make();
        let secure = files.serve(program);
        let plain = Server::start(program);
        let told = failure(&secure.url().replace("rediss", "redis")).await;
        assert!(told.contains("rediss://"), "{told}");
        let url = plain.url().replace("redis", "rediss").replace("127.0.0.1", "localhost");
        let told = failure(&trusting(&url, &files.path("ca.pem"))).await;
        assert!(told.contains("for a plain port write redis://"), "{told}");
    }
}
