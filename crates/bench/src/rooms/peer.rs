//! The three servers under measurement, each a process of its own: this program, a plain Node `ws` server, and
//! Colyseus. They end with the measurement.

use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::line::{BINARY, Line, TEXT};
use crate::own_server::{self, OwnServer, free_port, request};

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
    process: Process,
    /// The room that is broadcast in.
    code: String,
}

enum Process {
    Ours(OwnServer),
    Node(Child),
}

impl Process {
    fn id(&self) -> u32 {
        match self {
            Process::Ours(server) => server.id(),
            Process::Node(child) => child.id(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Process::Node(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whoever causes the broadcasts.
pub(super) struct Host {
    line: Line,
    kind: Kind,
    sent: u64,
}

/// The folder of the peers' programs; their packages are installed when they are missing.
pub(super) fn programs() -> Result<PathBuf, String> {
    crate::peers::installed("rooms")
}

impl Peer {
    /// Starts our server on an embedded store in a scratch directory, or on a Redis.
    pub(super) async fn worldkeep(redis: Option<&str>) -> io::Result<Peer> {
        let server = OwnServer::start("rooms", redis).await?;
        let (kind, at, code) = (Kind::Worldkeep, server.at, String::new());
        Ok(Peer { kind, at, process: Process::Ours(server), code })
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
        let peer = Peer { kind, at, process: Process::Node(child), code: String::new() };
        if ready {
            Ok(peer)
        } else {
            Err(io::Error::other(format!("{} did not start", kind.name())))
        }
    }

    /// Resident memory of the server.
    pub(super) fn memory(&self) -> u64 {
        own_server::memory(self.process.id())
    }

    /// Files and sockets that the server has open.
    pub(super) fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).map_or(0, Iterator::count)
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
    /// Whether a message is one of the broadcasts; its beginning is enough.
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
    let text = request(at, "POST", "/matchmake/joinOrCreate/hall", "{}").await?;
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
