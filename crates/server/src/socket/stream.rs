//! The TCP stream under every HTTP connection and every WebSocket. A write that makes no progress for too long ends the
//! connection in both directions, so that a client that never reads holds nothing for good; one that reads slowly stays.
//! A rest that the system did not take is kept as a copy and goes out before anything else.

use std::future::Future as _;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, send, shutdown, sockopt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose writes have to make progress.
pub(crate) struct PeerStream {
    stream: TcpStream,
    /// How long a write may make none.
    limit: Duration,
    stall: Option<Stall>,
    /// The bytes that the system did not take.
    pub(super) rest: Vec<u8>,
    /// How much of the rest is out.
    out: usize,
}

/// A write that waits for the other end.
struct Stall {
    since: Instant,
    look: Pin<Box<Sleep>>,
}

impl PeerStream {
    pub(crate) fn new(stream: TcpStream, limit: Duration) -> Self {
        PeerStream { stream, limit, stall: None, rest: Vec::new(), out: 0 }
    }

    /// Hands the system pieces in one call, and keeps a copy of what it does not take; [`Self::poll_drain`] sends it.
    pub(super) fn write_now(&mut self, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
        // Empty pieces at the end would look like an end of the stream.
        while self.rest.is_empty() && pieces.iter().any(|piece| !piece.is_empty()) {
            match self.stream.try_write_vectored(pieces) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(some) => IoSlice::advance_slices(&mut pieces, some),
                Err(full) if full.kind() == ErrorKind::WouldBlock => break,
                Err(again) if again.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.rest.reserve_exact(pieces.iter().map(|piece| piece.len()).sum());
        for piece in pieces {
            self.rest.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Waits until the system has the rest.
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.out < self.rest.len() {
            let rest = std::mem::take(&mut self.rest);
            let sent = self.poll_send(cx, &rest[self.out..]);
            self.rest = rest;
            match ready!(sent)? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                some => self.out += some,
            }
        }
        // Most sockets have a rest once in a while: none keeps the room for it.
        (self.rest, self.out) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, wrote, bytes)
    }

    /// Keeps the time of a write that may have to wait.
    fn timed(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            self.stall = None;
            return wrote;
        }
        let every = (self.limit / 10).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let stall = self
            .stall
            .get_or_insert_with(|| Stall { since: Instant::now(), look: Box::pin(sleep(every)) });
        while stall.look.as_mut().poll(cx).is_ready() {
            // The system tells of room only when there is much of it: a slow reader frees a little at a time.
            match send(&self.stream, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Err(error) if io::Error::from(error).kind() == ErrorKind::WouldBlock => {}
                done => {
                    self.stall = None;
                    return Poll::Ready(done.map_err(io::Error::from));
                }
            }
            if stall.since.elapsed() >= self.limit {
                self.give_up();
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            stall.look.as_mut().reset(Instant::now() + every);
        }
        Poll::Pending
    }

    /// Ends both directions. Whoever reads here learns of it, and the system forgets what was not taken.
    fn give_up(&self) {
        let _ = sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
        let _ = shutdown(&self.stream, Shutdown::Both);
    }
}

impl AsyncRead for PeerStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for PeerStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        self.poll_send(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.timed(cx, wrote, first.map_or(&[], |piece| piece))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
