//! A WebSocket whose long texts go to the system straight from where they are kept, in pieces, with one call and without
//! a copy of their own. What the system does not take at once is copied and goes out first, whatever comes after it, so
//! that nobody who reads slowly keeps a shared text alive, and no frame ever stands inside another.
//!
//! Reading and writing are for two halves of one task. Everything but long texts, and all that is read, is tungstenite's.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::outbox::End;
use crate::peer_stream::PeerStream;

/// Room to read into; a longer message gets more for as long as it takes.
const READ_ROOM: usize = 2 * 1024;
/// Answers to pings that may wait for a client that does not read.
const PONGS_ROOM: usize = 4 * 1024;

/// One end of a WebSocket.
pub(crate) struct Socket {
    inner: Mutex<Inner>,
}

struct Inner {
    web: WebSocketStream<Pipe>,
    /// The other end said goodbye, or we did: no text may follow.
    over: bool,
    /// tungstenite may have something to say: the answer to a ping, or goodbye.
    answers: bool,
    /// What came is no message: nothing after it is looked at.
    broken: bool,
}

/// What became of texts that could not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The system has them.
    All,
    /// A copy of a part waits for [`Socket::flush`].
    Part,
    /// Something else is on its way, or the socket is over.
    Nothing,
}

impl Socket {
    /// The server's end of a stream that is upgraded, of which some bytes were read already. A message of more than
    /// `most` bytes is an error.
    pub(crate) async fn new(stream: PeerStream, read: Vec<u8>, most: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_ROOM)
            .write_buffer_size(0)
            .max_write_buffer_size(PONGS_ROOM)
            .max_message_size(Some(most))
            .max_frame_size(Some(most));
        let pipe = Pipe { stream, rest: Vec::new(), out: 0 };
        let web =
            WebSocketStream::from_partially_read(pipe, read, Role::Server, Some(config)).await;
        Socket { inner: Mutex::new(Inner { web, over: false, answers: false, broken: false }) }
    }

    /// The next message; pings are answered on the way. Nothing is lost when the wait ends early.
    pub(crate) async fn next(&self) -> Option<Result<Message, Error>> {
        poll_fn(|cx| {
            let mut inner = self.inner.lock();
            let next = ready!(inner.web.poll_next_unpin(cx));
            inner.over |= matches!(next, None | Some(Ok(Message::Close(_))));
            let says =
                matches!(next, None | Some(Ok(Message::Ping(_) | Message::Close(_)) | Err(_)));
            inner.answers |= says;
            inner.broken |= matches!(next, Some(Err(_)));
            Poll::Ready(next)
        })
        .await
    }

    /// Sends texts, all of them in one go.
    pub(crate) async fn send<T: Deref<Target = str>>(&self, texts: &[T]) -> Result<(), Error> {
        let heads = heads(texts);
        let mut pieces = pieces(&heads, texts);
        while !self.put(&mut pieces).await? {
            self.flush().await?;
        }
        drop(pieces);
        self.flush().await
    }

    /// The same for somebody who does not wait.
    pub(crate) fn try_send<T: Deref<Target = str>>(&self, texts: &[T]) -> Sent {
        let mut inner = self.inner.lock();
        if inner.over || inner.answers || !inner.web.get_ref().rest.is_empty() {
            return Sent::Nothing;
        }
        let pipe = inner.web.get_mut();
        let put = match texts {
            [one] => {
                let head = Head::text(one.len());
                pipe.put(&mut [IoSlice::new(&head), IoSlice::new(one.as_bytes())])
            }
            many => {
                let heads = heads(many);
                pipe.put(&mut pieces(&heads, many))
            }
        };
        match put {
            Ok(()) if pipe.rest.is_empty() => Sent::All,
            Ok(()) => Sent::Part,
            // Whoever reads hears of it.
            Err(_) => Sent::Nothing,
        }
    }

    /// A ping.
    pub(crate) async fn ping(&self) -> Result<(), Error> {
        {
            let mut inner = self.inner.lock();
            inner.answers = true;
            inner.web.start_send_unpin(Message::Ping(Bytes::new()))?;
        }
        self.flush().await
    }

    /// Hands the system frames in pieces, and keeps a copy of what it does not take, which [`Socket::flush`] sends.
    /// False, and nothing is done, while something from before is on its way: flush first.
    pub(crate) async fn put(&self, pieces: &mut [IoSlice<'_>]) -> Result<bool, Error> {
        poll_fn(|cx| {
            let mut inner = self.inner.lock();
            if inner.over {
                return Poll::Ready(Err(Error::AlreadyClosed));
            }
            if inner.poll_flush(cx)?.is_pending() {
                return Poll::Ready(Ok(false));
            }
            inner.web.get_mut().put(pieces)?;
            Poll::Ready(Ok(true))
        })
        .await
    }

    /// Waits until the system has all of it.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        poll_fn(|cx| self.inner.lock().poll_flush(cx)).await
    }

    /// Says goodbye, after what is on its way.
    pub(crate) async fn close(&self, end: End) -> Result<(), Error> {
        let frame = CloseFrame { code: end.0.into(), reason: end.1.into() };
        {
            let mut inner = self.inner.lock();
            // The other end may have been first, and gets our answer from tungstenite.
            inner.answers = true;
            if !std::mem::replace(&mut inner.over, true) {
                inner.web.start_send_unpin(Message::Close(Some(frame)))?;
            }
        }
        self.flush().await?;
        poll_fn(|cx| self.inner.lock().poll_end(cx)).await
    }
}

