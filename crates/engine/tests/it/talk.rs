//! A client for tests: sends a line, gives the reply as text that is easy to compare.

use engine::{Engine, Listener};
use redis::{Cmd, Value};

/// Replies as `redis-cli` would tell them, on one line.
pub(crate) fn show(value: &Value) -> String {
    let list = |items: &[Value]| items.iter().map(show).collect::<Vec<_>>().join(" ");
    match value {
        Value::Nil => "nil".into(),
        Value::Int(n) => n.to_string(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.clone(),
        Value::Okay => "OK".into(),
        Value::Double(n) => n.to_string(),
        Value::Boolean(yes) => yes.to_string(),
        Value::Array(items) | Value::Set(items) => format!("[{}]", list(items)),
        Value::Map(pairs) => {
            let parts: Vec<String> =
                pairs.iter().map(|(k, v)| format!("{}={}", show(k), show(v))).collect();
            format!("{{{}}}", parts.join(" "))
        }
        Value::ServerError(error) => {
            format!("{} {}", error.code(), error.details().unwrap_or_default()).trim().to_owned()
        }
        other => format!("{other:?}"),
    }
}

fn command(line: &str) -> Cmd {
    let mut cmd = Cmd::new();
    for word in line.split(' ') {
        // A space inside a word is written as one that does not break.
        cmd.arg(if word == "''" { String::new() } else { word.replace('\u{a0}', " ") });
    }
    cmd
}

/// Says a line over the direct door.
pub(crate) fn say(connection: &engine::Connection, line: &str) -> String {
    connection.call(&command(line)).map_or_else(|| "(blocked)".into(), |value| show(&value))
}

/// A client over a socket, speaking RESP.
pub(crate) struct Socket {
    stream: std::net::TcpStream,
    unread: Vec<u8>,
}

impl Socket {
    pub(crate) fn open(listener: &Listener) -> Self {
        let stream = std::net::TcpStream::connect(listener.addr()).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        Socket { stream, unread: Vec::new() }
    }

    pub(crate) fn send(&mut self, line: &str) {
        use std::io::Write as _;
        self.stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }

    /// The next reply; `(closed)` when the engine has closed the connection.
    pub(crate) fn read(&mut self) -> String {
        use std::io::Read as _;
        loop {
            if let Some(whole) = whole_reply(&self.unread) {
                let value = redis::parse_redis_value(&self.unread[..whole]).unwrap();
                self.unread.drain(..whole);
                return show(&value);
            }
            let mut buf = [0; 4096];
            match self.stream.read(&mut buf) {
                Ok(0) => return "(closed)".into(),
                Ok(n) => self.unread.extend_from_slice(&buf[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return "(closed)".into();
                }
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }

    pub(crate) fn say(&mut self, line: &str) -> String {
        self.send(line);
        self.read()
    }
}

/// Length of the reply at the front, when all of it is there.
fn whole_reply(buf: &[u8]) -> Option<usize> {
    let end = buf.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&buf[1..end - 2]).ok()?.parse::<i64>().ok();
    let items = match buf[0] {
        b'$' | b'=' => {
            let Ok(len) = usize::try_from(number()?) else { return Some(end) };
            return (buf.len() >= end + len + 2).then_some(end + len + 2);
        }
        b'*' | b'~' | b'>' => number()?.max(0),
        b'%' => number()? * 2,
        _ => 0,
    };
    let mut at = end;
    for _ in 0..items {
        at += whole_reply(&buf[at..])?;
    }
    Some(at)
}

/// An engine with a door for sockets.
pub(crate) fn served() -> (Engine, Listener) {
    let engine = Engine::memory();
    let listener = engine.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    (engine, listener)
}
