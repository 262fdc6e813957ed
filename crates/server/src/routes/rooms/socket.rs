//! `/ws/rooms`: one task per socket. What waits for it is written in one go; a client that does not read is
//! closed, never buffered without end. Pings every 25 s; a minute without any frame ends it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};

use super::hall::{self, code};
use super::http::base_url;
use super::post::{Letterbox, Parcel, Post};
use super::talk::{Said, Talk};
use crate::app::App;
use crate::caller::Caller;
use crate::outbox::End;
use crate::reply::{self, Refusal};

const PING_EVERY: Duration = Duration::from_secs(25);
const SILENCE: Duration = Duration::from_mins(1);
/// How long a write may wait for a client that does not read.
const WRITE_WAIT: Duration = Duration::from_secs(10);
/// Small buffers: most sockets are phones that wait.
const READ_BUFFER: usize = 2 * 1024;
const WRITE_BUFFER: usize = 16 * 1024;
const TOO_SLOW: End = End(code::AWAY, "too slow: come again");

/// The rooms over a WebSocket: `{"type","payload","id"?}` in text frames; see docs/rooms.md.
#[utoipa::path(get, path = "/ws/rooms", tag = "rooms",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    if app.stopping.is_cancelled() {
        return Err(reply::NOT_READY.into());
    }
    let upgrade = upgrade.map_err(|_| Refusal::from(reply::UPGRADE_REQUIRED))?;
    let hall = hall::of(&app);
    let spent = hall.rates.sockets.spend(caller.address, app.clock.monotonic());
    spent.map_err(|wait| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(wait.as_secs() + 1))?;
    let base = base_url(&app, &headers);
    let most = app.settings.size("rooms.frame_bytes");
    let token = app.tasks.token();
    let upgrade = upgrade
        .max_message_size(most)
        .max_frame_size(most)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER);
    Ok(upgrade.on_upgrade(move |socket| async move {
        metrics::gauge!("worldkeep_rooms_sockets").increment(1.0);
        let queue = app.settings.size("rooms.queue_messages");
        let (post, letters) = Post::new(queue, app.settings.size("rooms.queue_bytes"));
        let talk = Talk::new(Arc::clone(&app), hall, caller.address, base, post);
        Box::pin(run(app, socket, talk, letters)).await;
        metrics::gauge!("worldkeep_rooms_sockets").decrement(1.0);
        drop(token);
    }))
}

async fn run(app: Arc<App>, mut socket: WebSocket, mut talk: Talk, mut letters: Letterbox) {
    let end = converse(&app, &mut socket, &mut talk, &mut letters).await;
    talk.leave();
    // Last words that were put in before the end.
    if end.0 != code::AWAY {
        for parcel in letters.last() {
            let Parcel::Text(text) = parcel else { break };
            let _ = in_time(socket.feed(Message::Text(text))).await;
        }
    }
    let frame = CloseFrame { code: end.0, reason: end.1.into() };
    let goodbye = async {
        let _ = socket.send(Message::Close(Some(frame))).await;
        // The other end answers with its own close; then the connection ends in order.
        while let Some(Ok(_)) = socket.next().await {}
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
}

async fn converse(
    app: &App,
    socket: &mut WebSocket,
    talk: &mut Talk,
    letters: &mut Letterbox,
) -> End {
    let mut ping = tokio::time::interval(PING_EVERY);
    ping.reset();
    let mut heard = Instant::now();
    let away = End(code::AWAY, "the server is going away");
    loop {
        let said = tokio::select! {
            biased;
            parcels = letters.next() => {
                let Some(mut parcels) = parcels else { return TOO_SLOW };
                let wrote = write(socket, &mut parcels).await;
                letters.give_back(parcels);
                match wrote {
                    Ok(false) => continue,
                    Ok(true) => Box::pin(talk.resync()).await,
                    Err(end) => return end,
                }
            }
            frame = socket.next() => {
                heard = Instant::now();
                match frame {
                    Some(Ok(Message::Text(text))) => Box::pin(talk.hear(&text)).await,
                    Some(Ok(Message::Binary(_))) => talk.binary(),
                    Some(Ok(Message::Close(_))) | None => return End::gone(),
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return broken(&error),
                }
            }
            // Bound sockets are told by the hall; this keeps thousands of them off one lock.
            () = app.stopping.cancelled(), if !talk.is_bound() => return away,
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE || app.stopping.is_cancelled() {
                    return away;
                }
                if in_time(socket.send(Message::Ping(Bytes::new()))).await.is_err() {
                    return End::gone();
                }
                continue;
            }
        };
        let Said { texts, end } = said;
        for text in texts {
            if in_time(socket.feed(Message::Text(Utf8Bytes::from(text)))).await.is_err() {
                return End::gone();
            }
        }
        if in_time(socket.flush()).await.is_err() {
            return End::gone();
        }
        if let Some(end) = end {
            return end;
        }
        // Bound just while the hall said goodbye to the others.
        if app.stopping.is_cancelled() {
            return away;
        }
    }
}

/// Writes parcels, then flushes once. Tells whether the state must be read anew.
async fn write(socket: &mut WebSocket, parcels: &mut Vec<Parcel>) -> Result<bool, End> {
    let mut resync = false;
    for parcel in parcels.drain(..) {
        match parcel {
            Parcel::Text(text) => in_time(socket.feed(Message::Text(text))).await?,
            Parcel::Resync => resync = true,
            Parcel::Close(end) => {
                in_time(socket.flush()).await?;
                return Err(end);
            }
        }
    }
    in_time(socket.flush()).await?;
    Ok(resync)
}

/// Does it within the time a client has. Most writes are done at once and need no timer.
async fn in_time(work: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    let mut work = std::pin::pin!(work);
    let done = match futures_util::poll!(work.as_mut()) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => match tokio::time::timeout(WRITE_WAIT, work).await {
            Ok(done) => done,
            Err(_) => return Err(TOO_SLOW),
        },
    };
    done.map_err(|_| End::gone())
}

/// A frame beyond the limit is told so; what else breaks just ends.
fn broken(error: &axum::Error) -> End {
    let text = error.to_string();
    if text.contains("too long") || text.contains("too large") || text.contains("too big") {
        return End(code::TOO_BIG, "the message is too big");
    }
    End::gone()
}
