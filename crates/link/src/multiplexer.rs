//! One connection shared by many callers: requests are written as they come, many in one write, and each
//! gets its replies in order. It knows of every request whether a byte of it may have left, so a lost
//! answer is told apart from a request that was never sent. It ends for good at the first doubt: end of
//! stream, garbage, an answer nobody asked for, or silence; its owner then opens another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use kernel::{Deadline, Value};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, timeout_at};

use crate::address::Endpoint;
use crate::connection::{RawConnection, Stream};
use crate::reply::Reader;
use crate::writes::Writes;

const QUEUE: usize = 1024; // callers beyond it wait, within their deadlines
const BATCH: usize = 256;
const TICK: Duration = Duration::from_millis(250);
const IDLE: Duration = Duration::from_millis(1_500); // then we ask whether anybody is there
const SILENCE: Duration = Duration::from_secs(3); // no byte although an answer is due: half-open
const CLOSED: &str = "the connection was closed";
const SLOWEST: Duration = Duration::from_secs(10); // bytes trickle, but no answer is that slow

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// No byte of it left: it may be sent again.
    NotSent(String),
    /// It may have been carried out.
    Unknown(String),
}

/// Queued, taken by the writer, or withdrawn by its caller. Whoever moves it first decides.
#[derive(Default)]
struct Ticket(AtomicU8);

impl Ticket {
    const TAKEN: u8 = 1;
    const WITHDRAWN: u8 = 2;

    fn turn(&self, state: u8) -> bool {
        self.0.compare_exchange(0, state, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A caller that goes away withdraws what was not taken yet.
struct Withdraw(Arc<Ticket>);

impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.turn(Ticket::WITHDRAWN);
    }
}

struct Request {
    bytes: Bytes,
    replies: usize,
    ticket: Arc<Ticket>,
    answer: oneshot::Sender<Result<Vec<Value>, Lost>>,
}

struct PendingReply {
    /// The offset of the request's first byte in the stream of all bytes.
    start: u64,
    since: Instant,
    replies: usize,
    values: Vec<Value>,
    answer: oneshot::Sender<Result<Vec<Value>, Lost>>,
}

#[derive(Default)]
struct MultiplexerShared {
    /// The requests without an answer yet, in the order they were sent.
    waiting: Mutex<VecDeque<PendingReply>>,
    written: AtomicU64,
    closed: AtomicBool,
    reason: Mutex<String>,
    close: Notify,
    ended: Notify,
    /// Nothing waits for an answer any more, on a connection that takes no more requests.
    drained: Notify,
}

impl MultiplexerShared {
    async fn drained(&self) {
        while !self.waiting.lock().is_empty() {
            self.drained.notified().await;
        }
    }
}

/// A handle for callers; cheap to share.
pub(crate) struct Multiplexer {
    queue: mpsc::Sender<Request>,
    shared: Arc<MultiplexerShared>,
    address: Endpoint,
    writes: Writes,
}

impl Multiplexer {
    /// Takes over an open connection. Must be called within a tokio runtime.
    pub(crate) fn new(connection: RawConnection, address: Endpoint) -> Self {
        let (queue, requests) = mpsc::channel(QUEUE);
        let shared = Arc::new(MultiplexerShared::default());
        tokio::spawn(run(connection, requests, queue.downgrade(), Arc::clone(&shared)));
        Multiplexer { queue, shared, address, writes: Writes::default() }
    }

    pub(crate) fn address(&self) -> &Endpoint {
        &self.address
    }

