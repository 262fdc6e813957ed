//! The one WebSocket of the server: `/ws/events`, `/ws/rooms` and `/ws/galaxy` stand on it. `upgrade.rs` makes it of a
//! request, `stream.rs` is the TCP stream below, `outbox.rs` the bounded queue of one socket, `fan_out.rs` sends one text
//! to many sockets.
//!
//! There are two ways out. Texts that must all arrive, in order, go through an [`Outbox`]. A message of which only the
//! newest counts goes through [`Socket::put`], which queues nothing. In both, long texts go to the system straight from
//! where they are kept, in pieces, with one call and without a copy. What the system does not take at once is copied and
//! goes out first, so that a slow reader keeps no shared text alive, and no frame ever stands inside another.
//!
//! Reading and writing are for two halves of one task. Everything but long texts, and all that is read, is tungstenite's.

mod fan_out;
mod frame;
mod outbox;
mod stream;
mod upgrade;

use std::future::poll_fn;
use std::io::IoSlice;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

pub(crate) use fan_out::FanOut;
pub(crate) use frame::FrameHeader;
pub(crate) use outbox::{Outbox, OutboxWriter, QueueLimits};
pub(crate) use stream::PeerStream;
pub(crate) use tokio_tungstenite::tungstenite::Utf8Bytes;
pub(crate) use upgrade::Upgrade;

/// Room to read into; a longer message gets more for as long as it takes.
const READ_ROOM: usize = 2 * 1024;
/// Answers to pings that may wait for a client that does not read.
const PONGS_ROOM: usize = 4 * 1024;
/// How long a client has to take the close frame and to answer it.
const GOODBYE: Duration = Duration::from_secs(1);

/// Why a socket ends: close code and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End(pub(crate) u16, pub(crate) &'static str);

impl End {
    /// The other end left.
    pub(crate) const fn gone() -> Self {
        End(1000, "")
    }

    /// The server stops, or sends the client elsewhere.
    pub(crate) const fn away() -> Self {
        End(1001, "the server is going away")
    }
}

impl From<Error> for End {
    /// How a socket ends on which something came that is no message.
    fn from(error: Error) -> Self {
        match error {
            Error::Capacity(_) => End(1009, "the message is too big"),
            Error::Utf8(_) => End(1007, "a text must be UTF-8"),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::gone(),
            Error::Protocol(_) => End(1002, "these are no frames of a WebSocket client"),
            _ => End::gone(),
        }
    }
}

/// A message from the client.
pub(crate) enum Incoming {
    Text(Utf8Bytes),
    Binary,
    /// A ping or a pong: the client is there.
    Control,
}

/// The outcome for texts that could not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// The system has them.
    All,
    /// A copy of a part waits for [`Socket::flush`].
    Part,
    /// Something else is on its way, or the socket is over.
    Nothing,
}

/// One end of a WebSocket.
pub(crate) struct Socket {
    inner: Mutex<SocketShared>,
}

struct SocketShared {
    web: WebSocketStream<PeerStream>,
    /// The other end said goodbye, or we did: no text may follow.
    over: bool,
    /// tungstenite may have something to say: the answer to a ping, or goodbye.
    answers: bool,
    /// The bytes are no message: nothing after them is looked at.
    broken: bool,
}

