//! Many sockets that only listen, on one thread and one poll: what hearing costs is taken from the server beside it.

use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::line::{self, Line};
use super::peer::Kind;

/// After so long without a byte a broadcast is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sockets of one room.
pub(super) struct Crowd {
    poll: Poll,
    events: Events,
    ears: Vec<Ear>,
    space: Vec<u8>,
}

struct Ear {
    stream: TcpStream,
    /// The beginning of a frame whose end has not come.
    rest: Vec<u8>,
    /// Broadcasts that it heard.
    heard: usize,
}

impl Crowd {
    pub(super) fn new(lines: Vec<Line>) -> io::Result<Crowd> {
        let poll = Poll::new()?;
        let mut ears = Vec::with_capacity(lines.len());
        for line in lines {
            let (stream, rest) = line.into_parts()?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(ears.len()), Interest::READABLE)?;
            ears.push(Ear { stream, rest, heard: 0 });
        }
        Ok(Crowd { poll, events: Events::with_capacity(4096), ears, space: vec![0; 1 << 16] })
    }

    /// Listens until everybody has heard one more; the moments, as microseconds after `sent`.
    pub(super) fn hear(&mut self, kind: Kind, sent: Instant) -> io::Result<Vec<u64>> {
        let Crowd { poll, events, ears, space } = self;
        let mut took = Vec::with_capacity(ears.len());
        while took.len() < ears.len() {
            poll.poll(events, Some(PATIENCE))?;
            if events.is_empty() {
                return Err(io::Error::other("a broadcast was lost"));
            }
            for event in &*events {
                let ear = &mut ears[event.token().0];
                let new = ear.listen(kind, space)?;
                let now = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
                took.extend(std::iter::repeat_n(now, new));
            }
        }
        Ok(took)
    }
}

impl Ear {
    /// Reads all there is; how many broadcasts were in it.
    fn listen(&mut self, kind: Kind, space: &mut [u8]) -> io::Result<usize> {
        let before = self.heard;
        loop {
            match self.stream.read(space) {
                Ok(0) => return Err(io::Error::other("the server closed the socket")),
                Ok(len) => {
                    self.take(kind, &space[..len]);
                    // Less than there was room for: the system tells when more comes.
                    if len < space.len() {
                        return Ok(self.heard - before);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(self.heard - before);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, kind: Kind, bytes: &[u8]) {
        let joined;
        let bytes = if self.rest.is_empty() {
            bytes
        } else {
            joined = [&self.rest[..], bytes].concat();
            self.rest.clear();
            &joined
        };
        let mut used = 0;
        while let Some((word, payload)) = line::frame(&bytes[used..]) {
            if matches!(word, line::TEXT | line::BINARY) {
                self.heard += usize::from(kind.is_broadcast(&bytes[used..][payload.clone()]));
            }
            used += payload.end;
        }
        self.rest.extend_from_slice(&bytes[used..]);
    }
}