    /// Whether the server takes writes.
    pub(crate) fn writes(&self) -> &Writes {
        &self.writes
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Takes no more requests, and ends when those that were sent have their answers; what was not sent may be sent
    /// elsewhere.
    pub(crate) fn close(&self, reason: &str) {
        let mut kept = self.shared.reason.lock();
        if kept.is_empty() {
            reason.clone_into(&mut kept);
        }
        drop(kept);
        self.shared.close.notify_one();
    }

    /// Waits for its end and tells why.
    pub(crate) async fn ended(&self) -> String {
        loop {
            let ended = self.shared.ended.notified();
            if self.is_closed() {
                return self.shared.reason.lock().clone();
            }
            ended.await;
        }
    }

    /// Sends commands (already packed) and gives their replies.
    pub(crate) async fn ask(
        &self,
        bytes: Bytes,
        replies: usize,
        by: Deadline,
    ) -> Result<Vec<Value>, Lost> {
        let ticket = Arc::new(Ticket::default());
        let withdraw = Withdraw(Arc::clone(&ticket));
        let (answer, answered) = oneshot::channel();
        let request = Request { bytes, replies, ticket, answer };
        let late = || Lost::NotSent("no room to send before the deadline".to_owned());
        let asked = Instant::now();
        if by.instant() <= asked {
            return Err(Lost::NotSent("the deadline had passed already".to_owned()));
        }
        if let Err(refused) = self.queue.try_send(request) {
            match refused {
                mpsc::error::TrySendError::Closed(_) => return Err(self.not_sent()),
                mpsc::error::TrySendError::Full(request) => {
                    match timeout_at(by.instant().into(), self.queue.send(request)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) => return Err(self.not_sent()),
                        Err(_) => return Err(late()),
                    }
                }
            }
        }
        match timeout_at(by.instant().into(), answered).await {
            Ok(Ok(result)) => {
                self.writes.look(result.as_deref().unwrap_or_default());
                result
            }
            Ok(Err(_)) if withdraw.0.turn(Ticket::WITHDRAWN) => Err(self.not_sent()),
            Ok(Err(_)) => Err(Lost::Unknown("the connection ended".to_owned())),
            Err(_) if withdraw.0.turn(Ticket::WITHDRAWN) => Err(late()),
            Err(_) => Err(Lost::Unknown(format!(
                "{} did not answer in {:?}",
                self.address,
                asked.elapsed()
            ))),
        }
    }

    fn not_sent(&self) -> Lost {
        Lost::NotSent(self.shared.reason.lock().clone())
    }
}

async fn run(
    connection: RawConnection,
    mut requests: mpsc::Receiver<Request>,
    queue: mpsc::WeakSender<Request>,
    shared: Arc<MultiplexerShared>,
) {
    let (stream, bytes) = connection.into_parts();
    let (reading, writing) = tokio::io::split(stream);
    let mut reading = std::pin::pin!(read(reading, bytes, &queue, &shared));
    // Writing comes before reading in each turn, so that a request's replies are looked for as soon
    // as it is written.
    let why = tokio::select! {
        biased;
        why = write(writing, &mut requests, &shared) => why,
        why = &mut reading => Some(why),
    };
    let leaves = why.is_none();
    let mut why = refuse(why.unwrap_or_default(), &mut requests, &shared);
    if leaves {
        tokio::select! {
            biased;
            broken = reading => why = broken,
            () = shared.drained() => {}
        }
    }
    let written = shared.written.load(Ordering::Acquire);
    for pending in std::mem::take(&mut *shared.waiting.lock()) {
        let lost = if pending.start >= written {
            Lost::NotSent(why.clone())
        } else {
            Lost::Unknown(why.clone())
        };
        let _ = pending.answer.send(Err(lost));
    }
}

/// From now on nothing is sent here, and whoever waits for the end of the connection is told. Gives the reason.
fn refuse(
    why: String,
    requests: &mut mpsc::Receiver<Request>,
    shared: &MultiplexerShared,
) -> String {
    let why = {
        let mut reason = shared.reason.lock();
        if reason.is_empty() {
            *reason = why;
        }
        reason.clone()
    };
    shared.closed.store(true, Ordering::Release);
    requests.close();
    while let Ok(request) = requests.try_recv() {
        if request.ticket.turn(Ticket::TAKEN) {
            let _ = request.answer.send(Err(Lost::NotSent(why.clone())));
        }
    }
    shared.ended.notify_waiters();
    why
}

// `written` moves in the same poll as the bytes: a request that starts at or after it never left. Gives why it broke, or
// nothing when the connection is to be left: then all that was taken has been sent.
async fn write(
    mut stream: WriteHalf<Box<dyn Stream>>,
    requests: &mut mpsc::Receiver<Request>,
    shared: &MultiplexerShared,
) -> Option<String> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut bytes = BytesMut::new();
    let mut taken = 0_u64;
    loop {
        let count = tokio::select! {
            biased;
            () = shared.close.notified() => return None,
            count = requests.recv_many(&mut batch, BATCH) => count,
        };
        if count == 0 {
            return Some("closed by its owner".to_owned());
        }
        {
            let mut waiting = shared.waiting.lock();
            for request in batch.drain(..) {
                if !request.ticket.turn(Ticket::TAKEN) {
                    continue;
                }
                let pending = PendingReply {
                    start: taken,
                    since: Instant::now(),
                    replies: request.replies,
                    values: Vec::with_capacity(request.replies),
                    answer: request.answer,
                };
                waiting.push_back(pending);
                bytes.extend_from_slice(&request.bytes);
                taken += request.bytes.len() as u64;
            }
        }
        if let Err(error) = push(&mut stream, &mut bytes, taken, shared).await {
            return Some(crate::error::plain(&error));
        }
        if bytes.capacity() > 1 << 20 {
            bytes = BytesMut::new();
        }
    }
}

