//! `/ws/rooms`: one task per socket. What waits for it is written in one go; a client that does not read is
//! closed, never buffered without end. Pings every 25 s; a minute without any frame ends it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use tokio_tungstenite::tungstenite::Message;

use super::hall::{self, code};
use super::http::base_url;
use super::post::{Letterbox, Parcel, Post};
use super::talk::{Said, Talk};
use crate::app::App;
use crate::caller::Caller;
use crate::outbox::End;
use crate::pipe::{self, Socket};
use crate::reply::{self, Refusal};
use crate::upgrade::Upgrade;

const PING_EVERY: Duration = Duration::from_secs(25);
const SILENCE: Duration = Duration::from_mins(1);
const TOO_SLOW: End = End(code::AWAY, "too slow: come again");

/// The rooms over a WebSocket: `{"type","payload","id"?}` in text frames; see docs/rooms.md.
#[utoipa::path(get, path = "/ws/rooms", tag = "rooms",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    if app.stopping.is_cancelled() {
        return Err(reply::NOT_READY.into());
    }
    let upgrade = upgrade?;
    let hall = hall::of(&app);
    let spent = hall.rates.sockets.spend(caller.address, app.clock.monotonic());
    spent.map_err(|wait| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(wait.as_secs() + 1))?;
    let held = hall.rates.open_sockets.take(caller.address);
    let held = held.ok_or_else(|| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5))?;
    let base = base_url(&app, &headers);
    let most = app.settings.rooms.frame_bytes;
    let token = app.tasks.token();
    Ok(upgrade.answer(most, move |socket| async move {
        metrics::gauge!("worldkeep_rooms_sockets").increment(1.0);
        let queue = app.settings.rooms.queue_messages;
        let (post, letters) = Post::new(socket, queue, app.settings.rooms.queue_bytes);
        let talk = Talk::new(Arc::clone(&app), hall, caller.address, base, post.clone());
        Box::pin(run(app, post.socket(), talk, letters)).await;
        metrics::gauge!("worldkeep_rooms_sockets").decrement(1.0);
        drop((token, held));
    }))
}

async fn run(app: Arc<App>, socket: &Socket, mut talk: Talk, mut letters: Letterbox) {
    let end = converse(&app, socket, &mut talk, &mut letters).await;
    talk.leave();
    // Last words that were put in before the end.
    if end.0 != code::AWAY {
        let _ = write(socket, &mut letters.last()).await;
    }
    let goodbye = async {
        let _ = socket.close(end).await;
        // The other end answers with its own close; then the connection ends in order.
        while let Some(Ok(_)) = socket.next().await {}
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
}

async fn converse(app: &App, socket: &Socket, talk: &mut Talk, letters: &mut Letterbox) -> End {
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
                letters.hold();
                match frame {
                    Some(Ok(Message::Text(text))) => Box::pin(talk.hear(&text)).await,
                    Some(Ok(Message::Binary(_))) => talk.binary(),
                    Some(Ok(Message::Close(_))) | None => return End::gone(),
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return pipe::broken(&error),
                }
            }
            // Bound sockets are told by the hall; this keeps thousands of them off one lock.
            () = app.stopping.cancelled(), if !talk.is_bound() => return away,
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE || app.stopping.is_cancelled() {
                    return away;
                }
                if socket.ping().await.is_err() {
                    return End::gone();
                }
                continue;
            }
        };
        let Said { texts, end } = said;
        if socket.send(&texts).await.is_err() {
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

/// Writes parcels in one go. Tells whether the state must be read anew.
async fn write(socket: &Socket, parcels: &mut Vec<Parcel>) -> Result<bool, End> {
    let (mut texts, mut resync, mut end) = (Vec::with_capacity(parcels.len()), false, None);
    for parcel in parcels.drain(..) {
        match parcel {
            Parcel::Text(text) => texts.push(text),
            Parcel::Resync => resync = true,
            Parcel::Close(why) => {
                end = Some(why);
                break;
            }
        }
    }
    socket.send(&texts).await.map_err(|_| End::gone())?;
    end.map_or(Ok(resync), Err)
}