impl Socket {
    /// The server's end of a stream that is upgraded, of which some bytes were read already. A message of more than
    /// `most` bytes is an error.
    async fn new(stream: PeerStream, read: Vec<u8>, most: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_ROOM)
            .write_buffer_size(0)
            .max_write_buffer_size(PONGS_ROOM)
            .max_message_size(Some(most))
            .max_frame_size(Some(most));
        let web =
            WebSocketStream::from_partially_read(stream, read, Role::Server, Some(config)).await;
        Socket {
            inner: Mutex::new(SocketShared { web, over: false, answers: false, broken: false }),
        }
    }

    /// The next message, or why there is none. Nothing is lost when the wait ends early.
    pub(crate) async fn next(&self) -> Result<Incoming, End> {
        match self.message().await {
            Some(Ok(Message::Text(text))) => Ok(Incoming::Text(text)),
            Some(Ok(Message::Binary(_))) => Ok(Incoming::Binary),
            Some(Ok(Message::Close(_))) | None => Err(End::gone()),
            Some(Ok(_)) => Ok(Incoming::Control),
            Some(Err(error)) => Err(error.into()),
        }
    }

    /// The same as tungstenite has it; pings are answered on the way.
    async fn message(&self) -> Option<Result<Message, Error>> {
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

    /// Sends texts, all of them in one go, and waits until the system has them.
    pub(crate) async fn send<T: Deref<Target = str>>(&self, texts: &[T]) -> Result<(), End> {
        let headers = frame::headers(texts);
        let mut pieces = frame::pieces(&headers, texts);
        while !self.put(&mut pieces).await? {
            self.flush().await?;
        }
        drop(pieces);
        self.flush().await
    }

    /// The same for somebody who does not wait.
    fn try_send<T: Deref<Target = str>>(&self, texts: &[T]) -> Sent {
        let mut inner = self.inner.lock();
        if inner.over || inner.answers || !inner.web.get_ref().rest.is_empty() {
            return Sent::Nothing;
        }
        let stream = inner.web.get_mut();
        let put = match texts {
            [one] => {
                let header = FrameHeader::text(one.len());
                stream.write_now(&mut [IoSlice::new(&header), IoSlice::new(one.as_bytes())])
            }
            many => {
                let headers = frame::headers(many);
                stream.write_now(&mut frame::pieces(&headers, many))
            }
        };
        match put {
            Ok(()) if stream.rest.is_empty() => Sent::All,
            Ok(()) => Sent::Part,
            // Whoever reads hears of it.
            Err(_) => Sent::Nothing,
        }
    }

    /// Hands the system frames in pieces, and keeps a copy of what it does not take, which [`Socket::flush`] sends.
    /// False, and nothing is done, while something from before is on its way: what is put may be old by then.
    pub(crate) async fn put(&self, pieces: &mut [IoSlice<'_>]) -> Result<bool, End> {
        poll_fn(|cx| {
            let mut inner = self.inner.lock();
            if inner.over {
                return Poll::Ready(Err(Error::AlreadyClosed));
            }
            if inner.poll_flush(cx)?.is_pending() {
                return Poll::Ready(Ok(false));
            }
            inner.web.get_mut().write_now(pieces)?;
            Poll::Ready(Ok(true))
        })
        .await
        .map_err(|_| End::gone())
    }

    /// Waits until the system has all of it.
    pub(crate) async fn flush(&self) -> Result<(), End> {
        poll_fn(|cx| self.inner.lock().poll_flush(cx)).await.map_err(|_| End::gone())
    }

    /// Sends a ping and waits until the system has it.
    pub(crate) async fn ping(&self) -> Result<(), End> {
        self.say(Message::Ping(Bytes::new())).map_err(|_| End::gone())?;
        self.flush().await
    }

    /// Ends the socket: the close frame goes out behind what is on its way, and the client has a moment to answer it, so
    /// that the connection ends in order.
    pub(crate) async fn goodbye(&self, end: End) {
        let goodbye = async {
            let _ = self.close(end).await;
            while let Some(Ok(_)) = self.message().await {}
        };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }

    async fn close(&self, end: End) -> Result<(), Error> {
        let frame = CloseFrame { code: end.0.into(), reason: end.1.into() };
        let over = {
            let mut inner = self.inner.lock();
            inner.answers = true;
            std::mem::replace(&mut inner.over, true)
        };
        // The other end may have been first, and gets our answer from tungstenite.
        if !over {
            self.say(Message::Close(Some(frame)))?;
        }
        poll_fn(|cx| self.inner.lock().poll_flush(cx)).await?;
        poll_fn(|cx| self.inner.lock().poll_end(cx)).await
    }

    fn say(&self, message: Message) -> Result<(), Error> {
        let mut inner = self.inner.lock();
        inner.answers = true;
        inner.web.start_send_unpin(message)
    }
}

impl SocketShared {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.answers {
            ready!(self.web.poll_flush_unpin(cx))?;
            self.answers = false;
        }
        self.web.get_mut().poll_drain(cx).map_err(Error::from)
    }

    /// After frames that make no sense, waits until the other end has closed. Were the stream dropped with bytes in it that
    /// nobody read, the system would reset it and the goodbye might be lost.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if !self.broken {
            return Poll::Ready(Ok(()));
        }
        ready!(Pin::new(self.web.get_mut()).poll_shutdown(cx))?;
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

#[cfg(test)]
mod tests;
