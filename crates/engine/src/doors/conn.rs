//! One connection of a listening door: its socket, the bytes read and not yet run, the replies not yet sent. Whoever holds
//! the value may use the socket; each turn of the loop does a bounded amount of work for it, and nothing is read from a
//! client that does not take its replies. One that takes nothing for long is given up.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::{Interest, Registry, Token};
use rustix::net::sockopt;

use crate::core::client::Seat;
use crate::doors::busy::{self, Absent};
use crate::doors::resp::Bounds;
use crate::doors::session::{self, After};
use crate::doors::stream::KEEP;
use crate::doors::tls::TlsStream;
use crate::doors::wake::{Bell, Ring, Wake};
use crate::exec::LockedEngine;
use crate::shared::SharedEngine;

/// The bytes that one turn reads from one client, unless a longer call is on its way: others wait
/// for their turn meanwhile.
const READ: usize = 16 * 1024;
/// The bytes that one turn sends to one client at most.
const SEND_MAX: usize = 1 << 20;
/// The bytes that are read ahead of a client whose call blocks.
const AHEAD_MAX: usize = 1 << 20;

/// A socket of either kind.
pub(crate) enum Stream {
    Tcp(mio::net::TcpStream),
    Tls(TlsStream),
    Unix(mio::net::UnixStream),
}

/// The addresses of a connection.
pub(crate) struct Socket {
    pub(crate) addr: String,
    pub(crate) laddr: String,
    pub(crate) fd: i64,
    /// On this machine.
    pub(crate) local: bool,
}

/// A connection.
pub(crate) struct Conn {
    pub(crate) slot: usize,
    stream: Stream,
    socket: Socket,
    ring: Arc<Ring>,
    seat: Option<Seat>,
    state: Absent,
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    /// The system said so, and it has not been read or written empty since.
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer sends nothing more: a short read is not the last one.
    pub(crate) ended: bool,
    blocked: bool,
    /// Ends once everything is sent; its client has left already.
    closing: bool,
    /// Nothing can be sent or read any more.
    dead: bool,
    /// This turn ran something for it, or it is owed something.
    unsettled: bool,
    /// Since when the peer has taken nothing of what it is owed.
    stalled_since: Option<Instant>,
}

