//! The TCP stream under every HTTP connection and every WebSocket. A write that makes no progress for too long ends the
//! connection in both directions, so that a client that never reads holds nothing for good; one that reads slowly stays.
//! A rest that the system did not take is kept as a copy and goes out before anything else. With TLS all bytes go out by
//! way of the rest, encrypted, so that the limits hold for them too.

use std::future::{Future as _, poll_fn};
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, send, shutdown, sockopt};
use rustls::{ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// First byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// Encrypted bytes that one write makes at most, about.
const SEALED: usize = 64 * 1024;
const NO_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\
    content-length: 95\r\nconnection: close\r\n\r\n\
    {\"error\":{\"code\":\"https_only\",\"message\":\"this port speaks TLS: write https:// in the address\"}}";

/// A stream whose writes have to make progress.
pub(crate) struct PeerStream {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
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
        PeerStream { stream, tls: None, limit, stall: None, rest: Vec::new(), out: 0 }
    }

    /// The same with TLS, after its handshake. The caller keeps the time.
    pub(crate) async fn tls(
        stream: TcpStream,
        limit: Duration,
        config: Arc<ServerConfig>,
    ) -> io::Result<Self> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first != [HANDSHAKE] {
            let _ = stream.try_write(NO_TLS);
            // The request is read, or the system would reset the connection and the answer be lost.
            let _ = stream.try_read(&mut [0; 4096]);
            return Err(io::Error::new(ErrorKind::InvalidData, "no TLS"));
        }
        let session = ServerConnection::new(config).map_err(io::Error::other)?;
        let tls = Some(Box::new(session));
        let mut new = PeerStream { tls, ..PeerStream::new(stream, limit) };
        poll_fn(|cx| new.poll_handshake(cx)).await?;
        Ok(new)
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            ready!(self.poll_drain(cx))?;
            if ready!(self.poll_feed(cx))? == 0 {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
        }
        self.poll_drain(cx)
    }

    /// Gives the session of TLS what has come, and puts into the rest what it has to say. Gives 0 at the end of the stream.
    fn poll_feed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(tls) = &mut self.tls else { return Poll::Ready(Ok(0)) };
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match tls.read_tls(&mut Arrived(&self.stream)) {
                Err(error) if is_transient(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(read) => {
                    let good = tls.process_new_packets();
                    drain_session(tls, &mut self.rest)?;
                    if let Err(error) = good {
                        // The alert tells the other end why.
                        let _ = self.write_rest();
                        return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, error)));
                    }
                    return Poll::Ready(Ok(read));
                }
            }
        }
    }

    /// Reads what a session of TLS has for us.
    fn poll_opened(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let Some(tls) = &mut self.tls else { return Poll::Ready(Ok(())) };
            match tls.reader().read(into.initialize_unfilled()) {
                Ok(read) => {
                    into.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // The other end left without goodbye; heads and frames say themselves where they end.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            ready!(self.poll_feed(cx))?;
            if let Poll::Ready(sent) = self.poll_drain(cx) {
                sent?;
            }
        }
    }

    /// Encrypts pieces into the rest, as many as fit, and gives how many bytes of them.
    fn seal(&mut self, pieces: &[IoSlice<'_>], most: usize) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        let mut took = 0;
        for piece in pieces {
            let mut left = &piece[..];
            while !left.is_empty() && self.rest.len() < most {
                let some = tls.writer().write(left)?;
                drain_session(tls, &mut self.rest)?;
                took += some;
                left = &left[some..];
            }
        }
        Ok(took)
    }

    fn poll_sealed(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let took = self.seal(pieces, SEALED)?;
        // Sealed is as good as sent: what the system does not take now goes out before the next.
        if let Poll::Ready(sent) = self.poll_drain(cx) {
            sent?;
        }
        Poll::Ready(Ok(took))
    }

    /// Hands the system the rest, as far as it takes it now.
    fn write_rest(&mut self) -> io::Result<()> {
        while self.out < self.rest.len() {
            match self.stream.try_write(&self.rest[self.out..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(some) => self.out += some,
                Err(full) if full.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(again) if again.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        (self.rest, self.out) = (Vec::new(), 0);
        Ok(())
    }

    /// Hands the system pieces in one call, and keeps a copy of what it does not take; [`Self::poll_drain`] sends it.
    pub(super) fn write_now(&mut self, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
        if self.tls.is_some() {
            self.seal(pieces, usize::MAX)?;
            return self.write_rest();
        }
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
        if self.tls.is_some() {
            return self.poll_opened(cx, into);
        }
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
        if self.tls.is_some() {
            return self.poll_sealed(cx, &[IoSlice::new(bytes)]);
        }
        self.poll_send(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        if self.tls.is_some() {
            return self.poll_sealed(cx, pieces);
        }
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.timed(cx, wrote, first.map_or(&[], |piece| piece))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let PeerStream { tls, rest, .. } = &mut *self;
        if let Some(tls) = tls {
            tls.send_close_notify();
            drain_session(tls, rest)?;
        }
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The bytes of a stream that have arrived, read without waiting.
struct Arrived<'a>(&'a TcpStream);

impl io::Read for Arrived<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(into)
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Takes all that a session of TLS has to send.
fn drain_session(tls: &mut ServerConnection, into: &mut Vec<u8>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(into)?;
    }
    Ok(())
}
