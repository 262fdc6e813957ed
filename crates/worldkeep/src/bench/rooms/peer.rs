//! The three servers under measurement, each a process of its own: this program, a plain Node `ws` server, and
//! Colyseus. They end with the measurement.

use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::line::{BINARY, Line, TEXT};

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// This program.
    Worldkeep,
    /// Node's `ws`, a loop over the clients.
    Ws,
    /// Colyseus, one room without state.
    Colyseus,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Worldkeep => "worldkeep",
            Kind::Ws => "ws",
            Kind::Colyseus => "colyseus",
        }
    }
}

/// A running server.
pub(super) struct Peer {
    pub(super) kind: Kind,
    pub(super) at: SocketAddr,
    child: Child,
    /// The room that is broadcast in.
    code: String,
    _data: Option<tempfile::TempDir>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whoever causes the broadcasts.
pub(super) struct Host {
    line: Line,
    kind: Kind,
    sent: u64,
}

/// Limits that a measurement switches off, by name.
const OFF: &[&str] = &[
    "LIMITS_CONNECTIONS",
    "LIMITS_CONNECTIONS_PER_ADDRESS",
    "LIMITS_ANONYMOUS_PER_SECOND",
    "LIMITS_REQUESTS_PER_SECOND",
    "ROOMS_SOCKETS_PER_ROOM",
    "ROOMS_SOCKETS_PER_MINUTE",
    "ROOMS_MESSAGES_PER_SECOND",
    "ROOMS_RENAMES_PER_MINUTE",
    "ROOMS_CREATED_PER_HOUR",
];

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Where the peers' programs are; their packages are installed when they are missing.
pub(super) fn programs() -> Result<PathBuf, String> {
    crate::bench::peers::installed("rooms")
}

impl Peer {
    /// Starts this program on an embedded store in a scratch directory, or on a Redis.
    pub(super) async fn worldkeep(redis: Option<&str>) -> io::Result<Peer> {
        let port = free_port()?;
        let data = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--modules", "rooms", "--no-demo", "--quiet", "--log", "error"]);
        command.arg("--http").arg(format!("127.0.0.1:{port}"));
        match redis {
            Some(url) => command.arg("--redis").arg(url),
            None => command.arg("--data").arg(data.path()),
        };
        for name in OFF {
            command.env(format!("WORLDKEEP_{name}"), "0");
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (kind, code) = (Kind::Worldkeep, String::new());
        let peer = Peer { kind, at, child, code, _data: Some(data) };
        for _ in 0..200 {
            if tokio::net::TcpStream::connect(at).await.is_ok() {
                return Ok(peer);
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        Err(io::Error::other("the server did not start"))
    }

    /// Starts a Node program that answers with texts of this size.
    pub(super) fn node(kind: Kind, dir: &Path, size: usize) -> io::Result<Peer> {
        let port = free_port()?;
        let mut child = Command::new("node")
            .current_dir(dir)
            .arg(format!("{}.mjs", kind.name()))
            .args([port.to_string(), size.to_string()])
            .env("NODE_ENV", "production")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let ready = BufReader::new(out).lines().map_while(Result::ok).any(|line| line == "ready");
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let peer = Peer { kind, at, child, code: String::new(), _data: None };
        if ready {
            Ok(peer)
        } else {
            Err(io::Error::other(format!("{} did not start", kind.name())))
        }
    }

    /// Resident memory of the server.
    pub(super) fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let text = text.unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }

    /// Files and sockets that the server has open.
    pub(super) fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }

    /// Whoever causes the broadcasts comes, and with it the room.
    pub(super) async fn host(&mut self) -> io::Result<Host> {
        let kind = self.kind;
        let line = match kind {
            Kind::Ws | Kind::Colyseus => self.enter(0).await?,
            Kind::Worldkeep => {
                let mut line = Line::open(self.at, "/ws/rooms").await?;
                let made = line.ask(&create(), "ROOM_CREATED").await?;
                let made: Value = serde_json::from_str(&made).map_err(io::Error::other)?;
                made["payload"]["code"].as_str().unwrap_or_default().clone_into(&mut self.code);
                let join = format!(
                    r#"{{"type":"JOIN_ROOM","payload":{{"code":"{}","device_id":"bench-host"}}}}"#,
                    self.code
                );
                line.ask(&join, "JOIN_OK").await?;
                let take = r#"{"type":"TAKE_PLAYER","payload":{"player_id":"p0"}}"#;
                line.ask(take, "TAKE_PLAYER_OK").await?;
                line
            }
        };
        Ok(Host { line, kind, sent: 0 })
    }

    /// One more socket in the room.
    pub(super) async fn enter(&self, number: usize) -> io::Result<Line> {
        match self.kind {
            Kind::Ws => Line::open(self.at, "/").await,
            Kind::Worldkeep => {
                let mut line = Line::open(self.at, "/ws/rooms").await?;
                let join = format!(
                    r#"{{"type":"JOIN_ROOM","payload":{{"code":"{}","device_id":"bench-{number:05}"}}}}"#,
                    self.code
                );
                line.ask(&join, "JOIN_OK").await?;
                Ok(line)
            }
            Kind::Colyseus => {
                let seat = seat(self.at).await?;
                let text = |name: &str| seat[name].as_str().unwrap_or_default().to_owned();
                let path = format!(
                    "/{}/{}?sessionId={}",
                    text("processId"),
                    text("roomId"),
                    text("sessionId")
                );
                let mut line = Line::open(self.at, &path).await?;
                // The server says that the seat is ours; the client must say so too.
                while line.next(|bytes| bytes.first().copied()).await? != Some(JOIN) {}
                line.send(BINARY, &[JOIN]).await?;
                Ok(line)
            }
        }
    }
}

/// Colyseus' words for a seat taken and for a message.
const JOIN: u8 = 10;
const DATA: u8 = 13;

impl Kind {
    /// Whether a message is one of the broadcasts.
    pub(super) fn is_broadcast(self, message: &[u8]) -> bool {
        match self {
            Kind::Ws => true,
            Kind::Colyseus => message.first() == Some(&DATA),
            Kind::Worldkeep => message.starts_with(br#"{"type":"PLAYER_UPDATE""#),
        }
    }
}

impl Host {
    /// Causes one broadcast: a player renames itself.
    pub(super) async fn shout(&mut self) -> io::Result<()> {
        self.sent += 1;
        match self.kind {
            Kind::Ws => self.line.send(TEXT, b"x").await,
            Kind::Colyseus => self.line.send(BINARY, &[DATA, 0xa1, b'm']).await,
            Kind::Worldkeep => {
                let name = if self.sent.is_multiple_of(2) { "Ann" } else { "Bea" };
                let rename =
                    format!(r#"{{"type":"RENAME_PLAYER","payload":{{"new_name":"{name}"}}}}"#);
                self.line.send(TEXT, rename.as_bytes()).await
            }
        }
    }

    /// Reads until it hears a broadcast itself; gives its size.
    pub(super) async fn hear(&mut self) -> io::Result<usize> {
        let kind = self.kind;
        loop {
            let size =
                self.line.next(|message| kind.is_broadcast(message).then_some(message.len()));
            if let Some(size) = size.await? {
                return Ok(size);
            }
        }
    }
}

/// The matchmaking that Colyseus wants before each socket.
async fn seat(at: SocketAddr) -> io::Result<Value> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(at).await?;
    let ask = format!(
        "POST /matchmake/joinOrCreate/hall HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/json\r\n\
         Content-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    stream.write_all(ask.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let (from, to) = (text.find('{').unwrap_or(0), text.rfind('}').map_or(0, |at| at + 1));
    serde_json::from_str(text.get(from..to).unwrap_or_default()).map_err(io::Error::other)
}

/// Eight players, one round of one item.
pub(super) fn create() -> String {
    let senders: Vec<_> = (0..8)
        .map(|n| serde_json::json!({ "sender_id": format!("s{n}"), "name": format!("n{n}") }))
        .collect();
    let reel = serde_json::json!({ "reel_id": "a", "url": "https://example.org/1" });
    let item = serde_json::json!({ "item_id": "i1", "reel": reel, "true_sender_ids": ["s0"] });
    let rounds = serde_json::json!([{ "round_id": "r1", "items": [item] }]);
    serde_json::json!({ "type": "CREATE_ROOM", "payload": { "senders": senders, "rounds": rounds } })
        .to_string()
}