impl Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buf),
            Stream::Tls(stream) => stream.read(buf),
            Stream::Unix(stream) => stream.read(buf),
        }
    }

    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(buf),
            Stream::Tls(stream) => stream.write(buf),
            Stream::Unix(stream) => stream.write(buf),
        }
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Tls(stream) => stream.tcp_mut(),
            Stream::Unix(stream) => stream,
        }
    }

    /// The socket below, where it is TCP.
    fn tcp(&self) -> Option<&mio::net::TcpStream> {
        match self {
            Stream::Tcp(stream) => Some(stream),
            Stream::Tls(stream) => Some(stream.tcp()),
            Stream::Unix(_) => None,
        }
    }

    fn tls(&self) -> Option<&TlsStream> {
        match self {
            Stream::Tls(stream) => Some(stream),
            Stream::Tcp(_) | Stream::Unix(_) => None,
        }
    }

    /// Has the system ask a silent peer after so many seconds whether it is still there, as Redis does; 0 for never.
    fn keep_alive(&self, seconds: u64) {
        let Some(stream) = self.tcp() else { return };
        let (fd, idle) = (stream.as_fd(), Duration::from_secs(seconds));
        if sockopt::set_socket_keepalive(fd, seconds > 0).is_ok() && seconds > 0 {
            let _ = sockopt::set_tcp_keepidle(fd, idle);
            let _ = sockopt::set_tcp_keepintvl(fd, (idle / 3).max(Duration::from_secs(1)));
            let _ = sockopt::set_tcp_keepcnt(fd, 3);
        }
    }

    /// The system forgets unread replies when the socket is closed, instead of keeping them for minutes.
    fn forget_unsent(&self) {
        let now = Some(Duration::ZERO);
        let _ = match self {
            Stream::Tcp(stream) => sockopt::set_socket_linger(stream.as_fd(), now),
            Stream::Tls(stream) => sockopt::set_socket_linger(stream.tcp().as_fd(), now),
            Stream::Unix(stream) => sockopt::set_socket_linger(stream.as_fd(), now),
        };
    }

    fn shutdown(&mut self) {
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tls(stream) => stream.shutdown(),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl Socket {
    /// Of a connection from `peer`; small writes leave at once.
    pub(crate) fn tcp(stream: &mio::net::TcpStream, peer: SocketAddr) -> Self {
        let _ = stream.set_nodelay(true);
        let laddr = stream.local_addr().map(|addr| addr.to_string()).unwrap_or_default();
        let local = peer.ip().to_canonical().is_loopback();
        Socket { addr: peer.to_string(), laddr, fd: i64::from(stream.as_raw_fd()), local }
    }

    /// Of a connection to the socket at `path`.
    pub(crate) fn unix(stream: &mio::net::UnixStream, path: &str) -> Self {
        let addr = format!("{path}:0");
        Socket { laddr: addr.clone(), addr, fd: i64::from(stream.as_raw_fd()), local: true }
    }
}

impl Conn {
    pub(crate) fn new(
        slot: usize,
        (stream, socket): (Stream, Socket),
        bell: &Arc<Bell>,
        registry: &Registry,
    ) -> io::Result<Box<Self>> {
        // A handshake has as much time as a stalled reader.
        let stalled_since = stream.tls().map(|_| Instant::now());
        let mut conn = Box::new(Conn {
            slot,
            stream,
            socket,
            ring: Arc::new(Ring::new(bell, slot)),
            seat: None,
            state: Absent::default(),
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            readable: false,
            writable: true,
            ended: false,
            blocked: false,
            closing: false,
            dead: false,
            unsettled: false,
            stalled_since,
        });
        // Asked once: the system tells of each change.
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(conn.stream.source(), Token(slot), both)?;
        Ok(conn)
    }

    /// Clears the ring: the next one puts the connection in line again.
    pub(crate) fn heard(&self) {
        self.ring.heard();
    }

    fn owes(&self) -> bool {
        self.sent < self.output.len() || self.stream.tls().is_some_and(TlsStream::owes)
    }

    /// How long the peer has taken nothing of what it is owed.
    pub(crate) fn stalls_for(&self) -> Option<Duration> {
        self.stalled_since.map(|since| since.elapsed())
    }

    /// The peer has had its time: the connection ends without what it is owed.
    pub(crate) fn give_up(&mut self) {
        self.dead = true;
        self.stream.forget_unsent();
    }

    /// Nothing is left to do for it: it may be dropped.
    pub(crate) fn is_over(&self) -> bool {
        self.seat.is_none() && (self.dead || self.closing && !self.owes())
    }

    /// Whether the socket can be used now for something that waits.
    pub(crate) fn can_go_on(&self) -> bool {
        if self.is_handshaking() {
            self.readable || self.dead
        } else if self.owes() {
            self.writable || self.dead
        } else {
            self.state.more || self.readable && self.reads() || self.dead
        }
    }

    /// Whether more input is wanted.
    fn reads(&self) -> bool {
        let ahead = if self.blocked { AHEAD_MAX } else { usize::MAX };
        !self.closing && !self.state.more && self.input.len() < ahead
    }

    /// Sends what is owed, reads what has come. True when the core must be asked.
    pub(crate) fn exchange(&mut self, space: &mut [u8]) -> bool {
        if self.is_handshaking() && !self.dead {
            self.handshake();
            if self.is_handshaking() {
                return self.dead;
            }
        }
        let owed = self.owes();
        if owed {
            self.send();
            if self.owes() {
                return self.dead;
            }
        }
        if self.readable && self.reads() && !self.dead {
            let space = if self.state.wanted > READ { space } else { &mut space[..READ] };
            match self.stream.read(space) {
                Ok(0) => self.dead = true,
                Ok(len) => {
                    // TLS may have more than the system: only an empty read tells.
                    self.readable = self.ended || len == space.len() || self.stream.tls().is_some();
                    self.input.extend_from_slice(&space[..len]);
                    return true;
                }
                Err(error) => self.failed(&error),
            }
        }
        // Replies that wait with the core can be had now.
        self.dead || self.state.more || owed
    }

    /// Sends what is owed, as far as the peer takes it.
    pub(crate) fn send(&mut self) {
        if self.is_handshaking() {
            return;
        }
        let end = self.output.len().min(self.sent + SEND_MAX);
        let before = self.progress();
        while (self.sent < end || self.stream.tls().is_some_and(TlsStream::owes))
            && self.writable
            && !self.dead
        {
            match self.stream.write(&self.output[self.sent..end]) {
                Ok(0) if self.sent < end => self.dead = true,
                Ok(len) => self.sent += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) => self.failed(&error),
            }
        }
        if self.writable || !self.owes() {
            self.stalled_since = None;
        } else if self.progress() > before || self.stalled_since.is_none() {
            self.stalled_since = Some(Instant::now());
        }
        self.ring.owes(self.output.len() - self.sent);
        if !self.owes() {
            self.output.clear();
            self.output.shrink_to(KEEP);
            self.sent = 0;
            if self.closing {
                self.stream.shutdown();
            }
        }
    }

    /// Grows with what the peer takes.
    fn progress(&self) -> u64 {
        self.stream.tls().map_or(self.sent as u64, TlsStream::sent)
    }

    fn is_handshaking(&self) -> bool {
        self.stream.tls().is_some_and(TlsStream::is_handshaking)
    }

    /// Goes on with the handshake; its time counts as a stall.
    fn handshake(&mut self) {
        let Stream::Tls(stream) = &mut self.stream else { return };
        match stream.handshake() {
            Ok(()) => self.stalled_since = None,
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::WouldBlock => self.readable = false,
            io::ErrorKind::Interrupted => {}
            _ => self.dead = true,
        }
    }

    /// Runs what has arrived. The replies wait for [`Conn::settled`].
    pub(crate) fn run(&mut self, inner: &mut LockedEngine) {
        self.unsettled = false;
        if self.dead {
            return self.leave(inner);
        }
        if self.closing {
            return;
        }
        if self.seat.is_none() {
            let wake = Wake::Loop(Arc::clone(&self.ring));
            match SharedEngine::seat_socket(inner, &self.socket, wake) {
                Ok(seat) => self.seat = Some(seat),
                Err(why) => {
                    self.output.extend_from_slice(format!("-{why}\r\n").as_bytes());
                    self.closing = true;
                    return;
                }
            }
            self.stream.keep_alive(inner.core().config.tcp_keepalive_s);
        }
        let Some(seat) = self.seat else { return };
        if self.owes() {
            // It was rung for: what waits stays where its size is watched, unless the client must go.
            if inner.core().clients.at(seat).is_none_or(|client| client.closing) {
                self.dead = true;
                self.leave(inner);
            }
            return;
        }
        self.unsettled = session::run_calls(inner, seat, &mut self.state, &mut self.input);
        if self.input.is_empty() {
            self.input.shrink_to(KEEP);
        }
    }

    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Hands over the replies: all calls that have run are in the log. Returns whether a new wait
    /// must be timed.
    pub(crate) fn settled(&mut self, shared: &SharedEngine, inner: &mut LockedEngine) -> bool {
        let Some(seat) = self.seat.filter(|_| !self.owes()) else { return false };
        let after = session::take_replies(shared, inner, seat, &mut self.state, &mut self.output);
        self.ring.owes(self.output.len());
        self.blocked = after == After::Blocked;
        if after == After::Close {
            self.closing = true;
            self.state.more = false;
            self.leave(inner);
        }
        self.blocked && self.unsettled
    }

    /// The client of a connection that ends; nothing of it stays.
    pub(crate) fn leave(&mut self, inner: &mut LockedEngine) {
        if let Some(seat) = self.seat.take() {
            SharedEngine::unseat_in(inner, seat);
        }
    }

    /// Ends the connection because its calls panicked, a bug of ours; others go on.
    pub(crate) fn broken(&mut self, inner: &mut LockedEngine) {
        self.dead = true;
        self.leave(inner);
    }

    /// Answers while a slow script holds the lock.
    pub(crate) fn answer_busy(&mut self, shared: &SharedEngine) {
        if self.dead || self.closing || self.blocked || self.owes() {
            return;
        }
        let open = if self.seat.is_some() {
            let state = &mut self.state;
            state.wanted = 0;
            busy::answer(&shared.watch, Bounds::WIDE, state, &mut self.input, &mut self.output)
        } else {
            let trusted = shared.open_to_all() && self.socket.local;
            let (input, output) = (&mut self.input, &mut self.output);
            busy::answer_stranger(&shared.watch, trusted, input, output)
        };
        self.send();
        if !open {
            self.dead = true;
            self.stream.shutdown();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_peers_are_asked_as_tcp_keepalive_says() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = Stream::Tcp(mio::net::TcpStream::from_std(peer.try_clone().unwrap()));
        stream.keep_alive(60);
        assert!(sockopt::socket_keepalive(&peer).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&peer).unwrap(), Duration::from_mins(1));
        stream.keep_alive(0);
        assert!(!sockopt::socket_keepalive(&peer).unwrap());
    }
}
