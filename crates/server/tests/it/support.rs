//! A server of one's own on a free loopback port, and a client that sends exactly what it is told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Cmd, Deadline, Store, SystemClock, Value};
use reqwest::{Method, RequestBuilder};
use server::App;
use server::access::Role;
use server::caller::Caller;
use server::settings::{Settings, Source};
use server::tokens::{self, NewToken};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) struct Running {
    pub(crate) app: Arc<App>,
    pub(crate) addr: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) done: Option<tokio::task::JoinHandle<std::io::Result<()>>>,
    client: reqwest::Client,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Starts with these settings over the defaults.
pub(crate) async fn start(store: Arc<dyn Store>, settings: &[(&str, &str)]) -> Running {
    start_at(store, settings, Arc::new(SystemClock::new())).await
}

/// The same by another clock.
pub(crate) async fn start_at(
    store: Arc<dyn Store>,
    settings: &[(&str, &str)],
    clock: Arc<dyn kernel::Clock>,
) -> Running {
    start_all(store, settings, clock, None).await
}

/// With a second listener for guests of the party, at an address that is loopback but not the first one's.
pub(crate) async fn start_party(
    store: Arc<dyn Store>,
    settings: &[(&str, &str)],
) -> (Running, SocketAddr) {
    let party = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let guests = party.local_addr().unwrap();
    let running = start_all(store, settings, Arc::new(SystemClock::new()), Some(party)).await;
    running.app.party_url.set(format!("http://{guests}")).unwrap();
    (running, guests)
}

async fn start_all(
    store: Arc<dyn Store>,
    settings: &[(&str, &str)],
    clock: Arc<dyn kernel::Clock>,
    party: Option<TcpListener>,
) -> Running {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut all = Settings::new();
    // What a test counts is its own: no demo, no scheduler that tells of its lead, no world that ticks.
    all.set("demo", "off", Source::Default).unwrap();
    all.set("jobs.scheduler", "false", Source::Default).unwrap();
    all.set("galaxy.engine", "false", Source::Default).unwrap();
    // Accounts that outlive no test.
    all.set("data", "memory", Source::Default).unwrap();
    for (name, text) in settings {
        all.set(name, text, Source::Default).unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let app = App::new(all, store, clock).unwrap();
    let stop = CancellationToken::new();
    let tls = server::tls::Identity::http(&app.settings).unwrap();
    let listener = server::Bound { tcp: listener, tls };
    let done =
        tokio::spawn(server::serve_with_party(Arc::clone(&app), listener, party, stop.clone()));
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
    Running { app, addr, stop, done: Some(done), client }
}

/// The same without loopback's rights, as from elsewhere.
pub(crate) async fn start_strict(store: Arc<dyn Store>) -> Running {
    start(store, &[("loopback_admin", "false"), ("limits.anonymous_per_second", "0")]).await
}

impl Running {
    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.addr))
    }

    /// Asks at another address of the same server.
    pub(crate) fn ask_at(&self, addr: SocketAddr, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{addr}{path}"))
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.ask(Method::GET, path)
    }

    pub(crate) async fn status(&self, path: &str) -> u16 {
        self.get(path).send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn json(&self, path: &str) -> serde_json::Value {
        self.get(path).send().await.unwrap().json().await.unwrap()
    }

    /// Asks `/metrics` until it has the line: what is sampled there is a second old, and nothing before the first look.
    pub(crate) async fn measures(&self, line: &str) {
        let began = std::time::Instant::now();
        loop {
            let numbers = self.get("/metrics").send().await.unwrap().text().await.unwrap();
            if numbers.lines().any(|told| told == line) {
                return;
            }
            assert!(began.elapsed() < testkit::PATIENCE, "no {line} in {numbers}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn token(&self, role: Role) -> String {
        self.limited_token(role, None, None).await
    }

    pub(crate) async fn limited_token(
        &self,
        role: Role,
        tenants: Option<&[&str]>,
        namespaces: Option<&[&str]>,
    ) -> String {
        let list = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let new = NewToken {
            name: format!("{role:?}"),
            role,
            tenants: tenants.map(list),
            namespaces: namespaces.map(list),
            payloads: false,
            days: None,
        };
        tokens::make(self.app.store(), self.app.now_ms(), &Caller::owner(), new)
            .await
            .unwrap()
            .token
    }

    /// Sends a command to the store.
    pub(crate) async fn store(&self, words: &[&str]) -> Value {
        let mut cmd = Cmd::new();
        for word in words {
            cmd.arg(*word);
        }
        let by = Deadline::after(Duration::from_secs(5));
        testkit::call_as_default(self.app.store(), &cmd, by).await.unwrap()
    }
}

/// Sends raw bytes and gives everything that comes back until the other end closes or `wait` passes.
pub(crate) async fn raw(addr: SocketAddr, bytes: &[u8], wait: Duration) -> (String, Duration) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let started = std::time::Instant::now();
    let mut stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(wait, stream.read_to_end(&mut answer)).await;
    (String::from_utf8_lossy(&answer).into_owned(), started.elapsed())
}
