//! The queue of texts to one socket, in order, bounded in messages and bytes. Putting a text in never waits and touches
//! little memory: a broadcast does it thousands of times. The socket's own task writes what is queued; a broadcast is
//! written by a [`FanOut`](super::FanOut) while that task has nothing to do, so that an answer stays ahead of what it caused.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{End, Sent, Socket, Utf8Bytes};

/// Room that an emptied queue keeps.
const KEEP: usize = 16;
/// Bytes that are written before they stop counting.
const WRITE_BYTES: usize = 64 * 1024;
/// How long [`Outbox::send`] waits for room.
const SLOW: Duration = Duration::from_secs(2);

/// The amount that may wait, and how a socket ends for which more comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
    pub(crate) too_slow: End,
}

/// The entrance for texts to one socket.
#[derive(Clone)]
pub(crate) struct Outbox(Arc<OutboxShared>);

struct OutboxShared {
    socket: Socket,
    limits: QueueLimits,
    queue: Mutex<Queue>,
    /// Something was written.
    room: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Utf8Bytes>,
    /// Bytes of texts that wait.
    bytes: usize,
    /// Messages and bytes that were taken last: they may not have left yet.
    taken: (usize, usize),
    /// A text did not fit.
    overrun: bool,
    /// The socket has a part of what was taken, and nobody waits for it yet.
    unsent: bool,
    refresh: bool,
    close: Option<End>,
    /// The socket's task, while it has nothing to do but to wait.
    idle: Option<Waker>,
}

/// The next thing for the socket's task to do.
#[derive(Default)]
pub(crate) struct Batch {
    texts: Vec<Utf8Bytes>,
    /// The task looks at everything anew: something may have been missed.
    pub(crate) refresh: bool,
    close: Option<End>,
}

impl Outbox {
    pub(crate) fn new(socket: Socket, limits: QueueLimits) -> (Self, OutboxWriter) {
        let (queue, room) = (Mutex::default(), Notify::new());
        let shared = Arc::new(OutboxShared { socket, limits, queue, room });
        (Outbox(Arc::clone(&shared)), OutboxWriter { shared, spare: Vec::new() })
    }

    /// The socket itself.
    pub(crate) fn socket(&self) -> &Socket {
        &self.0.socket
    }

    /// Puts a text in. False when it does not fit: the client reads too slowly, and the socket's task ends.
    pub(crate) fn put(&self, text: Utf8Bytes) -> bool {
        self.change(|queue, limits| queue.push(text, limits))
    }

    /// Puts a text in as soon as there is room, which is the backpressure for those who can wait.
    pub(crate) async fn send(&self, text: Utf8Bytes) -> Result<(), End> {
        let room = async {
            loop {
                let room = self.0.room.notified();
                if self.0.queue.lock().fits(text.len(), &self.0.limits) {
                    return;
                }
                room.await;
            }
        };
        let waited = tokio::time::timeout(SLOW, room).await;
        if waited.is_ok() && self.put(text) { Ok(()) } else { Err(self.0.limits.too_slow) }
    }

    /// Has the socket's task look at everything anew.
    pub(crate) fn refresh(&self) {
        self.change(|queue, _| queue.refresh = true);
    }

    /// Ends the socket after what waits.
    pub(crate) fn close(&self, end: End) {
        self.change(|queue, _| queue.close = queue.close.or(Some(end)));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Queue, &QueueLimits) -> T) -> T {
        let mut queue = self.0.queue.lock();
        let changed = change(&mut queue, &self.0.limits);
        queue.wake();
        changed
    }

    /// Puts a text in without waking the socket's task. True when the queue was empty: a fan-out has to write it.
    pub(crate) fn queue(&self, text: Utf8Bytes) -> bool {
        let mut queue = self.0.queue.lock();
        let first = queue.waiting.is_empty() && queue.close.is_none();
        queue.push(text, &self.0.limits);
        first
    }

    /// Hands the system what waits, or leaves it to the socket's task.
    pub(super) fn write_now(&self) {
        let mut queue = self.0.queue.lock();
        // A task that is busy may have an answer to give, which comes first; then it looks here by itself.
        if queue.idle.is_none() || (queue.waiting.is_empty() && !queue.overrun) {
            return;
        }
        let sent = if queue.overrun || queue.unsent || queue.refresh || queue.close.is_some() {
            Sent::Nothing
        } else {
            self.0.socket.try_send(&queue.waiting)
        };
        if sent != Sent::Nothing {
            queue.taken = (queue.waiting.len(), std::mem::take(&mut queue.bytes));
            queue.waiting.clear();
            queue.waiting.shrink_to(KEEP);
        }
        match sent {
            Sent::All => queue.taken = (0, 0),
            Sent::Part => {
                queue.unsent = true;
                queue.wake();
            }
            Sent::Nothing => queue.wake(),
        }
    }
}