async fn push(
    stream: &mut WriteHalf<Box<dyn Stream>>,
    bytes: &mut BytesMut,
    end: u64,
    shared: &MultiplexerShared,
) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let count = stream.write_buf(bytes).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        shared.written.store(end - bytes.len() as u64, Ordering::Release);
    }
    stream.flush().await
}

async fn read(
    mut stream: ReadHalf<Box<dyn Stream>>,
    mut bytes: BytesMut,
    queue: &mpsc::WeakSender<Request>,
    shared: &MultiplexerShared,
) -> String {
    let mut reader = Reader::default();
    let mut heard = Instant::now();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        loop {
            match reader.next(&mut bytes) {
                Ok(None) => break,
                Err(garbage) => return garbage.0,
                Ok(Some(value)) => {
                    if !deliver(value, shared) {
                        return "an answer came that nobody had asked for".to_owned();
                    }
                }
            }
        }
        tokio::select! {
            biased;
            read = stream.read_buf(&mut bytes) => match read {
                Ok(0) => return CLOSED.to_owned(),
                Ok(_) => heard = Instant::now(),
                Err(error) => return crate::error::plain(&error),
            },
            _ = tick.tick() => {
                if let Some(why) = silence(heard, queue, shared) {
                    return why;
                }
            }
        }
    }
}

fn deliver(value: Value, shared: &MultiplexerShared) -> bool {
    let mut waiting = shared.waiting.lock();
    let Some(first) = waiting.front_mut() else { return false };
    first.values.push(value);
    if first.values.len() >= first.replies {
        let done = waiting.pop_front().expect("it was just looked at");
        let last = waiting.is_empty();
        drop(waiting);
        if last && shared.closed.load(Ordering::Acquire) {
            shared.drained.notify_one();
        }
        // Whoever left before has withdrawn or been told that the outcome is unknown.
        let _ = done.answer.send(Ok(done.values));
    }
    true
}

fn silence(
    heard: Instant,
    queue: &mpsc::WeakSender<Request>,
    shared: &MultiplexerShared,
) -> Option<String> {
    let oldest = shared.waiting.lock().front().map(|one| one.since.elapsed());
    match oldest {
        None if heard.elapsed() >= IDLE => ping(queue),
        Some(age) if age >= SLOWEST || (age >= SILENCE && heard.elapsed() >= SILENCE) => {
            return Some(format!("no answer for {age:.1?}"));
        }
        _ => {}
    }
    None
}

fn ping(queue: &mpsc::WeakSender<Request>) {
    if let Some(queue) = queue.upgrade() {
        let (answer, _nobody) = oneshot::channel();
        let bytes = Bytes::from_static(b"*1\r\n$4\r\nPING\r\n");
        // A full queue means that requests are on their way anyway.
        let _ = queue.try_send(Request { bytes, replies: 1, ticket: Arc::default(), answer });
    }
}
