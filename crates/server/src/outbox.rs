//! The way out of a socket, shared by all kinds of sockets: bounded in messages and in bytes, written by a task
//! of its own, closed with a code. A reader that stays behind is closed, never buffered without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures_util::SinkExt as _;
use futures_util::stream::SplitSink;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::settings::Settings;

/// How long a full queue may stay full.
const SLOW: Duration = Duration::from_secs(2);

/// Why a socket ends: close code and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End(pub u16, pub &'static str);

impl End {
    /// The other end left.
    pub const fn gone() -> Self {
        End(1000, "")
    }

    /// It reads too slowly.
    pub const fn slow() -> Self {
        End(1013, "too slow: events were waiting")
    }
}

/// Puts messages on their way.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::Sender<Message>,
    bytes: Arc<AtomicUsize>,
    most_bytes: usize,
}

impl Outbox {
    /// Starts the writer, with the limits of the settings.
    pub fn open(
        settings: &Settings,
        sink: SplitSink<WebSocket, Message>,
    ) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(settings.limits.socket_queue_messages.max(1));
        let bytes = Arc::new(AtomicUsize::new(0));
        let most_bytes = settings.limits.socket_queue_bytes.max(1);
        let writer = tokio::spawn(write(sink, waiting, Arc::clone(&bytes)));
        (Outbox { queue, bytes, most_bytes }, writer)
    }

    /// Puts a text in. Waits a little when it is full; a reader that stays behind is slow.
    pub async fn put(&self, text: Utf8Bytes) -> Result<(), End> {
        let until = Instant::now() + SLOW;
        // One message always fits into an empty queue, however large it is.
        let full = || {
            let waiting = self.bytes.load(Ordering::Relaxed);
            waiting > 0 && waiting + text.len() > self.most_bytes
        };
        while full() {
            if Instant::now() >= until {
                return Err(End::slow());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        match tokio::time::timeout(SLOW, self.queue.send(Message::Text(text))).await {
            Ok(Ok(())) => Ok(()),
            // The writer is gone, and with it the client.
            Ok(Err(_)) => Err(End::gone()),
            Err(_) => Err(End::slow()),
        }
    }

    /// The same for JSON.
    pub async fn say(&self, value: serde_json::Value) -> Result<(), End> {
        self.put(value.to_string().into()).await
    }

    /// A ping, unless the queue is full: then the client hears enough of us.
    pub fn ping(&self) -> Result<(), End> {
        let _ = self.queue.try_send(Message::Ping(Bytes::default()));
        Ok(())
    }

    /// Says goodbye. A client that does not read must not hold the task: the last words get a moment.
    pub async fn close(self, end: End, mut writer: JoinHandle<()>) {
        let frame = CloseFrame { code: end.0, reason: end.1.into() };
        let close = self.queue.send(Message::Close(Some(frame)));
        let _ = tokio::time::timeout(Duration::from_secs(1), close).await;
        drop(self);
        if tokio::time::timeout(Duration::from_secs(2), &mut writer).await.is_err() {
            writer.abort();
        }
    }
}

/// Writes what waits; flushes when nothing does, so bursts cost few system calls.
async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut queue: mpsc::Receiver<Message>,
    bytes: Arc<AtomicUsize>,
) {
    while let Some(message) = queue.recv().await {
        let len = if let Message::Text(text) = &message { text.len() } else { 0 };
        let closing = matches!(message, Message::Close(_));
        if sink.feed(message).await.is_err() {
            return;
        }
        bytes.fetch_sub(len, Ordering::Relaxed);
        if (queue.is_empty() || closing) && sink.flush().await.is_err() {
            return;
        }
    }
    let _ = sink.close().await;
}