impl Queue {
    fn push(&mut self, text: Utf8Bytes, limits: &QueueLimits) -> bool {
        let fits = self.fits(text.len(), limits);
        if self.close.is_some() {
            // Nothing follows a goodbye.
        } else if fits {
            self.bytes += text.len();
            self.waiting.push(text);
        } else {
            self.overrun = true;
        }
        fits
    }

    fn wake(&mut self) {
        if let Some(task) = self.idle.take() {
            task.wake();
        }
    }

    fn fits(&self, size: usize, limits: &QueueLimits) -> bool {
        let (messages, bytes) = (self.waiting.len() + self.taken.0, self.bytes + self.taken.1);
        // One message always fits into an empty queue, however large it is.
        messages < limits.messages.max(1) && (bytes == 0 || bytes + size <= limits.bytes)
    }
}

/// Takes texts out, for the socket's task.
pub(crate) struct OutboxWriter {
    shared: Arc<OutboxShared>,
    /// Emptied, to be filled again.
    spare: Vec<Utf8Bytes>,
}

impl OutboxWriter {
    /// All that waits, as soon as something does; what was taken before has left by now. Nothing at all when the socket
    /// has only to be flushed. Fails when a text did not fit.
    pub(crate) async fn next(&mut self) -> Result<Batch, End> {
        let OutboxWriter { shared, spare } = self;
        poll_fn(|context| {
            let mut queue = shared.queue.lock();
            let idle = queue.idle.take();
            if queue.overrun {
                return Poll::Ready(Err(shared.limits.too_slow));
            }
            if std::mem::take(&mut queue.unsent) {
                // It counts until the caller asks again.
                return Poll::Ready(Ok(Batch::default()));
            }
            queue.taken = (0, 0);
            if queue.waiting.is_empty() && !queue.refresh && queue.close.is_none() {
                let known = idle.filter(|task| task.will_wake(context.waker()));
                queue.idle = known.or_else(|| Some(context.waker().clone()));
                return Poll::Pending;
            }
            let texts = std::mem::replace(&mut queue.waiting, std::mem::take(spare));
            queue.taken = (texts.len(), std::mem::take(&mut queue.bytes));
            let (refresh, close) = (std::mem::take(&mut queue.refresh), queue.close);
            Poll::Ready(Ok(Batch { texts, refresh, close }))
        })
        .await
    }

    /// Writes a batch. Fails when the socket is gone or has to end; gives the bytes that were written.
    pub(crate) async fn write(&mut self, batch: Batch) -> Result<usize, End> {
        let Batch { mut texts, close, .. } = batch;
        let (mut rest, mut all) = (&texts[..], 0);
        while !rest.is_empty() {
            let mut bytes = 0;
            let full = rest.iter().position(|text| {
                bytes += text.len();
                bytes >= WRITE_BYTES
            });
            let (some, more) = rest.split_at(full.map_or(rest.len(), |at| at + 1));
            self.shared.socket.send(some).await?;
            self.sent(some.len(), bytes);
            (rest, all) = (more, all + bytes);
        }
        self.shared.socket.flush().await?;
        texts.clear();
        texts.shrink_to(KEEP);
        self.spare = texts;
        close.map_or(Ok(all), Err)
    }

    fn sent(&self, messages: usize, bytes: usize) {
        let taken = &mut self.shared.queue.lock().taken;
        *taken = (taken.0.saturating_sub(messages), taken.1.saturating_sub(bytes));
        self.shared.room.notify_waiters();
    }

    /// Writes whatever is put in, until the socket ends.
    pub(crate) async fn write_all(&mut self) -> End {
        loop {
            let written = match self.next().await {
                Ok(batch) => self.write(batch).await,
                Err(end) => Err(end),
            };
            if let Err(end) = written {
                return end;
            }
        }
    }

    /// The task has something else to do: what comes meanwhile waits until it asks again.
    pub(crate) fn hold(&self) {
        self.shared.queue.lock().idle = None;
    }

