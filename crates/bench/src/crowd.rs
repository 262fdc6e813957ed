//! Many sockets that only listen, on one thread and one poll: what hearing costs is taken from the server beside it, so
//! that nothing is looked at but the beginning of each message, and the rest of a long one is thrown away unread.

use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::line::{self, Line};

/// After so long without a byte a broadcast is lost.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a message by which it is known.
const LOOK: usize = 128;

/// Sockets that listen.
pub(crate) struct Crowd {
    poll: Poll,
    events: Events,
    ears: Vec<Ear>,
    space: Space,
}

struct Space {
    /// The bytes that are looked at.
    read: Vec<u8>,
    /// The bytes that are not.
    waste: Vec<u8>,
}

struct Ear {
    stream: TcpStream,
    /// The beginning of a frame of which not enough has come to know it.
    rest: Vec<u8>,
    /// Bytes of a known frame that have not come.
    left: usize,
    /// The kind of frame, if it counts.
    label: Option<u64>,
}

impl Crowd {
    /// `at_once` bytes are read by a socket: many short messages, or the beginning of a long one.
    pub(crate) fn new(lines: Vec<Line>, at_once: usize) -> io::Result<Crowd> {
        let poll = Poll::new()?;
        let mut ears = Vec::with_capacity(lines.len());
        for line in lines {
            let (stream, rest) = line.into_parts()?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(ears.len()), Interest::READABLE)?;
            ears.push(Ear { stream, rest, left: 0, label: None });
        }
        let space = Space { read: vec![0; at_once], waste: vec![0; 1 << 17] };
        Ok(Crowd { poll, events: Events::with_capacity(4096), ears, space })
    }

    /// Listens until everybody has heard one more; the moments, as microseconds after `sent`. `known` looks at the
    /// beginning of a message and says whether it counts.
    pub(crate) fn hear(
        &mut self,
        known: impl Fn(&[u8]) -> Option<u64>,
        sent: Instant,
    ) -> io::Result<Vec<u64>> {
        let mut took = Vec::with_capacity(self.ears.len());
        while took.len() < self.ears.len() {
            if !self.turn(&known, PATIENCE, &mut |_| {
                took.push(u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX));
            })? {
                return Err(io::Error::other("a broadcast was lost"));
            }
        }
        Ok(took)
    }

    /// Listens for a while; each message that counts, with its moment.
    pub(crate) fn listen(
        &mut self,
        known: impl Fn(&[u8]) -> Option<u64>,
        time: Duration,
    ) -> io::Result<Vec<(u64, Instant)>> {
        let (until, mut all) = (Instant::now() + time, Vec::new());
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            self.turn(&known, left, &mut |label| all.push((label, Instant::now())))?;
        }
        Ok(all)
    }

    /// Reads what there is; false when nothing came in that time.
    fn turn(
        &mut self,
        known: &impl Fn(&[u8]) -> Option<u64>,
        wait: Duration,
        heard: &mut impl FnMut(u64),
    ) -> io::Result<bool> {
        let Crowd { poll, events, ears, space } = self;
        poll.poll(events, Some(wait))?;
        for event in &*events {
            ears[event.token().0].listen(known, space, heard)?;
        }
        Ok(!events.is_empty())
    }
}

impl Ear {
    /// Reads all there is.
    fn listen(
        &mut self,
        known: &impl Fn(&[u8]) -> Option<u64>,
        space: &mut Space,
        heard: &mut impl FnMut(u64),
    ) -> io::Result<()> {
        loop {
            let long = self.left > space.read.len();
            let read = if long {
                let most = self.left.min(space.waste.len());
                discard(&self.stream, &mut space.waste[..most]).map(|len| (len, most))
            } else {
                self.stream.read(&mut space.read).map(|len| (len, space.read.len()))
            };
            match read {
                Ok((0, _)) => return Err(io::Error::other("the server closed the socket")),
                Ok((len, most)) => {
                    if long {
                        self.pass(len, heard);
                    } else {
                        self.take(known, &space.read[..len], heard);
                    }
                    // Less than there was room for: the system tells when more comes.
                    if len < most {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes bytes of a known frame; false while there are more to come.
    fn pass(&mut self, bytes: usize, heard: &mut impl FnMut(u64)) -> bool {
        self.left -= bytes;
        if self.left > 0 {
            return false;
        }
        if let Some(label) = self.label.take() {
            heard(label);
        }
        true
    }

    fn take(
        &mut self,
        known: &impl Fn(&[u8]) -> Option<u64>,
        bytes: &[u8],
        heard: &mut impl FnMut(u64),
    ) {
        let joined;
        let mut bytes = bytes;
        if !self.rest.is_empty() {
            joined = [&std::mem::take(&mut self.rest)[..], bytes].concat();
            bytes = &joined;
        }
        loop {
            let some = self.left.min(bytes.len());
            bytes = &bytes[some..];
            if !self.pass(some, heard) {
                return;
            }
            let Some((kind, payload)) = line::head(bytes) else { break };
            let Some(begin) = bytes.get(payload.start..payload.end.min(payload.start + LOOK))
            else {
                break;
            };
            self.label =
                if matches!(kind, line::TEXT | line::BINARY) { known(begin) } else { None };
            self.left = payload.len();
            bytes = &bytes[payload.start..];
        }
        self.rest.extend_from_slice(bytes);
    }
}

/// Takes bytes from a socket and looks at none of them. Linux does not even copy them.
fn discard(stream: &TcpStream, waste: &mut [u8]) -> io::Result<usize> {
    let (_, len) = rustix::net::recv(stream, waste, rustix::net::RecvFlags::TRUNC)?;
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_known_however_they_are_cut() {
        let mut all = Vec::new();
        for (n, size) in [0_usize, 5, 70, 300, 70_000, 1].into_iter().enumerate() {
            let payload = vec![b'a' + u8::try_from(n).unwrap(); size];
            all.push(0x81);
            match size {
                0..=125 => all.push(u8::try_from(size).unwrap()),
                126..=65_535 => {
                    all.push(126);
                    all.extend(u16::try_from(size).unwrap().to_be_bytes());
                }
                _ => {
                    all.push(127);
                    all.extend((size as u64).to_be_bytes());
                }
            }
            all.extend(payload);
            // A ping between, which does not count.
            all.extend([0x89, 1, b'?']);
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for piece in [1, 2, 3, 61, 64, 1_000, all.len()] {
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut ear = Ear { stream, rest: Vec::new(), left: 0, label: None };
            let mut heard = Vec::new();
            for bytes in all.chunks(piece) {
                let known = |begin: &[u8]| Some(begin.first().copied().map_or(0, u64::from));
                ear.take(&known, bytes, &mut |label| heard.push(label));
            }
            let letters = [0, b'b', b'c', b'd', b'e', b'f'].map(u64::from);
            assert_eq!(heard, letters, "in pieces of {piece}");
        }
    }
}