impl Inner {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.answers {
            ready!(self.web.poll_flush_unpin(cx))?;
            self.answers = false;
        }
        self.web.get_mut().drain(cx).map_err(Error::from)
    }

    /// After frames that make no sense, waits until the other end has closed. Were the stream dropped with bytes in it that
    /// nobody read, the system would reset it and the goodbye might be lost.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if !self.broken {
            return Poll::Ready(Ok(()));
        }
        let pipe = Pin::new(self.web.get_mut());
        ready!(pipe.poll_shutdown(cx))?;
        loop {
            let mut space = [0; READ_ROOM];
            let mut rest = ReadBuf::new(&mut space);
            ready!(Pin::new(self.web.get_mut()).poll_read(cx, &mut rest))?;
            if rest.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// How a socket ends on which something came that is no message.
pub(crate) fn broken(error: &Error) -> End {
    match error {
        Error::Capacity(_) => End(1009, "the message is too big"),
        Error::Utf8(_) => End(1007, "a text must be UTF-8"),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::gone(),
        Error::Protocol(_) => End(1002, "these are no frames of a WebSocket client"),
        _ => End::gone(),
    }
}

fn heads<T: Deref<Target = str>>(texts: &[T]) -> Vec<Head> {
    texts.iter().map(|text| Head::text(text.len())).collect()
}

fn pieces<'a, T: Deref<Target = str>>(heads: &'a [Head], texts: &'a [T]) -> Vec<IoSlice<'a>> {
    let both = heads.iter().zip(texts).flat_map(|(head, text)| [&**head, text.as_bytes()]);
    both.map(IoSlice::new).collect()
}

/// What stands before the bytes of a text.
pub(crate) struct Head {
    bytes: [u8; 10],
    len: usize,
}

impl Head {
    /// Of a text of so many bytes, whole in one frame.
    pub(crate) fn text(len: usize) -> Self {
        const WHOLE_TEXT: u8 = 0x81;
        let mut bytes = [0; 10];
        bytes[0] = WHOLE_TEXT;
        let len = match (u8::try_from(len), u16::try_from(len)) {
            (Ok(short @ ..126), _) => {
                bytes[1] = short;
                2
            }
            (_, Ok(medium)) => {
                bytes[1] = 126;
                bytes[2..4].copy_from_slice(&medium.to_be_bytes());
                4
            }
            _ => {
                bytes[1] = 127;
                bytes[2..].copy_from_slice(&(len as u64).to_be_bytes());
                10
            }
        };
        Head { bytes, len }
    }
}

impl Deref for Head {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A stream with what it did not take.
struct Pipe {
    stream: PeerStream,
    /// Goes out before anything else.
    rest: Vec<u8>,
    /// How much of that is out.
    out: usize,
}

impl Pipe {
    fn put(&mut self, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
        // Empty ones at the end would look like an end of the stream.
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

    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.out < self.rest.len() {
            let some = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.rest[self.out..]))?;
            if some == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.out += some;
        }
        // Most sockets have a rest once in a while: none keeps the room for it.
        (self.rest, self.out) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.drain(cx))?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
pub(crate) mod tests;