    /// Whatever is left when the socket ends is still written, for a moment.
    pub(crate) async fn last_words(&mut self) {
        let texts = std::mem::take(&mut self.shared.queue.lock().waiting);
        let last = self.write(Batch { texts, ..Batch::default() });
        let _ = tokio::time::timeout(Duration::from_secs(1), last).await;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::socket::tests::{Client, hear, pair};

    const TOO_SLOW: End = End(1013, "too slow");

    fn text(size: usize) -> Utf8Bytes {
        "x".repeat(size).into()
    }

    pub(in super::super) async fn outbox(
        messages: usize,
        bytes: usize,
    ) -> (Outbox, OutboxWriter, Client) {
        let (socket, client) = pair().await;
        let (outbox, writer) =
            Outbox::new(socket, QueueLimits { messages, bytes, too_slow: TOO_SLOW });
        (outbox, writer, client)
    }

    pub(in super::super) fn waiting(outbox: &Outbox) -> usize {
        outbox.0.queue.lock().waiting.len()
    }

    #[tokio::test]
    async fn what_waits_comes_at_once_and_a_full_queue_is_told() {
        let (outbox, mut writer, _client) = outbox(3, 10).await;
        assert!(outbox.put(text(20)));
        assert_eq!(writer.next().await.unwrap().texts.len(), 1, "one always fits");
        assert!(!outbox.put(text(1)));
        assert_eq!(writer.next().await.err(), Some(TOO_SLOW), "twenty bytes were on their way");
    }

    #[tokio::test]
    async fn what_was_taken_counts_until_it_is_asked_for_more() {
        let (outbox, mut writer, _client) = outbox(3, 10).await;
        for _ in 0..3 {
            outbox.put(text(3));
        }
        assert_eq!(writer.next().await.unwrap().texts.len(), 3);
        // Asking for more says that those have left.
        let putting = async {
            tokio::task::yield_now().await;
            outbox.put(text(9));
        };
        let (got, ()) = tokio::join!(writer.next(), putting);
        assert_eq!(got.unwrap().texts.len(), 1);
        for _ in 0..3 {
            outbox.put(text(0));
        }
        assert!(writer.next().await.is_err(), "three more are too many beside the one taken");
    }

    #[tokio::test]
    async fn who_can_wait_gets_room_when_something_was_written() {
        let (outbox, mut writer, mut client) = outbox(2, 100).await;
        let sending = async {
            for n in 0..20 {
                outbox.send(n.to_string().into()).await.unwrap();
            }
        };
        let hearing = async {
            for n in 0..20 {
                assert_eq!(hear(&mut client).await.into_text().unwrap(), n.to_string());
            }
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(sending, hearing) } => {}
            end = writer.write_all() => panic!("{end:?}"),
        }
    }

    #[tokio::test]
    async fn the_task_is_woken_and_nothing_follows_a_close() {
        let (outbox, mut writer, mut client) = outbox(8, 100).await;
        let reading = tokio::spawn(async move {
            let batch = writer.next().await.unwrap();
            (batch.refresh, writer)
        });
        tokio::task::yield_now().await;
        outbox.refresh();
        let (refresh, mut writer) = reading.await.unwrap();
        assert!(refresh);
        outbox.put("last".into());
        outbox.close(End(4000, "closed"));
        assert!(!outbox.queue("after it".into()));
        let batch = writer.next().await.unwrap();
        assert_eq!(writer.write(batch).await, Err(End(4000, "closed")));
        assert_eq!(hear(&mut client).await.into_text().unwrap(), "last");
        assert_eq!(waiting(&outbox), 0);
    }

    #[tokio::test]
    async fn a_broadcast_arrives_in_order_and_nobody_is_woken() {
        let (outbox, mut writer, mut client) = outbox(100, 1000).await;
        let mut reading = Box::pin(writer.next());
        assert!(futures_util::poll!(&mut reading).is_pending());
        for turn in ["a", "b"] {
            assert!(outbox.queue(format!("{turn}1").into()));
            assert!(!outbox.queue(format!("{turn}2").into()), "somebody will come");
            outbox.write_now();
            for n in 1..=2 {
                assert_eq!(hear(&mut client).await.into_text().unwrap(), format!("{turn}{n}"));
            }
        }
        assert!(futures_util::poll!(&mut reading).is_pending());
        outbox.write_now();
        drop(reading);
        writer.hold();
        assert!(outbox.queue("after the answer".into()));
        outbox.write_now();
        assert_eq!(writer.next().await.unwrap().texts.len(), 1, "nobody went ahead of the task");
    }

    #[tokio::test]
    async fn what_cannot_be_written_now_is_left_to_the_task_in_its_order() {
        let (outbox, mut writer, mut client) = outbox(100, 20_000_000).await;
        let long = "long".repeat(2_000_000);
        assert!(futures_util::poll!(Box::pin(writer.next())).is_pending());
        assert!(outbox.queue(long.clone().into()));
        outbox.write_now();
        // The system took a part: what comes now waits behind the rest.
        assert!(outbox.queue("second".into()));
        outbox.write_now();
        outbox.refresh();
        let batch = writer.next().await.unwrap();
        assert!(batch.texts.is_empty() && !batch.refresh, "first the rest");
        let (flushed, heard) = tokio::join!(outbox.socket().flush(), hear(&mut client));
        flushed.unwrap();
        assert_eq!(heard.into_text().unwrap().len(), long.len());
        let batch = writer.next().await.unwrap();
        assert!(batch.refresh);
        assert_eq!(batch.texts, ["second"]);
    }

    #[tokio::test]
    async fn a_rest_that_nobody_reads_fills_the_queue() {
        let (outbox, mut writer, _client) = outbox(3, 9_000_000).await;
        assert!(futures_util::poll!(Box::pin(writer.next())).is_pending());
        assert!(outbox.queue("x".repeat(8_000_000).into()));
        outbox.write_now();
        assert!(outbox.queue("y".repeat(2_000_000).into()));
        assert!(writer.next().await.is_err(), "eight millions are on their way");
    }
}
