//! A WebSocket client that does as little as possible: the driver must not be the limit, and it is the same for
//! all servers. No extensions, a mask of zeros, frames counted where they lie.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Text frames.
pub(crate) const TEXT: u8 = 1;
/// Binary frames.
pub(crate) const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// One open socket.
pub(crate) struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read already.
    used: usize,
}

fn broken(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

/// Kind and payload of the first frame of some bytes, when its head is there.
pub(crate) fn head(bytes: &[u8]) -> Option<(u8, std::ops::Range<usize>)> {
    let (kind, short) = (*bytes.first()? & 0x0f, *bytes.get(1)? & 0x7f);
    let (start, len) = match short {
        126 => (4, usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))),
        127 => {
            let long: [u8; 8] = bytes.get(2..10)?.try_into().ok()?;
            (10, usize::try_from(u64::from_be_bytes(long)).ok()?)
        }
        len => (2, usize::from(len)),
    };
    Some((kind, start..start + len))
}

/// The same, when it is all there.
fn frame(bytes: &[u8]) -> Option<(u8, std::ops::Range<usize>)> {
    head(bytes).filter(|(_, payload)| bytes.len() >= payload.end)
}

impl Line {
    /// The socket, and what was read of it and not looked at.
    pub(crate) fn into_parts(self) -> io::Result<(std::net::TcpStream, Vec<u8>)> {
        Ok((self.stream.into_std()?, self.buffer[self.used..].to_vec()))
    }

    /// Opens a socket at a path.
    pub(crate) async fn open(at: SocketAddr, path: &str) -> io::Result<Line> {
        let mut stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {at}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let mut line = Line { stream, buffer: Vec::with_capacity(1024), used: 0 };
        loop {
            if let Some(end) = line.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                if !line.buffer.starts_with(b"HTTP/1.1 101") {
                    return Err(broken(&String::from_utf8_lossy(&line.buffer[..end])));
                }
                line.used = end + 4;
                return Ok(line);
            }
            line.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(broken("the server closed the socket"));
        }
        Ok(())
    }

    /// Sends a frame.
    pub(crate) async fn send(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(payload.len() + 14);
        frame.push(0x80 | kind);
        match payload.len() {
            len @ 0..=125 => frame.push(0x80 | u8::try_from(len).unwrap_or(0)),
            len @ 126..=65_535 => {
                frame.push(0x80 | 0x7e);
                frame.extend(u16::try_from(len).unwrap_or(0).to_be_bytes());
            }
            len => {
                frame.push(0x80 | 0x7f);
                frame.extend((len as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.write_all(&frame).await
    }

    /// The next message, looked at where it lies.
    pub(crate) async fn next<T>(&mut self, look: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        loop {
            while let Some((kind, range)) = frame(&self.buffer[self.used..]) {
                let range = self.used + range.start..self.used + range.end;
                self.used = range.end;
                match kind {
                    TEXT | BINARY => return Ok(look(&self.buffer[range])),
                    PING => self.send(PONG, b"").await?,
                    CLOSE => {
                        // A close code of two bytes, then its reason.
                        let said = self.buffer[range].get(2..).unwrap_or_default();
                        let said = String::from_utf8_lossy(said);
                        return Err(broken(&format!("the server said goodbye: {said}")));
                    }
                    _ => {}
                }
            }
            self.fill().await?;
        }
    }

    /// Reads until a message holds this text.
    pub(crate) async fn until(&mut self, wanted: &str) -> io::Result<String> {
        loop {
            let text = self.next(|bytes| String::from_utf8_lossy(bytes).into_owned()).await?;
            if text.contains(wanted) {
                return Ok(text);
            }
            if text.contains("\"ERROR\"") {
                return Err(broken(&text));
            }
        }
    }

    /// Sends a text and reads until the answer holds that one.
    pub(crate) async fn ask(&mut self, text: &str, wanted: &str) -> io::Result<String> {
        self.send(TEXT, text.as_bytes()).await?;
        self.until(wanted).await
    }
}
