//! HTTP over TLS: who is trusted, what is refused, certificates that are renewed, and the limits that hold as without it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rustls::pki_types::ServerName;
use server::settings::{Settings, Source};
use server::tls::Identity;
use testkit::Certificates;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Running, raw, start};

/// A server with a certificate of this authority.
async fn secure(files: &Certificates, settings: &[(&str, &str)]) -> Running {
    let (cert, key) = files.pair("server");
    let (cert, key) = (cert.display().to_string(), key.display().to_string());
    let pair = [("tls_cert", &*cert), ("tls_key", &*key)];
    start(testkit::open("memory").await, &[&pair[..], settings].concat()).await
}

fn client(files: &Certificates) -> reqwest::Client {
    let ca = std::fs::read(files.path("ca.pem")).unwrap();
    let ca = reqwest::Certificate::from_pem(&ca).unwrap();
    reqwest::Client::builder().tls_certs_only([ca]).build().unwrap()
}

fn at(server: &Running, path: &str) -> String {
    format!("https://{}{path}", server.addr)
}

/// A session of TLS on a socket of one's own.
async fn shake(
    files: &Certificates,
    server: &Running,
) -> tokio_rustls::client::TlsStream<TcpStream> {
    use rustls::pki_types::pem::PemObject as _;
    let ca = rustls::pki_types::CertificateDer::from_pem_file(files.path("ca.pem")).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca).unwrap();
    let config =
        rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(server.addr).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// Whether the other end closes.
async fn ends(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(testkit::PATIENCE, stream.read_to_end(&mut rest)).await.is_ok()
}

#[tokio::test]
async fn trusted_clients_are_served_and_others_leave() {
    let files = Certificates::new();
    let server = secure(&files, &[]).await;
    let found = client(&files).get(at(&server, "/api/overview")).send().await.unwrap();
    assert_eq!(found.status(), 200);
    let body = found.text().await.unwrap();
    assert!(body.len() > 100, "{body}");
    let large = client(&files).get(at(&server, "/openapi.json")).send().await.unwrap();
    let length = large.content_length();
    assert_eq!(Some(large.bytes().await.unwrap().len() as u64), length);

    let stranger = Certificates::new();
    let error = client(&stranger).get(at(&server, "/version")).send().await.unwrap_err();
    assert!(format!("{error:?}").contains("InvalidCertificate"), "{error:?}");
}

#[tokio::test]
async fn plain_http_on_a_port_of_tls_is_told_so() {
    let files = Certificates::new();
    let server = secure(&files, &[]).await;
    let request = b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
    let (answer, _) = raw(server.addr, request, testkit::PATIENCE).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{answer}");
    assert!(body.contains("https://"), "{answer}");
}

#[tokio::test]
async fn a_login_over_tls_gets_a_secure_cookie() {
    let files = Certificates::new();
    let server = secure(&files, &[]).await;
    let token = server.token(server::access::Role::Reader).await;
    let login = client(&files)
        .post(at(&server, "/api/session"))
        .header("content-type", "application/json")
        .body(format!(r#"{{"token":"{token}"}}"#));
    let answer = login.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("Secure"), "{cookie}");
}

#[tokio::test]
async fn a_websocket_runs_over_tls() {
    let files = Certificates::new();
    let server = secure(&files, &[]).await;
    let stream = shake(&files, &server).await;
    let url = format!("ws://{}/ws/events", server.addr);
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    let ask = r#"{"type":"subscribe","modules":["nonsense"]}"#;
    socket.send(Message::text(ask)).await.unwrap();
    let said = tokio::time::timeout(testkit::PATIENCE, socket.next()).await.unwrap();
    let said = said.unwrap().unwrap().into_text().unwrap();
    assert!(said.contains("type"), "{said}");
    socket.close(None).await.unwrap();
    while let Ok(Some(Ok(_))) = tokio::time::timeout(testkit::PATIENCE, socket.next()).await {}
}

#[tokio::test]
async fn who_does_not_finish_the_handshake_is_closed() {
    let files = Certificates::new();
    let server = secure(&files, &[("limits.header_read_ms", "200")]).await;
    let half_a_hello: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    for sent in [&b""[..], half_a_hello] {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(sent).await.unwrap();
        assert!(ends(&mut stream).await, "{sent:?}");
    }
    // Behind a good handshake the head has its time, as without TLS.
    let mut stream = shake(&files, &server).await;
    stream.write_all(b"GET /version HT").await.unwrap();
    assert!(ends(&mut stream).await, "a slow head");
}

#[tokio::test]
async fn who_never_reads_over_tls_is_closed() {
    let files = Certificates::new();
    let server = secure(&files, &[("limits.write_stall_ms", "300")]).await;
    let mut stream = shake(&files, &server).await;
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n", server.addr);
    let flood = async {
        while stream.write_all(request.as_bytes()).await.is_ok() && stream.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(tokio::time::timeout(testkit::PATIENCE, flood).await.is_ok(), "never closed");
}

#[tokio::test]
async fn too_many_connections_of_one_address_are_closed() {
    let files = Certificates::new();
    let server = secure(&files, &[("limits.connections_per_address", "1")]).await;
    let first = shake(&files, &server).await;
    let mut second = TcpStream::connect(server.addr).await.unwrap();
    assert!(ends(&mut second).await, "never closed");
    drop(first);
}

#[tokio::test]
async fn renewed_files_are_used_and_bad_ones_are_not() {
    let files = Certificates::new();
    let server = secure(&files, &[]).await;
    let shown = || async {
        let stream = shake(&files, &server).await;
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    let old = shown().await;
    // A key that is not the certificate's.
    let (_, other) = files.pair("other");
    std::fs::copy(&other, files.path("server.key")).unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(shown().await == old, "the old pair stays");
    files.pair("server");
    testkit::eventually("the new certificate is shown", || async { shown().await != old }).await;
}

#[tokio::test]
async fn wrong_files_are_sentences_that_name_the_setting() {
    let files = Certificates::new();
    let (cert, key) = files.pair("server");
    let (_, other) = files.pair("other");
    let none = files.path("none.pem");
    let told = |pairs: &[(&str, &std::path::Path)]| {
        let mut settings = Settings::new();
        for (name, path) in pairs {
            settings.set(name, &path.display().to_string(), Source::Default).unwrap();
        }
        Identity::http(&settings).and(Identity::resp(&settings)).unwrap_err()
    };
    assert_eq!(told(&[("tls_cert", &cert)]), "tls_cert needs tls_key beside it");
    assert_eq!(told(&[("tls_key", &key)]), "tls_key needs tls_cert beside it");
    let ca = files.path("ca.pem");
    let alone = told(&[("resp_tls_client_ca", &ca)]);
    assert_eq!(alone, "resp_tls_client_ca needs resp_tls_cert beside it");
    let missing = told(&[("tls_cert", &none), ("tls_key", &key)]);
    assert!(missing.starts_with("tls_cert: ") && missing.contains("none.pem"), "{missing}");
    let unlike = told(&[("tls_cert", &cert), ("tls_key", &other)]);
    assert!(unlike.starts_with("tls_key: ") && unlike.contains("not the key of"), "{unlike}");
    let empty = told(&[("tls_cert", &key), ("tls_key", &key)]);
    assert!(empty.contains("no certificate"), "{empty}");
    let no_key = told(&[("tls_cert", &cert), ("tls_key", &cert)]);
    assert!(no_key.contains("no private key"), "{no_key}");
}
