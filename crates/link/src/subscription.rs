//! Subscriptions. Each has a connection of its own and a task that keeps it: when the connection is lost
//! the task subscribes again for as long as somebody listens, and says that there was a gap.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use kernel::{Deadline, Fault, Message, Topic, Value};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout, timeout_at};

use crate::connection::RawConnection;
use crate::error::ConnectError;
use crate::node::LentConnection;
use crate::reply;
use crate::session::ConnectionSource;

const BUFFER: usize = 1024; // beyond it the listener is slow and the server's own limit decides
const IDLE: Duration = Duration::from_millis(1_500);
const SILENCE: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(20);
const ATTEMPT: Duration = Duration::from_secs(2);

/// Subscribes, and gives the stream once the server has confirmed every topic.
pub(crate) async fn subscribe(
    source: Arc<dyn ConnectionSource>,
    topics: Vec<Topic>,
    by: Deadline,
) -> Result<BoxStream<'static, Message>, Fault> {
    if topics.is_empty() {
        return Ok(futures_util::stream::pending().boxed());
    }
    let held = begin(&*source, &topics, by).await?;
    let (tx, rx) = mpsc::channel(BUFFER);
    tokio::spawn(keep(source, topics, held, tx));
    let next = |mut rx: mpsc::Receiver<Message>| async move { Some((rx.recv().await?, rx)) };
    Ok(futures_util::stream::unfold(rx, next).boxed())
}

async fn begin(
    source: &dyn ConnectionSource,
    topics: &[Topic],
    by: Deadline,
) -> Result<LentConnection, Fault> {
    loop {
        let mut held = source.hold(b"", false, by).await?;
        match timeout_at(by.instant().into(), confirm(&mut held.connection, topics)).await {
            Ok(Ok(())) => return Ok(held),
            Ok(Err(Refusal::Reply(fault))) => return Err(fault),
            // A subscription has no effect on the data: asking again is always safe.
            Ok(Err(Refusal::Lost(_))) if by.left() > AGAIN => sleep(AGAIN).await,
            Ok(Err(Refusal::Lost(trouble))) => {
                return Err(Fault::Unavailable(trouble.reason().to_owned()));
            }
            Err(_) => return Err(Fault::Unavailable("no subscription in time".to_owned())),
        }
    }
}

enum Refusal {
    Reply(Fault),
    Lost(ConnectError),
}

async fn confirm(connection: &mut RawConnection, topics: &[Topic]) -> Result<(), Refusal> {
    let mut channels = redis::cmd("SUBSCRIBE");
    let mut patterns = redis::cmd("PSUBSCRIBE");
    for topic in topics {
        match topic {
            Topic::Channel(name) => channels.arg(name),
            Topic::Pattern(pattern) => patterns.arg(pattern),
        };
    }
    let mut bytes = Vec::new();
    for cmd in [&channels, &patterns] {
        if cmd.args_iter().len() > 1 {
            cmd.write_packed_command(&mut bytes);
        }
    }
    connection.write(&bytes).await.map_err(Refusal::Lost)?;
    let mut confirmed = 0;
    while confirmed < topics.len() {
        let value = connection.read().await.map_err(Refusal::Lost)?;
        if let Value::ServerError(error) = &value {
            return Err(Refusal::Reply(reply::refused(error)));
        }
        // A message that slips in between two confirmations would be a lost one; a channel's messages
        // only start after its own confirmation, and listeners start when all are there.
        confirmed += usize::from(is_confirmation(&value));
    }
    Ok(())
}

fn is_confirmation(value: &Value) -> bool {
    let Value::Array(parts) = value else { return false };
    parts
        .first()
        .and_then(reply::text)
        .is_some_and(|kind| kind == "subscribe" || kind == "psubscribe")
}

async fn keep(
    source: Arc<dyn ConnectionSource>,
    topics: Vec<Topic>,
    held: LentConnection,
    tx: mpsc::Sender<Message>,
) {
    let mut held = held;
    loop {
        tokio::select! {
            why = follow(&mut held.connection, &tx) => tracing::debug!(why, "a subscription is lost"),
            () = tx.closed() => return,
        }
        held = loop {
            let again = begin(&*source, &topics, Deadline::after(ATTEMPT));
            tokio::select! {
                found = again => match found {
                    Ok(held) => break held,
                    Err(_) => sleep(AGAIN).await,
                },
                () = tx.closed() => return,
            }
        };
        if tx.send(Message::Resumed).await.is_err() {
            return;
        }
    }
}

async fn follow(connection: &mut RawConnection, tx: &mpsc::Sender<Message>) -> String {
    let ping = Bytes::from_static(b"*1\r\n$4\r\nPING\r\n");
    loop {
        let read = match timeout(IDLE, connection.read()).await {
            Ok(read) => read,
            Err(_) => match connection.write(&ping).await {
                Err(trouble) => Err(trouble),
                Ok(()) => match timeout(SILENCE, connection.read()).await {
                    Ok(read) => read,
                    Err(_) => return "silence".to_owned(),
                },
            },
        };
        match read {
            Err(trouble) => return trouble.reason().to_owned(),
            Ok(value) => {
                if let Some(message) = message(value)
                    && tx.send(message).await.is_err()
                {
                    return "nobody listens".to_owned();
                }
            }
        }
    }
}

fn message(value: Value) -> Option<Message> {
    let Value::Array(mut parts) = value else { return None };
    let kind = parts.first().and_then(reply::text)?.into_owned();
    let wanted = if kind == "message" { 3 } else { 4 };
    if (kind != "message" && kind != "pmessage") || parts.len() != wanted {
        return None;
    }
    let payload = match parts.pop()? {
        Value::BulkString(bytes) => bytes,
        other => reply::text(&other)?.into_owned().into_bytes(),
    };
    let channel = parts.pop().as_ref().and_then(reply::text)?.into_owned();
    Some(Message::Payload { channel, payload })
}
